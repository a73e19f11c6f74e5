// Stands in for nccl_communicator.cpp where it was not built.
#include <troupe/device/collectives/nccl_communicator.hpp>

#include <fmt/format.h>

namespace troupe {

bool is_nccl_built() noexcept { return false; }

std::unique_ptr<communicator> make_nccl_communicator(std::unique_ptr<communicator> control, const std::string& device,
                                                     std::chrono::nanoseconds) {
  const status why{status_code::unavailable,
                   fmt::format("\"{}\" cannot join an NCCL group: this troupe was built without NCCL; choose another "
                               "communication implementation, or install NCCL and the CUDA toolkit and build troupe "
                               "with -DTROUPE_CUDA=ON",
                               device)};
  control->abort(why);
  throw_status(why);
}

}  // namespace troupe
