// A blocking actor of CAF's where nothing has a thread (a simulation): its function runs in a fiber, which parks in
// `receive`.
//
// A `receive` that ends by itself after a time (`caf::after`) is refused there: CAF takes that time from the wall
// clock, which no seed controls. The limits of requests and `delayed_send` take virtual time.
#pragma once

#include <caf/actor_config.hpp>
#include <caf/actor_system.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/spawn_options.hpp>

#include <functional>
#include <memory>
#include <tuple>
#include <utility>

namespace troupe {

class completion;

class blocking_fiber final : public caf::blocking_actor {
 public:
  blocking_fiber(caf::actor_config& config, std::function<void(caf::blocking_actor*)> body)
      : caf::blocking_actor(config), body_(std::move(body)) {}

  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit* where) override;
  void launch(caf::execution_unit* where, bool is_lazy, bool is_hidden) override;
  void act() override { body_(this); }
  void await_data() override;
  /// @throws failed_precondition_error
  bool await_data(timeout_type deadline) override;

 private:
  void live();

  std::function<void(caf::blocking_actor*)> body_;
  /// Set by the next message; null: nobody waits for one.
  completion* arrival_ = nullptr;
};

template <caf::spawn_options Options, class F, class... Ts>
caf::actor spawn_blocking_fiber(caf::actor_system& system, F body, Ts&&... arguments) {
  const auto whole =
      std::make_shared<std::tuple<F, std::decay_t<Ts>...>>(std::move(body), std::forward<Ts>(arguments)...);
  return system.template spawn<blocking_fiber, Options>(
      std::function<void(caf::blocking_actor*)>{[whole](caf::blocking_actor* self) {
        std::apply([self](auto& function, auto&... each) { function(self, each...); }, *whole);
      }});
}

}  // namespace troupe
