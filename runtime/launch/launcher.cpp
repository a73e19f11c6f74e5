#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/launch/child_process.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>
#include <troupe/runtime/launch/launcher.hpp>
#include <troupe/runtime/launch/port_reservation.hpp>
#include <troupe/runtime/launch/terminal.hpp>

#include <climits>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <set>

#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// After SIGKILL only a process that hangs in the kernel lives on; then the launcher gives up.
constexpr milliseconds kill_grace{10'000};
/// How long a reader that does not read may hold up the end of a job.
constexpr milliseconds output_patience{100};

/// The console writes "[name] " before each line.
constexpr std::size_t prefix_extra_columns = 3;
/// What a pipe can hold, read in blocks: more than this is still coming from a process that has left its group.
constexpr int blocks_after_end_max = 32;

/// How the console names a task: "worker 1"; the chief is alone and has no number.
std::string display_name(const task_id& task) {
  return task.job == "chief" ? task.job : fmt::format("{} {}", task.job, task.index);
}

void require_range(std::string_view option, int value, int least, int most) {
  if (value >= least && value <= most) return;
  throw invalid_argument_error{fmt::format("{} is {} but must be {} to {}", option, value, least, most)};
}

}  // namespace

class launcher::implementation {
 public:
  explicit implementation(launcher_options options);

  int run(const std::function<milliseconds()>& turn);
  void start();
  bool poll_once(milliseconds timeout);
  void request_stop(int signal);

  struct task {
    task_id id;
    std::string name;
    std::size_t colour = 0;
    std::optional<port_reservation> port;
    std::vector<std::string> launcher;
    std::map<std::string, std::string> environment;
    std::optional<child_process> process;
    std::array<line_splitter, 2> lines;  ///< of standard output and of standard error
    std::optional<clock::time_point> restart_at;
    /// Of its last process.
    clock::time_point started_at{};
    /// Since it ran for long.
    int restarts = 0;
    /// It was taken down, and not brought back since.
    bool is_down = false;
    /// It was brought back while the process that was taken down had not ended.
    bool is_replaced = false;
  };

  task& find(const task_id& id);
  void take_down(const task_id& id);
  void bring_back(const task_id& id);
  void report(std::string_view text);

  std::optional<int> exit_code_;
  cluster_spec cluster_;

 private:
  enum class phase { idle, running, asking, leaving, stopping, killing, ended };

  task_address find_place(task& of);
  void reserve_tasks();
  void make_credentials();
  bool is_chosen(const char* variable) const;
  void launch(task& which);
  void wait_for_events(milliseconds timeout);
  void handle_signals();
  bool read_output(task& which);
  bool read_block(task& which, output_stream stream);
  void collect_end(task& which);
  void on_chief_end(const exit_status& status);
  void on_failure(task& which, std::string_view reason);
  void start_due_tasks();
  void check_workers_left();
  void check_reader();
  void stop_in_order(int signal);
  void advance_phase();
  void enter(phase next, milliseconds limit);
  void signal_all(int signal);
  bool any_alive() const;
  void report_left(std::string_view what);
  void write(output_stream stream, std::string_view text);

  launcher_options options_;
  std::string program_path_;
  std::vector<task> tasks_;  ///< in the order of their start; the chief is the last
  task_console console_;
  std::optional<signal_source> signals_;
  /// Nothing: the user has one, or there are certificates.
  std::optional<secret_for_children> secret_;
  std::optional<certificates_for_children> certificates_;
  phase phase_ = phase::idle;
  clock::time_point phase_end_ = clock::time_point::max();
  int stop_requests_ = 0;
  /// What reads this process's output is gone.
  bool is_unread_ = false;
  /// None is left, and none will come.
  bool lacks_workers_ = false;
};

