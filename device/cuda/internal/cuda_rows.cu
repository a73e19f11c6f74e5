// Rows along axis 0. A thread has one element of a row, and where rows come several times, all that happens to it, in
// order: so the bits are those of the host.
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_launch.cuh>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

namespace troupe::cuda {

namespace {

using numeric::convert;
using numeric::widen;

/// Which rows change which row of a target, for kernels.
struct row_groups_view {
  /// The rows that change, each once.
  const std::int64_t* changed;
  /// Where in the sources those of each begin, and at last where all end.
  const std::int64_t* begins;
  /// In their order for each.
  const std::int64_t* sources;
  std::int64_t row_size;
};

/// All of it on the target's device.
struct row_groups {
  std::int64_t count;
  std::int64_t row_size;
  tensor numbers;

  std::int64_t element_count() const { return count * row_size; }
  row_groups_view view() const {
    const auto* const changed = elements<std::int64_t>(numbers);
    return {changed, changed + count, changed + 2 * count + 1, row_size};
  }
};

std::int64_t row_size_of(const tensor& x) { return x.get_shape().without_axis(0).element_count(); }

row_groups group_rows(std::span<const std::int64_t> indices, const tensor& target) {
  std::vector<std::int64_t> sources(indices.size());
  std::iota(sources.begin(), sources.end(), 0);
  const auto row_of = [&](std::int64_t source) { return indices[static_cast<std::size_t>(source)]; };
  std::ranges::stable_sort(sources, {}, row_of);
  std::vector<std::int64_t> changed, begins;
  for (auto i = std::size_t{0}; i < sources.size(); ++i) {
    if (i > 0 && row_of(sources[i]) == changed.back()) continue;
    changed.push_back(row_of(sources[i]));
    begins.push_back(static_cast<std::int64_t>(i));
  }
  begins.push_back(static_cast<std::int64_t>(sources.size()));
  const auto count = static_cast<std::int64_t>(changed.size());
  changed.insert(changed.end(), begins.begin(), begins.end());
  changed.insert(changed.end(), sources.begin(), sources.end());
  return {count, row_size_of(target), tensor::of(changed).copy_to(target.device())};
}

/// Calls f(std::type_identity<Word>{}) with what moves elements of this type, whatever they are.
template <class Function>
void visit_words(dtype type, Function f) {
  switch (size_bytes(type)) {
    case 1:
      return f(std::type_identity<std::uint8_t>{});
    case 2:
      return f(std::type_identity<std::uint16_t>{});
    case 4:
      return f(std::type_identity<std::uint32_t>{});
    default:
      return f(std::type_identity<std::uint64_t>{});
  }
}

template <class Word>
struct gather_element {
  Word* to;
  const Word* from;
  const std::int64_t* rows;
  std::int64_t row_size;

  __device__ void operator()(std::int64_t i) const { to[i] = from[rows[i / row_size] * row_size + i % row_size]; }
};

template <class Word>
struct replace_element {
  Word* to;
  const Word* from;
  row_groups_view groups;

  __device__ void operator()(std::int64_t i) const {
    const auto group = i / groups.row_size;
    const auto column = i % groups.row_size;
    const auto last = groups.sources[groups.begins[group + 1] - 1];
    to[groups.changed[group] * groups.row_size + column] = from[last * groups.row_size + column];
  }
};

template <class T, class Operation>
struct change_element {
  T* to;
  const T* from;
  row_groups_view groups;

  __device__ void operator()(std::int64_t i) const {
    const auto group = i / groups.row_size;
    const auto column = i % groups.row_size;
    auto& target = to[groups.changed[group] * groups.row_size + column];
    for (auto next = groups.begins[group]; next < groups.begins[group + 1]; ++next)
      target = convert<T>(Operation{}(widen(target), widen(from[groups.sources[next] * groups.row_size + column])));
  }
};

void replace_rows(tensor& target, const row_groups& groups, const tensor& rows) {
  visit_words(target.get_dtype(), [&]<class Word>(std::type_identity<Word>) {
    for_each_index("the kernel of scatter_rows_update", target, groups.element_count(),
                   replace_element<Word>{mutable_elements<Word>(target), elements<Word>(rows), groups.view()});
  });
}

template <class Operation>
void change_rows(tensor& target, const row_groups& groups, const tensor& rows) {
  numeric::visit_arithmetic("scatter_rows", target.get_dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_index("the kernel of scatter_rows", target, groups.element_count(),
                   change_element<T, Operation>{mutable_elements<T>(target), elements<T>(rows), groups.view()});
  });
}

}  // namespace

tensor gather_rows(const tensor& source, std::span<const std::int64_t> indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  auto result = tensor::uninitialised(source.get_dtype(), source.get_shape().with_axis(0, count), source.device());
  const auto rows = tensor::of(shape{count}, indices).copy_to(source.device());
  visit_words(source.get_dtype(), [&]<class Word>(std::type_identity<Word>) {
    for_each_index("the kernel of gather_rows", result, result.element_count(),
                   gather_element<Word>{mutable_elements<Word>(result), elements<Word>(source),
                                        elements<std::int64_t>(rows), row_size_of(source)});
  });
  return result;
}

void scatter_rows(row_operation operation, tensor& target, std::span<const std::int64_t> indices, const tensor& rows) {
  const auto groups = group_rows(indices, target);
  switch (operation) {
    case row_operation::update:
      return replace_rows(target, groups, rows);
    case row_operation::add:
      return change_rows<numeric::add>(target, groups, rows);
    case row_operation::subtract:
      return change_rows<numeric::subtract>(target, groups, rows);
  }
}

}  // namespace troupe::cuda
