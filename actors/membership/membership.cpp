#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/membership.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe {

namespace {

bool is_server(const member_record& record) { return record.task.job == "ps"; }
bool is_worker(const member_record& record) { return record.task.job == "worker"; }

}  // namespace

membership_state::~membership_state() {
  const status stopped{status_code::cancelled, "the membership actor has stopped"};
  for (auto& open : waiting_) open.promise.deliver(make_error(stopped));
  inquiries_.end_all(stopped);
  if (detector_) caf::anon_send_exit(detector_, caf::exit_reason::user_shutdown);
}

membership_actor::behavior_type membership_state::make_behavior(dialer_actor dialer, membership_options options,
                                                                membership_audience audience) {
  tolerate_stray_messages(self_);
  dialer_ = std::move(dialer);
  options_ = std::move(options);
  audience_ = std::move(audience);
  const suspicion_listener me = membership_actor{self_};
  detector_ = options_.detached ? self_->spawn<caf::detached>(failure_detector, me, options_.detection)
                                : self_->spawn(failure_detector, me, options_.detection);
  for (const auto& [task, address] : options_.members) {
    auto entry = std::make_unique<member_entry>();
    entry->record.task = task;
    entry->record.address = address;
    entry->record.why = {status_code::unavailable, to_string(task) + " has not joined yet"};
    entry->key = members_.size();
    by_task_.emplace(task, entry.get());
    members_.push_back(std::move(entry));
  }
  self_->set_down_handler([this](const caf::down_msg& down) {
    requests_.lost(down.source, status_of(down.reason, "its link"));
    for (auto& [_, listeners] : followers_)
      std::erase_if(listeners, [&](const auto& each) { return each.address() == down.source; });
  });
  for (const auto& member : members_) dial(*member);
  ++epoch_;
  if (audience_.client) self_->send(audience_.client, view_atom_v, servers());
  if (audience_.directory)
    self_->send(audience_.directory, adopt_atom_v, presence_actor{membership_actor{self_}}, wire<job_sizes>{jobs()});
  return {
      [this](suspect_atom, std::uint64_t key, wire<status>& why) {
        if (key < members_.size() && why.open().ok()) suspect(key, *why);
      },
      [this](view_atom) { return view(); },
      [this](find_atom, const std::string& which,
             std::int64_t limit_ns) -> caf::result<caf::strong_actor_ptr, wire<actor_interface>> {
        if (audience_.directory) return self_->delegate(audience_.directory, find_atom_v, which, limit_ns);
        return make_error(status{status_code::failed_precondition, "the chief has no directory of actors"});
      },
      [this](leave_atom, wire<departure>& message) {
        if (!message.open().ok()) return;
        const auto found = by_task_.find(message->task);
        if (found != by_task_.end() && found->second->record.incarnation == message->incarnation)
          suspect(found->second->key, message->why);
      },
      [this](follow_atom, const presence_listener& listener, wire<std::vector<task_id>>& tasks) {
        if (listener && tasks.open().ok()) follow(listener, *tasks);
      },
      [this](watch_atom, wire<std::vector<task_id>>& tasks, std::int64_t limit_ns) -> caf::result<wire<cluster_view>> {
        if (const auto problem = tasks.open(); !problem.ok()) return make_error(problem);
        return watch(*tasks, duration{limit_ns});
      },
      [this](why_atom, std::int64_t limit_ns) { return tell_waits(duration{limit_ns}); },
      [this](retire_atom, wire<status>& why) -> caf::result<caf::ok_atom> {
        return retire(why.open().ok() ? *why : status{});
      },
  };
}

// --- taking a member in ---------------------------------------------------------------------------------------------

void membership_state::dial(member_entry& member) {
  if (retiring_) return;
  requests_.ask(
      dialer_, options_.dial_limit,
      fmt::format("dialling {} at {}", to_string(member.record.task), to_string(member.record.address)),
      [this, &member](member_actor& handle) { adopt(member, handle); },
      [this, &member](const status& why) { retry(member, why); }, dial_atom_v, member.record.address.host,
      member.record.address.port);
}

