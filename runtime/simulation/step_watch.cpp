#include <troupe/actors/fibers/crash_report.hpp>
#include <troupe/actors/fibers/internal/signal_safe_text.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/simulation/step_watch.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace troupe {

namespace {

int alarm_signal() { return SIGRTMAX - 1; }

void handle(int, siginfo_t* info, void*) {
  const auto before = errno;
  static_cast<step_watch*>(info->si_value.sival_ptr)->look();
  errno = before;
}

void install_handler() {
  struct sigaction mine {};
  mine.sa_sigaction = handle;
  mine.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESTART);
  ::sigaction(alarm_signal(), &mine, nullptr);
}

::timespec timespec_of(std::chrono::nanoseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  return {.tv_sec = seconds.count(), .tv_nsec = (time - seconds).count()};
}

}  // namespace

step_watch::step_watch(std::uint64_t seed, std::chrono::nanoseconds limit) : seed_(seed), limit_(limit) {
  if (limit_ < std::chrono::nanoseconds::zero())
    throw invalid_argument_error{"world_options::step_limit is negative; it must be positive, or zero for none"};
  if (limit_ == std::chrono::nanoseconds::zero()) return;
  install_handler();
  prepare_crash_report();
  ::sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = alarm_signal();
  event.sigev_value.sival_ptr = this;
  event._sigev_un._tid = ::gettid();
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0)
    throw resource_exhausted_error{fmt::format("no timer for a simulation: {}", std::strerror(errno))};
  const ::itimerspec each{.it_interval = timespec_of(limit_), .it_value = timespec_of(limit_)};
  ::timer_settime(timer_, 0, &each, nullptr);
}

step_watch::~step_watch() {
  // What it has sent before comes with the return of this call at the latest.
  if (limit_ != std::chrono::nanoseconds::zero()) ::timer_delete(timer_);
}

void step_watch::look() {
  const auto* const host = host_.load(std::memory_order_relaxed);
  const auto begun = begun_.load(std::memory_order_relaxed);
  if (host != nullptr && begun == seen_) end_process(*host);
  seen_ = host != nullptr ? begun : 0;
}

void step_watch::end_process(const std::string& host) const {
  signal_safe_text text;
  const auto* const function = describe_running_fiber().function;
  text << "troupe: with seed " << seed_ << " a step of the simulation on " << host << " has not ended within "
       << static_cast<std::size_t>(std::chrono::duration_cast<std::chrono::milliseconds>(limit_).count())
       << " ms of real time (world_options::step_limit): "
       << (function == nullptr ? "what runs there" : std::string_view{function})
       << " loops, or waits for what no simulation has: a std::mutex that a fiber holds, a thread, a socket\n";
  text.write_to_stderr();
  std::abort();
}

}  // namespace troupe
