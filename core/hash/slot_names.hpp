// The names of hashed features, so that someone can see them again: one for each slot.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hash/hashing.hpp"

namespace polyak {

// Of several names in one slot the one of the smallest hash stays, whichever came first; so threads
// may come in any order. A name that was seen before costs one look at its slot's rank, which is in
// no near cache if there are many. If there are too many names, those of the upper half of the
// slots are forgotten, and so on: what stays is all there is of some slots.
class SlotNames {
 public:
  SlotNames(int bits, size_t most)
      : bits_(bits),
        most_(most),
        end_(int64_t{1} << bits),
        ranks_(static_cast<Rank *>(std::calloc(size_t{1} << bits, sizeof(Rank)))) {
    if (!ranks_) throw std::bad_alloc();  // the pages are taken when slots are used
  }

  void see(uint64_t hash, std::string_view name) { see(hash, hashing::slot(hash, bits_), name); }

  // The same for a slot that is not that of the name's hash.
  void see(uint64_t hash, int64_t slot, std::string_view name) {
    const uint32_t rank = rank_of(hash);
    if (ranks_.get()[slot].load(std::memory_order_relaxed) < rank) add(slot, rank, name);
  }

  // The slots in order, where each name ends in the text, and the text.
  struct Lists {
    std::vector<int64_t> slots, ends;
    std::vector<uint8_t> text;
  };
  Lists lists() {
    std::lock_guard<std::mutex> lock(lock_);
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (stays(entries_[i])) order.emplace_back(entries_[i].slot, i);
    if (order.size() > most_) {
      halve();
      order.clear();
      for (size_t i = 0; i < entries_.size(); ++i) order.emplace_back(entries_[i].slot, i);
    }
    std::sort(order.begin(), order.end());
    Lists all;
    all.text.reserve(text_.size());
    for (const auto &[slot, i] : order) {
      all.slots.push_back(slot);
      const auto begin = text_.begin() + entries_[i].begin;
      all.text.insert(all.text.end(), begin, begin + entries_[i].size);
      all.ends.push_back(static_cast<int64_t>(all.text.size()));
    }
    return all;
  }

 private:
  using Rank = std::atomic<uint32_t>;
  struct Free {
    void operator()(Rank *ranks) const { std::free(ranks); }
  };
  struct Entry {
    int64_t slot, begin;
    uint32_t rank, size;
  };

  // The smaller the hash, the higher; zero is that of no name.
  static uint32_t rank_of(uint64_t hash) { return ~static_cast<uint32_t>(hash >> 32) | 1; }

  // Whether it is the name of its slot.
  bool stays(const Entry &entry) const {
    return entry.slot < end_ &&
           entry.rank == ranks_.get()[entry.slot].load(std::memory_order_relaxed);
  }

  // Writes the name behind the others; one that it takes the place of goes later.
  void add(int64_t slot, uint32_t rank, std::string_view name) {
    std::lock_guard<std::mutex> lock(lock_);
    Rank &best = ranks_.get()[slot];
    if (best.load(std::memory_order_relaxed) >= rank) return;
    best.store(rank, std::memory_order_relaxed);
    if (slot >= end_) return;
    entries_.push_back(
        {slot, static_cast<int64_t>(text_.size()), rank, static_cast<uint32_t>(name.size())});
    text_.insert(text_.end(), name.begin(), name.end());
    if (entries_.size() > 2 * most_) halve();
  }

  // Lets go of what does not stay, and of the upper half of the slots while there are too many.
  void halve() {
    const auto goes = [this](const Entry &entry) { return !stays(entry); };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), goes), entries_.end());
    while (entries_.size() > most_) {
      end_ /= 2;
      entries_.erase(std::remove_if(entries_.begin(), entries_.end(), goes), entries_.end());
    }
    std::vector<char> kept;
    for (Entry &entry : entries_) {
      const auto begin = text_.begin() + entry.begin;
      entry.begin = static_cast<int64_t>(kept.size());
      kept.insert(kept.end(), begin, begin + entry.size);
    }
    text_ = std::move(kept);
  }

  const int bits_;
  const size_t most_;
  std::mutex lock_;
  int64_t end_;  // names of slots from here on are not kept
  std::vector<Entry> entries_;
  std::vector<char> text_;
  std::unique_ptr<Rank[], Free> ranks_;
};

}  // namespace polyak
