// What tensors a remote procedure takes or returns: the counterparts of TensorFlow's TensorSpec.
#pragma once

#include <troupe/actors/rpc/rpc_datum.hpp>
#include <troupe/device/base/dtype.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::rpc {

/// An element type and extents; -1 is any extent. Default: a scalar.
struct tensor_spec {
  static constexpr std::int64_t any = -1;

  dtype type = dtype::float32;
  std::vector<std::int64_t> extents = {};

  bool operator==(const tensor_spec&) const = default;
  bool matches(const tensor& found) const;
};

/// "int32 ()", "float32 (?, 3)".
std::string to_string(const tensor_spec& spec);

/// @throws invalid_argument_error with `what` ("argument 1 of addition") unless the datum is, or can stand for, such a
/// tensor
tensor expect_tensor(const datum& found, const tensor_spec& spec, std::string_view what);

/// The structure that a caller expects of a result: nothing known, one tensor, or a list of structures.
class output_specs {
 public:
  /// Nothing is known: the result is the flat list of its leaves.
  output_specs() = default;
  output_specs(tensor_spec spec) : known_(true), leaf_(std::move(spec)) {}
  output_specs(std::initializer_list<output_specs> parts) : known_(true), is_list_(true), parts_(parts) {}

  bool known() const noexcept { return known_; }

  /// The result in this structure: tensors where specs are, lists where lists are.
  /// @throws invalid_argument_error that names what was expected and what came
  datum apply(const datum& result) const;

  std::string to_string() const;

 private:
  datum apply(const datum& result, const std::string& place) const;

  bool known_ = false;
  bool is_list_ = false;
  tensor_spec leaf_;
  std::vector<output_specs> parts_;
};

}  // namespace troupe::rpc
