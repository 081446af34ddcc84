#include "table/arrow.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace polyak {
namespace arrow {
namespace {

template <class T>
void copy_numbers(const Column &column, int64_t row, int64_t n, double *out) {
  const T *from = static_cast<const T *>(column.array->buffers[1]) + column.begin + row;
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<double>(from[i]);
}

bool is_nanoseconds(std::string_view format) { return format.substr(2, 1) == "n"; }

void copy_microseconds(const Column &column, int64_t row, int64_t n, double *out) {
  const int64_t *from = static_cast<const int64_t *>(column.array->buffers[1]) + column.begin + row;
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<double>(from[i] / 1000 - (from[i] % 1000 < 0));
}

void copy_bits(const Column &column, int64_t row, int64_t n, double *out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = bit(column.array->buffers[1], column.begin + row + i) ? 1.0 : 0.0;
}

using Copy = void (*)(const Column &, int64_t row, int64_t n, double *out);

Copy copy_of_times(std::string_view format) {
  if (format == "tdD" || format == "tts" || format == "ttm") return copy_numbers<int32_t>;
  return is_nanoseconds(format) ? copy_microseconds : copy_numbers<int64_t>;
}

Copy copy_of_numbers(std::string_view format) {
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

}  // namespace

double units_a_day(std::string_view format) {
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

void numbers(const Column &column, int64_t row, int64_t n, double *out) {
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
