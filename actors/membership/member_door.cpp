#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/member_door.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

constexpr duration tick_interval = std::chrono::milliseconds{250};

}  // namespace

std::string to_string(member_end::kind how) {
  switch (how) {
    case member_end::kind::retired:
      return "retired";
    case member_end::kind::orphaned:
      return "orphaned";
    case member_end::kind::failed:
      return "failed";
    case member_end::kind::dismissed:
      return "dismissed";
    case member_end::kind::gave_up:
      return "given up by a supervisor";
  }
  return "unknown";
}

member_actor::behavior_type member_door_state::make_behavior(member_door_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  last_heard_ = last_tick_ = clock_.now();
  clock_.after(tick_interval, [this] { tick(); });
  self_->set_down_handler([this](caf::down_msg& down) {
    requests_.lost(down.source, status_of(down.reason, "the chief's link broke"));
    if (chief_ && chief_.address() == down.source) return lose_link(status_of(down.reason, "the chief's link broke"));
    const auto is_role = (options_.worker && options_.worker.address() == down.source) ||
                         (options_.server && options_.server.address() == down.source);
    if (is_role)
      end({member_end::kind::failed,
           status_of(down.reason, fmt::format("the actor of {} ended by an error", to_string(options_.self.task)))});
  });
  if (options_.worker) self_->monitor(options_.worker);
  if (options_.server) self_->monitor(options_.server);
  return {
      [this](adopt_atom, const membership_actor& chief, wire<adoption>& terms) -> caf::result<wire<member_identity>> {
        if (const auto problem = terms.open(); !problem.ok()) return make_error(problem);
        return adopt(chief, *terms);
      },
      [this](worker_atom) -> caf::result<worker_actor> {
        if (options_.worker) return options_.worker;
        return make_error(status{status_code::failed_precondition, to_string(options_.self.task) + " runs no worker"});
      },
      [this](server_atom) -> caf::result<parameter_server_actor> {
        if (options_.server) return options_.server;
        return make_error(
            status{status_code::failed_precondition, to_string(options_.self.task) + " is no parameter server"});
      },
      [this](find_atom, const std::string& which,
             std::int64_t limit_ns) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
        if (options_.directory) return self_->delegate(options_.directory, find_atom_v, which, limit_ns);
        return make_error(
            status{status_code::failed_precondition, to_string(options_.self.task) + " has no directory of actors"});
      },
      [this](alive_atom, std::uint64_t number) {
        if (chief_ && self_->current_sender() && self_->current_sender()->node() == chief_.node())
          last_heard_ = clock_.now();
        return number;
      },
      [this](waits_atom) { return wire<process_waits>{waits_of(self_->system(), options_.self, clock_.now())}; },
      [this](why_atom, std::int64_t limit_ns) { return tell_waits(duration{limit_ns}); },
      [this](view_atom, wire<cluster_view>& view) { take_view(view); },
      [this](retire_atom, wire<status>& why) {
        end({member_end::kind::retired, why.open().ok() ? *why : status{}});
        return caf::ok_atom_v;
      },
      [this](leave_atom, wire<status>& why) {
        if (why.open().ok()) leave(*why);
      },
      [this](dismiss_atom, wire<status>& why) {
        if (why.open().ok()) end({member_end::kind::dismissed, *why});
      },
  };
}

