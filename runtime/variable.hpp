// Variables: tensors that live on parameter servers and are used from closures and from the chief's program alike.
//
// A variable is a small handle (name, dtype, shape, where its shards are); it is passed to closures as an argument.
// Each operation is a round trip to the servers that hold the shards: inside a closure it suspends the closure's fiber,
// elsewhere it blocks the thread, always within the operation's limit. Operations on one shard are applied in one
// order, each exactly once when it is acknowledged (V-1); there is no order between shards.
//
//   variable<T>        one number                     read, assign, assign_add, assign_sub
//   tensor_variable    a tensor, on one server        ... and rows, gradients, functions
//   sharded_variable   a tensor split along axis 0    the same, and its shards
//
// Errors: invalid_argument for shapes and dtypes that do not fit, unavailable naming the server that is lost,
// deadline_exceeded after the limit, cancelled when the closure is cancelled meanwhile.
// Semantics: examples/reference/semantics.md 1.6, 3.4.
#pragma once

#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/actors/variables/variable_operations.hpp>
#include <troupe/device/kernels/optimizer.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// One part of a variable: rows `row_begin` up to `row_begin + rows` (the whole content, for a variable of rank 0).
struct variable_shard {
  shard_address where;
  std::int64_t row_begin = 0;
  std::int64_t rows = 0;
};

using shard_list = std::vector<variable_shard>;

/// What all handles of one variable share. The strategy replaces the shards when the variable is restored, for example
/// on a server that came back; operations and closures take along what is current when they are sent.
class variable_record {
 public:
  variable_record() = default;
  variable_record(std::string called, dtype of_type, const shape& of_extents, std::string on_device = "CPU:0")
      : name(std::move(called)), type(of_type), extents(of_extents), device(std::move(on_device)) {}

  std::string name;
  dtype type = dtype::float32;
  shape extents;
  /// Of each server that has a part of it.
  std::string device = "CPU:0";

  /// Of so many rows; of the whole, for a variable of rank 0.
  std::size_t bytes_of_rows(std::int64_t rows) const;

  /// Any thread.
  std::shared_ptr<const shard_list> shards() const { return shards_.load(); }
  void set_shards(shard_list shards) { replace_shards(std::move(shards)); }
  /// Returns those before.
  std::shared_ptr<const shard_list> replace_shards(shard_list shards) {
    return shards_.exchange(std::make_shared<const shard_list>(std::move(shards)));
  }

 private:
  std::atomic<std::shared_ptr<const shard_list>> shards_{std::make_shared<const shard_list>()};
};

/// One operation that is planned but not yet performed: many of them make one round trip (`perform_together`).
struct planned_operation {
  std::vector<shard_request> requests;
  /// Makes the result of the outcomes of these requests.
  std::function<tensor(std::span<operation_outcome>)> combine;
};

class variable_base {
 public:
  variable_base() = default;
  variable_base(std::shared_ptr<variable_record> record, client_ptr client)
      : record_(std::move(record)), client_(std::move(client)) {}

  const std::string& name() const { return record().name; }
  dtype get_dtype() const { return record().type; }
  const shape& get_shape() const { return record().extents; }
  /// Where each shard lives: "/job:ps/task:0/device:CPU:0", or another device that strategy_options::server_device
  /// says.
  std::vector<std::string> devices() const;
  /// How long each operation of this handle may take; the default is variable_client_options::operation_limit.
  void set_limit(duration limit) { limit_ = limit; }

  const std::shared_ptr<variable_record>& shared_record() const { return record_; }
  const client_ptr& client() const { return client_; }
  duration limit() const { return limit_; }

  void save(output_archive& archive) const;
  void load(input_archive& archive);

 protected:
  const variable_record& record() const;

  std::shared_ptr<variable_record> record_;
  client_ptr client_;
  duration limit_ = variable_client_options{}.operation_limit;
};

/// A tensor on a server.
class tensor_variable : public variable_base {
 public:
  using variable_base::variable_base;

  tensor read() const;
  void assign(const tensor& content) const;
  void assign_add(const tensor& content) const;
  void assign_sub(const tensor& content) const;

