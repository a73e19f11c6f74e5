// The workers as the coordinator sees them: who is admitted, what each holds, who gets the next closures.
//
// Choosing costs O(1) (C-5): queues of workers with credit, those that idle first, then those with a free slot, then
// those that only take closures in advance. A worker stands in each queue at most once; one that does not belong there
// any more is skipped. A share brings a worker to the level that all with a free slot (or all that take in advance)
// would have if they held the same, but is at least one: a few closures are spread over all workers.
//
// A worker's window adapts: it takes in advance what it ends within the prefetch horizon. Short closures get deep
// windows that hide the link's latency; long ones get none, so that they don't wait behind a busy worker while another
// is free.
#pragma once

#include <troupe/actors/closures/closure.hpp>
#include <troupe/actors/closures/coordinator_options.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_actor.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

namespace troupe {

struct worker_entry {
  enum class admission : std::uint8_t { gone, admitting, admitted };

  int index = 0;
  worker_actor handle;
  /// What hears while it is in a closure.
  worker_desk_actor desk;
  /// Of its process; may be missing.
  member_actor door;
  member_identity who;
  admission at = admission::gone;
  session_id session = 0;
  /// Another binary: it runs only functions that it registered by name.
  bool foreign = false;
  std::uint32_t in_flight = 0;
  /// Of those, how many wait for other closures and so take no place.
  std::uint32_t waiting = 0;
  std::uint32_t window = 0;
  /// Closures that only this worker may run.
  std::deque<std::shared_ptr<closure>> tagged;
  /// Some of them may run on others, too, though not on those that were present.
  bool redirected = false;
  /// Closures, and what builds resources, which goes before them.
  std::vector<closure_order> outgoing;
  std::vector<closure_order> outgoing_builds;
  /// Of its session's closures the last one, and the last one of those that it had when it was looked at.
  std::uint64_t last_number = 0;
  std::uint64_t held_since_before = 0;
  /// Of its session's recalls: how many there were, the last one that found it in a closure, and the last one of which
  /// it has heard.
  std::uint64_t recalls = 0;
  std::uint64_t found_busy = 0;
  std::uint64_t heard = 0;
  /// What it runs although its limit is over, and is to be told of.
  std::vector<closure_id> expired;
  /// It gets only suspects, and the one that it has; 0: it has none.
  bool set_apart = false;
  closure_id suspect = 0;
  /// The coordinator looks at it when its turn ends.
  bool touched = false;

  // The roster's own.
  bool in_idle = false;
  bool in_free = false;
  bool in_prefetch = false;

  /// Closures that take a place on it.
  std::uint32_t busy() const { return in_flight - std::min(waiting, in_flight); }
  /// It is in a closure, as far as is known, and hears nothing.
  bool is_deaf() const { return heard < found_busy; }
  /// It has nothing to do.
  bool idles() const { return takes_others() && busy() == 0 && !is_deaf(); }
  /// What is no suspect may be sent to it.
  bool takes_others() const {
    return at == admission::admitted && (!set_apart || (suspect != 0 && in_flight != 0 && busy() == 0));
  }

  /// When it got closures, or ended some, the last time.
  time_point busy_since{};
  double service_ns = 0;
};

class worker_roster {
 public:
  /// Workers 0 to `count` - 1, none of them present.
  explicit worker_roster(int count = 0, window_options options = {});

  /// Nullptr for an index that no worker has. Addresses are stable.
  worker_entry* find(int index);
  worker_entry* find(const caf::actor_addr& handle);
  /// Of an index that is known to be a worker's.
  worker_entry& at(int index) { return *entries_[static_cast<std::size_t>(index)]; }
  const std::vector<std::unique_ptr<worker_entry>>& all() const { return entries_; }
  std::size_t admitted() const { return admitted_; }
  /// Whether all workers of the specification are there.
  bool complete() const { return admitted_ == entries_.size(); }

  /// The admission succeeded: the worker takes closures from now on.
  void admit(worker_entry& worker, time_point now);
  /// The worker is gone; what it held is the caller's business.
  void dismiss(worker_entry& worker);

  /// How many closures the worker takes now.
  std::uint32_t credit(const worker_entry& worker) const {
    return worker.takes_others() && worker.busy() < worker.window && !worker.is_deaf() ? worker.window - worker.busy()
                                                                                       : 0;
  }

  /// The next worker for some of `queued` closures, and how many it should take; nullptr when nobody has credit. The
  /// caller puts it back with `offer` after it has sent them.
  worker_entry* next(std::size_t queued, std::uint32_t& share);
  /// The worker may have credit.
  void offer(worker_entry& worker);

  void sent(worker_entry& worker, time_point now);
  /// The worker says how many of its closures wait for others.
  void waits(worker_entry& worker, std::uint32_t waiting);
  /// The worker has heard of this recall.
  void heard(worker_entry& worker, std::uint64_t recall);
  /// It gave so many closures back. What else this recall found:
  enum class finding : std::uint8_t {
    in_a_closure,  // it gets no more until it says that it hears again
    full,          // it has begun as many as it can: it gets no more until one of them ends
    able           // it would have begun them
  };
  void gave_back(worker_entry& worker, std::uint32_t count, std::uint64_t recall, finding found);
  /// So many closures came back: adapts the window.
  void ended(worker_entry& worker, std::uint32_t count, time_point now);

 private:
  /// Workers in line for closures, and how many closures these hold together.
  struct line {
    std::deque<int> workers;
    std::size_t in_flight = 0;
  };

  static void enter(line& to, worker_entry& worker, bool& is_in);
  worker_entry& leave(line& from, bool worker_entry::*is_in);
  static std::size_t level_with(const worker_entry& worker, const line& others, std::size_t queued);
  static std::uint32_t share_of(std::size_t level, const worker_entry& worker, std::size_t most);
  void set_in_flight(worker_entry& worker, std::uint32_t count);
  std::uint32_t window_of(double service_ns) const;

  window_options options_;
  std::vector<std::unique_ptr<worker_entry>> entries_;
  /// Of those in `free_`, which may be there no more; it counts nothing.
  std::deque<int> idle_;
  line free_;
  line prefetch_;
  std::size_t admitted_ = 0;
};

}  // namespace troupe
