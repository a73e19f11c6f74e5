// Failures as data: plans that are built, written and read, and what they do in a run.
#include "../../examples/replicated_counter/counter_protocol.hpp"
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/fault_plan.hpp>
#include <troupe/runtime/fault_point.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <string>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(fault_plans_suite)

using namespace troupe;
using replicated_counter::counter_actor;

namespace {

auto says(std::string text) {
  return [text](const error& refused) { return contains(refused.message(), text); };
}

/// A server that adds, and a client that asks it again and again.
struct additions {
  std::vector<std::int64_t> sums;
  std::vector<std::string> problems;
  std::vector<duration> times;

  void play(simulated_world& world, int count, duration limit = 20ms) {
    world.host("server", [](simulated_host& here) {
      publish_actor(here.system(), here.spawn(replicated_counter::counter, std::optional<counter_actor>{}, false),
                    replicated_counter::port, 1s);
    });
    world.host("client", [this, count, limit](simulated_host& here) {
      const auto server = remote_actor<counter_actor>(here.system(), "server", replicated_counter::port, 1s);
      for (auto i = 0; i < count; ++i) {
        const auto begin = here.world().now();
        try {
          ask(
              here.system(), server, limit, "adding", [&](std::int64_t now) { sums.push_back(now); }, caf::add_atom_v,
              std::int64_t{1});
        } catch (const error& failed) {
          problems.push_back(to_string(failed.code()));
        }
        times.push_back(here.world().now() - begin);
        here.world().happened("asked");
      }
    });
    world.advance(1s);
  }
};

const message_pattern request{.from = "client", .to = "server", .type = "add"};
const message_pattern reply{.from = "server", .to = "client", .type = ""};

fault_plan everything() {
  fault_plan plan;
  plan.at(1500us).kill("a").restart("b").switch_off("c").occupy("d").freeze("e").thaw("f").set_clock("g", -3s);
  plan.when("elected", 2, 1ms).cut("a", "b").cut_one_way("c", "d").heal("e", "f").break_link("g", "h");
  plan.when_sent({.from = "a", .to = "b", .type = "outcome"}, 3).silence_link("a", "b").heal_everything();
  plan.drop(request, 2);
  plan.duplicate(reply);
  plan.delay(request, 3, 5ms);
  plan.fail_at("before the sync", 4);
  plan.kill_at("after the sync");
  plan.hang_at("in the sync", 2);
  plan.corrupt(reply, 4);
  plan.exhaust_memory("a", 5);
  plan.exhaust_memory("b", 1, 4096);
  plan.at(1ms).slow_link("a", "b", {.latency = 20ms, .jitter = 5ms, .bytes_per_second = 1000}).slow_link("c", "d", {});
  plan.at(2ms).fill_disk("a").slow_disk("b", {.latency = 3ms, .bytes_per_second = 1000}).slow_disk("c", {});
  plan.at(3ms).mend_disk("a").wipe_disk("b").slow_host("c", 5ms).slow_host("d", 0ms).slow_link_one_way(
      "a", "b", {.latency = 20ms, .bytes_per_second = 1000});
  return plan;
}

}  // namespace

// --- plans as data --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_plan_is_written_and_read_back_whole) {
  const auto plan = everything();
  BOOST_TEST(plan.faults.size() == 32u);
  const auto back = fault_plan::from_json(plan.to_json());
  BOOST_TEST_REQUIRE(back.faults.size() == plan.faults.size());
  for (std::size_t i = 0; i < plan.faults.size(); ++i)
    BOOST_TEST((back.faults[i] == plan.faults[i]), to_string(plan.faults[i])
                                                       << " became " << to_string(back.faults[i]));
  BOOST_TEST(to_string(plan.faults[20]) == "exhaust_memory of a at tensor 5");
  BOOST_TEST(to_string(plan.faults[21]) == "exhaust_memory of b at tensor 1 of 4096 bytes and more");
  BOOST_TEST(to_string(plan.faults[0]) == "kill a at 1.500 ms");
  BOOST_TEST(to_string(plan.faults[24]) == "fill_disk a at 2.000 ms");
  BOOST_TEST(to_string(plan.faults[25]) == "slow_disk b by 3 ms, to 1000 bytes/s at 2.000 ms");
}