  /// Rows by their numbers along axis 0, in that order, without reading the others.
  tensor gather(std::span<const std::int64_t> rows) const;
  void scatter_update(std::span<const std::int64_t> rows, const tensor& content) const;
  void scatter_add(std::span<const std::int64_t> rows, const tensor& content) const;
  void scatter_sub(std::span<const std::int64_t> rows, const tensor& content) const;

  /// Applies the rule on the server, where its slots are.
  void apply_gradient(const optimizer& rule, const tensor& gradient) const;

  /// Replaces the content by `F{}(content, arguments...)`, evaluated on the server: atomic, and nothing travels but the
  /// arguments. F takes the (shard's) tensor first and returns a tensor of the same shape and dtype.
  template <class F, class... Args>
  void update(F, Args... arguments) const {
    const auto& entry = registered<F, deferred<tensor>, Args...>();
    update_with(function_registry::instance().id_of(entry),
                value::of(std::tuple<deferred<tensor>, Args...>{deferred<tensor>{0}, std::move(arguments)...}));
  }

  // The same as plans, for `perform_together`.
  planned_operation plan_read() const;
  planned_operation plan_write(operation_kind kind, const tensor& content) const;
  planned_operation plan_gather(std::span<const std::int64_t> rows) const;
  planned_operation plan_scatter(operation_kind kind, std::span<const std::int64_t> rows, const tensor& content) const;
  planned_operation plan_apply_gradient(const optimizer& rule, const tensor& gradient) const;

 private:
  void update_with(const function_id& function, value arguments) const;
  tensor perform(planned_operation plan) const;
};

/// A tensor split along axis 0 over servers. It reads and writes as one; lookups go to the shards that hold the rows.
class sharded_variable : public tensor_variable {
 public:
  using tensor_variable::tensor_variable;

  std::size_t shard_count() const { return record().shards()->size(); }
  /// One shard as a variable of its own, "<name>/part_<i>". @throws out_of_range_error
  tensor_variable shard(std::size_t index) const;
  std::vector<tensor_variable> shards() const;
  /// Rows begin, begin + step, ... before end, as numpy's slices: negative numbers count from the end, steps may be
  /// negative. Reads only the shards that hold these rows. @throws invalid_argument_error for a step of 0.
  tensor slice(std::int64_t begin, std::int64_t end, std::int64_t step = 1) const;
  /// Rows whose mask is true. @throws invalid_argument_error unless the mask has one entry for each row.
  tensor select(const std::vector<bool>& mask) const;
};

/// One number on a server.
template <tensor_element T>
class variable : public variable_base {
 public:
  using value_type = T;
  using variable_base::variable_base;

  T read() const { return as_tensor().read().template item<T>(); }
  void assign(T x) const { as_tensor().assign(tensor::scalar<T>(x)); }
  void assign_add(T x) const { as_tensor().assign_add(tensor::scalar<T>(x)); }
  void assign_sub(T x) const { as_tensor().assign_sub(tensor::scalar<T>(x)); }

  tensor_variable as_tensor() const {
    tensor_variable same{record_, client_};
    same.set_limit(limit_);
    return same;
  }
};

/// Performs all plans at the same time: one round trip, whatever their number. Results in the order of the plans.
/// @throws the first plan's error, after all have ended.
std::vector<tensor> perform_together(const client_ptr& client, std::vector<planned_operation> plans, duration limit);

/// Reads many variables in one round trip.
std::vector<tensor> read_all(std::span<const tensor_variable> variables);
/// Assigns many variables in one round trip.
void assign_all(std::span<const tensor_variable> variables, std::span<const tensor> contents);
/// Applies many gradients in one round trip.
void apply_gradients(const optimizer& rule, std::span<const tensor_variable> variables,
                     std::span<const tensor> gradients);

/// Within this scope each variable is read once: later reads in the same closure (or thread) return that value, until
/// the scope ends. Writes go through and are not seen by cached reads. @throws failed_precondition_error when nested.
class cache_variable_reads {
 public:
  cache_variable_reads();
  ~cache_variable_reads();
  cache_variable_reads(const cache_variable_reads&) = delete;
};

}  // namespace troupe
