#include "chaos_job.hpp"
#include "process_cluster.hpp"
#include "support/temporary_file.hpp"

#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/fault_plan.hpp>

#include <boost/test/unit_test.hpp>

#include <array>

#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;

constexpr auto limit = 60s;

void run_until_all_were_lost(cluster& here) {
  const auto workers = std::stoi(here.arguments().back());
  cluster_coordinator coordinator{parameter_server_strategy{here}};
  event_watch events{here};
  // Each worker is in a closure when it is lost.
  std::vector<remote_value<void>> at_work;
  for (int worker = 0; worker < workers; ++worker)
    at_work.push_back(coordinator.schedule({.limit = 60s, .worker = worker}, [] { sleep_for(30s); }));
  for (int worker = 0; worker < workers; ++worker) {
    events.wait_for(event_kind::member_lost, worker_task(worker), 30s);
    say("worker {} was lost", worker);
    coordinator.schedule({.limit = 30s, .worker = worker}, [] {}).fetch();
  }
  for (auto& each : at_work) each.cancel();
  say("all are back");
}

const chief_program waits_for_losses{"waits for losses", run_until_all_were_lost};

std::string read_until_end(child_process& from) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  std::string all;
  const std::array files{&from.standard_output(), &from.standard_error()};
  while ((*files[0] || *files[1]) && std::chrono::steady_clock::now() < deadline) {
    std::array<pollfd, 2> watched{{{files[0]->get(), POLLIN, 0}, {files[1]->get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), 100);
    for (auto* const file : files) {
      std::array<char, 16 * 1024> block{};
      const auto count = *file ? ::read(file->get(), block.data(), block.size()) : -1;
      if (count == 0) file->reset();
      if (count > 0) all.append(block.data(), static_cast<std::size_t>(count));
    }
  }
  return all;
}

}  // namespace

words operator+(words left, const words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string chaos_run_result::result_of(std::string_view what) const {
  for (const auto& each : report.at("invariants"))
    if (each.at("what").get<std::string>().find(what) != std::string::npos) return each.at("result");
  BOOST_FAIL("the report has no invariant with \"" << what << "\": " << report.dump());
  return {};
}

chaos_run_result run_chaos(const words& arguments, const words& launcher) {
  const auto all = launcher + words{TROUPE_COMMAND, "chaos"} + arguments;
  child_process_options options{.program = all.front()};
  options.arguments.assign(all.begin() + 1, all.end());
  child_process command{options};
  chaos_run_result result;
  result.output = read_until_end(command);
  const auto ended = command.wait_for(1s);
  BOOST_REQUIRE_MESSAGE(ended.has_value(), "troupe chaos did not end:\n" << result.output);
  result.exit_code = ended->shell_code();
  return result;
}

chaos_run_result run_chaos(const fault_plan& plan, words arguments, const words& launcher) {
  const temporary_file plan_file{plan.to_json()};
  const temporary_file report_file{""};
  arguments.insert(arguments.begin(), {"--plan", plan_file.path(), "--report", report_file.path()});
  auto result = run_chaos(arguments, launcher);
  result.report = nlohmann::json::parse(report_file.content(), nullptr, false);
  if (result.report.is_discarded()) result.report = nullptr;
  return result;
}

fault_plan plan_drawn_by(const words& options) {
  const temporary_file plan_file{""};
  const auto run = run_chaos(words{"--save-plan", plan_file.path()} + options + chief_runs("exit 0"));
  BOOST_REQUIRE_MESSAGE(run.exit_code == 0, run.output);
  return fault_plan::from_file(plan_file.path());
}

words chief_runs(const std::string& script) {
  const auto all =
      fmt::format("case \"$TF_CONFIG\" in *'\"type\":\"chief\"'*) {} ;; *) exec sleep 1000 ;; esac", script);
  return {"--wait", "0", "--leave-grace", "0", "/bin/sh", "-c", all};
}

words waiting_for_losses_of(int workers) { return {this_program(), waits_for_losses.name(), std::to_string(workers)}; }

}  // namespace troupe
