// The columns of a table to sparse rows: numbers as they are, words hashed, missing values marked.
// It works through a few hundred rows at a time, column by column into numbers and slots, then row
// by row into the result, so that both the columns and the rows stay in the cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "hash/hashing.hpp"
#include "hash/slot_cache.hpp"
#include "hash/slot_names.hpp"
#include "table/arrow.hpp"
#include "table/iso_time.hpp"
#include "table/plan.hpp"
#include "table/row_writer.hpp"
#include "table/words.hpp"

namespace polyak {
namespace table {

template <class Value>
class Encoder {
 public:
  static constexpr int64_t kChunk = 256, kMissingSlot = -1;
  static constexpr int64_t kCells = int64_t(1) << 17;

  // `chosen` has a byte for every row: 0 leaves it out. Without it all are taken.
  Encoder(const Plan &plan, const std::vector<arrow::Column> &columns, int64_t n,
          const uint8_t *chosen, SlotNames *names)
      : plan_(plan), columns_(columns), n_(n), chosen_(chosen), names_(names) {
    const size_t m = plan.columns.size();
    // Columns are read and rows are written some at a time, as many as the cache has room for.
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

  Rows<Value> run() {
    rows_.made.indptr.reserve(static_cast<size_t>(n_) + 1);
    rows_.make_room(static_cast<size_t>(n_) * (most_plain_ + plan_.interactions.size()));
    for (int64_t begin = 0; begin < n_; begin += chunk_) {
      const int64_t size = std::min(chunk_, n_ - begin);
      std::fill(is_bad_, is_bad_ + kChunk, false);
      for (size_t c = 0; c < columns_.size(); ++c) read(c, begin, size);
      for (int64_t i = 0; i < size; ++i)
        if (chosen_ == nullptr || chosen_[begin + i]) write_row(begin, i);
    }
    std::stable_sort(rows_.made.bad.begin(), rows_.made.bad.end(),
                     [](const BadValue &a, const BadValue &b) { return a.row < b.row; });
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
      if (column.schema->dictionary != nullptr || arrow::is_text(column.format()))
        read_times(c, begin, size);
      else
        arrow::numbers(column, begin, size, numbers);
      if (plan.type == ColumnType::number)  // here the compiler does several at a time
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

  void read_times(size_t c, int64_t begin, int64_t size) {
    std::string_view last;
    for (int64_t i = 0; i < size; ++i) {
      bool valid;
      const std::string_view word = text(c, begin + i, valid);
      double &out = numbers_[c][static_cast<size_t>(i)];
      if (valid && i > 0 && word == last) {  // as neighbours often are
        out = numbers_[c][static_cast<size_t>(i) - 1];
        continue;
      }
      last = valid ? word : std::string_view();
      out = arrow::kMissing;
      if (!valid || is_missing(word)) continue;
      IsoTime time;
      if (parse_iso_time(word, time)) {
        out = days_of(time);
      } else {
        rows_.made.no_dates.push_back({begin + i, static_cast<int>(c), std::string(word), ""});
      }
    }
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
    for (int64_t i = 0; i < size; ++i)  // a code that leads nowhere is of a damaged file
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
    return plan_.hashed_begin + hashing::slot(hash, plan_.bits);
  }

  // -- rows ------------------------------------------------------------------------------------

  void write_row(int64_t begin, int64_t i) {
    rows_.begin(most_plain_);
    for (const Step &step : steps_) {
      if (step.type <= ColumnType::boolean) {  // most columns: without a detour
        const double x = step.numbers[i];
        if (std::abs(x) <= std::numeric_limits<Value>::max()) {
          rows_.put(step.first, x);
          continue;
        }
      } else if (step.type == ColumnType::category && step.slots[i] != kMissingSlot) {
        rows_.hash_in(step.slots[i], 1.0);
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
          rows_.hash_in(slots_[c][i], 1.0);
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
      return bad(row, c, as_written(c, row), "is too large");
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

  std::string as_written(size_t c, int64_t row) const {
    double x;
    arrow::numbers(columns_[c], row, 1, &x);
    if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
    char digits[32];
    for (int precision : {6, 17}) {  // as few digits as tell it from others
      std::snprintf(digits, sizeof digits, "%.*g", precision, x);
      if (std::strtod(digits, nullptr) == x) break;
    }
    return digits;
  }

  // Numbers were scaled as they were read.
  static double scaled(const ColumnPlan &plan, double x) {
    return plan.type == ColumnType::number ? x : (x - plan.offset) / plan.scale;
  }

  // Sine and cosine of a share of the whole circle; neighbouring rows often have the same.
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
        rows_.hash_in(slot_of_name(), 1.0);
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
      if (!is_missing(word)) rows_.hash_in(value_slot(c, word), 1.0);
    }
  }

  // Words are part of the crossed feature's name, numbers of its value.
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
    rows_.hash_in(slot_of_name(), value);
  }

  void bad(int64_t row, size_t c, std::string text, const char *reason) {
    is_bad_[row % kChunk] = true;
    rows_.made.bad.push_back({row, static_cast<int>(c), std::move(text), reason});
  }

  // What writing a row needs of a column, close together.
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
  size_t most_plain_ = 1;  // one more than are stored, for a zero at the end
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

}  // namespace table
}  // namespace polyak
