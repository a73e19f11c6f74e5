// Who waits in this process, and for what: for whoever asks why a job stands still.
//
// Problem: a job that stands still says nothing. Its fibers are parked where no debugger looks, its threads sleep in
// the same function, and the actors that could tell may be the ones that are blocked. Solution: each wait that parks a
// fiber or blocks a thread stands in one table while it lasts, with the fiber, thread or closure that has to go on
// before it can end, where that is known. Any thread may read the table at any time. Texts are made only for those who
// ask; a wait costs two visits of one of several parts of the table.
//
// `troupe why` and `cluster::why` put the tables of all processes together (runtime/wait_graph.hpp).
#pragma once

#include <troupe/actors/fibers/time.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace caf {
class actor_system;
}  // namespace caf

namespace troupe {

/// Somebody that waits, as told to whoever asks. `waiter` and `holder` are numbers of a `runner` (fiber.hpp); 0: not
/// known.
struct open_wait {
  /// "thread 4711 (trainer)", "closure 17.1 on /job:worker/task:1 (step at model.cpp:42)".
  std::string who;
  /// "a read of variable \"v1\"".
  std::string what;
  std::uint64_t waiter = 0;
  /// The fiber or thread of this process that has to go on.
  std::uint64_t holder = 0;
  /// The closure that the waiter runs, by its coordinator's number.
  std::uint64_t runs = 0;
  /// The closure whose end is waited for, by its address in this process.
  std::uint64_t closure = 0;
  std::int64_t time_ns = 0;
};

/// For whom a wait is, beside its text.
struct wait_subject {
  std::uint64_t holder = 0;
  std::uint64_t closure = 0;
};

/// The calling thread, so that another one can name it while it is there.
struct thread_identity {
  std::uintptr_t handle = 0;
  int number = 0;

  static thread_identity current();
  /// "thread 4711 (trainer)", as tools that list threads call it.
  std::string describe() const;
};

/// A wait is in the table while this lives; it is made last of what it tells of, by the waiter itself.
class listed_wait {
 public:
  /// Makes the text, in the thread of whoever asks, while the waiter waits. Must not wait, nor take what a waiter
  /// holds.
  using teller = open_wait (*)(const void* of, time_point now);

  /// `system`: whose fiber it is; null: a thread's.
  listed_wait(const caf::actor_system* system, teller tells, const void* of);
  ~listed_wait();
  listed_wait(const listed_wait&) = delete;

 private:
  friend std::vector<open_wait> open_waits(const caf::actor_system* system, time_point now);

  const caf::actor_system* system_;
  teller tells_;
  const void* of_;
  std::size_t part_;
  listed_wait* before_ = nullptr;
  listed_wait* after_ = nullptr;
};

/// Those of a system's fibers, for null of all fibers and threads of the process; the longest first. Any thread.
std::vector<open_wait> open_waits(const caf::actor_system* system, time_point now);

/// Hears, while it lives, of waits of this process that their limits ended: what was waited for, and by whom. In the
/// thread or fiber of the waiter, which must not wait there. At most one is heard of in each `interval`, and none that
/// was shorter than `least`. One for each process; a second one takes the place of the first.
class missed_deadlines {
 public:
  using observer = std::function<void(const open_wait& missed)>;
  static constexpr duration interval = std::chrono::seconds{10};
  static constexpr duration least = std::chrono::milliseconds{500};

  explicit missed_deadlines(observer hears);
  ~missed_deadlines();
  missed_deadlines(const missed_deadlines&) = delete;

  /// Of a wait that has just ended so.
  static void report(std::string_view what, duration waited);
};

}  // namespace troupe
