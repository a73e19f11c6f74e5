// Variables on parameter servers, closures on workers.
//
// The strategy makes variables and knows all of them, so that a checkpoint can save and restore them. It lives in the
// chief's program; handles of it are cheap copies of one shared object.
//
// A variable exists until `remove` names it, not until its last handle goes: handles travel to other processes inside
// closures, and a checkpoint holds what a program does not. Its shards on the servers go when it is removed, when a
// restore has replaced them, and when making it failed half way.
//
// Semantics: examples/reference/semantics.md 1.6. Placement is round robin over the servers, one counter for all
// shards, as in the reference; `server_placement::balanced_bytes` is ours.
#pragma once

#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/partitioner.hpp>
#include <troupe/runtime/variable.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

struct strategy_options {
  server_placement where = server_placement::round_robin;
  /// Of each server, where it keeps its shards: content and optimizers' slots stay there, and what becomes of them is
  /// computed there. Functions of call() get the content there, too. Handles read and write tensors of the host.
  std::string server_device = "CPU:0";
  /// Splits variables that `sharded` makes without a partitioner of their own.
  partitioner shards;
  /// How long making one variable may take, with the time until its server has joined.
  duration creation_limit = std::chrono::seconds{60};
  /// Contents that are on their way to the servers at the same time while variables are made; a shard that is larger,
  /// with its slots, goes alone.
  std::size_t window_bytes = std::size_t{256} << 20;
};

/// A shard to be made, with its optimizer's slots when it comes from a checkpoint.
struct shard_content {
  tensor initial;
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
};

/// A variable whose shards are to be made anew.
struct recreated_variable {
  std::shared_ptr<variable_record> record;
  std::int64_t shard_count = 1;
  /// The content of some rows; of the whole, for a variable of rank 0.
  std::function<shard_content(std::int64_t begin, std::int64_t rows)> part;
};

class parameter_server_strategy {
 public:
  /// What the strategy, and all that it makes, is asked for after the cluster's end fails with `failed_precondition`.
  /// @throws invalid_argument_error without a worker or without a server, and for a server device that is no device.
  explicit parameter_server_strategy(cluster& cluster, strategy_options options = {});

  /// A number on a server. @throws already_exists_error when the name is taken; unavailable_error when its server is
  /// lost, or does not have the server device; resource_exhausted_error when that has no memory left;
  /// deadline_exceeded_error after `creation_limit`.
  template <tensor_element T>
  troupe::variable<T> variable(std::string name, T initial) {
    return {create(std::move(name), tensor::scalar<T>(initial), 1), client()};
  }
  /// A tensor on one server. Throws as above.
  tensor_variable variable(std::string name, const tensor& initial);
  /// A tensor split along axis 0 by the given partitioner, the strategy's, or into one shard per server. Throws as
  /// above, and invalid_argument_error for a tensor of rank 0 that should be split.
  sharded_variable sharded(std::string name, const tensor& initial, const partitioner& shards = {});

  /// Many variables, each a tensor on one server, in a few messages to each: 100,000 take about two seconds. All are
  /// made, or none. Throws as above.
  std::vector<tensor_variable> create_variables(std::vector<std::pair<std::string, tensor>> initial);

  /// Deletes a variable and frees its name. What handles of it ask for afterwards fails with `not_found`.
  /// @throws not_found_error for an unknown name.
  void remove(const std::string& name);

  /// All variables, by name, as they are now.
  std::map<std::string, std::shared_ptr<variable_record>> variables() const;
  /// Makes the shards of variables anew, on the servers that are there, then points all their handles to them, then
  /// deletes the old ones; for checkpoints. Names, dtypes and shapes stay. When something fails, nothing has changed.
  /// `window_bytes` as in the options. @throws unavailable_error when no server is there, or one is lost meanwhile.
  void recreate(std::span<const recreated_variable> wanted, std::size_t window_bytes);

  int worker_count() const { return cluster_->worker_count(); }
  int server_count() const { return cluster_->server_count(); }
  /// Replicas that work in step: one per worker here, so 1.
  int num_replicas_in_sync() const { return 1; }
  troupe::cluster& get_cluster() const { return *cluster_; }
  const client_ptr& client() const { return cluster_->client(); }

 private:
  friend class cluster_coordinator;
  struct shared;

  std::shared_ptr<variable_record> create(std::string name, const tensor& initial, std::int64_t shard_count);
  void create(std::span<const recreated_variable> wanted);
  void check_for_servers() const;
  void make_shards(std::span<const recreated_variable> wanted, const std::vector<bool>& usable,
                   std::size_t window_bytes);

  cluster_reference cluster_;
  std::shared_ptr<shared> shared_;
};

}  // namespace troupe
