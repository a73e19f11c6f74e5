// What lies on a worker's desk: closures that it was sent and has not begun, and outcomes that it has not sent.
//
// Problem: a worker's thread is in a closure for as long as that computes, and hears nothing meanwhile. What it holds
// would wait for as long, though another worker idles. Solution: it lies in trays, which the worker's desk
// (worker_desk.hpp) reaches, too: an actor of its own, which always hears.
//
//   order:  sent --announce--> UNDER WAY, while its data comes --put--> IN TRAY --take--> begun
//            |                     |                                       |
//            '-------give_back-----'--once its data is here----give_back---'-------give_back----> another worker's
//
// What moves to another worker moves its data again, so data that is coming is never called back. What the worker has
// not even heard of has moved nothing: given back, it is not fetched any more.
//
// WT-1 An order is begun or given back, never both. WT-2 An outcome is sent once, by the worker or by its desk.
// WT-3 When an outcome lies here while a closure runs, an alarm is set, at which the desk looks for it.
// WT-4 Numbers of orders grow within a session, so a message that begins with one that was announced already is a
// repetition: it is not even fetched, whatever has become of the first.
//
// Any thread.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_actor.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace troupe {

class worker_trays {
 public:
  // --- the worker's side ---

  /// The session's orders come from now on, and its outcomes go to this coordinator.
  void begin(session_id session, outcome_sink coordinator);
  void end();

  /// The worker hears nothing from now on, until `take_outcomes` ends its turn.
  void begin_turn();

  /// The worker hears of a message with the orders of these numbers, whose data may be coming; it ends by `put` or
  /// `lose`. False: it is not wanted, since all of them were given back, or it is a repetition (WT-4).
  bool announce(std::uint64_t first, std::uint64_t last, std::shared_ptr<const wire_arrival> arrival);
  /// Of the message that begins with this number these are wanted. Those that were given back are left out.
  void put(std::uint64_t first, std::vector<closure_order> orders);
  /// The message will never be here. False: some of its orders were not given back.
  bool lose(std::uint64_t first, std::uint64_t last);
  /// The next one to begin. While it runs, the desk may send what has ended before.
  std::optional<closure_order> take(std::vector<closure_outcome>& ended);
  /// False: there is no such order in the tray.
  bool remove(closure_id id);
  /// Of those that have not begun.
  std::vector<closure_id> orders() const;
  std::size_t size() const;

  struct contents {
    std::vector<closure_outcome> outcomes;
    /// The serial of the last recall that was answered.
    std::uint64_t recall = 0;
    bool has_orders = false;
  };
  /// What the desk may send from now on.
  void put_outcomes(std::vector<closure_outcome>& ended);
  /// False: the desk has been asked already to look for what was put here.
  bool set_alarm();
  /// What is to be sent, with these, which have ended since.
  contents take_outcomes(std::vector<closure_outcome>& ended, bool turn_ends);

  // --- the desk's ---

  /// What it gives back of these; nothing if the session is over. A worker that is not in a turn keeps all that is not
  /// in the tray: it will hear of it, and begin it as soon as it is here.
  std::optional<recalled_orders> give_back(session_id session, const order_recall& recall);
  struct unsent_outcomes {
    outcome_sink coordinator;
    session_id session = 0;
    std::vector<closure_outcome> outcomes;
  };
  /// At the alarm, if the worker is in a turn: otherwise it sends them itself.
  unsent_outcomes take_outcomes_of_busy();

 private:
  /// Orders of one message.
  struct announced {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::shared_ptr<const wire_arrival> arrival;
  };

  const announced* under_way(std::uint64_t number) const;
  bool forget_if_all_given(std::uint64_t first, std::uint64_t last);
  void add(std::vector<closure_outcome>& ended);

  mutable std::mutex mutex_;
  outcome_sink coordinator_;
  session_id session_ = 0;
  /// By their numbers, as all that follows.
  std::deque<closure_order> orders_;
  std::deque<announced> under_way_;
  std::uint64_t last_announced_ = 0;
  /// Given back before they were put here.
  std::set<std::uint64_t> given_;
  std::vector<closure_outcome> outcomes_;
  std::uint64_t recall_ = 0;
  bool busy_ = false;
  std::atomic<bool> alarm_is_set_ = false;
};

}  // namespace troupe