launcher::implementation::implementation(launcher_options options)
    : options_(std::move(options)),
      console_([this](output_stream stream, std::string_view text) { write(stream, text); }, options_.is_terminal) {
  require_range("the number of workers", options_.workers, 1, tasks_max);
  require_range("the number of servers", options_.servers, 0, tasks_max);
  for (const auto& [role, count] : options_.roles) {
    check_role_name(role, "the launcher's options");
    require_range("the number of tasks of " + role, count, 0, tasks_max);
  }
  require_range("the limit of restarts", options_.restarts_max, 0, INT_MAX);
  program_path_ = find_program(options_.program);
  reserve_tasks();
}

task_address launcher::implementation::find_place(task& of) {
  if (!options_.place) return {options_.host, of.port.emplace(options_.host).port()};
  auto found = options_.place(of.id);
  of.launcher = std::move(found.launcher);
  return std::move(found.address);
}

void launcher::implementation::reserve_tasks() {
  const auto add = [this](const char* job, int count, std::vector<task_address>& addresses) {
    for (auto index = 0; index < count; ++index) {
      auto& made = tasks_.emplace_back();
      made.id = {job, index};
      made.name = display_name(made.id);
      made.colour = tasks_.size() - 1;
      addresses.push_back(find_place(made));
    }
  };
  add("ps", options_.servers, cluster_.ps);
  add("worker", options_.workers, cluster_.worker);
  for (const auto& [role, count] : options_.roles)
    if (count > 0) add(role.c_str(), count, cluster_.roles[role]);
  add("chief", 1, cluster_.chief);
  make_credentials();
  for (auto& each : tasks_) {
    each.environment = options_.environment;
    if (secret_) each.environment.emplace(secret_variable, secret_->path());
    if (certificates_) each.environment.merge(certificates_->environment_of(each.id.job));
    each.environment["TF_CONFIG"] = to_tf_config({cluster_, each.id});
    if (!is_chosen(progress_variable)) each.environment[progress_variable] = "lines";
  }
  // The chief's bar passes through a pipe and then stands behind its name, so it is told what it cannot see.
  if (!options_.is_terminal[static_cast<std::size_t>(output_stream::standard_error)]) return;
  auto& chief = tasks_.back();
  if (!is_chosen(progress_variable)) chief.environment[progress_variable] = "bar";
  const auto columns = terminal_columns(STDERR_FILENO) - static_cast<int>(chief.name.size() + prefix_extra_columns);
  chief.environment["COLUMNS"] = std::to_string(std::max(columns, 1));
}

void launcher::implementation::make_credentials() {
  if (!options_.tls) {
    if (!is_chosen(secret_variable)) secret_.emplace();
    return;
  }
  for (const auto* const variable : {tls_certificate_variable, tls_key_variable, tls_authority_variable})
    if (is_chosen(variable))
      throw invalid_argument_error{
          fmt::format("certificates are to be made for this job, and {} names another one; "
                      "unset it, or start the processes without --tls",
                      variable)};
  std::set<std::string> jobs;
  std::set<std::string> hosts{"localhost", "127.0.0.1"};
  for (const auto& each : tasks_) {
    jobs.insert(each.id.job);
    hosts.insert(cluster_.address(each.id).host);
  }
  const auto* const cluster = std::getenv(cluster_variable);
  certificates_.emplace(cluster != nullptr && *cluster != '\0' ? cluster : "job", jobs,
                        std::vector<std::string>{hosts.begin(), hosts.end()});
}

/// By the user, who has the last word.
bool launcher::implementation::is_chosen(const char* variable) const {
  return std::getenv(variable) != nullptr || options_.environment.contains(variable);
}

int launcher::implementation::run(const std::function<milliseconds()>& turn) {
  outlive_readers();
  signals_.emplace(std::initializer_list<int>{SIGINT, SIGTERM, SIGHUP});
  start();
  while (poll_once(turn ? turn() : std::chrono::hours{1})) {
  }
  signals_.reset();
  return exit_code_.value_or(EXIT_FAILURE);
}

void launcher::implementation::start() {
  if (phase_ != phase::idle) throw failed_precondition_error{"the launcher has been started before; make a new one"};
  try {
    for (auto& each : tasks_) launch(each);
  } catch (...) {
    for (auto& each : tasks_) each.process.reset();
    throw;
  }
  enter(phase::running, milliseconds::max());
}

