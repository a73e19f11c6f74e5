// The search for runs that go wrong: what is found is shrunk, named and found again.
#include "exploration_environment.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/fault_point.hpp>
#include <troupe/runtime/simulation_test.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <unistd.h>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(exploration_suite)

using namespace troupe;

BOOST_FIXTURE_TEST_CASE(a_primary_that_acknowledges_too_early_is_found_within_a_second_and_shrunk_to_one_fault,
                        environment) {
  const auto begin = std::chrono::steady_clock::now();
  const auto result = explore(wrong, counting(1000));
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 10s));
  BOOST_TEST_REQUIRE(result.found.has_value());
  const auto& found = *result.found;
  BOOST_TEST_MESSAGE(found.report());
  BOOST_TEST(found.runs == result.runs);
  BOOST_TEST(contains(found.what, "an acknowledged addition is lost"));
  // Only a death loses what is under way.
  BOOST_TEST_REQUIRE(found.plan.faults.size() == 1u);
  BOOST_TEST((found.plan.faults[0].what == fault_kind::kill || found.plan.faults[0].what == fault_kind::switch_off));
  BOOST_TEST(found.plan.faults[0].host == "primary");
  BOOST_TEST(found.drawn_choices < found.choices);
  BOOST_TEST(contains(found.report(), "again by TROUPE_SEED=" + std::to_string(found.seed) + " TROUPE_PLAN=plan.json"));
  BOOST_TEST(contains(found.report(), "violated: an acknowledged addition is lost"));
}

BOOST_FIXTURE_TEST_CASE(what_was_found_is_drawn_with_its_messages, environment) {
  const auto found = explore(wrong, counting(1000)).found.value();
  const auto& drawn = found.picture;
  BOOST_TEST(drawn.hosts == (std::vector<std::string>{"backup", "primary", "client"}),
             boost::test_tools::per_element());
  BOOST_TEST(drawn.events.size() == found.trace.size());
  auto additions = 0;
  for (const auto& each : drawn.messages)
    if (each.from == "client" && each.what == "add, 1") {
      BOOST_TEST((each.arrives > each.sent));
      BOOST_TEST(each.to == "primary");
      ++additions;
    }
  BOOST_TEST(additions > 0);
  const auto mermaid = to_mermaid(drawn);
  BOOST_TEST_MESSAGE(mermaid);
  BOOST_TEST(mermaid.starts_with("sequenceDiagram\n  participant h0 as backup\n"));
  BOOST_TEST(contains(mermaid, "h2->>h1: add, 1\n"));
  BOOST_TEST(contains(mermaid, "h1->>h0: put, 1\n"));
  BOOST_TEST(contains(mermaid, "kill primary"));
  const auto html = to_html(drawn, "a <lost> addition");
  BOOST_TEST(contains(html, "<title>a &lt;lost&gt; addition</title>"));
  BOOST_TEST(contains(html, "violated: an acknowledged addition is lost"));
  BOOST_TEST(contains(html, "</svg>"));
  if (const auto* const folder = std::getenv("TROUPE_TEST_PICTURES"))
    std::ofstream{std::string{folder} + "/counter.html"} << html;
}

