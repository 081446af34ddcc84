// The Arrow C data interface: two structs that any library of tables hands over without a copy, and
// views of the columns in them. The layout is that of Arrow's public specification.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

extern "C" {
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema **children;
  ArrowSchema *dictionary;
  void (*release)(ArrowSchema *);
  void *private_data;
};

struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  ArrowArray **children;
  ArrowArray *dictionary;
  void (*release)(ArrowArray *);
  void *private_data;
};
}

namespace polyak {
namespace arrow {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

inline bool bit(const void *bits, int64_t i) {
  return (static_cast<const uint8_t *>(bits)[i >> 3] >> (i & 7)) & 1;
}

// One column of a batch. `begin` leads to its first row, past all slicing.
struct Column {
  const ArrowSchema *schema = nullptr;
  const ArrowArray *array = nullptr;
  int64_t begin = 0;

  std::string_view format() const { return schema->format; }
  bool is_valid(int64_t row) const {
    const void *validity = array->n_buffers > 0 ? array->buffers[0] : nullptr;
    return validity == nullptr || bit(validity, begin + row);
  }
  bool may_miss() const { return array->null_count != 0 && array->buffers[0] != nullptr; }
};

inline bool is_text(std::string_view format) { return format == "u" || format == "U"; }

// The text of a row, whatever the width of its offsets.
inline std::string_view text(const Column &column, int64_t row) {
  const char *bytes = static_cast<const char *>(column.array->buffers[2]);
  const int64_t at = column.begin + row;
  int64_t first, last;
  if (column.schema->format[0] == 'u') {
    const int32_t *ends = static_cast<const int32_t *>(column.array->buffers[1]);
    first = ends[at], last = ends[at + 1];
  } else {
    const int64_t *ends = static_cast<const int64_t *>(column.array->buffers[1]);
    first = ends[at], last = ends[at + 1];
  }
  // An array of nothing but empty strings may come without any bytes.
  return first == last ? std::string_view()
                       : std::string_view(bytes + first, static_cast<size_t>(last - first));
}

// Returns what to divide a time by to have days; 0 for a format that is no time. Nanoseconds, which
// a double cannot hold, become microseconds first.
double units_a_day(std::string_view format);

// Copies rows as numbers; missing values become NaN, and times days.
void numbers(const Column &column, int64_t row, int64_t n, double *out);

}  // namespace arrow
}  // namespace polyak
