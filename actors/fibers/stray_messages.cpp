#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/fibers/time.hpp>

#include <caf/delegated.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/result.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/sec.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

namespace {

constexpr duration told_each = std::chrono::minutes{1};

std::atomic<stray_log> log{nullptr};

std::string sender_of(caf::scheduled_actor& at) {
  const auto* const message = at.current_mailbox_element();
  return message != nullptr && message->sender ? to_string(message->sender->node()) : "nobody";
}

class stray_count {
 public:
  void add(caf::scheduled_actor& at) {
    ++untold_;
    const auto now = at.clock().now();
    if (now < next_) return;
    next_ = later(now, told_each);
    if (const auto write = log.load())
      write(fmt::format("the actor {} (id {}) has dropped {} it does not understand; the last came from {}", at.name(),
                        at.id(), untold_ == 1 ? "a message that" : fmt::format("{} messages that", untold_),
                        sender_of(at)));
    untold_ = 0;
  }

 private:
  std::uint64_t untold_ = 0;
  time_point next_{};
};

}  // namespace

void tolerate_stray_messages(caf::scheduled_actor* self) {
  const auto count = std::make_shared<stray_count>();
  self->set_default_handler([count](caf::scheduled_actor* at, caf::message_view&) -> caf::result<caf::message> {
    count->add(*at);
    if (at->current_mailbox_element()->mid.is_request()) return caf::make_error(caf::sec::unexpected_message);
    // Nothing goes back: an error that is no answer would be a stray there.
    return caf::delegated<caf::message>{};
  });
  self->set_error_handler([count](caf::scheduled_actor* at, caf::error&) { count->add(*at); });
}

stray_log log_stray_messages_by(stray_log writes) noexcept { return log.exchange(writes); }

}  // namespace troupe
