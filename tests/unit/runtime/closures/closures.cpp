// cluster_coordinator: schedule, join, done, fetch and remote values (examples/reference/semantics.md 1.1, 2.2, 2.3),
// in one process.
#include "support/local_world.hpp"

#include <atomic>
#include <limits>
#include <semaphore>
#include <thread>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(closures_suite)

namespace {

struct point {
  double x = 0;
  std::string name;
  std::vector<int> history;
  bool operator==(const point&) const = default;
};

int twice(int x) { return 2 * x; }
TROUPE_REGISTER("tests/twice", twice);

// Closures share the process with the tests, so a test can hold one up and let it go.
std::binary_semaphore gate{0};
std::atomic<int> started{0};

void hold_up() {
  ++started;
  started.notify_all();
  gate.acquire();
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_seeds_example_gives_0_125) {
  local_world world;
  const auto v1 = world.strategy.variable("v1", 0.0f);
  const auto v2 = world.strategy.variable("v2", 1.0f);
  const auto result = world.coordinator.schedule(
      [](variable<float> a, variable<float> b) {
        a.assign_add(0.1f);
        b.assign_sub(0.2f);
        return a.read() / b.read();
      },
      v1, v2);
  BOOST_TEST(result.fetch() == 0.125f);
}

BOOST_AUTO_TEST_CASE(results_of_all_kinds_come_back_as_they_are) {
  local_world world;
  auto& coordinator = world.coordinator;
  const point p{std::numeric_limits<double>::infinity(), "north", {1, 2, 3}};
  BOOST_TEST((coordinator.schedule([](const point& x) { return x; }, p).fetch() == p));
  BOOST_TEST(coordinator.schedule([](const std::string& s) { return s + "!"; }, "hello").fetch() == "hello!");
  const auto t = tensor::of<float>({1, 2, 3});
  BOOST_TEST(coordinator.schedule([](const tensor& x) { return x; }, t).fetch().bitwise_equal(t));
  const auto nothing = coordinator.schedule([] {});
  nothing.fetch();
  BOOST_TEST((nothing.state() == remote_value_state::ready));
}

BOOST_AUTO_TEST_CASE(a_named_function_takes_arguments_that_convert_to_its_parameters) {
  local_world world;
  const auto result = world.coordinator.schedule<twice>(short{21});
  BOOST_TEST(result.fetch() == 42);
  BOOST_TEST(result.scheduled()->function.name == "tests/twice");
}

BOOST_AUTO_TEST_CASE(get_gives_one_object_however_often_it_is_asked) {
  local_world world;
  const auto result = world.coordinator.schedule([] { return std::vector<int>{1, 2}; });
  const auto& first = result.get();
  BOOST_TEST(&first == &result.get());
  BOOST_TEST(first == (std::vector<int>{1, 2}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(fetch_maps_over_nested_structures_and_leaves_other_leaves) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto one = coordinator.schedule([] { return 1; });
  const auto two = coordinator.schedule([] { return std::string{"two"}; });
  const auto fetched = coordinator.fetch(
      std::tuple{std::vector{one, one}, std::map<std::string, remote_value<std::string>>{{"k", two}}, 7});
  BOOST_TEST(std::get<0>(fetched) == (std::vector<int>{1, 1}), boost::test_tools::per_element());
  BOOST_TEST(std::get<1>(fetched).at("k") == "two");
  BOOST_TEST(std::get<2>(fetched) == 7);
  const auto by_number = coordinator.fetch(std::unordered_map<int, std::pair<remote_value<int>, int>>{{5, {one, 6}}});
  BOOST_CHECK((by_number.at(5) == std::pair{1, 6}));
}

BOOST_AUTO_TEST_CASE(a_remote_value_may_be_an_argument_also_inside_containers) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto three = coordinator.schedule([] { return 3; });
  const auto four = coordinator.schedule([](int x) { return x + 1; }, three);
  const auto sum = coordinator.schedule([](const std::vector<int>& xs, int y) { return xs[0] + xs[1] + y; },
                                        std::vector{three, four}, 5);
  BOOST_TEST(sum.fetch() == 12);
  using names = std::unordered_map<std::string, std::array<std::pair<int, int>, 1>>;
  const auto product = coordinator.schedule(
      [](const names& by_name) { return by_name.at("x")[0].first * by_name.at("x")[0].second; },
      std::unordered_map<std::string, std::array<std::pair<remote_value<int>, int>, 1>>{{"x", {{{three, 7}}}}});
  BOOST_TEST(product.fetch() == 21);
}

BOOST_AUTO_TEST_CASE(join_waits_for_all_and_done_tells_without_waiting) {
  local_world world;
  auto& coordinator = world.coordinator;
  coordinator.join();
  BOOST_TEST(coordinator.done());
  const auto held = coordinator.schedule([] { hold_up(); });
  started.wait(0);
  BOOST_TEST(!coordinator.done());
  BOOST_CHECK_THROW(coordinator.join(20ms), deadline_exceeded_error);
  gate.release();
  coordinator.join();
  BOOST_TEST(coordinator.done());
  BOOST_TEST((held.state() == remote_value_state::ready));
}

BOOST_AUTO_TEST_CASE(the_first_error_is_raised_once_and_the_coordinator_is_usable_again) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto bad = coordinator.schedule([]() -> int { throw invalid_argument_error{"no such flower"}; });
  BOOST_CHECK_EXCEPTION(coordinator.join(), invalid_argument_error,
                        [](const error& e) { return says(e, "no such flower"); });
  BOOST_CHECK_EXCEPTION(bad.fetch(), invalid_argument_error,
                        [](const error& e) { return says(e, "/job:worker/task:") && says(e, "no such flower"); });
  BOOST_TEST(coordinator.errors().size() == 1u);
  coordinator.join();
  BOOST_TEST(coordinator.schedule([] { return 5; }).fetch() == 5);
}

BOOST_AUTO_TEST_CASE(schedule_raises_a_pending_error_and_cancels_the_new_closure_too) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto bad = coordinator.schedule([]() -> int { throw std::runtime_error{"broken"}; });
  while (bad.state() == remote_value_state::not_ready) bad.wait_for(1s);
  BOOST_CHECK_THROW(coordinator.schedule([] { return 1; }), std::runtime_error);
  BOOST_TEST(coordinator.schedule([] { return 1; }).fetch() == 1);
}

