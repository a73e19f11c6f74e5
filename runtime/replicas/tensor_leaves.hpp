// A structure of tensors and numbers as a list of tensors, and back: what collectives work on.
#pragma once

#include <troupe/device/tensor/tensor.hpp>
#include <troupe/runtime/replicas/structure.hpp>

#include <span>
#include <type_traits>
#include <vector>

namespace troupe {

/// A tensor or a number that tensors can hold.
template <class T>
concept tensor_leaf = std::is_same_v<T, tensor> || element<T>;

/// A number becomes a tensor of rank 0.
template <tensor_leaf T>
tensor to_tensor(const T& x) {
  if constexpr (std::is_same_v<T, tensor>) {
    return x;
  } else {
    return tensor::scalar(x);
  }
}

/// The reverse. @throws invalid_argument_error if the tensor is not one number of this type.
template <tensor_leaf T>
T from_tensor(tensor x) {
  if constexpr (std::is_same_v<T, tensor>) {
    return x;
  } else {
    return x.template item<T>();
  }
}

/// In the order of structure.hpp.
template <class Nest>
std::vector<tensor> leaves_of(const Nest& structure) {
  std::vector<tensor> leaves;
  for_each_leaf(structure, [&](const tensor_leaf auto& leaf) { leaves.push_back(to_tensor(leaf)); });
  return leaves;
}

/// The structure with these leaves instead of its own.
template <class Nest>
Nest with_leaves(const Nest& structure, std::span<const tensor> leaves) {
  return map_leaves(structure, [&]<tensor_leaf Leaf>(const Leaf&) {
    auto leaf = from_tensor<Leaf>(leaves.front());
    leaves = leaves.subspan(1);
    return leaf;
  });
}

}  // namespace troupe
