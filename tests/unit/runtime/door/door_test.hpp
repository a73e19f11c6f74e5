// What the tests of doors have in common: a host whose protocol begins with "HELLO\n", and visitors.
#pragma once

#include <troupe/runtime/door/acceptor.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace door_test {

using namespace std::chrono_literals;
using troupe::acceptor;
using troupe::acceptor_counts;
using troupe::acceptor_options;
using troupe::descriptor;
using troupe::first_words;

/// Longer than anything here takes, so that a hang fails instead of hanging.
inline constexpr auto patience = 20s;
inline constexpr std::string_view greeting = "HELLO\n";

/// Whether it holds within the patience of a test.
template <class Condition>
bool comes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

inline first_words::verdict judge_greeting(std::span<const std::byte> peeked) {
  const auto compared = std::min(peeked.size(), greeting.size());
  if (std::memcmp(peeked.data(), greeting.data(), compared) != 0) return first_words::verdict::refuse;
  return compared == greeting.size() ? first_words::verdict::welcome : first_words::verdict::wait_for_more;
}

/// Keeps the connections that its door hands over.
class host {
 public:
  explicit host(acceptor_options options = {}, first_words::judge judge = judge_greeting)
      : door_(std::make_unique<acceptor>("127.0.0.1", std::uint16_t{0},
                                         first_words::receive(
                                             [this, judge = std::move(judge)](std::span<const std::byte> peeked) {
                                               ++judged_;
                                               return judge(peeked);
                                             },
                                             [this](descriptor taken) {
                                               const std::scoped_lock lock{mutex_};
                                               taken_.push_back(std::move(taken));
                                             }),
                                         options)),
        port_(door_->port()) {}
  host(const host&) = delete;

  std::uint16_t port() const { return port_; }
  acceptor_counts counts() const { return door_->counts(); }
  void close_door() { door_.reset(); }
  /// How often first words were looked at.
  int judged() const { return judged_; }
  std::size_t taken() const {
    const std::scoped_lock lock{mutex_};
    return taken_.size();
  }
  /// The connection that came first of those that are there.
  descriptor first() {
    const std::scoped_lock lock{mutex_};
    auto result = std::move(taken_.front());
    taken_.erase(taken_.begin());
    return result;
  }

 private:
  std::atomic<int> judged_{0};
  mutable std::mutex mutex_;
  std::vector<descriptor> taken_;
  std::unique_ptr<acceptor> door_;
  const std::uint16_t port_;
};

/// Another process's end of a connection.
class visitor {
 public:
  /// The descriptor is there from the beginning, also for a later visit().
  visitor() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) { BOOST_REQUIRE(socket_); }
  explicit visitor(const host& whom) : visitor() { visit(whom); }
  visitor(const host& whom, std::string_view words) : visitor(whom) { say(words); }

  /// Over as soon as the kernel has the connection, whether or not it was accepted. `from` is an address of this
  /// machine, such as 127.0.0.2, by which a host tells its peers apart.
  void visit(const host& whom, const std::string& from = "127.0.0.1") { visit(whom.port(), from); }
  void visit(std::uint16_t port, const std::string& from = "127.0.0.1") {
    const auto own = troupe::resolve(from, 0).front();
    BOOST_REQUIRE(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own.storage), own.length) == 0);
    const auto address = troupe::resolve("127.0.0.1", port).front();
    BOOST_REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
  }
  /// False when the connection is over.
  bool say(std::string_view words, int flags = 0) {
    return ::send(socket_.get(), words.data(), words.size(), flags | MSG_NOSIGNAL) > 0;
  }
  /// Says no more.
  void finish() { ::shutdown(socket_.get(), SHUT_WR); }
  /// Closes in a way that the other side hears as an error.
  void break_off() {
    const linger none{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
    socket_.reset();
  }
  /// Whether the host closes the connection, without having said a word, within the patience of a test.
  bool is_closed() {
    timeval limit{.tv_sec = std::chrono::seconds{patience}.count(), .tv_usec = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    char word = 0;
    const auto count = ::recv(socket_.get(), &word, 1, 0);
    return count == 0 || (count < 0 && errno != EAGAIN);
  }
  bool is_open() {
    char word = 0;
    return ::recv(socket_.get(), &word, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  descriptor socket_;
};

/// What this process has computed so far.
inline std::chrono::microseconds computing_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto all = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return all(used.ru_utime) + all(used.ru_stime);
}

/// At most this many descriptors, for one scope.
class descriptors_limited_to {
 public:
  explicit descriptors_limited_to(std::size_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    auto limited = before_;
    limited.rlim_cur = most;
    ::setrlimit(RLIMIT_NOFILE, &limited);
  }
  ~descriptors_limited_to() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  descriptors_limited_to(const descriptors_limited_to&) = delete;

 private:
  rlimit before_{};
};

/// Takes all descriptors that there are, for one scope.
class all_descriptors {
 public:
  all_descriptors() {
    // Some higher than those in use, so that it does not take long.
    descriptor highest{::dup(STDIN_FILENO)};
    limited_ = std::make_unique<descriptors_limited_to>(static_cast<std::size_t>(highest.get()) + 64);
    held_.push_back(std::move(highest));
    while (auto next = descriptor{::dup(STDIN_FILENO)}) held_.push_back(std::move(next));
  }

 private:
  std::unique_ptr<descriptors_limited_to> limited_;
  std::vector<descriptor> held_;
};

}  // namespace door_test
