#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/offers/directory.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

bool takes_all(const actor_interface& offered, const actor_interface& wanted) {
  return std::includes(offered.begin(), offered.end(), wanted.begin(), wanted.end());
}

std::string as_list(const std::vector<std::string>& names) {
  return names.empty() ? std::string{"nothing"} : fmt::format("{}", fmt::join(names, ", "));
}

status no_chief() { return {status_code::unavailable, "no chief has taken this process in yet"}; }

}  // namespace

directory_state::~directory_state() {
  const status over{status_code::failed_precondition, "the cluster has ended"};
  for (auto& open : searches_) open.promise.deliver(make_error(over));
  if (detector_) caf::anon_send_exit(detector_, caf::exit_reason::user_shutdown);
  if (book_) book_->close(over);
}

directory_actor::behavior_type directory_state::make_behavior(std::shared_ptr<address_book> book, dialer_actor dialer,
                                                              failure_detector_options detection) {
  tolerate_stray_messages(self_);
  book_ = std::move(book);
  dialer_ = std::move(dialer);
  detection_ = detection;
  self_->set_down_handler([this](const caf::down_msg& what) { down(what); });
  book_->open(directory_actor{self_});
  return {
      [this](offer_atom, const std::string& which) { offered(which); },
      [this](find_atom, const std::string& which, std::int64_t limit_ns) { return find(which, duration{limit_ns}); },
      [this](follow_atom, const std::shared_ptr<actor_link>& link) { follow(link); },
      [this](release_atom, const std::shared_ptr<actor_link>& link) { release(link); },
      [](caf::tick_atom, const std::shared_ptr<actor_link>& link) { link->end_late_requests(); },
      [this](adopt_atom, const presence_actor& chief, wire<job_sizes>& jobs) {
        if (!jobs.open().ok()) return;
        book_->know(*jobs);
        take_chief(chief);
      },
      [this](presence_atom, const caf::strong_actor_ptr& door, wire<member_record>& record) {
        if (record.open().ok()) take_presence(door, *record);
      },
      [this](suspect_atom, std::uint64_t key, wire<status>& why) {
        if (why.open().ok()) suspect(key, *why);
      },
  };
}

// --- for others -----------------------------------------------------------------------------------------------------

caf::result<caf::strong_actor_ptr, wire<actor_interface>> directory_state::find(const std::string& which,
                                                                                duration limit) {
  if (auto here = book_->find(which))
    return {std::move(here->actor), wire<actor_interface>{std::move(here->interface)}};
  if (searches_.size() >= book_->limits().searches_max)
    return make_error(status{status_code::resource_exhausted,
                             fmt::format("{} requests wait for names on {} already, its limit (searches_max)",
                                         searches_.size(), to_string(book_->owner()))});
  auto promise = self_->make_response_promise<found_promise>();
  const auto place = searches_.insert(searches_.end(), {which, promise, {}});
  place->deadline = clock_.after(std::min(limit, book_->limits().search_limit), [this, place] {
    auto late = std::move(*place);
    searches_.erase(place);
    late.promise.deliver(make_error(not_offered(late.name)));
  });
  return promise;
}

status directory_state::not_offered(const std::string& which) const {
  return {status_code::not_found, fmt::format("{} offers no actor \"{}\"; it offers {}", to_string(book_->owner()),
                                              which, as_list(book_->names()))};
}

void directory_state::offered(const std::string& which) {
  const auto here = book_->find(which);
  if (!here) return;
  watch(here->actor->address());
  for (auto each = searches_.begin(); each != searches_.end();) {
    if (each->name != which) {
      ++each;
      continue;
    }
    clock_.cancel(each->deadline);
    each->promise.deliver(here->actor, wire<actor_interface>{here->interface});
    each = searches_.erase(each);
  }
  const auto own = followed_.find(book_->owner());
  if (own == followed_.end()) return;
  for (auto& one : own->second.links)
    if (one.link->name() == which && one.link->now() != actor_link::state::up) search_here(one);
}

// --- for this member ------------------------------------------------------------------------------------------------

void directory_state::follow(const std::shared_ptr<actor_link>& link) {
  const auto& task = link->task();
  const auto [place, is_new] = followed_.try_emplace(task);
  auto& member = place->second;
  auto known =
      std::find_if(member.links.begin(), member.links.end(), [&](const auto& one) { return one.link == link; });
  if (known == member.links.end()) known = member.links.insert(known, followed_link{.link = link, .found = {}});
  auto& one = *known;
  if (link->now() == actor_link::state::up) return;
  // It is asked for again: what was found did not fit.
  lose_actor(one);
  if (task == book_->owner()) return search_here(one);
  if (is_new) member.key = ++last_key_;
  if (is_reached(task, member))
    search(task, member, one);
  else if (!chief_)
    link->note(no_chief());
  else if (!member.present)
    ask_of({task});
}

