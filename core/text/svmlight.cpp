#include "text/svmlight.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/kernel_choice.hpp"
#include "text/decimal.hpp"
#include "text/digits.hpp"
#include "text/simd/parse4.hpp"

namespace polyak::svmlight {
namespace {

bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '#'; }

// Parses one block of whole lines. If the base is only assumed, an id of zero ends it early, and
// parse() below begins again with a base of zero: that happens to one block of a stream at most,
// and keeps the question out of the inner loop.
template <class Value>
class Parser : public LineParser<Rows<Value>> {
  using Base = LineParser<Rows<Value>>;
  using Base::bad, Base::newline;

 public:
  using Base::rows;

  Parser(const Options &options, int base, bool base_is_sure)
      : Base(options.skip_bad_lines), options_(options), base_(base), base_is_sure_(base_is_sure) {}

  // Returns false if an id of zero shows that the assumed base is wrong.
  bool run(LineSource &source) {
    rows.begin(source.memory(),
               source.bytes() / 4 + 2);  // a feature has at least four characters, as in " 1:2"
    if (options_.several_labels)
      Base::parse_lines(source, [this](const char *line) { return parse_row<true>(line); });
    else
      Base::parse_lines(source, [this](const char *line) { return parse_row<false>(line); });
    return !saw_id_zero_;
  }

 private:
  // Records a bad token of the line.
  const char *bad(const char *token, const char *reason) {
    const char *end = token;
    while (!ends_token(*end) && end < token + 200) ++end;
    return bad(std::string(token, end), reason);
  }

  // Where the features of the current row are written.
  struct Row : FeaturesOut<Value> {
    void add(int64_t id, int64_t index, double value) {
      *this->indices++ = static_cast<int32_t>(index);
      *this->values++ = static_cast<Value>(value);
      this->ascending &= id > this->previous;
      this->previous = id;
    }
  };

  // Parses a line. Returns the beginning of the next, or null if this one is bad.
  template <bool kSeveralLabels>
  const char *parse_row(const char *p) {
    while (is_blank(*p)) ++p;
    if (*p == '\n') return p + 1;
    if (*p == '#') return newline(p) + 1;
    double target = 0;
    p = kSeveralLabels ? read_labels(p, target) : read_label(p, target);
    if (!p) return nullptr;
    const int64_t begin = rows.indptr.back();
    Row row{{rows.indices.data() + begin, rows.values.data() + begin, -1, true}};
    p = read_features(p, row);
    return p ? close_row(p, begin, row, target) : nullptr;
  }

  // Sorts and validates the features of a row and adds it. Returns what parse_row returns.
  const char *close_row(const char *line_end, int64_t begin, const Row &row, double target) {
    const int64_t end = row.indices - rows.indices.data();
    if (!row.ascending) {
      const int64_t twice = sort_row(begin, end);
      if (twice >= 0) return bad(std::to_string(twice + base_), "a feature appears twice");
    }
    if (end > begin) {
      if (rows.indices[begin] < 0) {
        if (!base_is_sure_) {
          saw_id_zero_ = true;
          return Base::stop();
        }
        return bad(std::string("0"), "ids begin at 1 here (zero_based=True lets them begin at 0)");
      }
      const int64_t last = static_cast<int64_t>(rows.indices[end - 1]);
      if (last > options_.largest_index)
        return bad(std::to_string(last + base_), "a feature lies beyond the number of features");
      rows.largest_index = std::max(rows.largest_index, last);
    }
    rows.targets.push_back(target);
    rows.indptr.push_back(end);
    return line_end + 1;
  }

  // Returns the end of the label, or null.
  const char *read_label(const char *p, double &target) {
    const char *const end = read_number(p, target);
    if (!end || !ends_token(*end)) return bad_label(p, end);
    return std::isfinite(target) ? end : bad(p, "the label is too large");
  }

  // Returns the end of the labels, which is `p` if a feature begins there; or null.
  const char *read_labels(const char *p, double &target) {
    const char *end = p;
    while (!ends_token(*end) && *end != ':') ++end;
    if (*end == ':') end = p;
    const char *const why = rows.labels.read(p, end, target);
    return why ? bad(p, why) : end;
  }

  // Reads all features of the line. Returns the end of the line, or null.
  const char *read_features(const char *p, Row &row) {
    for (;;) {
      p = read_plain_features(p, row);
      if (*p == '\n') return p;
      if (*p == '#') return newline(p);
      if (is_blank(*p))
        ++p;
      else if (!(p = *p == 'q' ? read_query(p) : read_feature(p, row)))
        return nullptr;
    }
  }

  // Reads a feature of any form. Returns its end, or null.
  const char *read_feature(const char *feature, Row &row) {
    int64_t id;
    const char *p = read_id(feature, id);
    if (!p) return bad(feature, "a feature's id must be a whole number below 2^31");
    if (*p != ':') return bad(feature, "a feature must be written id:value");
    double value = 0;
    p = read_number(p + 1, value);
    if (!p || !ends_token(*p)) return bad_value(feature);
    if (!(std::fabs(static_cast<Value>(value)) <= std::numeric_limits<Value>::max()))
      return bad(feature, "a value is too large");
    row.add(id, id - base_, value);
    return p;
  }

