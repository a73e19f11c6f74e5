// Code in closures and methods of servers that waits, on real threads: it lets others run, and what can only wait for
// itself says so. In virtual time: tests/simulation/waiting.cpp.
#include "support/local_world.hpp"

#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/runtime/wait_graph.hpp>

#include <atomic>
#include <mutex>
#include <optional>
#include <semaphore>
#include <thread>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(waiting_suite)

namespace {

/// What must happen in a test that passes, happens within this time.
constexpr auto patience = 20s;

/// One worker that runs one closure at a time. Closures have no captures, but share the process with the test.
struct small_world : local_world {
  explicit small_world(int workers = 1) : local_world({.workers = workers, .servers = 1}, options()) {
    program = &coordinator;
    there = &strategy;
  }
  ~small_world() {
    program = nullptr;
    there = nullptr;
  }

  static cluster_options options() {
    cluster_options chosen;
    chosen.coordinator.windows = {.slots = 1, .fibers_max = 1, .window_max = 1};
    return chosen;
  }

  static inline cluster_coordinator* program = nullptr;
  static inline parameter_server_strategy* there = nullptr;
};

std::binary_semaphore gate{0};
std::atomic<bool> passed{false};

/// Keeps its thread until the test or another closure releases the gate.
void wait_at_gate() {
  if (!gate.try_acquire_for(patience)) throw deadline_exceeded_error{"nobody has released the gate"};
}

int fibonacci(int n) {
  if (n < 2) return n;
  const auto a = small_world::program->schedule<fibonacci>(n - 1);
  const auto b = small_world::program->schedule<fibonacci>(n - 2);
  return a.fetch(patience) + b.fetch(patience);
}

/// By a thread of a test.
std::optional<troupe::mutex> wanted_lock;

void take_lock() { const std::scoped_lock lock{*wanted_lock}; }

}  // namespace

