#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/rpc/internal/rpc_door.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe::rpc {

namespace {

const status of_another_process{status_code::permission_denied, "a client of another process than the one that asks"};

}  // namespace

door_actor::behavior_type door_state::make_behavior(door_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  for (const auto& executor : options_.executors) self_->monitor(executor);
  self_->set_down_handler([this](const caf::down_msg& gone) { lose_executor(gone); });
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
        if (!comes_itself(client)) return make_error(of_another_process);
        end_sessions_of(client);
        if (const auto problem = check(*hello, client.node()); !problem.ok()) return make_error(problem);
        const auto session = new_session();
        sessions_.emplace(session, guest{client, hello->name});
        options_.admitted->open_session(session, options_.role_of ? options_.role_of(client.node()) : std::string{});
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

/// Who asks hears the session, and so his process is the one whose role counts.
bool door_state::comes_itself(const connection_actor& client) const {
  const auto asking = self_->current_sender();
  return asking != nullptr && asking->node() == client.node();
}

status door_state::check(const client_hello& hello, const caf::node_id& process) const {
  if (hello.version != protocol_version)
    return {
        status_code::failed_precondition,
        fmt::format("the client \"{}\" speaks version {} of the RPC protocol, the server version {}; build both from "
                    "versions of troupe that agree",
                    hello.name, hello.version, protocol_version)};
  if (sessions_.size() >= options_.bounds.clients_max)
    return {status_code::resource_exhausted,
            fmt::format("the server has {} clients, its limit (clients_max)", sessions_.size())};
  const auto of_its_process = std::count_if(sessions_.begin(), sessions_.end(),
                                            [&](const auto& each) { return each.second.client.node() == process; });
  if (static_cast<std::size_t>(of_its_process) >= options_.bounds.clients_per_process_max)
    return {
        status_code::resource_exhausted,
        fmt::format("the server has {} clients of that process, its limit (clients_per_process_max)", of_its_process)};
  return {};
}

/// One that neither another client can guess nor an earlier server has given: it is what lets a client cancel calls.
std::uint64_t door_state::new_session() const {
  std::uint64_t session = 0;
  do session = random_number();
  while (session == 0 || sessions_.contains(session));
  return session;
}

/// Its calls are lost, and their clients hear so at once instead of at their deadlines: all come again, and find the
/// executors that are left.
void door_state::lose_executor(const caf::down_msg& gone) {
  if (gone.reason == caf::exit_reason::user_shutdown) return;
  std::erase_if(options_.executors, [&](const executor_actor& each) { return each.address() == gone.source; });
  if (options_.executors.empty()) return self_->quit(gone.reason);
  while (!sessions_.empty()) {
    const auto& [session, who] = *sessions_.begin();
    self_->send(who.client, dismiss_atom_v, session);
    self_->send(detector_, dismiss_atom_v, session);
    end_session(std::uint64_t{session});
  }
}

void door_state::end_sessions_of(const connection_actor& client) {
  std::vector<std::uint64_t> over;
  for (const auto& [session, who] : sessions_)
    if (who.client == client) over.push_back(session);
  for (const auto session : over) {
    // Who asks again is in none, unless this is what he asked for before and gave up, come late over another link: then
    // he is in the one that ends here, and comes again.
    self_->send(client, dismiss_atom_v, session);
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
