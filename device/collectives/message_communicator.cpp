// Rounds (staged_communicator.hpp) as messages between all pairs of ranks.
//
// M-1 A rank that waits for a message of another one wakes up when it comes, when that one's farewell comes, when the
//     connection breaks, when this communicator is aborted, and when the deadline passes.
// M-2 So the first failure reaches all: who is alive is waiting, perhaps through others, for the one that failed; those
//     who see it first say farewell to all with its name, and the others hear that instead of waiting for them.
// M-3 A message that has come counts, whatever came after it: of a rank nothing is read beyond what this round needs.
//     Who does all that was needed and then leaves, or gives up for another reason, harms nobody.
// M-4 A round ends when this rank has all, and all of its own has gone to the kernel, so memory may be written again.
//     While a rank sends it receives, so two that send to each other don't wait for each other.
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/device/collectives/internal/rank_messages.hpp>
#include <troupe/device/collectives/internal/staged_communicator.hpp>
#include <troupe/device/collectives/message_communicator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using rank_messages::inbox;
using rank_messages::message_head;
using rank_messages::message_kind;
using rank_messages::outbox;

/// For a farewell on its way, to ranks that may be lost.
constexpr auto farewell_time_max = 100ms;
/// For other ranks to say what they know.
constexpr auto hearsay_time = 20ms;

class message_communicator final : public staged_communicator {
 public:
  message_communicator(int rank, std::vector<std::unique_ptr<byte_stream>> others);
  ~message_communicator() override;

  void abort(status why) noexcept override;
  std::optional<status> broken() const override {
    const std::scoped_lock lock{mutex_};
    return broken_;
  }

 protected:
  void begin(const collective& call) override;
  std::byte* outgoing_to_all() override { return to_all_.content(); }
  std::byte* outgoing_to(int to) override { return at(to).to_it->content(); }
  void exchange(pattern which, std::size_t bytes, clock::time_point deadline) override;
  const std::byte* incoming(int from) const override { return at(from).from_it->content(); }

 private:
  struct peer {
    std::unique_ptr<byte_stream> stream;
    std::optional<outbox> to_it;
    std::optional<inbox> from_it;
    /// What has not gone to the kernel.
    std::span<const std::byte> sending;
  };

  static capacities capacities_of(int size);
  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const peer& at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  template <class Function>
  void for_others(Function f);

  void enter_round();
  void leave_round();
  void offer();
  std::size_t content_bytes_of(int giver) const;
  bool moves_until(clock::time_point deadline);
  bool move();
  void send_to(int other);
  void receive_from(int other);
  void check_head(int from);
  bool wait_for_any(clock::time_point deadline);
  std::vector<int> absent();

  void say_farewell() noexcept;
  bool push(byte_stream& to, std::span<const std::byte>& from) noexcept;
  bool is_under_way() const noexcept;
  [[noreturn]] void fail(const status& why);
  [[noreturn]] void fail_late();
  [[noreturn]] void fail_lost(int other, int reason);

  std::vector<peer> peers_;  // by rank; nothing for this one
  outbox to_all_;
  collective call_;
  std::uint64_t round_ = 0;
  pattern pattern_ = pattern::to_all;
  std::size_t round_bytes_ = 0;
  const descriptor wake_;
  std::vector<pollfd> polled_;

  mutable std::mutex mutex_;  // of these
  std::optional<status> broken_;
  /// Who aborts leaves the connections to the thread that is in a round.
  bool is_in_round_ = false;
};

staged_communicator::capacities message_communicator::capacities_of(int size) {
  // Messages large enough for the wire, in memory that does not grow with the number of ranks beyond reason.
  constexpr std::size_t memory = 8 << 20;
  const auto message = std::clamp<std::size_t>(memory / static_cast<std::size_t>(size), 64 * 1024, 1 << 20);
  return {.to_all = message / 512 * 512, .to_each = message / 512 * 512, .small = 32 * 1024};
}

template <class Function>
void message_communicator::for_others(Function f) {
  for (auto other = 0; other < size(); ++other) {
    if (other != rank()) f(other);
  }
}

message_communicator::message_communicator(int rank, std::vector<std::unique_ptr<byte_stream>> others)
    : staged_communicator(rank, static_cast<int>(others.size()), capacities_of(static_cast<int>(others.size()))),
      peers_(others.size()),
      to_all_(capacities_of(size()).to_all),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_)
    throw resource_exhausted_error{fmt::format("rank {} can't be woken: {}; raise the limit of open files (ulimit -n)",
                                               rank, std::strerror(errno))};
  const auto room = capacities_of(size());
  for_others([&](int other) {
    auto& to = at(other);
    to.stream = std::move(others[static_cast<std::size_t>(other)]);
    to.to_it.emplace(room.to_each);
    to.from_it.emplace(std::max(room.to_all, room.to_each));
  });
}

