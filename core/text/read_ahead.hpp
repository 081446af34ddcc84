// Files read and parsed ahead of their consumer by threads of their own, block by block of whole
// lines, handed over in order. Nothing here touches Python, so it works while Python is still
// busy importing: on 180 MB most of the text is parsed before the learner is ready for it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "text/blocks_of_lines.hpp"

namespace polyak {

template <class Rows>
class ReadAhead {
 public:
  // Makes rows of whole lines. What it learns from the first of them, such as whether ids begin
  // at 0 or 1, it leaves in `base`; as long as that is negative, blocks are parsed one by one.
  using Parse = std::function<Rows(LineSource &lines, int &base)>;
  struct Parsed {
    int64_t file, end;
    Rows rows;
  };

  // Until the first block is asked for, all threads but one wait, since the consumer is busy, and
  // up to `head_start` blocks are parsed. From then on fewer and fewer lie waiting, though one is
  // parsed for every two that are taken: otherwise the threads would rest until most are gone.
  // Where the system has no more threads to give, those there are go on; without any, whoever asks
  // for a block parses it.
  ReadAhead(BlocksOfLines blocks, int base, int threads, size_t head_start, Parse parse)
      : blocks_(std::move(blocks)),
        base_(base),
        parse_(std::move(parse)),
        most_waiting_(head_start) {
    few_ = static_cast<size_t>(threads) + 6;
    threads_.reserve(static_cast<size_t>(threads));
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this, i] { work(i == 0); });
    } catch (const std::system_error &) {
    }
  }
  ~ReadAhead() {
    {
      std::lock_guard<std::mutex> guard(state_);
      stopped_ = true;
    }
    changed_.notify_all();
    for (std::thread &thread : threads_) thread.join();
  }

  // The next block's rows, or none after the last; throws what went wrong in the block's place.
  std::optional<Parsed> next() {
    std::unique_lock<std::mutex> guard(state_);
    if (!asked_) asked_ = true, most_waiting_ = std::max(few_, waiting_.size());
    if (most_waiting_ > few_ && delivered_ % 2 == 0) --most_waiting_;
    changed_.notify_all();
    wait(guard, [&] { return waiting_.count(delivered_) || delivered_ == end_; });
    if (delivered_ == end_) return std::nullopt;
    Outcome outcome = std::move(waiting_.extract(delivered_).mapped());
    ++delivered_;
    changed_.notify_all();
    if (outcome.error) std::rethrow_exception(outcome.error);
    return std::move(outcome.parsed);
  }

  // What the first rows told, waiting for them if need be.
  int base() {
    std::unique_lock<std::mutex> guard(state_);
    wait(guard, [&] { return base_ >= 0 || end_ >= 0; });
    return base_;
  }

 private:
  struct Outcome {
    std::optional<Parsed> parsed;
    std::exception_ptr error;
  };

  // Waits for the threads to bring something about; without any, does their work.
  template <class Done>
  void wait(std::unique_lock<std::mutex> &guard, const Done &done) {
    if (!threads_.empty()) return changed_.wait(guard, done);
    LinesOfBlock lines;
    while (!done()) {
      guard.unlock();
      parse_one(lines);
      guard.lock();
    }
  }

  void work(bool first) {
    LinesOfBlock lines;
    {
      std::unique_lock<std::mutex> guard(state_);
      changed_.wait(guard, [&] { return first || asked_ || stopped_; });
    }
    while (parse_one(lines)) {
    }
  }

  // Parses the next block, once there is room for it. False if there is none, or none is wanted.
  bool parse_one(LinesOfBlock &lines) {
    std::unique_lock<std::mutex> turn(taking_);
    std::unique_lock<std::mutex> guard(state_);
    changed_.wait(guard, [&] {
      return stopped_ || end_ >= 0 || taken_ < delivered_ + static_cast<int64_t>(most_waiting_);
    });
    if (stopped_ || end_ >= 0) return false;
    const int64_t place = taken_++;
    int base = base_;
    guard.unlock();

    Outcome outcome;
    bool over = false;
    try {
      std::optional<BlockOfLines> block = blocks_.next();
      over = !block;
      if (block) {
        if (base >= 0) turn.unlock();
        lines.open(blocks_.path(block->file), *block);
        Rows rows = parse_(lines, base);
        outcome.parsed = Parsed{block->file, block->end, std::move(rows)};
      }
    } catch (...) {
      outcome.error = std::current_exception();
    }

    guard.lock();
    if (over) {
      end_ = place;
    } else {
      if (base_ < 0) base_ = base;
      if (outcome.error && end_ < 0) end_ = place + 1;
      waiting_.emplace(place, std::move(outcome));
    }
    changed_.notify_all();
    return true;
  }

  BlocksOfLines blocks_;  // guarded by taking_
  std::mutex taking_, state_;
  std::condition_variable changed_;
  // Guarded by state_:
  int base_;
  int64_t taken_ = 0, delivered_ = 0, end_ = -1;
  bool asked_ = false, stopped_ = false;
  std::map<int64_t, Outcome> waiting_;

  const Parse parse_;
  size_t most_waiting_, few_;
  std::vector<std::thread> threads_;
};

}  // namespace polyak
