// What the variables of an explorer may hold.
//
// Each variable counts: every addition adds 1 to all of its elements. So each shard's elements are equal, and lie
// between the additions that were acknowledged and those that were tried: an addition is applied exactly once when it
// is acknowledged, once or never when whoever made it was lost (V-1).
//
// A life of a variable begins when it is made or restored and ends when it is removed or restored. It has shards of its
// own, so it is known by the number of its first shard, which no other shard ever has; handles of it that are under way
// to a closure go on meaning this life.
#pragma once

#include "probe.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace troupe {

struct life {
  /// What its shards held first; empty until that is known.
  std::vector<std::int64_t> first;
  int tried = 0;
  int acknowledged = 0;
};

/// Closures have no captures; a simulation has one thread.
inline std::map<std::uint64_t, life>& lives() {
  static std::map<std::uint64_t, life> all;
  return all;
}

inline std::uint64_t life_of(const variable_record& of) { return of.shards()->front().where.shard; }
inline std::uint64_t life_of(const variable_base& of) { return life_of(*of.shared_record()); }

inline tensor ones(const shape& extents) { return tensor::full<std::int64_t>(extents, 1); }

/// The elements of one shard.
inline std::span<const std::int64_t> elements_of(const variable_shard& shard, const tensor& content) {
  return content.values<std::int64_t>().subspan(static_cast<std::size_t>(shard.row_begin),
                                                static_cast<std::size_t>(shard.rows));
}

/// @throws data_loss_error unless `content` is what these shards of this life may have held since so many additions
/// were acknowledged.
inline void require_possible(const std::string& name, const shard_list& shards, const tensor& content, std::uint64_t of,
                             int acknowledged) {
  const auto& known = lives()[of];
  if (known.first.empty()) return;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto elements = elements_of(shards[i], content);
    for (const auto each : elements)
      if (each != elements.front()) throw data_loss_error{fmt::format("V-1: a shard of \"{}\" is torn", name)};
    const auto added = elements.front() - known.first.at(i);
    if (added < acknowledged || added > known.tried)
      throw data_loss_error{
          fmt::format("V-1: shard {} of \"{}\" has {} additions, but {} were acknowledged and {} tried", i, name, added,
                      acknowledged, known.tried)};
  }
}

/// Adds through the closure's worker, or in a program of the chief.
inline void add_one(const tensor_variable& to) {
  const auto of = life_of(to);
  ++lives()[of].tried;
  to.assign_add(ones(to.get_shape()));
  ++lives()[of].acknowledged;
}

/// The same, by a function that the server runs.
inline void add_one_there(const tensor_variable& to) {
  const auto of = life_of(to);
  ++lives()[of].tried;
  to.update([](tensor content) {
    add_in_place(content, tensor::full<std::int64_t>(content.get_shape(), 1));
    return content;
  });
  ++lives()[of].acknowledged;
}

inline void read_and_check(const tensor_variable& from) {
  const auto shards = from.shared_record()->shards();
  const auto of = life_of(from);
  const auto acknowledged = lives()[of].acknowledged;
  const auto content = from.read();
  // Another restore may have come meanwhile.
  if (life_of(from) == of) require_possible(from.name(), *shards, content, of, acknowledged);
}

}  // namespace troupe
