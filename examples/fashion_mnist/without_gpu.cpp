// Takes the place of gpu_network.cu where there is no CUDA toolkit.
#include "fashion_mnist/gpu_network.hpp"

#include <troupe/device/base/error.hpp>

namespace troupe::fashion_mnist {

step_result loss_and_gradients_on_gpu(std::span<const tensor>, const tensor&, const loss_function&) {
  throw unavailable_error{"this program was built without CUDA; train on CPU devices"};
}

}  // namespace troupe::fashion_mnist
