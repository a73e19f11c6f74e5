#include <troupe/actors/rpc/rpc_representation.hpp>
#include <troupe/actors/rpc/rpc_spec.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace troupe::rpc {

bool tensor_spec::matches(const tensor& found) const {
  return found.get_dtype() == type &&
         std::equal(extents.begin(), extents.end(), found.get_shape().begin(), found.get_shape().end(),
                    [](std::int64_t wanted, std::int64_t extent) { return wanted == any || wanted == extent; });
}

std::string to_string(const tensor_spec& spec) {
  std::string text = troupe::to_string(spec.type) + " (";
  for (std::size_t axis = 0; axis < spec.extents.size(); ++axis) {
    if (axis != 0) text += ", ";
    text += spec.extents[axis] == tensor_spec::any ? "?" : std::to_string(spec.extents[axis]);
  }
  return text + (spec.extents.size() == 1 ? ",)" : ")");
}

namespace {

/// A number as a scalar of this type, so that a 2 may be an int32.
tensor scalar_of(const datum& number, dtype type) {
  return visit_dtype(type, [&]<class T>(std::type_identity<T>) -> tensor {
    if constexpr (detail::packed_element<T>)
      return tensor::scalar(number.as<T>());
    else
      throw_not_representable(to_string(tensor_spec{type}), number);
  });
}

bool is_number(const datum& found) {
  return found.get_if<bool>() != nullptr || found.get_if<std::int64_t>() != nullptr ||
         found.get_if<std::uint64_t>() != nullptr || found.get_if<float>() != nullptr ||
         found.get_if<double>() != nullptr;
}

}  // namespace

tensor expect_tensor(const datum& found, const tensor_spec& spec, std::string_view what) {
  if (const auto* const there = found.get_if<tensor>(); there != nullptr && spec.matches(*there)) return *there;
  if (is_number(found) && spec.extents.empty()) {
    try {
      return scalar_of(found, spec.type);
    } catch (const invalid_argument_error&) {
      // The message below names both.
    }
  }
  throw invalid_argument_error{fmt::format("{} must be {}, but is {}", what, to_string(spec), found.describe())};
}

datum output_specs::apply(const datum& result) const {
  if (known_) return apply(result, "the result");
  datum::list leaves;
  for (auto& leaf : result.flatten())
    leaves.push_back(is_number(leaf) ? datum::of(leaf.as<tensor>()) : std::move(leaf));
  return datum::of(std::move(leaves));
}

datum output_specs::apply(const datum& result, const std::string& place) const {
  if (!is_list_) return datum::of(expect_tensor(result, leaf_, place));
  const auto* const parts = result.get_if<datum::list>();
  if (parts == nullptr || parts->size() != parts_.size())
    throw invalid_argument_error{
        fmt::format("{} should be {} by the output specs, but is {}", place, to_string(), result.describe())};
  datum::list applied;
  applied.reserve(parts->size());
  for (std::size_t i = 0; i < parts->size(); ++i)
    applied.push_back(parts_[i].apply((*parts)[i], fmt::format("part {} of {}", i, place)));
  return datum::of(std::move(applied));
}

std::string output_specs::to_string() const {
  if (!known_) return "unknown";
  if (!is_list_) return rpc::to_string(leaf_);
  std::string text = "[";
  for (std::size_t i = 0; i < parts_.size(); ++i) text += (i == 0 ? "" : ", ") + parts_[i].to_string();
  return text + "]";
}

}  // namespace troupe::rpc
