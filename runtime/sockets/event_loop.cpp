#include <troupe/device/base/error.hpp>
#include <troupe/runtime/sockets/event_loop.hpp>
#include <troupe/runtime/sockets/signals_blocked.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace troupe {

namespace {

constexpr std::uint64_t wake_number = 0;  // sockets count from 1

[[noreturn]] void throw_no_descriptor(int reason) {
  throw resource_exhausted_error{
      fmt::format("sockets cannot be watched: {}; raise the limit of open files (ulimit -n)", std::strerror(reason))};
}

}  // namespace

event_loop::event_loop() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_) throw_no_descriptor(errno);
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = wake_number;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) != 0) throw_no_descriptor(errno);
}

void event_loop::start(const char* name) {
  const signals_blocked during_start;
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& failed) {
    throw resource_exhausted_error{
        fmt::format("the thread that watches sockets cannot be started: {}; raise the limit of threads (ulimit -u)",
                    failed.what())};
  }
  ::pthread_setname_np(thread_.native_handle(), name);
}

void event_loop::stop() {
  {
    const std::scoped_lock lock{mutex_};
    stopping_ = true;
  }
  ::eventfd_write(wake_.get(), 1);
  assert(thread_.get_id() != std::this_thread::get_id());
  if (thread_.joinable()) thread_.join();
}

bool event_loop::post(std::function<void()> work) {
  {
    const std::scoped_lock lock{mutex_};
    if (stopping_) return false;
    posted_.push_back(std::move(work));
    if (posted_.size() > 1) return true;  // the loop was woken for the first one
  }
  ::eventfd_write(wake_.get(), 1);
  return true;
}

event_loop::timer event_loop::at(loop_clock::time_point when, std::function<void()> work) {
  const auto key = timer{when, ++last_number_};
  timers_.emplace(key, std::move(work));
  return key;
}

void event_loop::run() {
  for (;; ++round_) {
    run_posted();
    {
      const std::scoped_lock lock{mutex_};
      if (stopping_ && posted_.empty()) return;
    }
    fire_timers();
    wait();
  }
}

void event_loop::run_posted() {
  std::vector<std::function<void()>> works;
  {
    const std::scoped_lock lock{mutex_};
    works.swap(posted_);
  }
  for (const auto& work : works) work();
}

void event_loop::fire_timers() {
  const auto now = loop_clock::now();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    const auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

int event_loop::wait_limit_ms() const {
  if (timers_.empty()) return -1;
  // Rounded up: waking too early would spin until the timer is due.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - loop_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

void event_loop::wait() {
  std::array<epoll_event, 64> ready;
  const auto count = ::epoll_wait(epoll_.get(), ready.data(), ready.size(), wait_limit_ms());
  for (auto i = 0; i < count; ++i) {
    const auto event = ready[static_cast<std::size_t>(i)];
    const auto number = std::uint64_t{event.data.u64};  // a copy, because the struct is packed
    if (number == wake_number) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake_.get(), &ignored);
      continue;
    }
    // An earlier handler of this round may have closed the socket. The copy keeps a handler that closes its own alive.
    const auto found = handlers_.find(number);
    if (found == handlers_.end()) continue;
    const auto ready_now = found->second;
    (*ready_now)(event.events);
  }
}

watched_socket::watched_socket(event_loop& loop, descriptor socket, event_loop::events expected,
                               std::function<void(event_loop::events)> ready)
    : loop_(loop), socket_(std::move(socket)), number_(++loop.last_number_), expected_(expected) {
  auto handler = std::make_shared<event_loop::handler>(std::move(ready));
  epoll_event event = {};
  event.events = expected;
  event.data.u64 = number_;
  if (::epoll_ctl(loop.epoll_.get(), EPOLL_CTL_ADD, socket_.get(), &event) != 0) throw_no_descriptor(errno);
  loop.handlers_.emplace(number_, std::move(handler));
}

watched_socket::~watched_socket() { release(); }

descriptor watched_socket::release() {
  // Closing alone is not enough where a forked process shares the socket.
  if (socket_) ::epoll_ctl(loop_.epoll_.get(), EPOLL_CTL_DEL, socket_.get(), nullptr);
  loop_.handlers_.erase(number_);
  return std::exchange(socket_, descriptor{});
}

void watched_socket::expect(event_loop::events expected) noexcept {
  if (expected == expected_) return;
  epoll_event event = {};
  event.events = expected;
  event.data.u64 = number_;
  // Cannot fail for a socket that is being watched.
  ::epoll_ctl(loop_.epoll_.get(), EPOLL_CTL_MOD, socket_.get(), &event);
  expected_ = expected;
}

}  // namespace troupe
