// expect: the function makes no dataset<T>
#include <troupe/troupe.hpp>

void mistake(troupe::cluster_coordinator& coordinator) {
  const auto data = coordinator.create_per_worker_dataset([](troupe::input_context) { return 1; });
  data.iterate();
}