caf::result<wire<member_identity>> member_door_state::adopt(const membership_actor& chief, const adoption& terms) {
  if (!leaving_.ok()) return make_error(leaving_);
  const auto& self = options_.self;
  if (!chief) return make_error(status{status_code::invalid_argument, "a chief without a membership"});
  if (terms.chief.protocol != self.protocol)
    return make_error(status{status_code::failed_precondition,
                             fmt::format("{} speaks protocol {} and the chief {}: build both from the same troupe",
                                         to_string(self.task), self.protocol, terms.chief.protocol)});
  if (terms.task != self.task)
    return make_error(status{status_code::failed_precondition,
                             fmt::format("the chief expects {} at this address, but {} answers there: the cluster "
                                         "specifications (TF_CONFIG) of the two differ",
                                         to_string(terms.task), to_string(self.task))});
  const auto& sender = self_->current_sender();
  if (!sender || sender->node() != chief.node())
    return make_error(status{status_code::permission_denied, "a chief that another process names"});
  // A chief has one process as long as it lives.
  if (chief_ && (terms.chief.incarnation != terms_.chief.incarnation || chief.node() != chief_.node()))
    return make_error(status{status_code::failed_precondition,
                             fmt::format("{} belongs to another chief (process {} on {})", to_string(self.task),
                                         terms_.chief.process, terms_.chief.host)});
  if (chief_) self_->demonitor(chief_.address());
  ++adoptions_;
  chief_ = chief;
  chief_process_.set(chief.node());
  terms_ = terms;
  // It begins with a view of its own.
  epoch_ = 0;
  last_heard_ = clock_.now();
  self_->monitor(chief_);
  if (options_.directory)
    self_->send(options_.directory, adopt_atom_v, presence_actor{chief_}, wire<job_sizes>{terms.jobs});
  return wire<member_identity>{self};
}

/// A chief that lives dials again within milliseconds.
void member_door_state::lose_link(const status& why) {
  clock_.after(options_.link_loss_max, [this, why, adoption = adoptions_, lost = clock_.now()] {
    if (adoption == adoptions_ && last_heard_ <= lost)
      end({member_end::kind::orphaned, why.wrap(status_code::unavailable, "the chief is lost")});
  });
}

void member_door_state::take_view(wire<cluster_view>& view) {
  // M-1: views of one chief come in order over one link; an older one would be another chief's.
  if (!view.open().ok() || view->epoch < epoch_) return;
  epoch_ = view->epoch;
  if (options_.worker) self_->send(options_.worker, view_atom_v, view);
}

void member_door_state::tick() {
  const auto now = clock_.now();
  const auto paused = now - last_tick_ - tick_interval;
  last_tick_ = now;
  if (paused > options_.own_pause_max) {
    last_heard_ = now;
    if (options_.worker && chief_) self_->send(options_.worker, dismiss_atom_v, session_id{0});
  }
  const auto limit = chief_ ? duration{terms_.chief_silence_max_ns} : options_.adoption_limit;
  if (now - last_heard_ > limit)
    return end(
        {member_end::kind::orphaned,
         {status_code::unavailable,
          fmt::format("{} {} ms", chief_ ? "the chief is lost: nothing was heard of it for" : "no chief came within",
                      in_milliseconds(limit))}});
  clock_.after(tick_interval, [this] { tick(); });
}

/// The chief asks all members, this one, too. Without an answer of it, the own waits are better than none.
caf::result<wire<cluster_waits>> member_door_state::tell_waits(duration limit) {
  const auto inquiry = inquiries_.begin(self_, limit);
  if (!inquiry) return make_error(waits_inquiries::too_many());
  const auto alone = [this, inquiry](const status& why) {
    inquiry->add({.task = {"chief", 0}, .host = {}, .waits = {}, .silent = why});
    inquiry->add(waits_of(self_->system(), options_.self, clock_.now()));
    inquiry->end_one();
  };
  if (!chief_) {
    alone({status_code::unavailable, "no chief has taken this process in"});
    return inquiry->promise();
  }
  // Its members have the limit; the chief needs a little more to say so.
  constexpr duration grace = std::chrono::milliseconds{500};
  requests_.ask(
      chief_, inquiry->limit() + grace, "asking the chief who waits",
      [inquiry](wire<cluster_waits>& told) {
        if (told.open().ok()) inquiry->found = *told;
        inquiry->end_one();
      },
      alone, why_atom_v, std::int64_t{inquiry->limit().count()});
  return inquiry->promise();
}

void member_door_state::leave(const status& why) {
  leaving_ = why;
  if (chief_) self_->send(chief_, leave_atom_v, wire<departure>{{options_.self.task, options_.self.incarnation, why}});
}

void member_door_state::end(member_end how) {
  if (auto on_end = std::exchange(options_.on_end, {})) on_end(how);
}

member_actor::behavior_type member_door(member_door_state::pointer self, member_door_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe
