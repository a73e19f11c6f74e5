#include <troupe/actors/closures/weak_coordinator.hpp>
#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/closures/outstanding.hpp>

#include <caf/typed_actor.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace troupe {

std::string describe_outstanding(const coordinator_ptr& coordinator, const std::shared_ptr<closure>& only,
                                 duration waited) {
  constexpr duration limit_max = std::chrono::milliseconds{250};
  constexpr duration grace_min = std::chrono::milliseconds{250};
  constexpr duration grace_max = std::chrono::seconds{2};
  const auto handle = coordinator ? coordinator->lock() : closure_owner{};
  if (!handle) return "its cluster has ended";
  const auto limit = std::clamp<duration>(waited, std::chrono::milliseconds{1}, limit_max);
  const auto grace = std::clamp<duration>(waited, grace_min, grace_max);
  std::string told;
  try {
    ask(
        handle->home_system(), handle, limit + grace, "asking why closures have not ended",
        [&](const std::string& text) { told = text; }, activity_atom_v, only, std::int64_t{limit.count()});
  } catch (const cancelled_error&) {
    throw;
  } catch (const error& failed) {
    return fmt::format("why is unknown: {}", failed.what());
  }
  return told;
}

}  // namespace troupe
