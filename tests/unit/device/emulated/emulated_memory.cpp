// Memory that the device reaches and host code doesn't.
#include "support/in_a_child.hpp"
#include "support/refusal.hpp"

#include <troupe/device/emulated/internal/emulated_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstring>
#include <vector>

namespace troupe::emulation {

BOOST_AUTO_TEST_SUITE(emulated_memory_suite)

namespace {

/// The signal by which a process ends that does this, or 0.
template <class Work>
int signal_of(Work work) {
  const auto child = ::fork();
  if (child == 0) {
    for (const auto each : {SIGSEGV, SIGBUS}) std::signal(each, SIG_DFL);  // not what the test framework makes of them
    work();
    ::_exit(0);
  }
  int end = 0;
  ::waitpid(child, &end, 0);
  return WIFSIGNALED(end) ? WTERMSIG(end) : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_device_finds_its_bytes_again_from_any_address_within_a_block) {
  device_memory memory;
  auto* const block = static_cast<std::byte*>(memory.allocate(10'000));
  std::memset(memory.reach(block, 10'000), 1, 10'000);
  std::memset(memory.reach(block + 5'000, 100), 2, 100);
  const auto* const all = memory.reach(block, 10'000);
  BOOST_TEST((all[4'999] == std::byte{1} && all[5'000] == std::byte{2} && all[5'099] == std::byte{2} &&
              all[5'100] == std::byte{1}));
  memory.release(block);
}

BOOST_AUTO_TEST_CASE(host_code_that_touches_it_ends_with_a_segmentation_fault) {
  device_memory memory;
  auto* const block = static_cast<volatile std::byte*>(memory.allocate(10'000));
  BOOST_TEST(signal_of([&] { static_cast<void>(block[0] == std::byte{0}); }) == SIGSEGV);
  BOOST_TEST(signal_of([&] { block[9'999] = std::byte{0}; }) == SIGSEGV);
  BOOST_TEST(signal_of([] {}) == 0);
  memory.release(const_cast<std::byte*>(block));
}

BOOST_AUTO_TEST_CASE(what_is_not_of_one_block_is_refused) {
  device_memory memory;
  auto* const block = static_cast<std::byte*>(memory.allocate(4096));
  const std::vector<std::byte> elsewhere(10);
  const auto is_refused = [&](const std::byte* address, std::size_t bytes) {
    return refuses<invalid_argument_error>([&] { memory.reach(address, bytes); }, "are not of this device's memory");
  };
  BOOST_TEST(is_refused(elsewhere.data(), 10));
  BOOST_TEST(is_refused(nullptr, 1));
  BOOST_TEST(is_refused(block, 4097));
  BOOST_TEST(is_refused(block + 4000, 97));
  BOOST_TEST(is_refused(block + 4096, 1));
  BOOST_TEST(is_refused(block + 1, static_cast<std::size_t>(-1)));
  memory.release(block);
  BOOST_TEST(is_refused(block, 1));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::emulation
