#include <troupe/device/accelerators/device_waits.hpp>
#include <troupe/device/accelerators/upload_memory.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/emulated/emulated_accelerator.hpp>
#include <troupe/device/emulated/emulated_faults.hpp>
#include <troupe/device/emulated/internal/emulated_group.hpp>
#include <troupe/device/emulated/internal/emulated_memory.hpp>
#include <troupe/device/emulated/internal/emulated_stream.hpp>
#include <troupe/device/emulated/internal/fault_state.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/internal/reduction_passes.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/device/tensor/internal/borrowed_tensor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// Where operands are for the device's thread.
struct operand {
  dtype type;
  shape extents;
  std::byte* bytes;

  /// As a tensor of the host's, which shares the bytes.
  tensor view() const { return borrowed_tensor(type, extents, bytes); }
  /// The same, to be written by a kernel of the user's, which may find there what no booleans are: of those, a copy
  /// that is put back.
  tensor target() const {
    if (type != dtype::boolean) return view();
    auto content = tensor::uninitialised(type, extents);
    if (content.size_bytes() > 0) std::memcpy(content.mutable_data(), bytes, content.size_bytes());
    return content;
  }
  /// Puts the content of another one there.
  void put(const tensor& content) const {
    if (const auto from = content.bytes(); !from.empty()) std::memcpy(bytes, from.data(), from.size());
  }
};

std::string name_of(binary_operation operation) {
  switch (operation) {
    case binary_operation::add:
      return "add_in_place";
    case binary_operation::subtract:
      return "subtract_in_place";
    case binary_operation::multiply:
      return "multiply_in_place";
    case binary_operation::divide:
      return "divide_in_place";
    case binary_operation::minimum:
      return "minimum_in_place";
    case binary_operation::maximum:
      return "maximum_in_place";
  }
  return "";
}

std::string name_of(row_operation operation) {
  switch (operation) {
    case row_operation::update:
      return "scatter_rows_update";
    case row_operation::add:
      return "scatter_rows_add";
    case row_operation::subtract:
      return "scatter_rows_subtract";
  }
  return "";
}

void combine_on_host(binary_operation operation, tensor& target, const tensor& x) {
  switch (operation) {
    case binary_operation::add:
      return add_in_place(target, x);
    case binary_operation::subtract:
      return subtract_in_place(target, x);
    case binary_operation::multiply:
      return multiply_in_place(target, x);
    case binary_operation::divide:
      return divide_in_place(target, x);
    case binary_operation::minimum:
      return minimum_in_place(target, x);
    case binary_operation::maximum:
      return maximum_in_place(target, x);
  }
}

void scatter_on_host(row_operation operation, tensor& target, std::span<const std::int64_t> indices,
                     const tensor& rows) {
  switch (operation) {
    case row_operation::update:
      return scatter_rows_update(target, indices, rows);
    case row_operation::add:
      return scatter_rows_add(target, indices, rows);
    case row_operation::subtract:
      return scatter_rows_subtract(target, indices, rows);
  }
}

class emulated_accelerator final : public accelerator {
 public:
  emulated_accelerator(int index, const emulation_options& options)
      : accelerator(fmt::format("GPU:{}", index), index),
        memory_bytes_(options.memory_bytes),
        faults_(name()),
        work_(stream_of(options, 0)),
        uploads_(stream_of(options, 1)),
        collectives_(stream_of(options, 2)),
        blocks_(name(), {.allocate = [this](std::size_t bytes) { return memory_.allocate(bytes); },
                         .release = [this](void* block) { release(block); },
                         .reclaim = [this] { upload_memory_.give_back(); }}),
        upload_memory_(name(), blocks_, [this] { return record(); }) {
    blocks_.set_limit(memory_bytes_);
  }

  emulation::faults& faults() noexcept { return faults_; }

  void repair() {
    faults_.repair();
    work_.forget_failure();
    uploads_.forget_failure();
    collectives_.forget_failure();
  }

  bool is_emulated() const noexcept override { return true; }

  device_description describe() override {
    const auto used = statistics().used_bytes;
    return {.name = name(),
            .model = "emulated GPU",
            .physical_index = physical_index(),
            .memory_bytes = memory_bytes_,
            .free_memory_bytes = memory_bytes_ - std::min(used, memory_bytes_),
            .is_emulated = true};
  }

  void synchronize() override { synchronize(work_); }

  std::unique_ptr<work_point> record() override { return std::make_unique<recorded_point>(*this, work_); }

  // -- memory ---------------------------------------------------------------------------------------------------------

