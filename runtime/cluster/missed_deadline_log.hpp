// When a wait of this process is over its limit, the program's log says who waits for whom in the whole job.
//
// The error that the waiter throws says what it waited for. Why that did not come is often elsewhere: a lock that
// another fiber holds, a worker that is frozen, two closures that wait for each other. By the time somebody looks, it
// is gone; so it is asked for at once, and written when all processes have told, or 2 s later.
#pragma once

#include <troupe/actors/fibers/open_waits.hpp>

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <string>

namespace troupe {

class missed_deadline_log {
 public:
  using writer = std::function<void(const std::string&)>;

  /// `teller`: who knows all processes (wait_teller). `write` takes the text, in an actor, and is not called any more
  /// after this object's end. The system outlives it.
  missed_deadline_log(caf::actor_system& system, caf::actor teller, writer write);
  ~missed_deadline_log();
  missed_deadline_log(const missed_deadline_log&) = delete;

 private:
  class outlet;

  std::shared_ptr<outlet> outlet_;
  missed_deadlines hears_;
};

}  // namespace troupe
