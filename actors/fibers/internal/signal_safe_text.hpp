// A text that a signal's handler puts together and writes.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace troupe {

/// What a handler may do: no memory is taken, no lock.
class signal_safe_text {
 public:
  signal_safe_text& operator<<(std::string_view part) {
    const auto count = std::min(part.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, part.data(), count);
    size_ += count;
    return *this;
  }
  signal_safe_text& operator<<(std::size_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())};
  }
  void write_to_stderr() const { (void)!::write(STDERR_FILENO, text_.data(), size_); }

 private:
  std::array<char, 4096> text_{};
  std::size_t size_ = 0;
};

}  // namespace troupe