void membership_state::adopt(member_entry& member, const member_actor& handle) {
  const auto failed = [this, &member, handle](const status& why) {
    self_->demonitor(handle.address());
    // Else the next dial would find the link that leads nowhere again.
    if (why.code() == status_code::deadline_exceeded) self_->send(dialer_, hang_up_atom_v, handle.node());
    retry(member, why);
  };
  const auto what = fmt::format("taking in {}", to_string(member.record.task));
  requests_.ask(
      handle, options_.dial_limit, what,
      [this, &member, handle, failed, what](wire<member_identity>& answer) {
        if (const auto problem = answer.open(); !problem.ok()) return failed(problem);
        const auto enters = [this, &member, handle, who = *answer](auto& role) {
          self_->demonitor(handle.address());
          present(member, handle, who, role);
        };
        if (is_server(member.record))
          requests_.ask(
              handle, options_.dial_limit, what, [enters](parameter_server_actor& server) { enters(server); }, failed,
              server_atom_v);
        else if (!is_worker(member.record))
          enters(handle);
        else
          requests_.ask(
              handle, options_.dial_limit, what, [enters](worker_actor& worker) { enters(worker); }, failed,
              worker_atom_v);
      },
      failed, adopt_atom_v, membership_actor{self_},
      wire<adoption>{{options_.chief, member.record.task, options_.chief_silence_max.count(), jobs()}});
  // A link that breaks now is dialled again at once. Later it is the detector that watches.
  self_->monitor(handle);
}

void membership_state::enter(member_entry& member, const member_actor& handle, const member_identity& who) {
  member.handle = handle;
  member.record.incarnation = who.incarnation;
  member.record.state = member_presence::present;
  member.record.why = {};
  self_->send(detector_, watch_atom_v, member.key, pingable_actor{handle});
  changed(member);
  publish(event_kind::member_joined, member,
          who.build_id == options_.chief.build_id
              ? status{}
              : status{status_code::failed_precondition,
                       "its program is another build than the chief's, so that it runs only functions that both have "
                       "registered by name (TROUPE_REGISTER)"});
}

void membership_state::present(member_entry& member, const member_actor& handle, const member_identity& who,
                               const worker_actor& worker) {
  if (retiring_) return;
  enter(member, handle, who);
  // The worker hears the view before the first closure, which may use variables.
  self_->send(handle, view_atom_v, servers());
  if (audience_.coordinator) self_->send(audience_.coordinator, up_atom_v, handle, worker, wire<member_identity>{who});
}

void membership_state::present(member_entry& member, const member_actor& handle, const member_identity& who,
                               const parameter_server_actor& server) {
  if (retiring_) return;
  // The coordinator first: what it has to say to the server is said before others find it.
  if (audience_.coordinator) self_->send(audience_.coordinator, up_atom_v, server, wire<member_identity>{who});
  enter(member, handle, who);
}

/// A member that only runs the application's actors.
void membership_state::present(member_entry& member, const member_actor& handle, const member_identity& who,
                               const member_actor&) {
  if (!retiring_) enter(member, handle, who);
}

void membership_state::retry(member_entry& member, const status& why) {
  member.last_failure = why;
  if (member.record.state == member_presence::absent && member.record.incarnation == 0)
    member.record.why = why.wrap(status_code::unavailable, to_string(member.record.task) + " has not joined yet");
  clock_.after(options_.dial_retry, [this, &member] { dial(member); });
}

// --- losing one -----------------------------------------------------------------------------------------------------

