// Which pending connection gives its place to a new one.
//
// Problem: where the oldest gives way, whoever connects often enough closes every connection that needs a round trip
// before it is through. Solution: a random one gives way, so that each has a chance, however long its way; and where
// one source has its share, one of that source does, so that it takes no place of others.
//
// PC-1 At most `most` have a place. PC-2 A source that has half of the places gives way to itself only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

/// Not thread-safe.
class pending_connections {
 public:
  using number = std::uint64_t;

  pending_connections(std::size_t most, std::uint64_t seed) : most_(most), random_(seed) {}

  /// Which one has to go before another one of this source has a place; nothing: there is one.
  std::optional<number> in_the_way_of(const std::string& source);
  /// Any; nothing: there is none.
  std::optional<number> any();
  void add(number connection, const std::string& source);
  void remove(number connection, const std::string& source);
  std::size_t size() const { return all_.size(); }

 private:
  /// Numbers of which one can be drawn.
  class number_set {
   public:
    void add(number added);
    void remove(number removed);
    std::size_t size() const { return numbers_.size(); }
    number draw(std::mt19937_64& from) const;

   private:
    std::vector<number> numbers_;
    std::unordered_map<number, std::size_t> places_;
  };

  const std::size_t most_;
  std::mt19937_64 random_;
  number_set all_;
  std::unordered_map<std::string, number_set> by_source_;
};

}  // namespace troupe
