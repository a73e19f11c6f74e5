// Rounds (staged_communicator.hpp) as messages between all pairs of ranks.
//
// G-1 A rank that waits for a message of another one wakes up when it comes, when that one's farewell comes, when the
//     connection breaks, when this communicator is aborted, and when the deadline passes.
// G-2 So the first failure reaches all: who is alive is waiting, perhaps through others, for the one that failed; those
//     who see it first say farewell to all with its name, and the others hear that instead of waiting for them.
// G-3 gloo's timeouts are not used while others depend on this rank: they would break all connections, and the others
//     could not tell a rank that is late from one that is lost. The deadline interrupts the wait instead.
// G-4 A message that has come counts, whatever came after it: who does all that was needed and then leaves, or gives up
//     for another reason, harms nobody.
// G-5 A message of round s is known to be out when the other's message of round s + 1 is here. So memory may be written
//     again for round s + 2, and nobody ever waits for sending alone.
#include <troupe/device/base/internal/pipe_signal_guard.hpp>
#include <troupe/device/collectives/gloo_communicator.hpp>
#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/internal/deadline_watch.hpp>
#include <troupe/device/collectives/internal/gloo_mesh.hpp>
#include <troupe/device/collectives/internal/gloo_messages.hpp>
#include <troupe/device/collectives/internal/staged_communicator.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gloo/common/error.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using namespace std::chrono_literals;
using gloo::transport::UnboundBuffer;

constexpr auto forever = std::chrono::hours{24 * 365};
/// For what is still on its way when an end is destroyed: data to ranks that work, farewells to ranks that may be lost.
constexpr auto flush_time_max = 2s;
constexpr auto farewell_time_max = 100ms;
/// For other ranks to say what they know.
constexpr auto hearsay_time = 20ms;

class gloo_communicator final : public staged_communicator {
 public:
  gloo_communicator(int rank, int size, std::shared_ptr<gloo::Context> context);
  ~gloo_communicator() override;

  void abort(status why) noexcept override {
    end(why.ok() ? status{status_code::aborted, "the group was aborted without a reason"} : std::move(why));
  }
  std::optional<status> broken() const override {
    const std::scoped_lock lock{mutex_};
    return broken_;
  }

 protected:
  void begin(const collective& call) override;
  std::byte* outgoing_to_all() override { return to_all_[(round_ + 1) % 2]->content(); }
  std::byte* outgoing_to(int to) override { return at(to).outgoing[(round_ + 1) % 2]->content(); }
  void exchange(pattern which, std::size_t bytes, clock::time_point deadline) override;
  const std::byte* incoming(int from) const override { return at(from).incoming->content(round_); }

 private:
  using outbox_pair = std::array<std::unique_ptr<gloo_messages::outbox>, 2>;
  struct peer {
    std::unique_ptr<gloo_messages::inbox> incoming;
    outbox_pair outgoing;
    /// One for each: what one connection's end does to a buffer would end the wait for the others.
    std::unique_ptr<UnboundBuffer> parting_out;
    bool parts = false;
    /// Messages that have come whole, the farewell among them.
    std::uint64_t arrived = 0;
  };

  static capacities capacities_of(int size);
  static outbox_pair make_outboxes(gloo::Context& context, std::size_t bytes_max);
  peer& at(int rank) { return peers_[static_cast<std::size_t>(rank)]; }
  const peer& at(int rank) const { return peers_[static_cast<std::size_t>(rank)]; }
  template <class Function>
  void for_others(Function f);

  void send_round(pattern which, std::size_t bytes);
  void send_to(int other, gloo_messages::outbox& from, std::size_t bytes);
  void receive_from(int other);
  bool has_come(int other);
  void wait_for(int other);
  void stop_waiting() noexcept;
  void take_arrivals(int other) noexcept;
  void check_message(int from);
  void finish_previous_round();

  void interrupt_late_call();
  void end(const status& why) noexcept;
  void say_farewell() noexcept;
  void flush() noexcept;
  [[noreturn]] void fail(const status& why);
  [[noreturn]] void fail_late(int other);
  [[noreturn]] void fail_lost(int other, const char* what);

  std::shared_ptr<gloo::Context> context_;
  std::vector<peer> peers_;  // by rank; nothing for this one
  outbox_pair to_all_;
  std::uint64_t round_ = 0;
  collective call_;

  mutable std::mutex mutex_;  // of what follows, and of sending
  std::optional<status> broken_;
  UnboundBuffer* waits_for_ = nullptr;
  bool late_ = false;
  gloo_messages::farewell parting_ = {};

  deadline_watch watch_;
};

