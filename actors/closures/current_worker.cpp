#include <troupe/actors/closures/current_worker.hpp>
#include <troupe/actors/variables/variable_client.hpp>

namespace troupe {

int current_worker_index() {
  const auto* const environment = closure_environment::current();
  if (environment == nullptr)
    throw failed_precondition_error{"current_worker_index() is for closures: no closure of a worker runs here"};
  return environment->worker_index();
}

}  // namespace troupe
