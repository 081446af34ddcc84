#include "text/vw.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "hash/hashing.hpp"
#include "hash/slot_order.hpp"
#include "text/decimal.hpp"
#include "text/digits.hpp"
#include "text/marks.hpp"

namespace polyak::vw {
namespace {

bool ends_name(char c) { return is_blank(c) || c == ':' || c == '|' || c == '\n'; }
bool ends_value(char c) { return is_blank(c) || c == '|' || c == '\n'; }

template <class Value>
class Parser : public LineParser<Rows<Value>> {
  using Base = LineParser<Rows<Value>>;
  using Base::bad, Base::newline;

 public:
  using Base::rows;

  explicit Parser(const Options &options)
      : Base(options.skip_bad_lines),
        options_(options),
        order_(options.bits),
        spaces_(options.spaces),
        crosses_(spaces_) {
    rows.seen.resize(spaces_.size());
  }

  void run(LineSource &source) {
    most_ = source.bytes() / 2 + 2;  // a feature takes two characters, as in " a"
    rows.weights = Column<double>(source.memory());
    rows.begin(source.memory(), most_);
    Base::parse_lines(source, [this](const char *line) { return parse_row(line); });
  }

 private:
  // The numbers before the bar: label, importance and base.
  struct Head {
    double numbers[3] = {std::numeric_limits<double>::quiet_NaN(), 1.0, 0.0};
  };

  struct Row {
    int32_t *slots;
    Value *values;
    int64_t end;

    void add(uint64_t slot, double value) {
      slots[end] = static_cast<int32_t>(slot);
      values[end++] = static_cast<Value>(value);
    }
  };

  // Records a bad token of the line.
  const char *bad(const char *token, const char *reason) {
    const char *end = token;
    while (!ends_value(*end) && end < token + 200) ++end;
    return bad(std::string(token, end), reason);
  }

  // Returns the next token or the end of the line; null if there is a carriage return between
  // tokens, since a file of such line ends would be learned as one row.
  const char *skip_blanks(const char *p) {
    bool returns = false;
    for (; is_blank(*p); ++p) returns |= *p == '\r';
    if (!returns || *p == '\n') return p;
    return bad(p,
               "a carriage return stands inside a line: turn such line ends into newlines first, "
               "as tr '\\r' '\\n' does");
  }

  // Parses a line. Returns the beginning of the next, or null if this one is bad.
  const char *parse_row(const char *p) {
    while (is_blank(*p)) ++p;
    if (*p == '\n') return p + 1;
    Head head;
    if (!(p = read_head(p, head))) return nullptr;

    const int64_t begin = rows.indptr.back();
    Row row{rows.indices.data(), rows.values.data(), begin};
    if (!spaces_.empty()) crosses_.clear();
    while (*p == '|') {
      const char *space = p++;
      if (!(p = read_namespace(p))) return bad_namespace(space);
      const int64_t first = row.end;
      if (!(p = read_features(p, row))) return nullptr;
      if (space_ < spaces_.size()) keep_or_drop(row, first);
    }
    if (!spaces_.crosses().empty() && !cross(row)) return nullptr;
    int64_t end = begin + order_.sort(row.slots + begin, row.values + begin, row.end - begin);
    for (int64_t i = begin; end < row.end && i < end; ++i)
      if (!is_finite(row.values[i]))
        return bad(std::to_string(row.slots[i]), "values of one slot add up to too much");

    const auto [label, importance, base] = head.numbers;
    if (base != 0) {
      row.end = end;
      row.add(uint64_t{1} << options_.bits, base);
      end = row.end;
    }
    if (options_.need_labels && std::isnan(label)) {
      ++rows.unlabelled;
      return p + 1;
    }
    rows.targets.push_back(label);
    if (options_.with_tags) rows.tags.append(tag_).push_back('\n');
    if (importance != 1.0 || !rows.weights.empty()) {
      while (rows.weights.size() + 1 < rows.targets.size()) rows.weights.push_back(1.0);
      rows.weights.push_back(importance);
    }
    rows.indptr.push_back(end);
    return p + 1;
  }

  // ---- namespaces of the options ----------------------------------------------------------------

  // Finds out whether the features of a namespace are crossed, dropped or named.
  void look_up(std::string_view name) {
    space_ = spaces_.find(name);
    naming_ = names_ && !spaces_.is_dropped(space_);
    keeping_ = names_ && spaces_.is_crossed(space_);
    kept_.clear();
  }

  void keep_or_drop(Row &row, int64_t first) {
    rows.seen[space_] = true;
    if (spaces_.is_dropped(space_)) {
      row.end = first;
      return;
    }
    for (int64_t i = first; i < row.end; ++i)
      crosses_.add(space_, {static_cast<uint64_t>(row.slots[i]), row.values[i],
                            keeping_ ? kept_[static_cast<size_t>(i - first)] : std::string()});
  }

