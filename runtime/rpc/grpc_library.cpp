#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace troupe::rpc {

namespace {

/// Whoever can reach a port decides how often something is said: each place in gRPC says one line a minute.
class grpc_log {
 public:
  void add(const gpr_log_func_args& said) {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::minutes quiet_time{1};
    const std::string_view file{said.file};
    {
      const std::scoped_lock lock{mutex_};
      const auto now = clock::now();
      auto& quiet_until = quiet_until_.try_emplace({file, said.line}, clock::time_point::min()).first->second;
      if (now < quiet_until) return;
      quiet_until = now + quiet_time;
    }
    log_warning(fmt::format("gRPC ({}:{}): {}", file.substr(file.rfind('/') + 1), said.line, said.message));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, std::chrono::steady_clock::time_point> quiet_until_;
};

void write_to_program_log(gpr_log_func_args* said) {
  static auto& log = *new grpc_log;  // until the process ends, as gRPC's threads
  log.add(*said);
}

}  // namespace

void keep_grpc_started() {
  if (simulated_system() != nullptr)
    throw failed_precondition_error{"the RPC layer \"grpc\" can't be simulated: use the layer \"caf\" there"};
  [[maybe_unused]] static const auto started = [] {
    // Who wants more of it than errors reads it on standard error.
    if (std::getenv("GRPC_VERBOSITY") == nullptr) ::gpr_set_log_function(&write_to_program_log);
    ::grpc_init();
    return true;
  }();
}

}  // namespace troupe::rpc