BOOST_FIXTURE_TEST_CASE(what_was_found_fails_again_with_what_its_report_says, environment) {
  const auto found = explore(wrong, counting(1000)).found.value();
  const auto path = std::filesystem::temp_directory_path() / ("troupe-plan-" + std::to_string(::getpid()) + ".json");
  std::ofstream{path} << found.plan.to_json();
  set("TROUPE_SEED", std::to_string(found.seed));
  set("TROUPE_PLAN", path.string());
  set("TROUPE_DRAWN_CHOICES", std::to_string(found.drawn_choices));
  const auto again = explore(wrong, counting(1000)).found.value();
  std::filesystem::remove(path);
  BOOST_TEST(again.what == found.what);
  BOOST_TEST(again.trace == found.trace, boost::test_tools::per_element());
  BOOST_TEST(again.decision == found.decision);
  BOOST_TEST(again.shrink_runs == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_was_found_is_kept_in_a_folder_and_fails_again_with_what_is_in_it, environment) {
  const auto folder = std::filesystem::temp_directory_path() / ("troupe-found-" + std::to_string(::getpid()));
  const std::shared_ptr<void> removed{nullptr, [&](void*) { std::filesystem::remove_all(folder); }};
  set("TROUPE_FOUND", folder.string());
  BOOST_TEST(!explore(right, counting(10)).found.has_value());
  const auto content = [&](const char* name) {
    std::ifstream file{folder / name};
    return std::string{std::istreambuf_iterator<char>{file}, {}};
  };
  BOOST_TEST(contains(content("coverage.txt"), "kill primary\n"));
  BOOST_TEST(!std::filesystem::exists(folder / "report.txt"));
  const auto found = explore(wrong, counting(1000)).found.value();
  BOOST_TEST(content("report.txt") == found.report());
  BOOST_TEST(contains(content("run.html"), "</svg>"));
  BOOST_TEST(content("run.mmd").starts_with("sequenceDiagram"));
  BOOST_TEST((fault_plan::from_file((folder / "plan.json").string()) == found.plan));
  std::istringstream lines{content("environment")};
  for (std::string line; std::getline(lines, line);) {
    const auto end = line.find('=');
    set(line.substr(0, end).c_str(), line.substr(end + 1));
  }
  BOOST_TEST((explore(wrong, counting(1000)).found.value().trace == found.trace));
  set("TROUPE_FOUND", "/proc/nowhere");
  BOOST_CHECK_EXCEPTION(explore(wrong, counting(1000)), failed_precondition_error, says("/proc/nowhere"));
}

BOOST_FIXTURE_TEST_CASE(the_mended_primary_survives, environment) {
  const auto result = explore(right, counting(500));
  BOOST_TEST(result.runs == 500u);
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
}

BOOST_FIXTURE_TEST_CASE(a_kill_at_each_message_finds_it_without_any_luck, environment) {
  for (const auto strategy : {search_strategy::evenly, search_strategy::by_rank}) {
    const exploration_options options{.strategy = strategy};
    const auto found = explore_every_message(wrong, {"backup", "primary"}, std::nullopt, options);
    BOOST_TEST_REQUIRE(found.found.has_value());
    BOOST_TEST(found.found->plan.faults.size() == 1u);
    BOOST_TEST(found.found->plan.faults[0].host == "primary");
    BOOST_TEST(contains(found.found->report(), "kill primary when message from primary"));
    // Each of the twenty acknowledgements is a message, and copies are.
    const auto good = explore_every_message(right, {"primary"}, 5ms, options);
    BOOST_TEST(!good.found.has_value());
    BOOST_TEST(good.runs > 40u);
    BOOST_TEST(good.runs < 100u);
  }
}

BOOST_FIXTURE_TEST_CASE(few_deviations_from_the_order_find_it_and_the_fewest_are_told, environment) {
  // Two hosts add one by a read and a write, one of them with a pause in between: together they may read the same.
  const scenario together = [](simulated_world& world) {
    auto& value = world.keep<int>(0);
    auto& ended = world.keep<int>(0);
    for (const std::string name : {"first", "second"})
      world.host(name, [&](simulated_host& here) {
        const auto counter =
            here.spawn(replicated_counter::counter, std::optional<replicated_counter::counter_actor>{}, false);
        const auto yield = [&] {
          ask(
              here.system(), counter, 1s, "yielding", [](std::int64_t) {}, caf::get_atom_v);
        };
        yield();
        const auto seen = value;
        if (here.name() == "second") yield();
        value = seen + 1;
        if (++ended == 2) here.world().require(value == 2, "an addition is lost");
      });
    world.advance(1s);
  };
  const auto found = explore_deviations(together, 3).found;
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST_MESSAGE(found->report());
  BOOST_TEST_REQUIRE(found->deviations.has_value());
  BOOST_TEST(found->deviations->size() <= 3u);
  BOOST_TEST(contains(found->reproduction(), "TROUPE_DEVIATIONS="));
  std::string text;
  for (const auto& [choice, passed_over] : *found->deviations)
    text += (text.empty() ? "" : ",") + std::to_string(choice) + ":" + std::to_string(passed_over);
  set("TROUPE_SEED", "1");
  set("TROUPE_DEVIATIONS", text);
  const auto again = explore(together).found;
  BOOST_TEST_REQUIRE(again.has_value());
  BOOST_TEST(again->trace == found->trace, boost::test_tools::per_element());
  for (const std::string wrong : {"3-4", "", "12", "12:", ":1", "0:1", "12:0", "-1:1", "12:-1", "12:1,", ",12:1",
                                  "12:1 ", "12:1,,13:1", "12:1:1", "99999999999999999999:1", "None"}) {
    set("TROUPE_DEVIATIONS", wrong);
    BOOST_CHECK_EXCEPTION(explore(together), invalid_argument_error, says("TROUPE_DEVIATIONS=\"" + wrong + "\": \""));
    BOOST_CHECK_EXCEPTION(explore(together), invalid_argument_error, says("must be the number of a choice"));
  }
  set("TROUPE_DEVIATIONS", "12:1,12:2");
  BOOST_CHECK_EXCEPTION(explore(together), invalid_argument_error, says("choice 12 is there twice"));
}

BOOST_FIXTURE_TEST_CASE(a_failure_without_any_deviation_fails_again_in_order, environment) {
  const scenario fails = [](simulated_world& world) {
    world.require(world.options().choice != step_choice::in_order || !world.options().deviations.empty(), "in order");
  };
  const auto found = explore_deviations(fails, 1).found.value();
  BOOST_TEST(contains(found.report(), "in order\nfound in run 1"));
  BOOST_TEST(found.reproduction() == "TROUPE_SEED=1 TROUPE_DEVIATIONS=none");
  set("TROUPE_SEED", "1");
  set("TROUPE_DEVIATIONS", "none");
  BOOST_TEST(explore(fails).found.has_value());
  set("TROUPE_DEVIATIONS", "1:1");
  BOOST_TEST(!explore(fails).found.has_value());
}

BOOST_FIXTURE_TEST_CASE(a_small_world_is_searched_exhaustively, environment) {
  // Two hosts whose main functions do one thing each: there are two orders of that, and a few more of how they begin.
  std::set<std::string> orders;
  const scenario two = [&](simulated_world& world) {
    std::string order;
    for (const std::string name : {"a", "b"}) world.host(name, [&order, name](simulated_host&) { order += name; });
    world.advance(1s);
    orders.insert(order);
  };
  const auto result = explore_deviations(two, std::numeric_limits<std::size_t>::max());
  BOOST_TEST(result.is_complete);
  BOOST_TEST(orders == (std::set<std::string>{"ab", "ba"}), boost::test_tools::per_element());
  BOOST_TEST(!explore_deviations(two, 100, {.runs = 2}).is_complete);
}

BOOST_FIXTURE_TEST_CASE(what_no_world_controls_is_found_by_two_runs, environment) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) BOOST_TEST(!find_difference(wrong, {.seed = seed}).has_value());
  auto calls = 0;
  const scenario forgets_nothing = [&](simulated_world& world) {
    world.host("host", [&](simulated_host& here) {
      sleep_for(1ms);
      here.world().note("this is call " + std::to_string(++calls));
    });
    world.advance(1s);
  };
  const auto difference = find_difference(forgets_nothing);
  BOOST_TEST_REQUIRE(difference.has_value());
  BOOST_TEST(contains(*difference, "two runs of seed 1 differ after "), *difference);
  BOOST_TEST(contains(*difference, "first:     0.001000000 s  this is call 1\n"), *difference);
  BOOST_TEST(contains(*difference, "second:    0.001000000 s  this is call 2\n"), *difference);
}