  // Adds the crossed features to a row. Returns false if the row is bad.
  bool cross(Row &row) {
    const double count = crosses_.count();
    if (count > kMostCrossed) {
      bad(std::to_string(static_cast<int64_t>(std::min(count, 1e18))),
          "namespaces are crossed to more features than a row may have");
      return false;
    }
    const size_t room = static_cast<size_t>(row.end) + static_cast<size_t>(count) + most_;
    rows.indices.resize(static_cast<size_t>(row.end));
    rows.values.resize(static_cast<size_t>(row.end));
    rows.indices.reserve(room);
    rows.values.reserve(room);
    row.slots = rows.indices.data();
    row.values = rows.values.data();
    bool sound = true;
    const uint64_t mask = (uint64_t{1} << options_.bits) - 1;
    crosses_.each(names_ != nullptr, [&](const Crosses::Feature &made) {
      const auto slot = static_cast<int64_t>(made.slot & mask);
      sound = sound && is_finite(static_cast<Value>(made.value));
      if (names_)
        names_->see(hashing::hash_bytes(made.name.data(), made.name.size()), slot, made.name);
      row.add(static_cast<uint64_t>(slot), made.value);
    });
    if (!sound) bad("crossed", "a product of crossed values is too large");
    return sound;
  }

  // ---- before the bar ---------------------------------------------------------------------------

  // Returns the position of the bar, or null.
  const char *read_head(const char *p, Head &head) {
    const char *const line = p;
    tag_ = {};
    for (int n = 0; *p != '|'; ++n) {
      if (*p == '\n') return bad_head(line, p);
      const char *token = p;
      while (!ends_value(*p)) ++p;
      const bool touches = *p == '|';
      const char *const end = p;
      if (!(p = skip_blanks(p))) return nullptr;
      if (touches || (*token == '\'' && *p == '|')) {  // a tag
        const char *const begin = token + (*token == '\'');
        tag_ = {begin, static_cast<size_t>(end - begin)};
        break;
      }
      if (n == 0 && options_.several_labels) {
        if (const char *why = rows.labels.read(token, end, head.numbers[0])) return bad(token, why);
      } else if (n == 3 || read_number(token, head.numbers[n]) != end) {
        return bad_head(line, token);
      }
    }
    const auto [label, importance, base] = head.numbers;
    if (std::isinf(label)) return bad(line, "the label is too large");
    if (importance < 0) return bad(line, "the importance is negative");
    if (std::isinf(importance)) return bad(line, "the importance is too large");
    if (std::isinf(base)) return bad(line, "the base is too large");
    if (base != 0 && !options_.with_base)
      return bad(line, "a base other than 0 is added to the score only with --offset base");
    return p;
  }

  const char *bad_head(const char *line, const char *token) {
    const char *const end = newline(line);
    if (!std::memchr(line, '|', static_cast<size_t>(end - line)))
      return bad(std::string(line, std::min(end, line + 200)),
                 "there is no bar between label and features");
    if (std::memcmp(token, "shared", 6) == 0)
      return bad(token, "examples of several lines, with shared features, cannot be read");
    if (is_not_finite(token)) return bad(token, "a number before the bar is not finite");
    const char *colon = token;
    while (!ends_name(*colon)) ++colon;
    if (*colon == ':') return bad(token, "a row may have one number as its label only");
    if (std::memchr(token, ',', static_cast<size_t>(colon - token)))
      return bad(token, "several labels are for models that learn them (multilabel=True)");
    return bad(token, "before the bar stand a label, an importance and a base, each a number");
  }

  // ---- behind the bar ---------------------------------------------------------------------------

  // Reads the optional name behind a bar and its scale. Returns null if they are malformed.
  const char *read_namespace(const char *p) {
    const char *const name = p;
    while (!ends_name(*p)) ++p;
    if (!spaces_.empty()) look_up({name, static_cast<size_t>(p - name)});
    name_.assign(name, p);
    if (p > name) name_.push_back('^');
    prefix_ = name_.size();
    name_.resize(prefix_ + kShort);
    scale_ = 1.0;
    unnamed_ = 0;
    if (*p == ':') {
      if (p == name) return nullptr;
      p = read_number(p + 1, scale_);
      if (!p || !ends_value(*p) || !std::isfinite(scale_)) return nullptr;
    }
    return p;
  }

  const char *bad_namespace(const char *space) {
    return bad(space + 1, "a namespace must be written |name or |name:scale");
  }

