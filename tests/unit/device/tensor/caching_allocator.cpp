#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/internal/caching_allocator.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <map>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(caching_allocator_suite)

namespace {

constexpr std::size_t kibibyte = 1024;
constexpr std::size_t mebibyte = 1024 * kibibyte;

// A device with little memory, which it hands out by number instead of address.
class small_device {
 public:
  explicit small_device(std::size_t capacity) : capacity_(capacity) {}

  caching_allocator::memory_source source() {
    return {.allocate = [this](std::size_t bytes) { return allocate(bytes); },
            .release = [this](void* block) { release(block); }};
  }

  std::size_t used_bytes() const {
    std::lock_guard lock{mutex_};
    return used_bytes_;
  }

 private:
  void* allocate(std::size_t bytes) {
    std::lock_guard lock{mutex_};
    if (bytes > capacity_ - used_bytes_) return nullptr;
    used_bytes_ += bytes;
    auto* block = reinterpret_cast<void*>(++last_);
    blocks_[block] = bytes;
    return block;
  }

  void release(void* block) {
    std::lock_guard lock{mutex_};
    used_bytes_ -= blocks_.at(block);
    blocks_.erase(block);
  }

  mutable std::mutex mutex_;
  std::size_t capacity_;
  std::size_t used_bytes_ = 0;
  std::uintptr_t last_ = 0;
  std::map<void*, std::size_t> blocks_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_size_class_holds_the_request_and_wastes_at_most_an_eighth) {
  std::mt19937_64 random{7};
  for (auto i = 0; i < 10'000; ++i) {
    const auto bytes = std::size_t{1} + random() % (std::size_t{1} << (10 + i % 30));
    const auto size = caching_allocator::size_class(bytes);
    BOOST_REQUIRE(size >= bytes);
    BOOST_REQUIRE(size - bytes <= std::max<std::size_t>(bytes / 8, 511));
    BOOST_REQUIRE(caching_allocator::size_class(size) == size);
  }
}

BOOST_AUTO_TEST_CASE(a_block_that_was_given_back_is_handed_out_again) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  auto* first = allocator.take(1000).memory;
  allocator.give(first, 1000);
  BOOST_TEST(allocator.take(1020).memory == first);  // of the same class
  BOOST_TEST(allocator.take(1000).memory != first);
  const auto statistics = allocator.statistics();
  BOOST_TEST(statistics.allocation_count == 2u);
  BOOST_TEST(statistics.reuse_count == 1u);
  BOOST_TEST(statistics.used_bytes == 2 * kibibyte);
  BOOST_TEST(statistics.kept_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(a_block_serves_only_its_own_class) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  auto* large = allocator.take(64 * kibibyte).memory;
  allocator.give(large, 64 * kibibyte);
  auto* small = allocator.take(512).memory;
  BOOST_TEST(small != large);
  BOOST_TEST(allocator.statistics().kept_bytes == 64 * kibibyte);
  allocator.give(small, 512);
}

BOOST_AUTO_TEST_CASE(what_is_kept_is_released_before_a_request_is_refused) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  std::vector<void*> blocks;
  for (auto i = 0; i < 16; ++i) blocks.push_back(allocator.take(64 * kibibyte).memory);
  for (auto* block : blocks) allocator.give(block, 64 * kibibyte);
  BOOST_TEST(device.used_bytes() == mebibyte);
  auto* whole = allocator.take(mebibyte).memory;
  BOOST_TEST(device.used_bytes() == mebibyte);
  BOOST_TEST(allocator.statistics().kept_bytes == 0u);
  allocator.give(whole, mebibyte);
}

BOOST_AUTO_TEST_CASE(memory_that_is_used_up_is_an_error_that_names_the_sizes) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:3", device.source()};
  auto* half = allocator.take(mebibyte / 2).memory;
  BOOST_CHECK_EXCEPTION(allocator.take(mebibyte), resource_exhausted_error, [](const auto& e) {
    return e.message().find("1048576 bytes on GPU:3") != std::string::npos &&
           e.message().find("524288 bytes are in use") != std::string::npos;
  });
  BOOST_TEST(allocator.statistics().used_bytes == mebibyte / 2);
  allocator.give(half, mebibyte / 2);
}

BOOST_AUTO_TEST_CASE(a_limit_counts_what_is_used_and_what_is_kept) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  allocator.set_limit(256 * kibibyte);
  auto* kept = allocator.take(128 * kibibyte).memory;
  allocator.give(kept, 128 * kibibyte);
  auto* most = allocator.take(256 * kibibyte).memory;  // what was kept had to go
  BOOST_TEST(device.used_bytes() == 256 * kibibyte);
  BOOST_CHECK_THROW(allocator.take(1), resource_exhausted_error);
  allocator.set_limit(caching_allocator::no_limit);
  auto* more = allocator.take(1).memory;
  allocator.give(more, 1);
  allocator.give(most, 256 * kibibyte);
}

BOOST_AUTO_TEST_CASE(what_is_given_back_beyond_what_may_be_kept_goes_back_to_the_source) {
  small_device device{100 * mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  allocator.keep_at_most(10 * mebibyte);
  auto* const large = allocator.take(16 * mebibyte).memory;
  auto* const first = allocator.take(8 * mebibyte).memory;
  auto* const second = allocator.take(8 * mebibyte).memory;
  allocator.give(large, 16 * mebibyte);
  BOOST_TEST(device.used_bytes() == 16 * mebibyte);
  allocator.give(first, 8 * mebibyte);
  allocator.give(second, 8 * mebibyte);
  BOOST_TEST(device.used_bytes() == 8 * mebibyte);
  BOOST_TEST(allocator.statistics().kept_bytes == 8 * mebibyte);
  BOOST_TEST(allocator.statistics().used_bytes == 0U);
  allocator.keep_at_most(0);
  BOOST_TEST(device.used_bytes() == 0U);
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_source_leaves_the_counts_as_they_were) {
  caching_allocator allocator{
      "GPU:0",
      {.allocate = [](std::size_t) -> void* { throw std::runtime_error{"the GPU is lost"}; }, .release = [](void*) {}}};
  BOOST_CHECK_THROW(allocator.take(1000), std::runtime_error);
  BOOST_TEST(allocator.statistics().used_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(all_memory_goes_back_with_the_allocator) {
  small_device device{mebibyte};
  {
    caching_allocator allocator{"GPU:0", device.source()};
    allocator.give(allocator.take(1000).memory, 1000);
    BOOST_TEST(device.used_bytes() == kibibyte);
  }
  BOOST_TEST(device.used_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(threads_never_hold_the_same_block) {
  small_device device{mebibyte};
  caching_allocator allocator{"GPU:0", device.source()};
  std::mutex mutex;
  std::map<void*, int> holders;
  std::atomic<int> shared = 0;
  {
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (auto round = std::size_t{0}; round < 2000; ++round) {
          const auto bytes = 512 + round % 5 * 1000;
          auto* block = allocator.take(bytes).memory;
          {
            std::lock_guard lock{mutex};
            shared += ++holders[block] > 1;
          }
          {
            std::lock_guard lock{mutex};
            --holders[block];
          }
          allocator.give(block, bytes);
        }
      });
    }
  }
  BOOST_TEST(shared == 0);
  BOOST_TEST(allocator.statistics().used_bytes == 0u);
  BOOST_TEST(allocator.statistics().kept_bytes == device.used_bytes());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