void directory_state::release(const std::shared_ptr<actor_link>& link) {
  const auto found = followed_.find(link->task());
  if (found == followed_.end()) return;
  found->second.links.remove_if([&](auto& one) {
    if (one.link != link) return false;
    lose_actor(one);
    return true;
  });
}

void directory_state::take_chief(const presence_actor& chief) {
  // What was asked before their link broke is not answered any more.
  if (chief_) requests_.lost(chief_.address(), {status_code::unavailable, "the link to the chief broke"});
  if (chief_) unwatch(chief_.address());
  chief_ = chief;
  watch(chief_.address());
  std::vector<task_id> tasks;
  for (const auto& [task, _] : followed_)
    if (task != book_->owner()) tasks.push_back(task);
  if (!tasks.empty()) ask_of(std::move(tasks));
}

void directory_state::ask_of(std::vector<task_id> tasks) {
  self_->send(chief_, follow_atom_v, presence_listener{directory_actor{self_}},
              wire<std::vector<task_id>>{std::move(tasks)});
}

void directory_state::take_presence(const caf::strong_actor_ptr& door, const member_record& record) {
  const auto found = followed_.find(record.task);
  if (found == followed_.end()) return;
  auto& [task, member] = *found;
  if (record.state == member_presence::absent) {
    member.present = false;
    // A task that the cluster does not have will never come.
    return lose(member, record.why, record.why.code() == status_code::not_found);
  }
  addresses_[task] = record.address;
  member.present = true;
  member.is_dialled = !door;
  if (task.job == "chief")
    search_all(task, member);
  else if (member.is_dialled)
    reach(task, member);
  else if (const auto handle = caf::actor_cast<member_actor>(door); handle != member.door)
    reached(task, member, handle);
}

/// Whether its names can be asked for: at its door, or, of the chief's own actors, where the chief's words come from.
bool directory_state::is_reached(const task_id& task, const followed_member& member) {
  return member.door || (member.present && task.job == "chief");
}

void directory_state::reach(const task_id& task, followed_member& member) {
  if (member.door || member.dialling) return;
  member.dialling = true;
  const auto& address = addresses_.at(task);
  const auto ended = [this, task](auto work) {
    auto& now = followed_.at(task);
    now.dialling = false;
    work(now);
  };
  requests_.ask(
      dialer_, book_->limits().search_limit, fmt::format("dialling {} at {}", to_string(task), to_string(address)),
      [this, task, ended](member_actor& door) { ended([&](followed_member& now) { reached(task, now, door); }); },
      [this, task, ended](const status& why) {
        ended([&](followed_member& now) {
          for (auto& one : now.links) one.link->note(why);
          if (now.present) later_again(task);
        });
      },
      dial_atom_v, address.host, address.port);
}

void directory_state::reached(const task_id& task, followed_member& member, const member_actor& door) {
  if (!member.present) return;
  lose_door(member, {status_code::unavailable, to_string(task) + " is another process now"});
  member.door = door;
  watch(door.address());
  if (member.is_dialled) {
    if (!detector_) detector_ = self_->spawn(failure_detector, suspicion_listener{directory_actor{self_}}, detection_);
    self_->send(detector_, watch_atom_v, member.key, pingable_actor{door});
  }
  search_all(task, member);
}

void directory_state::search_all(const task_id& task, followed_member& member) {
  for (auto& one : member.links) search(task, member, one);
}

void directory_state::search_here(followed_link& one) {
  lose_actor(one);
  if (const auto here = book_->find(one.link->name())) return settle(one, here->actor, here->interface);
  one.link->note(not_offered(one.link->name()));
}

