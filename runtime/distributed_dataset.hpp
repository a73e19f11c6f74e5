// Datasets whose every step gives each replica of this process its own batch.
//
// There are two ways to one. distribute_dataset() divides batches of the global size;
// distribute_datasets_from_function() leaves the division to the function that makes the pipeline, and only deals out
// its batches. Both give at every step exactly one batch per replica, which has no rows where there are fewer rows, or
// batches, than replicas: so replicas stay in lock step to the end, whatever the number of elements, and a mean over
// rows (strategy.reduce with an axis) comes out right.
//
// A distributed dataset is the end of a pipeline: it is not transformed any further.
// Semantics: examples/reference/semantics.md 1.3 (experimental_distribute_dataset, distribute_datasets_from_function,
// InputOptions).
#pragma once

#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/input_context.hpp>
#include <troupe/runtime/input_options.hpp>
#include <troupe/runtime/replicas/distributed_values.hpp>
#include <troupe/runtime/replicas/tensor_leaves.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

template <class T>
class distributed_dataset {
 public:
  using value_type = per_replica<T>;

  explicit distributed_dataset(dataset<per_replica<T>> steps) : steps_(std::move(steps)) {}

  /// A new iterator at the first step: next() gives a per_replica<T> and throws out_of_range_error at the end,
  /// next_or_end() gives nothing there. The prefetching thread ends with the iterator.
  dataset_iterator<per_replica<T>> iterate() const { return steps_.iterate(); }
  /// How many steps there are.
  cardinality get_cardinality() const { return steps_.get_cardinality(); }

 private:
  dataset<per_replica<T>> steps_;
};

namespace detail {

struct row_range {
  std::int64_t begin;
  std::int64_t end;
};

/// Part `index` of `rows` rows, divided among `parts` as evenly as possible: the first parts have one row more.
row_range divide_rows(std::int64_t rows, std::int64_t parts, std::int64_t index);

/// The global batches are divided among all replicas in sync, so every pipeline has as many of them. Throws
/// invalid_argument_error for anything that contradicts, unimplemented_error for a mode that this way has not.
void check_distribution(const std::vector<std::string>& devices, const input_context& context,
                        const input_options& options);
/// The same for pipelines that a function makes.
void check_distribution_from_function(const std::vector<std::string>& devices, const input_context& context,
                                      const input_options& options);

/// Where the replicas' parts are left: with each replica's device, or in host memory.
struct destinations {
  std::vector<std::string> devices;
  bool on_devices;

  template <class T>
  T place(std::size_t replica, T part) const {
    return on_devices ? place_on(devices[replica], part) : std::move(part);
  }
};

/// One pipeline whose batches are dealt out to the replicas in turn.
template <class T>
dataset<per_replica<T>> deal_out(const dataset<T>& batches, const destinations& to) {
  const auto open = [batches, to] {
    return dataset_iterator<per_replica<T>>{[source = batches.iterate(), to]() -> std::optional<per_replica<T>> {
      std::vector<T> parts;
      parts.reserve(to.devices.size());
      for (std::size_t replica = 0; replica < to.devices.size(); ++replica) {
        auto batch = source.next_or_end();
        if (!batch && replica == 0) return {};
        parts.push_back(to.place(replica, batch ? std::move(*batch) : slice_rows(parts.front(), 0, 0)));
      }
      return per_replica<T>{std::move(parts)};
    }};
  };
  const auto replicas = static_cast<std::int64_t>(to.devices.size());
  return dataset<per_replica<T>>{open, cardinality_of_batch(batches.get_cardinality(), replicas, false)};
}

/// One pipeline for each replica.
template <class T>
dataset<per_replica<T>> side_by_side(const std::vector<dataset<T>>& pipelines, const destinations& to) {
  return dataset<per_replica<T>>{[pipelines, to] {
    std::vector<dataset_iterator<T>> sources;
    sources.reserve(pipelines.size());
    for (const auto& each : pipelines) sources.push_back(each.iterate());
    return dataset_iterator<per_replica<T>>{[sources, to]() -> std::optional<per_replica<T>> {
      std::vector<std::optional<T>> batches;
      batches.reserve(sources.size());
      for (const auto& source : sources) batches.push_back(source.next_or_end());
      const auto some = std::ranges::find_if(batches, [](const auto& batch) { return batch.has_value(); });
      if (some == batches.end()) return {};
      const auto nothing = slice_rows(**some, 0, 0);
      std::vector<T> parts;
      parts.reserve(to.devices.size());
      for (std::size_t replica = 0; replica < batches.size(); ++replica) {
        auto& batch = batches[replica];
        parts.push_back(batch ? std::move(*batch) : to.place(replica, nothing));
      }
      return per_replica<T>{std::move(parts)};
    }};
  }};
}

/// One pipeline of global batches, each of which is divided among `replicas`; `to` are those from `first` on.
template <class T>
dataset<per_replica<T>> divide(const dataset<T>& global_batches, const destinations& to, std::int64_t replicas,
                               std::int64_t first) {
  const auto open = [=] {
    const auto step = [=, source = global_batches.iterate()]() -> std::optional<per_replica<T>> {
      const auto batch = source.next_or_end();
      if (!batch) return {};
      const auto rows = row_count(*batch);
      std::vector<T> parts;
      parts.reserve(to.devices.size());
      for (std::size_t replica = 0; replica < to.devices.size(); ++replica) {
        const auto part = divide_rows(rows, replicas, first + static_cast<std::int64_t>(replica));
        parts.push_back(to.place(replica, slice_rows(*batch, part.begin, part.end)));
      }
      return per_replica<T>{std::move(parts)};
    };
    return dataset_iterator<per_replica<T>>{step};
  };
  return dataset<per_replica<T>>{open, global_batches.get_cardinality()};
}

}  // namespace detail

