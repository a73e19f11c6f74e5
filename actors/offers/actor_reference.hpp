// An actor that the application offers on some member, as others hold it: by its name, through losses.
//
//   auto sensor = here.find<sensor_actor>({"worker", 0}, "sensor");
//   int degrees = ask(sensor, 1s, read_atom_v);                        // in a thread, or in a closure's fiber
//   sensor.request(self, 1s, read_atom_v).then([](int degrees) {...}, [](const status& why) {...});
//   sensor.watch(self, [](const sensor_actor& now) {...}, [](const status& why) {...});
//
// While its actor, its process or the link to it is lost, requests fail at once with `unavailable`, those that are
// open, too (O-1); when the member is there again and offers the name, the same reference leads to the new actor. A
// request to a reference of which nothing is known yet waits, within its limit.
//
// It is a value: closures take references as arguments and return them; they lead to the same name wherever they come.
// Copies share one link, and holding one keeps no actor alive.
#pragma once

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/offers/actor_interface.hpp>
#include <troupe/actors/offers/actor_watch.hpp>
#include <troupe/actors/offers/passed_message.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_clock.hpp>
#include <caf/behavior.hpp>
#include <caf/make_message.hpp>
#include <caf/message_handler.hpp>
#include <caf/scheduled_actor.hpp>
#include <caf/send.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace troupe {

namespace detail {

/// The link of the member whose code runs here; one that is down for good where there is none.
std::shared_ptr<actor_link> link_from_here(const task_id& task, const std::string& name, const actor_interface& wanted);
/// While it lives, references that are read in this thread are those of the member in this system.
class decoding_for {
 public:
  explicit decoding_for(caf::execution_unit* where);
  ~decoding_for();
  decoding_for(const decoding_for&) = delete;
};
/// @throws failed_precondition_error for an empty reference.
actor_link& checked_link(const std::shared_ptr<actor_link>& link);
/// Waits until it is up, or the deadline. @throws what waiting does not mend.
void await_until(actor_link& link, time_point deadline);

template <class Actor, class... Ts>
using answer_of = caf::response_type_unbox<
    caf::signatures_of_t<Actor>,
    caf::detail::type_list<typename caf::detail::implicit_conversions<std::decay_t<Ts>>::type...>>;

/// Whether a function with these parameters takes this answer.
template <class Parameters, class Answer>
inline constexpr bool takes_answer = false;
template <class... Parameters, class... Answer>
inline constexpr bool takes_answer<caf::detail::type_list<Parameters...>, caf::detail::type_list<Answer...>> =
    std::is_same_v<caf::detail::type_list<std::decay_t<Parameters>...>, caf::detail::type_list<Answer...>>;
template <>
inline constexpr bool takes_answer<caf::detail::type_list<>, caf::detail::type_list<void>> = true;
template <>
inline constexpr bool takes_answer<caf::detail::type_list<>, caf::detail::type_list<caf::unit_t>> = true;

/// Of a request that waits until something is known of its actor. It is over when nothing holds this any more: the
/// request is answered, or whoever made it has ended.
struct waiting_request {
  explicit waiting_request(std::shared_ptr<actor_link> over) : link(std::move(over)) {}
  /// The notifier has left a handler in the actor, which goes when it is called.
  ~waiting_request() { link->withdraw(listener); }
  waiting_request(const waiting_request&) = delete;

  const std::shared_ptr<actor_link> link;
  std::uint64_t listener = 0;
  actor_link::place taken;
};

/// A request of an event-based actor over a link; `then` sends it. `Answer` is the list of the answer's elements.
template <class Actor, class Answer>
class link_request {
 public:
  link_request(caf::scheduled_actor* self, std::shared_ptr<actor_link> link, duration limit, caf::message question)
      : self_(self), link_(std::move(link)), limit_(limit), question_(std::move(question)) {}

  /// Calls one of the two in `self`, once, never before this returns. `on_error` takes a `const status&`.
  template <class OnValue, class OnError>
  void then(OnValue on_value, OnError on_error) && {
    static_assert(
        takes_answer<typename caf::detail::get_callable_trait<OnValue>::arg_types, Answer>,
        "the function that takes the answer must have the parameters that the actor's interface answers with");
    if (!is_encoded_between(self_->node(), self_->node())) return send(std::move(on_value), std::move(on_error));
    send_where_all_is_encoded(std::move(on_value), std::move(on_error),
                              typename caf::detail::get_callable_trait<OnValue>::arg_types{});
  }

 private:
  /// What arrives has come out of its bytes, as the question has on its way.
  template <class OnValue, class OnError, class... Parts>
  void send_where_all_is_encoded(OnValue on_value, OnError on_error, caf::detail::type_list<Parts...>) {
    const auto both = std::make_shared<std::pair<OnValue, OnError>>(std::move(on_value), std::move(on_error));
    const auto arrive = [both, self = self_](Parts... answer) {
      const caf::strong_actor_ptr me{self->ctrl()};
      caf::message arrived;
      try {
        arrived = passed_message(caf::make_message(static_cast<Parts&&>(answer)...), me);
      } catch (...) {
        return both->second(status_of(std::current_exception()));
      }
      caf::message_handler handler{[&](std::decay_t<Parts>&... parts) { both->first(static_cast<Parts&&>(parts)...); }};
      handler(arrived);
    };
    send(arrive, [both](const status& why) { both->second(why); });
  }

