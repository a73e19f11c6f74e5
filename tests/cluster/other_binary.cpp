// Processes of another build among the peers: functions that were registered by name run there, others run only where
// the build is the chief's, and where there is none, the error says so.
#include "process_cluster.hpp"
#include "support/thrown.hpp"
#include "test_program.hpp"

#include <troupe/runtime/cluster_coordinator.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <unistd.h>

namespace troupe {

BOOST_AUTO_TEST_SUITE(other_binary_suite)

namespace {

using namespace std::chrono_literals;

int worker_of_named(int x) { return x + 100 * current_worker_index(); }

TROUPE_REGISTER("test/worker of named", worker_of_named);

tensor doubled(tensor content) {
  for (auto& x : content.mutable_values<float>()) x *= 2.0f;
  return content;
}

void schedule_by_name(cluster_coordinator& coordinator, const std::vector<int>& workers) {
  for (const auto worker : workers)
    require(coordinator.schedule<worker_of_named>({.limit = 20s, .worker = worker}, 1).fetch() == 1 + 100 * worker,
            "a function that is registered by name runs on every worker");
}

int refuse_by_name(int code) { throw thrown::refused{"by the door", code}; }

TROUPE_REGISTER("test/refuse by name", refuse_by_name);

void require_its_exception(cluster_coordinator& coordinator) {
  const auto refusal = coordinator.schedule<refuse_by_name>(7);
  auto code = 0;
  try {
    refusal.fetch(20s);
  } catch (const thrown::refused& found) {
    code = found.code();
  }
  require(code == 7, "an exception of another build is the same exception");
  status_of_call([&] { coordinator.join(10s); });
}

void run_among_others(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  schedule_by_name(coordinator, {0});
  require_its_exception(coordinator);
  say("lambda: {}", status_of_call([&] { coordinator.schedule([](int x) { return x; }, 1).fetch(20s); }).render());
  status_of_call([&] { coordinator.join(10s); });  // raises the error, unless schedule has
  schedule_by_name(coordinator, {0});
  say("went on");
}

const chief_program among_others{"among others", run_among_others};

void run_among_both(cluster& here) {
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  schedule_by_name(coordinator, {0, 1});
  std::vector<remote_value<int>> ran;
  for (int i = 0; i < 100; ++i) ran.push_back(coordinator.schedule([] { return current_worker_index(); }));
  const auto workers = coordinator.fetch(ran);
  require(std::all_of(workers.begin(), workers.end(), [](int worker) { return worker == 0; }),
          "a lambda runs on the workers of the chief's build alone");
  say("went on");
}

const chief_program among_both{"among both", run_among_both};

void run_with_another_server(cluster& here) {
  parameter_server_strategy strategy{here};
  cluster_coordinator coordinator{strategy};
  const auto v = strategy.variable("v", tensor::scalar(21.0f));
  v.assign_add(tensor::scalar(0.0f));
  say("update: {}",
      status_of_call([&] { v.update([](tensor content) { return doubled(std::move(content)); }); }).render());
  require(v.read().item<float>() == 21.0f, "the variable is as it was");
  say("went on");
}

const chief_program with_another_server{"with another server", run_with_another_server};

/// A copy of this program with another build id; the linker's note of it is the only difference.
class other_build {
 public:
  other_build() {
    std::ifstream original{this_program(), std::ios::binary};
    std::string bytes{std::istreambuf_iterator<char>{original}, {}};
    // The note: sizes of owner and id, NT_GNU_BUILD_ID, the owner.
    constexpr std::array<char, 16> note{4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    const auto found = std::search(bytes.begin(), bytes.end(), note.begin(), note.end());
    BOOST_REQUIRE_MESSAGE(found != bytes.end(), "this program was linked without a build id");
    *(found + note.size()) = static_cast<char>(*(found + note.size()) ^ 1);
    std::ofstream{path_, std::ios::binary} << bytes;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~other_build() { std::filesystem::remove(path_); }
  other_build(const other_build&) = delete;

  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / fmt::format("troupe-other-build-{}", ::getpid());
};

/// A cluster of this program in which the tasks of `others` are of another build.
void start(process_cluster& cluster, const other_build& other, const std::set<task_id>& others) {
  for (const auto& task : cluster.tasks()) cluster.start(task, others.contains(task) ? other.path() : "");
}

}  // namespace

BOOST_AUTO_TEST_CASE(on_workers_of_another_build_only_functions_with_a_name_run) {
  const other_build other;
  process_cluster cluster{among_others.name(), {.workers = 1}};
  start(cluster, other, {worker_task(0)});
  cluster.wait_for("/job:worker/task:0: its program is another build than the chief's");
  const auto line = cluster.wait_for("lambda: ");
  BOOST_TEST(line.find("not_found: ") != std::string::npos, line);
  BOOST_TEST(line.find("TROUPE_REGISTER") != std::string::npos, line);
  cluster.wait_for("went on");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(closures_find_the_worker_that_can_run_them) {
  const other_build other;
  process_cluster cluster{among_both.name()};
  start(cluster, other, {worker_task(1)});
  cluster.wait_for("went on");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_CASE(a_server_of_another_build_serves_but_refuses_functions_that_it_does_not_know) {
  const other_build other;
  process_cluster cluster{with_another_server.name()};
  start(cluster, other, {server_task(0)});
  const auto line = cluster.wait_for("update: ");
  BOOST_TEST(line.find("not_found: ") != std::string::npos, line);
  cluster.wait_for("went on");
  BOOST_TEST(to_string(cluster.end_of(chief_task)) == "exit code 0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