void membership_state::suspect(std::uint64_t key, const status& why) {
  auto& member = *members_[key];
  if (member.record.state == member_presence::absent || retiring_) return;
  requests_.lost(member.handle.address(), why);
  // It may be alive behind a link that leads nowhere.
  self_->send(dialer_, hang_up_atom_v, member.handle.node());
  member.handle = nullptr;
  member.record.state = member_presence::absent;
  member.record.why = why.wrap(status_code::unavailable, to_string(member.record.task) + " is lost");
  changed(member);
  publish(event_kind::member_lost, member, member.record.why);
  if (audience_.coordinator && (is_worker(member.record) || is_server(member.record)))
    self_->send(audience_.coordinator, down_atom_v, wire<member_record>{member.record});
  dial(member);
}

// --- telling everybody ----------------------------------------------------------------------------------------------

wire<cluster_view> membership_state::view() const {
  cluster_view result{epoch_, {}};
  for (const auto& member : members_) result.members.push_back(member->record);
  return result;
}

/// What members must know.
wire<cluster_view> membership_state::servers() const {
  cluster_view result{epoch_, {}};
  for (const auto& member : members_)
    if (is_server(member->record)) result.members.push_back(member->record);
  return result;
}

job_sizes membership_state::jobs() const {
  job_sizes sizes{{options_.chief.task.job, 1}};
  for (const auto& member : members_) ++sizes[member->record.task.job];
  return sizes;
}

void membership_state::changed(const member_entry& member) {
  ++epoch_;
  if (const auto found = followers_.find(member.record.task); found != followers_.end())
    for (const auto& listener : found->second) tell(listener, member.record.task);
  if (is_server(member.record)) {
    wire<cluster_view> news{{epoch_, {member.record}}};
    // Encoded once for all, and not in the one thread that writes to all of them.
    if (self_->system().has_middleman()) news.seal();
    if (audience_.client) self_->send(audience_.client, view_atom_v, news);
    for (const auto& each : members_)
      if (each->handle && is_worker(each->record)) self_->send(each->handle, view_atom_v, news);
  }
  answer_waiting();
}

void membership_state::follow(const presence_listener& listener, const std::vector<task_id>& tasks) {
  auto is_known = false;
  for (const auto& [_, listeners] : followers_)
    is_known = is_known || std::find(listeners.begin(), listeners.end(), listener) != listeners.end();
  if (!is_known) self_->monitor(listener);
  for (const auto& task : tasks) {
    tell(listener, task);
    if (!by_task_.contains(task)) continue;
    auto& listeners = followers_[task];
    if (std::find(listeners.begin(), listeners.end(), listener) == listeners.end()) listeners.push_back(listener);
  }
}

void membership_state::tell(const presence_listener& listener, const task_id& task) const {
  const auto found = by_task_.find(task);
  if (found != by_task_.end()) {
    const auto& member = *found->second;
    const auto is_near = listener.node() == self_->node();
    self_->send(listener, presence_atom_v,
                is_near ? caf::actor_cast<caf::strong_actor_ptr>(member.handle) : caf::strong_actor_ptr{},
                wire<member_record>{member.record});
    return;
  }
  member_record record{.task = task, .address = {}, .incarnation = 0, .state = member_presence::absent, .why = {}};
  if (task == options_.chief.task) {
    record.incarnation = options_.chief.incarnation;
    record.state = member_presence::present;
  } else {
    record.why = {status_code::not_found, to_string(task) + " is no task of this cluster"};
  }
  self_->send(listener, presence_atom_v, caf::strong_actor_ptr{}, wire<member_record>{std::move(record)});
}

caf::result<wire<cluster_view>> membership_state::watch(const std::vector<task_id>& tasks, duration limit) {
  if (all_present(tasks)) return view();
  const auto deadline = later(clock_.now(), limit);
  timers::ticket timer;
  if (deadline != never) timer = clock_.at(deadline, [this] { answer_waiting(); });
  waiting_.push_back(
      {tasks, self_->make_response_promise<caf::typed_response_promise<wire<cluster_view>>>(), deadline, timer});
  return waiting_.back().promise;
}

