// Arrays of the blocks of a stream: what one block gives back the next one takes. Memory that goes
// back and forth to the system has to be found and cleared anew each time, which took a tenth of
// the time; memory that is left to the allocator is kept in gaps that become more and more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "memory/process.hpp"

#if !defined(_WIN32)
#include <sys/mman.h>
#endif

namespace polyak {

// Memory of one stream, taken and given back by any thread. It comes in powers of two, of which
// what nobody has touched costs nothing; what is small is left to the allocator.
class Recycled {
 public:
  Recycled() : process_(this_process()) {}
  ~Recycled() {
    for (const Piece &piece : kept_) to_system(piece);
  }
  Recycled(const Recycled &) = delete;
  Recycled &operator=(const Recycled &) = delete;

  static size_t rounded(size_t bytes) {
    if (bytes < kSmall) return bytes;
    size_t size = kSmall;
    while (size < bytes) size *= 2;
    return size;
  }

  void *take(size_t size) {
    if (size >= kSmall) {
      std::lock_guard<std::mutex> guard(changing_);
      for (auto piece = kept_.rbegin(); piece != kept_.rend(); ++piece) {
        if (piece->size != size) continue;
        void *memory = piece->memory;
        kept_.erase(std::next(piece).base());
        return memory;
      }
    }
    return from_system(size);
  }

  void give(void *memory, size_t size) {
    const Piece piece{memory, size};
    // In a forked process the lock may be held by a thread that is not there.
    if (size < kSmall || process_ != this_process()) return to_system(piece);
    std::lock_guard<std::mutex> guard(changing_);
    kept_.push_back(piece);
    if (kept_.size() <= kMostKept) return;
    to_system(kept_.front());
    kept_.erase(kept_.begin());
  }

 private:
  struct Piece {
    void *memory;
    size_t size;
  };

  static void *from_system(size_t size) {
#if !defined(_WIN32)
    if (size >= kSmall) {
      void *memory =
          mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) throw std::bad_alloc();
      return memory;
    }
#endif
    void *memory = std::malloc(std::max<size_t>(size, 1));
    if (!memory) throw std::bad_alloc();
    return memory;
  }
  static void to_system(const Piece &piece) {
#if !defined(_WIN32)
    if (piece.size >= kSmall) {
      munmap(piece.memory, piece.size);
      return;
    }
#endif
    std::free(piece.memory);
  }

  static constexpr size_t kSmall = size_t(1) << 16;
  static constexpr size_t kMostKept = 16;  // a block has four or five
  const int process_;
  std::mutex changing_;
  std::vector<Piece> kept_;
};

using Memory = std::shared_ptr<Recycled>;

// A growing array of such memory, whose elements are not cleared.
template <class T>
class Column {
 public:
  explicit Column(Memory memory = nullptr) : memory_(std::move(memory)) {}
  ~Column() {
    if (data_) memory_->give(data_, bytes_);
  }
  Column(Column &&other) noexcept { *this = std::move(other); }
  Column &operator=(Column &&other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    return *this;
  }

  void reserve(size_t count) {
    if (count * sizeof(T) <= bytes_) return;
    if (!memory_) memory_ = std::make_shared<Recycled>();
    Column wider(memory_);
    const size_t bytes = Recycled::rounded(std::max(count * sizeof(T), 2 * bytes_));
    wider.data_ = static_cast<T *>(memory_->take(bytes));
    wider.bytes_ = bytes;
    wider.size_ = size_;
    if (size_ > 0) std::memcpy(wider.data_, data_, size_ * sizeof(T));
    *this = std::move(wider);
  }
  // The new elements, if there are any, are whatever they are.
  void resize(size_t size) {
    reserve(size);
    size_ = size;
  }
  void push_back(T value) {
    if ((size_ + 1) * sizeof(T) > bytes_) reserve(size_ + 1);
    data_[size_++] = value;
  }

  T *data() { return data_; }
  const T *data() const { return data_; }
  T *begin() { return data_; }
  T *end() { return data_ + size_; }
  const T *begin() const { return data_; }
  const T *end() const { return data_ + size_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T &operator[](int64_t i) { return data_[i]; }
  const T &operator[](int64_t i) const { return data_[i]; }
  T back() const { return data_[size_ - 1]; }
  bool operator==(const Column &other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  Memory memory_;
  T *data_ = nullptr;
  size_t bytes_ = 0, size_ = 0;
};

}  // namespace polyak
