#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/logger.hpp>
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <vector>

namespace troupe::rpc {

namespace {

struct owned_system {
  explicit owned_system(bool networked) : config(networked) {}

  system_config config;
  caf::actor_system system{config};
};

/// Whether this thread is one of the system's own. CAF's threads remember their system; others do so only within a
/// system_scope.
bool runs_here(caf::actor_system& system) { return caf::logger::current_logger() == &system.logger(); }

std::shared_ptr<owned_system> make_system(bool networked) {
  return {new owned_system(networked), [](owned_system* last) {
            std::unique_ptr<owned_system> ending{last};
            if (runs_here(ending->system)) reaper::instance().take(std::shared_ptr<owned_system>{std::move(ending)});
          }};
}

struct shared_systems {
  std::mutex mutex;
  std::array<std::weak_ptr<owned_system>, 2> by_kind;
  /// Their threads go on using them.
  std::vector<std::shared_ptr<owned_system>> abandoned;
};

shared_systems& shared() {
  // Never destroyed, since what was abandoned can't end.
  static auto& instance = *new shared_systems;
  return instance;
}

}  // namespace

void check_networked(const caf::actor_system& system, const char* what) {
  if (!system.has_middleman())
    throw failed_precondition_error{
        fmt::format("an RPC {} needs CAF's middleman: call load<caf::io::middleman>() in the constructor of the actor "
                    "system's config",
                    what)};
}

std::shared_ptr<caf::actor_system> shared_system(bool networked) {
  // In a simulation it is the process's own.
  if (auto* const here = simulated_system()) return {std::shared_ptr<void>{}, here};
  const system_scope scope;
  auto& all = shared();
  const std::scoped_lock lock{all.mutex};
  auto& slot = all.by_kind[networked ? 1 : 0];
  auto owner = slot.lock();
  if (!owner) slot = owner = make_system(networked);
  return {owner, &owner->system};
}

void abandon(const caf::actor_system& system) {
  auto& all = shared();
  const std::scoped_lock lock{all.mutex};
  for (auto& slot : all.by_kind) {
    const auto owner = slot.lock();
    if (!owner || &owner->system != &system) continue;
    all.abandoned.push_back(owner);
    slot.reset();
  }
}

}  // namespace troupe::rpc