void directory_state::search(const task_id& task, followed_member& member, followed_link& one) {
  if (one.searching || one.found) return;
  one.searching = true;
  const auto link = one.link;
  // The link may have been released, and found by other ways, when the answer comes.
  const auto ended = [this, task, link](auto work) {
    auto& links = followed_.at(task).links;
    const auto now = std::find_if(links.begin(), links.end(), [&](const auto& each) { return each.link == link; });
    if (now == links.end()) return;
    now->searching = false;
    if (!now->found) work(*now);
  };
  const auto failed = [this, task, ended](const status& why) {
    ended([&](followed_link& now) {
      // Otherwise that the member is not there is the better reason.
      if (!followed_.at(task).present) return;
      now.reason_known = true;
      now.link->note(why);
      later_again(task);
    });
  };
  const auto answered = [this, ended, failed](caf::strong_actor_ptr& actor, wire<actor_interface>& interface) {
    auto problem = interface.open();
    if (problem.ok() && !actor) problem = {status_code::unavailable, "the actor has ended"};
    if (!problem.ok()) return failed(problem);
    ended([&](followed_link& now) { settle(now, actor, *interface); });
  };
  // The first time soon, so that who waits for less hears what is missing.
  const auto limit = one.reason_known ? book_->limits().search_limit : book_->limits().first_search_limit;
  // Beyond the time that the search waits there.
  const auto patience = limit + book_->limits().search_limit;
  const auto what = "looking for " + link->description();
  if (task.job == "chief")
    requests_.ask(chief_, patience, what, answered, failed, find_atom_v, link->name(), std::int64_t{limit.count()});
  else
    requests_.ask(member.door, patience, what, answered, failed, find_atom_v, link->name(),
                  std::int64_t{limit.count()});
}

void directory_state::settle(followed_link& one, const caf::strong_actor_ptr& actor, const actor_interface& interface) {
  auto& link = *one.link;
  // Also one that does not fit: after its end another one may have the name.
  one.found = actor->address();
  watch(one.found);
  if (takes_all(interface, link.wanted())) return link.rise(actor, self_->ctrl());
  actor_interface missing;
  std::set_difference(link.wanted().begin(), link.wanted().end(), interface.begin(), interface.end(),
                      std::back_inserter(missing));
  link.fall({status_code::failed_precondition, fmt::format("{} takes no message {}; it takes {}", link.description(),
                                                           as_list(missing), as_list(interface))},
            true);
}

void directory_state::later_again(const task_id& task) {
  clock_.after(book_->limits().search_retry, [this, task] {
    const auto found = followed_.find(task);
    if (found == followed_.end() || !found->second.present) return;
    auto& member = found->second;
    if (is_reached(task, member))
      search_all(task, member);
    else if (member.is_dialled)
      reach(task, member);
  });
}

// --- losses ---------------------------------------------------------------------------------------------------------

void directory_state::lose(followed_member& member, const status& why, bool lasting) {
  lose_door(member, why);
  for (auto& one : member.links) one.link->fall(why, lasting);
}

void directory_state::lose_door(followed_member& member, const status& why) {
  if (member.door) {
    unwatch(member.door.address());
    requests_.lost(member.door.address(), why);
    if (detector_) self_->send(detector_, dismiss_atom_v, member.key);
    member.door = nullptr;
  }
  for (auto& one : member.links) {
    if (!one.found) continue;
    lose_actor(one);
    one.link->fall(why);
  }
}

void directory_state::lose_actor(followed_link& one) {
  if (one.found) unwatch(std::exchange(one.found, {}));
}

/// Another member, whose link only this directory watches, is silent.
void directory_state::suspect(std::uint64_t key, const status& why) {
  for (auto& [task, member] : followed_) {
    if (member.key != key || !member.door) continue;
    // It may be alive behind a link that leads nowhere.
    self_->send(dialer_, hang_up_atom_v, member.door.node());
    lose(member, why.wrap(status_code::unavailable, "the link to " + to_string(task) + " is lost"));
    later_again(task);
  }
}

void directory_state::watch(const caf::actor_addr& whom) {
  if (++watched_[whom] == 1) self_->monitor(whom);
}

void directory_state::unwatch(const caf::actor_addr& whom) {
  const auto found = watched_.find(whom);
  // It may have ended.
  if (found == watched_.end() || --found->second != 0) return;
  watched_.erase(found);
  self_->demonitor(whom);
}

void directory_state::down(const caf::down_msg& what) {
  watched_.erase(what.source);
  book_->forget(what.source);
  const auto reason = status_of(what.reason, "its link broke or it ended");
  requests_.lost(what.source, reason);
  for (auto& [task, member] : followed_) {
    if (member.door && member.door.address() == what.source) {
      lose(member, reason.wrap(status_code::unavailable, to_string(task) + " is lost"));
      later_again(task);
    }
    for (auto& one : member.links) {
      if (one.found != what.source) continue;
      one.found = {};
      one.link->fall(reason.wrap(status_code::unavailable, one.link->description() + " has ended"));
      if (task == book_->owner())
        search_here(one);
      else if (member.present)
        later_again(task);
    }
  }
}

directory_actor::behavior_type directory(directory_state::pointer self, std::shared_ptr<address_book> book,
                                         dialer_actor dialer, failure_detector_options detection) {
  return self->state.make_behavior(std::move(book), std::move(dialer), detection);
}

}  // namespace troupe
