// Variables of replica strategies: one copy on each device, or one for all, kept together by two rules.
//
//   synchronization on_write  a mirrored variable: writes go to all copies, so that they stay equal (DV-1)
//   synchronization on_read   each replica writes its own copy; reading across replicas aggregates them
//
//                       on_write                                    on_read
//   replica reads       its own copy                                its own copy
//   replica writes      aggregates all replicas' values (in a       its own copy
//                       merge_call), then writes all copies;
//                       aggregation none is an error
//   cross-replica read  the first copy                              sum, mean or the first copy; none is an error
//   cross-replica write all copies                                  assign: sum gives each its share, mean and
//                                                                   only_first_replica all; add and sub are errors
//   inside update()     that copy only                              that copy only
//
// DV-1 The copies of a mirrored variable are bitwise equal whenever no update is running.
//
// Outside of any strategy's context a variable is used as in its own strategy's cross-replica context; those of the
// default strategy behave like ordinary variables. Handles are cheap copies; any thread may read. In the replica
// context of another strategy, assigning and reading what is synchronised on read are failed_precondition.
// Semantics: examples/reference/semantics.md 3.4 with the decisions of 5.1.
#pragma once

#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/replicas/regroup.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {

class strategy_state;

enum class variable_synchronization : std::uint8_t { automatic, on_write, on_read };
enum class variable_aggregation : std::uint8_t { none, sum, mean, only_first_replica };

std::string to_string(variable_synchronization synchronization);
std::string to_string(variable_aggregation aggregation);

/// What a write does with a copy and its operand.
enum class variable_update : std::uint8_t { assign, assign_add, assign_sub };
/// What a scattered write does with each row.
enum class scatter_update : std::uint8_t { update, add, sub, mul, div, min, max };

struct variable_options {
  /// automatic is on_write.
  variable_synchronization synchronization = variable_synchronization::automatic;
  variable_aggregation aggregation = variable_aggregation::none;
  /// Whether optimizers should train it. Variables that are synchronised on read are not, unless said otherwise.
  std::optional<bool> trainable;

  bool operator==(const variable_options&) const = default;
};

/// The variable itself, shared by its handles.
class variable_state {
 public:
  /// One copy on each device, all with the initial value.
  variable_state(std::shared_ptr<strategy_state> owner, std::string name, const tensor& initial,
                 variable_options options, std::vector<std::string> devices);

  const std::string& name() const { return name_; }
  const shape& get_shape() const { return extents_; }
  dtype get_dtype() const { return type_; }
  variable_synchronization synchronization() const { return options_.synchronization; }
  variable_aggregation aggregation() const { return options_.aggregation; }
  bool trainable() const { return *options_.trainable; }
  const std::vector<std::string>& devices() const { return devices_; }
  const std::shared_ptr<strategy_state>& owner() const { return owner_; }
  /// The copy that a replica of this process uses.
  std::size_t copy_of(int replica) const { return copies_.size() == 1 ? 0 : static_cast<std::size_t>(replica); }
  std::size_t copies() const { return copies_.size(); }

  tensor read_copy(std::size_t which) const;
  void write_copy(std::size_t which, variable_update kind, const tensor& x);
  void write_all(variable_update kind, const tensor& x);
  /// In place: nothing is copied while nobody else holds the content. Shape and dtype stay.
  void modify_copy(std::size_t which, const std::function<void(tensor&)>& change);
  void scatter_copy(std::size_t which, scatter_update kind, std::span<const std::int64_t> rows, const tensor& x);

  /// What cross-replica context reads.
  tensor read_across() const;
  /// What a checkpoint holds, and how it comes back: an assignment in cross-replica context.
  tensor saved() const;
  void restore(const tensor& saved_value);

  /// @throws invalid_argument_error that names the variable, unless x may be combined with it.
  void check_operand(const tensor& x) const;
  /// The same for rows along axis 0. @throws out_of_range_error for a row that there is none of.
  void check_rows(std::span<const std::int64_t> rows, const tensor& x) const;

 private:
  struct guarded_tensor {
    mutable std::mutex mutex;
    tensor content;
  };

  std::shared_ptr<strategy_state> owner_;
  std::string name_;
  shape extents_;
  dtype type_;
  variable_options options_;
  std::vector<std::string> devices_;
  std::vector<std::unique_ptr<guarded_tensor>> copies_;
};

/// One copy of a variable: what update() hands to its function, and what local_results() of a variable are.
class variable_component {
 public:
  variable_component(std::shared_ptr<variable_state> of, std::size_t which) : variable_(std::move(of)), copy_(which) {}

