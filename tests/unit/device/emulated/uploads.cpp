// What comes from the host crosses while a device computes, and harms nothing that queued work uses.
#include "eight_small_gpus.hpp"
#include "gate.hpp"
#include "support/refusal.hpp"

#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/accelerators/upload_memory.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/dataset_sources.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(uploads_suite, *boost::unit_test::fixture<eight_small_gpus>())

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto elements = std::int64_t{100'000};
constexpr auto ahead_max = static_cast<int>(upload_memory::kept_blocks_max);

tensor filled(float value) { return tensor::full({elements}, value); }

/// As many additions as there is memory for uploads, each of a tensor that is gone when it is queued.
void add_what_is_gone(tensor& sum) {
  for (auto i = 1; i <= ahead_max; ++i) add_in_place(sum, filled(static_cast<float>(i)).copy_to(sum.device()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_tensor_crosses_while_the_device_computes) {
  gate busy{"GPU:0"};
  const device_waits_until limit{steady_clock::now() + 1min};
  const auto there = filled(3).copy_to("GPU:0");
  busy.open();
  BOOST_TEST(there.copy_to("CPU:0").bitwise_equal(filled(3)));
}

BOOST_AUTO_TEST_CASE(a_dataset_fetches_the_next_batches_while_the_device_computes) {
  const auto batches = range(3).map([](std::int64_t i) { return filled(static_cast<float>(i)).copy_to("GPU:0"); });
  const auto input = batches.prefetch(2).iterate();
  gate busy{"GPU:0"};
  std::vector<tensor> fetched;
  while (auto next = input.next_or_end()) fetched.push_back(*next);
  busy.open();
  BOOST_TEST(fetched.size() == 3u);
  BOOST_TEST(fetched.back().copy_to("CPU:0").bitwise_equal(filled(2)));
}

BOOST_AUTO_TEST_CASE(memory_that_queued_work_reads_is_not_uploaded_into) {
  for (auto round = 0; round < 5; ++round) {
    auto sum = tensor::zeros(dtype::float32, {elements}, "GPU:1");
    gate busy{"GPU:1"};
    add_what_is_gone(sum);
    busy.open();
    const auto other = filled(-1).copy_to("GPU:1");
    BOOST_TEST(sum.copy_to("CPU:0").bitwise_equal(filled(ahead_max * (ahead_max + 1) / 2)));
    BOOST_TEST(other.copy_to("CPU:0").bitwise_equal(filled(-1)));
  }
}

// What the device's own work has used is kept for work that queues behind it; an upload does not.
BOOST_AUTO_TEST_CASE(memory_that_work_has_given_back_is_not_uploaded_into_before_it_is_done) {
  auto sum = tensor::zeros(dtype::float32, {elements}, "GPU:2");
  auto part = tensor::zeros(dtype::float32, {elements}, "GPU:2");
  gate busy{"GPU:2"};
  fill(part, 5);
  add_in_place(sum, part);
  part = tensor{};
  {
    const device_waits_until limit{steady_clock::now() + 50ms};
    BOOST_TEST(refuses<deadline_exceeded_error>([] { filled(-1).copy_to("GPU:2"); }, "queued work uses all memory"));
  }
  busy.open();
  const auto other = filled(-1).copy_to("GPU:2");
  BOOST_TEST(sum.copy_to("CPU:0").bitwise_equal(filled(5)));
  BOOST_TEST(other.copy_to("CPU:0").bitwise_equal(filled(-1)));
}

BOOST_AUTO_TEST_CASE(who_is_many_uploads_ahead_of_the_device_waits_for_it) {
  auto sum = tensor::zeros(dtype::float32, {elements}, "GPU:3");
  gate busy{"GPU:3"};
  add_what_is_gone(sum);
  {
    const device_waits_until limit{steady_clock::now() + 50ms};
    const auto text = "GPU:3 has not come to the end of its work in time: queued work uses all memory for copies";
    BOOST_TEST(refuses<deadline_exceeded_error>([&] { add_what_is_gone(sum); }, text));
  }
  busy.open();
  add_in_place(sum, filled(1).copy_to("GPU:3"));
  BOOST_TEST(sum.copy_to("CPU:0").bitwise_equal(filled(ahead_max * (ahead_max + 1) / 2 + 1)));
}

BOOST_AUTO_TEST_CASE(memory_that_is_kept_for_uploads_is_there_for_all) {
  constexpr auto whole = static_cast<std::int64_t>(eight_small_gpus::memory_bytes);
  {
    std::vector<tensor> parts;
    for (auto i = 0; i < ahead_max; ++i) parts.push_back(tensor::zeros(dtype::uint8, {whole / 8}).copy_to("GPU:4"));
    BOOST_TEST(describe_device("GPU:4").free_memory_bytes == eight_small_gpus::memory_bytes / 2);
  }
  BOOST_TEST(describe_device("GPU:4").free_memory_bytes == eight_small_gpus::memory_bytes);
  BOOST_TEST(accelerator_of("GPU:4").statistics().kept_bytes == eight_small_gpus::memory_bytes / 2);
  BOOST_CHECK_NO_THROW(tensor::zeros(dtype::uint8, {whole}, "GPU:4"));
  accelerator_of("GPU:4").release_kept_memory();
  BOOST_TEST(accelerator_of("GPU:4").statistics().kept_bytes == 0u);
}

BOOST_AUTO_TEST_CASE(memory_is_given_back_when_nobody_knows_who_uses_it) {
  caching_allocator blocks{"GPU:0",
                           {.allocate = [](std::size_t bytes) { return std::malloc(bytes); }, .release = std::free}};
  blocks.give(blocks.take(1000).memory, 1000);  // by queued work, perhaps
  upload_memory memory{"GPU:0", blocks, []() -> std::unique_ptr<work_point> { throw internal_error{"no event"}; }};
  BOOST_TEST(refuses<internal_error>([&] { memory.take(1000); }, "no event"));
  BOOST_TEST(memory.statistics().used_bytes == 0u);
  BOOST_TEST(memory.statistics().kept_bytes == caching_allocator::size_class(1000));
}

BOOST_AUTO_TEST_CASE(a_device_that_fails_or_hangs_says_so_of_an_upload_too) {
  fail_emulated_gpu("GPU:5", "a bus error");
  BOOST_TEST(refuses<internal_error>([] { filled(1).copy_to("GPU:5"); }, "GPU:5 has failed in copy_from_host"));
  repair_emulated_gpu("GPU:5");
  hang_emulated_gpu("GPU:5");
  {
    const device_waits_until limit{steady_clock::now() + 50ms};
    BOOST_TEST(refuses<deadline_exceeded_error>([] { filled(1).copy_to("GPU:5"); }, "it is in copy_from_host"));
  }
  repair_emulated_gpu("GPU:5");
  BOOST_TEST(filled(2).copy_to("GPU:5").copy_to("CPU:0").bitwise_equal(filled(2)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
