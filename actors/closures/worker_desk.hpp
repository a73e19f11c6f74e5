// The worker's desk: what can be done for others while the worker's thread is in a closure.
//
// The coordinator recalls orders when this worker keeps them while another idles: the desk gives back what has not
// begun. When closures have ended and another one begins, the worker sets an alarm (`worker_options::desk_delay`): if
// that one still computes then, the desk sends the outcomes of the others. It is a part of its worker: its parent, and
// ends with it.
#pragma once

#include <troupe/actors/closures/internal/worker_trays.hpp>
#include <troupe/actors/messages/interfaces.hpp>

#include <caf/actor_addr.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace troupe {

worker_desk_with_alarm::behavior_type worker_desk(worker_desk_with_alarm::pointer self, caf::actor_addr worker,
                                                  std::shared_ptr<worker_trays> trays);

}  // namespace troupe
