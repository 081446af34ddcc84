// Encodes the columns of a table as sparse rows: numbers as they are, words hashed, missing values
// marked by features of their own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hash/slot_names.hpp"
#include "memory/column.hpp"
#include "table/arrow.hpp"

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

// A value that cannot be encoded.
struct BadValue {
  int64_t row;
  int column;
  std::string text;
};

template <class Value>
struct EncodedRows {
  Column<int64_t> indptr;
  Column<int32_t> indices;
  Column<Value> values;
  std::vector<BadValue> too_large;  // their rows are left empty
};

// Encodes the first `n` rows of the columns, or those whose byte in `chosen` is not zero, unless it
// is null. `names`, unless null, receives the names of hashed features.
template <class Value>
EncodedRows<Value> encode(const Plan &plan, const std::vector<arrow::Column> &columns, int64_t n,
                          const uint8_t *chosen, SlotNames *names, const Memory &memory);

// Whether a word denotes a missing value, in every format.
bool is_missing(std::string_view text);

}  // namespace table
}  // namespace polyak
