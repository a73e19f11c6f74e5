#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/buffer.hpp>
#include <troupe/device/tensor/internal/block_cache.hpp>

#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(buffer_suite)

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

std::uintptr_t address(const buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data()); }

}  // namespace

BOOST_AUTO_TEST_CASE(allocated_memory_is_aligned_and_writable_to_the_last_byte) {
  for (const auto size :
       {std::size_t{1}, std::size_t{7}, std::size_t{64}, std::size_t{1000}, mebibyte - 1, mebibyte, 5 * mebibyte + 3}) {
    auto b = buffer::allocate(size);
    BOOST_TEST(b.size_bytes() == size);
    BOOST_TEST(address(b) % (size >= mebibyte ? 4096 : buffer::alignment) == 0);
    std::memset(b.mutable_data(), 0x5a, size);
    BOOST_CHECK(b.data()[size - 1] == std::byte{0x5a});
  }
}

BOOST_AUTO_TEST_CASE(no_bytes_need_no_memory) {
  auto nothing = buffer::allocate(0);
  BOOST_TEST(nothing.data() == nullptr);
  BOOST_TEST(nothing.unique());
  BOOST_TEST(nothing.mutable_data() == nullptr);
  BOOST_TEST(nothing.device() == "CPU:0");
}

BOOST_AUTO_TEST_CASE(memory_is_unique_only_while_one_handle_holds_it) {
  auto first = buffer::allocate(16);
  BOOST_TEST(first.unique());
  {
    const auto second = first;
    BOOST_TEST(second.data() == first.data());
    BOOST_TEST(!first.unique());
    BOOST_CHECK_THROW(first.mutable_data(), failed_precondition_error);
  }
  BOOST_TEST(first.unique());
  const auto moved = std::move(first);
  BOOST_TEST(moved.unique());
}

BOOST_AUTO_TEST_CASE(an_impossible_size_is_an_error_that_names_it) {
  BOOST_CHECK_EXCEPTION(buffer::allocate(buffer::size_bytes_max + 1), resource_exhausted_error, [](const error& e) {
    return e.message().find(std::to_string(buffer::size_bytes_max + 1)) != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(adopted_memory_keeps_its_owner_and_is_never_written) {
  auto owner = std::make_shared<std::vector<int>>(4, 42);
  const std::weak_ptr<std::vector<int>> alive = owner;
  const auto* data = owner->data();
  auto adopted = buffer::adopt(std::move(owner), data, 4 * sizeof(int));
  BOOST_TEST(static_cast<const void*>(adopted.data()) == static_cast<const void*>(data));
  BOOST_TEST(!adopted.unique());
  BOOST_CHECK_THROW(adopted.mutable_data(), failed_precondition_error);
  BOOST_TEST(!alive.expired());
  adopted = {};
  BOOST_TEST(alive.expired());
}

BOOST_AUTO_TEST_CASE(adopted_memory_knows_its_device) {
  const auto on_gpu = buffer::adopt(nullptr, &mebibyte, 8, "/job:worker/task:1/device:GPU:3");
  BOOST_TEST(on_gpu.device() == "/job:worker/task:1/device:GPU:3");
  BOOST_TEST(!on_gpu.on_host());
  BOOST_TEST(buffer::adopt(nullptr, &mebibyte, 8).on_host());
  BOOST_CHECK_THROW(buffer::adopt(nullptr, &mebibyte, 8, "somewhere"), invalid_argument_error);
  BOOST_CHECK_THROW(buffer::adopt(nullptr, &mebibyte, 8, "/job:ps/task:0"), invalid_argument_error);
  BOOST_CHECK_THROW(buffer::adopt(nullptr, nullptr, 8), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_slice_keeps_the_whole_alive_and_shared) {
  auto whole = buffer::allocate(100);
  whole.mutable_data()[60] = std::byte{7};
  auto part = whole.slice(60, 40);
  BOOST_TEST(!whole.unique());
  BOOST_TEST(!part.unique());
  whole = {};
  BOOST_CHECK(part.data()[0] == std::byte{7});
  BOOST_TEST(part.size_bytes() == 40);
  BOOST_CHECK_THROW(part.slice(30, 11), out_of_range_error);
  BOOST_CHECK_THROW(part.slice(41, 0), out_of_range_error);
  BOOST_CHECK_THROW(part.slice(1, ~std::size_t{0}), out_of_range_error);
}

BOOST_AUTO_TEST_CASE(a_large_block_is_used_again_for_a_similar_size) {
  for (const auto size : {mebibyte + 1, 4 * mebibyte + 1, 64 * mebibyte}) {
    auto first = buffer::allocate(size);
    const auto where = address(first);
    first = {};
    BOOST_TEST(address(buffer::allocate(size)) == where);
    BOOST_TEST(address(buffer::allocate(size / 2)) != where);
  }
}

BOOST_AUTO_TEST_CASE(what_is_kept_for_later_is_bounded) {
  auto& cache = block_cache::instance();
  constexpr auto block_bytes = block_cache::kept_bytes_max / 8;
  std::vector<memory_block> blocks;
  for (auto i = 0; i < 10; ++i) blocks.push_back(cache.take(block_bytes + static_cast<std::size_t>(i)));
  for (const auto& block : blocks) cache.give(block);
  BOOST_TEST(cache.kept_bytes() <= block_cache::kept_bytes_max);
  BOOST_TEST(cache.kept_bytes() > block_cache::kept_bytes_max - 2 * block_bytes);
  const auto before = cache.kept_bytes();
  cache.give(cache.take(block_cache::kept_bytes_max + 1));
  BOOST_TEST(cache.kept_bytes() == before);
}

BOOST_AUTO_TEST_CASE(handles_may_be_copied_and_dropped_by_many_threads) {
  for (auto round = 0; round < 50; ++round) {
    auto shared = buffer::allocate(round % 2 == 0 ? 64 : 2 * mebibyte);
    std::atomic<int> seen_unique = 0;
    std::vector<std::jthread> threads;
    for (auto i = 0; i < 4; ++i) {
      threads.emplace_back([&seen_unique, copy = shared] {
        for (auto k = 0; k < 1000; ++k) {
          const auto another = copy;
          if (another.unique()) ++seen_unique;
        }
      });
    }
    threads.clear();
    BOOST_TEST(seen_unique == 0);
    BOOST_TEST(shared.unique());
    std::memset(shared.mutable_data(), round, shared.size_bytes());
  }
}

BOOST_AUTO_TEST_SUITE_END()
