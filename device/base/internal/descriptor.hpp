// Owns one file descriptor, so that no error path leaks it.
#pragma once

#include <utility>

#include <unistd.h>

namespace troupe {

/// A file descriptor that is closed with its owner. Movable, not copyable; -1 means none.
class descriptor {
 public:
  descriptor() = default;
  explicit descriptor(int number) noexcept : number_(number) {}
  descriptor(descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }
  ~descriptor() { reset(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }

  /// Gives the number away, which somebody else closes.
  int release() noexcept { return std::exchange(number_, -1); }
  /// Closes now. What close() reports is of no use here: Linux frees the number in any case.
  void reset() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

}  // namespace troupe