  template <class OnValue, class OnError>
  void send(OnValue on_value, OnError on_error) {
    const auto sent = self_->new_request_id(caf::message_priority::normal);
    const caf::strong_actor_ptr me{self_->ctrl()};
    const auto deadline = later(self_->clock().now(), limit_);
    const auto [to, place, why] = link_->open(me, sent.response_id(), deadline);
    if (!to && link_->now() == actor_link::state::searching)
      return wait(sent, deadline, std::move(on_value), std::move(on_error));
    pass(me, sent, to, why, std::move(question_));
    // Both handlers live and end together: one of them holds the link.
    answer(
        sent.response_id(), [link = link_.get(), where = place](auto&... failed) { link->close(where, failed...); },
        std::move(on_value), std::move(on_error));
  }

  /// Sends the question where the link leads, or the reason why it leads nowhere to the one who asks.
  void pass(const caf::strong_actor_ptr& me, caf::message_id sent, const caf::strong_actor_ptr& to, const status& why,
            caf::message question) const {
    if (to)
      pass_question(me, sent, to, std::move(question), self_->context());
    else
      me->enqueue(nullptr, sent.response_id(), caf::make_message(make_error(why)), nullptr);
  }

  template <class Close, class OnValue, class OnError>
  void answer(caf::message_id id, Close close, OnValue on_value, OnError on_error) {
    self_->add_multiplexed_response_handler(
        id, caf::behavior{
                closing(close, std::move(on_value), typename caf::detail::get_callable_trait<OnValue>::arg_types{}),
                [close, link = std::move(link_), on_error = std::move(on_error)](caf::error& failed) mutable {
                  close(failed);
                  on_error(status_of(failed, "asking " + link->description()));
                }});
  }

  template <class Close, class OnValue, class... Parts>
  static auto closing(Close close, OnValue on_value, caf::detail::type_list<Parts...>) {
    return [close = std::move(close), on_value = std::move(on_value)](Parts... answer) mutable {
      close();
      on_value(static_cast<Parts&&>(answer)...);
    };
  }

  /// Nothing is known of the actor yet: the question goes when there is, unless its time is over.
  template <class OnValue, class OnError>
  void wait(caf::message_id sent, time_point deadline, OnValue on_value, OnError on_error) {
    const auto waiting = std::make_shared<waiting_request>(link_);
    if (deadline != never) self_->clock().set_request_timeout(deadline, self_, sent.response_id());
    const auto known = make_notifier(self_, [again = *this, sent, open = std::weak_ptr{waiting}] {
      const auto still = open.lock();
      if (!still) return;
      const caf::strong_actor_ptr me{again.self_->ctrl()};
      const auto [to, place, why] = still->link->open(me, sent.response_id());
      again.pass(me, sent, to, why, again.question_);
      still->taken = place;
    });
    answer(
        sent.response_id(), [waiting](auto&... failed) { waiting->link->close(waiting->taken, failed...); },
        std::move(on_value), std::move(on_error));
    waiting->listener = waiting->link->once_known(known);
  }

  caf::scheduled_actor* self_;
  std::shared_ptr<actor_link> link_;
  duration limit_;
  caf::message question_;
};

}  // namespace detail

template <class Actor>
class actor_reference {
 public:
  /// Of nothing.
  actor_reference() = default;
  explicit actor_reference(std::shared_ptr<actor_link> link) : link_(std::move(link)) {}

  const task_id& task() const { return link().task(); }
  const std::string& name() const { return link().name(); }

  bool is_up() const { return link().now() == actor_link::state::up; }
  /// Why it is not up; ok if it is.
  status why() const { return link().why(); }
  /// CAF's handle of the actor as it is now; null unless it is up. Requests over it hear of no loss.
  Actor handle() const { return caf::actor_cast<Actor>(link().current()); }
  /// Waits until it is up. @throws deadline_exceeded_error with what is missing; failed_precondition_error at once for
  /// an actor of another interface; cancelled_error when the fiber is cancelled.
  Actor await_up(duration limit) const { return caf::actor_cast<Actor>(link().await_up(limit)); }

  /// For event-based actors: `request(self, limit, ...).then(on_value, on_error)`.
  template <class Self, class... Ts>
  detail::link_request<Actor, typename detail::answer_of<Actor, Ts...>::type> request(Self* self, duration limit,
                                                                                      Ts&&... question) const {
    static_assert(detail::answer_of<Actor, Ts...>::valid, "the actor's interface has no such request");
    link();
    return {self, link_, limit, caf::make_message(std::forward<Ts>(question)...)};
  }

