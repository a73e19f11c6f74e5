// What the variables of an explorer may hold.
//
// Each variable counts: every addition changes all of its elements in the same way. A variable without a rule grows by
// 1; one with an optimizer's rule takes one gradient of 1, which changes its slots and its step as well. So each
// shard's elements are equal, and what a shard holds tells how many additions it has: no fewer than were acknowledged,
// no more than were tried (V-1: an addition is applied exactly once when it is acknowledged, once or never when whoever
// made it was lost). Slots and step tell the same number, since a shard's content is consistent in itself.
//
// A life of a variable begins when it is made or restored and ends when it is removed or restored. It has shards of its
// own, so it is known by the number of its first shard, which no other shard ever has; handles of it that are under way
// to a closure go on meaning this life.
#pragma once

#include "probe.hpp"

#include <troupe/actors/variables/variable_operations.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What each element of a shard and of its slots is, and the optimizer's step.
struct counted_shard {
  double element = 0;
  std::map<std::string, double> slots;
  std::int64_t step = 0;
};

struct life {
  /// By shard: what it held first, and after each addition, as far as anybody has asked. Empty until the first is
  /// known.
  std::vector<std::vector<counted_shard>> after_additions;
  int tried = 0;
  int acknowledged = 0;
};

/// Closures have no captures; a simulation has one thread.
inline std::map<std::uint64_t, life>& lives() {
  static std::map<std::uint64_t, life> all;
  return all;
}

/// By the variable's name, for all of its lives.
inline std::map<std::string, optimizer>& rules() {
  static std::map<std::string, optimizer> all;
  return all;
}

inline std::optional<optimizer> rule_of(const std::string& name) {
  const auto found = rules().find(name);
  return found == rules().end() ? std::nullopt : std::optional{found->second};
}

inline std::uint64_t life_of(const variable_record& of) { return of.shards()->front().where.shard; }
inline std::uint64_t life_of(const variable_base& of) { return life_of(*of.shared_record()); }

inline void begin_life(std::uint64_t of, const std::vector<counted_shard>& shards) {
  auto& begun = lives()[of].after_additions;
  begun.clear();
  for (const auto& each : shards) begun.push_back({each});
}

inline tensor ones(const shape& extents) { return tensor::full<double>(extents, 1); }

// --- what a shard holds
// -----------------------------------------------------------------------------------------------

inline counted_shard with_one_more(const std::optional<optimizer>& rule, counted_shard before) {
  if (!rule) {
    ++before.element;
    return before;
  }
  auto content = tensor::scalar<double>(before.element);
  std::map<std::string, tensor> slots;
  for (const auto& [slot, element] : before.slots) slots.emplace(slot, tensor::scalar<double>(element));
  apply(*rule, content, tensor::scalar<double>(1), slots, before.step);
  before.element = content.item<double>();
  for (const auto& [slot, one] : slots) before.slots[slot] = one.item<double>();
  return before;
}

/// After so many additions.
inline const counted_shard& content_after(life& of, const std::string& name, std::size_t shard, int additions) {
  auto& known = of.after_additions.at(shard);
  while (known.size() <= static_cast<std::size_t>(additions))
    known.push_back(with_one_more(rule_of(name), known.back()));
  return known[static_cast<std::size_t>(additions)];
}

/// What was seen of a shard: slots and step only where all of it was looked at.
struct seen_shard {
  double element = 0;
  std::optional<std::map<std::string, double>> slots;
  std::optional<std::int64_t> step;
};

inline bool is_alike(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1., std::abs(b)); }

inline bool is_seen(const counted_shard& expected, const seen_shard& seen) {
  if (!is_alike(seen.element, expected.element)) return false;
  if (seen.step && *seen.step != expected.step) return false;
  return !seen.slots ||
         std::equal(seen.slots->begin(), seen.slots->end(), expected.slots.begin(), expected.slots.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && is_alike(a.second, b.second); });
}

inline std::string to_text(const seen_shard& seen) {
  auto text = fmt::format("{}", seen.element);
  if (seen.slots)
    for (const auto& [slot, element] : *seen.slots) text += fmt::format(", {} {}", slot, element);
  return seen.step ? text + fmt::format(", step {}", *seen.step) : text;
}

