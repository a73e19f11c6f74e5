// Structures of tensors as batches: all leaves have the same rows along axis 0, and row i of all of them is element i.
//
// This is what turns elements into batches and batches into parts for replicas, whatever the elements are made of.
// Slices share the batch's bytes; stacking copies. Tensors that are stacked are in host memory.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace troupe {

namespace detail {

/// `f(leaf)`, where the leaf is a tensor.
template <class Leaf, class F>
auto with_tensor(const Leaf& leaf, F f) {
  if constexpr (std::is_same_v<Leaf, tensor>) {
    return f(leaf);
  } else {
    static_assert(std::is_same_v<Leaf, tensor>,
                  "a batch consists of tensors; use tensors in place of numbers and other leaves");
    return leaf;
  }
}

/// All tensors that are visited have the same extent of axis 0.
class common_row_count {
 public:
  void visit(const tensor& leaf, const structure_path& path);
  /// Throws invalid_argument_error if nothing was visited.
  std::int64_t get() const;

 private:
  std::optional<std::int64_t> rows_;
  std::string first_;  // what the first tensor is, for messages
};

tensor stack_tensors(std::span<const tensor* const> tensors, const structure_path& path);

/// Turns the same leaf of many elements into one tensor with a new axis 0.
struct stack_leaves {
  template <class Leaf>
  tensor operator()(std::span<const Leaf* const> leaves, const structure_path& path) const {
    if constexpr (std::is_same_v<Leaf, tensor>) {
      return stack_tensors(leaves, path);
    } else if constexpr (tensor_element<Leaf>) {
      tensor result = tensor::uninitialised(dtype_of<Leaf>, shape{static_cast<std::int64_t>(leaves.size())});
      auto next = result.mutable_values<Leaf>().begin();
      for (const auto* leaf : leaves) *next++ = *leaf;
      return result;
    } else {
      static_assert(tensor_element<Leaf>,
                    "only tensors and numbers of a tensor's element types can be batched; map other leaves first");
    }
  }
};

struct tensor_for_each_leaf {
  template <class>
  using type = tensor;
};

}  // namespace detail

/// What `stack_structures` makes of elements of type T: tensors in place of numbers; tensors and structs stay what they
/// are.
template <class T>
using stacked_t = detail::mapped_structure_t<detail::tensor_for_each_leaf, detail::nowhere, T>;

/// Elements of one form become a batch: tensors of shape (...) and numbers become tensors of shape (n, ...).
/// Throws invalid_argument_error if there is no element, or if shapes, dtypes, lengths or keys differ, naming both.
template <std::ranges::sized_range Elements>
stacked_t<std::ranges::range_value_t<Elements>> stack_structures(const Elements& elements) {
  if (std::ranges::empty(elements)) throw invalid_argument_error{"an empty list has no rows; expected an element"};
  return merge_leaves(elements, detail::stack_leaves{}, "element");
}

/// The extent of axis 0 of every tensor. Throws invalid_argument_error if they differ, if a tensor is a scalar, or if
/// there is no tensor.
template <class T>
std::int64_t row_count(const T& batch) {
  detail::common_row_count rows;
  for_each_leaf(batch, [&](const auto& leaf, const structure_path& path) {
    detail::with_tensor(leaf, [&](const tensor& x) { rows.visit(x, path); });
  });
  return rows.get();
}

/// Rows begin to end-1 of every tensor; no rows are fine. Throws out_of_range_error as tensor::slice does.
template <class T>
T slice_rows(const T& batch, std::int64_t begin, std::int64_t end) {
  return map_leaves(batch, [&](const auto& leaf) {
    return detail::with_tensor(leaf, [&](const tensor& x) { return x.slice(begin, end); });
  });
}

/// Row `index` of every tensor, without axis 0. Throws out_of_range_error.
template <class T>
T row_at(const T& batch, std::int64_t index) {
  return map_leaves(batch, [&](const auto& leaf) {
    return detail::with_tensor(leaf, [&](const tensor& x) { return x.row(index); });
  });
}

}  // namespace troupe
