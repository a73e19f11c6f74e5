#include "../scratch_folder.hpp"
#include "chaos_hosts.hpp"
#include "chaos_run.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/launch/host_network.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include <poll.h>

namespace troupe::tools {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Of its own, with a port that nobody else has there.
constexpr std::uint16_t port_on_hosts = 7000;

/// The processes that have this in their environment: what a task of the job has started, wherever it went.
std::vector<pid_t> processes_with(const std::string& variable) {
  std::vector<pid_t> result;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry{"/proc", failed}, end; !failed && entry != end;
       entry.increment(failed)) {
    const auto name = entry->path().filename().string();
    pid_t number = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), number).ptr != name.data() + name.size()) continue;
    std::ifstream file{entry->path() / "environ"};
    const std::string all{std::istreambuf_iterator<char>{file}, {}};
    if (all.find(variable) != std::string::npos) result.push_back(number);
  }
  return result;
}

/// Those that a kill has not ended yet are given a moment.
std::vector<pid_t> processes_that_stay(const std::string& variable) {
  constexpr milliseconds patience{2'000};
  constexpr int pause_ms = 20;
  const auto deadline = clock::now() + patience;
  auto left = processes_with(variable);
  while (!left.empty() && clock::now() < deadline) {
    ::poll(nullptr, 0, pause_ms);
    left = processes_with(variable);
  }
  return left;
}

std::unique_ptr<host_network> make_network(const chaos_options& options, std::size_t hosts) {
  if (!options.on_hosts) return nullptr;
  auto made = std::make_unique<host_network>(static_cast<int>(hosts));
  for (std::size_t host = 0; host < hosts && !options.bandwidth.empty(); ++host)
    made->limit(static_cast<int>(host), options.bandwidth);
  return made;
}

placement one_host_each(const host_network& network, const std::vector<task_id>& tasks) {
  return [&network, tasks](const task_id& task) {
    const auto host = static_cast<int>(std::find(tasks.begin(), tasks.end(), task) - tasks.begin());
    return task_place{{host_network::address(host), port_on_hosts}, network.launcher(host)};
  };
}

clock::duration whole(std::chrono::duration<double> time) { return std::chrono::duration_cast<clock::duration>(time); }

std::optional<std::vector<recorded_event>> events_in(const std::string& file) {
  std::error_code unreadable;
  if (!std::filesystem::exists(file, unreadable)) return {};
  return read_events(file);
}

/// What is done between what the launcher does.
class chaos_turn {
 public:
  chaos_turn(const chaos_options& options, std::string events, launcher& job, fault_injector& injector)
      : options_(options), events_(std::move(events)), job_(job), injector_(injector) {}

  /// Returns how long the launcher may wait.
  milliseconds operator()() {
    const auto now = clock::now();
    // Its end is the end of all: nobody is left to notice.
    if (job_.exit_code()) {
      if (!chief_end) chief_end = now;
      return milliseconds::max();
    }
    if (!over_limit && now >= end_) {
      over_limit = true;
      job_.say(fmt::format("the job has not ended within {:g} s; stopping it", options_.limits.job.count()));
      job_.request_stop(SIGTERM);
    }
    if (over_limit) return milliseconds::max();
    constexpr milliseconds pause{10};
    if (!has_begun_ && now < wait_end_ && !have_all_joined()) return pause;
    if (!std::exchange(has_begun_, true)) injector_.start(now);
    injector_.apply_due(now);
    tell();
    const auto next = std::min(end_, injector_.next().value_or(end_));
    return std::max(std::chrono::ceil<milliseconds>(next - clock::now()), milliseconds::zero());
  }

  bool over_limit = false;
  std::optional<clock::time_point> chief_end;

 private:
  bool have_all_joined() const {
    std::set<task_id> joined;
    for (const auto& each : events_in(events_).value_or(std::vector<recorded_event>{}))
      if (each.kind == event_kind::member_joined) joined.insert(each.task);
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [&](const task_id& each) { return is_chief(each) || joined.contains(each); });
  }

  void tell() {
    for (; told_ < injector_.history().size() && options_.tells_faults; ++told_) {
      const auto& done = injector_.history()[told_];
      job_.say(
          fmt::format("{}{}{}", to_string(done.fault), done.obstacle.empty() ? "" : ", not done: ", done.obstacle));
    }
  }

  const chaos_options& options_;
  std::string events_;
  launcher& job_;
  fault_injector& injector_;
  std::vector<task_id> tasks_ = tasks_of(options_.launch);
  clock::time_point wait_end_ = clock::now() + whole(options_.wait);
  clock::time_point end_ = clock::now() + whole(options_.limits.job);
  bool has_begun_ = false;
  std::size_t told_ = 0;
};

}  // namespace

job_record run_under_faults(const chaos_options& options) {
  const scratch_folder scratch{"troupe-chaos"};
  // In which the chief writes what it sees.
  const auto events = scratch.file("events");
  job_record result;
  result.tasks = tasks_of(options.launch);
  const auto network = make_network(options, result.tasks.size());
  auto launch = options.launch;
  launch.environment[event_file_variable] = events;
  if (network) launch.place = one_host_each(*network, result.tasks);
  {
    launcher job{std::move(launch)};
    fault_injector injector{options.plan, result.tasks, job, network.get()};
    result.begin = clock::now();
    chaos_turn turn{options, events, job, injector};
    result.exit_code = job.run([&turn] { return turn(); });
    result.end = clock::now();
    result.chief_end = turn.chief_end;
    result.over_limit = turn.over_limit;
    result.injections = injector.history();
    result.left_out = injector.left();
  }
  result.processes_left = processes_that_stay(fmt::format("{}={}", event_file_variable, events));
  result.events = events_in(events);
  return result;
}

}  // namespace troupe::tools