void launcher::implementation::launch(task& which) {
  which.started_at = clock::now();
  auto command = which.launcher;
  command.push_back(program_path_);
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  which.process.emplace(
      child_process_options{command.front(), {command.begin() + 1, command.end()}, which.environment});
}

bool launcher::implementation::poll_once(milliseconds timeout) {
  if (phase_ == phase::idle) throw failed_precondition_error{"the launcher has not been started; call start() first"};
  if (phase_ == phase::ended) return false;
  wait_for_events(timeout);
  handle_signals();
  for (auto& each : tasks_) {
    if (each.process) read_output(each);
  }
  // The chief first: when it has ended, the others lose their connection to it, and that is no reason to restart them.
  for (auto each = tasks_.rbegin(); each != tasks_.rend(); ++each) collect_end(*each);
  check_reader();
  start_due_tasks();
  advance_phase();
  return phase_ != phase::ended;
}

void launcher::implementation::wait_for_events(milliseconds timeout) {
  std::vector<pollfd> watched;
  if (signals_) watched.push_back({signals_->descriptor_number(), POLLIN, 0});
  auto wake = phase_end_;
  for (auto& each : tasks_) {
    if (each.restart_at) wake = std::min(wake, *each.restart_at);
    if (!each.process) continue;
    // poll() ignores the descriptors of streams that are closed: they are -1.
    watched.push_back({each.process->pid_descriptor(), POLLIN, 0});
    watched.push_back({each.process->standard_output().get(), POLLIN, 0});
    watched.push_back({each.process->standard_error().get(), POLLIN, 0});
  }
  if (wake != clock::time_point::max()) {
    const auto left = std::chrono::ceil<milliseconds>(wake - clock::now());
    timeout = std::clamp(left, milliseconds::zero(), timeout);
  }
  const auto count = std::min<milliseconds::rep>(timeout.count(), INT_MAX);
  ::poll(watched.data(), watched.size(), static_cast<int>(count));
}

void launcher::implementation::handle_signals() {
  while (signals_) {
    const auto signal = signals_->next();
    if (!signal) return;
    // The programs of run() know SIGTERM and SIGINT as an orderly end, and so do most others.
    request_stop(*signal == SIGHUP ? SIGTERM : *signal);
  }
}

/// Reads what has come, at most one block of each stream, so that no task starves the others.
/// Returns whether there may be more.
bool launcher::implementation::read_output(task& which) {
  const auto more_output = read_block(which, output_stream::standard_output);
  const auto more_error = read_block(which, output_stream::standard_error);
  return more_output || more_error;
}

bool launcher::implementation::read_block(task& which, output_stream stream) {
  auto& file =
      stream == output_stream::standard_output ? which.process->standard_output() : which.process->standard_error();
  if (!file) return false;
  std::array<char, 32 * 1024> block;
  const auto count = ::read(file.get(), block.data(), block.size());
  if (count == 0) file.reset();
  if (count <= 0) return false;
  which.lines[static_cast<std::size_t>(stream)].feed({block.data(), static_cast<std::size_t>(count)},
                                                     [&](line_splitter::kind kind, std::string_view text) {
                                                       console_.show(stream, which.name, which.colour, kind, text);
                                                     });
  return true;
}

void launcher::implementation::collect_end(task& which) {
  if (!which.process) return;
  const auto status = which.process->poll();
  if (!status) return;
  for (auto blocks = 0; blocks < blocks_after_end_max && read_output(which); ++blocks) {
  }
  for (const auto stream : {output_stream::standard_output, output_stream::standard_error}) {
    which.lines[static_cast<std::size_t>(stream)].finish([&](line_splitter::kind kind, std::string_view text) {
      console_.show(stream, which.name, which.colour, kind, text);
    });
  }
  which.process.reset();
  if (which.id.job == "chief") {
    on_chief_end(*status);
  } else if (which.is_replaced) {
    which.is_replaced = false;
    if (phase_ == phase::running) which.restart_at = clock::now();
  } else if (which.is_down) {
    // Until it is brought back.
  } else if (phase_ == phase::running && !status->success()) {
    on_failure(which, to_string(*status));
  }
}

