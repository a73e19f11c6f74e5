#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/descriptor_limit.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace troupe {

namespace {

/// The kernel needs this long for SIGKILL only when the process hangs in a system call that cannot be interrupted.
constexpr std::chrono::seconds kill_wait_max{10};

/// The exit code of a child whose end another part of the process has collected.
constexpr int exit_code_unknown = 255;

struct pipe_ends {
  descriptor read;
  descriptor write;
};

[[noreturn]] void throw_no_descriptor() {
  throw resource_exhausted_error{fmt::format(
      "no file descriptor for a child process: {}; raise the limit of open files (ulimit -n)", std::strerror(errno))};
}

/// Moves a descriptor out of the range 0 to 2, which it may get when this process was started with one of them closed
/// and in which the child's dup2 calls would overwrite it.
descriptor above_standard(descriptor given) {
  if (given.get() > STDERR_FILENO) return given;
  descriptor moved{::fcntl(given.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
  if (!moved) throw_no_descriptor();
  return moved;
}

pipe_ends make_pipe() {
  std::array<int, 2> numbers{};
  if (::pipe2(numbers.data(), O_CLOEXEC) != 0) throw_no_descriptor();
  descriptor read{numbers[0]};
  descriptor write{numbers[1]};
  return {above_standard(std::move(read)), above_standard(std::move(write))};
}

descriptor open_null() {
  descriptor null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  if (!null) throw_no_descriptor();
  return above_standard(std::move(null));
}

/// Everything that the child touches between fork and exec, made before: there it may neither allocate nor lock.
struct exec_plan {
  std::string path;
  std::vector<char*> arguments;
  std::vector<std::string> environment_storage;
  std::vector<char*> environment;
  pid_t parent = 0;
  int standard_input = -1;
  int standard_output = -1;
  int standard_error = -1;
  rlimit descriptors{};
  int failure = -1;  ///< where the errno of a failed exec goes
};

std::vector<std::string> merged_environment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> merged;
  for (auto** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text{*entry};
    if (!additions.contains(std::string{text.substr(0, text.find('='))})) merged.emplace_back(text);
  }
  for (const auto& [name, value] : additions) merged.push_back(fmt::format("{}={}", name, value));
  return merged;
}

void reset_signals() {
  struct sigaction fallback = {};
  fallback.sa_handler = SIG_DFL;
  for (auto number = 1; number < NSIG; ++number) ::sigaction(number, &fallback, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// The child's side of fork: only async-signal-safe calls, because another thread of the parent may have held any
/// lock at the moment of the fork.
[[noreturn]] void become_program(const exec_plan& plan) {
  reset_signals();
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have died before prctl; then nobody will send the signal.
  if (::getppid() != plan.parent) ::_exit(127);
  ::dup2(plan.standard_input, STDIN_FILENO);
  ::dup2(plan.standard_output, STDOUT_FILENO);
  ::dup2(plan.standard_error, STDERR_FILENO);
  // Descriptors of other parts of this process stay out of the child; kernels before 5.11 do not know the flag.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  ::setrlimit(RLIMIT_NOFILE, &plan.descriptors);
  ::execve(plan.path.c_str(), plan.arguments.data(), plan.environment.data());
  const auto reason = errno;
  [[maybe_unused]] const auto written = ::write(plan.failure, &reason, sizeof(reason));
  ::_exit(127);
}

/// Forks with all signals blocked, so that no handler of the parent runs in the child.
pid_t fork_into(const exec_plan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const auto pid = ::fork();
  if (pid == 0) become_program(plan);
  const auto reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    throw resource_exhausted_error{
        fmt::format("\"{}\" cannot be started: {}; raise the limit of processes (ulimit -u) "
                    "or of memory",
                    plan.path, std::strerror(reason))};
  }
  return pid;
}

/// The errno that the child sent; 0 when the pipe was closed by a successful exec.
int read_failure(int pipe) {
  int reason = 0;
  ssize_t count = 0;
  do {
    count = ::read(pipe, &reason, sizeof(reason));
  } while (count < 0 && errno == EINTR);
  return count == sizeof(reason) ? reason : 0;
}

[[noreturn]] void throw_exec_failure(const std::string& path, int reason) {
  const auto text = fmt::format("\"{}\" cannot be executed: {}", path, std::strerror(reason));
  if (reason == ENOEXEC) {
    throw failed_precondition_error{
        text + "; it must be a program for this machine, or a script whose first line names its interpreter (#!)"};
  }
  if (reason == ENOENT) throw not_found_error{text + "; the interpreter that it names does not exist"};
  if (reason == EACCES) throw permission_denied_error{text + "; make it executable with chmod +x"};
  throw failed_precondition_error{text};
}

bool is_file(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

void set_non_blocking(const descriptor& file) { ::fcntl(file.get(), F_SETFL, O_NONBLOCK); }

}  // namespace

std::string to_string(const exit_status& status) {
  if (!status.killed) return fmt::format("exit code {}", status.value);
  const auto* name = ::sigabbrev_np(status.value);
  return name != nullptr ? fmt::format("killed by SIG{}", name) : fmt::format("killed by signal {}", status.value);
}

std::string find_program(const std::string& name) {
  if (name.empty()) throw invalid_argument_error{"the program's name is empty; give a path or a name in PATH"};
  if (name.find('/') != std::string::npos) {
    if (!is_file(name)) throw not_found_error{fmt::format("the program \"{}\" is not a file; check the path", name)};
    if (::access(name.c_str(), X_OK) == 0) return name;
    throw permission_denied_error{fmt::format("the program \"{}\" is not executable; use chmod +x", name)};
  }
  const auto* variable = std::getenv("PATH");
  const std::string_view directories = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t begin = 0; begin <= directories.size();) {
    const auto end = std::min(directories.find(':', begin), directories.size());
    const auto directory = end == begin ? std::string_view{"."} : directories.substr(begin, end - begin);
    auto path = fmt::format("{}/{}", directory, name);
    if (is_file(path) && ::access(path.c_str(), X_OK) == 0) return path;
    begin = end + 1;
  }
  throw not_found_error{fmt::format(
      "the program \"{}\" is in no directory of PATH; for a file in this directory write ./{}", name, name)};
}

child_process::child_process(const child_process_options& options) {
  exec_plan plan;
  plan.path = find_program(options.program);
  plan.arguments.push_back(const_cast<char*>(options.program.c_str()));  // execve does not write to them
  for (const auto& argument : options.arguments) plan.arguments.push_back(const_cast<char*>(argument.c_str()));
  plan.arguments.push_back(nullptr);
  plan.environment_storage = merged_environment(options.environment);
  for (auto& entry : plan.environment_storage) plan.environment.push_back(entry.data());
  plan.environment.push_back(nullptr);
  plan.parent = ::getpid();
  plan.descriptors = descriptor_limit_for_children();

  const auto null = open_null();
  auto output = make_pipe();
  auto error = make_pipe();
  auto failure = make_pipe();
  plan.standard_input = null.get();
  plan.standard_output = output.write.get();
  plan.standard_error = error.write.get();
  plan.failure = failure.write.get();

  pid_ = fork_into(plan);
  failure.write.reset();
  if (const auto reason = read_failure(failure.read.get()); reason != 0) {
    ::waitpid(pid_, nullptr, 0);
    throw_exec_failure(plan.path, reason);
  }
  // glibc 2.36 declares pidfd_open without C linkage, so the system call is made directly. It sets close-on-exec.
  pid_descriptor_ = descriptor{static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0))};
  if (!pid_descriptor_) {
    const auto reason = errno;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    throw resource_exhausted_error{fmt::format(
        "no pid descriptor for \"{}\": {}; needs Linux 5.3 and a free descriptor", plan.path, std::strerror(reason))};
  }
  standard_output_ = std::move(output.read);
  standard_error_ = std::move(error.read);
  set_non_blocking(standard_output_);
  set_non_blocking(standard_error_);
}