  buffer allocate(std::size_t bytes) override {
    faults_.check();
    if (bytes == 0) return buffer::take_over(nullptr, nullptr, 0, name());
    faults_.count_allocation(bytes);
    auto* const block = blocks_.take(bytes).memory;
    std::shared_ptr<void> owner{block, [this, bytes](void* given) { blocks_.give(given, bytes); }};
    return buffer::take_over(std::move(owner), static_cast<std::byte*>(block), bytes, name());
  }

  memory_statistics statistics() override { return upload_memory_.statistics(); }
  void set_memory_limit(std::size_t bytes) override { blocks_.set_limit(std::min(bytes, memory_bytes_)); }
  void release_kept_memory() override {
    upload_memory_.give_back();
    blocks_.release_kept();
  }

  buffer upload(const std::byte* source, std::size_t bytes) override {
    faults_.check();
    if (bytes > 0) faults_.count_allocation(bytes);
    auto result = upload_memory_.take(bytes);
    if (bytes == 0) return result;
    use_host_memory(uploads_, "copy_from_host", [to = memory_.reach(result.mutable_data(), bytes), source, bytes] {
      std::memcpy(to, source, bytes);
    });
    return result;
  }

  void copy_from_host(std::byte* target, const std::byte* source, std::size_t bytes) override {
    if (bytes == 0) return;
    use_host_memory(work_, "copy_from_host",
                    [to = memory_.reach(target, bytes), source, bytes] { std::memcpy(to, source, bytes); });
  }

  void copy_to_host(std::byte* target, const std::byte* source, std::size_t bytes) override {
    if (bytes == 0) return;
    use_host_memory(work_, "copy_to_host",
                    [target, from = memory_.reach(source, bytes), bytes] { std::memcpy(target, from, bytes); });
  }

  // The stream of the target does the copy, after what the source has queued; and the source goes on only after it,
  // because it may reuse the memory.
  void copy_from(accelerator& source_device, std::byte* target, const std::byte* source, std::size_t bytes) override {
    if (bytes == 0) return;
    auto& other = static_cast<emulated_accelerator&>(source_device);
    other.faults_.check();
    auto* const from = other.memory_.reach(source, bytes);
    auto* const to = memory_.reach(target, bytes);
    if (&other != this) work_.wait_for(other.work_.record());
    queue("copy_from", [to, from, bytes] { std::memmove(to, from, bytes); });
    if (&other != this) other.work_.wait_for(work_.record());
  }

  void copy_runs(std::byte* target, std::size_t target_stride, const std::byte* source, std::size_t run_bytes,
                 std::size_t run_count) override {
    if (run_bytes == 0 || run_count == 0) return;
    queue("copy_runs", [to = memory_.reach(target, (run_count - 1) * target_stride + run_bytes), target_stride,
                        from = memory_.reach(source, run_count * run_bytes), run_bytes, run_count] {
      for (auto run = std::size_t{0}; run < run_count; ++run)
        std::memcpy(to + run * target_stride, from + run * run_bytes, run_bytes);
    });
  }

  void set_zero(std::byte* target, std::size_t bytes) override {
    if (bytes == 0) return;
    queue("set_zero", [to = memory_.reach(target, bytes), bytes] { std::memset(to, 0, bytes); });
  }

  // -- computation ----------------------------------------------------------------------------------------------------

  void combine_in_place(binary_operation operation, tensor& target, const tensor& x) override {
    queue(name_of(operation), [operation, to = written(target), by = read(x)] {
      auto result = to.view();
      combine_on_host(operation, result, by.view());
    });
  }

  void scale_in_place(tensor& target, double factor) override {
    queue("scale_in_place", [to = written(target), factor] {
      auto result = to.view();
      troupe::scale_in_place(result, factor);
    });
  }

  void axpy_in_place(tensor& target, double factor, const tensor& x) override {
    queue("axpy_in_place", [to = written(target), factor, by = read(x)] {
      auto result = to.view();
      troupe::axpy_in_place(result, factor, by.view());
    });
  }

  void fill(tensor& target, double value) override {
    queue("fill", [to = written(target), value] {
      auto content = tensor::uninitialised(to.type, to.extents);  // what is there may be no booleans
      troupe::fill(content, value);
      to.put(content);
    });
  }

  tensor cast(const tensor& x, dtype type) override {
    return computed("cast", type, x.get_shape(), [from = read(x), type] { return troupe::cast(from.view(), type); });
  }

  tensor reduce_sum(const tensor& x, const reduction_axes& axes) override {
    return computed("reduce_sum", x.get_dtype(), reduced_shape(x.get_shape(), axes.resolve(x.get_shape())),
                    [from = read(x), axes] { return troupe::reduce_sum(from.view(), axes); });
  }

