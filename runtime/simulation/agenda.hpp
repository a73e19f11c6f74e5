// What could happen next in a simulation, and when: the ready set, from which the seed draws, and the times to come.
//
// A job is one message of one actor. An alarm is something that happens at a time: a timeout, an arrival, the end of a
// process. Whoever owns an alarm sets it anew whenever its time changes; nothing here is searched, so that a step costs
// the same whatever the number of processes.
//
// S-1 The order of everything here follows from the calls alone, never from addresses.
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <caf/resumable.hpp>

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

class simulated_process;

/// Where CAF's testing clock begins; it keeps zero for itself.
inline constexpr time_point simulation_beginning{duration{1}};

class agenda {
 public:
  /// Something that happens at a time, again and again as it is set. The agenda outlives it.
  class alarm {
   public:
    /// `act` does it; false: there was nothing to do after all. It may end the alarm itself.
    alarm(agenda& in, simulated_process* whose, const char* what, std::function<bool()> act)
        : agenda_(in), process_(whose), what_(what), act_(std::move(act)), number_(++in.last_number_) {}
    ~alarm() { set(never); }
    alarm(const alarm&) = delete;

    /// A time that has passed means now; `never` takes it out.
    void set(time_point when);
    /// No other alarm has it.
    std::uint64_t number() const { return number_; }
    /// For traces.
    const char* what() const { return what_; }

   private:
    friend class agenda;
    agenda& agenda_;
    simulated_process* process_;
    const char* what_;
    std::function<bool()> act_;
    std::uint64_t number_;
    time_point when_ = never;
    /// In the ready set, from 1; 0: it is not there.
    std::size_t place_ = 0;
  };

  /// One of the things that could happen now.
  struct possibility {
    /// Whose turn it is; null: nobody's.
    simulated_process* process = nullptr;
    /// Either this or the alarm.
    caf::resumable* job = nullptr;
    alarm* due = nullptr;
    /// Since when it could happen: those that came later have greater numbers.
    std::uint64_t order = 0;
  };

  time_point now() const { return now_; }
  void add_job(simulated_process& of, caf::resumable* job) { ready_.push_back({&of, job, nullptr, ++last_order_}); }
  /// Takes out the jobs of a process, in their order.
  std::vector<caf::resumable*> take_jobs(const simulated_process& of);

  std::size_t choices() const { return ready_.size(); }
  const possibility& look(std::size_t which) const { return ready_[which]; }
  /// All of them, those first that have waited for longest.
  std::vector<std::size_t> in_order() const;
  /// The greatest of all so far.
  std::uint64_t last_order() const { return last_order_; }
  /// Takes one out of the ready set.
  possibility take(std::size_t which);
  static bool act(const alarm& which) { return which.act_(); }

  /// The running step touches what hosts share: it makes a difference which of two such steps comes first.
  void touch_shared() { touched_shared_ = true; }
  /// Whether one did since the last call.
  bool has_touched_shared() { return std::exchange(touched_shared_, false); }

  /// When the next alarm is due, after now; `never` if there is none.
  time_point next() const { return waiting_.empty() ? never : (*waiting_.begin())->when_; }
  /// Not beyond `next`.
  void set_now(time_point to);

 private:
  struct earlier {
    bool operator()(const alarm* a, const alarm* b) const {
      return a->when_ != b->when_ ? a->when_ < b->when_ : a->number_ < b->number_;
    }
  };

  void add_ready(alarm& which);
  void remove_ready(std::size_t which);

  time_point now_ = simulation_beginning;
  std::vector<possibility> ready_;
  std::set<alarm*, earlier> waiting_;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_order_ = 0;
  bool touched_shared_ = false;
};

}  // namespace troupe
