// Work with CAF's broker of the links between processes, of which no message tells: its routes, connections and ports.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>

#include <utility>

namespace troupe {

inline caf::actor basp_broker_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

/// Runs `work` with the broker in its own thread, as CAF does; not after the broker's end.
template <class Work>
void with_basp_broker(caf::actor_system& system, const caf::actor& broker, Work work) {
  system.middleman().run_later([broker, work = std::move(work)] {
    auto& actor = *caf::actor_cast<caf::abstract_actor*>(broker);
    if (!actor.getf(caf::abstract_actor::is_terminated_flag)) work(static_cast<caf::io::basp_broker&>(actor));
  });
}

}  // namespace troupe