staged_communicator::capacities gloo_communicator::capacities_of(int size) {
  // Messages large enough for the wire, in memory that does not grow with the number of ranks beyond reason.
  constexpr std::size_t memory = 8 << 20;
  const auto message = std::clamp<std::size_t>(memory / static_cast<std::size_t>(size), 64 * 1024, 1 << 20);
  return {.to_all = message / 512 * 512, .to_each = message / 512 * 512, .small = 32 * 1024};
}

gloo_communicator::outbox_pair gloo_communicator::make_outboxes(gloo::Context& context, std::size_t bytes_max) {
  return {std::make_unique<gloo_messages::outbox>(context, bytes_max),
          std::make_unique<gloo_messages::outbox>(context, bytes_max)};
}

template <class Function>
void gloo_communicator::for_others(Function f) {
  for (auto other = 0; other < size(); ++other) {
    if (other != rank()) f(other);
  }
}

gloo_communicator::gloo_communicator(int rank, int size, std::shared_ptr<gloo::Context> context)
    : staged_communicator(rank, size, capacities_of(size)),
      context_(std::move(context)),
      peers_(static_cast<std::size_t>(size)),
      watch_([this] { interrupt_late_call(); }) {
  const pipe_signal_guard guard;
  const auto room = capacities_of(size);
  to_all_ = make_outboxes(*context_, room.to_all);
  for_others([&](int other) {
    at(other).outgoing = make_outboxes(*context_, room.to_each);
    at(other).parting_out = context_->createUnboundBuffer(&parting_, sizeof(parting_));
    at(other).incoming = std::make_unique<gloo_messages::inbox>(*context_, other, std::max(room.to_all, room.to_each));
    at(other).incoming->expect(round_ + 1);
  });
}

gloo_communicator::~gloo_communicator() {
  // Who leaves a group that works says nothing: that might overtake what others still wait for. They see the end of the
  // connection after everything else.
  flush();
}

void gloo_communicator::begin(const collective& call) {
  if (const auto why = broken()) throw_status(*why);
  call_ = call;
}

// --- a round ---------------------------------------------------------------------------------------------------------

void gloo_communicator::exchange(pattern which, std::size_t bytes, clock::time_point deadline) {
  const pipe_signal_guard guard;
  ++round_;
  {
    const std::scoped_lock lock{mutex_};
    late_ = false;
  }
  watch_.arm(deadline);
  try {
    send_round(which, bytes);
    for_others([&](int other) { receive_from(other); });
  } catch (...) {
    watch_.disarm();
    throw;
  }
  watch_.disarm();
  finish_previous_round();
}

void gloo_communicator::send_round(pattern which, std::size_t bytes) {
  const gloo_messages::header head{.round = round_, .call = call_};
  auto& shared = *to_all_[round_ % 2];
  shared.write(head);
  for_others([&](int other) {
    auto& own = *at(other).outgoing[round_ % 2];
    if (which == pattern::to_each) own.write(head);
    send_to(other, which == pattern::to_each ? own : shared, bytes);
  });
}

void gloo_communicator::send_to(int other, gloo_messages::outbox& from, std::size_t bytes) {
  try {
    const std::scoped_lock lock{mutex_};
    if (broken_) throw_status(*broken_);  // nothing may follow a farewell
    at(other).incoming->expect(round_ + 1);
    from.send(other, bytes);
  } catch (const gloo::Exception& failure) {
    fail_lost(other, failure.what());
  }
}

void gloo_communicator::receive_from(int other) {
  try {
    while (!has_come(other)) wait_for(other);
  } catch (const gloo::Exception& failure) {
    // gloo says first that the connection has ended, and then what had come before.
    stop_waiting();
    take_arrivals(other);
    if (!has_come(other)) fail_lost(other, failure.what());
  }
  check_message(other);
}

/// Whether the message of this round is here. Throws the other one's farewell if that is here instead.
bool gloo_communicator::has_come(int other) {
  const auto& from = at(other);
  if (from.arrived < round_) return false;
  if (from.arrived > round_ || !from.incoming->has_parting()) return true;
  // Of as many arrivals as there were rounds one may be the farewell. If the message has begun, the other is to come.
  if (!from.incoming->has(round_)) fail(from.incoming->parting());
  return false;
}

/// Until something comes of the other one, perhaps only an interruption that was meant for a call before.
void gloo_communicator::wait_for(int other) {
  auto& arrivals = at(other).incoming->arrivals();
  std::unique_lock lock{mutex_};
  if (broken_) throw_status(*broken_);
  if (!late_) {
    waits_for_ = &arrivals;
    lock.unlock();
    const auto come = arrivals.waitRecv(nullptr, forever);
    lock.lock();
    waits_for_ = nullptr;
    if (come) {
      ++at(other).arrived;
      return;
    }
    if (broken_) throw_status(*broken_);
  }
  const auto late = late_;
  lock.unlock();
  if (late) fail_late(other);
}

