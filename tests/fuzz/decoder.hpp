// What reads bytes from outside: a peer's, a file's, the environment's. Each is fed with bytes that nobody would send,
// by mutations.cpp in every run of the tests, and for longer by tools/fuzz, which lets the compiler's coverage choose.
//
// A decoder may refuse, with one of troupe's errors, and nothing else: not end the process, not hang, not take memory
// for what has not come.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Define it at namespace scope: it registers itself before main.
class decoder {
 public:
  /// Bytes that it takes, to begin with.
  using seeds = std::vector<std::string> (*)();
  using take = void (*)(std::string_view bytes);

  decoder(std::string name, seeds given, take taken);
  decoder(const decoder&) = delete;
  decoder& operator=(const decoder&) = delete;

  static const std::vector<const decoder*>& all();
  /// Null: there is none of this name.
  static const decoder* find(std::string_view name);

  const std::string& name() const { return name_; }
  std::vector<std::string> make_seeds() const { return seeds_(); }
  /// Refusals are as good as anything else.
  void feed(std::string_view bytes) const;

 private:
  const std::string name_;
  const seeds seeds_;
  const take take_;
};

inline std::span<const std::byte> as_bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

}  // namespace troupe