BOOST_AUTO_TEST_CASE(the_example_of_the_documentation_is_a_plan) {
  const auto plan = fault_plan::from_json(R"({"faults": [
     {"do": "kill", "host": "server", "at_ms": 200},
     {"do": "cut", "host": "worker-1", "other": "chief-0",
      "when_sent": {"from": "worker-1", "to": "chief-0", "type": "outcome"}, "count": 3},
     {"do": "freeze", "host": "leader", "when": "elected", "count": 2},
     {"do": "drop", "from": "server", "to": "client", "nth": 2},
     {"do": "corrupt", "from": "server", "to": "client", "nth": 3},
     {"do": "fail_at", "point": "journal: before the sync", "nth": 1},
     {"do": "exhaust_memory", "host": "worker-1", "nth": 5}]})");
  fault_plan same;
  same.at(200ms).kill("server");
  same.when_sent({.from = "worker-1", .to = "chief-0", .type = "outcome"}, 3).cut("worker-1", "chief-0");
  same.when("elected", 2).freeze("leader");
  same.drop({.from = "server", .to = "client", .type = ""}, 2);
  same.corrupt({.from = "server", .to = "client", .type = ""}, 3);
  same.fail_at("journal: before the sync", 1);
  same.exhaust_memory("worker-1", 5);
  BOOST_TEST((plan == same));
}

BOOST_AUTO_TEST_CASE(what_is_no_plan_is_refused_with_the_place) {
  const auto refused = [](const std::string& text, const std::string& why) {
    BOOST_CHECK_EXCEPTION(fault_plan::from_json(text), invalid_argument_error, says(why));
  };
  refused("{", "no JSON");
  refused("[]", "the plan must be an object");
  refused("{}", "an array as \"faults\"");
  refused(R"({"faults": [], "seed": 1})", "an unknown key \"seed\"");
  refused(R"({"faults": [3]})", "faults[0] must be an object");
  refused(R"({"faults": [{"host": "a"}]})", "faults[0] needs a text as \"do\"");
  refused(R"({"faults": [{"do": "explode"}]})", "faults[0] does \"explode\", which is none of kill, restart");
  refused(R"({"faults": [{"do": "kill"}]})", "faults[0] needs a text as \"host\"");
  refused(R"({"faults": [{"do": "cut", "host": "a"}]})", "needs a text as \"other\"");
  refused(R"({"faults": [{"do": "slow_host", "host": "a"}]})", "as \"message_ms\"");
  refused(R"({"faults": [{"do": "exhaust_memory", "nth": 1}]})", "needs a text as \"host\"");
  refused(R"({"faults": [{"do": "exhaust_memory", "host": "a", "bytes_min": -1}]})", "as \"bytes_min\"");
  refused(R"({"faults": [{"do": "fill_disk"}]})", "needs a text as \"host\"");
  refused(R"({"faults": [{"do": "slow_disk", "host": "a", "jitter_ms": 1}]})", "unknown key \"jitter_ms\"");
  refused(R"({"faults": [{"do": "slow_disk", "host": "a", "latency_ms": -1}]})", "as \"latency_ms\"");
  refused(R"({"faults": [{"do": "kill", "host": "a", "at_ms": -1}]})", "0 to 1000000000000, as \"at_ms\"");
  refused(R"({"faults": [{"do": "kill", "host": "a", "at_ms": "soon"}]})", "\"at_ms\"");
  refused(R"({"faults": [{"do": "kill", "host": "a", "count": 0}]})", "from 1 on as \"count\"");
  refused(R"({"faults": [{"do": "kill", "host": "a", "delay_ms": 1}]})", "unknown key \"delay_ms\"");
  refused(R"({"faults": [{"do": "kill", "host": "a", "when": "x", "when_sent": {}}]})", "one of them is enough");
  refused(R"({"faults": [{"do": "kill", "host": "a", "when_sent": {}}]})", "must say \"from\"");
  BOOST_CHECK_EXCEPTION(fault_plan::from_file("/nowhere.json"), invalid_argument_error, says("/nowhere.json"));
}

