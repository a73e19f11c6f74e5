#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/remaining_time.hpp>
#include <troupe/runtime/closures/nested_closures.hpp>

#include <caf/send.hpp>
#include <caf/typed_actor.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace troupe::detail {

namespace {

/// What a fiber has scheduled. It goes with the fiber's work.
class nested_closures {
 public:
  nested_closures() = default;
  nested_closures(const nested_closures&) = delete;
  ~nested_closures() {
    if (!fiber_host::cancelled()) return;
    for (const auto& each : open_) cancel(each);
  }

  void add(const std::shared_ptr<closure>& scheduled, const coordinator_ptr& owner) {
    if (open_.size() >= room_) forget_ended();
    open_.push_back({scheduled, owner});
  }

 private:
  struct nested {
    std::weak_ptr<closure> what;
    coordinator_ptr owner;
  };

  static void cancel(const nested& each) {
    const auto what = each.what.lock();
    if (!what || what->ended()) return;
    if (const auto owner = each.owner->lock()) caf::anon_send(owner, cancel_atom_v, what);
  }

  /// Looks at each of them a few times at most, however many there are.
  void forget_ended() {
    std::erase_if(open_, [](const nested& each) {
      const auto what = each.what.lock();
      return !what || what->ended();
    });
    room_ = std::max<std::size_t>(room_min, 2 * open_.size());
  }

  static constexpr std::size_t room_min = 64;
  std::size_t room_ = room_min;
  std::vector<nested> open_;
};

const fiber_local<nested_closures> nested_in_fiber;

}  // namespace

std::shared_ptr<closure> make_closure(packed_closure packed, const schedule_options& options) {
  options.check();
  auto bounded = options;
  if (!options.outlives_scheduler) bounded.limit = std::min(options.limit, std::max(remaining_time(), duration{1}));
  auto made = std::make_shared<closure>(std::move(packed.function), std::move(packed.arguments),
                                        std::move(packed.inputs), bounded);
  made->bounded_by_scheduler = bounded.limit < options.limit;
  return made;
}

void cancel_with_caller(const std::shared_ptr<closure>& scheduled, const coordinator_ptr& owner) {
  if (scheduled->options.outlives_scheduler || fiber_host::current() == nullptr) return;
  nested_in_fiber->add(scheduled, owner);
}

}  // namespace troupe::detail
