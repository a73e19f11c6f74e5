// For programs with actors of their own: CAF's actors, the interfaces of troupe's, and what their messages are made of.
//
// troupe.hpp does without it, and without CAF's headers, which take as long to compile as all the rest.
#pragma once

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/actors/offers/supervision.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/remote_coordinator.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

namespace troupe {

template <class Actor>
actor_reference<Actor> cluster::find(const task_id& task, const std::string& name, duration limit) const {
  return here().template find<Actor>(task, name, limit);
}

template <class Actor>
std::vector<actor_reference<Actor>> cluster::find_all(const std::string& job, const std::string& name,
                                                      duration limit) const {
  return here().template find_all<Actor>(job, name, limit);
}

}  // namespace troupe
