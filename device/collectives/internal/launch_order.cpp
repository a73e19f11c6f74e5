#include <troupe/device/collectives/internal/launch_order.hpp>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

namespace troupe {

namespace {

/// The devices on which a group launches now.
struct launching_devices {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::string> busy;
};

launching_devices& launching() {
  static auto* const instance = new launching_devices;  // groups of static strategies end after everything else
  return *instance;
}

}  // namespace

bool launch_order::begin(std::chrono::steady_clock::time_point deadline) {
  auto& all = launching();
  std::unique_lock lock{all.mutex};
  if (!all.changed.wait_until(lock, deadline, [this] { return closed_ || can_begin(); }) || closed_) return false;
  take_turn();
  return true;
}

bool launch_order::try_begin() {
  const std::scoped_lock lock{launching().mutex};
  if (closed_ || !can_begin()) return false;
  take_turn();
  return true;
}

void launch_order::withdraw() {
  const std::scoped_lock lock{launching().mutex};
  if (has_turn_) give_devices_back();
}

void launch_order::end() {
  auto& all = launching();
  const std::scoped_lock lock{all.mutex};
  if (++launched_ < devices_.size() || !has_turn_) return;
  launched_ = 0;
  give_devices_back();
}

void launch_order::close() noexcept {
  auto& all = launching();
  const std::scoped_lock lock{all.mutex};
  closed_ = true;
  if (has_turn_) give_devices_back();
  all.changed.notify_all();
}

bool launch_order::can_begin() const {
  return has_turn_ ||
         std::ranges::none_of(devices_, [](const std::string& device) { return launching().busy.contains(device); });
}

void launch_order::take_turn() {
  if (!has_turn_) launching().busy.insert(devices_.begin(), devices_.end());
  has_turn_ = true;
}

void launch_order::give_devices_back() {
  auto& all = launching();
  for (const auto& device : devices_) all.busy.erase(device);
  has_turn_ = false;
  all.changed.notify_all();
}

}  // namespace troupe