void membership_state::answer_waiting() {
  const auto now = clock_.now();
  std::erase_if(waiting_, [&](auto& open) {
    if (now < open.deadline && !all_present(open.tasks)) return false;
    clock_.cancel(open.timer);
    open.promise.deliver(view());
    return true;
  });
}

bool membership_state::all_present(const std::vector<task_id>& tasks) const {
  return std::all_of(tasks.begin(), tasks.end(), [this](const auto& task) {
    const auto found = by_task_.find(task);
    return found != by_task_.end() && found->second->record.state == member_presence::present;
  });
}

caf::result<caf::ok_atom> membership_state::retire(const status& why) {
  retiring_ = true;
  auto promise = self_->make_response_promise<caf::typed_response_promise<caf::ok_atom>>();
  const auto open = std::make_shared<std::size_t>(1);
  auto one_less = [open, promise]() mutable {
    if (--*open == 0) promise.deliver(caf::ok_atom_v);
  };
  for (const auto& member : members_) {
    self_->send(detector_, dismiss_atom_v, member->key);
    if (!member->handle) continue;
    ++*open;
    requests_.ask(
        member->handle, options_.retire_limit, "retiring " + to_string(member->record.task),
        [one_less](caf::ok_atom) mutable { one_less(); }, [one_less](const status&) mutable { one_less(); },
        retire_atom_v, wire<status>{why});
  }
  one_less();
  return promise;
}

// --- who waits ------------------------------------------------------------------------------------------------------

/// Members inside this process are told of by the chief: its table of waits is theirs.
caf::result<wire<cluster_waits>> membership_state::tell_waits(duration limit) {
  const auto inquiry = inquiries_.begin(self_, limit);
  if (!inquiry) return make_error(waits_inquiries::too_many());
  inquiry->add(waits_of(self_->system(), options_.chief, clock_.now()));
  for (const auto& member : members_) {
    const auto& record = member->record;
    if (record.state != member_presence::present || !member->handle) {
      inquiry->add({.task = record.task, .host = {}, .waits = {}, .silent = record.why});
    } else if (member->handle.node() != self_->node()) {
      inquiry->ask(requests_, member->handle, {.task = record.task, .host = {}, .waits = {}, .silent = {}});
    }
  }
  if (audience_.coordinator) ask_coordinator(inquiry, inquiry->limit());
  inquiry->end_one();
  return inquiry->promise();
}

void membership_state::ask_coordinator(const std::shared_ptr<waits_inquiry>& inquiry, duration limit) {
  const auto silent = [inquiry](const status& why) {
    inquiry->found.outstanding = why.render();
    inquiry->end_one();
  };
  inquiry->begin_one();
  requests_.ask(
      audience_.coordinator, limit, "asking the coordinator which closures are waited for",
      [inquiry](wire<std::vector<awaited_closure>>& told) {
        if (told.open().ok()) inquiry->found.closures = *told;
        inquiry->end_one();
      },
      silent, waits_atom_v);
  inquiry->begin_one();
  requests_.ask(
      audience_.coordinator, limit, "asking the coordinator which closures have not ended",
      [inquiry](std::string& told) {
        inquiry->found.outstanding = std::move(told);
        inquiry->end_one();
      },
      silent, activity_atom_v, std::shared_ptr<closure>{}, std::int64_t{limit.count() / 2});
}

void membership_state::publish(event_kind kind, const member_entry& member, const status& why) {
  if (audience_.events)
    self_->send(audience_.events, event_atom_v,
                wire<event>{{.kind = kind,
                             .task = member.record.task,
                             .epoch = epoch_,
                             .why = why,
                             .incarnation = member.record.incarnation}});
}

membership_actor::behavior_type membership(membership_state::pointer self, dialer_actor dialer,
                                           membership_options options, membership_audience audience) {
  return self->state.make_behavior(std::move(dialer), std::move(options), std::move(audience));
}

}  // namespace troupe
