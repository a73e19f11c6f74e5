#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/membership/rendezvous.hpp>
#include <troupe/actors/messages/first_few.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

std::string fresh_token() {
  const auto first = random_number();
  return fmt::format("{:016x}{:016x}", first, random_number());
}

}  // namespace

rendezvous_state::~rendezvous_state() {
  const status gone{status_code::unavailable, "the process that hosts the group's rendezvous ends"};
  for (auto& [_, each] : gathered_)
    if (each.promise) each.promise->deliver(make_error(gone));
  for (auto& [_, fetches] : fetching_)
    for (auto& each : fetches) each.promise.deliver(make_error(gone));
  inquiries_.end_all(gone);
}

rendezvous_actor::behavior_type rendezvous_state::make_behavior(rendezvous_options options) {
  tolerate_stray_messages(self_);
  options_ = std::move(options);
  detector_ =
      self_->spawn<caf::linked>(failure_detector, suspicion_listener{rendezvous_actor{self_}}, options_.detection);
  return {
      [this](suspect_atom, std::uint64_t key, wire<status>& why) {
        if (why.open().ok()) lose(key, *why);
      },
      [this](gather_atom, const participant_actor& participant,
             wire<group_candidate>& candidate) -> caf::result<wire<group_roster>> {
        if (const auto problem = candidate.open(); !problem.ok()) return make_error(problem);
        return gather(participant, *candidate);
      },
      [this](broken_atom, std::uint64_t generation, wire<status>& why) {
        if (why.open().ok() && formed_ && generation == generation_) break_group(*why);
      },
      [this](set_atom, std::uint64_t generation, const std::string& key, std::string& word) {
        return set(generation, key, std::move(word));
      },
      [this](fetch_atom, std::uint64_t generation, const std::string& key) { return fetch(generation, key); },
      [this](why_atom, std::int64_t limit_ns) { return tell_waits(duration{limit_ns}); },
  };
}

/// The process that hosts it takes part, too.
caf::result<wire<cluster_waits>> rendezvous_state::tell_waits(duration limit) {
  const auto inquiry = inquiries_.begin(self_, limit);
  if (!inquiry) return make_error(waits_inquiries::too_many());
  for (const auto& task : options_.expected) {
    process_waits known{.task = task, .host = {}, .waits = {}, .silent = {}};
    const auto found = gathered_.find(task);
    if (found != gathered_.end()) {
      inquiry->ask(requests_, found->second.participant, std::move(known));
    } else {
      known.silent = {status_code::unavailable, "it has not come to the group"};
      inquiry->add(std::move(known));
    }
  }
  inquiry->end_one();
  return inquiry->promise();
}

bool rendezvous_state::is_expected(const task_id& task) const {
  return std::find(options_.expected.begin(), options_.expected.end(), task) != options_.expected.end();
}

// --- gathering ------------------------------------------------------------------------------------------------------

caf::result<wire<group_roster>> rendezvous_state::gather(const participant_actor& participant,
                                                         const group_candidate& candidate) {
  const auto& task = candidate.task;
  if (!is_expected(task))
    return make_error(
        status{status_code::aborted, fmt::format("{} is no part of this group: it was declared lost, or the cluster "
                                                 "specifications of the processes differ",
                                                 to_string(task))});
  if (formed_) {
    if (candidate.generation != generation_)
      return make_error(status{status_code::failed_precondition,
                               fmt::format("the group of generation {} is complete and goes on without this process, "
                                           "which was in generation {}",
                                           generation_, candidate.generation)});
    break_group({status_code::aborted, fmt::format("{} wants to gather again", to_string(task))});
  }
  auto& entry = gathered_[task];
  if (entry.promise)
    entry.promise->deliver(
        make_error(status{status_code::aborted, fmt::format("another process takes part as {}", to_string(task))}));
  if (entry.participant != participant) {
    if (entry.key != 0) self_->send(detector_, dismiss_atom_v, entry.key);
    entry.participant = participant;
    entry.key = ++last_key_;
    self_->send(detector_, watch_atom_v, entry.key, pingable_actor{participant});
  }
  entry.candidate = candidate;
  auto promise = self_->make_response_promise<roster_promise>();
  entry.promise = promise;
  if (gather_deadline_.number == 0) {
    gather_deadline_ = clock_.after(options_.gather_limit, [this] { give_up_gathering(); });
    if (options_.report) report_missing_after(std::chrono::seconds{1});
  }
  form();
  return promise;
}

