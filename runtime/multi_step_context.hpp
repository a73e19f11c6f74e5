// What the steps of run_steps_on_iterator leave behind: the outputs of the last step, by name.
//
// A step runs in cross-replica context and may call set_last_step_output there, or from the function that it runs on
// the replicas: then a reduction is mandatory, is done over all replicas, and is set once.
// Semantics: examples/reference/semantics.md 1.4 (MultiStepContext).
#pragma once

#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/replicas/regroup.hpp>

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace troupe {

class multi_step_context {
 public:
  /// Outputs by name; each holds exactly the type that was set.
  using values = std::map<std::string, std::any>;

  explicit multi_step_context(values initial = {});

  /// Replaces the output of the steps before. Across replicas a reduction is optional: a per_replica value that is not
  /// reduced stays one. @throws invalid_argument_error in replica context without a reduction.
  template <class T>
  void set_last_step_output(const std::string& name, const T& output, std::optional<reduce_op> op = std::nullopt) {
    if (in_cross_replica_context()) {
      return store(*shared_, &shared::last_step_outputs, name,
                   op ? std::any{get_strategy().reduce(*op, output)} : std::any{output});
    }
    if (!op) throw_reduction_missing(name);
    replica_context::current().merge_call(
        [target = shared_, name, op = *op](strategy& here, const regrouped_t<T>& outputs) {
          store(*target, &shared::last_step_outputs, name, here.reduce(op, outputs));
        },
        output);
  }

  /// Keeps what is no tensor. Any context; the last one set counts.
  template <class T>
  void set_non_tensor_output(const std::string& name, const T& output) {
    store(*shared_, &shared::non_tensor_outputs, name, output);
  }

  const values& last_step_outputs() const { return shared_->last_step_outputs; }
  const values& non_tensor_outputs() const { return shared_->non_tensor_outputs; }
  /// @throws not_found_error for a name that was not set; invalid_argument_error for another type.
  template <class T>
  const T& last_step_output(const std::string& name) const {
    return find<T>(shared_->last_step_outputs, name);
  }
  template <class T>
  const T& non_tensor_output(const std::string& name) const {
    return find<T>(shared_->non_tensor_outputs, name);
  }

 private:
  struct shared {
    std::mutex mutex;
    values last_step_outputs;
    values non_tensor_outputs;
  };

  static void store(shared& target, values shared::*outputs, const std::string& name, std::any output);

  template <class T>
  static const T& find(const values& outputs, const std::string& name) {
    const auto found = outputs.find(name);
    if (found == outputs.end()) throw_no_output(name);
    if (const auto* const output = std::any_cast<T>(&found->second)) return *output;
    throw_output_has_other_type(name);
  }

  [[noreturn]] static void throw_reduction_missing(const std::string& name);
  [[noreturn]] static void throw_no_output(const std::string& name);
  [[noreturn]] static void throw_output_has_other_type(const std::string& name);

  std::shared_ptr<shared> shared_;
};

}  // namespace troupe