void launcher::implementation::on_chief_end(const exit_status& status) {
  exit_code_ = status.shell_code();
  // Nobody but this launcher has told it to end.
  if (lacks_workers_ && stop_requests_ == 0 && exit_code_ == 128 + SIGTERM) exit_code_ = EXIT_FAILURE;
  if (phase_ != phase::running && phase_ != phase::asking) return;
  if (phase_ == phase::running && !status.success()) report(fmt::format("chief ended: {}", to_string(status)));
  enter(phase::leaving, options_.leave_grace);
}

void launcher::implementation::on_failure(task& which, std::string_view reason) {
  if (clock::now() - which.started_at >= options_.restart_reset_time) which.restarts = 0;
  if (which.restarts >= options_.restarts_max) {
    report(fmt::format("{} ended: {}; not started again, as it has been {} times", which.name, reason, which.restarts));
    check_workers_left();
    return;
  }
  // 2^20 delays are beyond any maximum, and the shift stays defined.
  const auto delay = std::min(options_.restart_delay * (1 << std::min(which.restarts, 20)), options_.restart_delay_max);
  ++which.restarts;
  which.restart_at = clock::now() + delay;
  report(fmt::format("{} ended: {}; starting it again in {} ms ({} of {})", which.name, reason, delay.count(),
                     which.restarts, options_.restarts_max));
}

void launcher::implementation::start_due_tasks() {
  if (phase_ != phase::running) return;
  const auto now = clock::now();
  for (auto& each : tasks_) {
    if (!each.restart_at || *each.restart_at > now) continue;
    each.restart_at.reset();
    try {
      launch(each);
    } catch (const error& e) {
      on_failure(each, e.message());
    }
  }
}

void launcher::implementation::take_down(const task_id& id) {
  auto& which = find(id);
  if (id.job == "chief") throw invalid_argument_error{"the chief can't be taken down: its end is the job's"};
  if (!which.process || which.is_down || which.is_replaced)
    throw failed_precondition_error{fmt::format("{} does not run", which.name)};
  which.process->signal(SIGKILL);
  which.is_down = true;
}

void launcher::implementation::bring_back(const task_id& id) {
  auto& which = find(id);
  if (!which.is_down) throw failed_precondition_error{fmt::format("{} was not taken down", which.name)};
  which.is_down = false;
  if (which.process)
    which.is_replaced = true;
  else if (phase_ == phase::running)
    which.restart_at = clock::now();
}

/// Without a worker the chief would wait for one that never comes.
void launcher::implementation::check_workers_left() {
  for (const auto& each : tasks_) {
    if (each.id.job == "worker" && (each.process || each.restart_at || each.is_down)) return;
  }
  report("no worker is left; stopping the job");
  lacks_workers_ = true;
  stop_in_order(SIGTERM);
}

/// A program whose reader is gone ends by its next line (`program | head`), and so does a job.
void launcher::implementation::check_reader() {
  if (!is_unread_ || phase_ != phase::running) return;
  report("nobody reads the output any more; stopping the job");
  stop_in_order(SIGTERM);
}

void launcher::implementation::request_stop(int signal) {
  if (phase_ == phase::idle || phase_ == phase::ended) return;
  if (++stop_requests_ == 1) return stop_in_order(signal);
  signal_all(SIGKILL);
  enter(phase::killing, kill_grace);
}

void launcher::implementation::stop_in_order(int signal) {
  // Who has been asked to end would take it for a second signal.
  if (phase_ != phase::running && phase_ != phase::leaving) return;
  // The others end with the chief, in order: what it does last may need them.
  auto& chief = tasks_.back();
  if (phase_ == phase::running && chief.process) {
    chief.process->signal(signal);
    chief.process->signal(SIGCONT);  // a stopped process hears nothing else
    enter(phase::asking, options_.stop_grace);
    return;
  }
  signal_all(signal);
  signal_all(SIGCONT);
  enter(phase::stopping, options_.stop_grace);
}