  const std::string& device() const { return variable_->devices()[copy_]; }
  tensor read() const { return variable_->read_copy(copy_); }
  template <tensor_element T>
  T item() const {
    return read().template item<T>();
  }
  void assign(const tensor& x) const { variable_->write_copy(copy_, variable_update::assign, x); }
  void assign_add(const tensor& x) const { variable_->write_copy(copy_, variable_update::assign_add, x); }
  void assign_sub(const tensor& x) const { variable_->write_copy(copy_, variable_update::assign_sub, x); }
  template <tensor_element T>
  void assign(T x) const {
    assign(tensor::scalar(x));
  }
  template <tensor_element T>
  void assign_add(T x) const {
    assign_add(tensor::scalar(x));
  }
  template <tensor_element T>
  void assign_sub(T x) const {
    assign_sub(tensor::scalar(x));
  }

  /// Changes the content in place: what optimizers do. @throws internal_error if shape or dtype became others.
  void modify(const std::function<void(tensor&)>& change) const { variable_->modify_copy(copy_, change); }

  const std::shared_ptr<variable_state>& variable() const { return variable_; }
  bool operator==(const variable_component&) const = default;

 private:
  std::shared_ptr<variable_state> variable_;
  std::size_t copy_;
};

/// The handle. Made by strategy::variable.
class distributed_variable {
 public:
  explicit distributed_variable(std::shared_ptr<variable_state> state) : state_(std::move(state)) {}

  const std::string& name() const { return state_->name(); }
  const shape& get_shape() const { return state_->get_shape(); }
  dtype get_dtype() const { return state_->get_dtype(); }
  variable_synchronization synchronization() const { return state_->synchronization(); }
  variable_aggregation aggregation() const { return state_->aggregation(); }
  bool trainable() const { return state_->trainable(); }
  /// One for each copy.
  const std::vector<std::string>& devices() const { return state_->devices(); }
  const std::shared_ptr<variable_state>& state() const { return state_; }

  /// @throws invalid_argument_error across replicas for on_read without an aggregation.
  tensor read() const;
  template <tensor_element T>
  T item() const {
    return read().template item<T>();
  }

  // Throw invalid_argument_error for another shape or dtype, and where the table above says so.

  void assign(const tensor& x) const { write(variable_update::assign, x); }
  void assign_add(const tensor& x) const { write(variable_update::assign_add, x); }
  void assign_sub(const tensor& x) const { write(variable_update::assign_sub, x); }
  /// A plain number is the same on all replicas: its mean is itself, and its sum is an error in replica context if
  /// there is more than one replica, because it could mean either.
  template <tensor_element T>
  void assign(T x) const {
    write_number(variable_update::assign, tensor::scalar(x));
  }
  template <tensor_element T>
  void assign_add(T x) const {
    write_number(variable_update::assign_add, tensor::scalar(x));
  }
  template <tensor_element T>
  void assign_sub(T x) const {
    write_number(variable_update::assign_sub, tensor::scalar(x));
  }

  /// Writes rows along axis 0. In replica context all replicas' rows are aggregated first; min, max and update then
  /// need only_first_replica. Of rows that repeat, all count, in their order. After an error no row has changed.
  /// @throws unimplemented_error for on_read, and for those without it; out_of_range_error for other rows; as assign.
  void scatter(scatter_update kind, std::span<const std::int64_t> rows, const tensor& x) const;

  /// Changes a copy in place, where there is one to speak of: in update context that which is being updated, and in
  /// replica context the replica's own of a variable on_read. @throws failed_precondition_error elsewhere.
  void modify(const std::function<void(tensor&)>& change) const;

  /// The copies of this process.
  std::vector<variable_component> components() const;

  bool operator==(const distributed_variable&) const = default;

 private:
  void write(variable_update kind, const tensor& x) const;
  void write_number(variable_update kind, const tensor& x) const;

  std::shared_ptr<variable_state> state_;
};

/// Within this scope a replica that reads a variable of synchronization on_read gets the aggregate over all replicas
/// instead of its own copy; all replicas must read it.
class variable_sync_on_read_context {
 public:
  variable_sync_on_read_context();
  ~variable_sync_on_read_context();
  variable_sync_on_read_context(const variable_sync_on_read_context&) = delete;
};

// --- as part of structures -----------------------------------------------------------------------------------------

/// All replicas have the same variable, which stays what it is.
template <>
struct regrouping<distributed_variable> {
  using type = distributed_variable;
  static type regroup(std::vector<distributed_variable> values);
};

/// The components of one variable are that variable.
template <>
struct regrouping<variable_component> {
  using type = distributed_variable;
  static type regroup(std::vector<variable_component> values);
};

}  // namespace troupe
