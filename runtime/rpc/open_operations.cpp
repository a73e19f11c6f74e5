#include <troupe/runtime/rpc/open_operations.hpp>

#include <cassert>
#include <utility>

namespace troupe::rpc {

open_operations::~open_operations() { assert(open_.empty() && leaving_ == 0); }

open_operations::refusal open_operations::enter(const grpc_operation_ptr& started, std::uint64_t& number) {
  const std::scoped_lock lock{mutex_};
  if (closed_) return refusal::closed;
  if (open_.size() >= places_) return refusal::full;
  number = ++last_number_;
  open_.emplace(number, started);
  return refusal::none;
}

open_operations::leaving open_operations::leave(std::uint64_t number) {
  const std::scoped_lock lock{mutex_};
  auto taken = open_.extract(number);
  assert(taken);
  ++leaving_;
  return {*this, std::move(taken.mapped())};
}

open_operations::leaving::~leaving() {
  ended_.reset();
  // Under the lock to its end: who waits may destroy the gate as soon as it is unlocked.
  const std::scoped_lock lock{gate_.mutex_};
  --gate_.leaving_;
  gate_.changed_.notify_all();
}

grpc_operation_ptr open_operations::find(std::uint64_t number) const {
  const std::scoped_lock lock{mutex_};
  const auto found = open_.find(number);
  return found == open_.end() ? nullptr : found->second;
}

std::vector<grpc_operation_ptr> open_operations::close() {
  const std::scoped_lock lock{mutex_};
  std::vector<grpc_operation_ptr> result;
  if (std::exchange(closed_, true)) return result;
  result.reserve(open_.size());
  for (const auto& [number, each] : open_) result.push_back(each);
  return result;
}

bool open_operations::is_closed() const {
  const std::scoped_lock lock{mutex_};
  return closed_;
}

bool open_operations::wait_until_empty(std::optional<duration> limit) const {
  std::unique_lock lock{mutex_};
  const auto empty = [this] { return open_.empty() && leaving_ == 0; };
  if (limit) return changed_.wait_for(lock, *limit, empty);
  changed_.wait(lock, empty);
  return true;
}

}  // namespace troupe::rpc