void launcher::implementation::advance_phase() {
  if (!any_alive() && phase_ != phase::running) {
    phase_ = phase::ended;
    return;
  }
  if (clock::now() < phase_end_) return;
  switch (phase_) {
    case phase::leaving:
      report_left("has not ended with the chief; asking it to, with SIGTERM");
      signal_all(SIGTERM);
      signal_all(SIGCONT);
      enter(phase::stopping, options_.stop_grace);
      break;
    case phase::asking:
    case phase::stopping:
      report_left("has not ended within its grace time; killing it");
      signal_all(SIGKILL);
      enter(phase::killing, kill_grace);
      break;
    default:
      report("a process does not end although it was killed; giving up on it");
      phase_ = phase::ended;
  }
}

void launcher::implementation::enter(phase next, milliseconds limit) {
  phase_ = next;
  phase_end_ = next == phase::running ? clock::time_point::max() : clock::now() + limit;
  if (next == phase::running) return;
  for (auto& each : tasks_) each.restart_at.reset();
}

void launcher::implementation::signal_all(int signal) {
  for (auto& each : tasks_) {
    if (each.process) each.process->signal(signal);
  }
}

void launcher::implementation::report_left(std::string_view what) {
  for (const auto& each : tasks_)
    if (each.process) report(fmt::format("{} {}", each.name, what));
}

bool launcher::implementation::any_alive() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const task& each) { return each.process.has_value(); });
}

void launcher::implementation::report(std::string_view text) {
  console_.show(output_stream::standard_error, "troupe", tasks_.size(), line_splitter::kind::line, text);
}

void launcher::implementation::write(output_stream stream, std::string_view text) {
  if (options_.output) {
    options_.output(stream, text);
    return;
  }
  const auto file = stream == output_stream::standard_output ? STDOUT_FILENO : STDERR_FILENO;
  const auto interrupt = signals_ ? signals_->descriptor_number() : -1;
  const auto patience = phase_ == phase::running ? milliseconds{-1} : output_patience;
  is_unread_ = !write_text(file, text, interrupt, patience) || is_unread_;
}

launcher::implementation::task& launcher::implementation::find(const task_id& id) {
  for (auto& each : tasks_) {
    if (each.id == id) return each;
  }
  throw invalid_argument_error{fmt::format("the cluster has no task {}; it has 1 chief, {} workers and {} servers (ps)",
                                           to_string(id), options_.workers, options_.servers)};
}

launcher::launcher(launcher_options options) : implementation_(std::make_unique<implementation>(std::move(options))) {}

launcher::~launcher() = default;

int launcher::run(const std::function<milliseconds()>& turn) { return implementation_->run(turn); }

void launcher::start() { implementation_->start(); }

bool launcher::poll_once(milliseconds timeout) { return implementation_->poll_once(timeout); }

void launcher::request_stop(int signal) { implementation_->request_stop(signal); }

std::optional<int> launcher::exit_code() const noexcept { return implementation_->exit_code_; }

const cluster_spec& launcher::cluster() const noexcept { return implementation_->cluster_; }

std::optional<pid_t> launcher::pid(const task_id& task) const {
  const auto& process = implementation_->find(task).process;
  return process ? std::optional{process->pid()} : std::nullopt;
}

int launcher::restarts(const task_id& task) const { return implementation_->find(task).restarts; }

void launcher::kill(const task_id& task, int signal) {
  auto& process = implementation_->find(task).process;
  if (process) process->signal(signal);
}

void launcher::take_down(const task_id& task) { implementation_->take_down(task); }

void launcher::bring_back(const task_id& task) { implementation_->bring_back(task); }

void launcher::say(std::string_view line) { implementation_->report(line); }

}  // namespace troupe
