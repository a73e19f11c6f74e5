// Tensors of one replica on their way through a reduction that goes on by itself. What replica_context's
// started_reduction is made of.
#pragma once

#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/replicas/replica_group.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe {

class started_tensors {
 public:
  /// The tensors may be anywhere; they are reduced on the communicator's device.
  started_tensors(std::shared_ptr<replica_group::call> call, std::vector<tensor> values, reduce_op op,
                  const communication_options& options);

  /// The reduced ones, each where it was. Once.
  std::vector<tensor> wait();

 private:
  /// Outlives the reduction, which needs its communicator.
  std::shared_ptr<replica_group::call> call_;
  std::vector<std::string> devices_;
  started_packed_reduction reduction_;
};

}  // namespace troupe