  // Returns the next bar or the end of the line, or null.
  const char *read_features(const char *p, Row &row) {
    const bool is_plain = std::fabs(scale_) <= 1e20;  // no value below ten can be too large then
    for (;;) {
      if (!(p = skip_blanks(p))) return nullptr;
      if (is_plain) p = read_plain_features(p, row);
      if (!(p = skip_blanks(p))) return nullptr;
      if (*p == '\n' || *p == '|') return p;

      const char *const name = p;
      while (!ends_name(*p)) ++p;
      const char *const end = p;
      double value = 1.0;
      if (*p == ':') {
        p = read_number(p + 1, value);
        if (!p || !ends_value(*p)) return bad_value(name, end + 1);
      }
      value *= scale_;
      if (!is_finite(static_cast<Value>(value))) return bad(name, "a value is too large");
      row.add(end > name ? slot_of(name, end) : slot_of_unnamed(), value);
    }
  }

  // Reads features of the most common form: a name, optionally followed by a colon and a value that
  // read_plain_value accepts, then a space or the end of the line. Returns the first position that
  // has another form: behind a space, or at the end of the line.
  const char *read_plain_features(const char *p, Row &so_far) {
    Row row = so_far;  // in registers
    for (;;) {
      const char *const window = p;
      // Each iteration removes the lowest bits, which are the ends of the feature's parts. When
      // none are left, the window moves on.
      uint64_t ends = name_ends(window);
      while (ends) {
        const char *const name_end = window + lowest_bit(ends);
        const char *end = name_end;
        ends &= ends - 1;
        double value = 1.0;
        if (*end == ':') {
          if (!ends) break;
          end = window + lowest_bit(ends);
          ends &= ends - 1;
          if (!read_plain_value(name_end + 1, end, value)) break;
        }
        if ((*end != ' ' && *end != '\n') || name_end == p) break;
        row.add(slot_of(p, name_end), value * scale_);
        p = end;
        if (*p == '\n') break;
        ++p;
      }
      if (p == window || *p == '\n') break;
    }
    so_far = row;
    return p;
  }

  static bool read_plain_value(const char *digit, const char *end, double &value) {
    const bool minus = *digit == '-';
    digit += minus;
    if (!is_digit(*digit)) return false;
    value = *digit - '0';
    if (end != digit + 1) {
      const unsigned n = static_cast<unsigned>(end - digit) - 2;
      if (digit[1] != '.' || n - 1 >= 8) return false;
      const uint64_t chars = eight_chars(digit + 2);
      if (leading_digits(chars) < n) return false;
      int32_t w =
          (*digit - '0') * kSmallPowersOfTen[n] + static_cast<int32_t>(digits_to_number(chars, n));
      value = over_power_of_ten(w, n);
    }
    if (minus) value = -value;
    return true;
  }

  const char *bad_value(const char *feature, const char *value) {
    if (is_not_finite(value)) return bad(feature, "a value is not finite");
    return bad(feature, "a value is not a number");
  }

  // ---- names ------------------------------------------------------------------------------------

  uint64_t slot_of(const char *name, const char *end) {
    const size_t size = static_cast<size_t>(end - name);
    if (prefix_ == 0) return slot(name, size);
    if (size <= kShort) {
      std::memcpy(&name_[prefix_], name, kShort);  // a constant size is faster
    } else {
      name_.resize(std::max(name_.size(), prefix_ + size));
      std::memcpy(&name_[prefix_], name, size);
    }
    return slot(name_.data(), prefix_ + size);
  }
  uint64_t slot_of_unnamed() {
    const std::string all = name_.substr(0, prefix_) + std::to_string(unnamed_++);
    return slot(all.data(), all.size());
  }
  uint64_t slot(const char *name, size_t size) {
    const uint64_t hash = hashing::hash_bytes(name, size);
    if (naming_) note_name(hash, {name, size});
    return static_cast<uint64_t>(hashing::slot(hash, options_.bits));
  }
  void note_name(uint64_t hash, std::string_view name) {
    names_->see(hash, name);
    if (keeping_) kept_.emplace_back(name);
  }

  static bool is_finite(Value value) {
    return std::fabs(value) <= std::numeric_limits<Value>::max();
  }

  static constexpr size_t kShort = 32;
  static constexpr double kMostCrossed = 1 << 24;
  const Options options_;
  SlotNames *const names_ = options_.names.get();
  std::string_view tag_;  // of the row
  SlotOrder<Value> order_;
  std::string name_;   // the namespace and ^, then space for a feature
  size_t prefix_ = 0;  // the size of the namespace and ^
  double scale_ = 1.0;
  int64_t unnamed_ = 0;

  const Namespaces spaces_;
  Crosses crosses_;
  size_t most_ = 0;   // the largest number of features in the text, without crossed ones
  size_t space_ = 0;  // the number of the current namespace
  bool naming_ = names_ != nullptr, keeping_ = false;  // the names of its features
  std::vector<std::string> kept_;
};

}  // namespace

template <class Value>
Rows<Value> parse(LineSource &source, const Options &options) {
  Parser<Value> parser(options);
  parser.run(source);
  return std::move(parser.rows);
}

template Rows<float> parse(LineSource &, const Options &);
template Rows<double> parse(LineSource &, const Options &);

}  // namespace polyak::vw