/// Divides each batch of `global_batches` among all num_replicas_in_sync replicas as evenly as possible: replicas with
/// a smaller number get one row more where the division leaves a remainder, and no rows where there are fewer rows than
/// replicas. The replicas of this process, one for each of `devices`, get parts input_pipeline_id * devices.size() and
/// following. So the pipelines of all processes must give the same batches (the same recipe and the same shuffle seed),
/// every replica sees its own part of them at the same step, and the number of processes changes no result.
///
/// Throws invalid_argument_error if num_replicas_in_sync is not num_input_pipelines * devices.size(), or as the checks
/// of context and options do; unimplemented_error for replication_mode per_replica, which needs a function. Elements
/// that are no batches (tensors without rows, or with different numbers of rows) arrive as errors at next().
template <class T>
distributed_dataset<T> distribute_dataset(const dataset<T>& global_batches, std::vector<std::string> devices,
                                          const input_context& context = {}, const input_options& options = {}) {
  detail::check_distribution(devices, context, options);
  const auto first = static_cast<std::int64_t>(devices.size()) * context.input_pipeline_id;
  const auto to = detail::destinations{std::move(devices), options.fetch_to_device};
  const auto steps = detail::divide(global_batches, to, context.num_replicas_in_sync, first);
  return distributed_dataset<T>{steps.prefetch(options.per_replica_buffer_size)};
}

/// Deals out the batches of pipelines that `make_pipeline(input_context)` makes, a dataset<T> of batches of the size
/// for one replica, which has taken its share of the input by itself.
///
/// With replication_mode per_worker the function is called once, with `context`, and each step takes one batch for each
/// of `devices` from its pipeline; where that ends in the middle of a step, the replicas that are left get no rows, and
/// the step is the last. With per_replica it is called once for each replica, as if every replica of every process were
/// a process (input_pipeline_id = context's id * devices.size() + replica); replicas whose pipeline has ended get no
/// rows until all have ended. How many steps there are is each process's own affair: to have the same number in all of
/// them is up to the function.
///
/// Throws invalid_argument_error as the checks of context and options do, and what the function throws.
template <class MakePipeline>
auto distribute_datasets_from_function(MakePipeline make_pipeline, std::vector<std::string> devices,
                                       const input_context& context = {}, const input_options& options = {}) {
  using pipeline = std::decay_t<std::invoke_result_t<MakePipeline&, input_context>>;
  using batch = typename pipeline::value_type;
  static_assert(std::is_same_v<pipeline, dataset<batch>>, "the function makes a dataset<T> from an input_context");
  detail::check_distribution_from_function(devices, context, options);
  const auto replicas = static_cast<int>(devices.size());
  const auto to = detail::destinations{std::move(devices), options.fetch_to_device || options.place_dataset_on_device};
  if (options.replication_mode == input_replication_mode::per_worker) {
    const auto steps = detail::deal_out<batch>(make_pipeline(context), to);
    return distributed_dataset<batch>{steps.prefetch(options.per_replica_buffer_size)};
  }
  std::vector<dataset<batch>> pipelines;
  pipelines.reserve(to.devices.size());
  for (auto replica = 0; replica < replicas; ++replica) {
    const auto own = input_context{context.input_pipeline_id * replicas + replica,
                                   context.num_input_pipelines * replicas, context.num_replicas_in_sync};
    const auto place = [to, replica](batch x) { return to.place(static_cast<std::size_t>(replica), std::move(x)); };
    pipelines.push_back(make_pipeline(own).map(place).prefetch(options.per_replica_buffer_size));
  }
  return distributed_dataset<batch>{detail::side_by_side(pipelines, to)};
}

}  // namespace troupe