child_process::~child_process() {
  if (!pid_descriptor_ || ended_) return;
  try {
    kill();
  } catch (const error&) {
    // It hangs in the kernel with SIGKILL pending; nothing more can be done, and a destructor must not throw.
  }
}

std::optional<exit_status> child_process::poll() {
  if (ended_) return ended_;
  siginfo_t info = {};
  const auto id = static_cast<id_t>(pid_descriptor_.get());
  if (::waitid(P_PIDFD, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    // Somebody else has reaped it, for example because this process ignores SIGCHLD: it has ended, nobody knows how.
    if (errno == ECHILD) ended_ = exit_status{false, exit_code_unknown};
    return ended_;
  }
  if (info.si_pid == 0) return std::nullopt;
  // Until it is reaped, the leader's pid names this group and no other: now is the moment to end what it left behind.
  ::kill(-pid_, SIGKILL);
  ::waitid(P_PIDFD, id, &info, WEXITED);
  ended_ = exit_status{info.si_code != CLD_EXITED, info.si_status};
  return ended_;
}

std::optional<exit_status> child_process::wait_for(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    if (auto status = poll()) return status;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    constexpr std::chrono::milliseconds slice_max{60'000};  // poll() counts in int
    pollfd watched{pid_descriptor_.get(), POLLIN, 0};
    ::poll(&watched, 1, static_cast<int>(std::min(left, slice_max).count()));
  }
}

void child_process::signal(int number) noexcept {
  if (!ended_) ::kill(-pid_, number);
}

exit_status child_process::terminate(std::chrono::milliseconds grace) {
  signal(SIGTERM);
  signal(SIGCONT);
  if (const auto status = wait_for(grace)) return *status;
  return kill();
}

exit_status child_process::kill() {
  signal(SIGKILL);
  if (const auto status = wait_for(kill_wait_max)) return *status;
  throw deadline_exceeded_error{fmt::format("process {} has not ended {} s after SIGKILL; it hangs in a system call",
                                            pid_, kill_wait_max.count())};
}

}  // namespace troupe