BOOST_AUTO_TEST_CASE(closures_that_schedule_others_and_wait_for_them_never_run_out_of_places) {
  small_world world;
  BOOST_TEST(world.coordinator.schedule<fibonacci>(10).fetch(patience) == 55);
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_CASE(join_and_done_in_a_closure_say_that_it_would_wait_for_itself) {
  small_world world;
  const auto joining = world.coordinator.schedule([] { small_world::program->join(); });
  const auto is_clear = [](const error& e) { return says(e, "join()") && says(e, "wait for its own end"); };
  BOOST_CHECK_EXCEPTION(joining.fetch(patience), failed_precondition_error, is_clear);
  BOOST_CHECK_EXCEPTION(world.coordinator.join(patience), failed_precondition_error, is_clear);
  const auto asking = world.coordinator.schedule([] { return small_world::program->done(); });
  BOOST_CHECK_EXCEPTION(asking.fetch(patience), failed_precondition_error,
                        [](const error& e) { return says(e, "done()"); });
  BOOST_CHECK_THROW(world.coordinator.join(patience), failed_precondition_error);
}

BOOST_AUTO_TEST_CASE(closures_that_wait_for_each_other_fail_and_say_so) {
  small_world world;
  const auto is_clear = [](const error& e) {
    return says(e, "closures wait for each other") && says(e, "give schedule() the remote values");
  };
  // Each for the other's value.
  static std::optional<remote_value<int>> first, second;
  static std::counting_semaphore<2> both_are_there{0};
  first = world.coordinator.schedule([] {
    both_are_there.acquire();
    return second->fetch(patience);
  });
  second = world.coordinator.schedule([] { return first->fetch(patience); });
  both_are_there.release();
  BOOST_CHECK_EXCEPTION(world.coordinator.join(patience), failed_precondition_error, is_clear);
  // One for the other's value, which takes its own.
  first = world.coordinator.schedule([] {
    both_are_there.acquire();
    return small_world::program->schedule([](int x) { return x; }, *first).fetch(patience);
  });
  both_are_there.release();
  BOOST_CHECK_EXCEPTION(first->fetch(patience), failed_precondition_error, is_clear);
  BOOST_CHECK_EXCEPTION(world.coordinator.join(patience), failed_precondition_error, is_clear);
  first.reset();
  second.reset();
  // Long waits that end are no cycle.
  BOOST_TEST(world.coordinator
                 .schedule([] {
                   return small_world::program
                       ->schedule([] {
                         sleep_for(1500ms);
                         return 5;
                       })
                       .fetch(patience);
                 })
                 .fetch(patience) == 5);
}

BOOST_AUTO_TEST_CASE(a_closure_may_schedule_another_one_while_an_error_is_pending_and_the_program_hears_of_it) {
  small_world world{2};
  const auto scheduling = world.coordinator.schedule(schedule_options{.worker = 0}, [] {
    wait_at_gate();
    small_world::program->schedule([] { return 1; });
    return 2;
  });
  const auto bad =
      world.coordinator.schedule(schedule_options{.worker = 1}, []() -> int { throw out_of_range_error{"row 9"}; });
  BOOST_CHECK_THROW(bad.fetch(patience), out_of_range_error);
  gate.release();
  BOOST_TEST(scheduling.fetch(patience) == 2);
  BOOST_CHECK_THROW(world.coordinator.join(patience), out_of_range_error);
  world.coordinator.join(patience);
}

BOOST_AUTO_TEST_CASE(a_closure_that_sleeps_lets_others_of_its_worker_run) {
  local_world world{{.workers = 1, .servers = 1}};
  passed = false;
  const auto polling = world.coordinator.schedule([] {
    auto looks = 0;
    for (; !passed; ++looks) sleep_for(1ms);
    return looks > 0;
  });
  world.coordinator.schedule([] { passed = true; });
  BOOST_TEST(polling.fetch(patience));
}

BOOST_AUTO_TEST_CASE(a_closure_may_make_a_variable) {
  small_world world;
  const auto made = world.coordinator.schedule([] {
    auto inner = small_world::there->variable("inner", 40.0f);
    inner.assign_add(2.0f);
    return inner.read();
  });
  BOOST_TEST(made.fetch(patience) == 42.0f);
}

BOOST_AUTO_TEST_CASE(a_closure_that_waits_for_an_element_of_a_dataset_lets_others_run) {
  local_world world{{.workers = 1, .servers = 1}};
  const auto reading = world.coordinator.schedule([] {
    auto elements = from_generator([] {
                      return [n = 0]() mutable -> std::optional<int> {
                        if (n == 0) wait_at_gate();
                        return ++n;
                      };
                    }).prefetch(1);
    return elements.iterate().next();
  });
  world.coordinator.schedule([] { gate.release(); });
  BOOST_TEST(reading.fetch(patience) == 1);
}

BOOST_AUTO_TEST_CASE(a_cluster_inside_one_process_tells_who_waits_there) {
  wanted_lock.emplace(patience);
  local_world world{{.workers = 2, .servers = 1}};
  std::binary_semaphore locked{0};
  std::thread holder{[&] {
    const std::scoped_lock lock{*wanted_lock};
    locked.release();
    wait_at_gate();
  }};
  locked.acquire();
  const auto wants = world.coordinator.schedule<take_lock>({.worker = 1});
  const auto until = std::chrono::steady_clock::now() + patience;
  const auto told = [&] {
    for (;;) {
      const auto graph = world.members.why();
      for (const auto& each : graph.waits().processes.at(0).waits)
        if (each.runs != 0 || std::chrono::steady_clock::now() > until) return graph;
    }
  }();
  gate.release();
  holder.join();
  wants.fetch(patience);
  // All members are this process.
  BOOST_TEST(told.waits().processes.size() == 1u);
  const auto text = told.to_string();
  BOOST_TEST(text.find(" on /job:worker/task:1 (") != std::string::npos, text);
  BOOST_TEST(text.find("    -> a fiber or thread of the same process, which does not wait") != std::string::npos, text);
  BOOST_TEST(told.cycles().empty());
}

BOOST_AUTO_TEST_CASE(a_method_that_waits_for_a_remote_value_lets_other_methods_run) {
  small_world world;
  const auto held = world.coordinator.schedule([] {
    wait_at_gate();
    return 7;
  });
  auto server = rpc::server::create("caf", "localhost:0");
  server.register_method("fetch", [held] { return held.fetch(patience); });
  server.register_method("release", [] { gate.release(); });
  server.start();
  const auto client = rpc::client::create("caf", server.address(), {}, patience);
  const auto fetched = client.call("fetch");
  client.method<void()>("release").blocking();
  BOOST_TEST(fetched.get_value<int>() == 7);
}

BOOST_AUTO_TEST_SUITE_END()
