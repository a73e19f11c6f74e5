// Asks an actor and waits for the answer, as code that is no actor's handler may: a fiber parks, a thread blocks.
//
// Problem: CAF's own `scoped_actor` blocks the thread, and so, in a fiber, the whole actor around it, which then hears
// no cancellation and runs no other fiber; it may also be the very actor that must run for the answer to come.
// Solution: the answer goes to a receiver that is no actor with a life of its own, only a mailbox of one place, and
// sets a `completion`. Nothing is spawned, and no scheduler's thread is needed. Who is asked is watched, too: CAF does
// not answer for those who end, and a question to a process that was lost would wait until its limit.
#pragma once

#include <troupe/actors/fibers/completion.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/detail/implicit_conversions.hpp>
#include <caf/detail/type_traits.hpp>
#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <caf/message_handler.hpp>
#include <caf/message_id.hpp>
#include <caf/response_type.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace troupe {

/// Takes answers to questions, one after the other. Each process that is asked hears of the one who asks, and of its
/// end: who asks often keeps one.
class answer_taker {
 public:
  explicit answer_taker(caf::actor_system& system);
  ~answer_taker();
  answer_taker(const answer_taker&) = delete;

  /// Who asks.
  const caf::strong_actor_ptr& handle() const { return handle_; }
  /// The number of the next question; what is still under way to earlier ones goes nowhere from now on.
  caf::message_id begin();
  /// Waits for the answer to it, which may be an error, or the news of an end; `what` names the question, `limit` its
  /// time, in errors. @throws deadline_exceeded_error; cancelled_error when the fiber is cancelled.
  caf::message wait_until(time_point deadline, duration limit, std::string_view what);

 private:
  class receiver;

  receiver& actor() const;

  caf::actor_config config_;
  caf::strong_actor_ptr handle_;
};

/// A question that has been sent and whose answer is waited for later, so that several can be open. Dropping it drops
/// the answer.
class asked {
 public:
  /// @throws unavailable_error for an empty handle.
  asked(caf::actor_system& system, const caf::strong_actor_ptr& to, caf::message question, duration limit,
        std::string what);
  ~asked();
  asked(asked&&) noexcept;
  asked& operator=(asked&&) noexcept;

  /// Once. @throws as `ask`.
  caf::message wait();

 private:
  /// Takes the news that whom it watches has ended, too.
  class watching_taker;
  std::unique_ptr<watching_taker> taker_;
  time_point deadline_;
  duration limit_;
  std::string what_;
};

namespace detail {

/// `answer`, unless it is an error.
caf::message checked_answer(caf::message answer, std::string_view what);
[[noreturn]] void throw_unexpected_answer(std::string_view what);

/// `on_value` as a handler of exactly its own parameter types.
template <class OnValue, class... Answer>
auto exactly(OnValue& on_value, caf::detail::type_list<Answer...>) {
  return [&](Answer... answer) { on_value(static_cast<Answer&&>(answer)...); };
}

}  // namespace detail

/// Sends the question; `wait` gives the answer. As `ask` otherwise.
template <class Handle, class... Ts>
asked ask_ahead(caf::actor_system& system, const Handle& to, duration limit, std::string what, Ts&&... xs) {
  using sent_types = caf::detail::type_list<typename caf::detail::implicit_conversions<std::decay_t<Ts>>::type...>;
  static_assert(caf::response_type_unbox<caf::signatures_of_t<Handle>, sent_types>::valid,
                "the receiver's interface has no such request");
  return {system, caf::actor_cast<caf::strong_actor_ptr>(to), caf::make_message(std::forward<Ts>(xs)...), limit,
          std::move(what)};
}

/// Calls `on_value` with the answer, before it returns. `what` names the request in errors ("asking who is in the
/// cluster"). Any thread or fiber, but no handler of an event-based actor.
/// @throws the answerer's error; deadline_exceeded_error when there is none within `limit`; unavailable_error for an
/// empty handle, and when the answerer ends or its process is lost; cancelled_error when the fiber is cancelled, and
/// the answer then goes nowhere.
template <class Handle, class OnValue, class... Ts>
void ask(caf::actor_system& system, const Handle& to, duration limit, std::string_view what, OnValue on_value,
         Ts&&... xs) {
  auto answer = ask_ahead(system, to, limit, std::string{what}, std::forward<Ts>(xs)...).wait();
  caf::message_handler handler{
      detail::exactly(on_value, typename caf::detail::get_callable_trait<OnValue>::arg_types{})};
  if (!handler(answer)) detail::throw_unexpected_answer(what);
}

}  // namespace troupe
