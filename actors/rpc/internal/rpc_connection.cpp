#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/rpc/internal/rpc_connection.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <utility>

namespace troupe::rpc {

// --- who waits for the methods --------------------------------------------------------------------------------------

std::shared_ptr<completion> method_listing::known() const {
  const std::scoped_lock lock{mutex_};
  return known_;
}

std::vector<method_description> method_listing::await(time_point deadline, std::string_view what) {
  try {
    known()->wait_until(deadline, what);
  } catch (const deadline_exceeded_error& late) {
    const std::scoped_lock lock{mutex_};
    if (failed_.ok()) throw;
    throw_status(failed_.wrap(status_code::deadline_exceeded, late.get_status().message()));
  }
  const std::scoped_lock lock{mutex_};
  if (!refused_.ok()) throw_status(refused_);
  return methods_;
}

void method_listing::set(std::vector<method_description> methods) {
  const std::scoped_lock lock{mutex_};
  methods_ = std::move(methods);
  refused_ = {};
  known_->set();
}

void method_listing::set(status refused) {
  const std::scoped_lock lock{mutex_};
  refused_ = std::move(refused);
  known_->set();
}

void method_listing::note(status failed) {
  const std::scoped_lock lock{mutex_};
  failed_ = std::move(failed);
}

void method_listing::reset() {
  const std::scoped_lock lock{mutex_};
  if (known_->is_set()) known_ = std::make_shared<completion>();
}

// --- the actor ------------------------------------------------------------------------------------------------------

connection_actor::behavior_type connection_state::make_behavior(connection_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  detector_ =
      self_->spawn<caf::linked>(failure_detector, caf::actor_cast<suspicion_listener>(connection_actor{self_}),
                                failure_detector_options{options_.silence.ping_interval, options_.silence.silence_max});
  self_->set_down_handler([this](const caf::down_msg& gone) {
    requests_.lost(gone.source, {status_code::unavailable, "the server went away"});
  });
  dial();
  watch_deadlines();
  return {
      [](alive_atom, std::uint64_t number) { return number; },
      [this](suspect_atom, std::uint64_t session, wire<status>& why) {
        if (session != session_ || session == 0) return;
        // It may be alive behind a link that leads nowhere.
        self_->send(options_.dialer, hang_up_atom_v, door_.node());
        lost(why.open().ok() ? *why : status{});
      },
      [this](dismiss_atom, std::uint64_t session) {
        if (session == session_ && session != 0) dismissed();
      },
      [this](submit_atom) {
        // Where the dismissal was lost with its link, answers are the first to say it.
        if (session_ != 0 && options_.calls->session_over() == session_) dismissed();
        options_.calls->flush();
        watch_deadlines();
      },
  };
}

connection_state::~connection_state() {
  if (session_ != 0) caf::anon_send(door_, dismiss_atom_v, session_);
  const status over{status_code::cancelled, "the client was closed"};
  options_.calls->close(over);
  options_.methods->set(over);
}

void connection_state::dial() {
  requests_.ask(
      options_.dialer, options_.dial_limit, fmt::format("connecting to the server {}:{}", options_.host, options_.port),
      [this](const door_actor& door) { admit(door); }, [this](const status& why) { failed(why); }, dial_atom_v,
      options_.host, options_.port);
}

void connection_state::admit(const door_actor& door) {
  door_ = door;
  requests_.ask(
      door, options_.dial_limit, "admission to the server",
      [this](const std::vector<executor_actor>& executors, wire<server_welcome>& welcome) {
        self_->demonitor(door_.address());
        if (const auto problem = welcome.open(); !problem.ok()) return failed(problem);
        ready(executors, *welcome);
      },
      [this](const status& why) {
        self_->demonitor(door_.address());
        // Else the next dial would find the link that leads nowhere again.
        if (why.code() == status_code::deadline_exceeded) self_->send(options_.dialer, hang_up_atom_v, door_.node());
        failed(why);
      },
      admit_atom_v, connection_actor{self_}, options_.inbox, wire<client_hello>{{.name = options_.name}});
  // CAF dials from memory: what it finds may be the server that was just lost, which never answers.
  self_->monitor(door);
}

void connection_state::ready(const std::vector<executor_actor>& executors, const server_welcome& terms) {
  if (executors.empty() || terms.session == 0)
    return failed({status_code::data_loss, "the server's welcome names no executor"});
  session_ = terms.session;
  self_->send(detector_, watch_atom_v, session_, caf::actor_cast<pingable_actor>(door_));
  options_.methods->set(terms.methods);
  options_.calls->connected(executors, terms);
}

void connection_state::failed(const status& why) {
  const auto refused = why.code() == status_code::failed_precondition || why.code() == status_code::resource_exhausted;
  options_.methods->note(why);
  if (refused) {
    options_.methods->set(why);
    options_.calls->refuse(why);
  }
  clock_.after(refused ? options_.refusal_retry : options_.dial_retry, [this] { dial(); });
}

void connection_state::dismissed() {
  self_->send(detector_, dismiss_atom_v, session_);
  lost({status_code::unavailable, "it has ended this client's session, because it heard nothing of it"});
}

void connection_state::lost(const status& why) {
  session_ = 0;
  door_ = nullptr;
  options_.methods->reset();
  options_.calls->disconnected(
      why.wrap(status_code::unavailable,
               fmt::format("the server {}:{} was lost while it had the call", options_.host, options_.port)));
  dial();
}

void connection_state::watch_deadlines() {
  const auto next = options_.calls->expire(clock_.now());
  clock_.cancel(wake_);
  wake_ = next == never ? timers::ticket{} : clock_.at(next, [this] { watch_deadlines(); });
}

connection_actor::behavior_type connection(connection_state::pointer self, connection_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe::rpc
