#include <troupe/runtime/rpc/grpc_library.hpp>

#include <grpc/grpc.h>

namespace troupe::rpc {

void keep_grpc_started() {
  [[maybe_unused]] static const auto started = [] {
    ::grpc_init();
    return true;
  }();
}

}  // namespace troupe::rpc