  // Reads features of the most common form: an id of up to eight digits, a colon, a value that
  // read_plain_value accepts, then a space or the end of the line. Returns the first position that
  // has another form: behind a space, or at the end of the line.
  const char *read_plain_features(const char *p, Row &so_far) {
    if (*p == ' ') ++p;
    p = kernels->text.read_fours(p, static_cast<int>(base_), so_far);
    Row row = so_far;  // in registers
    for (;;) {
      const char *const window = p;
      // Each round of the loop below takes the ends of a feature's parts. If they run out, the
      // window moves on.
      Ends ends{window, non_digits(window)};
      while (ends) {
        const char *colon = ends.next();
        if (!ends) break;
        const char *end = ends.next();
        unsigned id_digits = static_cast<unsigned>(colon - p);
        if (id_digits - 1 >= 8 || *colon != ':') break;
        double value;
        if (!read_plain_value(colon + 1, ends, end, value)) break;
        if (*end != ' ' && *end != '\n') break;
        int64_t id = static_cast<int64_t>(digits_to_number(eight_chars(p), id_digits));
        row.add(id, id - base_, value);
        p = end;
        if (*p == '\n') break;
        ++p;
      }
      if (p == window || *p == '\n') break;
    }
    so_far = row;
    return p;
  }

  // Iterates over the characters in a window of 64 that are no digits.
  struct Ends {
    const char *window;
    uint64_t bits;

    explicit operator bool() const { return bits != 0; }
    const char *next() {
      const char *end = window + lowest_bit(bits);
      bits &= bits - 1;
      return end;
    }
  };

  // Reads a value of the most common form: an optional minus, one digit, optionally a point and up
  // to eight digits. `end` is the first non-digit and is set to the end of the value. Returns false
  // if the value has another form or extends beyond the window.
  static bool read_plain_value(const char *digit, Ends &ends, const char *&end, double &value) {
    const bool minus = *digit == '-';
    if (minus) {
      if (!ends) return false;
      digit = end + 1;
      end = ends.next();
    }
    if (end != digit + 1) return false;
    value = *digit - '0';
    if (*end == '.') {
      if (!ends) return false;
      const char *fraction = end + 1;
      end = ends.next();
      unsigned n = static_cast<unsigned>(end - fraction);
      if (n - 1 >= 8) return false;
      int32_t w = (*digit - '0') * kSmallPowersOfTen[n] +
                  static_cast<int32_t>(digits_to_number(eight_chars(fraction), n));
      value = over_power_of_ten(w, n);
    }
    if (minus) value = -value;
    return true;
  }

  // Sorts a row by index. Returns an index that occurs twice, or -1.
  int64_t sort_row(int64_t begin, int64_t end) {
    scratch_.clear();
    for (int64_t i = begin; i < end; ++i) scratch_.emplace_back(rows.indices[i], rows.values[i]);
    std::sort(scratch_.begin(), scratch_.end(),
              [](const auto &a, const auto &b) { return a.first < b.first; });
    for (int64_t i = begin; i < end; ++i) {
      std::tie(rows.indices[i], rows.values[i]) = scratch_[static_cast<size_t>(i - begin)];
      if (i > begin && rows.indices[i] == rows.indices[i - 1]) return rows.indices[i];
    }
    return -1;
  }

  // Returns where the id ends, or null if there is none below 2^31.
  static const char *read_id(const char *p, int64_t &id) {
    if (!is_digit(*p)) return nullptr;
    for (id = 0; is_digit(*p); ++p) {
      id = 10 * id + (*p - '0');
      if (id > std::numeric_limits<int32_t>::max()) return nullptr;
    }
    return p;
  }

  // Validates and ignores `qid:n`, which groups rows for ranking.
  const char *read_query(const char *query) {
    const char *p = query;
    if (std::memcmp(p, "qid:", 4) == 0)
      for (p += 4; is_digit(*p);) ++p;
    if (p > query + 4 && ends_token(*p)) return p;
    return bad(query, "the query is not written qid:number");
  }

  const char *bad_label(const char *label, const char *end) {
    if (is_not_finite(label)) return bad(label, "the label is not finite");
    if (end && *end == ',')
      return bad(label, "several labels are for models that learn them (multilabel=True)");
    if (end && *end == ':') return bad(label, "the line does not begin with a label");
    return bad(label, "the label is not a number");
  }
  const char *bad_value(const char *feature) {
    const char *value = feature;
    while (*value++ != ':') {
    }
    if (is_not_finite(value)) return bad(feature, "a value is not finite");
    return bad(feature, "a value is not a number");
  }

  const Options options_;
  const int64_t base_;
  const bool base_is_sure_;
  bool saw_id_zero_ = false;
  std::vector<std::pair<int32_t, Value>> scratch_;
};

}  // namespace

template <class Value>
Rows<Value> parse(LineSource &source, const Options &options) {
  const bool base_is_sure = options.base >= 0;
  const int base = base_is_sure ? options.base : 1;
  Parser<Value> parser(options, base, base_is_sure);
  if (!parser.run(source)) {
    Options from_zero = options;
    from_zero.base = 0;
    source.rewind();
    return parse<Value>(source, from_zero);
  }
  if (base_is_sure || parser.rows.largest_index >= 0) parser.rows.base = base;
  return std::move(parser.rows);
}

template Rows<float> parse(LineSource &, const Options &);
template Rows<double> parse(LineSource &, const Options &);

}  // namespace polyak::svmlight
