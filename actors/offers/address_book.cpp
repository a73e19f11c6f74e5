#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/address_book.hpp>

#include <caf/actor_cast.hpp>
#include <caf/send.hpp>
#include <caf/typed_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

template <class... Ts>
void address_book::tell(Ts&&... what) const {
  if (const auto directory = caf::actor_cast<directory_actor>(directory_.lock()))
    caf::anon_send(directory, std::forward<Ts>(what)...);
}

// --- offers ---------------------------------------------------------------------------------------------------------

void address_book::offer(const std::string& name, offered what) {
  if (name.empty() || !what.actor)
    throw invalid_argument_error{fmt::format("{} can't offer {}", to_string(owner_),
                                             name.empty() ? "an actor without a name" : "\"" + name + "\": no actor")};
  const std::scoped_lock lock{mutex_};
  if (!closed_.ok()) throw_status(closed_);
  const auto found = offers_.find(name);
  if (found != offers_.end() && !has_ended(found->second.actor))
    throw already_exists_error{
        fmt::format("{} offers \"{}\" already; withdraw it first, or take another name", to_string(owner_), name)};
  if (found == offers_.end() && offers_.size() >= limits_.offers_max)
    throw resource_exhausted_error{
        fmt::format("{} offers {} actors already, its limit (offers_max)", to_string(owner_), limits_.offers_max)};
  offers_.insert_or_assign(name, std::move(what));
  tell(offer_atom_v, name);
}

bool address_book::withdraw(const std::string& name) {
  decltype(offers_)::node_type gone;
  const std::scoped_lock lock{mutex_};
  // The actor may end with its last handle: after the lock.
  gone = offers_.extract(name);
  return !gone.empty();
}

std::optional<address_book::offered> address_book::find(const std::string& name) {
  const std::scoped_lock lock{mutex_};
  const auto found = offers_.find(name);
  if (found == offers_.end()) return std::nullopt;
  if (!has_ended(found->second.actor)) return found->second;
  // The directory hears of the end only if it knew the actor before.
  offers_.erase(found);
  return std::nullopt;
}

std::vector<std::string> address_book::names() const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::string> result;
  for (const auto& [name, what] : offers_)
    if (!has_ended(what.actor) && !name.starts_with("troupe/")) result.push_back(name);
  return result;
}

std::vector<std::string> address_book::names_of(const caf::actor_addr& actor) const {
  const std::scoped_lock lock{mutex_};
  std::vector<std::string> result;
  for (const auto& [name, what] : offers_)
    if (what.actor->address() == actor) result.push_back(name);
  return result;
}

void address_book::forget(const caf::actor_addr& actor) {
  const std::scoped_lock lock{mutex_};
  std::erase_if(offers_, [&](const auto& each) { return each.second.actor->address() == actor; });
}

// --- links ----------------------------------------------------------------------------------------------------------

std::shared_ptr<actor_link> address_book::follow(const task_id& task, const std::string& name,
                                                 const actor_interface& wanted) {
  const std::scoped_lock lock{mutex_};
  const key where{task, name, wanted};
  if (const auto found = links_.find(where); found != links_.end()) {
    if (found->second->begin_again()) tell(follow_atom_v, found->second);
    return found->second;
  }
  auto link = std::make_shared<actor_link>(task, name, wanted);
  if (!closed_.ok()) {
    link->fall(closed_, true);
    return link;
  }
  drop_unused_links();
  links_.emplace(where, link);
  tell(follow_atom_v, link);
  return link;
}

/// A closure's copy of a reference ends with it, but the next closure will want the link again.
void address_book::drop_unused_links() {
  if (links_.size() < next_look_) return;
  std::erase_if(links_, [&](const auto& each) {
    // The directory's and this one.
    constexpr long own_copies = 2;
    // Before there is a directory, the second one is somebody's who holds it.
    if (!directory_ || each.second.use_count() > own_copies) return false;
    tell(release_atom_v, each.second);
    return true;
  });
  if (links_.size() >= limits_.links_max)
    throw resource_exhausted_error{
        fmt::format("{} follows {} actors already, its limit (links_max)", to_string(owner_), limits_.links_max)};
  next_look_ = std::min(std::max(next_look_, 2 * links_.size()), limits_.links_max);
}

// --- the cluster ----------------------------------------------------------------------------------------------------

std::vector<task_id> address_book::tasks(const std::string& job, duration limit) {
  jobs_known_.wait_until(later(current_time(), limit), "waiting for a chief to take this process in");
  const std::scoped_lock lock{mutex_};
  if (!closed_.ok()) throw_status(closed_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) throw not_found_error{fmt::format("\"{}\" is no job of this cluster", job)};
  std::vector<task_id> all;
  all.reserve(static_cast<std::size_t>(found->second));
  for (int i = 0; i < found->second; ++i) all.push_back({job, i});
  return all;
}

void address_book::know(job_sizes jobs) {
  {
    const std::scoped_lock lock{mutex_};
    jobs_ = std::move(jobs);
  }
  jobs_known_.set();
}

// --- the directory --------------------------------------------------------------------------------------------------

void address_book::open(const directory_actor& directory) {
  const std::scoped_lock lock{mutex_};
  directory_ = caf::actor_cast<caf::weak_actor_ptr>(directory);
  for (const auto& [name, _] : offers_) tell(offer_atom_v, name);
  for (const auto& [_, link] : links_) tell(follow_atom_v, link);
}

void address_book::close(const status& why) {
  std::unique_lock lock{mutex_};
  closed_ = why;
  // Actors may end with their last handles: not under the lock.
  const auto offers = std::exchange(offers_, {});
  const auto links = std::exchange(links_, {});
  lock.unlock();
  jobs_known_.set();
  for (const auto& [_, link] : links) link->fall(why, true);
}

}  // namespace troupe
