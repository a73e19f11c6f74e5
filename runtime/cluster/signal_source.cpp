#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <mutex>
#include <thread>

#include <sys/eventfd.h>
#include <unistd.h>

namespace troupe {

namespace {

/// What the handler looks at: it may neither lock nor follow what grows.
struct heard_signals {
  std::array<std::atomic<signal_source*>, signal_source::sources_max> sources{};
  /// Handlers that run right now.
  std::atomic<int> handlers{0};
};
constinit heard_signals heard;

/// What was there before the first source of each signal, and how many sources it has.
struct former_actions {
  std::mutex mutex;
  std::array<struct sigaction, NSIG> actions{};
  std::array<int, NSIG> sources{};
};
constinit former_actions former;

constexpr std::uint64_t bit_of(int signal) { return std::uint64_t{1} << (signal - 1); }

struct sigaction action_with(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  return action;
}

struct sigaction action_of(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action;
}

template <class Work>
void for_each_signal(std::uint64_t signals, Work work) {
  for (; signals != 0; signals &= signals - 1) work(std::countr_zero(signals) + 1);
}

}  // namespace

signal_source::signal_source(std::initializer_list<int> signals) : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_) {
    throw resource_exhausted_error{"no file descriptor for signals; raise the limit of open files (ulimit -n)"};
  }
  const std::scoped_lock lock{former.mutex};
  for (const auto number : signals)
    if (action_of(number).sa_handler != SIG_IGN) watched_ |= bit_of(number);
  take_place();
  const auto mine = action_with(handle);
  sigset_t let_through;
  ::sigemptyset(&let_through);
  for_each_signal(watched_, [&](int number) {
    const auto index = static_cast<std::size_t>(number);
    if (former.sources[index]++ == 0) ::sigaction(number, &mine, &former.actions[index]);
    ::sigaddset(&let_through, number);
  });
  ::pthread_sigmask(SIG_UNBLOCK, &let_through, &mask_before_);
}

void signal_source::take_place() {
  const auto place =
      std::find_if(heard.sources.begin(), heard.sources.end(), [](const auto& each) { return each == nullptr; });
  if (place == heard.sources.end())
    throw resource_exhausted_error{
        fmt::format("{} parts of this process listen for signals already, and no more can", sources_max)};
  *place = this;
}

signal_source::~signal_source() {
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  {
    const std::scoped_lock lock{former.mutex};
    for_each_signal(watched_, [](int number) {
      const auto index = static_cast<std::size_t>(number);
      if (--former.sources[index] == 0) ::sigaction(number, &former.actions[index], nullptr);
    });
    *std::find(heard.sources.begin(), heard.sources.end(), this) = nullptr;
  }
  // One that has begun may still look at this object. It only notes a bit and writes eight bytes.
  while (heard.handlers != 0) std::this_thread::yield();
}

void signal_source::handle(int number) {
  const auto reason = errno;
  ++heard.handlers;
  for (const auto& each : heard.sources)
    if (auto* const source = each.load()) source->hear(number);
  --heard.handlers;
  errno = reason;
}

void signal_source::hear(int number) {
  if ((watched_ & bit_of(number)) == 0) return;
  arrived_ |= bit_of(number);
  ::eventfd_write(wake_.get(), 1);
}

std::optional<int> signal_source::next() {
  for (;;) {
    if (const auto arrived = arrived_.load(); arrived != 0) {
      const auto number = std::countr_zero(arrived) + 1;
      arrived_ &= ~bit_of(number);
      const auto now = std::chrono::steady_clock::now();
      if (number == last_ && now - last_at_ < repetition) continue;
      last_ = number;
      last_at_ = now;
      return number;
    }
    // A signal between this look and the next one leaves the descriptor readable.
    eventfd_t ignored = 0;
    if (::eventfd_read(wake_.get(), &ignored) != 0) return std::nullopt;
  }
}

void outlive_readers() {
  const auto now = action_of(SIGPIPE);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  // A program that is executed would begin with SIG_IGN, too.
  const auto nothing = action_with([](int) {});
  ::sigaction(SIGPIPE, &nothing, nullptr);
}

}  // namespace troupe
