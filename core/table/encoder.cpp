#include "table/encoder.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "hash/hashing.hpp"
#include "hash/slot_order.hpp"

namespace polyak {
namespace table {

bool is_missing(std::string_view text) {
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

namespace {

// Returns the number of bytes of the separator of words at `p`, 0 if there is none. Letters, digits
// and all other characters beyond ASCII belong to words, except for Unicode's spaces and
// punctuation in the three blocks below.
size_t separator(const unsigned char *p, const unsigned char *end) {
  const unsigned char c = p[0];
  if (c < 0x80) {
    const unsigned char lower = c | 0x20;
    const bool is_word = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '_';
    return is_word ? 0 : 1;
  }
  if (c == 0xC2 && end - p > 1 && p[1] < 0xC0) return 2;                     // U+0080 to U+00BF
  if (c == 0xE2 && end - p > 2 && (p[1] == 0x80 || p[1] == 0x81)) return 3;  // U+2000 to U+207F
  if (c == 0xE3 && end - p > 2 && p[1] == 0x80) return 3;                    // U+3000 to U+303F
  return 0;
}

void split_words(std::string_view text, std::vector<std::string_view> &words) {
  words.clear();
  const unsigned char *p = reinterpret_cast<const unsigned char *>(text.data());
  const unsigned char *end = p + text.size();
  const unsigned char *word = nullptr;
  const auto finish = [&] {
    if (word != nullptr)
      words.emplace_back(reinterpret_cast<const char *>(word), static_cast<size_t>(p - word));
    word = nullptr;
  };
  while (p < end) {
    const size_t gap = separator(p, end);
    if (gap > 0) {
      finish();
      p += gap;
    } else {
      if (word == nullptr) word = p;
      ++p;
    }
  }
  finish();
}

// A cache of the slots of words of up to eight bytes, so that frequent words are hashed once. Such
// a word and its length are an exact key; a collision replaces the older entry.
class SlotCache {
 public:
  static constexpr size_t kPlaces = 1024;
  struct Place {
    uint64_t word = 0;
    size_t size = 0;
    int64_t slot = 0;
  };
  // Must be called first. A table may have thousands of columns that need no cache.
  void prepare() { places_.resize(kPlaces); }
  static bool takes(std::string_view word) { return word.size() <= 8; }
  Place &place(std::string_view word, uint64_t &key) {
    const unsigned char *p = reinterpret_cast<const unsigned char *>(word.data());
    const size_t n = word.size();
    if (n >= 4)
      key = hashing::read4(p) | hashing::read4(p + n - 4) << 32;
    else
      key = p[0] | uint64_t{p[n / 2]} << 8 | uint64_t{p[n - 1]} << 16;
    return places_[((key + n) * hashing::kPrime1) >> 54];
  }

 private:
  std::vector<Place> places_;
};

// Writes rows: their plain features in ascending order, then their hashed features.
template <class Value>
class RowWriter {
 public:
  EncodedRows<Value> made;

  RowWriter(const Plan &plan, const Memory &memory)
      : made{Column<int64_t>(memory), Column<int32_t>(memory), Column<Value>(memory), {}},
        order_(plan.bits),
        hashed_begin_(plan.hashed_begin) {
    made.indptr.push_back(0);
  }

  void make_room(size_t more) {
    made.indices.resize(stored_);
    made.values.resize(stored_);
    made.indices.reserve(stored_ + more);
    made.values.reserve(stored_ + more);
  }

  // Adds a plain feature, for which there must be room. A zero is written, but not counted, so that
  // the next feature overwrites it.
  void put(int64_t index, double value) {
    const Value rounded = static_cast<Value>(value);
    made.indices.data()[stored_] = static_cast<int32_t>(index);
    made.values.data()[stored_] = rounded;
    stored_ += rounded != Value(0);
  }

  void put_hashed(int64_t slot, double value) {
    if (hashed_ == slots_.size()) {
      slots_.resize(2 * hashed_ + 32);
      values_.resize(slots_.size());
    }
    slots_[hashed_] = static_cast<int32_t>(slot);
    values_[hashed_++] = value;
  }

  // Begins a row that has at most `most_plain` plain features.
  void begin(size_t most_plain) {
    hashed_ = 0;
    start_ = stored_;
    make_room(most_plain);
  }

  // Ends the row, or leaves it empty.
  void end(bool empty) {
    if (empty) {
      stored_ = start_;
    } else {
      const int64_t left =
          order_.sort(slots_.data(), values_.data(), static_cast<int64_t>(hashed_));
      make_room(static_cast<size_t>(left) + 1);
      for (int64_t i = 0; i < left; ++i) put(hashed_begin_ + slots_[i], values_[i]);
    }
    made.indptr.push_back(static_cast<int64_t>(stored_));
  }

 private:
  SlotOrder<double> order_;
  const int64_t hashed_begin_;
  size_t stored_ = 0, start_ = 0;
  std::vector<int32_t> slots_;  // of the row's hashed features, without `hashed_begin_`
  std::vector<double> values_;
  size_t hashed_ = 0;
};

// Works on a few hundred rows at a time, column by column into numbers and slots, then row by row
// into the result, so that both the columns and the rows stay in the cache.
template <class Value>
class Encoder {
 public:
  static constexpr int64_t kChunk = 256, kMissingSlot = -1;
  static constexpr int64_t kCells = int64_t(1) << 17;

  Encoder(const Plan &plan, const std::vector<arrow::Column> &columns, int64_t n,
          const uint8_t *chosen, SlotNames *names, const Memory &memory)
      : plan_(plan), columns_(columns), n_(n), chosen_(chosen), names_(names), rows_(plan, memory) {
    const size_t m = plan.columns.size();
    chunk_ = std::max<int64_t>(8, std::min(kChunk, kCells / static_cast<int64_t>(m + 1)));
    numbers_.resize(m);
    slots_.resize(m);
    of_dictionary_.resize(m);
    caches_.resize(m);
    for (size_t c = 0; c < m; ++c) {
      most_plain_ += is_hashed(c) ? 1 : plan.columns[c].type >= ColumnType::clock ? 5 : 1;
      if (!is_hashed(c)) numbers_[c].resize(static_cast<size_t>(chunk_));
      if (plan.columns[c].type == ColumnType::category) {
        slots_[c].resize(static_cast<size_t>(chunk_));
        if (columns[c].schema->dictionary == nullptr) caches_[c].prepare();
      }
      if (columns[c].schema->dictionary != nullptr) hash_dictionary(c);
      const ColumnPlan &column = plan.columns[c];
      steps_.push_back({column.type, column.first, numbers_[c].data(), slots_[c].data(), c});
    }
  }

  EncodedRows<Value> run() {
    rows_.made.indptr.reserve(static_cast<size_t>(n_) + 1);
    rows_.make_room(static_cast<size_t>(n_) * (most_plain_ + plan_.interactions.size()));
    for (int64_t begin = 0; begin < n_; begin += chunk_) {
      const int64_t size = std::min(chunk_, n_ - begin);
      std::fill(is_bad_, is_bad_ + kChunk, false);
      for (size_t c = 0; c < columns_.size(); ++c) read(c, begin, size);
      for (int64_t i = 0; i < size; ++i)
        if (chosen_ == nullptr || chosen_[begin + i]) write_row(begin, i);
    }
    rows_.make_room(0);
    return std::move(rows_.made);
  }

 private:
  bool is_hashed(size_t c) const { return plan_.columns[c].type >= ColumnType::category; }

  // -- columns to numbers and slots ----------------------------------------------------------

  void read(size_t c, int64_t begin, int64_t size) {
    const arrow::Column &column = columns_[c];
    if (plan_.columns[c].type == ColumnType::category) {
      read_slots(c, begin, size);
    } else if (!is_hashed(c)) {
      double *numbers = numbers_[c].data();
      const ColumnPlan &plan = plan_.columns[c];
      arrow::numbers(column, begin, size, numbers);
      if (plan.type == ColumnType::number)  // here, since this loop is vectorized
        for (int64_t i = 0; i < size; ++i) numbers[i] = (numbers[i] - plan.offset) / plan.scale;
    }
  }

  std::string_view text(size_t c, int64_t row, bool &valid) {
    const arrow::Column &column = columns_[c];
    valid = column.is_valid(row);
    if (!valid) return {};
    if (column.schema->dictionary == nullptr) return arrow::text(column, row);
    double code;
    arrow::numbers(column, row, 1, &code);
    const arrow::Column words{column.schema->dictionary, column.array->dictionary,
                              column.array->dictionary->offset};
    valid = code >= 0.0 && code < static_cast<double>(words.array->length) &&
            words.is_valid(static_cast<int64_t>(code));
    return valid ? arrow::text(words, static_cast<int64_t>(code)) : std::string_view();
  }

  void read_slots(size_t c, int64_t begin, int64_t size) {
    const arrow::Column &column = columns_[c];
    int64_t *slots = slots_[c].data();
    if (column.schema->dictionary == nullptr) {
      for (int64_t i = 0; i < size; ++i)
        slots[i] = column.is_valid(begin + i) ? cached_slot(c, arrow::text(column, begin + i))
                                              : kMissingSlot;
      return;
    }
    double codes[kChunk];
    arrow::numbers(column, begin, size, codes);
    const std::vector<int64_t> &known = of_dictionary_[c];
    for (int64_t i = 0; i < size; ++i)  // a code of a damaged file may be out of range
      slots[i] = codes[i] >= 0.0 && codes[i] < static_cast<double>(known.size())
                     ? known[static_cast<size_t>(codes[i])]
                     : kMissingSlot;
  }

  int64_t cached_slot(size_t c, std::string_view word) {
    if (word.empty()) return kMissingSlot;
    if (!SlotCache::takes(word)) return is_missing(word) ? kMissingSlot : value_slot(c, word);
    uint64_t key;
    SlotCache::Place &place = caches_[c].place(word, key);
    if (place.word != key || place.size != word.size())
      place = {key, word.size(), is_missing(word) ? kMissingSlot : value_slot(c, word)};
    return place.slot;
  }

  void hash_dictionary(size_t c) {
    if (plan_.columns[c].type != ColumnType::category) return;
    const ArrowArray *array = columns_[c].array->dictionary;
    const arrow::Column words{columns_[c].schema->dictionary, array, array->offset};
    of_dictionary_[c].resize(static_cast<size_t>(array->length), kMissingSlot);
    for (int64_t i = 0; i < array->length; ++i) {
      if (!words.is_valid(i)) continue;
      const std::string_view word = arrow::text(words, i);
      if (!is_missing(word)) of_dictionary_[c][static_cast<size_t>(i)] = value_slot(c, word);
    }
  }

  // -- names to slots --------------------------------------------------------------------------

  int64_t value_slot(size_t c, std::string_view value) {
    name_.assign(plan_.columns[c].name).push_back('=');
    name_.append(value);
    return slot_of_name();
  }

  int64_t slot_of_name() {
    const uint64_t hash = hashing::hash_bytes(name_.data(), name_.size());
    if (names_) names_->see(hash, name_);
    return hashing::slot(hash, plan_.bits);
  }

  // -- rows ------------------------------------------------------------------------------------

  void write_row(int64_t begin, int64_t i) {
    rows_.begin(most_plain_);
    for (const Step &step : steps_) {
      if (step.type <= ColumnType::boolean) {  // most columns
        const double x = step.numbers[i];
        if (std::abs(x) <= std::numeric_limits<Value>::max()) {
          rows_.put(step.first, x);
          continue;
        }
      } else if (step.type == ColumnType::category && step.slots[i] != kMissingSlot) {
        rows_.put_hashed(step.slots[i], 1.0);
        continue;
      }
      write_column(step.column, begin + i, static_cast<size_t>(i));
    }
    for (const std::vector<int> &crossed : plan_.interactions)
      cross(crossed, begin + i, static_cast<size_t>(i));
    rows_.end(is_bad_[i]);
  }

  void write_column(size_t c, int64_t row, size_t i) {
    const ColumnPlan &plan = plan_.columns[c];
    switch (plan.type) {
      case ColumnType::category:
        if (slots_[c][i] == kMissingSlot)
          rows_.put(plan.first, 1.0);
        else
          rows_.put_hashed(slots_[c][i], 1.0);
        return;
      case ColumnType::text:
        return write_text(c, row);
      case ColumnType::bag:
        return write_bag(c, row);
      default:
        write_number(c, row, numbers_[c][i]);
    }
  }

  void write_number(size_t c, int64_t row, double x) {
    const ColumnPlan &plan = plan_.columns[c];
    const double value = scaled(plan, x);
    if (!(std::abs(value) <= std::numeric_limits<Value>::max())) {
      if (std::isnan(value)) return rows_.put(plan.first + 1, 1.0);
      is_bad_[row % chunk_] = true;
      return rows_.made.too_large.push_back({row, static_cast<int>(c), as_text(c, row)});
    }
    rows_.put(plan.first, value);
    if (plan.type <= ColumnType::boolean) return;
    if (plan.type == ColumnType::date || plan.type == ColumnType::time) {
      // The first of January 1970 was a Thursday.
      const double day = std::floor(x);
      put_on_circle(plan.first + 2, (day + 3.0 - 7.0 * std::floor((day + 3.0) / 7.0)) / 7.0);
    }
    if (plan.type == ColumnType::time) put_on_circle(plan.first + 4, x - std::floor(x));
    if (plan.type == ColumnType::clock) put_on_circle(plan.first + 2, x - std::floor(x));
  }

  // Returns a number in the fewest digits that identify it, 6 or 17.
  std::string as_text(size_t c, int64_t row) const {
    double x;
    arrow::numbers(columns_[c], row, 1, &x);
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    char digits[32];
    for (int precision : {6, 17}) {
      std::snprintf(digits, sizeof digits, "%.*g", precision, x);
      if (std::strtod(digits, nullptr) == x) break;
    }
    return digits;
  }

  // Columns of numbers are scaled when they are read.
  static double scaled(const ColumnPlan &plan, double x) {
    return plan.type == ColumnType::number ? x : (x - plan.offset) / plan.scale;
  }

  // Writes sine and cosine of a share of the whole circle, which neighbouring rows often share.
  void put_on_circle(int64_t first, double share) {
    OnCircle &memo = on_circle_[static_cast<size_t>(first) % 16];
    if (memo.share != share) {
      const double angle = 6.283185307179586 * share;
      memo = {share, std::sin(angle), std::cos(angle)};
    }
    rows_.put(first, memo.sine);
    rows_.put(first + 1, memo.cosine);
  }

  void write_text(size_t c, int64_t row) {
    bool valid;
    const std::string_view all = text(c, row, valid);
    if (!valid || is_missing(all)) return rows_.put(plan_.columns[c].first, 1.0);
    split_words(all, words_);
    for (size_t i = 0; i < words_.size(); ++i) {
      name_.assign(plan_.columns[c].name).push_back('=');
      const size_t longest = std::min(words_.size() - i, static_cast<size_t>(plan_.ngrams));
      for (size_t k = 0; k < longest; ++k) {
        if (k > 0) name_.push_back(' ');
        name_.append(words_[i + k]);
        rows_.put_hashed(slot_of_name(), 1.0);
      }
    }
  }

  void write_bag(size_t c, int64_t row) {
    const arrow::Column &column = columns_[c];
    if (!column.is_valid(row)) return rows_.put(plan_.columns[c].first, 1.0);
    const ArrowArray *child = column.array->children[0];
    const arrow::Column items{column.schema->children[0], child, child->offset};
    const int64_t at = column.begin + row;
    const void *ends = column.array->buffers[1];
    const bool wide = column.format() == "+L";
    const auto end = [&](int64_t i) {
      return wide ? static_cast<const int64_t *>(ends)[i]
                  : int64_t{static_cast<const int32_t *>(ends)[i]};
    };
    for (int64_t i = end(at); i < end(at + 1); ++i) {
      if (!items.is_valid(i)) continue;
      const std::string_view word = arrow::text(items, i);
      if (!is_missing(word)) rows_.put_hashed(value_slot(c, word), 1.0);
    }
  }

  // Adds a crossed feature: words are part of its name, numbers factors of its value.
  void cross(const std::vector<int> &crossed, int64_t row, size_t i) {
    crossing_.clear();
    double value = 1.0;
    for (int part : crossed) {
      const size_t c = static_cast<size_t>(part);
      const ColumnPlan &plan = plan_.columns[c];
      if (!crossing_.empty()) crossing_.push_back('^');
      crossing_.append(plan.name);
      if (plan.type == ColumnType::category) {
        if (slots_[c][i] == kMissingSlot) return;
        bool valid;
        crossing_.push_back('=');
        crossing_.append(text(c, row, valid));
      } else {
        const double x = numbers_[c][i];
        if (std::isnan(x)) return;
        value *= scaled(plan, x);
      }
    }
    name_.assign(crossing_);
    rows_.put_hashed(slot_of_name(), value);
  }

  // What writing a row needs of a column, in consecutive memory.
  struct Step {
    ColumnType type;
    int64_t first;
    const double *numbers;
    const int64_t *slots;
    size_t column;
  };
  struct OnCircle {
    double share = -1.0, sine = 0.0, cosine = 0.0;
  };

  const Plan &plan_;
  const std::vector<arrow::Column> &columns_;
  const int64_t n_;
  int64_t chunk_;
  const uint8_t *const chosen_;
  SlotNames *const names_;
  size_t most_plain_ = 1;  // plain features of a row, and one more for a zero at its end
  std::vector<std::vector<double>> numbers_;
  std::vector<std::vector<int64_t>> slots_, of_dictionary_;
  std::vector<SlotCache> caches_;
  std::vector<Step> steps_;
  std::vector<std::string_view> words_;
  std::string name_, crossing_;
  OnCircle on_circle_[16];
  bool is_bad_[kChunk];
  RowWriter<Value> rows_;
};

}  // namespace

template <class Value>
EncodedRows<Value> encode(const Plan &plan, const std::vector<arrow::Column> &columns, int64_t n,
                          const uint8_t *chosen, SlotNames *names, const Memory &memory) {
  return Encoder<Value>(plan, columns, n, chosen, names, memory).run();
}
template EncodedRows<float> encode(const Plan &, const std::vector<arrow::Column> &, int64_t,
                                   const uint8_t *, SlotNames *, const Memory &);
template EncodedRows<double> encode(const Plan &, const std::vector<arrow::Column> &, int64_t,
                                    const uint8_t *, SlotNames *, const Memory &);

}  // namespace table
}  // namespace polyak
