#include <troupe/actors/rpc/rpc_call.hpp>

#include <utility>

namespace troupe::rpc {

void call::wait() const {
  // The channel ends the call at its deadline: RPC-1.
  if (!ended()) completed_.wait_until(never, "a remote call");
}

bool call::finish(status ended, datum result) {
  if (finished_.exchange(true)) return false;
  end_status_ = std::move(ended);
  result_ = std::move(result);
  ended_.store(true, std::memory_order_release);
  completed_.set();
  return true;
}

}  // namespace troupe::rpc
