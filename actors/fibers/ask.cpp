#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>

#include <caf/actor_config.hpp>
#include <caf/default_attachable.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/system_messages.hpp>
#include <fmt/format.h>

#include <atomic>

namespace troupe {

namespace {

/// Takes the first answer that it is sent, or the news that nobody is there to answer, in the thread that sends it;
/// everything else is dropped.
class answer_receiver final : public caf::monitorable_actor {
 public:
  explicit answer_receiver(caf::actor_config& config) : monitorable_actor(config) {}

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const auto is_down = what->content().match_elements<caf::down_msg>();
    if ((!what->mid.is_response() && !is_down) || has_content_.exchange(true)) return;
    content = what->move_content_to_message();
    arrived.set();
  }
  using monitorable_actor::enqueue;

  /// After `arrived`.
  caf::message content;
  completion arrived;

 private:
  std::atomic<bool> has_content_{false};
};

}  // namespace

/// The receiver's life: the registry of actors that other nodes know must let it go, and whom it asks, too.
class asked::receiver {
 public:
  receiver(caf::actor_system& system, const caf::strong_actor_ptr& whom)
      : handle_(caf::make_actor<answer_receiver, caf::strong_actor_ptr>(system.next_actor_id(), system.node(), &system,
                                                                        config_)),
        whom_(whom) {
    whom_->get()->attach(caf::default_attachable::make_monitor(whom_->get()->address(), actor().address()));
  }
  ~receiver() {
    whom_->get()->detach(caf::default_attachable::observe_token{actor().address(), caf::default_attachable::monitor});
    actor().cleanup(caf::exit_reason::normal, nullptr);
  }
  receiver(const receiver&) = delete;

  answer_receiver& actor() const { return *static_cast<answer_receiver*>(handle_->get()); }
  const caf::strong_actor_ptr& handle() const { return handle_; }

 private:
  caf::actor_config config_;
  caf::strong_actor_ptr handle_;
  caf::strong_actor_ptr whom_;
};

asked::asked(caf::actor_system& system, const caf::strong_actor_ptr& to, caf::message question, duration limit,
             std::string what)
    : deadline_(later(current_time(), limit)), limit_(limit), what_(std::move(what)) {
  if (!to) throw unavailable_error{fmt::format("{}: there is no such actor", what_)};
  receiver_ = std::make_unique<receiver>(system, to);
  to->enqueue(receiver_->handle(), caf::make_message_id(1), std::move(question), nullptr);
}

asked::~asked() = default;
asked::asked(asked&&) noexcept = default;
asked& asked::operator=(asked&&) noexcept = default;

caf::message asked::wait() {
  auto& here = receiver_->actor();
  if (!here.arrived.wait_until(deadline_))
    throw deadline_exceeded_error{fmt::format("{}: no answer within {} ms", what_, in_milliseconds(limit_))};
  auto answer = std::move(here.content);
  if (answer.match_elements<caf::down_msg>())
    throw unavailable_error{fmt::format("{}: who was asked has ended without an answer, or its process was lost: {}",
                                        what_, status_of(answer.get_as<caf::down_msg>(0).reason).message())};
  if (answer.match_elements<caf::error>()) throw_status(status_of(answer.get_as<caf::error>(0), what_));
  return answer;
}

void detail::throw_unexpected_answer(std::string_view what) {
  throw internal_error{fmt::format("{}: the answer is of another type than the question's interface says", what)};
}

}  // namespace troupe
