// Actors of the application whose handlers keep all threads of CAF's scheduler: their process is there all the same.
#include "process_cluster.hpp"
#include "test_program.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(busy_handlers_suite)

namespace busy_handlers_test {

using namespace std::chrono_literals;

using busy_actor = caf::typed_actor<caf::replies_to<run_atom, std::string>::with<bool>>;

/// More than there are threads.
constexpr auto count = 16;
constexpr auto patience = 60s;

/// Keeps its thread until there is such a file.
bool keep_thread(const std::string& path) {
  const auto limit = std::chrono::steady_clock::now() + patience;
  while (!std::filesystem::exists(path) && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(1ms);
  return std::filesystem::exists(path);
}

busy_actor::behavior_type busy(busy_actor::pointer) {
  return {[](run_atom, const std::string& path) { return keep_thread(path); }};
}

std::string name_of(int number) { return fmt::format("busy {}", number); }

void offer_busy(const member& here) {
  for (int i = 0; i < count; ++i) here.offer(name_of(i), here.spawn(busy));
}

void keep_all_threads(cluster& here) {
  event_watch events{here};
  const auto path = (std::filesystem::temp_directory_path() / fmt::format("troupe_busy_handlers_{}", ::getpid()));
  std::vector<actor_reference<busy_actor>> all;
  for (int i = 0; i < count; ++i) all.push_back(here.find<busy_actor>(worker_task(0), name_of(i), patience));
  std::vector<std::thread> askers;
  std::atomic<int> right = 0;
  for (const auto& each : all)
    askers.emplace_back([&, each] { right += ask(each, 2 * patience, run_atom_v, path.string()) ? 1 : 0; });
  // Several times longer than it may be silent.
  const auto lost = status_of_call([&] { events.wait_for(event_kind::member_lost, worker_task(0), 2s); });
  std::ofstream{path} << "go on";
  for (auto& each : askers) each.join();
  std::filesystem::remove(path);
  require(lost.code() == status_code::deadline_exceeded, "the worker is not lost");
  say("{} answers", right.load());
}

const test_program keeps_all_threads{"keeps all threads", [](int argc, char** argv) {
                                       run_options options{.program = keep_all_threads, .on_member = offer_busy};
                                       options.cluster.detection = {.ping_interval = 50ms, .silence_max = 400ms};
                                       return run(argc, argv, std::move(options));
                                     }};

}  // namespace busy_handlers_test

using namespace busy_handlers_test;

BOOST_AUTO_TEST_CASE(handlers_that_keep_all_threads_of_a_process_do_not_make_it_a_silent_one) {
  process_cluster cluster{keeps_all_threads.name(), {.workers = 1, .servers = 0}};
  cluster.start();
  cluster.wait_for(fmt::format("{} answers", count));
  for (const auto& task : cluster.tasks()) BOOST_TEST(cluster.end_of(task).success(), to_string(task));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
