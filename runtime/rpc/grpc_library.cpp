#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace troupe::rpc {

namespace {

/// Whoever can reach a port decides how often something is said: each place in a library says one line a minute.
class library_log {
 public:
  /// Until the process ends, as gRPC's threads.
  static library_log& instance() {
    static auto& log = *new library_log;
    return log;
  }

  /// `file` lives as long as the process.
  void add(std::string_view library, std::string_view file, int line, std::string_view said) {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::minutes quiet_time{1};
    {
      const std::scoped_lock lock{mutex_};
      const auto now = clock::now();
      auto& quiet_until = quiet_until_.try_emplace({file, line}, clock::time_point::min()).first->second;
      if (now < quiet_until) return;
      quiet_until = now + quiet_time;
    }
    log_warning(fmt::format("{} ({}:{}): {}", library, file.substr(file.rfind('/') + 1), line, said));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string_view, int>, std::chrono::steady_clock::time_point> quiet_until_;
};

void take_from_grpc(gpr_log_func_args* said) {
  library_log::instance().add("gRPC", said->file, said->line, said->message);
}

void take_from_protobuf(google::protobuf::LogLevel, const char* file, int line, const std::string& said) {
  library_log::instance().add("protobuf", file, line, said);
}

}  // namespace

void keep_grpc_started() {
  if (simulated_system() != nullptr)
    throw failed_precondition_error{"the RPC layer \"grpc\" can't be simulated: use the layer \"caf\" there"};
  [[maybe_unused]] static const auto started = [] {
    // Who wants more of it than errors reads it on standard error.
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
      ::gpr_set_log_function(&take_from_grpc);
      google::protobuf::SetLogHandler(&take_from_protobuf);
    }
    ::grpc_init();
    return true;
  }();
}

}  // namespace troupe::rpc
