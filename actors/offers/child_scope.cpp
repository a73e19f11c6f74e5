#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/child_scope.hpp>

#include <caf/default_attachable.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

void child_scope::keep(const caf::actor& actor) {
  {
    const std::scoped_lock lock{mutex_};
    if (closed_) return caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    actors_.push_back(actor);
  }
  // As `monitor`, which only the supervisor itself may call. Of one that has ended it hears now.
  caf::actor_cast<caf::abstract_actor*>(actor)->attach(
      caf::default_attachable::make_monitor(actor.address(), supervisor_));
}

bool child_scope::holds(const caf::actor_addr& whom) {
  const std::scoped_lock lock{mutex_};
  return std::any_of(actors_.begin(), actors_.end(), [&](const caf::actor& each) { return each.address() == whom; });
}

bool child_scope::forget(const caf::actor_addr& ended) {
  const std::scoped_lock lock{mutex_};
  return std::erase_if(actors_, [&](const caf::actor& each) { return each.address() == ended; }) != 0;
}

std::vector<caf::actor> child_scope::close() {
  std::unique_lock lock{mutex_};
  closed_ = true;
  auto actors = std::exchange(actors_, {});
  lock.unlock();
  std::erase_if(actors, [](const caf::actor& each) { return has_ended(each); });
  std::reverse(actors.begin(), actors.end());
  return actors;
}

}  // namespace troupe
