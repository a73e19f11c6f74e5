// What lies on a worker's desk: closures that it was sent and has not begun, and outcomes that it has not sent.
//
// Problem: a worker's thread is in a closure for as long as that computes, and hears nothing meanwhile. What it holds
// would wait for as long, though another worker idles. Solution: it lies in trays, which the worker's desk
// (worker_desk.hpp) reaches, too: an actor of its own, which always hears.
//
//   order: under way --put--> IN TRAY --take--> begun
//              |                 '-------give_back----> another worker's
//              '--give_back, which comes before it---->
//
// WT-1 An order is begun or given back, never both. WT-2 An outcome is sent once, by the worker or by its desk.
// WT-3 When an outcome lies here while a closure runs, an alarm is set, at which the desk looks for it.
//
// Any thread.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>

#include <caf/typed_actor.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
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

  /// Orders that have come, in the order of their sending; those that were given back are left out.
  void put(std::vector<closure_order> orders);
  /// The next one to begin. While it runs, the desk may send what has ended before.
  std::optional<closure_order> take(std::vector<closure_outcome>& ended);
  /// False: there is no such order in the tray.
  bool remove(closure_id id);
  /// Of those that have not begun.
  std::vector<closure_id> orders() const;

  struct contents {
    std::vector<closure_outcome> outcomes;
    /// The last recall that was answered.
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

  /// What it gives back of the orders up to this number; nothing if the session is over. What is under way is given
  /// back only while the worker is in a turn: otherwise it may be large, and begins when it has come.
  std::optional<recalled_orders> give_back(session_id session, std::uint64_t recall);
  struct unsent_outcomes {
    outcome_sink coordinator;
    session_id session = 0;
    std::vector<closure_outcome> outcomes;
  };
  /// At the alarm, if the worker is in a turn: otherwise it sends them itself.
  unsent_outcomes take_outcomes_of_busy();

 private:
  void add(std::vector<closure_outcome>& ended);
  bool is_given_back(const closure_order& order) const { return order.number != 0 && order.number <= recall_; }

  mutable std::mutex mutex_;
  outcome_sink coordinator_;
  session_id session_ = 0;
  std::deque<closure_order> orders_;
  std::vector<closure_outcome> outcomes_;
  /// The number of the last order that came, if it has one.
  std::uint64_t taken_ = 0;
  std::uint64_t recall_ = 0;
  bool busy_ = false;
  std::atomic<bool> alarm_is_set_ = false;
};

}  // namespace troupe
