#include <troupe/actors/fibers/requests.hpp>

#include <caf/mailbox_element.hpp>
#include <caf/sec.hpp>

#include <vector>

namespace troupe {

void requests::open(caf::message_id id, caf::actor_addr peer, duration limit) {
  auto deadline = clock_.after(limit, [this, id] { fail(id, caf::make_error(caf::sec::request_timeout)); });
  open_.emplace(id.integer_value(), entry{id, std::move(peer), deadline});
}

bool requests::close(caf::message_id id) {
  const auto found = open_.find(id.integer_value());
  if (found == open_.end()) return false;
  clock_.cancel(found->second.deadline);
  open_.erase(found);
  return true;
}

// The failure takes the same way as an answer would, so it never runs inside of another handler.
void requests::fail(caf::message_id id, caf::error why) {
  self_->enqueue(caf::make_mailbox_element(nullptr, id, caf::no_stages, std::move(why)), self_->context());
}

void requests::lost(const caf::actor_addr& peer, const status& why) {
  std::vector<caf::message_id> ended;
  for (const auto& [_, request] : open_)
    if (request.peer == peer) ended.push_back(request.id);
  for (const auto id : ended) fail(id, make_error(why));
}

}  // namespace troupe