void rendezvous_state::form() {
  if (options_.expected.empty() || !missing().empty()) return;
  clock_.cancel(std::exchange(gather_deadline_, {}));
  clock_.cancel(report_);
  formed_ = true;
  words_.clear();
  group_roster roster{.generation = ++generation_, .members = {}, .token = fresh_token()};
  for (const auto& task : options_.expected) roster.members.push_back(gathered_.at(task).candidate);
  const wire<group_roster> answer{std::move(roster)};
  for (auto& [_, each] : gathered_)
    if (auto promise = std::exchange(each.promise, {})) promise->deliver(answer);
}

std::vector<task_id> rendezvous_state::missing() const {
  std::vector<task_id> result;
  for (const auto& task : options_.expected) {
    const auto found = gathered_.find(task);
    if (found == gathered_.end() || !found->second.promise) result.push_back(task);
  }
  return result;
}

void rendezvous_state::report_missing_after(duration pause) {
  report_ = clock_.after(pause, [this] {
    options_.report(missing());
    report_missing_after(std::chrono::seconds{5});
  });
}

void rendezvous_state::give_up_gathering() {
  gather_deadline_ = {};
  clock_.cancel(report_);
  std::vector<std::string> names;
  for (const auto& task : missing()) names.push_back(to_string(task));
  const status late{status_code::deadline_exceeded,
                    fmt::format("the group is not complete after {} ms: {} did not come",
                                in_milliseconds(options_.gather_limit), first_few(names, ", "))};
  for (auto& [_, each] : gathered_)
    if (auto promise = std::exchange(each.promise, {})) promise->deliver(make_error(late));
}

// --- losing ---------------------------------------------------------------------------------------------------------

void rendezvous_state::lose(std::uint64_t key, const status& why) {
  const auto found =
      std::find_if(gathered_.begin(), gathered_.end(), [&](const auto& each) { return each.second.key == key; });
  if (found == gathered_.end()) return;
  const auto task = found->first;
  const auto lost = why.wrap(status_code::unavailable, to_string(task) + " is lost");
  // It may only be frozen, and go on later.
  if (formed_) self_->send(found->second.participant, broken_atom_v, generation_, wire<status>{lost});
  if (auto& promise = found->second.promise) promise->deliver(make_error(lost));
  gathered_.erase(found);
  // A process that is lost before there was a group may be started again.
  if (generation_ == 0) return;
  std::erase(options_.expected, task);
  if (formed_) return break_group(lost);
  form();
}

void rendezvous_state::break_group(const status& why) {
  formed_ = false;
  const wire<status> news{why};
  for (auto& [_, each] : gathered_) self_->send(each.participant, broken_atom_v, generation_, news);
  for (auto& [_, fetches] : std::exchange(fetching_, {}))
    for (auto& each : fetches) {
      clock_.cancel(each.deadline);
      each.promise.deliver(make_error(why));
    }
}

// --- words ----------------------------------------------------------------------------------------------------------

caf::result<caf::ok_atom> rendezvous_state::set(std::uint64_t generation, const std::string& key, std::string word) {
  if (!formed_ || generation != generation_)
    return make_error(status{status_code::aborted, fmt::format("the group of generation {} is over", generation)});
  if (words_.size() >= options_.words_max)
    return make_error(status{status_code::resource_exhausted,
                             fmt::format("a group's processes told each other {} words already", words_.size())});
  const auto& kept = words_.insert_or_assign(key, std::move(word)).first->second;
  const auto waiting = fetching_.find(key);
  if (waiting == fetching_.end()) return caf::ok_atom_v;
  for (auto& each : waiting->second) {
    clock_.cancel(each.deadline);
    each.promise.deliver(kept);
  }
  fetching_.erase(waiting);
  return caf::ok_atom_v;
}

caf::result<std::string> rendezvous_state::fetch(std::uint64_t generation, const std::string& key) {
  if (!formed_ || generation != generation_)
    return make_error(status{status_code::aborted, fmt::format("the group of generation {} is over", generation)});
  const auto found = words_.find(key);
  if (found != words_.end()) return found->second;
  auto promise = self_->make_response_promise<word_promise>();
  const auto deadline = clock_.after(options_.fetch_limit, [this, key] {
    const auto waiting = fetching_.find(key);
    if (waiting == fetching_.end()) return;
    auto first = std::move(waiting->second.front());
    waiting->second.erase(waiting->second.begin());
    if (waiting->second.empty()) fetching_.erase(waiting);
    first.promise.deliver(make_error(status{
        status_code::deadline_exceeded,
        fmt::format("no process of the group said \"{}\" within {} ms", key, in_milliseconds(options_.fetch_limit))}));
  });
  fetching_[key].push_back({promise, deadline});
  return promise;
}

rendezvous_actor::behavior_type rendezvous(rendezvous_state::pointer self, rendezvous_options options) {
  return self->state.make_behavior(std::move(options));
}

}  // namespace troupe