BOOST_AUTO_TEST_CASE(rates_draw_the_same_faults_from_the_same_seed_each_with_its_end) {
  const fault_rates rates{
      .hosts = {"a", "b", "c"}, .faults_per_second = 50, .until = 20s, .most = 1s, .clock_jumps = 1};
  const auto plan = draw_faults(rates, 1);
  BOOST_TEST((plan == draw_faults(rates, 1)));
  BOOST_TEST((plan != draw_faults(rates, 2)));
  std::map<fault_kind, int> kinds;
  for (const auto& fault : plan.faults) {
    ++kinds[fault.what];
    BOOST_TEST((fault.at >= 0s && fault.at <= 21s));
  }
  // A thousand faults of seven kinds, more or less.
  BOOST_TEST(kinds[fault_kind::kill] > 80);
  BOOST_TEST(kinds[fault_kind::kill] + kinds[fault_kind::switch_off] == kinds[fault_kind::restart]);
  BOOST_TEST(kinds[fault_kind::freeze] == kinds[fault_kind::thaw]);
  BOOST_TEST(kinds[fault_kind::cut] + kinds[fault_kind::cut_one_way] == kinds[fault_kind::heal]);
  BOOST_TEST(kinds[fault_kind::break_link] > 80);
  BOOST_TEST(kinds[fault_kind::set_clock] > 80);
  BOOST_CHECK_EXCEPTION(draw_faults({}, 1), invalid_argument_error, says("`hosts`"));
  BOOST_CHECK_EXCEPTION(draw_faults({.hosts = {"a"}, .faults_per_second = 0}, 1), invalid_argument_error,
                        says("faults_per_second"));
  BOOST_CHECK_EXCEPTION(draw_faults({.hosts = {"a"}, .kills = 0, .freezes = 0, .power_losses = 0}, 1),
                        invalid_argument_error, says("second host"));
}

BOOST_AUTO_TEST_CASE(disks_that_fail_are_drawn_with_their_ends_when_a_rate_says_so) {
  fault_rates rates{.hosts = {"a", "b"}, .faults_per_second = 50, .until = 20s, .most = 1s};
  for (const auto& fault : draw_faults(rates, 1).faults)
    BOOST_TEST((fault.what < fault_kind::fill_disk || fault.what > fault_kind::wipe_disk), to_string(fault));
  rates.full_disks = rates.slow_disks = rates.disk_losses = 5;
  std::map<fault_kind, int> kinds;
  for (const auto& fault : draw_faults(rates, 1).faults) {
    ++kinds[fault.what];
    if (fault.what == fault_kind::slow_disk)
      BOOST_TEST((fault.slowness.latency == rates.slowness_of_disks.latency && fault.slowness.bytes_per_second > 0));
  }
  BOOST_TEST(kinds[fault_kind::fill_disk] > 80);
  BOOST_TEST(kinds[fault_kind::slow_disk] > 80);
  BOOST_TEST(kinds[fault_kind::wipe_disk] > 80);
  BOOST_TEST(kinds[fault_kind::fill_disk] + kinds[fault_kind::slow_disk] == kinds[fault_kind::mend_disk]);
  BOOST_TEST(kinds[fault_kind::wipe_disk] < kinds[fault_kind::switch_off]);
  rates.one_way_slow_links = rates.slow_hosts = 5;
  auto slow_one_way = 0;
  auto slow_hosts = 0;
  for (const auto& fault : draw_faults(rates, 1).faults) {
    if (fault.what == fault_kind::slow_host) slow_hosts += fault.time == rates.message_time ? 100 : -99;
    slow_one_way += fault.what == fault_kind::slow_link_one_way && fault.slowness == rates.slowness ? 1 : 0;
  }
  // Each has its end.
  BOOST_TEST(slow_hosts > 80);
  BOOST_TEST(slow_hosts < 200);
  BOOST_TEST(slow_one_way > 80);
  rates.full_disks = -1;
  BOOST_CHECK_EXCEPTION(draw_faults(rates, 1), invalid_argument_error, says("frequencies"));
}

BOOST_AUTO_TEST_CASE(of_spared_hosts_only_the_links_fail_in_both_directions) {
  const fault_rates rates{.hosts = {"a"}, .spared = {"z"}, .faults_per_second = 50, .until = 20s};
  std::map<std::string, int> unheard;
  for (const auto& fault : draw_faults(rates, 1).faults) {
    if (fault.what == fault_kind::cut_one_way) ++unheard[fault.host];
    BOOST_TEST((fault.host == "a" || fault.what == fault_kind::cut_one_way), to_string(fault));
    BOOST_TEST(fault.host != fault.other);
  }
  BOOST_TEST(unheard["a"] > 40);
  BOOST_TEST(unheard["z"] > 40);
  auto twice = rates;
  twice.spared = {"a"};
  BOOST_CHECK_EXCEPTION(draw_faults(twice, 1), invalid_argument_error, says("twice"));
}

