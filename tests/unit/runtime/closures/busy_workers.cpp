// Closures that were sent to a worker whose thread is in another closure, on real threads. Between processes:
// tests/cluster/busy_workers.cpp.
#include "support/local_world.hpp"

#include <atomic>
#include <semaphore>
#include <vector>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(busy_workers_suite)

namespace {

/// What must happen in a test that passes, happens within this time.
constexpr auto patience = 20s;

std::binary_semaphore gate{0};

/// Keeps its thread until the test releases the gate.
void wait_at_gate() {
  if (!gate.try_acquire_for(patience)) throw deadline_exceeded_error{"nobody has released the gate"};
}

int plus_one(int x) { return x + 1; }

int read(variable<int> v) { return v.read(); }

void read_and_wait_at_gate(variable<int> v) {
  v.read();
  wait_at_gate();
}

}  // namespace

BOOST_AUTO_TEST_CASE(no_closure_waits_for_a_worker_in_a_closure_while_another_idles) {
  local_world world{{.workers = 2, .servers = 0}};
  const auto slow = world.coordinator.schedule<wait_at_gate>();
  std::vector<remote_value<int>> quick;
  for (int i = 0; i < 100; ++i) quick.push_back(world.coordinator.schedule<plus_one>(i));
  for (int i = 0; i < 100; ++i) BOOST_TEST(quick[static_cast<std::size_t>(i)].fetch(patience / 2) == i + 1);
  BOOST_TEST((slow.state() == remote_value_state::not_ready));
  gate.release();
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_CASE(a_worker_that_comes_out_of_its_closure_gets_others_again) {
  local_world world{{.workers = 2, .servers = 0}};
  for (int round = 0; round < 5; ++round) {
    std::vector<remote_value<void>> slow;
    for (int i = 0; i < 2; ++i) slow.push_back(world.coordinator.schedule<wait_at_gate>({.worker = i}));
    std::vector<remote_value<int>> quick;
    for (int i = 0; i < 20; ++i) quick.push_back(world.coordinator.schedule<plus_one>(i));
    // One of them: the other one does all.
    gate.release();
    for (int i = 0; i < 20; ++i) BOOST_TEST(quick[static_cast<std::size_t>(i)].fetch(patience / 2) == i + 1);
    gate.release();
    world.coordinator.join(patience);
  }
}

// It has no outcome to tell, but hears.
BOOST_AUTO_TEST_CASE(a_worker_whose_closure_waits_after_it_has_computed_gets_others_again) {
  local_world world{{.workers = 2, .servers = 0}};
  const auto slow = world.coordinator.schedule(schedule_options{.worker = 0}, [] {
    wait_at_gate();
    sleep_for(1h);
  });
  std::vector<remote_value<int>> quick;
  for (int i = 0; i < 20; ++i) quick.push_back(world.coordinator.schedule<plus_one>(i));
  for (int i = 0; i < 20; ++i) BOOST_TEST(quick[static_cast<std::size_t>(i)].fetch(patience / 2) == i + 1);
  gate.release();
  BOOST_TEST(world.coordinator.schedule<plus_one>({.worker = 0}, 7).fetch(patience) == 8);
  slow.cancel();
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_CASE(a_result_does_not_wait_for_the_end_of_the_next_closure_on_its_worker) {
  local_world world{{.workers = 1, .servers = 0}};
  const auto before = world.coordinator.schedule<wait_at_gate>();
  const auto quick = world.coordinator.schedule<plus_one>(1);
  const auto slow = world.coordinator.schedule<wait_at_gate>();
  gate.release();
  BOOST_TEST(quick.fetch(patience / 2) == 2);
  BOOST_TEST((slow.state() == remote_value_state::not_ready));
  gate.release();
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_CASE(nor_does_that_of_one_that_waited_with_it) {
  local_world world{{.workers = 1, .servers = 1}};
  const auto v = world.strategy.variable("v", 7);
  const auto before = world.coordinator.schedule<wait_at_gate>();
  // Both read in one turn, and hear the answer in one.
  const auto quick = world.coordinator.schedule<read>(v);
  const auto slow = world.coordinator.schedule<read_and_wait_at_gate>(v);
  gate.release();
  BOOST_TEST(quick.fetch(patience / 2) == 7);
  BOOST_TEST((slow.state() == remote_value_state::not_ready));
  gate.release();
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_SUITE_END()
