// What reductions and gathers work on: tensors, numbers and sparse values, alone or as leaves of a structure.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/device/collectives/indexed_slices.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// A tensor or a number that tensors can hold.
template <class T>
concept tensor_leaf = std::is_same_v<T, tensor> || tensor_element<T>;

/// What can be reduced; numbers have no axis along which they could be gathered.
template <class T>
struct is_reducible_leaf : std::bool_constant<tensor_leaf<T> || std::is_same_v<T, indexed_slices>> {};
template <class T>
struct is_gatherable_leaf : std::bool_constant<std::is_same_v<T, tensor> || std::is_same_v<T, indexed_slices>> {};

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

namespace detail {

/// Fail to compile, and name the leaf. Functions that call them do nothing else: so the message stands alone.
template <class Leaf>
[[noreturn]] void refuse_to_reduce() {
  static_assert(is_reducible_leaf<Leaf>::value,
                "this leaf can't be reduced: expected tensors, numbers, indexed_slices, or structures of them; leave "
                "it out, or look at each replica's with local_results()");
  throw internal_error{"this was not to be compiled"};
}
template <class Leaf>
[[noreturn]] void refuse_to_gather() {
  static_assert(is_gatherable_leaf<Leaf>::value,
                "this leaf can't be gathered: expected tensors, indexed_slices, or structures of them; make a number a "
                "tensor of shape (1,), or look at each replica's with local_results()");
  throw internal_error{"this was not to be compiled"};
}

}  // namespace detail

/// The leaves of a structure in its order, tensors apart from sparse values.
struct leaf_lists {
  std::vector<tensor> tensors;
  std::vector<indexed_slices> sparse;
};

/// All leaves are reducible.
template <class Nest>
leaf_lists leaves_of(const Nest& structure) {
  leaf_lists leaves;
  for_each_leaf(structure, [&]<class Leaf>(const Leaf& leaf) {
    if constexpr (std::is_same_v<Leaf, indexed_slices>) {
      leaves.sparse.push_back(leaf);
    } else {
      leaves.tensors.push_back(to_tensor(leaf));
    }
  });
  return leaves;
}

/// The structure with these leaves instead of its own.
template <class Nest>
Nest with_leaves(const Nest& structure, leaf_lists leaves) {
  return map_leaves(
      structure,
      [tensors = leaves.tensors.begin(), sparse = leaves.sparse.begin()]<class Leaf>(const Leaf&) mutable -> Leaf {
        if constexpr (std::is_same_v<Leaf, indexed_slices>) {
          return std::move(*sparse++);
        } else {
          return from_tensor<Leaf>(std::move(*tensors++));
        }
      });
}

namespace detail {

/// The same structure with its tensors in the memory of a device.
template <class T>
T place_on(const std::string& device, const T& structure) {
  return map_leaves(structure, [&]<class Leaf>(const Leaf& leaf) -> Leaf {
    if constexpr (std::is_same_v<Leaf, tensor>) {
      return leaf.copy_to(device);
    } else if constexpr (std::is_same_v<Leaf, indexed_slices>) {
      return {leaf.values.copy_to(device), leaf.indices.copy_to(device), leaf.dense_shape};
    } else {
      return leaf;
    }
  });
}

}  // namespace detail

}  // namespace troupe
