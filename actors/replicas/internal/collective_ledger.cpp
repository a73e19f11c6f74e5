#include <troupe/actors/replicas/internal/collective_ledger.hpp>
#include <troupe/device/base/error.hpp>

#include <fmt/format.h>

#include <span>

namespace troupe {

namespace {

[[noreturn]] void throw_missed(int in_collective, std::uint64_t number, int elsewhere, const char* where) {
  throw failed_precondition_error{fmt::format(
      "replica {} is in its collective number {}, but replica {} {} without having called it; all replicas must call "
      "the same collectives and merge_calls in the same order",
      in_collective, number, elsewhere, where)};
}

}  // namespace

collective_ledger::collective_ledger(int replicas)
    : replicas_(replicas), entries_(std::make_unique<entry[]>(static_cast<std::size_t>(replicas))) {}

void collective_ledger::enter(int replica) {
  const std::span all{entries_.get(), static_cast<std::size_t>(replicas_)};
  const auto mine = all[static_cast<std::size_t>(replica)].entered.fetch_add(1) + 1;
  for (auto other = 0; other < replicas_; ++other) {
    const auto& theirs = all[static_cast<std::size_t>(other)];
    const auto* const where = theirs.parked.load();
    if (where != nullptr && theirs.entered.load() < mine) throw_missed(replica, mine, other, where);
  }
}

void collective_ledger::park(int replica, const char* where) {
  const std::span all{entries_.get(), static_cast<std::size_t>(replicas_)};
  auto& self = all[static_cast<std::size_t>(replica)];
  const auto mine = self.entered.load();
  self.parked.store(where);
  for (auto other = 0; other < replicas_; ++other) {
    const auto theirs = all[static_cast<std::size_t>(other)].entered.load();
    if (theirs > mine) throw_missed(other, theirs, replica, where);
  }
}

std::string collective_ledger::where(int replica) const {
  const auto& self = std::span{entries_.get(), static_cast<std::size_t>(replicas_)}[static_cast<std::size_t>(replica)];
  if (const auto* const parked = self.parked.load()) return parked;
  return fmt::format("computes, or is in a collective, and has begun {} of them", self.entered.load());
}

void collective_ledger::unpark_all() {
  for (auto& each : std::span{entries_.get(), static_cast<std::size_t>(replicas_)}) each.parked.store(nullptr);
}

}  // namespace troupe
