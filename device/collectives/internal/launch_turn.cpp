#include <troupe/device/collectives/internal/deadline.hpp>
#include <troupe/device/collectives/internal/launch_turn.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace troupe {

namespace {

using clock = communicator::clock;

/// Another process may end the group meanwhile, which shows on the control alone.
constexpr auto look_interval = std::chrono::milliseconds{50};

}  // namespace

launch_turn::launch_turn(std::shared_ptr<launch_order> here, communicator& control, int processes)
    : here_(std::move(here)),
      control_(control),
      processes_(processes),
      this_process_(control.rank() / (control.size() / processes)) {}

bool launch_turn::begin(clock::time_point deadline) {
  if (processes_ == 1) return here_->begin(deadline);
  return all_have_it(deadline) || begin_in_turn(deadline);
}

bool launch_turn::all_have_it(clock::time_point deadline) {
  auto have_it = tensor::of({here_->try_begin() ? 1 : 0});
  control_.all_reduce(have_it, reduce_op::min, left_until(deadline));
  return have_it.item<int>() == 1;
}

bool launch_turn::begin_in_turn(clock::time_point deadline) {
  here_->withdraw();
  control_.barrier(left_until(deadline));  // no rank of this process withdraws what another one has begun
  for (auto process = 0; process < processes_; ++process) {
    if (process == this_process_ && !begin_here(deadline)) return false;
    control_.barrier(left_until(deadline));
  }
  return true;
}

bool launch_turn::begin_here(clock::time_point deadline) {
  while (!control_.broken() && clock::now() < deadline)
    if (here_->begin(std::min(deadline, clock::now() + look_interval))) return true;
  return false;
}

}  // namespace troupe
