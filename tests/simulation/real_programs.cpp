// Programs as `run` takes them, unchanged, on simulated clusters: alone, under failures, and as scenarios of a search.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(real_programs_suite)

using namespace troupe;

namespace {

using tally_actor = caf::typed_actor<caf::replies_to<caf::add_atom, std::int64_t>::with<std::int64_t>>;

tally_actor::behavior_type tally(tally_actor::pointer) {
  const auto sum = std::make_shared<std::int64_t>(0);
  return {[=](caf::add_atom, std::int64_t more) { return *sum += more; }};
}

/// The reference follows an actor whose process is lost and comes back.
void add_one(const actor_reference<tally_actor>& to) {
  for (;;) {
    try {
      to.await_up(10s);
      ask(to, 1s, caf::add_atom_v, std::int64_t{1});
      return;
    } catch (const unavailable_error&) {
    } catch (const deadline_exceeded_error&) {
    }
  }
}

/// Counts with variables and closures, and asks an actor on each worker. Returns what the counter has.
int program(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto counter = strategy.variable<std::int64_t>("counter", 0);
  std::vector<remote_value<int>> values;
  for (int i = 0; i < 20; ++i)
    values.push_back(coordinator.schedule(
        [](int x, variable<std::int64_t> shared) {
          sleep_for(100ms);
          shared.assign_add(1);
          return x * 2;
        },
        i, counter));
  coordinator.join();
  for (int i = 0; i < 20; ++i)
    if (values[static_cast<std::size_t>(i)].fetch() != 2 * i) throw internal_error{"a value is wrong"};
  for (const auto& each : here.find_all<tally_actor>("worker", "tally", 10s)) add_one(each);
  return static_cast<int>(counter.read());
}

run_options options_of(local_cluster size = {.workers = 3, .servers = 2}) {
  run_options result;
  result.program = program;
  result.on_member = [](member& here) {
    if (here.task().job == "worker") here.offer("tally", here.spawn(tally));
  };
  result.size = size;
  return result;
}

auto says(std::string text) {
  return [text](const error& refused) { return contains(refused.message(), text); };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_program_runs_unchanged_and_gives_its_code) {
  simulated_world world{{.seed = 1}};
  BOOST_TEST(simulate(world, options_of()) == 20);
  // The closures sleep beside each other.
  BOOST_TEST((world.now() > 100ms));
  BOOST_TEST((world.now() < 1s));
  BOOST_TEST(simulate(world_options{.seed = 2}, options_of({.workers = 1, .servers = 1})) == 20);
}

BOOST_AUTO_TEST_CASE(what_a_program_throws_arrives_and_so_does_the_loss_of_its_chief) {
  run_options throws;
  throws.program = [](cluster&) { throw data_loss_error{"on purpose"}; };
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1}, throws), data_loss_error, says("on purpose"));
  fault_plan plan;
  plan.at(50ms).kill("chief-0");
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1, .plan = plan}, options_of()), cancelled_error, says("chief-0 has ended"));
  run_options sleeps;
  sleeps.program = [](cluster&) { sleep_for(1h); };
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1}, sleeps, 1min), deadline_exceeded_error, says("60000 ms"));
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1}, run_options{}), invalid_argument_error, says("no program"));
  auto configured = options_of();
  configured.config = [] { return std::make_unique<caf::actor_system_config>(); };
  BOOST_CHECK_EXCEPTION(simulate({.seed = 1}, configured), invalid_argument_error, says("run_options::config"));
}

BOOST_AUTO_TEST_CASE(workers_and_links_may_fail_and_each_addition_counts_once) {  // C-1, V-1
  const auto result = explore(
      [](simulated_world& world) {
        const auto counted = simulate(world, options_of());
        // A closure that ran again because its worker was lost has added again.
        world.require(counted >= 20, "an addition is lost");
      },
      {.runs = 60,
       .faults = fault_rates{.hosts = {"worker-0", "worker-1", "worker-2"},
                             .faults_per_second = 20,
                             .until = 200ms,
                             .least = 10ms,
                             .most = 300ms}});
  BOOST_TEST(result.runs == 60u);
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_AUTO_TEST_CASE(a_worker_may_die_at_each_message_that_it_sends) {  // C-1, C-3
  const auto result = explore_every_message(
      [](simulated_world& world) {
        world.require(simulate(world, options_of({.workers = 2, .servers = 1})) >= 20, "an addition is lost");
      },
      {"worker-0"}, 50ms, {.runs = 200});
  BOOST_TEST(result.runs > 8u);
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_run_of_a_whole_program_again) {  // S-1
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const auto difference = find_difference(
        [](simulated_world& world) { simulate(world, options_of()); },
        {.seed = seed,
         .faults = fault_rates{.hosts = {"worker-0", "worker-1"}, .faults_per_second = 20, .until = 200ms}});
    BOOST_TEST(!difference.has_value(), difference.value_or(""));
  }
}

BOOST_AUTO_TEST_CASE(two_clusters_do_not_fit_into_one_world) {
  simulated_world world{{.seed = 1}};
  {
    simulation cluster{world, {.workers = 1, .servers = 0}};
    cluster.run_until_ready();
    BOOST_CHECK_EXCEPTION((simulation{world, {.workers = 1, .servers = 0}}), already_exists_error, says("chief-0"));
  }
  BOOST_TEST(!world.running("worker-0"));
  world.advance(1s);
}

BOOST_AUTO_TEST_CASE(who_waits_for_members_hears_at_the_limit_who_is_missing_and_at_once_that_all_are_there) {
  simulated_world world{{.seed = 1}};
  run_options options;
  options.size = {.workers = 2, .servers = 0};
  options.program = [&](cluster& here) {
    const task_id lost{"worker", 1};
    world.kill("worker-1");
    while (here.view().find(lost)->state == member_presence::present) sleep_for(10ms);
    auto begin = current_time();
    BOOST_CHECK_EXCEPTION(here.wait_for({{"worker", 0}, lost}, 5s), deadline_exceeded_error, [](const error& late) {
      return contains(late.message(), "after 5000 ms these members are still missing: /job:worker/task:1 at ");
    });
    BOOST_TEST((current_time() - begin >= 5s && current_time() - begin < 5100ms));
    world.restart("worker-1");
    begin = current_time();
    BOOST_TEST((here.wait_for({lost}, 5s).find(lost)->state == member_presence::present));
    BOOST_TEST((current_time() - begin < 1s));
    return 0;
  };
  BOOST_TEST(simulate(world, options) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