namespace {

/// What this process and those that it forks write to stderr meanwhile.
std::string stderr_of(const std::function<void()>& work) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::tmpfile(), std::fclose};
  std::fflush(stderr);
  const auto before = ::dup(STDERR_FILENO);
  ::dup2(::fileno(file.get()), STDERR_FILENO);
  work();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  std::string text(4096, '\0');
  std::rewind(file.get());
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  return text;
}

/// How the run of seed 7 ends its process, and what is said there.
std::pair<failure, std::string> crash_of_seed_7(const std::function<void(simulated_host&)>& crashes) {
  std::optional<failure> found;
  const auto text = stderr_of([&] {
    found = explore(
                [&](simulated_world& world) {
                  world.host("server", [&](simulated_host& here) {
                    if (world.options().seed == 7) crashes(here);
                  });
                  world.advance(1s);
                },
                {.runs = 20, .world = {.step_limit = 100ms}, .processes = 2})
                .found;
  });
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(found->seed == 7u);
  return {*found, text};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_run_that_crashes_where_a_test_framework_catches_signals_is_a_finding, environment) {
  const auto [found, text] = crash_of_seed_7([](simulated_host&) { std::abort(); });
  BOOST_TEST(contains(found.what, "the run ended its process: signal 6"), found.what);
  BOOST_TEST(contains(text, "SIGABRT ends this process"), text);
}

