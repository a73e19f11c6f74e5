#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/fiber.hpp>

#include <caf/default_attachable.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/system_messages.hpp>
#include <fmt/format.h>

#include <cstdint>
#include <mutex>

namespace troupe {

/// Takes the answer that is waited for, or the news that nobody is there to answer, in the thread that sends it;
/// everything else is dropped.
class answer_taker::receiver final : public caf::monitorable_actor {
 public:
  explicit receiver(caf::actor_config& config) : monitorable_actor(config) {}

  caf::message_id begin() {
    const std::scoped_lock lock{mutex_};
    awaited_ = caf::make_message_id(++last_number_);
    content_ = {};
    arrived_ = std::make_shared<completion>();
    return awaited_;
  }

  bool wait_until(time_point deadline) {
    std::shared_ptr<completion> arrived;
    {
      const std::scoped_lock lock{mutex_};
      arrived = arrived_;
    }
    return arrived->wait_until(deadline);
  }

  caf::message take() {
    const std::scoped_lock lock{mutex_};
    return std::move(content_);
  }

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    std::unique_lock lock{mutex_};
    const auto is_answer = what->mid == awaited_.response_id() || what->content().match_elements<caf::down_msg>();
    if (!is_answer || !arrived_ || arrived_->is_set()) return;
    content_ = what->move_content_to_message();
    const auto arrived = arrived_;
    lock.unlock();
    arrived->set();
  }
  using monitorable_actor::enqueue;

 private:
  std::mutex mutex_;
  std::uint64_t last_number_ = 0;
  caf::message_id awaited_;
  caf::message content_;
  /// Of this question; null: there was none.
  std::shared_ptr<completion> arrived_;
};

answer_taker::answer_taker(caf::actor_system& system)
    : handle_(
          caf::make_actor<receiver, caf::strong_actor_ptr>(system.next_actor_id(), system.node(), &system, config_)) {}

/// The registry of actors that other nodes know must let it go.
answer_taker::~answer_taker() { actor().cleanup(caf::exit_reason::normal, nullptr); }

answer_taker::receiver& answer_taker::actor() const { return *static_cast<receiver*>(handle_->get()); }

caf::message_id answer_taker::begin() { return actor().begin(); }

caf::message answer_taker::wait_until(time_point deadline, duration limit, std::string_view what) {
  const awaiting scope{"the answer to", what};
  if (actor().wait_until(deadline)) return actor().take();
  missed_deadlines::report(what, limit);
  throw deadline_exceeded_error{fmt::format("{}: no answer within {} ms", what, in_milliseconds(limit))};
}

/// Whom it asks must let it go, too.
class asked::watching_taker : public answer_taker {
 public:
  /// CAF drops what is sent to an actor of a process that has been lost, and tells of an end that is past while it
  /// attaches: so that is listened to from before.
  watching_taker(caf::actor_system& system, const caf::strong_actor_ptr& whom)
      : answer_taker(system), whom_(whom), question_(begin()) {
    whom_->get()->attach(caf::default_attachable::make_monitor(whom_->get()->address(), handle()->get()->address()));
  }
  ~watching_taker() {
    whom_->get()->detach(
        caf::default_attachable::observe_token{handle()->get()->address(), caf::default_attachable::monitor});
  }

  caf::message_id question() const { return question_; }

 private:
  caf::strong_actor_ptr whom_;
  caf::message_id question_;
};

asked::asked(caf::actor_system& system, const caf::strong_actor_ptr& to, caf::message question, duration limit,
             std::string what)
    : deadline_(later(current_time(), limit)), limit_(limit), what_(std::move(what)) {
  if (!to) throw unavailable_error{fmt::format("{}: there is no such actor", what_)};
  taker_ = std::make_unique<watching_taker>(system, to);
  to->enqueue(taker_->handle(), taker_->question(), std::move(question), nullptr);
}

asked::~asked() = default;
asked::asked(asked&&) noexcept = default;
asked& asked::operator=(asked&&) noexcept = default;

caf::message asked::wait() {
  auto answer = taker_->wait_until(deadline_, limit_, what_);
  if (answer.match_elements<caf::down_msg>())
    throw unavailable_error{fmt::format("{}: who was asked has ended without an answer, or its process was lost: {}",
                                        what_, status_of(answer.get_as<caf::down_msg>(0).reason).message())};
  return detail::checked_answer(std::move(answer), what_);
}

caf::message detail::checked_answer(caf::message answer, std::string_view what) {
  if (answer.match_elements<caf::error>()) throw_status(status_of(answer.get_as<caf::error>(0), what));
  return answer;
}

void detail::throw_unexpected_answer(std::string_view what) {
  throw internal_error{fmt::format("{}: the answer is of another type than the question's interface says", what)};
}

}  // namespace troupe
