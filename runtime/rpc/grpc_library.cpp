#include <troupe/actors/fibers/limited_log.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/base/printable_text.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include <google/protobuf/stubs/logging.h>
#include <grpc/grpc.h>
#include <grpc/support/log.h>

namespace troupe::rpc {

namespace {

/// Whoever can reach a port decides how often something is said, and perhaps what: each place in a library says one
/// line a minute.
class library_log {
 public:
  /// Until the process ends, as gRPC's threads.
  static library_log& instance() {
    static auto& log = *new library_log;
    return log;
  }

  void add(std::string_view library, std::string_view file, int line, std::string_view said) {
    constexpr std::size_t said_bytes_max = 1024;
    const auto place = fmt::format("{} ({}:{})", library, file.substr(file.rfind('/') + 1), line);
    if (const auto due = log_.add(place, library))
      log_warning(fmt::format("{}: {}", due->reason, printable_text(said, said_bytes_max)));
  }

 private:
  limited_log log_{std::chrono::steady_clock::now, {.reasons_max = 1024}};
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
