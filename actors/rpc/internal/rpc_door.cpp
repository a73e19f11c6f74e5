#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/rpc/internal/rpc_door.hpp>

#include <fmt/format.h>

#include <utility>

namespace troupe::rpc {

door_actor::behavior_type door_state::make_behavior(door_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  // So that the sessions of a server that was started again are no sessions of the one before.
  last_session_ = random_number() >> 1;
  detector_ =
      self_->spawn<caf::linked>(failure_detector, caf::actor_cast<suspicion_listener>(door_actor{self_}),
                                failure_detector_options{options_.silence.ping_interval, options_.silence.silence_max});
  return {
      [](alive_atom, std::uint64_t number) { return number; },
      [this](suspect_atom, std::uint64_t session, wire<status>&) {
        const auto found = sessions_.find(session);
        if (found == sessions_.end()) return;
        // One that was only frozen learns so when it wakes, and comes again.
        self_->send(found->second.client, dismiss_atom_v, session);
        end_session(session);
      },
      [this](admit_atom, const connection_actor& client, const reply_sink& sink,
             wire<client_hello>& hello) -> caf::result<std::vector<executor_actor>, wire<server_welcome>> {
        if (const auto problem = hello.open(); !problem.ok()) return make_error(problem);
        if (!client || !sink) return make_error(status{status_code::invalid_argument, "a client without a door"});
        end_sessions_of(client);
        if (const auto problem = check(*hello); !problem.ok()) return make_error(problem);
        const auto session = ++last_session_;
        sessions_.emplace(session, guest{client, hello->name});
        options_.admitted->open_session(session);
        self_->send(detector_, watch_atom_v, session, caf::actor_cast<pingable_actor>(client));
        server_welcome welcome{.session = session,
                               .methods = options_.methods,
                               .calls_per_client_max = options_.bounds.calls_per_client_max,
                               .request_bytes_max = options_.bounds.request_bytes_max,
                               .tensors_where_dialled = options_.tensors_where_dialled};
        return {options_.executors, wire<server_welcome>{std::move(welcome)}};
      },
      [this](dismiss_atom, std::uint64_t session) {
        self_->send(detector_, dismiss_atom_v, session);
        end_session(session);
      },
  };
}

status door_state::check(const client_hello& hello) const {
  if (hello.version != protocol_version)
    return {
        status_code::failed_precondition,
        fmt::format("the client \"{}\" speaks version {} of the RPC protocol, the server version {}; build both from "
                    "versions of troupe that agree",
                    hello.name, hello.version, protocol_version)};
  if (sessions_.size() >= options_.bounds.clients_max)
    return {status_code::resource_exhausted,
            fmt::format("the server has {} clients, its limit (clients_max)", sessions_.size())};
  return {};
}

void door_state::end_sessions_of(const connection_actor& client) {
  std::vector<std::uint64_t> over;
  for (const auto& [session, who] : sessions_)
    if (who.client == client) over.push_back(session);
  for (const auto session : over) {
    self_->send(detector_, dismiss_atom_v, session);
    end_session(session);
  }
}

void door_state::end_session(std::uint64_t which) {
  if (sessions_.erase(which) == 0) return;
  // First: what an executor takes before it hears of the end is cancelled then.
  options_.admitted->close_session(which);
  for (const auto& executor : options_.executors) self_->send(executor, dismiss_atom_v, which);
}

door_actor::behavior_type door(door_state::pointer self, door_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe::rpc
