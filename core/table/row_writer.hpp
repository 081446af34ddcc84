// Sparse rows as they are made: plain features in order, then the hashed ones, sorted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "table/plan.hpp"

namespace polyak {
namespace table {

// Memory that grows without ever being cleared first.
template <class T>
class Buffer {
 public:
  void reserve(size_t used, size_t wanted) {
    if (wanted <= size_) return;
    size_ = std::max(wanted, 2 * size_);
    std::unique_ptr<T[]> more(new T[size_]);
    std::copy(data_.get(), data_.get() + used, more.get());
    data_ = std::move(more);
  }
  T &operator[](size_t i) { return data_[i]; }
  T *release() { return data_.release(); }

 private:
  std::unique_ptr<T[]> data_;
  size_t size_ = 0;
};

template <class Value>
struct Rows {
  std::vector<int64_t> indptr{0};
  size_t stored = 0;
  Buffer<int32_t> indices;
  Buffer<Value> values;
  std::vector<BadValue> bad;
  std::vector<BadValue> no_dates;  // words in columns of dates, read as missing
};

template <class Value>
class RowWriter {
 public:
  Rows<Value> made;

  void make_room(size_t more) {
    made.indices.reserve(made.stored, made.stored + more);
    made.values.reserve(made.stored, made.stored + more);
  }

  // There must be room. A zero is not stored: it is written, and the next overwrites it.
  void put(int64_t index, double value) {
    const Value rounded = static_cast<Value>(value);
    made.indices[made.stored] = static_cast<int32_t>(index);
    made.values[made.stored] = rounded;
    made.stored += rounded != Value(0);
  }

  // Two plain stores: a pair put together first would be read back before it is there.
  void hash_in(int64_t index, double value) {
    if (hashed_count_ == hashed_.size()) hashed_.resize(2 * hashed_.size() + 32);
    hashed_[hashed_count_].index = index;
    hashed_[hashed_count_].value = value;
    ++hashed_count_;
  }

  // Begins a row that has at most so many plain features.
  void begin(size_t most_plain) {
    hashed_count_ = 0;
    start_ = made.stored;
    make_room(most_plain);
  }

  // Ends it; a bad one is left empty.
  void end(bool bad) {
    if (bad)
      made.stored = start_;
    else
      write_hashed();
    made.indptr.push_back(static_cast<int64_t>(made.stored));
  }

 private:
  // The core wants the indices of a row in order, each once.
  void write_hashed() {
    make_room(hashed_count_ + 1);
    Entry *const entries = hashed_.data();
    if (hashed_count_ < 32) {
      for (size_t i = 1; i < hashed_count_; ++i) {
        const int64_t index = entries[i].index;
        const double value = entries[i].value;
        size_t j = i;
        for (; j > 0 && index < entries[j - 1].index; --j) {
          entries[j].index = entries[j - 1].index;
          entries[j].value = entries[j - 1].value;
        }
        entries[j].index = index;
        entries[j].value = value;
      }
    } else {
      std::stable_sort(entries, entries + hashed_count_,
                       [](const Entry &a, const Entry &b) { return a.index < b.index; });
    }
    for (size_t i = 0; i < hashed_count_;) {
      const int64_t index = entries[i].index;
      double sum = 0.0;
      for (; i < hashed_count_ && entries[i].index == index; ++i) sum += entries[i].value;
      put(index, sum);
    }
  }

  struct Entry {
    int64_t index;
    double value;
  };

  size_t start_ = 0;
  std::vector<Entry> hashed_;
  size_t hashed_count_ = 0;
};

}  // namespace table
}  // namespace polyak
