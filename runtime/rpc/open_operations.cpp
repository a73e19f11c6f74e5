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
  std::shared_ptr<completion> emptied;
  {
    // Who waits may destroy the gate as soon as this is unlocked.
    const std::scoped_lock lock{gate_.mutex_};
    --gate_.leaving_;
    if (gate_.empty()) emptied = std::move(gate_.emptied_);
  }
  if (emptied) emptied->set();
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

bool open_operations::wait_until_empty(duration limit) const {
  std::shared_ptr<completion> emptied;
  {
    const std::scoped_lock lock{mutex_};
    if (empty()) return true;
    if (!emptied_) emptied_ = std::make_shared<completion>();
    emptied = emptied_;
  }
  return emptied->block_for(limit);
}

}  // namespace troupe::rpc
