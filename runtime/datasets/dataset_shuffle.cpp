#include <troupe/runtime/datasets/dataset_shuffle.hpp>

#include <random>

namespace troupe::detail {

namespace {

std::uint32_t low(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

}  // namespace

struct random_indices::engine {
  std::mt19937_64 numbers;
};

random_indices::random_indices(std::uint64_t seed, std::uint64_t pass) : engine_(std::make_shared<engine>()) {
  auto seeds = std::seed_seq{low(seed), high(seed), low(pass), high(pass)};
  engine_->numbers.seed(seeds);
}

std::size_t random_indices::below(std::size_t limit) { return engine_->numbers() % limit; }

}  // namespace troupe::detail
