#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/actors/fibers/internal/signal_safe_text.hpp>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

std::atomic<bool> reports{false};

std::string_view name_of(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGABRT:
      return "SIGABRT";
    case SIGFPE:
      return "SIGFPE";
    default:
      return "SIGILL";
  }
}

/// A frame may reach over the guard page by a little.
bool is_overflow(const running_fiber_report& fiber, const siginfo_t& info) {
  constexpr std::uintptr_t reach = std::uintptr_t{64} << 10;
  const auto begin = reinterpret_cast<std::uintptr_t>(fiber.stack_begin);
  const auto fault = reinterpret_cast<std::uintptr_t>(info.si_addr);
  return fault < begin && begin - fault <= reach;
}

void handle(int signal, siginfo_t* info, void*) {
  const auto fiber = describe_running_fiber();
  signal_safe_text text;
  text << "troupe: ";
  if (fiber.stack_begin == nullptr) {
    text << name_of(signal) << " ends this process; the thread that it came to runs no closure\n";
  } else {
    if ((signal == SIGSEGV || signal == SIGBUS) && is_overflow(fiber, *info))
      text << "a fiber overflowed its stack of " << fiber.stack_bytes / 1024
           << " KiB; raise stack_bytes (worker_options.fibers, replica options), or put less on it. ";
    text << name_of(signal) << " ends this process, which runs "
         << (fiber.function == nullptr ? "a function of the program" : fiber.function) << "\n";
  }
  text.write_to_stderr();
  // The handler is no more: a fault comes again with the return, and so does abort's, which this thread has sent to
  // itself. What somebody else has sent does not.
  const auto is_own_abort = signal == SIGABRT && info->si_code == SI_TKILL;
  if (info->si_code <= 0 && !is_own_abort) ::raise(signal);
}

constexpr std::array crashes{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

bool is_handled(int signal) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  return (before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL;
}

void report(int signal) {
  struct sigaction mine {};
  mine.sa_sigaction = handle;
  mine.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  ::sigaction(signal, &mine, nullptr);
}

/// A thread's.
class alternate_stack {
 public:
  alternate_stack() {
    place_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (place_ == MAP_FAILED) return;
    const stack_t mine{.ss_sp = place_, .ss_flags = 0, .ss_size = bytes};
    stack_t before{};
    ::sigaltstack(nullptr, &before);
    // Somebody else has given this thread one.
    if ((before.ss_flags & SS_DISABLE) != 0) ::sigaltstack(&mine, nullptr);
  }
  ~alternate_stack() {
    if (place_ == MAP_FAILED) return;
    stack_t now{};
    ::sigaltstack(nullptr, &now);
    const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
    if (now.ss_sp == place_) ::sigaltstack(&none, nullptr);
    ::munmap(place_, bytes);
  }
  alternate_stack(const alternate_stack&) = delete;

 private:
  static constexpr std::size_t bytes = std::size_t{64} << 10;
  void* place_ = MAP_FAILED;
};

}  // namespace

void report_crashes() {
  if (reports.exchange(true)) return;
  for (const auto signal : crashes)
    if (!is_handled(signal)) report(signal);
}

void report_crashes_of_fork() {
  reports = true;
  for (const auto signal : crashes) report(signal);
}

void prepare_crash_report() {
  if (!reports.load(std::memory_order_relaxed)) return;
  static thread_local const alternate_stack stack;
  (void)stack;
}

}  // namespace troupe
