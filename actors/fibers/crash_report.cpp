#include <troupe/actors/fibers/crash_report.hpp>

#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace troupe {

namespace {

std::atomic<bool> reports{false};

/// What a handler may do: no memory is taken, no lock.
class signal_safe_text {
 public:
  signal_safe_text& operator<<(std::string_view part) {
    const auto count = std::min(part.size(), text_.size() - size_);
    std::memcpy(text_.data() + size_, part.data(), count);
    size_ += count;
    return *this;
  }
  signal_safe_text& operator<<(std::size_t number) {
    std::array<char, 20> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return *this << std::string_view{digits.data(), static_cast<std::size_t>(end - digits.data())};
  }
  void write() const { (void)!::write(STDERR_FILENO, text_.data(), size_); }

 private:
  std::array<char, 4096> text_{};
  std::size_t size_ = 0;
};

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
  text.write();
  // The handler is no more: a fault comes again with the return, and so does abort's, which this thread has sent to
  // itself. What somebody else has sent does not.
  const auto is_own_abort = signal == SIGABRT && info->si_code == SI_TKILL;
  if (info->si_code <= 0 && !is_own_abort) ::raise(signal);
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
  for (const auto signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if ((before.sa_flags & SA_SIGINFO) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction mine {};
    mine.sa_sigaction = handle;
    mine.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
    ::sigaction(signal, &mine, nullptr);
  }
}

void prepare_crash_report() {
  if (!reports.load(std::memory_order_relaxed)) return;
  static thread_local const alternate_stack stack;
  (void)stack;
}

}  // namespace troupe
