#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/visit.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>

namespace troupe {

/// The attempts for one connect, and what is said on the one that has succeeded.
struct tcp_connector::race {
  task_address where;
  duration limit;
  visitor_words words;
  connected done;
  std::vector<socket_address> addresses;
  std::map<std::uint64_t, std::unique_ptr<watched_socket>> attempts;
  std::uint64_t begun = 0;
  /// Of the last attempt that failed.
  int reason = 0;
  event_loop::timer next{};
  event_loop::timer deadline{};
  std::unique_ptr<visit> visiting;
};

tcp_connector::tcp_connector(tcp_connector_options options, name_lookup look_up)
    : options_(options), look_up_(std::move(look_up)) {}

tcp_connector::~tcp_connector() {
  if (!loop_) return;
  loop_->stop();
  while (!races_.empty())
    finish(races_.begin()->first, {}, {}, {status_code::cancelled, "the process no longer connects to others"});
}

tcp_connector& tcp_connector::of_process() {
  static auto& one = *new tcp_connector;
  return one;
}

void tcp_connector::connect(const task_address& where, duration limit, visitor_words words, connected done) {
  try {
    const std::scoped_lock lock{mutex_};
    if (!loop_) {
      auto loop = std::make_shared<event_loop>();
      loop->start("connect");
      loop_ = std::move(loop);
    }
  } catch (...) {
    return done({}, {}, status_of(std::current_exception()));
  }
  loop_->post(
      [this, where, limit, words = std::move(words), done = std::move(done)] { begin(where, limit, words, done); });
}

void tcp_connector::begin(const task_address& where, duration limit, visitor_words words, connected done) {
  const auto number = ++last_number_;
  auto& started = races_[number];
  started =
      std::make_unique<race>(race{.where = where, .limit = limit, .words = std::move(words), .done = std::move(done)});
  const auto deadline = time_after(limit);
  started->deadline = loop_->at(deadline, [this, number] { give_up(number); });
  look_up_(loop_, where.host, where.port, deadline,
           [this, number](std::vector<socket_address> addresses, const status& why) {
             const auto found = races_.find(number);
             if (found == races_.end()) return;
             if (addresses.empty()) return finish(number, {}, {}, why);
             found->second->addresses = std::move(addresses);
             attempt(number);
           });
}

std::string tcp_connector::what_did_not_answer(const race& of) {
  if (of.visiting) return "what listens there does not say whether this process may enter";
  if (of.addresses.empty()) return "the name service is slow or silent; check it, or use addresses in numbers";
  return "its host is off or cut off, or a firewall is between";
}

void tcp_connector::give_up(std::uint64_t number) {
  const auto& of = *races_.at(number);
  finish(number, {}, {},
         {status_code::deadline_exceeded, fmt::format("{} did not answer within {} ms: {}", to_string(of.where),
                                                      in_milliseconds(of.limit), what_did_not_answer(of))});
}

void tcp_connector::attempt(std::uint64_t number) {
  auto& of = *races_.at(number);
  of.next = loop_->at(time_after(options_.attempt_interval), [this, number] { attempt(number); });
  const auto which = of.begun++;
  const auto& address = of.addresses[which % of.addresses.size()];
  try {
    if (of.attempts.size() >= options_.attempts_max) of.attempts.erase(std::next(of.attempts.begin()));
    if (auto socket = start_connecting(address)) {
      of.attempts.emplace(which, std::make_unique<watched_socket>(
                                     *loop_, std::move(socket), EPOLLOUT,
                                     [this, number, which](event_loop::events) { attempt_ended(number, which); }));
      return;
    }
    of.reason = errno;
  } catch (const error&) {
    of.reason = EMFILE;
  }
  attempt_failed(number);
}

void tcp_connector::attempt_ended(std::uint64_t number, std::uint64_t attempt) {
  auto& of = *races_.at(number);
  auto socket = of.attempts.extract(attempt).mapped()->release();
  of.reason = connect_error(socket.get());
  if (of.reason != 0) return attempt_failed(number);
  if (!of.words) return finish(number, channel{std::move(socket)}, {}, {});
  visit_host(number, std::move(socket));
}

void tcp_connector::visit_host(std::uint64_t number, descriptor socket) {
  auto& of = *races_.at(number);
  loop_->cancel(of.next);
  of.attempts.clear();
  try {
    of.visiting = std::make_unique<visit>(*loop_, std::move(socket), of.words(),
                                          [this, number](channel entered, const door_hello& host, const status& why) {
                                            const auto& where = races_.at(number)->where;
                                            finish(number, std::move(entered), host,
                                                   why.ok() ? why : why.wrap("the door at " + to_string(where)));
                                          });
  } catch (...) {
    finish(number, {}, {}, status_of(std::current_exception()));
  }
}

/// An address that refuses is given up when the host has no other, so that the caller hears of it soon.
void tcp_connector::attempt_failed(std::uint64_t number) {
  auto& of = *races_.at(number);
  if (of.begun < of.addresses.size()) {
    loop_->cancel(of.next);
    return attempt(number);
  }
  if (!of.attempts.empty()) return;
  finish(number, {}, {},
         {status_code::unavailable,
          fmt::format("no connection to {}: {}", to_string(of.where), std::strerror(of.reason))});
}

void tcp_connector::finish(std::uint64_t number, channel opened, const door_hello& host, const status& why) {
  const auto over = races_.extract(number);
  loop_->cancel(over.mapped()->next);
  loop_->cancel(over.mapped()->deadline);
  over.mapped()->done(std::move(opened), host, why);
}

}  // namespace troupe
