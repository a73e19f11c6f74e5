// expect: pass what it needs as arguments
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator, const std::vector<int>& numbers) {
  coordinator.create_per_worker_dataset([numbers] { return troupe::from_tensor_slices(troupe::tensor::of(numbers)); });
}
