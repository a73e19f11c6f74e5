// The strategies of one process.
//
//   one_device_strategy        one replica, on a device of your choice
//   mirrored_strategy          one replica on each device, variables with a copy on each
//   central_storage_strategy   one replica on each device, variables with one copy for all
//
// Each starts one actor with a thread per replica, in the application's actor system, or in one of its own.
// Destroying the last handle ends them and waits for functions that still compute; inside a fiber it does not wait.
// Devices are names such as "CPU:0", "GPU:1"; CPU devices are as many as you name.
#pragma once

#include <troupe/runtime/strategy.hpp>

#include <caf/fwd.hpp>

#include <string>
#include <vector>

namespace troupe {

/// Limits and hints of a strategy.
struct replica_strategy_options {
  /// Every run ends within this time, with deadline_exceeded_error if its replicas don't.
  duration step_limit = std::chrono::hours{1};
  /// How all_reduce and the like communicate; a call's own options go first.
  communication_options communication;
};

class one_device_strategy : public strategy {
 public:
  /// @throws invalid_argument_error for a name that is no device; unavailable_error for a device that is not there.
  explicit one_device_strategy(const std::string& device, const replica_strategy_options& options = {});
  one_device_strategy(caf::actor_system& system, const std::string& device,
                      const replica_strategy_options& options = {});
};

class mirrored_strategy : public strategy {
 public:
  /// All devices that this machine has for replicas: its GPUs, or one CPU device if there is none.
  explicit mirrored_strategy(const replica_strategy_options& options = {});
  /// @throws invalid_argument_error for no device, a name that is none, or one that is named twice; unavailable_error
  /// for a device that is not there.
  explicit mirrored_strategy(const std::vector<std::string>& devices, const replica_strategy_options& options = {});
  mirrored_strategy(caf::actor_system& system, const std::vector<std::string>& devices,
                    const replica_strategy_options& options = {});
};

class central_storage_strategy : public strategy {
 public:
  /// Variables lie on `parameter_device`. @throws as mirrored_strategy
  explicit central_storage_strategy(const std::vector<std::string>& devices,
                                    const std::string& parameter_device = "CPU:0",
                                    const replica_strategy_options& options = {});
  central_storage_strategy(caf::actor_system& system, const std::vector<std::string>& devices,
                           const std::string& parameter_device = "CPU:0", const replica_strategy_options& options = {});
};

namespace detail {

/// The devices by their normal names. @throws invalid_argument_error as the strategies do.
std::vector<std::string> checked_devices(const std::vector<std::string>& devices);

/// Those that this machine has for replicas: its GPUs, or one CPU device if there is none.
std::vector<std::string> devices_of_process();

}  // namespace detail

}  // namespace troupe
