#include "attacked_job.hpp"
#include "test_program.hpp"

#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <future>
#include <memory>

#include <poll.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using attack_clock = std::chrono::steady_clock;

// --- what the chief runs --------------------------------------------------------------------------------------------

constexpr auto round_interval = 20ms;
constexpr auto report_interval = 125ms;
constexpr int additions_per_round = 8;
constexpr std::int64_t content_size = 64 * 1024;
/// A round that takes longer stands still.
constexpr auto round_limit = 20s;

tensor negated(tensor content) {
  for (auto& x : content.mutable_values<std::int32_t>()) x = -x;
  return content;
}

int add_one(variable<std::int64_t> to) {
  to.assign_add(1);
  return 1;
}

class paced_rounds {
 public:
  explicit paced_rounds(cluster& here) : strategy_(here), coordinator_(strategy_), events_(here) {
    begin_ = next_ = attack_clock::now();
  }

  void run() {
    do {
      run_round();
      report();
      next_ = std::max(next_ + round_interval, attack_clock::now());
    } while (!ends_before(next_));
    coordinator_.join(round_limit);
    say("total {} of {}", total_.read(), rounds_ * additions_per_round);
    require(total_.read() == rounds_ * additions_per_round, "each addition came once");
    require(events_.take_all(event_kind::member_lost, "worker") == 0, "no worker is lost");
    require(events_.take_all(event_kind::member_lost, "ps") == 0, "no server is lost");
    say("undisturbed");
  }

 private:
  /// Whether the test wants the job to end, heard while the next round is waited for.
  bool ends_before(attack_clock::time_point next) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - attack_clock::now());
    pollfd watched{end_.descriptor_number(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    return end_.next().has_value();
  }

  void run_round() {
    const auto result = coordinator_.schedule<negated>({.limit = round_limit}, content_);
    std::vector<remote_value<int>> additions;
    for (int i = 0; i < additions_per_round; ++i)
      additions.push_back(coordinator_.schedule<add_one>({.limit = round_limit}, total_));
    for (const auto& each : additions) require(each.get() == 1, "a closure's result");
    require(result.get().values<std::int32_t>().back() == -1, "content is whole");
    ++rounds_;
  }

  void report() {
    ++reported_;
    const auto now = attack_clock::now();
    if (now - begin_ < report_interval) return;
    say("rate {:.1f}", reported_ / std::chrono::duration<double>(now - begin_).count());
    reported_ = 0;
    begin_ = now;
  }

  signal_source end_{SIGUSR1};
  parameter_server_strategy strategy_;
  cluster_coordinator coordinator_;
  event_watch events_;
  const variable<std::int64_t> total_ = strategy_.variable<std::int64_t>("total", 0);
  const tensor content_ = tensor::full(shape{content_size}, std::int32_t{1});
  std::int64_t rounds_ = 0;
  int reported_ = 0;
  attack_clock::time_point begin_;
  attack_clock::time_point next_;
};

/// As whoever follows the chief is told it.
std::uint64_t incarnation_of_chief(cluster& here) {
  const auto told = std::make_shared<std::promise<std::uint64_t>>();
  const auto listen = [told](presence_listener::pointer self) -> presence_listener::behavior_type {
    return {[self, told](presence_atom, const caf::strong_actor_ptr&, wire<member_record>& record) {
      told->set_value(record.open().ok() ? record->incarnation : 0);
      self->quit();
    }};
  };
  auto coming = told->get_future();
  caf::anon_send(here.membership(), follow_atom_v, here.system().spawn(listen),
                 wire<std::vector<task_id>>{{chief_task}});
  require(coming.wait_for(round_limit) == std::future_status::ready, "the chief's record");
  return coming.get();
}

void run_attacked_job(cluster& here) {
  auto offers = rpc::server::create("caf", "127.0.0.1:0");
  offers.register_method("add", [](int a, int b) { return a + b; });
  offers.start();
  paced_rounds rounds{here};
  say("chief's node {}", caf::to_string(here.system().node()));
  say("chief's incarnation {}", incarnation_of_chief(here));
  say("server's incarnation {}", here.view().find({"ps", 0})->incarnation);
  say("serves at {}", offers.address());
  rounds.run();
}

const chief_program attacked_program{"attacked job", run_attacked_job};

// --- what a test looks at -------------------------------------------------------------------------------------------

/// Of the rate before an attack.
constexpr double slowest_rate = 0.5;

std::string last_word(const std::string& line) { return line.substr(line.rfind(' ') + 1); }

task_config config_with(const process_cluster& processes, const task_id& task, const attacked_job::detour& through) {
  auto config = processes.config(task);
  const auto change = [&](const char* job, std::vector<task_address>& addresses) {
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      const task_id other{job, static_cast<int>(i)};
      if (other != task) addresses[i] = through(other, addresses[i]);
    }
  };
  change("worker", config.cluster.worker);
  change("ps", config.cluster.ps);
  return config;
}

}  // namespace

