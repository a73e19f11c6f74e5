#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/orderly_end.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace troupe {

orderly_end::~orderly_end() {
  for (const auto& each : take()) caf::anon_send_exit(each, caf::exit_reason::user_shutdown);
}

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
  report_(
      fmt::format("an actor (number {}) has not ended within {} ms, nor has it been killed within as many: it is "
                  "left behind; it computes or waits in a handler",
                  left_.front().id(), in_milliseconds(limit_)));
  left_.pop_front();
  next();
}

}  // namespace troupe
