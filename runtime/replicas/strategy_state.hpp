// What all handles of one strategy share: its devices, its replicas, its variables, and the operations on tensors that
// the templates of strategy.hpp, replica_context.hpp and strategy_extended.hpp are made of.
//
// Users hold a `strategy`; this is the part that does not depend on their types.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/replicas/lock_step.hpp>
#include <troupe/device/collectives/communication_options.hpp>
#include <troupe/device/collectives/communication_plan.hpp>
#include <troupe/device/collectives/communicator.hpp>
#include <troupe/device/collectives/indexed_slices.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/runtime/replicas/execution_context.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace troupe {

class replica_group;
class started_tensors;
class variable_state;

/// What distinguishes the strategies.
struct strategy_settings {
  /// "mirrored_strategy"; for messages.
  std::string name;
  /// One for each replica of this process.
  std::vector<std::string> worker_devices;
  /// Where variables lie: the worker devices, or one device for all.
  std::vector<std::string> parameter_devices;
  int first_replica = 0;
  int num_replicas_in_sync = 1;
  /// Which share of the input this process reads, of how many.
  int input_pipeline_id = 0;
  int num_input_pipelines = 1;
  /// Who carries the replicas' tensors, and where they meet.
  communication_plan plan;
  /// Connects the processes of the strategy, this one as one rank; null if there is only this one. Used while no
  /// replica is in a collective.
  std::shared_ptr<communicator> processes;
  /// Null for the default strategy, which has no replicas of its own.
  std::unique_ptr<replica_group> replicas;
  communication_options communication;
  duration step_limit = std::chrono::hours{1};
  bool between_graph = false;
  /// Makes a strategy like this one over other devices of this process; null where more belongs to it than that.
  std::function<std::shared_ptr<strategy_state>(const std::vector<std::string>& devices)> over_devices;
  /// Does this process initialise variables, write checkpoints and summaries?
  bool should_init = true;
  bool should_checkpoint = true;
  bool should_save_summary = true;
};

class strategy_state : public std::enable_shared_from_this<strategy_state> {
 public:
  /// Tells the program's log how its replicas communicate.
  explicit strategy_state(strategy_settings settings);
  /// Ends the replicas and waits for them: here, or where the calling thread may not wait, on the reaper's.
  ~strategy_state();
  strategy_state(const strategy_state&) = delete;

  /// The one that is there when no other is.
  static const std::shared_ptr<strategy_state>& default_strategy();

  const strategy_settings& settings() const { return settings_; }
  bool is_default() const { return settings_.replicas == nullptr; }
  int local_replicas() const { return static_cast<int>(settings_.worker_devices.size()); }

  // --- contexts ---

  /// A cross-replica context of this strategy. @throws failed_precondition_error inside another strategy's, or in a
  /// replica context.
  execution_context enter_scope();
  /// @throws failed_precondition_error unless the caller may use cross-replica operations of this strategy; `what` is
  /// the operation, `instead` what to call in a replica context.
  void check_cross_replica(std::string_view what, std::string_view instead) const;

  // --- replicas ---

  /// Calls `body` once for each replica, in its replica context. @throws failed_precondition_error in a replica
  /// context.
  std::vector<erased> run(std::function<erased(int replica)> body);
  /// In the replica context of a running function; the default strategy merges at once.
  erased merge(merge_arrival_ptr brought);

  // --- tensors of replicas; in the replica context, all replicas call them ---

  /// Null if there is nobody else, so that nothing changes.
  std::shared_ptr<started_tensors> start_all_reduce(std::vector<tensor> values, reduce_op op,
                                                    const communication_options& options);
  /// Once.
  static std::vector<tensor> wait_for(started_tensors& reduction);
  tensor all_gather(const tensor& value, int axis, const communication_options& options);
  indexed_slices all_reduce(const indexed_slices& value, reduce_op op, const communication_options& options);
  indexed_slices all_gather(const indexed_slices& value, int axis, const communication_options& options);

  // --- tensors of all replicas; in cross-replica context, all processes call them ---

  /// One tensor from each local replica becomes their reduction over all replicas in sync.
  tensor reduce(reduce_op op, std::span<const tensor> values);
  /// The same after a local reduction along axes; the mean is that of all elements, however many each replica has.
  tensor reduce(reduce_op op, std::span<const tensor> values, const reduction_axes& axes);
  tensor gather(std::span<const tensor> values, int axis);
  /// Replica 0's of all processes' values.
  tensor first(tensor value);

  // The same for sparse values, which stay sparse, in host memory.

  indexed_slices reduce(reduce_op op, std::span<const indexed_slices> values);
  /// @throws unimplemented_error for another axis than 0
  indexed_slices gather(std::span<const indexed_slices> values, int axis);
  indexed_slices first(const indexed_slices& value);

  // --- variables ---

  /// Where a new variable's copies lie: on each replica's device, or else on the parameter devices, unless the caller's
  /// colocate_vars_with says otherwise.
  std::vector<std::string> variable_devices(bool one_per_replica) const;
  void remember(const std::shared_ptr<variable_state>& variable);
  /// Those that still exist, in the order of their creation.
  std::vector<std::shared_ptr<variable_state>> variables() const;

 private:
  duration collective_limit(const communication_options& options) const;
  /// Where values of all replicas are worked on in cross-replica context.
  std::string meeting_device(std::span<const tensor> values) const;
  tensor reduce_over_processes(tensor local, reduce_op op);

  strategy_settings settings_;
  mutable std::mutex mutex_;
  // Under the mutex: in the order of creation, and by name. Those that are gone are thrown out now and then.
  std::vector<std::weak_ptr<variable_state>> variables_;
  std::unordered_map<std::string, std::weak_ptr<variable_state>> by_name_;
  std::size_t tidy_at_ = 64;
};

}  // namespace troupe
