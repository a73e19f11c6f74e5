// Takes a value of which each replica has several parts asunder, as one does with the (images, labels) of a dataset.
#pragma once

#include <troupe/actors/values/structure.hpp>
#include <troupe/runtime/replicas/distributed_values.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// The parts of the replicas' tuples, pairs, arrays or structs, each as a value of its own, in a tuple.
template <class Product>
auto unzip(const per_replica<Product>& values) {
  const auto part = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
    using element = std::remove_cvref_t<decltype(detail::part_of<Index>(values[0]))>;
    std::vector<element> parts;
    parts.reserve(values.size());
    for (std::size_t replica = 0; replica < values.size(); ++replica)
      parts.push_back(detail::part_of<Index>(values[replica]));
    return per_replica<element>{std::move(parts)};
  };
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple{part(std::integral_constant<std::size_t, Index>{})...};
  }
  (std::make_index_sequence<detail::part_count<Product>()>{});
}

}  // namespace troupe
