// What the columns of a table mean, and which values cannot be read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "table/iso_time.hpp"

namespace polyak {
namespace table {

enum class ColumnType { number, boolean, clock, date, time, category, text, bag };

struct ColumnPlan {
  std::string name;
  ColumnType type;
  int64_t first;  // the index of its first plain feature
  double offset, scale;
};

struct Plan {
  std::vector<ColumnPlan> columns;
  std::vector<std::vector<int>> interactions;
  int64_t hashed_begin;
  int bits;
  int ngrams;
};

// A value that cannot be read; its row is left empty.
struct BadValue {
  int64_t row;
  int column;
  std::string text;
  const char *reason;
};

// What stands for nothing, in whatever format it came.
inline bool is_missing(std::string_view text) {
  switch (text.size()) {
    case 0:
      return true;
    case 1:
      return text == "?" || text == "-";
    case 2:
      return text == "NA";
    case 3:
      return text == "NaN" || text == "nan" || text == "N/A" || text == "n/a";
    case 4:
      return text == "null" || text == "NULL" || text == "#N/A";
    default:
      return false;
  }
}

inline double days_of(const IsoTime &time) {
  return static_cast<double>(time.microseconds) / 86400e6;
}

}  // namespace table
}  // namespace polyak
