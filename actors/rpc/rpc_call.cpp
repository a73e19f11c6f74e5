#include <troupe/actors/rpc/rpc_call.hpp>

#include <utility>

namespace troupe::rpc {

void call::wait() const {
  // The channel ends the call at its deadline: RPC-1.
  if (!ended()) completed_.wait_until(never, "a remote call");
}

void call::on_end(std::function<void()> observer) {
  {
    const std::scoped_lock lock{mutex_};
    if (!ended()) {
      observers_.push_back(std::move(observer));
      return;
    }
  }
  observer();
}

bool call::finish(status ended, datum result) {
  std::vector<std::function<void()>> observers;
  {
    const std::scoped_lock lock{mutex_};
    if (std::exchange(finished_, true)) return false;
    end_status_ = std::move(ended);
    result_ = std::move(result);
    ended_.store(true, std::memory_order_release);
    observers.swap(observers_);
  }
  completed_.set();
  for (const auto& observer : observers) observer();
  return true;
}

}  // namespace troupe::rpc
