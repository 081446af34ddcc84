#include "table/written.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "table/csv_columns.hpp"
#include "table/iso_time.hpp"
#include "text/decimal.hpp"

namespace polyak {
namespace written {
namespace {

inline bool take_front(std::string_view &text, std::string_view what) {
  if (text.substr(0, what.size()) != what) return false;
  text.remove_prefix(what.size());
  return true;
}

inline bool take_back(std::string_view &text, std::string_view what) {
  if (text.size() < what.size() || text.substr(text.size() - what.size()) != what) return false;
  text.remove_suffix(what.size());
  return true;
}

// Spaces are a space, a tab, and the two no-break spaces. Written out, since a loop over an array
// of them takes four times as long.
inline bool take_space_in_front(std::string_view &text) {
  return take_front(text, " ") || take_front(text, "\t") || take_front(text, "\xc2\xa0") ||
         take_front(text, "\xe2\x80\xaf");
}
inline bool take_space_behind(std::string_view &text) {
  return take_back(text, " ") || take_back(text, "\t") || take_back(text, "\xc2\xa0") ||
         take_back(text, "\xe2\x80\xaf");
}

inline std::string_view trimmed(std::string_view text) {
  while (take_space_in_front(text)) continue;
  while (take_space_behind(text)) continue;
  return text;
}

// Returns the number of bytes of the currency sign at the beginning of a text: $, £, ¥, ¢, or one
// of Unicode's block of them; 0 if there is none.
inline size_t currency(std::string_view text) {
  if (text.substr(0, 1) == "$") return 1;
  const std::string_view two = text.substr(0, 2), three = text.substr(0, 3);
  if (two == "\xc2\xa3" || two == "\xc2\xa5" || two == "\xc2\xa2") return 2;
  if (three.size() < 3 || three[0] != '\xe2') return 0;
  const unsigned char b = static_cast<unsigned char>(three[1]), c = three[2] & 0xff;
  return (b == 0x82 && c >= 0xa0) || (b == 0x83 && c < 0x90) ? 3 : 0;
}

// Removes signs and units around the digits. Returns false if nothing is left.
inline bool take_signs(std::string_view &text, bool &minus) {
  minus = false;
  bool has_sign = false, has_unit = false;
  if (text.size() > 2 && text.front() == '(' && text.back() == ')') {  // negative, in accounting
    text = trimmed(text.substr(1, text.size() - 2));
    minus = has_sign = true;
  }
  for (size_t i = 0; i < 3; ++i) {
    if (const size_t unit = has_unit ? 0 : currency(text)) {
      text = trimmed(text.substr(unit));
      has_unit = true;
    } else if (!has_sign && (take_front(text, "-") || take_front(text, "\xe2\x88\x92"))) {
      minus = has_sign = true;
    } else if (!has_sign && take_front(text, "+")) {
      has_sign = true;
    }
  }
  if (has_unit) return !text.empty();
  if (take_back(text, "%")) {
    text = trimmed(text);
  } else {
    for (size_t size = 1; size <= 3 && size < text.size(); ++size)
      if (currency(text.substr(text.size() - size)) == size) {
        text = trimmed(text.substr(0, text.size() - size));
        break;
      }
  }
  return !text.empty();
}

// Reads a separator of thousands; a space may be any of them, an apostrophe a curved one.
inline bool take_thousands(std::string_view &text, char thousands) {
  if (thousands == '\0') return false;
  if (thousands == ' ') return take_space_in_front(text);
  if (thousands == '\'' && take_front(text, "\xe2\x80\x99")) return true;
  return take_front(text, {&thousands, 1});
}

class Digits {
 public:
  bool number(std::string_view text, char decimal, char thousands, double &x) {
    bool minus;
    text = trimmed(text);
    if (!take_signs(text, minus) || !whole(text, thousands)) return false;
    if (!text.empty() && text[0] == decimal) {
      text.remove_prefix(1);
      if (!put('.') || (run(text, kRoom) == 0 && !has_digits_)) return false;
    }
    if (!has_digits_) return false;
    if (!text.empty() && (text[0] == 'e' || text[0] == 'E') && !exponent(text)) return false;
    if (!text.empty()) return false;
    std::memset(plain_ + size_, '\n', kPadding);
    double number;
    if (read_number(plain_, number) != plain_ + size_) return false;
    x = minus ? -number : number;
    return true;
  }

