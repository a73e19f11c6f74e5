// expect: takes a dataset, or a function that makes one
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  coordinator.create_per_worker_dataset(troupe::tensor::of<int>({1, 2}));
}
