// Text parsed ahead of its consumer by threads of its own, block by block of whole lines, handed
// over in order. Files are read by the same threads; other text is fed to them. Nothing here
// touches Python, so it works while Python is still busy importing: on 180 MB most of the text is
// parsed before the learner is ready for it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <deque>
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
    int64_t file, end, bytes_read;
    Rows rows;
  };

  // Until the first block is asked for, up to `head_start` blocks are parsed. From then on fewer
  // and fewer lie waiting, though one is parsed for every two that are taken: otherwise the threads
  // would rest until most are gone. All threads but one only help out where nearly none lies
  // waiting: as long as the consumer has something to do, they would take a processor from it.
  // Where the system has no more threads to give, those there are go on; without any, whoever asks
  // for a block parses it. Without files, no block is to be asked for that was not fed before.
  ReadAhead(std::optional<BlocksOfLines> files, Memory memory, int base, int threads,
            size_t head_start, Parse parse)
      : files_(std::move(files)),
        memory_(std::move(memory)),
        base_(base),
        parse_(std::move(parse)),
        most_waiting_(head_start) {
    few_ = static_cast<size_t>(threads) + 2;
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

  // Takes the next block, from one thread at a time, once the one before is being parsed.
  void feed(BlockOfLines block) {
    std::unique_lock<std::mutex> guard(state_);
    if (!threads_.empty()) changed_.wait(guard, [&] { return fed_.empty(); });
    fed_.push_back(std::move(block));
    changed_.notify_all();
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
    LinesOfBlock lines(memory_);
    while (!done()) {
      guard.unlock();
      parse_one(lines);
      guard.lock();
    }
  }

  void work(bool first) {
    LinesOfBlock lines(memory_);
    do {
      if (!first) wait_to_help();
    } while (parse_one(lines));
  }

  void wait_to_help() {
    std::unique_lock<std::mutex> guard(state_);
    changed_.wait(guard,
                  [&] { return stopped_ || end_ >= 0 || (asked_ && waiting_.size() < kEnough); });
  }

  // Parses the next block, once there is room for it. False if there is none, or none is wanted.
  bool parse_one(LinesOfBlock &lines) {
    std::unique_lock<std::mutex> turn(taking_);
    std::unique_lock<std::mutex> guard(state_);
    changed_.wait(guard, [&] {
      const bool room = taken_ < delivered_ + static_cast<int64_t>(most_waiting_);
      return stopped_ || end_ >= 0 || (files_ ? room : !fed_.empty());
    });
    if (stopped_ || end_ >= 0) return false;
    const int64_t place = taken_++;
    int base = base_;
    std::optional<BlockOfLines> block;
    if (!files_) {
      block = std::move(fed_.front());
      fed_.pop_front();
      changed_.notify_all();
    }
    guard.unlock();

    Outcome outcome;
    bool over = false;
    try {
      if (files_) block = files_->next();
      over = !block;
      if (block) {
        if (base >= 0) turn.unlock();
        const int64_t file = block->file, end = block->end, bytes_read = block->bytes_read;
        outcome.parsed = Parsed{file, end, bytes_read, rows_of(std::move(*block), lines, base)};
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

  Rows rows_of(BlockOfLines block, LinesOfBlock &lines, int &base) {
    if (files_) {
      lines.open(files_->path(block.file), std::move(block));
      return parse_(lines, base);
    }
    LinesInMemory text(block.text.data(), block.text.size(), memory_);
    return parse_(text, base);
  }

  static constexpr size_t kEnough = 2;

  std::optional<BlocksOfLines> files_;  // guarded by taking_
  const Memory memory_;
  std::mutex taking_, state_;
  std::condition_variable changed_;
  // Guarded by state_:
  int base_;
  int64_t taken_ = 0, delivered_ = 0, end_ = -1;
  bool asked_ = false, stopped_ = false;
  std::deque<BlockOfLines> fed_;
  std::map<int64_t, Outcome> waiting_;

  const Parse parse_;
  size_t most_waiting_, few_;
  std::vector<std::thread> threads_;
};

}  // namespace polyak
