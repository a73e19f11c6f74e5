// What `run` does with the application's own code: on members, at the end, and with what it throws or leaves behind.
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/run.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/stateful_actor.hpp>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(run_hooks_suite)

namespace {

int run_with(run_options options, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (auto& argument : arguments) argv.push_back(argument.data());
  return run(static_cast<int>(argv.size()), argv.data(), std::move(options));
}

/// What happened, in its order, from any thread.
struct diary {
  std::mutex mutex;
  std::vector<std::string> lines;
  void add(std::string line) {
    const std::scoped_lock lock{mutex};
    lines.push_back(std::move(line));
  }
};

using echo_actor = caf::typed_actor<caf::replies_to<find_atom, int>::with<int>>;
echo_actor::behavior_type echo(echo_actor::pointer) {
  return {[](find_atom, int x) { return x; }};
}

struct temporary_file {
  ~temporary_file() { std::filesystem::remove(path); }
  std::string path =
      (std::filesystem::temp_directory_path() / ("troupe-run-hooks-" + std::to_string(::getpid()))).string();
  std::string content() const {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(on_member_runs_on_each_member_and_what_it_offers_is_found_before_the_program_begins) {
  diary what;
  const auto code =
      run_with({.program =
                    [](cluster& here) {
                      for (const auto& task : {task_id{"worker", 2}, task_id{"ps", 0}, task_id{"evaluator", 0}})
                        BOOST_TEST(ask(here.find<echo_actor>(task, "echo", 10s), 10s, find_atom_v, 7) == 7);
                      BOOST_TEST(here.find_all<echo_actor>("worker", "echo", 10s).size() == 3u);
                    },
                .on_member =
                    [&](member& here) {
                      what.add(to_string(here.task()));
                      here.offer("echo", here.spawn(echo));
                    }},
               {"--troupe-workers", "3", "--troupe-role", "evaluator=1"});
  BOOST_TEST(code == 0);
  const std::vector<std::string> expected{"/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1",
                                          "/job:worker/task:2", "/job:evaluator/task:0"};
  BOOST_TEST(what.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_programs_actors_end_first_and_each_members_in_the_reverse_order_of_their_beginning) {
  diary what;
  struct last_words {
    diary* to = nullptr;
    std::string text;
    ~last_words() { to->add(text + " ends"); }
  };
  const auto spawn_with_last_words = [&](const member& here, const std::string& name) {
    here.spawn([&what, name](caf::stateful_actor<last_words>* self) -> caf::behavior {
      self->state.to = &what;
      self->state.text = name;
      return {[](int) {}};
    });
  };
  const auto code = run_with({.program = [&](cluster& here) { spawn_with_last_words(here.here(), "aggregator"); },
                              .on_member =
                                  [&](member& here) {
                                    here.at_stop([&] { what.add("stop hook 1"); });
                                    spawn_with_last_words(here, "first");
                                    spawn_with_last_words(here, "second");
                                    here.at_stop([&] { what.add("stop hook 2"); });
                                  },
                              .size = {.workers = 1, .servers = 0}});
  BOOST_TEST(code == 0);
  std::erase_if(what.lines, [](const auto& line) { return !line.ends_with("ends") && !line.starts_with("stop"); });
  const std::vector<std::string> expected{"aggregator ends", "stop hook 2", "stop hook 1", "second ends", "first ends"};
  BOOST_TEST(what.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(the_children_of_a_supervisor_end_in_its_place_the_latest_first_and_none_is_restarted) {
  diary what;
  struct last_words {
    diary* to = nullptr;
    std::string text;
    ~last_words() { to->add(text + " ends"); }
  };
  const auto begins = [&what](const member& here, const std::string& name) {
    return here.spawn([&what, name](caf::stateful_actor<last_words>* self) -> caf::behavior {
      self->state.to = &what;
      self->state.text = name;
      // Even by an error, when it is asked to end.
      self->set_exit_handler([self](const caf::exit_msg&) {
        self->quit(make_error(status{status_code::internal, ""}));
      });
      return {[](int) {}};
    });
  };
  const auto child = [&](const std::string& name) {
    return supervised_child{name, [begins, name](member& here) { return begins(here, name); }};
  };
  // One that fails when the end has begun: it has no other life.
  const auto fails_at_the_end = [&](const member& here) {
    what.add("stop hook ends");
    const auto reference = here.find<caf::actor>({"worker", 0}, "c", 10s);
    const auto life = reference.handle();
    caf::anon_send_exit(life, caf::exit_reason::user_shutdown);
    while (reference.handle() == life) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(20ms);
  };
  const auto code = run_with({.program =
                                  [](cluster& here) {
                                    here.find<caf::actor>({"worker", 0}, "c", 10s);
                                  },
                              .on_member =
                                  [&](member& here) {
                                    here.at_stop([&fails_at_the_end, here] { fails_at_the_end(here); });
                                    begins(here, "first");
                                    here.supervise({.first_pause = 0s}, {child("a"), child("b"), child("c")});
                                    begins(here, "last");
                                  },
                              .size = {.workers = 1, .servers = 0}});
  BOOST_TEST(code == 0);
  const std::vector<std::string> expected{"stop hook ends", "c ends", "last ends", "b ends", "a ends", "first ends"};
  BOOST_TEST(what.lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_gives_up_ends_the_program_with_a_code_of_its_own) {
  for (const auto on_chief : {false, true}) {
    const temporary_file file;
    const auto fails = [](member& here) -> caf::actor {
      throw not_found_error{"no device on " + to_string(here.task())};
    };
    const auto supervise = [&](const member& here) {
      here.supervise({.restarts_max = 1, .first_pause = 1ms}, {{"sensor", fails}});
    };
    auto stopped = false;
    run_options options{.program =
                            [&](cluster& here) {
                              if (on_chief) supervise(here.here());
                              here.find<caf::actor>({"worker", 0}, "nobody", 1h);
                            },
                        .on_stop = [&](cluster&) { stopped = true; },
                        .size = {.workers = 1, .servers = 0}};
    if (!on_chief) options.on_member = supervise;
    BOOST_TEST(run_with(options, {"--troupe-log-file", file.path}) == exit_code::supervisor_gave_up);
    BOOST_TEST(!stopped);
    const auto task = on_chief ? std::string{"/job:chief/task:0"} : std::string{"/job:worker/task:0"};
    for (const auto& part :
         {"\"sensor\" on " + task + " failed; it is restarted in 1 ms, restart 1 of 1 within 60000 ms",
          std::string{"the program was ended: resource_exhausted: \"sensor\" on "} + task +
              " failed, and its supervisor gave up: after 1 restarts within 60000 ms",
          std::string{"caused by not_found: no device on "} + task})
      BOOST_TEST((file.content().find(part) != std::string::npos), part << " is missing in " << file.content());
  }
}

BOOST_AUTO_TEST_CASE(a_program_that_wants_to_know_itself_that_a_supervisor_gave_up_goes_on) {
  completion heard;
  status what;
  cluster_options options;
  options.on_failure = [&](const status& why) {
    what = why;
    heard.set();
  };
  const auto fails = [](member&) -> caf::actor { throw not_found_error{"no device"}; };
  const auto code = run_with({.program =
                                  [&](cluster& here) {
                                    here.here().supervise({.restarts_max = 0}, {{"sensor", fails}});
                                    heard.wait_until(current_time() + 10s, "hearing of it");
                                    return 5;
                                  },
                              .size = {.workers = 1, .servers = 0},
                              .cluster = options});
  BOOST_TEST(code == 5);
  BOOST_TEST(what.render().find("no device") != std::string::npos, what.render());
}

BOOST_AUTO_TEST_CASE(actors_that_fail_because_the_program_has_ended_are_no_failure_of_it) {
  // Relies on an actor of the program's, and does not do without.
  const auto relies = [](member& here) {
    return here.spawn([reference = here.follow<caf::actor>({"chief", 0}, "program")](caf::event_based_actor* self) {
      reference.watch(
          self, [](const caf::actor&) {}, [self](const status& why) { self->quit(make_error(why)); });
      return caf::behavior{[](int) {}};
    });
  };
  for (auto round = 0; round < 10; ++round) {
    const auto code = run_with(
        {.program =
             [](cluster& here) {
               const auto at = here.here();
               at.offer("program", at.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
               here.find<caf::actor>({"worker", 0}, "relies", 10s);
               at.at_stop([at] { at.withdraw("program"); });
             },
         .on_member =
             [&](member& here) {
               here.supervise({.restarts_max = 0}, {{"relies", relies}});
             },
         .size = {.workers = 1, .servers = 0}});
    BOOST_TEST(code == 0);
  }
}

BOOST_AUTO_TEST_CASE(whatever_the_program_throws_is_its_failure_and_no_end_of_the_process) {
  BOOST_TEST(run_with({.program = [](cluster&) { throw 3; }}) == exit_code::program_failed);
  BOOST_TEST(run_with({.program = [](cluster&) { throw std::string{"text"}; }}) == exit_code::program_failed);
  BOOST_TEST(run_with({.program = [](cluster&) {}, .on_member = [](member&) { throw 4; }}) == exit_code::start_failed);
  BOOST_TEST(run_with({}) == exit_code::usage_error);
}

BOOST_AUTO_TEST_CASE(what_fails_at_the_end_is_said_and_keeps_nothing_else_from_it) {
  const temporary_file file;
  diary what;
  struct end_of_actor {
    diary* to = nullptr;
    ~end_of_actor() { to->add("the actor ends"); }
  };
  const auto code = run_with({.program = [](cluster& here) { here.here().at_stop([] { throw 3; }); },
                              .on_member =
                                  [&](member& here) {
                                    here.spawn([&](caf::stateful_actor<end_of_actor>* self) -> caf::behavior {
                                      self->state.to = &what;
                                      return {[](int) {}};
                                    });
                                    here.at_stop([&, here] {
                                      what.add("the first");
                                      here.at_stop([&] { what.add("one of the end"); });
                                    });
                                    here.at_stop([] { throw std::runtime_error{"the disk is full"}; });
                                  },
                              .size = {.workers = 1, .servers = 0}},
                             {"--troupe-log-file", file.path});
  BOOST_TEST(code == 0);
  const std::vector<std::string> expected{"the first", "one of the end", "the actor ends"};
  BOOST_TEST(what.lines == expected, boost::test_tools::per_element());
  for (const auto* line : {"at_stop of /job:chief/task:0 failed: it threw something that is no std::exception",
                           "at_stop of /job:worker/task:0 failed: the disk is full"})
    BOOST_TEST((file.content().find(line) != std::string::npos), line << " is missing in\n" << file.content());
}

BOOST_AUTO_TEST_CASE(handles_may_outlive_run_and_say_that_the_cluster_has_ended) {
  std::optional<variable<float>> kept_variable;
  remote_value<int> kept_value;
  std::optional<cluster_coordinator> kept_coordinator;
  actor_reference<echo_actor> kept_reference;
  const auto began = std::chrono::steady_clock::now();
  const auto code = run_with({.program =
                                  [&](cluster& here) {
                                    parameter_server_strategy strategy{here};
                                    kept_coordinator.emplace(strategy);
                                    kept_variable = strategy.variable("kept", 1.0f);
                                    kept_value = kept_coordinator->schedule([] { return 5; });
                                    BOOST_TEST(kept_value.fetch() == 5);
                                    kept_reference = here.find<echo_actor>({"worker", 0}, "echo", 10s);
                                    return 9;
                                  },
                              .on_member = [](member& here) { here.offer("echo", here.spawn(echo)); }});
  BOOST_TEST(code == 9);
  BOOST_TEST((std::chrono::steady_clock::now() - began < 4s));
  BOOST_TEST(kept_value.fetch() == 5);
  BOOST_TEST(!kept_reference.is_up());
  BOOST_CHECK_EXCEPTION(ask(kept_reference, 10s, find_atom_v, 1), failed_precondition_error,
                        [](const error& e) { return e.message().find("has ended") != std::string::npos; });
}

BOOST_AUTO_TEST_CASE(a_configuration_of_the_applications_own_and_its_file_are_used) {
  struct own_config : caf::actor_system_config {
    own_config() { opt_group{custom_options_, "probe"}.add(depth, "depth", "how deep"); }
    int depth = 1;
  };
  const temporary_file file;
  std::ofstream{file.path} << "[probe]\ndepth=42\n";
  auto seen = 0;
  const auto options = [&] {
    return run_options{
        .program = [&](cluster& here) { seen = dynamic_cast<const own_config&>(here.system().config()).depth; },
        .config = [] { return std::make_unique<own_config>(); }};
  };
  BOOST_TEST(run_with(options()) == 0);
  BOOST_TEST(seen == 1);
  BOOST_TEST(run_with(options(), {"--troupe-caf-config", file.path}) == 0);
  BOOST_TEST(seen == 42);
  std::ofstream{file.path} << "[probe\n";
  seen = 0;
  BOOST_TEST(run_with(options(), {"--troupe-caf-config", file.path}) == exit_code::usage_error);
  BOOST_TEST(run_with(options(), {"--troupe-caf-config", "/nowhere"}) == exit_code::usage_error);
  BOOST_TEST(seen == 0);
}

BOOST_AUTO_TEST_CASE(the_log_goes_to_a_file_at_its_level_as_json) {
  const temporary_file file;
  const auto fails = [] {
    return run_options{.program = [](cluster&) { throw std::runtime_error{"with \"quotes\"\nand a line"}; }};
  };
  BOOST_TEST(run_with(fails(), {"--troupe-log-file", file.path, "--troupe-log-json"}) == exit_code::program_failed);
  std::istringstream lines{file.content()};
  std::string first;
  std::getline(lines, first);
  const auto line = nlohmann::json::parse(first);
  BOOST_TEST(line["level"] == "error");
  BOOST_TEST(line["process"] == ::getpid());
  BOOST_TEST(line["message"] == "the program failed: std::runtime_error: with \"quotes\"\nand a line");
  std::filesystem::remove(file.path);
  BOOST_TEST(run_with(fails(), {"--troupe-log-file", file.path, "--troupe-log-level", "off"}) ==
             exit_code::program_failed);
  BOOST_TEST(file.content().empty());
  BOOST_TEST(run_with(fails(), {"--troupe-log-level", "loud"}) == exit_code::usage_error);
  BOOST_TEST(run_with(fails(), {"--troupe-log-file", "/dev/null/log"}) == exit_code::usage_error);
}

BOOST_AUTO_TEST_CASE(flags_for_roles_and_the_grace_time_that_can_not_be_are_usage_errors) {
  for (const auto& wrong : {"probe", "probe=", "probe=x", "probe=1x", "probe=-1", "=1", "workers=1", "my role=1"})
    BOOST_TEST(run_with({.program = [](cluster&) {}}, {"--troupe-role", wrong}) == exit_code::usage_error, wrong);
  BOOST_TEST(run_with({.program = [](cluster&) {}}, {"--troupe-stop-grace", "0"}) == exit_code::usage_error);
}

BOOST_AUTO_TEST_SUITE_END()