BOOST_AUTO_TEST_CASE(a_failed_input_fails_its_consumers_once_with_the_original_cause) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto bad = coordinator.schedule([]() -> int {
    hold_up();
    throw out_of_range_error{"row 9"};
  });
  // Before it fails: afterwards `schedule` would raise its error.
  const auto next = coordinator.schedule([](int x) { return x; }, bad);
  const auto last = coordinator.schedule([](int x) { return x; }, next);
  gate.release();
  BOOST_CHECK_EXCEPTION(last.fetch(), out_of_range_error, [](const error& e) {
    const std::string text = e.what();
    const auto first = text.find("an input of");
    return says(e, "row 9") && first != std::string::npos && text.find("an input of", first + 1) == std::string::npos;
  });
  BOOST_CHECK_THROW(coordinator.join(), out_of_range_error);
}

BOOST_AUTO_TEST_CASE(a_cancelled_closure_is_aborted_and_no_error_of_the_others) {
  local_world world{{.workers = 1, .servers = 1}};
  auto& coordinator = world.coordinator;
  started = 0;
  const auto held = coordinator.schedule([] { hold_up(); });
  started.wait(0);
  const auto queued = coordinator.schedule([] { return 1; });
  queued.cancel();
  BOOST_CHECK_THROW(queued.fetch(10s), cancelled_error);
  BOOST_TEST((queued.state() == remote_value_state::aborted));
  gate.release();
  coordinator.join();
  BOOST_TEST((held.state() == remote_value_state::ready));
}

BOOST_AUTO_TEST_CASE(a_closure_ends_at_its_own_limit) {
  local_world world{{.workers = 1, .servers = 1}};
  auto& coordinator = world.coordinator;
  started = 0;
  const auto held = coordinator.schedule([] { hold_up(); });
  started.wait(0);
  const auto late = coordinator.schedule(schedule_options{.limit = 50ms}, [] { return 1; });
  BOOST_CHECK_EXCEPTION(late.fetch(), deadline_exceeded_error,
                        [](const error& e) { return says(e, "within its limit of 50 ms"); });
  gate.release();
  BOOST_CHECK_THROW(coordinator.join(), deadline_exceeded_error);
}