BOOST_AUTO_TEST_CASE(who_looks_on_changes_nothing) {
  const auto course = [](bool records, fault_plan plan) {
    additions all;
    simulated_world world{{.seed = 3, .plan = std::move(plan), .records_messages = records, .traces_steps = true}};
    all.play(world, 20);
    return world.trace();
  };
  fault_plan waits;
  waits.when_sent({.from = "nobody", .to = {}, .type = {}}).kill("server");
  const auto alone = course(false, {});
  BOOST_TEST(course(true, {}) == alone, boost::test_tools::per_element());
  BOOST_TEST(course(false, waits) == alone, boost::test_tools::per_element());
}

// --- what they do ---------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(without_a_plan_all_additions_are_answered) {
  additions all;
  simulated_world world{{.seed = 1}};
  all.play(world, 5);
  BOOST_TEST(all.sums == (std::vector<std::int64_t>{1, 2, 3, 4, 5}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_lost_request_and_a_lost_reply_are_different_failures) {
  for (const auto is_request : {true, false}) {
    additions all;
    fault_plan plan;
    plan.drop(is_request ? request : reply, 2);
    simulated_world world{{.seed = 1, .plan = plan}};
    all.play(world, 4);
    BOOST_TEST(all.problems == std::vector<std::string>{"deadline_exceeded"}, boost::test_tools::per_element());
    // Nobody has added what was lost on its way there.
    BOOST_TEST(all.sums == (is_request ? std::vector<std::int64_t>{1, 2, 3} : std::vector<std::int64_t>{1, 3, 4}),
               boost::test_tools::per_element());
    const auto coverage = world.coverage();
    BOOST_TEST_REQUIRE(coverage.size() == 1u);
    BOOST_TEST(coverage[0].fired == 1u);
    BOOST_TEST(coverage[0].reached == 4u);
  }
}

BOOST_AUTO_TEST_CASE(a_request_that_comes_twice_is_added_twice) {
  additions all;
  fault_plan plan;
  plan.duplicate(request, 2);
  simulated_world world{{.seed = 1, .plan = plan}};
  all.play(world, 3);
  BOOST_TEST(all.problems.empty());
  BOOST_TEST(all.sums == (std::vector<std::int64_t>{1, 2, 4}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_reply_that_is_late_comes_while_the_next_request_runs) {
  additions all;
  fault_plan plan;
  plan.delay(reply, 2, 30ms);
  simulated_world world{{.seed = 1, .plan = plan}};
  all.play(world, 4);
  BOOST_TEST(all.problems == std::vector<std::string>{"deadline_exceeded"}, boost::test_tools::per_element());
  BOOST_TEST(all.sums == (std::vector<std::int64_t>{1, 3, 4}), boost::test_tools::per_element());
  additions patient;
  simulated_world other{{.seed = 1, .plan = plan}};
  patient.play(other, 4, 100ms);
  BOOST_TEST(patient.problems.empty());
  BOOST_TEST((patient.times[1] > 30ms && patient.times[1] < 32ms));
}

BOOST_AUTO_TEST_CASE(faults_happen_at_their_times_and_when_their_conditions_hold) {
  for (const std::string how : {"at", "when", "when_sent"}) {
    additions all;
    fault_plan plan;
    if (how == "at") plan.at(20ms).freeze("server");
    if (how == "when") plan.when("asked", 3).freeze("server");
    if (how == "when_sent") plan.when_sent(request, 4).freeze("server");
    plan.at(500ms).thaw("server");
    simulated_world world{{.seed = 1, .plan = plan}};
    all.play(world, 100, 50ms);
    BOOST_TEST(!all.problems.empty(), how);
    BOOST_TEST((how == "at" || all.sums.size() >= 3));
    if (how != "at") BOOST_TEST(all.sums[2] == 3);
    if (how != "at") BOOST_TEST(all.problems.size() >= 6u);
  }
}

BOOST_AUTO_TEST_CASE(a_fault_that_finds_nothing_to_do_is_noted_and_an_unknown_host_is_an_error) {
  fault_plan plan;
  plan.at(1ms).thaw("server").restart("server");
  additions all;
  simulated_world world{{.seed = 1, .plan = plan}};
  all.play(world, 1);
  BOOST_TEST(all.sums.size() == 1u);
  auto notes = 0;
  for (const auto& line : world.trace())
    if (contains(line, "not done: ")) ++notes;
  BOOST_TEST(notes == 2);
  BOOST_TEST(world.coverage()[0].fired == 0u);
  fault_plan wrong;
  wrong.at(1ms).kill("sever");
  simulated_world other{{.seed = 1, .plan = wrong}};
  BOOST_CHECK_EXCEPTION(all.play(other, 1), invalid_argument_error, says("\"sever\" is no host of this simulation"));
}

BOOST_AUTO_TEST_CASE(a_fault_point_fails_or_kills_by_plan_and_is_counted) {
  for (const std::string how : {"no plan", "fail", "kill"}) {
    fault_plan plan;
    if (how == "fail") plan.fail_at("in the loop", 3);
    if (how == "kill") plan.kill_at("in the loop", 3);
    auto rounds = 0;
    simulated_world world{{.seed = 1, .plan = plan}};
    world.host("worker", [&](simulated_host&) {
      for (auto i = 0; i < 5; ++i) {
        TROUPE_FAULT_POINT("in the loop");
        ++rounds;
        sleep_for(1ms);
      }
    });
    world.advance(1s);
    BOOST_TEST(rounds == (how == "no plan" ? 5 : 2));
    BOOST_TEST(world.running("worker") == (how == "no plan"));
    if (how == "fail") BOOST_TEST(contains(world.end_of("worker")->render(), "the fault point \"in the loop\" fails"));
    if (how == "kill") BOOST_TEST(!world.end_of("worker").has_value());
    BOOST_TEST(world.coverage().back().what == "the point \"in the loop\"");
    BOOST_TEST(world.coverage().back().reached == (how == "no plan" ? 5u : 3u));
  }
  // Outside of a simulation it is nothing.
  TROUPE_FAULT_POINT("in the loop");
}

BOOST_AUTO_TEST_CASE(a_closure_that_never_returns_ends_at_its_limit_and_its_worker_goes_on) {  // F-2
  fault_plan plan;
  plan.hang_at("in a closure", 1);
  simulation cluster{{.seed = 1, .size = {.workers = 1, .servers = 0}, .plan = plan}};
  cluster.run_until_ready();
  const auto work = [](int x) {
    TROUPE_FAULT_POINT("in a closure");
    return x;
  };
  const auto hangs = cluster.schedule({.limit = 5s}, work, 1);
  const auto later = cluster.schedule({.limit = 60s}, work, 2);
  const auto begin = cluster.now();
  BOOST_CHECK_THROW(cluster.fetch(hangs), deadline_exceeded_error);
  BOOST_TEST((cluster.now() - begin >= 5s && cluster.now() - begin < 6s));
  const auto errors = cluster.join();
  BOOST_TEST(cluster.run_until([&] { return errors.ended(); }, 10s));
  BOOST_TEST(cluster.fetch(later) == 2);
  BOOST_TEST(cluster.running(worker_task(0)));
}

BOOST_AUTO_TEST_CASE(a_point_in_a_handler_can_not_hang) {
  fault_plan plan;
  plan.hang_at("in a handler");
  simulated_world world{{.seed = 1, .plan = plan}};
  std::string told;
  world.host("server", [&](simulated_host& here) {
    const auto actor = here.spawn([&](caf::event_based_actor*) -> caf::behavior {
      return {[&](caf::get_atom) {
        try {
          TROUPE_FAULT_POINT("in a handler");
        } catch (const failed_precondition_error& refused) {
          told = refused.message();
        }
      }};
    });
    caf::anon_send(actor, caf::get_atom_v);
  });
  world.advance(1s);
  BOOST_TEST(contains(told, "freeze the host instead"), told);
}

BOOST_AUTO_TEST_CASE(a_slow_link_is_late_and_narrow_until_it_heals) {
  const auto times = [](fault_plan plan) {
    std::vector<duration> result;
    simulated_world world{{.seed = 1, .plan = std::move(plan)}};
    world.host("primary", [](simulated_host& here) {
      const auto actor = here.spawn([](caf::event_based_actor*) -> caf::behavior {
        return {[](const std::string& text) { return static_cast<std::uint64_t>(text.size()); }};
      });
      publish_actor(here.system(), actor, 7000, 1s);
    });
    world.host("client", [&](simulated_host& here) {
      const auto found = remote_actor<caf::actor>(here.system(), "primary", 7000, 10s);
      const auto ask_for = [&](std::size_t bytes) {
        const auto begin = world.now();
        ask(
            here.system(), found, 1min, "counting bytes", [](std::uint64_t) {}, std::string(bytes, 'x'));
        result.push_back(world.now() - begin);
      };
      ask_for(10);
      ask_for(100'000);
      sleep_for(std::max<duration>(20s - world.now(), 0s));
      ask_for(100'000);
    });
    world.advance(1min);
    return result;
  };
  const auto usual = times({});
  BOOST_TEST_REQUIRE(usual.size() == 3u);
  for (const auto each : usual) BOOST_TEST((each < 1ms));
  fault_plan plan;
  plan.at(0ms).slow_link("client", "primary", {.latency = 50ms, .jitter = 10ms, .bytes_per_second = 100'000});
  plan.at(20s).heal("client", "primary");
  const auto slow = times(plan);
  BOOST_TEST_REQUIRE(slow.size() == 3u);
  BOOST_TEST((slow[0] >= 100ms && slow[0] < 200ms));
  BOOST_TEST((slow[1] >= 1100ms && slow[1] < 1300ms));
  BOOST_TEST((slow[2] < 1ms));
}

BOOST_AUTO_TEST_CASE(of_a_link_that_is_slow_one_way_only_that_way_is_late) {
  for (const std::string slow : {"questions", "answers"}) {
    const auto is_question = slow == "questions";
    fault_plan plan;
    plan.at(0ms).slow_link_one_way(is_question ? "client" : "server", is_question ? "server" : "client",
                                   {.latency = 50ms});
    plan.at(500ms).heal("client", "server");
    std::vector<duration> questions;
    std::vector<duration> answers;
    simulated_world world{{.seed = 1, .plan = plan}};
    duration sent{};
    duration arrived{};
    world.host("server", [&](simulated_host& here) {
      const auto actor = here.spawn([&](caf::event_based_actor*) -> caf::behavior {
        return {[&](caf::get_atom) {
          arrived = world.now();
          return std::uint64_t{1};
        }};
      });
      publish_actor(here.system(), actor, 7000, 1s);
    });
    world.host("client", [&](simulated_host& here) {
      const auto found = remote_actor<caf::actor>(here.system(), "server", 7000, 10s);
      for (;;) {
        sent = world.now();
        ask(
            here.system(), found, 1min, "asking", [](std::uint64_t) {}, caf::get_atom_v);
        questions.push_back(arrived - sent);
        answers.push_back(world.now() - arrived);
        sleep_for(100ms);
      }
    });
    world.advance(1s);
    BOOST_TEST_REQUIRE(questions.size() > 5u);
    const auto& late = is_question ? questions : answers;
    const auto& usual = is_question ? answers : questions;
    BOOST_TEST((late[0] >= 50ms && late[0] < 51ms));
    for (const auto each : usual) BOOST_TEST((each < 1ms), slow);
    BOOST_TEST((late.back() < 1ms));
  }
}

BOOST_AUTO_TEST_CASE(a_cluster_has_plans_too) {  // C-1
  fault_plan plan;
  plan.when_sent({.from = "worker-0", .to = "chief-0", .type = ""}, 20).kill("worker-0");
  simulation cluster{{.seed = 1, .size = {.workers = 2, .servers = 0}, .plan = plan}};
  cluster.run_until_ready();
  std::vector<remote_value<int>> values;
  for (int i = 0; i < 50; ++i)
    values.push_back(cluster.schedule(
        [](int x) {
          sleep_for(5ms);
          return x;
        },
        i));
  for (int i = 0; i < 50; ++i) BOOST_TEST(cluster.fetch(values[static_cast<std::size_t>(i)]) == i);
  BOOST_TEST(!cluster.running(worker_task(0)));
}

BOOST_AUTO_TEST_SUITE_END()
