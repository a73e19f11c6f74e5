// What every communicator checks before anything is sent, so that a bad argument on one rank leaves the group usable.
#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/internal/deadline.hpp>

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

namespace troupe {

namespace {

using std::chrono::nanoseconds;

/// Of what came to its end at once.
class ended_collective final : public started_collective {
 public:
  void wait() override {}
};

void check_has_rows(collective_kind kind, const tensor& x) {
  if (x.rank() > 0) return;
  throw invalid_argument_error{
      fmt::format("{}: a scalar of shape () has no axis 0; expected a tensor of rank 1 or more: reshape it to (1,)",
                  to_string(kind))};
}

}  // namespace

/// Of some tensors, ready to be performed. In place, but on devices a tensor that somebody else holds, too, is not
/// copied first: it gets memory of its own for the result, and what is read stays until this goes.
class communicator::reductions {
 public:
  reductions(const communicator& ranks, std::span<tensor> all, reduce_op op) : of_(all) {
    calls_.reserve(all.size());
    inputs_.reserve(all.size());
    try {
      for (auto& each : all) {
        auto& input = inputs_.emplace_back();
        if (ranks.queues_work() && is_held_elsewhere(each)) input = std::exchange(each, uninitialised_like(each));
        calls_.push_back(ranks.prepare_all_reduce(each, op));
        if (input) calls_.back().input = input->data();
      }
    } catch (...) {
      undo();
      throw;
    }
  }

  std::span<const prepared_call> calls() const { return calls_; }

  /// The tensors are again what they were.
  void undo() noexcept {
    for (auto i = std::size_t{0}; i < inputs_.size(); ++i)
      if (inputs_[i]) of_[i] = std::move(*inputs_[i]);
  }

 private:
  static bool is_held_elsewhere(const tensor& x) { return x.size_bytes() > 0 && !x.get_buffer().unique(); }
  static tensor uninitialised_like(const tensor& x) {
    return tensor::uninitialised(x.get_dtype(), x.get_shape(), x.device());
  }

  const std::span<tensor> of_;
  std::vector<prepared_call> calls_;
  std::vector<std::optional<tensor>> inputs_;  // what is read elsewhere than it is written
};

/// On their way, with what they read.
class communicator::started_reductions final : public started_collective {
 public:
  started_reductions(reductions prepared, std::unique_ptr<started_collective> started)
      : prepared_(std::move(prepared)), started_(std::move(started)) {}

  void wait() override { started_->wait(); }

 private:
  const reductions prepared_;
  const std::unique_ptr<started_collective> started_;  // ends before what it reads
};

void communicator::all_reduce(tensor& x, reduce_op op, nanoseconds limit) {
  if (queues_work()) return all_reduce({&x, 1}, op, limit);
  const auto prepared = prepare_all_reduce(x, op);
  perform(prepared.call, prepared.input, prepared.output, limit);
}

void communicator::all_reduce(std::span<tensor> all, reduce_op op, nanoseconds limit) {
  if (all.empty()) return;
  const auto deadline = deadline_after(limit, to_string(collective_kind::all_reduce), now());
  reductions prepared{*this, all, op};
  try {
    execute_all(prepared.calls(), deadline);
  } catch (...) {
    prepared.undo();
    throw;
  }
}

std::unique_ptr<started_collective> communicator::start_all_reduce(std::span<tensor> all, reduce_op op,
                                                                   nanoseconds limit) {
  const auto deadline = deadline_after(limit, to_string(collective_kind::all_reduce), now());
  if (all.empty()) return std::make_unique<ended_collective>();
  reductions prepared{*this, all, op};
  std::unique_ptr<started_collective> started;
  try {
    started = start_all(prepared.calls(), deadline);
  } catch (...) {
    prepared.undo();
    throw;
  }
  if (!started) return std::make_unique<ended_collective>();
  return std::make_unique<started_reductions>(std::move(prepared), std::move(started));
}

communicator::prepared_call communicator::prepare_all_reduce(tensor& x, reduce_op op) const {
  const collective call{
      .kind = collective_kind::all_reduce, .op = op, .type = x.get_dtype(), .count = x.element_count()};
  check_device(call.kind, x);
  call.check();
  auto* const data = x.mutable_data();
  return {call, data, data};
}

void communicator::execute_all(std::span<const prepared_call> calls, clock::time_point deadline) {
  for (const auto& each : calls) execute(each.call, each.input, each.output, deadline);
}

std::unique_ptr<started_collective> communicator::start_all(std::span<const prepared_call> calls,
                                                            clock::time_point deadline) {
  execute_all(calls, deadline);
  return nullptr;
}

tensor communicator::all_gather(const tensor& x, nanoseconds limit) {
  const collective call{.kind = collective_kind::all_gather, .type = x.get_dtype(), .count = x.element_count()};
  check_device(call.kind, x);
  check_has_rows(call.kind, x);
  auto result = tensor::uninitialised(x.get_dtype(), x.get_shape().with_axis(0, x.get_shape()[0] * size()), device_);
  perform(call, x.data(), result.mutable_data(), limit);
  return result;
}

tensor communicator::reduce_scatter(const tensor& x, reduce_op op, nanoseconds limit) {
  const collective call{
      .kind = collective_kind::reduce_scatter, .op = op, .type = x.get_dtype(), .count = x.element_count()};
  check_device(call.kind, x);
  call.check();
  check_has_rows(call.kind, x);
  const auto rows = x.get_shape()[0];
  if (rows % size() != 0) {
    throw invalid_argument_error{
        fmt::format("reduce_scatter: axis 0 of shape {} has {} rows, which {} ranks cannot share equally; pad it to a "
                    "multiple of {}",
                    x.get_shape().to_string(), rows, size(), size())};
  }
  auto result = tensor::uninitialised(x.get_dtype(), x.get_shape().with_axis(0, rows / size()), device_);
  perform(call, x.data(), result.mutable_data(), limit);
  return result;
}

void communicator::broadcast(tensor& x, int root, nanoseconds limit) {
  const collective call{
      .kind = collective_kind::broadcast, .type = x.get_dtype(), .count = x.element_count(), .root = root};
  check_device(call.kind, x);
  if (root < 0 || root >= size()) {
    throw invalid_argument_error{
        fmt::format("broadcast: there is no rank {}; the group has the ranks 0 to {}", root, size() - 1)};
  }
  auto* data = x.mutable_data();
  perform(call, data, data, limit);
}

void communicator::barrier(nanoseconds limit) { perform({.kind = collective_kind::barrier}, nullptr, nullptr, limit); }

void communicator::check_device(collective_kind kind, const tensor& x) const {
  if (x.element_count() == 0 || x.device() == device_) return;
  throw invalid_argument_error{
      fmt::format("{}: the tensor is on {}, but the communicator of rank {} works on {}; copy "
                  "the tensor there first",
                  to_string(kind), x.device(), rank_, device_)};
}

void communicator::perform(const collective& call, const std::byte* input, std::byte* output, nanoseconds limit) {
  execute(call, input, output, deadline_after(limit, to_string(call.kind), now()));
}

}  // namespace troupe
