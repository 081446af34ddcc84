// The Arrow C data interface: two structs that any library of tables hands over without a copy, and
// views of the columns in them. The layout is that of Arrow's public specification.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
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

template <class T>
void copy_numbers(const Column &column, int64_t row, int64_t n, double *out) {
  const T *from = static_cast<const T *>(column.array->buffers[1]) + column.begin + row;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(from[i]);
}

// What to divide a time by to have days; 0 for what is no time. Nanoseconds, which a double cannot
// hold, become microseconds first.
inline double units_a_day(std::string_view format) {
  if (format == "tdD") return 1.0;
  if (format == "tdm") return 86400e3;
  if (format.size() < 3 || format[0] != 't' || (format[1] != 's' && format[1] != 't')) return 0.0;
  switch (format[2]) {
    case 's':
      return 86400.0;
    case 'm':
      return 86400e3;
    case 'u':
    case 'n':
      return 86400e6;
    default:
      return 0.0;
  }
}

inline bool is_nanoseconds(std::string_view format) { return format.substr(2, 1) == "n"; }

inline void copy_microseconds(const Column &column, int64_t row, int64_t n, double *out) {
  const int64_t *from = static_cast<const int64_t *>(column.array->buffers[1]) + column.begin + row;
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<double>(from[i] / 1000 - (from[i] % 1000 < 0));
}

inline void copy_bits(const Column &column, int64_t row, int64_t n, double *out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = bit(column.array->buffers[1], column.begin + row + i) ? 1.0 : 0.0;
}

using Copy = void (*)(const Column &, int64_t row, int64_t n, double *out);

inline Copy copy_of_times(std::string_view format) {
  if (format == "tdD" || format == "tts" || format == "ttm") return copy_numbers<int32_t>;
  return is_nanoseconds(format) ? copy_microseconds : copy_numbers<int64_t>;
}

inline Copy copy_of_numbers(std::string_view format) {
  switch (format.size() == 1 ? format[0] : '?') {
    case 'g':
      return copy_numbers<double>;
    case 'f':
      return copy_numbers<float>;
    case 'c':
      return copy_numbers<int8_t>;
    case 'C':
      return copy_numbers<uint8_t>;
    case 's':
      return copy_numbers<int16_t>;
    case 'S':
      return copy_numbers<uint16_t>;
    case 'i':
      return copy_numbers<int32_t>;
    case 'I':
      return copy_numbers<uint32_t>;
    case 'l':
      return copy_numbers<int64_t>;
    case 'L':
      return copy_numbers<uint64_t>;
    case 'b':
      return copy_bits;
    default:
      throw std::invalid_argument("a column of type " + std::string(format) + " is no number");
  }
}

// Copies rows as numbers, those that are missing as NaN; times as days.
inline void numbers(const Column &column, int64_t row, int64_t n, double *out) {
  const std::string_view format = column.format();
  if (format == "n") return void(std::fill_n(out, n, kMissing));  // nothing is there, not even bits
  const double units = units_a_day(format);
  const Copy copy = units != 0.0 ? copy_of_times(format) : copy_of_numbers(format);
  copy(column, row, n, out);
  if (units != 0.0)
    for (int64_t i = 0; i < n; ++i) out[i] /= units;
  if (column.may_miss())
    for (int64_t i = 0; i < n; ++i)
      if (!column.is_valid(row + i)) out[i] = kMissing;
}

}  // namespace arrow
}  // namespace polyak
