// Names of devices: which job and task, which type, which index. The grammar is TensorFlow's.
#pragma once

#include <string>
#include <string_view>

namespace troupe {

/// A device name whose parts may be missing: `/job:worker/task:1/device:CPU:0` is full, `CPU:0` names a device of this
/// process, `/job:ps/task:0` names a task.
struct device_name {
  std::string job;   // empty: not given
  int task = -1;     // -1: not given
  std::string type;  // "CPU" or "GPU"; empty: not given
  int index = -1;    // -1: not given, exactly when the type is not given

  /// Accepts `/job:worker/replica:0/task:1/device:CPU:0` and any selection of its parts, and the short forms `CPU:0`,
  /// `cpu:0`, `/CPU:0`. The replica, always 0, is dropped. Throws invalid_argument_error that names the part at fault.
  static device_name parse(std::string_view text);

  /// `/job:worker/task:1/device:CPU:0`, without the parts that are missing; `CPU:0` if there is neither job nor task.
  std::string to_string() const;

  /// `CPU:0`: the device alone, as tensor::device() says it.
  std::string device() const { return device_name{{}, -1, type, index}.to_string(); }

  /// This name with its missing parts taken from `defaults`.
  device_name merge(const device_name& defaults) const;

  bool has_device() const noexcept { return !type.empty(); }

  bool operator==(const device_name&) const = default;
};

}  // namespace troupe
