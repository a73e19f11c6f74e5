#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>

#include <grpc/grpc.h>

namespace troupe::rpc {

void keep_grpc_started() {
  if (simulated_system() != nullptr)
    throw failed_precondition_error{"the RPC layer \"grpc\" can't be simulated: use the layer \"caf\" there"};
  [[maybe_unused]] static const auto started = [] {
    ::grpc_init();
    return true;
  }();
}

}  // namespace troupe::rpc
