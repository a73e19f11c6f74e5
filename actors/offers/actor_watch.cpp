#include <troupe/actors/fibers/notifier.hpp>
#include <troupe/actors/offers/actor_watch.hpp>

#include <caf/actor_control_block.hpp>
#include <caf/scheduled_actor.hpp>

#include <cstdint>
#include <mutex>
#include <utility>

namespace troupe {

namespace {

/// Lives in the handler of the notifier that waits in the actor, and so as long as the actor.
class link_watch : public std::enable_shared_from_this<link_watch> {
 public:
  link_watch(caf::scheduled_actor* self, std::shared_ptr<actor_link> link, actor_watcher watcher)
      : self_(self), link_(std::move(link)), tells_(std::move(watcher)) {}

  void begin() {
    arm();
    link_->watch(std::shared_ptr<actor_link::watcher>{shared_from_this(), &changed_});
    changed_();
  }

 private:
  /// In the actor. What changes from now on wakes it again.
  void arm() {
    const std::scoped_lock lock{mutex_};
    wake_ = make_notifier(self_, [self = shared_from_this()] { self->look(); });
  }

  void look() {
    arm();
    const auto [current, life] = link_->current_and_life();
    const auto now = current ? life : 0;
    if (now == told_) return;
    const auto was_up = std::exchange(told_, now) != 0;
    if (was_up)
      tells_.on_down(current ? status{status_code::unavailable, link_->description() + " was lost for a moment"}
                             : link_->why());
    if (current) tells_.on_up(current);
  }

  caf::scheduled_actor* self_;
  const std::shared_ptr<actor_link> link_;
  const actor_watcher tells_;
  /// The life of the link that was told of as up; zero: none.
  std::uint64_t told_ = 0;
  std::mutex mutex_;
  std::function<void()> wake_;
  actor_link::watcher changed_ = [this] {
    std::unique_lock lock{mutex_};
    const auto wake = std::exchange(wake_, nullptr);
    lock.unlock();
    if (wake) wake();
  };
};

}  // namespace

void watch_link(caf::scheduled_actor* self, std::shared_ptr<actor_link> link, actor_watcher watcher) {
  std::make_shared<link_watch>(self, std::move(link), std::move(watcher))->begin();
}

}  // namespace troupe
