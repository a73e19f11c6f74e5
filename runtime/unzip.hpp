// Takes a value of which each replica has a tuple apart, as one does with the (images, labels) of a dataset.
#pragma once

#include <troupe/runtime/replicas/distributed_values.hpp>

#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {

/// The parts of the replicas' tuples, each as a value of its own.
template <class... Ts>
std::tuple<per_replica<Ts>...> unzip(const per_replica<std::tuple<Ts...>>& values) {
  const auto part = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
    using element = std::tuple_element_t<Index, std::tuple<Ts...>>;
    std::vector<element> parts;
    parts.reserve(values.size());
    for (std::size_t replica = 0; replica < values.size(); ++replica) parts.push_back(std::get<Index>(values[replica]));
    return per_replica<element>{std::move(parts)};
  };
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::tuple<per_replica<Ts>...>{part(std::integral_constant<std::size_t, Index>{})...};
  }
  (std::index_sequence_for<Ts...>{});
}

}  // namespace troupe
