// The group of a single rank, on any device: everything is there already.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <memory>
#include <string>

namespace troupe {

/// Its collectives wait for nobody and need no NCCL. Throws invalid_argument_error for a name that is no device.
std::unique_ptr<communicator> make_alone_communicator(const std::string& device);

}  // namespace troupe