  /// Sends without an answer. False: it is not up. @throws only where a process encodes everything (wire.hpp), what the
  /// message can't be encoded for.
  template <class... Ts>
  bool tell(Ts&&... what) const {
    static_assert(detail::answer_of<Actor, Ts...>::valid, "the actor's interface has no such message");
    const auto to = handle();
    if (!to) return false;
    const auto receiver = caf::actor_cast<caf::strong_actor_ptr>(to);
    receiver->enqueue(nullptr, caf::make_message_id(),
                      detail::passed_message(caf::make_message(std::forward<Ts>(what)...), receiver), nullptr);
    return true;
  }

  /// Calls `on_up(const Actor&)` and `on_down(const status&)` in `self`, in turns, for as long as `self` lives.
  template <class Self, class OnUp, class OnDown>
  void watch(Self* self, OnUp on_up, OnDown on_down) const {
    link();
    watch_link(self, link_,
               {[on_up = std::move(on_up)](const caf::strong_actor_ptr& now) { on_up(caf::actor_cast<Actor>(now)); },
                std::move(on_down)});
  }

  /// @throws failed_precondition_error for an empty reference.
  actor_link& link() const { return detail::checked_link(link_); }
  const std::shared_ptr<actor_link>& shared_link() const { return link_; }

  void save(output_archive& archive) const { archive(link().task(), link().name()); }
  void load(input_archive& archive) {
    task_id task;
    std::string name;
    archive(task, name);
    link_ = detail::link_from_here(task, name, interface_of<Actor>());
  }

  /// As an element of messages; TROUPE_MESSAGE is not needed.
  template <class Inspector>
  friend typename Inspector::result_type inspect(Inspector& f, actor_reference& x) {
    if constexpr (std::is_base_of_v<caf::deserializer, Inspector>) {
      // The message may come from outside of any fiber.
      const detail::decoding_for scope{f.context()};
      return detail::inspect_message(f, x);
    } else {
      return detail::inspect_message(f, x);
    }
  }

 private:
  std::shared_ptr<actor_link> link_;
};

namespace detail {

/// What `ask` returns: nothing, the answer, or a tuple of its elements.
template <class... Answer>
struct asked_answer {
  using type = std::tuple<Answer...>;
  static type of(caf::message& message) {
    type result;
    caf::message_handler handler{[&](Answer&... parts) { result = {std::move(parts)...}; }};
    if (!handler(message)) throw_unexpected_answer("asking an actor");
    return result;
  }
};
template <class Answer>
struct asked_answer<Answer> {
  using type = Answer;
  static type of(caf::message& message) {
    type result{};
    caf::message_handler handler{[&](Answer& part) { result = std::move(part); }};
    if (!handler(message)) throw_unexpected_answer("asking an actor");
    return result;
  }
};
template <>
struct asked_answer<void> {
  using type = void;
  static void of(caf::message&) {}
};
template <>
struct asked_answer<> : asked_answer<void> {};
template <>
struct asked_answer<caf::unit_t> : asked_answer<void> {};
template <>
struct asked_answer<caf::ok_atom> : asked_answer<void> {};

template <class List>
struct asked_answer_of;
template <class... Answer>
struct asked_answer_of<caf::detail::type_list<Answer...>> : std::type_identity<asked_answer<Answer...>> {};

}  // namespace detail

/// Asks and waits for the answer: `int degrees = ask(sensor, 1s, read_atom_v)`. A thread blocks, a closure's fiber lets
/// others run meanwhile. Not in a handler of an event-based actor (`request` is for those).
/// @throws the actor's error; unavailable_error when it is not up, or lost before it answers; deadline_exceeded_error
/// after `limit`; cancelled_error when the fiber is cancelled.
template <class Actor, class... Ts>
auto ask(const actor_reference<Actor>& whom, duration limit, Ts&&... question) {
  static_assert(detail::answer_of<Actor, Ts...>::valid, "the actor's interface has no such request");
  using answer = typename detail::asked_answer_of<typename detail::answer_of<Actor, Ts...>::type>::type;
  auto message = whom.link().ask(caf::make_message(std::forward<Ts>(question)...), limit);
  return answer::of(message);
}

/// The same over CAF's handle.
template <class... Signatures, class... Ts>
auto ask(const caf::typed_actor<Signatures...>& whom, duration limit, Ts&&... question) {
  using actor = caf::typed_actor<Signatures...>;
  static_assert(detail::answer_of<actor, Ts...>::valid, "the actor's interface has no such request");
  using answer = typename detail::asked_answer_of<typename detail::answer_of<actor, Ts...>::type>::type;
  const auto to = caf::actor_cast<caf::strong_actor_ptr>(whom);
  if (!to) throw unavailable_error{"asking an actor: the handle is empty"};
  auto message =
      asked{*to->home_system, to, caf::make_message(std::forward<Ts>(question)...), limit, "asking an actor"}.wait();
  return answer::of(message);
}

}  // namespace troupe