void gloo_communicator::check_message(int from) {
  const auto& come = at(from).incoming->head(round_);
  if (come.call != call_) fail(calls_differ(call_, from, come.call));
}

void gloo_communicator::finish_previous_round() {
  const auto previous = (round_ + 1) % 2;
  to_all_[previous]->finish(forever);
  for_others([&](int other) { at(other).outgoing[previous]->finish(forever); });
}

// --- ending ----------------------------------------------------------------------------------------------------------

void gloo_communicator::interrupt_late_call() {
  const std::scoped_lock lock{mutex_};
  late_ = true;
  if (waits_for_ != nullptr) waits_for_->abortWaitRecv();
}

void gloo_communicator::end(const status& why) noexcept {
  const pipe_signal_guard guard;
  const std::scoped_lock lock{mutex_};
  if (broken_) return;
  broken_ = why;
  if (waits_for_ != nullptr) waits_for_->abortWaitRecv();
  say_farewell();
}

void gloo_communicator::say_farewell() noexcept {
  parting_ = gloo_messages::encode(*broken_);
  for_others([&](int other) {
    try {
      at(other).parting_out->send(other, gloo_messages::farewells);
      at(other).parts = true;
    } catch (const std::exception&) {
      // That rank is lost: it needs no farewell.
    }
  });
}

/// Gives what is on its way a moment.
void gloo_communicator::flush() noexcept {
  try {
    if (!broken()) {
      for (auto each = 0U; each < to_all_.size(); ++each) {
        to_all_[each]->finish(flush_time_max);
        for_others([&](int other) { at(other).outgoing[each]->finish(flush_time_max); });
      }
    }
  } catch (const std::exception&) {
    // Who does not take it in time learns from the end of the connection that this rank is gone.
  }
  for_others([&](int other) {
    try {
      if (at(other).parts) at(other).parting_out->waitSend(nullptr, farewell_time_max);
    } catch (const std::exception&) {
      // That rank is lost, the next one may not be.
    }
  });
}

void gloo_communicator::fail(const status& why) {
  end(why);
  throw_status(*broken());
}

void gloo_communicator::fail_late(int other) {
  const auto absent = [&] {
    std::vector<int> ranks{other};
    for_others([&](int each) {
      if (each > other && !at(each).incoming->has(round_)) ranks.push_back(each);
    });
    return ranks;
  };
  // Of several, most are only waiting for one of the others, in the round before. They are late just now, too, and know
  // better whose fault it is.
  for (const auto until = clock::now() + hearsay_time; absent().size() > 1 && clock::now() < until;) {
    for_others([&](int each) {
      if (at(each).incoming->has_parting()) fail(at(each).incoming->parting());
    });
    std::this_thread::sleep_for(1ms);
  }
  const auto ranks = absent();
  fail({status_code::deadline_exceeded,
        fmt::format("rank {} has waited for {} until its limit, but rank{} {} did not come", rank(), to_string(call_),
                    ranks.size() > 1 ? "s" : "", fmt::join(ranks, ", "))});
}

void gloo_communicator::fail_lost(int other, const char* what) {
  stop_waiting();
  take_arrivals(other);
  if (at(other).incoming->has_parting()) fail(at(other).incoming->parting());
  fail({status_code::unavailable,
        fmt::format("rank {} is lost during {}: {}; make a new group of the ranks that are left", other,
                    to_string(call_), what)});
}

void gloo_communicator::stop_waiting() noexcept {
  const std::scoped_lock lock{mutex_};
  waits_for_ = nullptr;
}

/// Of a rank whose connection has ended: counts what had come before.
void gloo_communicator::take_arrivals(int other) noexcept {
  try {
    while (at(other).incoming->arrivals().waitRecv(nullptr, 0ms)) ++at(other).arrived;
  } catch (const std::exception&) {
    // That was all.
  }
}

}  // namespace

std::unique_ptr<communicator> make_gloo_communicator(rendezvous_store& store, const std::string& address, int rank,
                                                     int size, std::chrono::nanoseconds limit) {
  if (size < 1 || rank < 0 || rank >= size) {
    throw invalid_argument_error{
        fmt::format("rank {} of a group of {}: expected at least one rank, numbered from 0", rank, size)};
  }
  const auto deadline = deadline_after(limit, "connecting");
  return std::make_unique<gloo_communicator>(rank, size, connect_gloo_mesh(store, address, rank, size, deadline));
}

}  // namespace troupe