  tensor reduce_mean(const tensor& x, const reduction_axes& axes) override {
    return computed("reduce_mean", is_floating(x.get_dtype()) ? x.get_dtype() : dtype::float32,
                    reduced_shape(x.get_shape(), axes.resolve(x.get_shape())),
                    [from = read(x), axes] { return troupe::reduce_mean(from.view(), axes); });
  }

  tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices) override {
    const std::vector<std::int64_t> rows{indices.begin(), indices.end()};
    return computed("gather_rows", source.get_dtype(),
                    source.get_shape().with_axis(0, static_cast<std::int64_t>(rows.size())),
                    [from = read(source), rows] { return troupe::gather_rows(from.view(), rows); });
  }

  void scatter_rows(row_operation operation, tensor& target, std::span<const std::int64_t> indices,
                    const tensor& rows) override {
    queue(name_of(operation), [operation, to = written(target),
                               at = std::vector<std::int64_t>{indices.begin(), indices.end()}, by = read(rows)] {
      auto result = to.view();
      scatter_on_host(operation, result, at, by.view());
    });
  }

  tensor matmul(const tensor& a, const tensor& b, transposition transposed) override {
    const shape extents{a.get_shape()[transposed.of_a ? 1 : 0], b.get_shape()[transposed.of_b ? 0 : 1]};
    return computed("matmul", dtype::float32, extents, [left = read(a), right = read(b), transposed] {
      return troupe::matmul(left.view(), right.view(), transposed);
    });
  }

  void sgd_update(tensor& variable, const tensor& gradient, double learning_rate) override {
    queue("sgd_update", [of = written(variable), by = read(gradient), learning_rate] {
      auto x = of.view();
      troupe::sgd_update(x, by.view(), learning_rate);
    });
  }

  void momentum_update(tensor& variable, tensor& velocity, const tensor& gradient, double learning_rate,
                       double momentum, bool nesterov) override {
    queue("momentum_update",
          [of = written(variable), speed = written(velocity), by = read(gradient), learning_rate, momentum, nesterov] {
            auto x = of.view();
            auto v = speed.view();
            troupe::momentum_update(x, v, by.view(), learning_rate, momentum, nesterov);
          });
  }

  void adagrad_update(tensor& variable, tensor& accumulator, const tensor& gradient, double learning_rate,
                      double epsilon) override {
    queue("adagrad_update",
          [of = written(variable), sum = written(accumulator), by = read(gradient), learning_rate, epsilon] {
            auto x = of.view();
            auto squares = sum.view();
            troupe::adagrad_update(x, squares, by.view(), learning_rate, epsilon);
          });
  }

  void adam_update(tensor& variable, tensor& m, tensor& v, const tensor& gradient, double learning_rate, double beta1,
                   double beta2, double epsilon, std::int64_t step) override {
    queue("adam_update", [of = written(variable), mean = written(m), square = written(v), by = read(gradient),
                          learning_rate, beta1, beta2, epsilon, step] {
      auto x = of.view();
      auto first = mean.view();
      auto second = square.view();
      troupe::adam_update(x, first, second, by.view(), learning_rate, beta1, beta2, epsilon, step);
    });
  }

  void launch(const custom_kernel& kernel, std::span<tensor> targets, std::span<const tensor> inputs) override {
    std::vector<operand> to;
    for (auto& each : targets) to.push_back(written(each));
    std::vector<operand> from;
    for (const auto& each : inputs) from.push_back(read(each));
    queue(kernel.name, [compute = kernel.on_host, to = std::move(to), from = std::move(from)] {
      auto results = views(to, &operand::target);
      compute(results, views(from, &operand::view));
      for (auto i = std::size_t{0}; i < to.size(); ++i)
        if (to[i].type == dtype::boolean) to[i].put(results[i]);
    });
  }

  // -- collectives ----------------------------------------------------------------------------------------------------

  device_group_id new_group(group_reach reach) override { return emulation::new_group(reach); }

  std::unique_ptr<device_group> join_group(const device_group_id& id, int rank, int size) override {
    return emulation::join_group(
        id, rank, size,
        {.queue = [this](std::string operation,
                         std::function<void()> work) { queue(collectives_, std::move(operation), std::move(work)); },
         .wait_for_work = [this] { collectives_.wait_for(work_.record()); },
         .reach = [this](const std::byte* address, std::size_t bytes) { return memory_.reach(address, bytes); }});
  }

  std::unique_ptr<work_point> record_collectives() override {
    return std::make_unique<recorded_point>(*this, collectives_);
  }
  void wait_for_collectives() override { work_.wait_for(collectives_.record()); }

 private:
  class recorded_point final : public work_point {
   public:
    recorded_point(emulated_accelerator& device, emulation::stream& of)
        : device_(device), stream_(of), point_(of.record()) {}

    bool is_reached() override { return is_well(point_->is_reached()); }
    bool wait_until(std::chrono::steady_clock::time_point deadline) override {
      return is_well(point_->wait_until(deadline));
    }

   private:
    bool is_well(bool is_over) {
      if (!is_over) return false;
      stream_.throw_failure();
      device_.work_.throw_failure();
      device_.faults_.check();
      return true;
    }

    emulated_accelerator& device_;
    emulation::stream& stream_;
    const std::shared_ptr<emulation::event> point_;
  };

  static std::vector<tensor> views(std::span<const operand> operands, tensor (operand::*view)() const) {
    std::vector<tensor> result;
    for (const auto& each : operands) result.push_back((each.*view)());
    return result;
  }
  emulation::stream_options stream_of(const emulation_options& options, std::uint64_t which) const {
    return {.delay_max = options.delay_max,
            .seed = options.seed + static_cast<std::uint64_t>(physical_index()) + (which << 32)};
  }

  operand read(const tensor& x) const {
    return {x.get_dtype(), x.get_shape(), memory_.reach(x.data(), x.size_bytes())};
  }
  operand written(tensor& x) const {
    auto* const address = x.mutable_data();
    return {x.get_dtype(), x.get_shape(), memory_.reach(address, x.size_bytes())};
  }

  template <class Compute>
  tensor computed(std::string operation, dtype type, const shape& extents, Compute compute) {
    auto result = tensor::uninitialised(type, extents, name());
    queue(std::move(operation), [to = written(result), compute = std::move(compute)] { to.put(compute()); });
    return result;
  }

  void synchronize(emulation::stream& stream) {
    if (!stream.synchronize(device_wait_deadline())) throw_device_is_late(name(), faults_.describe_work());
    faults_.check();
  }

  void queue(std::string operation, std::function<void()> work) { queue(work_, std::move(operation), std::move(work)); }
  void queue(emulation::stream& stream, std::string operation, std::function<void()> work) {
    const auto life = faults_.check();
    auto piece = [this, operation, life, work = std::move(work)] { faults_.perform(operation, life, work); };
    if (!stream.enqueue(std::move(piece), device_wait_deadline()))
      throw_device_is_late(name(), fmt::format("there was no room for {}, and {}", operation, faults_.describe_work()));
  }

  /// Queues such work and waits for it.
  void use_host_memory(emulation::stream& stream, std::string operation, std::function<void()> work) {
    const auto claim = std::make_shared<emulation::host_memory_claim>();
    queue(stream, std::move(operation), [claim, work = std::move(work)] { claim->use(work); });
    try {
      synchronize(stream);
    } catch (...) {
      claim->withdraw();
      throw;
    }
  }

  /// Work may be queued on it still, and behind a piece that hangs.
  void release(void* block) {
    work_.enqueue_in_any_case([this, block] { memory_.release(block); });
  }

  const std::size_t memory_bytes_;
  emulation::faults faults_;
  emulation::device_memory memory_;
  emulation::stream work_;
  emulation::stream uploads_;
  emulation::stream collectives_;
  caching_allocator blocks_;
  upload_memory upload_memory_;
};

}  // namespace

namespace {

emulated_accelerator& emulated(const std::string& device) {
  if (auto* const found = dynamic_cast<emulated_accelerator*>(&accelerator_of(device))) return *found;
  throw failed_precondition_error{
      fmt::format("{} is a real GPU, which can't be made to fail; emulate GPUs ({})", device, emulated_gpus_variable)};
}

}  // namespace

void fail_emulated_gpu(const std::string& device, const std::string& reason) { emulated(device).faults().fail(reason); }

void hang_emulated_gpu(const std::string& device) { emulated(device).faults().hang(); }

void exhaust_emulated_gpu(const std::string& device, int allocations) {
  emulated(device).faults().exhaust_after(allocations);
}

void slow_emulated_gpu(const std::string& device, double factor) { emulated(device).faults().slow_down(factor); }

void repair_emulated_gpu(const std::string& device) { emulated(device).repair(); }

std::unique_ptr<accelerator> make_emulated_accelerator(int index, const emulation_options& options) {
  return std::make_unique<emulated_accelerator>(index, options);
}

}  // namespace troupe