BOOST_AUTO_TEST_CASE(a_closure_that_ignores_its_cancellation_holds_nobody_up_and_its_worker_is_used_again_afterwards) {
  cluster_options options;
  options.coordinator.cancel_limit = 50ms;
  options.coordinator.admission_limit = 50ms;
  options.coordinator.admission_retry = 1ms;
  local_world world{{.workers = 2, .servers = 1}, options};
  started = 0;
  const auto ignores = world.coordinator.schedule({.worker = 0}, [] { hold_up(); });
  started.wait(0);
  world.coordinator.schedule({.worker = 1}, [] { throw out_of_range_error{"row 7 of 5"}; });
  BOOST_CHECK_THROW(world.coordinator.join(30s), out_of_range_error);
  BOOST_TEST((ignores.state() == remote_value_state::aborted));
  // The other worker works on meanwhile.
  BOOST_TEST(world.coordinator.schedule<twice>(21).fetch() == 42);
  const auto waits = world.coordinator.schedule<twice>({.worker = 0}, 4);
  gate.release();
  BOOST_TEST(waits.fetch() == 8);
  world.coordinator.join(30s);
}

BOOST_AUTO_TEST_CASE(options_out_of_range_are_refused_with_what_would_be_right) {
  local_world world;
  auto& coordinator = world.coordinator;
  const auto run = [&](const schedule_options& options) { coordinator.schedule(options, [] {}); };
  BOOST_CHECK_EXCEPTION(run({.worker = 2}), invalid_argument_error, [](const error& e) { return says(e, "0 to 1"); });
  BOOST_CHECK_EXCEPTION(run({.priority = 3}), invalid_argument_error, [](const error& e) { return says(e, "0 to 2"); });
  BOOST_CHECK_THROW(run({.limit = 0s}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_full_queue_makes_schedule_wait_and_then_say_so) {
  local_world world{{.workers = 1, .servers = 1}, {.queue_capacity = 2}};
  auto& coordinator = world.coordinator;
  started = 0;
  coordinator.schedule([] { hold_up(); });
  started.wait(0);
  coordinator.schedule([] {});
  BOOST_CHECK_EXCEPTION(coordinator.schedule(schedule_options{.queue_limit = 20ms}, [] {}), resource_exhausted_error,
                        [](const error& e) { return says(e, "2 closures, its limit"); });
  gate.release();
  coordinator.join();
  coordinator.schedule([] {});
  coordinator.join();
}

BOOST_AUTO_TEST_CASE(whoever_hears_of_the_end_of_a_join_or_of_an_error_finds_room) {
  local_world world{{.workers = 1, .servers = 1}, {.queue_capacity = 1}};
  auto& coordinator = world.coordinator;
  const schedule_options at_once{.queue_limit = 0ms};
  constexpr auto rounds = 500;
  for (auto i = 0; i < rounds; ++i) {
    coordinator.schedule(at_once, [] {});
    BOOST_REQUIRE_NO_THROW(coordinator.join());
    coordinator.schedule(at_once, [] { throw out_of_range_error{"on purpose"}; });
    BOOST_REQUIRE_THROW(coordinator.join(), out_of_range_error);
  }
}

BOOST_AUTO_TEST_CASE(an_empty_remote_value_says_where_values_come_from) {
  const remote_value<int> empty;
  BOOST_CHECK_THROW(empty.fetch(), failed_precondition_error);
  BOOST_CHECK_THROW(empty.state(), failed_precondition_error);
}

BOOST_AUTO_TEST_CASE(a_cluster_of_impossible_size_is_refused) {
  system_config config{false};
  caf::actor_system system{config};
  BOOST_CHECK_THROW((cluster{system, local_cluster{.workers = 0, .servers = 1}}), invalid_argument_error);
  BOOST_CHECK_THROW((cluster{system, local_cluster{.roles = {{"workers", 1}}}}), invalid_argument_error);
  BOOST_CHECK_THROW((cluster{system, local_cluster{.roles = {{"probe", -1}}}}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(without_a_parameter_server_closures_run_and_variables_say_what_is_missing) {
  system_config config{false};
  caf::actor_system system{config};
  cluster no_servers{system, {.workers = 1, .servers = 0}};
  parameter_server_strategy strategy{no_servers};
  cluster_coordinator coordinator{strategy};
  BOOST_TEST(coordinator.schedule([](int x) { return x + 1; }, 41).fetch() == 42);
  BOOST_CHECK_EXCEPTION(strategy.variable("v", 0.0f), failed_precondition_error,
                        [](const error& e) { return says(e, "has no parameter server") && says(e, "--ps 1"); });
  BOOST_CHECK_THROW(strategy.sharded("s", tensor::zeros(dtype::float32, {4})), failed_precondition_error);
}

BOOST_FIXTURE_TEST_CASE(the_closure_whose_schedule_throws_an_earlier_error_never_runs, local_world) {
  static std::atomic<int> runs{0};
  for (int i = 0; i < 200; ++i) {
    coordinator.schedule([](int x) { throw out_of_range_error{"failure " + std::to_string(x)}; }, i).wait_for(10s);
    // Both workers are free.
    BOOST_CHECK_EXCEPTION(coordinator.schedule([] { ++runs; }), out_of_range_error,
                          [&](const error& e) { return says(e, "failure " + std::to_string(i)); });
    coordinator.join();
  }
  BOOST_TEST(runs == 0);
  coordinator.schedule([] { ++runs; }).fetch();
  BOOST_TEST(runs == 1);
}

BOOST_FIXTURE_TEST_CASE(of_many_threads_that_schedule_none_hangs_on_an_error_and_all_others_closures_run, local_world) {
  static std::atomic<int> runs{0};
  std::atomic<int> refused{0};
  constexpr int rounds = 100;
  const auto schedule_some = [&] {
    for (int i = 0; i < rounds; ++i) {
      try {
        coordinator.schedule([] { ++runs; }).fetch();
      } catch (const error&) {  // thrown by schedule, or cancelled with the generation that failed
        ++refused;
      }
    }
  };
  std::thread first{schedule_some};
  std::thread second{schedule_some};
  for (int i = 0; i < rounds; ++i) {
    try {
      coordinator.schedule([] { throw out_of_range_error{"failure"}; }).wait_for(10s);
    } catch (const out_of_range_error&) {
    }
  }
  first.join();
  second.join();
  try {
    coordinator.join();
  } catch (const out_of_range_error&) {
  }
  BOOST_TEST(runs <= 2 * rounds);
  BOOST_TEST(runs >= 2 * rounds - refused);
  coordinator.join();
}

BOOST_AUTO_TEST_CASE(a_variable_waits_until_its_server_has_joined) {
  system_config config{false};
  caf::actor_system system{config};
  for (int i = 0; i < 20; ++i) {
    cluster members{system, local_cluster{.workers = 1, .servers = 1}};
    parameter_server_strategy strategy{members};
    BOOST_TEST(strategy.variable("v", 3.0F).read() == 3.0F);
  }
}

BOOST_FIXTURE_TEST_CASE(an_error_names_the_function_its_file_and_its_line, local_world) {
  const auto here = fmt::format("closures.cpp:{}", __LINE__ + 1);
  const auto failed = coordinator.schedule([](int) { throw out_of_range_error{"no more"}; }, 1);
  BOOST_CHECK_EXCEPTION(failed.fetch(), out_of_range_error,
                        [&](const error& e) { return says(e, "closure ") && says(e, "lambda") && says(e, here); });
}

BOOST_FIXTURE_TEST_CASE(options_come_first_for_a_named_function_too, local_world) {
  const schedule_options options{.worker = 1};
  BOOST_TEST(coordinator.schedule<twice>(options, 4).fetch() == 8);
  BOOST_TEST(coordinator.schedule<twice>({.priority = 2}, 5).fetch() == 10);
  BOOST_TEST(coordinator.schedule<current_worker_index>(options).fetch() == 1);
  BOOST_TEST(coordinator.schedule<twice>(coordinator.schedule<twice>(6)).fetch() == 24);
}

BOOST_AUTO_TEST_SUITE_END()