/// The additions that a shard shows. @throws data_loss_error unless it is what this shard of this life may have held
/// since so many additions were acknowledged.
inline int additions_in(const std::string& name, std::uint64_t of, std::size_t shard, const seen_shard& seen,
                        int acknowledged) {
  auto& known = lives()[of];
  for (auto additions = 0; additions <= known.tried; ++additions)
    if (is_seen(content_after(known, name, shard, additions), seen)) {
      if (additions >= acknowledged) return additions;
      throw data_loss_error{fmt::format("V-1: shard {} of \"{}\" has {} additions, but {} were acknowledged", shard,
                                        name, additions, acknowledged)};
    }
  throw data_loss_error{
      fmt::format("V-1: shard {} of \"{}\" holds {}, which none of {} additions makes of {}", shard, name,
                  to_text(seen), known.tried,
                  to_text({content_after(known, name, shard, 0).element, content_after(known, name, shard, 0).slots,
                           content_after(known, name, shard, 0).step}))};
}

// --- looking at it
// ----------------------------------------------------------------------------------------------------

/// The element that all of a shard's are. @throws data_loss_error when they are not.
inline double element_of(const std::string& name, std::span<const double> elements) {
  for (const auto each : elements)
    if (each != elements.front()) throw data_loss_error{fmt::format("V-1: a shard of \"{}\" is torn", name)};
  return elements.front();
}

/// The part of `content`, a variable's whole, that is this shard's.
inline double element_of(const std::string& name, const variable_shard& shard, const tensor& content) {
  return element_of(name, content.values<double>().subspan(static_cast<std::size_t>(shard.row_begin),
                                                           static_cast<std::size_t>(shard.rows)));
}

/// @throws data_loss_error unless `content` is what these shards of this life may have held since so many additions
/// were acknowledged.
inline void require_possible(const std::string& name, const shard_list& shards, const tensor& content, std::uint64_t of,
                             int acknowledged) {
  if (lives()[of].after_additions.empty()) return;
  for (std::size_t i = 0; i < shards.size(); ++i)
    additions_in(name, of, i, {element_of(name, shards[i], content), {}, {}}, acknowledged);
}

/// The same for shards with their slots and steps, one by one.
inline void require_possible(const std::string& name, const std::vector<operation_outcome>& shards, std::uint64_t of,
                             int acknowledged) {
  if (lives()[of].after_additions.empty()) return;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    seen_shard seen{.element = element_of(name, shards[i].content.values<double>()),
                    .slots = std::map<std::string, double>{},
                    .step = shards[i].step};
    for (const auto& [slot, content] : shards[i].slots)
      seen.slots->emplace(slot, element_of(name, content.values<double>()));
    additions_in(name, of, i, seen, acknowledged);
  }
}

// --- what closures and the chief do
// -----------------------------------------------------------------------------------

/// Adds through the closure's worker, or in a program of the chief.
inline void add_one(const tensor_variable& to) {
  const auto of = life_of(to);
  ++lives()[of].tried;
  if (const auto rule = rule_of(to.name()))
    to.apply_gradient(*rule, ones(to.get_shape()));
  else
    to.assign_add(ones(to.get_shape()));
  ++lives()[of].acknowledged;
}

/// The same, by a function that the server runs; what has a rule changes by its rule only.
inline void add_one_there(const tensor_variable& to) {
  if (rule_of(to.name())) return add_one(to);
  const auto of = life_of(to);
  ++lives()[of].tried;
  to.update([](tensor content) {
    add_in_place(content, tensor::full<double>(content.get_shape(), 1));
    return content;
  });
  ++lives()[of].acknowledged;
}

/// Each shard as the server has it.
inline std::vector<operation_outcome> snapshot(const tensor_variable& of, const shard_list& shards) {
  std::vector<shard_request> requests;
  for (const auto& each : shards)
    requests.push_back({each.where, {.kind = operation_kind::snapshot}, of.shared_record()->bytes_of_rows(each.rows)});
  auto outcomes = perform(of.client(), std::move(requests), of.limit());
  for (auto& each : outcomes)
    if (!each.ended.ok()) throw_status(std::move(each.ended));
  return outcomes;
}

inline void read_and_check(const tensor_variable& from) {
  const auto shards = from.shared_record()->shards();
  const auto of = life_of(from);
  const auto acknowledged = lives()[of].acknowledged;
  if (!rule_of(from.name())) {
    const auto content = from.read();
    // Another restore may have come meanwhile.
    if (life_of(from) == of) require_possible(from.name(), *shards, content, of, acknowledged);
    return;
  }
  const auto outcomes = snapshot(from, *shards);
  if (life_of(from) == of) require_possible(from.name(), outcomes, of, acknowledged);
}

}  // namespace troupe