attacked_job::attacked_job(const detour& through, security how)
    : certificates_(how == security::tls ? std::make_shared<cluster_certificates>("attacked") : nullptr),
      processes_(attacked_program.name(), {.secret = how == security::secret, .certificates = certificates_}),
      own_(processes_.credentials_of("client")) {
  if (!through) processes_.start();
  for (const auto& task : processes_.tasks()) {
    if (through) processes_.start(task, {}, config_with(processes_, task, through));
    if (task != chief_task) ports_.push_back({task, processes_.config(task).cluster.address(task)});
  }
  chief_node_ = last_word(processes_.wait_for("chief's node "));
  chief_incarnation_ = std::stoull(last_word(processes_.wait_for("chief's incarnation ")));
  server_incarnation_ = std::stoull(last_word(processes_.wait_for("server's incarnation ")));
  ports_.push_back({chief_task, task_address::parse(last_word(processes_.wait_for("serves at ")))});
  // The first report is of a job that begins.
  processes_.wait_for("rate ");
  calm_rate_ = rate();
}

const attacked_port& attacked_job::port_of(const task_id& task) const {
  return *std::find_if(ports_.begin(), ports_.end(), [&](const auto& each) { return each.task == task; });
}

double attacked_job::rate(int reports) {
  processes_.pass(1ms);
  while (processes_.has("rate ")) processes_.wait_for("rate ");
  // It tells of a time that began before.
  processes_.wait_for("rate ", 2 * round_limit);
  double sum = 0;
  for (int i = 0; i < reports; ++i) sum += std::stod(last_word(processes_.wait_for("rate ", 2 * round_limit)));
  return sum / reports;
}

void attacked_job::check_served() {
  const auto why = status_of_call([&] {
    const auto client = rpc::client::create("caf", to_string(port_of(chief_task).address), "", 10s);
    BOOST_TEST(client.method<int(int, int)>("add").blocking(2, 3) == 5);
  });
  BOOST_TEST(why.ok(), why.render());
}

void attacked_job::check_goes_on(std::string_view after) {
  processes_.pass(1ms);
  std::string ended;
  for (const auto& task : processes_.tasks())
    if (!processes_.runs(task)) ended += fmt::format("\n  {}: {}", to_string(task), to_string(processes_.end_of(task)));
  BOOST_REQUIRE_MESSAGE(ended.empty(), after << " have ended:" << ended);
  const auto now = rate();
  BOOST_TEST_MESSAGE(fmt::format("after {}: {:.1f} rounds per second, {:.2f} of before", after, now, now / calm_rate_));
  BOOST_TEST(now >= slowest_rate * calm_rate_);
  check_served();
}

void attacked_job::check_end() {
  processes_.signal(chief_task, SIGUSR1);
  processes_.wait_for("undisturbed");
  for (const auto& task : processes_.tasks()) BOOST_TEST(to_string(processes_.end_of(task)) == "exit code 0");
}

// --- memory ---------------------------------------------------------------------------------------------------------

std::size_t resident_bytes(pid_t process) {
  constexpr std::string_view field = "VmRSS:";
  std::ifstream file{fmt::format("/proc/{}/status", process)};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field)) return std::stoull(line.substr(field.size())) * 1024;
  return 0;
}

memory_watch::memory_watch(attacked_job& job) {
  for (const auto& port : job.ports()) {
    const auto process = job.processes().pid(port.task);
    const auto bytes = resident_bytes(process);
    entries_.push_back({port.task, process, bytes, bytes});
  }
}

void memory_watch::look() {
  for (auto& each : entries_) each.most_bytes = std::max(each.most_bytes, resident_bytes(each.process));
}

void memory_watch::look_for(attacked_job& job, std::chrono::milliseconds time) {
  constexpr auto interval = 20ms;
  for (const stopwatch watch; watch.elapsed() < time;) {
    job.processes().pass(interval);
    look();
  }
}

void memory_watch::check(double factor, std::size_t more_bytes) {
  look();
  for (const auto& each : entries_) {
    BOOST_TEST_MESSAGE(to_string(each.task)
                       << ": " << (each.before_bytes >> 20) << " MiB before, at most " << (each.most_bytes >> 20));
    BOOST_TEST(static_cast<double>(each.most_bytes) <=
                   factor * static_cast<double>(each.before_bytes) + static_cast<double>(more_bytes),
               to_string(each.task) << " has taken " << (each.most_bytes >> 20) << " MiB, and had "
                                    << (each.before_bytes >> 20));
  }
}

}  // namespace troupe