BOOST_FIXTURE_TEST_CASE(a_step_that_computes_for_ever_ends_its_process, environment) {
  const auto [found, text] = crash_of_seed_7([](simulated_host&) {
    std::atomic<bool> comes{false};
    while (!comes) {
    }
  });
  BOOST_TEST(contains(found.what, "the run ended its process: signal 6"), found.what);
  BOOST_TEST(contains(text, "with seed 7 a step of the simulation on server has not ended within 100 ms"), text);
}

BOOST_FIXTURE_TEST_CASE(a_step_that_blocks_its_thread_ends_its_process, environment) {
  const auto [found, text] = crash_of_seed_7([](simulated_host& here) {
    auto& shared = here.world().keep<std::mutex>();
    here.start_program([&] {
      const std::scoped_lock lock{shared};
      sleep_for(10ms);
    });
    sleep_for(5ms);
    const std::scoped_lock lock{shared};
  });
  BOOST_TEST(contains(found.what, "the run ended its process: signal 6"), found.what);
  BOOST_TEST(contains(text, "a std::mutex that a fiber holds"), text);
}

BOOST_AUTO_TEST_CASE(many_steps_may_take_longer_together_than_one_may) {
  simulated_world world{{.step_limit = 100ms}};
  auto done = false;
  world.host("server", [&](simulated_host&) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < 500ms) sleep_for(1ms);
    done = true;
  });
  BOOST_TEST(world.run_until([&] { return done; }, 10h));
  // What a test does between steps takes as long as it likes.
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < 500ms) {
  }
  BOOST_CHECK_EXCEPTION((simulated_world{{.step_limit = -1ms}}), invalid_argument_error,
                        says("step_limit is negative"));
}

BOOST_FIXTURE_TEST_CASE(several_processes_share_a_search_and_one_that_crashes_is_a_finding, environment) {
  // Of these seeds one fails: with more, the processes' speed would decide which is found first.
  auto options = counting(25);
  options.processes = 3;
  const auto found = explore(wrong, options).found;
  BOOST_TEST_REQUIRE(found.has_value());
  BOOST_TEST(contains(found->what, "an acknowledged addition is lost"));
  BOOST_TEST(found->seed == 25u);
  BOOST_TEST(found->plan.faults.size() == 1u);
  auto mended = counting(30);
  mended.processes = 0;
  const auto good = explore(right, mended);
  BOOST_TEST(good.runs == 30u);
  BOOST_TEST(!good.found.has_value());
  const auto crash = explore(
      [](simulated_world& world) {
        if (world.options().seed == 7) std::raise(SIGKILL);
      },
      {.runs = 20, .processes = 2});
  BOOST_TEST_REQUIRE(crash.found.has_value());
  BOOST_TEST(crash.found->seed == 7u);
  BOOST_TEST(contains(crash.found->report(), "the run ended its process: signal 9"));
}

