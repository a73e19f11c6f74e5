// Exhaustive searches in which steps of different hosts are taken in one order only: the same outcomes, in fewer runs.
#include "../../examples/replicated_counter/counter_protocol.hpp"
#include "probe.hpp"

#include <troupe/runtime/exploration.hpp>

#include <boost/test/unit_test.hpp>

#include <limits>
#include <map>
#include <set>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(commuting_hosts_suite)

using namespace troupe;
using replicated_counter::counter_actor;

namespace {

constexpr auto no_bound = std::numeric_limits<std::size_t>::max();

struct outcomes {
  exploration result;
  std::set<std::string> seen;
};

/// All runs of the scenario, which says what it has come to.
outcomes search(const std::function<std::string(simulated_world&)>& scenario, bool hosts_commute,
                std::size_t deviations_max = no_bound, std::uint64_t runs = 20'000) {
  outcomes all;
  exploration_options options{.runs = runs};
  options.world.latency_min = options.world.latency_max = 100us;
  options.world.hosts_commute = hosts_commute;
  all.result =
      explore_deviations([&](simulated_world& world) { all.seen.insert(scenario(world)); }, deviations_max, options);
  BOOST_TEST_MESSAGE((hosts_commute ? "reduced: " : "whole: ")
                     << all.result.runs << " runs, " << all.seen.size() << " outcomes");
  BOOST_TEST(!all.result.found.has_value(), (all.result.found ? all.result.found->report() : std::string{}));
  return all;
}

/// Fibers of two hosts: so many on each, which say in what order they begin.
std::string two_hosts_with_fibers(simulated_world& world, int on_first, int on_second) {
  std::map<std::string, std::string> orders;
  const auto add = [&](const std::string& name, int fibers) {
    world.host(name, [&orders, fibers](simulated_host& here) {
      for (auto i = 1; i <= fibers; ++i) here.start_program([&, i] { orders[here.name()] += std::to_string(i); });
    });
  };
  add("first", on_first);
  add("second", on_second);
  world.advance(1s);
  return orders["first"] + " " + orders["second"];
}

/// Clients add to one counter; each says what it was told.
std::string two_clients(simulated_world& world) {
  std::map<std::string, std::int64_t> sums;
  world.host("server", [](simulated_host& here) {
    publish_actor(here.system(), here.spawn(replicated_counter::counter, std::optional<counter_actor>{}, false),
                  replicated_counter::port, 1s);
  });
  world.advance(10ms);
  for (const std::string name : {"one", "other"})
    world.host(name, [&sums](simulated_host& here) {
      const auto server = remote_actor<counter_actor>(here.system(), "server", replicated_counter::port, 1s);
      ask(
          here.system(), server, 20ms, "adding", [&](std::int64_t now) { sums[here.name()] = now; }, caf::add_atom_v,
          std::int64_t{1});
    });
  world.advance(1s);
  return std::to_string(sums["one"]) + std::to_string(sums["other"]);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_outcome_is_found_in_fewer_runs) {
  const auto scenario = [](simulated_world& world) { return two_hosts_with_fibers(world, 2, 1); };
  const auto whole = search(scenario, false);
  const auto reduced = search(scenario, true);
  BOOST_TEST(whole.result.is_complete);
  BOOST_TEST(reduced.result.is_complete);
  BOOST_TEST(whole.seen == (std::set<std::string>{"12 1", "21 1"}), boost::test_tools::per_element());
  BOOST_TEST(reduced.seen == whole.seen, boost::test_tools::per_element());
  BOOST_TEST(reduced.result.runs * 4 < whole.result.runs);
}

BOOST_AUTO_TEST_CASE(both_hosts_have_each_of_their_orders) {
  const auto reduced = search([](simulated_world& world) { return two_hosts_with_fibers(world, 2, 2); }, true);
  BOOST_TEST(reduced.result.is_complete);
  BOOST_TEST(reduced.seen == (std::set<std::string>{"12 12", "12 21", "21 12", "21 21"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(steps_of_one_host_are_all_tried) {
  const auto scenario = [](simulated_world& world) { return two_hosts_with_fibers(world, 2, 0); };
  BOOST_TEST(search(scenario, true).seen == (std::set<std::string>{"12 ", "21 "}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_could_not_happen_before_commutes_with_nothing) {
  // The lower host goes on when the other one has done something for the last time.
  const auto scenario = [](simulated_world& world) {
    std::string order;
    world.host("lower", [&order](simulated_host& here) {
      sleep_for(2ms);
      for (const std::string each : {"1", "2"}) here.start_program([&order, each] { order += each; });
    });
    world.host("higher", [](simulated_host&) { sleep_for(1ms); });
    world.advance(1s);
    return order;
  };
  BOOST_TEST(search(scenario, true).seen == (std::set<std::string>{"12", "21"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_server_hears_its_clients_in_each_order) {
  const auto reduced = search(two_clients, true, 1);
  const auto whole = search(two_clients, false, 1);
  BOOST_TEST(reduced.seen == (std::set<std::string>{"12", "21"}), boost::test_tools::per_element());
  BOOST_TEST(reduced.seen == whole.seen, boost::test_tools::per_element());
  BOOST_TEST(reduced.result.runs * 4 < whole.result.runs);
}

BOOST_AUTO_TEST_CASE(who_draws_first_makes_a_difference) {
  const auto scenario = [](simulated_world& world) {
    std::string order;
    const auto draw = [&order](simulated_host& here) {
      here.world().random(2);
      order += here.name();
    };
    for (const std::string name : {"a", "b"})
      world.host(name, [draw](simulated_host& here) {
        draw(here);
        here.start_program([&here, draw] { draw(here); });
      });
    world.advance(1s);
    return order;
  };
  const auto reduced = search(scenario, true);
  BOOST_TEST(reduced.seen == (std::set<std::string>{"aabb", "abab", "abba", "baab", "baba", "bbaa"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_makes_the_order_count_is_refused) {
  world_options options{.choice = step_choice::in_order, .hosts_commute = true};
  BOOST_CHECK_EXCEPTION(simulated_world{options}, invalid_argument_error,
                        [](const auto& why) { return contains(why.message(), "latency_min"); });
  options.latency_min = options.latency_max = 0us;
  BOOST_CHECK_THROW(simulated_world{options}, invalid_argument_error);
  options.latency_min = options.latency_max = 1us;
  BOOST_CHECK_NO_THROW(simulated_world{options});
  options.choice = step_choice::evenly;
  BOOST_CHECK_EXCEPTION(simulated_world{options}, invalid_argument_error,
                        [](const auto& why) { return contains(why.message(), "in_order"); });
}

BOOST_AUTO_TEST_SUITE_END()
