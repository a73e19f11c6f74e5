#include <troupe/device/base/error.hpp>
#include <troupe/runtime/bulk/bulk_socket.hpp>
#include <troupe/runtime/door/acceptor.hpp>
#include <troupe/runtime/door/descriptor_limit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <mutex>
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

acceptor_options completed(acceptor_options options) {
  constexpr std::size_t connections_most = 4096;
  if (options.first_words_limit <= std::chrono::nanoseconds::zero())
    throw invalid_argument_error{"first_words_limit is not positive"};
  if (options.strangers_max == 0) throw invalid_argument_error{"strangers_max is 0; expected 1 or more"};
  raise_descriptor_limit();
  const auto descriptors = descriptor_limit();
  options.strangers_max = std::clamp<std::size_t>(descriptors / 4, 1, options.strangers_max);
  if (options.connections_max == 0)
    options.connections_max = std::clamp<std::size_t>(descriptors / 2, 1, connections_most);
  return options;
}

/// The loop of all acceptors that there are now.
std::shared_ptr<bulk_event_loop> shared_loop() {
  static std::mutex mutex;
  static std::weak_ptr<bulk_event_loop> last;
  const std::scoped_lock lock{mutex};
  if (auto running = last.lock()) return running;
  auto started = std::make_shared<bulk_event_loop>();
  started->start("door");
  last = started;
  return started;
}

/// Runs `work` in the loop's thread, and waits for it.
template <class Work>
void run_in(bulk_event_loop& loop, Work work) {
  const auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  auto ended = task->get_future();
  loop.post([task] { (*task)(); });
  ended.get();
}

bool is_readable(int socket) {
  pollfd asked{socket, POLLIN, 0};
  return ::poll(&asked, 1, 0) != 0;  // also when poll() itself has too few descriptors
}

descriptor open_spare() { return descriptor{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

}  // namespace

acceptor::acceptor(const std::string& host, std::uint16_t port, first_words judge, take give, acceptor_options options)
    : options_(completed(options)),
      judge_(std::move(judge)),
      give_(std::move(give)),
      loop_(shared_loop()),
      open_(options_.connections_max) {
  auto listening = listen_on(host, port);
  port_ = bound_port(listening.get());
  refusals_ = std::make_unique<refusals>(fmt::format("\"{}\" port {}", host, port_));
  run_in(*loop_, [&] {
    spare_ = open_spare();
    listener_ = std::make_unique<watched_socket>(*loop_, std::move(listening), EPOLLIN,
                                                 [this](bulk_event_loop::events) { accept_some(); });
    if (options_.upkeep) keep_up();
  });
}

acceptor::~acceptor() {
  run_in(*loop_, [this] {
    listener_.reset();
    loop_->cancel(end_of_pause_);
    loop_->cancel(next_upkeep_);
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
    if (auto accepted = accept_next(listener_->get())) {
      receive(std::move(accepted));
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
  if (!strangers_.empty()) {
    displace_oldest();
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

void acceptor::receive(descriptor accepted) {
  ++accepted_;
  // Most have spoken by the time they are accepted.
  std::size_t seen = 0;
  switch (examine(accepted.get(), seen)) {
    case finding::right:
      return hand_over(std::move(accepted));
    case finding::wrong:
      return refusals_->add(refusal::wrong_words);
    case finding::gone:
      ++left_;
      return;
    case finding::undecided:
      return add_stranger(std::move(accepted), seen);
  }
}

// --- strangers ------------------------------------------------------------------------------------------------------

void acceptor::add_stranger(descriptor accepted, std::size_t seen) {
  if (strangers_.size() >= options_.strangers_max) displace_oldest();
  const auto number = ++last_stranger_;
  const auto ready = [this, number](bulk_event_loop::events happened) {
    const auto entry = strangers_.find(number);
    const auto found = examine(entry->second.socket->get(), entry->second.seen_bytes);
    // It says no more.
    const auto is_over = (happened & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    settle(entry, is_over && found == finding::undecided ? finding::gone : found);
  };
  stranger added;
  added.seen_bytes = seen;
  try {
    // what is looked at stays there, so a level would be reported for ever; an edge is, once, when more comes.
    added.socket = std::make_unique<watched_socket>(*loop_, std::move(accepted), EPOLLIN | EPOLLRDHUP | EPOLLET, ready);
  } catch (const resource_exhausted_error&) {
    return refusals_->add(refusal::no_descriptor);
  }
  added.limit = loop_->at(time_after(options_.first_words_limit),
                          [this, number] { close(strangers_.find(number), refusal::silent); });
  strangers_.emplace(number, std::move(added));
}

acceptor::finding acceptor::examine(int socket, std::size_t& seen) {
  const auto count = ::recv(socket, peeked_.data(), peeked_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count == 0) return finding::gone;
  if (count < 0) return errno == EAGAIN || errno == EINTR ? finding::undecided : finding::gone;
  const auto there = static_cast<std::size_t>(count);
  if (there == seen) return finding::undecided;
  seen = there;
  switch (judge_(std::span{peeked_}.first(there))) {
    case verdict::welcome:
      return finding::right;
    case verdict::refuse:
      return finding::wrong;
    case verdict::wait_for_more:
      break;
  }
  return there < peeked_.size() ? finding::undecided : finding::wrong;
}

void acceptor::settle(strangers::iterator entry, finding found) {
  switch (found) {
    case finding::undecided:
      return;
    case finding::wrong:
      return close(entry, refusal::wrong_words);
    case finding::gone:
      ++left_;
      break;
    case finding::right:
      break;
  }
  loop_->cancel(entry->second.limit);
  auto connection = entry->second.socket->release();
  strangers_.erase(entry);
  if (found == finding::right) hand_over(std::move(connection));
}

void acceptor::displace_oldest() {
  const auto oldest = strangers_.begin();
  // It may have spoken, and only its turn has not come yet.
  const auto found = examine(oldest->second.socket->get(), oldest->second.seen_bytes);
  if (found == finding::undecided) return close(oldest, refusal::displaced);
  settle(oldest, found);
}

void acceptor::close(strangers::iterator entry, refusal why) {
  refusals_->add(why);
  loop_->cancel(entry->second.limit);
  strangers_.erase(entry);
}

// --- those who are welcome ------------------------------------------------------------------------------------------

void acceptor::hand_over(descriptor connection) {
  if (!open_.has_room()) return refusals_->add(refusal::over_limit);
  open_.add(connection.get());
  ++welcomed_;
  give_(std::move(connection));
}

std::unique_ptr<acceptor> open_acceptor(const std::string& host, std::uint16_t port, const acceptor::first_words& judge,
                                        const acceptor::take& give, const acceptor_options& options) {
  if (!host.empty() && host != "0.0.0.0") return std::make_unique<acceptor>(host, port, judge, give, options);
  try {
    return std::make_unique<acceptor>("::", port, judge, give, options);
  } catch (const already_exists_error&) {
    throw;
  } catch (const error&) {
    return std::make_unique<acceptor>("0.0.0.0", port, judge, give, options);
  }
}

}  // namespace troupe