BOOST_FIXTURE_TEST_CASE(a_search_says_how_often_each_fault_fired_and_was_survived_and_what_it_never_reached,
                        environment) {
  auto options = counting(40);
  options.plan.drop({.from = "client", .to = "primary", .type = "add"}, 2);
  options.plan.drop({.from = "client", .to = "primary", .type = "subtract"}, 2);
  options.plan.fail_at("nowhere in this program", 1);
  // When it is dead already, nothing happens.
  options.plan.at(1ms).kill("backup").kill("backup");
  options.plan.at(1h).freeze("client");
  const scenario counted = [](simulated_world& world) {
    replicated_counter::play(world, false);
    world.start_program("client", [] { TROUPE_FAULT_POINT("at the end"); });
    world.advance(1ms);
  };
  const auto result = explore(counted, options);
  BOOST_TEST(!result.found.has_value());
  const auto site = [&](const std::string& name) {
    for (const auto& each : result.coverage)
      if (each.site == name) return each;
    BOOST_ERROR("there is no " << name << " in:\n" << result.describe_coverage());
    return site_coverage{};
  };
  const auto is = [](const site_coverage& of, std::array<std::uint64_t, 4> expected) {
    BOOST_TEST((std::array{of.runs, of.reached, of.fired, of.survived}) == expected, boost::test_tools::per_element());
  };
  is(site("kill backup"), {40, 80, 40, 40});
  is(site("freeze client"), {40, 0, 0, 0});
  is(site("drop subtract message from client to primary 2"), {40, 0, 0, 0});
  const auto lost = site("drop add message from client to primary 2");
  // Some clients have lost the primary before.
  BOOST_TEST((lost.fired > 0 && lost.fired < 40));
  BOOST_TEST(lost.reached > lost.fired);
  // Each seed draws its own.
  const auto drawn = site("freeze primary");
  BOOST_TEST((drawn.runs > 0 && drawn.runs < 40));
  BOOST_TEST((drawn.fired > 0 && drawn.fired <= drawn.reached && drawn.survived == drawn.fired));
  BOOST_TEST(site("the point \"at the end\"").reached == 40u);
  const auto text = result.describe_coverage();
  BOOST_TEST(contains(text, "40        80        40        40  kill backup\n"), text);
  BOOST_TEST(contains(text, "the point \"at the end\" in 40 runs: reached 40 times\n"), text);
  BOOST_TEST(text.ends_with("never reached:\n"
                            "  drop subtract message from client to primary 2\n"
                            "  fail_at \"nowhere in this program\" 1\n"
                            "  freeze client\n"),
             text);
  // Several processes have seen the same.
  options.processes = 3;
  BOOST_TEST(explore(counted, options).describe_coverage() == text);
  BOOST_TEST(explore([](simulated_world&) {}).describe_coverage() == "");
}

BOOST_FIXTURE_TEST_CASE(what_fires_in_a_run_that_fails_is_not_survived, environment) {
  exploration_options options{.runs = 10};
  options.plan.at(1ms).kill("server");
  const auto result = explore(
      [](simulated_world& world) {
        world.host("server", [](simulated_host&) {});
        world.advance(2ms);
        world.require(world.options().seed < 4, "it is alive");
      },
      options);
  BOOST_TEST(result.runs == 4u);
  BOOST_TEST_REQUIRE(result.coverage.size() == 1u);
  BOOST_TEST(result.coverage[0].runs == 4u);
  BOOST_TEST(result.coverage[0].fired == 4u);
  BOOST_TEST(result.coverage[0].survived == 3u);
}

BOOST_FIXTURE_TEST_CASE(ranks_let_one_side_be_far_ahead_of_all_others, environment) {
  // Twenty questions of one host answered before the first of another one: an even choice hardly ever makes that.
  const scenario race = [](simulated_world& world) {
    auto& answers = world.keep<std::array<int, 2>>();
    for (std::size_t i = 0; i < answers.size(); ++i)
      world.host("host " + std::to_string(i), [&answers, i](simulated_host& here) {
        const auto counter =
            here.spawn(replicated_counter::counter, std::optional<replicated_counter::counter_actor>{}, false);
        while (answers[i] < 20) {
          ask(
              here.system(), counter, 1s, "counting", [](std::int64_t) {}, caf::get_atom_v);
          ++answers[i];
          here.world().require(i == 0 || answers[0] > 0 || answers[1] < 20, "far ahead");
        }
      });
    world.advance(1s);
  };
  const auto ranked = explore(race, {.strategy = search_strategy::by_rank, .runs = 20});
  BOOST_TEST_REQUIRE(ranked.found.has_value());
  BOOST_TEST(!explore(race, {.strategy = search_strategy::evenly, .runs = 20}).found.has_value());
  // S-1 holds for ranks, too.
  const exploration_options again{.strategy = search_strategy::by_rank, .first_seed = ranked.found->seed, .runs = 1};
  BOOST_TEST((explore(race, again).found->trace == ranked.found->trace));
}

