#include <troupe/actors/variables/client_memory.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace troupe {

// --- the changes of one client --------------------------------------------------------------------------------------

std::vector<change_log::change>::iterator change_log::place_of(std::uint64_t number) {
  const auto begin = changes_.begin() + static_cast<std::ptrdiff_t>(first_);
  if (begin == changes_.end() || changes_.back().number < number) return changes_.end();
  return std::lower_bound(begin, changes_.end(), number,
                          [](const change& known, std::uint64_t wanted) { return known.number < wanted; });
}

const change_log::change* change_log::find(std::uint64_t number) const {
  const auto place = const_cast<change_log*>(this)->place_of(number);
  return place != changes_.end() && place->number == number ? &*place : nullptr;
}

void change_log::drop_below(std::uint64_t number) {
  for (; first_ != changes_.size() && changes_[first_].number < number; ++first_) {
    auto& left = changes_[first_];
    weight_ -= 1 + weight_of(left.ended);
    left.ended = {};
  }
  if (first_ > changes_.size() / 2) give_memory_back();
}

std::size_t change_log::weight_of(const status& ended) {
  if (ended.ok()) return 0;
  auto size_bytes = ended.message().size() + ended.thrown().type.size() + ended.thrown().content.size();
  for (const auto& each : ended.causes()) size_bytes += sizeof(each) + each.message.size();
  // Beside its text it is an object of its own.
  constexpr std::size_t overhead_bytes = 160;
  return (overhead_bytes + size_bytes) / sizeof(change);
}

void change_log::give_memory_back() {
  constexpr std::size_t kept_max = 256;
  const auto begin = changes_.begin() + static_cast<std::ptrdiff_t>(first_);
  if (changes_.capacity() > std::max(kept_max, 4 * size()))
    changes_ = std::vector<change>(std::make_move_iterator(begin), std::make_move_iterator(changes_.end()));
  else
    changes_.erase(changes_.begin(), begin);
  first_ = 0;
}

// --- clients --------------------------------------------------------------------------------------------------------

client_memory::client* client_memory::hear(client_id id, time_point now) {
  forget_silent(now);
  const auto found = places_.find(id);
  if (found == places_.end() || found->second->forgotten_) {
    if (known_.size() >= limits_.clients_max) return nullptr;
    if (found == places_.end())
      places_.emplace(id, known_.insert(known_.end(), client{id}));
    else
      known_.splice(known_.end(), forgotten_, found->second);
  } else if (std::next(found->second) != known_.end()) {
    known_.splice(known_.end(), known_, found->second);
  }
  auto& heard = known_.back();
  heard.heard_ = now;
  heard.forgotten_ = false;
  return &heard;
}

client_memory::client* client_memory::find(client_id id) {
  const auto found = places_.find(id);
  return found == places_.end() || found->second->forgotten_ ? nullptr : &*found->second;
}

status client_memory::no_room(std::string_view variable) const {
  return {status_code::resource_exhausted,
          fmt::format("variable \"{}\" has {} clients that were heard within the last {} ms, its limit "
                      "(parameter_server_options::clients_max), and takes no other one; end processes that are not "
                      "needed, wait until others were silent for so long (client_silence_max), or raise the limit",
                      variable, known_.size(), in_milliseconds(limits_.client_silence_max))};
}

void client_memory::acknowledge(client& of, std::uint64_t first_open) {
  const auto before = of.changes_.weight();
  of.changes_.drop_below(first_open);
  weight_ -= before - of.changes_.weight();
}

/// Ok: it is new, and there is room to remember it.
status client_memory::why_not(const client& of, std::uint64_t number, std::string_view variable) const {
  if (number <= of.highest_forgotten_)
    return {status_code::unknown,
            fmt::format("a change of variable \"{}\" comes again after its client was silent for more than {} ms "
                        "(parameter_server_options::client_silence_max): whether it was applied is forgotten, and it "
                        "is not applied now; look what the variable holds, and give operations less time than that",
                        variable, in_milliseconds(limits_.client_silence_max))};
  if (of.changes_.size() >= limits_.remembered_changes_max)
    return {status_code::resource_exhausted,
            fmt::format("a client has {} changes of variable \"{}\" in flight, the limit (remembered_changes_max); "
                        "wait for some before the next",
                        of.changes_.size(), variable)};
  if (weight_ >= limits_.remembered_changes_of_all_max && of.changes_.weight() >= client_share())
    return {status_code::resource_exhausted,
            fmt::format("all clients together have {} changes of variable \"{}\" in flight, the limit "
                        "(parameter_server_options::remembered_changes_of_all_max), and this one has its share of {}; "
                        "wait for some of its own before the next, or raise the limit",
                        weight_, variable, client_share())};
  return {};
}

std::size_t client_memory::client_share() const {
  return std::max<std::size_t>(limits_.remembered_changes_of_all_max / std::max<std::size_t>(limits_.clients_max, 1),
                               1);
}

void client_memory::forget_silent(time_point now) {
  while (!known_.empty() && now - known_.front().heard_ >= limits_.client_silence_max) forget(known_.begin());
}

void client_memory::forget(clients::iterator which) {
  auto& silent = *which;
  if (silent.highest_ == 0 || limits_.forgotten_clients_max == 0) return forget_for_good(silent);
  weight_ -= silent.changes_.weight();
  silent.changes_ = {};
  silent.highest_forgotten_ = silent.highest_;
  silent.forgotten_ = true;
  forgotten_.splice(forgotten_.end(), known_, which);
  if (forgotten_.size() > limits_.forgotten_clients_max) forget_for_good(forgotten_.front());
}

void client_memory::forget_for_good(const client& which) {
  weight_ -= which.changes_.weight();
  const auto place = places_.find(which.id_);
  const auto node = place->second;
  places_.erase(place);
  (which.forgotten_ ? forgotten_ : known_).erase(node);
}

}  // namespace troupe
