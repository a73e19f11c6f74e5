#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/orderly_end.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

void orderly_end::begin(std::function<void()> done) {
  done_ = std::move(done);
  next();
}

bool orderly_end::forget(const caf::actor_addr& ended) {
  const auto found =
      std::find_if(left_.begin(), left_.end(), [&](const caf::actor& each) { return each.address() == ended; });
  if (found == left_.end()) return false;
  const auto is_first = found == left_.begin();
  left_.erase(found);
  if (is_first) next();
  return true;
}

std::deque<caf::actor> orderly_end::take() {
  clock_.cancel(late_);
  return std::exchange(left_, {});
}

void orderly_end::next() {
  clock_.cancel(late_);
  while (!left_.empty() && has_ended(left_.front())) left_.pop_front();
  if (!left_.empty()) return ask(caf::exit_reason::user_shutdown);
  const auto done = std::exchange(done_, nullptr);
  done();
}

void orderly_end::ask(caf::exit_reason how) {
  caf::anon_send_exit(left_.front(), how);
  late_ = clock_.after(limit_, [this, how] { be_late(how); });
}

void orderly_end::be_late(caf::exit_reason asked) {
  if (asked != caf::exit_reason::kill) return ask(caf::exit_reason::kill);
  leave_behind_(left_.front());
  left_.pop_front();
  next();
}

}  // namespace troupe