 private:
  static constexpr size_t kRoom = 64;

  bool put(char c) {
    if (size_ == kRoom) return false;
    plain_[size_++] = c;
    return true;
  }

  size_t run(std::string_view &text, size_t most) {
    size_t n = 0;
    while (n < most && n < text.size() && is_digit(text[n]) && put(text[n])) ++n;
    text.remove_prefix(n);
    has_digits_ = has_digits_ || n > 0;
    return n;
  }

  // Reads the digits before the point: without separators, or one to three digits that do not begin
  // with 0, then groups of three.
  bool whole(std::string_view &text, char thousands) {
    const bool zero = !text.empty() && text[0] == '0';
    const size_t first = run(text, kRoom);
    if (first == 0 || first > 3 || zero) return true;
    for (std::string_view rest = text; take_thousands(rest, thousands); text = rest)
      if (run(rest, 3) != 3 || (!rest.empty() && is_digit(rest[0]))) return false;
    return true;
  }

  bool exponent(std::string_view &text) {
    text.remove_prefix(1);
    put('e');
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
      put(text[0]);
      text.remove_prefix(1);
    }
    return run(text, 4) > 0;
  }

  char plain_[kRoom + kPadding + 1];
  size_t size_ = 0;
  bool has_digits_ = false;
};

// Reads one or two digits; -1 if there are none.
inline int short_number(iso::Reader &in, int most) {
  const bool two = in.rest.size() > 1 && in.rest[1] >= '0' && in.rest[1] <= '9';
  return in.number(two ? 2 : 1, most);
}

inline bool read_clock(iso::Reader &in, int64_t &microseconds) {
  int64_t of_day = 0;
  if (in.rest.size() > 1 && in.rest[1] == ':') {  // 9:30
    const int hour = in.number(1, 9);
    if (hour < 0) return false;
    char padded[32] = {'0', static_cast<char>('0' + hour)};
    const size_t size = std::min<size_t>(in.rest.size(), sizeof padded - 2);
    std::memcpy(padded + 2, in.rest.data(), size);
    iso::Reader all{{padded, size + 2}};
    if (!iso::read_clock(all, of_day)) return false;
    in.rest.remove_prefix(size - all.rest.size());
  } else if (!iso::read_clock(in, of_day)) {
    return false;
  }
  in.take(' ');
  if (in.rest.size() == 2 && (in.rest[1] | 0x20) == 'm') {
    const char half = static_cast<char>(in.rest[0] | 0x20);
    constexpr int64_t hour = int64_t{3600} * 1000000;
    if ((half != 'a' && half != 'p') || of_day < hour || of_day >= 13 * hour) return false;
    of_day = of_day % (12 * hour) + (half == 'p' ? 12 * hour : 0);
    in.rest = {};
  }
  microseconds += of_day;
  return true;
}

// Reads the name of a month, such as Oct or October, and returns its number; 0 if there is none.
inline int take_month(iso::Reader &in) {
  static constexpr std::string_view kMonths[] = {"january",   "february", "march",    "april",
                                                 "may",       "june",     "july",     "august",
                                                 "september", "october",  "november", "december"};
  constexpr size_t kShortest = 3, kLongest = 9;
  char name[kLongest];
  size_t size = 0;
  for (; size < kLongest && size < in.rest.size(); ++size) {
    name[size] = static_cast<char>(in.rest[size] | 0x20);
    if (name[size] < 'a' || name[size] > 'z') break;
  }
  if (size < kShortest) return 0;
  for (int month = 0; month < 12; ++month)
    if (kMonths[month].substr(0, size) == std::string_view(name, size)) {
      in.rest.remove_prefix(size);
      return month + 1;
    }
  return 0;
}

// Reads a date in an order such as "dmy", perhaps with a time of day. A month may be a name, with
// spaces around it: 11-Oct-16, Jun 12, 1998.
inline bool read_date(std::string_view text, std::string_view order, IsoTime &time) {
  iso::Reader in{trimmed(text)};
  int day = 0, month = 0, year = 0;
  bool has_name = false;
  char between = '\0';
  for (size_t i = 0; i < 3; ++i) {
    if (i == 1) between = in.rest.empty() ? '\0' : in.rest[0];
    if (i == 2 && between == ' ') in.take(',');
    if (i > 0 &&
        (std::string_view("/.- ").find(between) == std::string_view::npos || !in.take(between)))
      return false;
    if (order[i] == 'y') {
      size_t digits = 0;
      while (digits < in.rest.size() && is_digit(in.rest[digits])) ++digits;
      if (digits != 4 && (digits != 2 || i != 2)) return false;
      year = in.number(digits, 9999);
      if (digits == 2) year += year < 69 ? 2000 : 1900;
    } else if (order[i] == 'd') {
      day = short_number(in, 31);
    } else if (!in.rest.empty() && !is_digit(in.rest[0])) {
      month = take_month(in);
      has_name = true;
    } else {
      month = short_number(in, 12);
    }
  }
  if (between == ' ' && !has_name) return false;
  if (day < 1 || month < 1 || day > days_in(year, month)) return false;
  time.microseconds = days_of(year, month, day) * 86400000000;
  in.take(',');
  time.has_clock = in.take('T') || in.take(' ');
  if (!time.has_clock) return in.rest.empty();
  return written::read_clock(in, time.microseconds) && iso::read_zone(in, time.microseconds) &&
         in.rest.empty();
}

// Reads a time of day such as 23:09 or 9:30 pm, as microseconds since midnight.
inline bool read_time_of_day(std::string_view text, IsoTime &time) {
  iso::Reader in{trimmed(text)};
  time.microseconds = 0;
  return written::read_clock(in, time.microseconds) && in.rest.empty();
}

// Calls read(word, value) for each of the first words that is not missing, as many as there are
// values. Returns the rows of the words for which it returns false.
template <class Value, class Read>
std::vector<int64_t> each_word(const arrow::Column &column, const std::vector<std::string> &missing,
                               std::vector<Value> &values, Read read) {
  const std::unordered_set<std::string_view> nothing(missing.begin(), missing.end());
  std::vector<int64_t> wrong;
  std::string_view last;
  bool is_wrong = false;
  Value value{};
  for (size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    if (!column.is_valid(row)) continue;
    const std::string_view word = arrow::text(column, row);
    if (word.empty()) continue;
    if (word != last) {  // neighbouring rows often have the same
      last = word;
      value = values[i];
      const std::string_view inside = trimmed(word);
      is_wrong = !read(word, value) && !inside.empty() && nothing.count(inside) == 0;
    }
    values[i] = value;
    if (is_wrong) wrong.push_back(row);
  }
  return wrong;
}

}  // namespace

std::vector<int64_t> read_numbers(const arrow::Column &column,
                                  const std::vector<std::string> &missing, char decimal,
                                  char thousands, std::vector<double> &numbers) {
  return each_word(column, missing, numbers, [&](std::string_view word, double &number) {
    return decimal == '\0' ? table::read_any_number(word, number)
                           : Digits().number(word, decimal, thousands, number);
  });
}

std::vector<int64_t> read_times(const arrow::Column &column,
                                const std::vector<std::string> &missing, std::string_view order,
                                std::vector<int64_t> &times, bool &has_clock) {
  has_clock = false;
  return each_word(column, missing, times, [&](std::string_view word, int64_t &microseconds) {
    IsoTime time;
    if (!(order.empty() ? read_time_of_day(word, time) : read_date(word, order, time)))
      return false;
    microseconds = time.microseconds;
    has_clock = has_clock || time.has_clock;
    return true;
  });
}

}  // namespace written
}  // namespace polyak
