// Variables on parameter servers, closures on workers.
//
// The strategy makes variables and knows all of them, so that a checkpoint can save and restore them. It lives in the
// chief's program; handles of it are cheap copies of one shared object.
//
// Semantics: semantics.md 1.6. Placement is round robin over the servers, one counter for all shards, as in the
// reference; `placement::balanced_bytes` is ours.
#pragma once

#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/partitioner.hpp>
#include <troupe/runtime/variable.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

struct strategy_options {
  placement where = placement::round_robin;
  /// Splits variables that `sharded` makes without a partitioner of their own.
  partitioner shards;
  /// How long making one variable may take, with the time until its server has joined.
  duration creation_limit = std::chrono::seconds{60};
};

/// A shard to be made, with its optimizer's slots when it comes from a checkpoint.
struct shard_content {
  tensor initial;
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
};

class parameter_server_strategy {
 public:
  /// The cluster must outlive all handles. @throws invalid_argument_error without a worker or without a server.
  explicit parameter_server_strategy(cluster& cluster, strategy_options options = {});

  /// A number on a server. @throws already_exists_error when the name is taken; unavailable_error when its server is
  /// lost; deadline_exceeded_error after `creation_limit`.
  template <element T>
  troupe::variable<T> variable(std::string name, T initial) {
    return {create(std::move(name), tensor::scalar<T>(initial), 1), client()};
  }
  /// A tensor on one server. Throws as above.
  tensor_variable variable(std::string name, const tensor& initial);
  /// A tensor split along axis 0 by the given partitioner, the strategy's, or into one shard per server. Throws as
  /// above, and invalid_argument_error for a tensor of rank 0 that should be split.
  sharded_variable sharded(std::string name, const tensor& initial, const partitioner& shards = {});

  /// All variables, by name.
  const std::map<std::string, std::shared_ptr<variable_record>>& variables() const;
  /// Makes the shards of a variable anew, on the servers that are there, and points all its handles to them; for
  /// checkpoints. The record's name, dtype and shape stay.
  void recreate(variable_record& record,
                const std::function<shard_content(std::int64_t begin, std::int64_t rows)>& part,
                std::int64_t shard_count);

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

  troupe::cluster* cluster_;
  std::shared_ptr<shared> shared_;
};

}  // namespace troupe