message_communicator::~message_communicator() {
  // Who leaves a group that works says nothing: the others see the end of the connection after everything else. But a
  // socket in which something lies unread takes back with its end what is still on its way.
  if (!broken()) return;
  const auto until = clock::now() + farewell_time_max;
  while (is_under_way() && clock::now() < until) std::this_thread::sleep_for(1ms);
}

bool message_communicator::is_under_way() const noexcept {
  return std::ranges::any_of(peers_, [](const peer& each) {
    int bytes = 0;
    return each.stream != nullptr && ::ioctl(each.stream->socket(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
  });
}

void message_communicator::begin(const collective& call) {
  if (const auto why = broken()) throw_status(*why);
  call_ = call;
}

// --- a round ---------------------------------------------------------------------------------------------------------

void message_communicator::exchange(pattern which, std::size_t bytes, clock::time_point deadline) {
  enter_round();
  pattern_ = which;
  round_bytes_ = bytes;
  offer();
  // Of several that are late, most are only waiting for one of the others, in the round before. They are late just now,
  // too, and know better whose fault it is.
  const auto comes = moves_until(deadline) || (absent().size() > 1 && moves_until(clock::now() + hearsay_time));
  if (!comes) fail_late();
  leave_round();
}

void message_communicator::enter_round() {
  const std::scoped_lock lock{mutex_};
  if (broken_) throw_status(*broken_);
  is_in_round_ = true;
}

void message_communicator::leave_round() {
  {
    const std::scoped_lock lock{mutex_};
    is_in_round_ = false;
    if (!broken_) return;
  }
  say_farewell();
  throw_status(*broken_);
}

/// In the round that is on.
std::size_t message_communicator::content_bytes_of(int giver) const {
  return pattern_ == pattern::from_root && giver != call_.root ? 0 : round_bytes_;
}

void message_communicator::offer() {
  const message_head head{.round = ++round_, .content_bytes = content_bytes_of(rank()), .call = call_};
  const auto shared = to_all_.message(head);
  for_others([&](int other) {
    auto& to = at(other);
    to.sending = pattern_ == pattern::to_each ? to.to_it->message(head) : shared;
    to.from_it->clear();
  });
}

/// False: some are still to come.
bool message_communicator::moves_until(clock::time_point deadline) {
  while (!move()) {
    if (const auto why = broken()) fail(*why);
    if (!wait_for_any(deadline)) return move();
  }
  return true;
}

/// What can be moved now. True: that was all of this round.
bool message_communicator::move() {
  auto is_over = true;
  for_others([&](int other) {
    send_to(other);
    receive_from(other);
    is_over = is_over && at(other).sending.empty() && at(other).from_it->is_whole();
  });
  return is_over;
}

void message_communicator::send_to(int other) {
  auto& to = at(other);
  while (!to.sending.empty()) {
    const auto progress = to.stream->send_some(to.sending);
    if (progress.blocked) return;
    if (progress.broken) {
      // Perhaps it has said why, after its message of this round.
      if (to.from_it->is_whole()) to.from_it->clear();
      receive_from(other);
      fail_lost(other, progress.reason);
    }
    to.sending = to.sending.subspan(progress.bytes);
  }
}

void message_communicator::receive_from(int other) {
  auto& from = *at(other).from_it;
  if (from.is_whole()) return;
  const auto state = from.receive(*at(other).stream);
  if (state == inbox::state::malformed)
    fail({status_code::data_loss,
          fmt::format("rank {} sends what is no message of a group; run the same build everywhere", other)});
  if (from.head()) check_head(other);
  if (state == inbox::state::broken) fail_lost(other, from.reason());
}

void message_communicator::check_head(int other) {
  const auto& from = *at(other).from_it;
  const auto& head = *from.head();
  if (head.kind == message_kind::farewell) {
    if (from.is_whole()) fail(rank_messages::read_farewell({from.content(), head.content_bytes}));
    return;
  }
  if (head.call != call_) fail(calls_differ(call_, other, head.call));
  if (head.round != round_)
    fail({status_code::data_loss, fmt::format("rank {} is in round {} of the group, and rank {} in round {}", other,
                                              head.round, rank(), round_)});
  if (const auto expected = content_bytes_of(other); head.content_bytes != expected)
    fail({status_code::data_loss,
          fmt::format("rank {} gives {} bytes in a round of {}, and rank {} expects {}; run the same build everywhere",
                      other, head.content_bytes, to_string(call_), rank(), expected)});
}

/// False: the deadline has passed.
bool message_communicator::wait_for_any(clock::time_point deadline) {
  polled_.assign(1, {.fd = wake_.get(), .events = POLLIN, .revents = 0});
  for_others([&](int other) {
    const auto& each = at(other);
    const auto events = (each.sending.empty() ? 0 : POLLOUT) | (each.from_it->is_whole() ? 0 : POLLIN);
    if (events != 0)
      polled_.push_back({.fd = each.stream->socket(), .events = static_cast<short>(events), .revents = 0});
  });
  const auto left = deadline - clock::now();
  if (left <= clock::duration::zero()) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  return ::ppoll(polled_.data(), polled_.size(), &limit, nullptr) != 0;
}

/// Those whose message has not come, or who have not taken this rank's.
std::vector<int> message_communicator::absent() {
  std::vector<int> ranks;
  for_others([&](int other) {
    if (!at(other).from_it->is_whole() || !at(other).sending.empty()) ranks.push_back(other);
  });
  return ranks;
}

// --- ending ----------------------------------------------------------------------------------------------------------

void message_communicator::abort(status why) noexcept {
  {
    const std::scoped_lock lock{mutex_};
    if (broken_) return;
    broken_ = why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why);
    if (is_in_round_) {
      ::eventfd_write(wake_.get(), 1);
      return;
    }
  }
  say_farewell();
}

/// Once, by the thread that has the connections, when it is broken.
void message_communicator::say_farewell() noexcept {
  try {
    const auto words = rank_messages::farewell_of(*broken());
    std::vector<std::span<const std::byte>> left(peers_.size(), words);
    const auto until = clock::now() + farewell_time_max;
    while (clock::now() < until) {
      std::vector<pollfd> blocked;
      for_others([&](int other) {
        auto& to = at(other);
        // What has begun is ended first: the other side reads it.
        if (!push(*to.stream, to.sending) || !push(*to.stream, left[static_cast<std::size_t>(other)]))
          blocked.push_back({.fd = to.stream->socket(), .events = POLLOUT, .revents = 0});
      });
      if (blocked.empty()) return;
      ::poll(blocked.data(), blocked.size(), 10);
    }
  } catch (const std::exception&) {
    // Without memory for words the others see the connections end.
  }
}

/// False: some of it is still to go. A rank that is lost needs none.
bool message_communicator::push(byte_stream& to, std::span<const std::byte>& from) noexcept {
  while (!from.empty()) {
    const auto progress = to.send_some(from);
    if (progress.blocked) return false;
    from = progress.broken ? from.last(0) : from.subspan(progress.bytes);
  }
  return true;
}

void message_communicator::fail(const status& why) {
  {
    const std::scoped_lock lock{mutex_};
    if (!broken_) broken_ = why;
  }
  say_farewell();
  throw_status(*broken());
}

void message_communicator::fail_late() {
  const auto ranks = absent();
  fail({status_code::deadline_exceeded,
        fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank(), to_string(call_),
                    ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "))});
}

void message_communicator::fail_lost(int other, int reason) {
  fail({status_code::unavailable,
        fmt::format("rank {} is lost during {}: {}; make a new group of the ranks that are left", other,
                    to_string(call_), reason == 0 ? "it has closed its connection" : std::strerror(reason))});
}

}  // namespace

std::unique_ptr<communicator> make_message_communicator(int rank, std::vector<std::unique_ptr<byte_stream>> others) {
  const auto size = static_cast<int>(others.size());
  if (size < 1 || rank < 0 || rank >= size)
    throw invalid_argument_error{
        fmt::format("rank {} of a group of {}: expected at least one rank, numbered from 0", rank, size)};
  for (auto other = 0; other < size; ++other)
    if ((other == rank) != (others[static_cast<std::size_t>(other)] == nullptr))
      throw invalid_argument_error{
          fmt::format("rank {} of a group of {} needs a connection to each other rank, and none "
                      "to itself; that to rank {} is not as expected",
                      rank, size, other)};
  return std::make_unique<message_communicator>(rank, std::move(others));
}

}  // namespace troupe