BOOST_FIXTURE_TEST_CASE(the_environment_chooses_seeds_and_is_read_strictly, environment) {
  std::vector<std::uint64_t> seeds;
  const scenario notes = [&](simulated_world& world) { seeds.push_back(world.options().seed); };
  set("TROUPE_SEEDS", "3");
  BOOST_TEST(explore(notes).runs == 3u);
  BOOST_TEST(seeds == (std::vector<std::uint64_t>{1, 2, 3}), boost::test_tools::per_element());
  seeds.clear();
  set("TROUPE_SEED", "77");
  BOOST_TEST(explore(notes).runs == 1u);
  BOOST_TEST(seeds == std::vector<std::uint64_t>{77}, boost::test_tools::per_element());
  set("TROUPE_SEED", "7x");
  BOOST_CHECK_EXCEPTION(explore(notes), invalid_argument_error, says("TROUPE_SEED=\"7x\""));
  ::unsetenv("TROUPE_SEED");
  seeds.clear();
  set("TROUPE_FIRST_SEED", "41");
  BOOST_TEST(explore(notes).runs == 3u);
  BOOST_TEST(seeds == (std::vector<std::uint64_t>{41, 42, 43}), boost::test_tools::per_element());
  for (const auto* const name : {"TROUPE_SEED", "TROUPE_SEEDS", "TROUPE_FIRST_SEED", "TROUPE_DRAWN_CHOICES"}) {
    const environment only_this;
    for (const std::string wrong : {"", "x", "7x", " 7", "-1", "1.5", "18446744073709551616"}) {
      set(name, wrong);
      BOOST_CHECK_EXCEPTION(explore(notes), invalid_argument_error,
                            says(std::string{name} + "=\"" + wrong + "\": it must be a whole number"));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(what_repeats_the_run_of_a_seed_is_refused_without_one, environment) {
  auto runs = 0;
  const scenario counts = [&](simulated_world&) { ++runs; };
  const auto path = std::filesystem::temp_directory_path() / ("troupe-plan-" + std::to_string(::getpid()) + ".json");
  std::ofstream{path} << R"({"faults": []})";
  const std::shared_ptr<void> removed{nullptr, [&](void*) { std::filesystem::remove(path); }};
  const std::array<std::pair<const char*, std::string>, 3> all{
      {{"TROUPE_PLAN", path.string()}, {"TROUPE_DRAWN_CHOICES", "3"}, {"TROUPE_DEVIATIONS", "12:1"}}};
  for (const auto& [name, value] : all) {
    const environment only_this;
    set(name, value);
    const auto refusal = std::string{name} + "=\"" + value + "\" without TROUPE_SEED";
    BOOST_CHECK_EXCEPTION(explore(counts), invalid_argument_error, says(refusal));
    BOOST_CHECK_EXCEPTION(explore(counts), invalid_argument_error, says("Set TROUPE_SEED to"));
    // These seeds are many.
    set("TROUPE_SEEDS", "3");
    BOOST_CHECK_EXCEPTION(explore(counts), invalid_argument_error, says(refusal));
    BOOST_CHECK_EXCEPTION(explore(counts, {.processes = 2}), invalid_argument_error, says(refusal));
    BOOST_CHECK_EXCEPTION(explore_every_message(counts, {"a"}, std::nullopt), invalid_argument_error, says(refusal));
    BOOST_CHECK_EXCEPTION(explore_deviations(counts, 1), invalid_argument_error, says(refusal));
    BOOST_TEST(runs == 0);
    set("TROUPE_SEED", "3");
    explore(counts);
    BOOST_TEST(std::exchange(runs, 0) == 1);
  }
  set("TROUPE_SEED", "3");
  for (const std::string wrong : {"/nowhere/plan.json", ""}) {
    set("TROUPE_PLAN", wrong);
    BOOST_CHECK_EXCEPTION(explore(counts), invalid_argument_error, says("can't be read from \"" + wrong + "\""));
  }
}

BOOST_FIXTURE_TEST_CASE(a_search_without_any_run_is_refused, environment) {
  auto runs = 0;
  const scenario counts = [&](simulated_world&) { ++runs; };
  const exploration_options none{.runs = 0};
  const auto is_refused = says("exploration_options::runs is 0");
  BOOST_CHECK_EXCEPTION(explore(counts, none), invalid_argument_error, is_refused);
  BOOST_CHECK_EXCEPTION(explore(counts, {.runs = 0, .processes = 2}), invalid_argument_error, is_refused);
  BOOST_CHECK_EXCEPTION(explore_deviations(counts, 1, none), invalid_argument_error, is_refused);
  BOOST_CHECK_EXCEPTION(explore_every_message(counts, {"a"}, std::nullopt, none), invalid_argument_error, is_refused);
  BOOST_CHECK_EXCEPTION(explore_every_message(counts, {}, std::nullopt), invalid_argument_error, says("no hosts"));
  BOOST_TEST(runs == 0);
  // Seeds that have failed before are enough.
  BOOST_TEST(explore(counts, {.known_seeds = {4, 5}, .runs = 0}).runs == 2u);
  set("TROUPE_SEEDS", "0");
  BOOST_CHECK_EXCEPTION(explore(counts), invalid_argument_error,
                        says("TROUPE_SEEDS=\"0\": it must be a whole number, 1 to 2^64 - 1"));
  BOOST_CHECK_EXCEPTION(explore(counts, {.known_seeds = {4, 5}}), invalid_argument_error, says("TROUPE_SEEDS=\"0\""));
}

BOOST_FIXTURE_TEST_CASE(a_seed_that_has_failed_once_runs_first_from_then_on, environment) {
  const auto path = (std::filesystem::temp_directory_path() / ("troupe-seeds-" + std::to_string(::getpid()))).string();
  std::filesystem::remove(path);
  set("TROUPE_FAILING_SEEDS", path);
  std::vector<std::uint64_t> seeds;
  auto is_mended = false;
  const scenario fails_with_five = [&](simulated_world& world) {
    seeds.push_back(world.options().seed);
    world.require(is_mended || world.options().seed != 5, "five");
  };
  const exploration_options ten{.runs = 10, .shrink_runs = 0};
  BOOST_TEST(explore_with_memory("of_five", fails_with_five, ten).found->seed == 5u);
  seeds.clear();
  BOOST_TEST(explore_with_memory("of_five", fails_with_five, ten).runs == 1u);
  // Once more to be drawn.
  BOOST_TEST(seeds == (std::vector<std::uint64_t>{5, 5}), boost::test_tools::per_element());
  is_mended = true;
  BOOST_TEST(explore_with_memory("of_five", fails_with_five, ten).runs == 11u);
  BOOST_TEST(explore_with_memory("another", fails_with_five, ten).runs == 10u);
  std::ofstream{path} << "five of them\n";
  BOOST_CHECK_EXCEPTION(explore_with_memory("of_five", fails_with_five, ten), invalid_argument_error,
                        says(":1: \"five of them\""));
  std::filesystem::remove(path);
}

BOOST_FIXTURE_TEST_CASE(a_budget_of_time_ends_the_search, environment) {
  const auto result =
      explore([](simulated_world& world) { world.advance(1s); }, {.runs = 1'000'000'000, .budget = 50ms});
  BOOST_TEST(result.runs > 1u);
  BOOST_TEST(result.runs < 1'000'000'000u);
}

BOOST_FIXTURE_TEST_CASE(whatever_a_scenario_throws_is_a_failure, environment) {
  const auto found = explore([](simulated_world& world) {
                       if (world.options().seed == 3) throw std::runtime_error{"three"};
                     }).found.value();
  BOOST_TEST(found.seed == 3u);
  BOOST_TEST(contains(found.what, "three"));
}

TROUPE_SIMULATION_TEST(the_mended_primary_survives_as_a_test, 100, 10s,
                       fault_rates{.hosts = {"primary"}, .faults_per_second = 100, .until = 50ms, .most = 20ms}) {
  replicated_counter::play(world, false);
}

BOOST_AUTO_TEST_SUITE_END()
