// The parts of a time in ISO 8601 format: days since 1970, a time of day such as 10:00 or
// 10:00:05.25, and a zone such as Z or +02:00, from which the time is converted to UTC.
#pragma once

#include <cstdint>
#include <string_view>

namespace polyak {

struct IsoTime {
  int64_t microseconds = 0;  // since 1970
  bool has_clock = false;
};

// Days since 1970 of a date in the Gregorian calendar, counted in eras of 400 years that begin in
// March, so that the leap day is the last of its year.
inline int64_t days_of(int64_t year, int month, int day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

inline int days_in(int year, int month) {
  static const int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[month - 1] + (month == 2 && leap);
}

namespace iso {

struct Reader {
  std::string_view rest;
  bool take(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  // Reads `digits` digits; returns -1 if there are fewer or if their number exceeds `most`.
  int number(size_t digits, int most) {
    if (rest.size() < digits) return -1;
    int value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (rest[i] < '0' || rest[i] > '9') return -1;
      value = 10 * value + (rest[i] - '0');
    }
    rest.remove_prefix(digits);
    return value <= most ? value : -1;
  }
};

inline bool read_clock(Reader &in, int64_t &microseconds) {
  const int hour = in.number(2, 24);
  if (hour < 0 || !in.take(':')) return false;
  const int minute = in.number(2, 59);
  if (minute < 0) return false;
  int second = 0;
  int64_t fraction = 0;
  if (in.take(':')) {
    second = in.number(2, 60);
    if (second < 0) return false;
    if (in.take('.') || in.take(',')) {
      int64_t unit = 100000;
      if (in.rest.empty() || in.rest[0] < '0' || in.rest[0] > '9') return false;
      for (int digit; !in.rest.empty() && (digit = in.number(1, 9)) >= 0; unit /= 10)
        fraction += digit * unit;
    }
  }
  microseconds += ((hour * 60 + minute) * int64_t{60} + second) * 1000000 + fraction;
  return true;
}

inline bool read_zone(Reader &in, int64_t &microseconds) {
  if (in.rest.empty() || in.take('Z')) return true;
  const bool east = in.take('+');
  if (!east && !in.take('-')) return false;
  const int hours = in.number(2, 23);
  if (hours < 0) return false;
  in.take(':');
  const int minutes = in.rest.empty() ? 0 : in.number(2, 59);
  if (minutes < 0) return false;
  microseconds -= (east ? 1 : -1) * (hours * 60 + minutes) * int64_t{60000000};
  return true;
}

}  // namespace iso

}  // namespace polyak
