#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/acceptor.hpp>
#include <troupe/runtime/door/descriptor_limit.hpp>
#include <troupe/runtime/sockets/socket.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <mutex>
#include <random>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace troupe {

namespace {

/// How long nothing is accepted when that fails, and nothing helps.
constexpr std::chrono::milliseconds accept_pause{100};
constexpr std::chrono::seconds upkeep_interval{1};
/// Then others of the loop have their turn.
constexpr int accepts_per_turn = 64;
/// Of TLS handshakes, each of which computes for a good part of a millisecond.
constexpr int steps_per_round = 8;

acceptor_options completed(acceptor_options options) {
  constexpr std::size_t connections_most = 4096;
  if (options.first_words_limit <= std::chrono::nanoseconds::zero())
    throw invalid_argument_error{"first_words_limit is not positive"};
  if (options.strangers_max == 0) throw invalid_argument_error{"strangers_max is 0; expected 1 or more"};
  if (options.handshakes_max == 0) throw invalid_argument_error{"handshakes_max is 0; expected 1 or more"};
  if (options.peer_connections_max == 0) throw invalid_argument_error{"peer_connections_max is 0; expected 1 or more"};
  raise_descriptor_limit();
  const auto descriptors = descriptor_limit();
  options.strangers_max = std::clamp<std::size_t>(descriptors / 8, 1, options.strangers_max);
  options.handshakes_max = std::clamp<std::size_t>(descriptors / 8, 1, options.handshakes_max);
  if (options.connections_max == 0)
    options.connections_max = std::clamp<std::size_t>(descriptors / 2, 1, connections_most);
  return options;
}

/// The loop of all acceptors that there are now.
std::shared_ptr<event_loop> shared_loop() {
  static std::mutex mutex;
  static std::weak_ptr<event_loop> last;
  const std::scoped_lock lock{mutex};
  if (auto running = last.lock()) return running;
  auto started = std::make_shared<event_loop>();
  started->start("door");
  last = started;
  return started;
}

/// Runs `work` in the loop's thread, and waits for it. There at once: whoever serves at one door may be the last to
/// hold what another one belongs to.
template <class Work>
void run_in(event_loop& loop, Work work) {
  if (loop.is_here()) return work();
  const auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  auto ended = task->get_future();
  loop.post([task] { (*task)(); });
  ended.get();
}

bool is_readable(int socket) {
  pollfd asked{socket, POLLIN, 0};
  return ::poll(&asked, 1, 0) != 0;  // also when poll() itself has too few descriptors
}

refusal refusal_of(const reception& wrong) { return wrong.lacks_room() ? refusal::over_limit : refusal::wrong_words; }

bool has_said_something(int socket) {
  char byte = 0;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

descriptor open_spare() { return descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

acceptor::acceptor(const std::string& host, std::uint16_t port, receptionist receives, acceptor_options options)
    : options_(completed(std::move(options))),
      receives_(std::move(receives)),
      loop_(shared_loop()),
      silent_(options_.strangers_max, std::random_device{}()),
      speaking_(options_.handshakes_max, std::random_device{}()),
      open_({.most = options_.connections_max,
             .per_peer_max = options_.peer_connections_max,
             .client_idle_max = options_.client_idle_max}) {
  auto listening = listen_on(host, port);
  port_ = bound_port(listening.get());
  refusals_ = std::make_unique<refusals>(fmt::format("\"{}\" port {}", host, port_));
  run_in(*loop_, [&] {
    spare_ = open_spare();
    listener_ = std::make_unique<watched_socket>(*loop_, std::move(listening), EPOLLIN,
                                                 [this](event_loop::events) { accept_some(); });
    if (options_.upkeep) keep_up();
  });
}

acceptor::~acceptor() {
  run_in(*loop_, [this] {
    listener_.reset();
    loop_->cancel(end_of_pause_);
    loop_->cancel(next_upkeep_);
    loop_->cancel(next_steps_);
    for (const auto& [number, each] : strangers_) loop_->cancel(each.limit);
    strangers_.clear();
  });
}

acceptor_counts acceptor::counts() const {
  return {.accepted = accepted_,
          .welcomed = welcomed_,
          .left = left_,
          .refused = refusals_->count(refusal::wrong_words),
          .timed_out = refusals_->count(refusal::silent),
          .displaced = refusals_->count(refusal::displaced),
          .over_limit = refusals_->count(refusal::over_limit),
          .without_descriptor = refusals_->count(refusal::no_descriptor)};
}

// --- accepting ------------------------------------------------------------------------------------------------------

void acceptor::accept_some() {
  for (auto turn = 0; turn < accepts_per_turn; ++turn) {
    socket_address from;
    if (auto accepted = accept_next(listener_->get(), &from)) {
      receive(std::move(accepted), network_of(from));
      continue;
    }
    const auto reason = errno;
    if (reason == EAGAIN) return;
    // The peer has given up meanwhile.
    if (reason == EINTR || reason == ECONNABORTED) continue;
    const auto lacks = reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM;
    // The kernel looks for a descriptor before it looks for a connection, and nobody goes for one that is not there.
    if (lacks && !is_readable(listener_->get())) return;
    // Another reason passes by itself, or never does: either way it must not keep this thread busy.
    if (!lacks || !make_descriptor_free()) return pause();
  }
}

bool acceptor::make_descriptor_free() {
  if (const auto any = silent_.size() > 0 ? silent_.any() : speaking_.any()) {
    displace(strangers_.find(*any));
    return true;
  }
  if (!spare_) spare_ = open_spare();
  if (!spare_) return false;
  spare_.reset();
  // Closed at once. Left in the queue, it would have the listener ready for ever.
  auto shed = accept_next(listener_->get());
  const auto is_shed = static_cast<bool>(shed);  // if not, another thread was quicker
  if (is_shed) {
    ++accepted_;
    refusals_->add(refusal::no_descriptor);
  }
  shed.reset();
  spare_ = open_spare();
  return is_shed;
}

void acceptor::pause() {
  listener_->expect(0);
  end_of_pause_ = loop_->at(time_after(accept_pause), [this] { listener_->expect(EPOLLIN); });
}

void acceptor::keep_up() {
  next_upkeep_ = loop_->at(time_after(upkeep_interval), [this] {
    options_.upkeep();
    keep_up();
  });
}

void acceptor::receive(descriptor accepted, std::string source) {
  ++accepted_;
  std::unique_ptr<reception> heard_by;
  try {
    heard_by = receives_();
  } catch (const error& failed) {  // such as a system without random numbers
    return refusals_->add(refusal::wrong_words, failed.message());
  }
  heard_by->ask_at(open_);
  // What is costly is begun when something has come.
  if (heard_by->is_costly()) return add_stranger(std::move(accepted), std::move(heard_by), std::move(source));
  // Most have spoken by the time they are accepted.
  switch (heard_by->hear(accepted.get())) {
    case finding::right:
      return hand_over(std::move(accepted), *heard_by);
    case finding::wrong:
      return refusals_->add(refusal_of(*heard_by), heard_by->reason());
    case finding::gone:
      ++left_;
      return;
    case finding::undecided:
      return add_stranger(std::move(accepted), std::move(heard_by), std::move(source));
  }
}

// --- strangers ------------------------------------------------------------------------------------------------------

void acceptor::add_stranger(descriptor accepted, std::unique_ptr<reception> heard_by, std::string source) {
  const auto has_begun = heard_by->has_begun();
  auto& kind = has_begun ? speaking_ : silent_;
  if (const auto other = kind.in_the_way_of(source)) displace(strangers_.find(*other));
  const auto number = ++last_stranger_;
  const auto ready = [this, number](event_loop::events happened) {
    const auto entry = strangers_.find(number);
    // It says no more.
    entry->second.has_hung_up |= (happened & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    hear_when_possible(entry);
  };
  stranger added;
  added.heard_by = std::move(heard_by);
  added.source = std::move(source);
  added.has_begun = has_begun;
  try {
    // what is looked at may stay there, so a level would be reported for ever; an edge is, once, when more comes.
    added.socket = std::make_unique<watched_socket>(*loop_, std::move(accepted), EPOLLIN | EPOLLRDHUP | EPOLLET, ready);
  } catch (const resource_exhausted_error&) {
    return refusals_->add(refusal::no_descriptor);
  }
  added.limit = loop_->at(time_after(options_.first_words_limit),
                          [this, number] { close(strangers_.find(number), refusal::silent); });
  kind.add(number, added.source);
  strangers_.emplace(number, std::move(added));
}

void acceptor::hear_when_possible(strangers::iterator entry) {
  const auto& which = entry->second;
  if (which.waits_for_step) return;
  if (which.heard_by->is_costly()) {
    // Its end alone is not worth a step.
    if (which.has_hung_up && !which.has_begun && !has_said_something(which.socket->get()))
      return settle(entry, finding::gone);
    if (!take_step()) return wait_for_step(entry);
  }
  hear(entry);
}

void acceptor::hear(strangers::iterator entry) {
  const auto found = entry->second.heard_by->hear(entry->second.socket->get());
  settle(entry, entry->second.has_hung_up && found == finding::undecided ? finding::gone : found);
}

void acceptor::settle(strangers::iterator entry, finding found) {
  switch (found) {
    case finding::undecided:
      if (entry->second.heard_by->has_begun()) count_as_begun(entry);
      return;
    case finding::wrong:
      return close(entry, refusal_of(*entry->second.heard_by), entry->second.heard_by->reason());
    case finding::gone:
      ++left_;
      take_out(entry);
      return;
    case finding::right:
      break;
  }
  const auto settled = take_out(entry);
  hand_over(settled.socket->release(), *settled.heard_by);
}

void acceptor::count_as_begun(strangers::iterator entry) {
  auto& [number, which] = *entry;
  if (which.has_begun) return;
  if (const auto other = speaking_.in_the_way_of(which.source)) displace(strangers_.find(*other));
  silent_.remove(number, which.source);
  speaking_.add(number, which.source);
  which.has_begun = true;
}

void acceptor::displace(strangers::iterator entry) {
  auto& which = entry->second;
  // It may have spoken, and only its turn has not come yet.
  if (which.heard_by->is_costly()) {
    if (!which.has_begun && has_said_something(which.socket->get())) return wait_for_step(entry);
  } else {
    const auto found = which.heard_by->hear(which.socket->get());
    if (found != finding::undecided || (!which.has_begun && which.heard_by->has_begun())) return settle(entry, found);
  }
  close(entry, refusal::displaced);
}

acceptor::stranger acceptor::take_out(strangers::iterator entry) {
  loop_->cancel(entry->second.limit);
  kind_of(entry->second).remove(entry->first, entry->second.source);
  return std::move(strangers_.extract(entry).mapped());
}

void acceptor::close(strangers::iterator entry, refusal why, const std::string& reason) {
  refusals_->add(why, reason);
  take_out(entry);
}

// --- steps that compute ---------------------------------------------------------------------------------------------

bool acceptor::take_step() {
  if (std::exchange(round_, loop_->round()) != round_) steps_ = 0;
  return steps_++ < steps_per_round;
}

/// What it has said is not judged yet, but it is not silent.
void acceptor::wait_for_step(strangers::iterator entry) {
  count_as_begun(entry);
  entry->second.waits_for_step = true;
  waiting_.push_back(entry->first);
  schedule_steps();
}

void acceptor::take_waiting_steps() {
  steps_are_due_ = false;
  while (!waiting_.empty()) {
    const auto entry = strangers_.find(waiting_.front());
    if (entry != strangers_.end() && !take_step()) break;
    waiting_.pop_front();
    if (entry == strangers_.end()) continue;
    entry->second.waits_for_step = false;
    hear(entry);
  }
  if (!waiting_.empty()) schedule_steps();
}

void acceptor::schedule_steps() {
  if (std::exchange(steps_are_due_, true)) return;
  // A timer that is due has its turn in the next round.
  next_steps_ = loop_->at(loop_clock::now(), [this] { take_waiting_steps(); });
}

// --- those who are welcome ------------------------------------------------------------------------------------------

void acceptor::hand_over(descriptor connection, reception& from) {
  if (const auto why = open_.check_room(from.owner()); !why.ok())
    return refusals_->add(refusal::over_limit, why.message());
  open_.add(connection.get(), from.owner());
  ++welcomed_;
  from.welcome(std::move(connection));
}

std::unique_ptr<acceptor> open_acceptor(const std::string& host, std::uint16_t port, const receptionist& receives,
                                        const acceptor_options& options) {
  if (!host.empty() && host != "0.0.0.0") return std::make_unique<acceptor>(host, port, receives, options);
  try {
    return std::make_unique<acceptor>("::", port, receives, options);
  } catch (const already_exists_error&) {
    throw;
  } catch (const error&) {
    return std::make_unique<acceptor>("0.0.0.0", port, receives, options);
  }
}

}  // namespace troupe
