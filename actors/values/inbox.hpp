// Messages in the order in which they were sent, although their bulk data arrive when they like.
//
// Problem: the tensors of a message are fetched beside it, so it can be handled only later than messages that were sent
// after it: a cancellation finds nothing to cancel, a closure finds no resource, a later write is undone by an earlier
// one. Solution: an inbox has a lane for each sender and session. Fetches start at once and run side by side, but what
// a lane holds is handed to its handlers strictly in the order of arrival; lanes don't wait for each other.
//
//   message: WAITING --its data are there, or failed; all before it in its lane are handed over--> handed over
//               |\__ `end` of its lane, or a limit of the lane: handed over with that status ______^
//                \__ the inbox is destroyed --> dropped
//
// IB-1 Messages of a lane are handed over in the order of `take`. IB-2 Each is handed over once, whole or with a status
// that says why not, in its place; only the end of the inbox itself drops what waits, so an actor that owes answers
// ends the lanes in its destructor. IB-3 What waits is bounded (`inbox_limits`): over a limit the whole lane ends.
// IB-4 A lane exists only while something waits in it. A lane that has ended may begin anew: whoever ends a session
// refuses its messages before `take`, which saves their fetches too.
//
// Who needs order:
//   worker           orders, cancellations and releases of a session: a lane for each session. What already runs is
//                    cancelled ahead of its turn
//   coordinator      outcomes of a session and its end: a lane for each session
//   shard            operations of one link of one client (V-1, variable_client.hpp): a lane for each link
//   RPC executor     calls are independent of each other, but not of their own cancellation and deadline: a lane for
//                    each call whose tensors are under way
// Who does not (`when_local`):
//   parameter server creates shards: nothing names a shard before its creation is answered
//   variable client  each answer is the only one to its batch, and batches have numbers
//   RPC client       each answer with tensors is alone in its message, and calls have numbers
// Replicas, merge barriers, event buses, members and groups take no tensors from other processes.
//
// Belongs to one actor.
#pragma once

#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/values/inbox_limits.hpp>
#include <troupe/actors/values/wire.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// The messages of one sender and session; see `inbox`.
class inbox_lane : public std::enable_shared_from_this<inbox_lane> {
 public:
  /// `given` is called with the reason to hand the message over unopened, or with ok.
  using hand_over = std::function<void(const status& why)>;

  inbox_lane(caf::scheduled_actor* self, const inbox_limits& limits, fiber_host* fibers, std::function<void()> emptied)
      : self_(self), limits_(limits), fibers_(fibers), emptied_(std::move(emptied)) {}

  /// Ok if one more message fits.
  status room_for(const std::shared_ptr<wire_arrival>& arrival) const;
  void push(std::shared_ptr<wire_arrival> arrival, hand_over given);
  /// Hands over everything that waits with this status.
  void end(const status& why);
  /// Nobody is told of anything any more.
  void drop();

  std::size_t size() const { return waiting_.size(); }

 private:
  struct entry {
    std::shared_ptr<wire_arrival> arrival;
    std::uint64_t size_bytes = 0;
    hand_over given;
  };
  void deliver();

  caf::scheduled_actor* self_;
  inbox_limits limits_;
  fiber_host* fibers_;
  std::function<void()> emptied_;
  std::deque<entry> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  bool delivering_ = false;
};

/// `Lane` names a sender and its session; it has an order.
template <class Lane>
class inbox {
 public:
  /// With `fibers`, what is handed over together is one turn of theirs: none of them begins before all of it is known,
  /// so that a cancellation which came in time is in time.
  inbox(caf::scheduled_actor* self, const inbox_limits& limits, fiber_host* fibers = nullptr)
      : self_(self), limits_(limits), fibers_(fibers) {}
  ~inbox() {
    for (auto& [_, lane] : lanes_) lane->drop();
  }
  inbox(const inbox&) = delete;
  inbox& operator=(const inbox&) = delete;

  /// Calls `handle(message, status)` in the actor, in the message's turn: at once when nothing waits before it and its
  /// data are there.
  template <class T, class Handle>
  void take(const Lane& which, wire<T>& message, Handle handle) {
    const auto found = lanes_.find(which);
    if (found == lanes_.end() && !message.waits_for_bulk()) return handle(message, message.open());
    if (found == lanes_.end() && lanes_.size() >= limits_.lanes_max) return handle(message, too_many_lanes());
    const auto lane = found != lanes_.end() ? found->second : open(which);
    if (const auto problem = lane->room_for(message.arrival()); !problem.ok()) {
      end(which, problem);
      return handle(message, problem);
    }
    lane->push(message.arrival(), [message, handle = std::move(handle)](const status& why) mutable {
      handle(message, why.ok() ? message.open() : why);
    });
  }

  /// Hands over what waits in the lane with this status, in order.
  void end(const Lane& which, const status& why) {
    if (const auto lane = lanes_.extract(which)) lane.mapped()->end(why);
  }
  /// The same for all lanes of an interval that begins with `first`, as long as `included` says so.
  template <class Predicate>
  void end_from(const Lane& first, Predicate included, const status& why) {
    std::vector<Lane> ended;
    for (auto next = lanes_.lower_bound(first); next != lanes_.end() && included(next->first); ++next)
      ended.push_back(next->first);
    for (const auto& which : ended) end(which, why);
  }
  void end_all(const status& why) {
    for (auto& [_, lane] : std::exchange(lanes_, {})) lane->end(why);
  }

  bool waits(const Lane& which) const { return lanes_.contains(which); }
  /// Lanes in which something waits.
  std::size_t size() const { return lanes_.size(); }

 private:
  status too_many_lanes() const {
    return {status_code::resource_exhausted,
            "messages of too many senders wait for their bulk data (inbox_limits::lanes_max)"};
  }
  const std::shared_ptr<inbox_lane>& open(const Lane& which) {
    return lanes_[which] =
               std::make_shared<inbox_lane>(self_, limits_, fibers_, [this, which] { lanes_.erase(which); });
  }

  caf::scheduled_actor* self_;
  inbox_limits limits_;
  fiber_host* fibers_;
  std::map<Lane, std::shared_ptr<inbox_lane>> lanes_;
};

}  // namespace troupe
