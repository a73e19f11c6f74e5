#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/rpc/rpc_system.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/logger.hpp>
#include <fmt/format.h>

#include <array>
#include <mutex>

namespace troupe::rpc {

namespace {

struct owned_system {
  explicit owned_system(bool networked) : config(std::make_unique<system_config>(networked)) {
    system = std::make_unique<caf::actor_system>(*config);
  }
  ~owned_system() {
    if (!abandoned) return;
    // Its threads go on using both.
    static_cast<void>(system.release());
    static_cast<void>(config.release());
  }
  owned_system(const owned_system&) = delete;

  std::unique_ptr<system_config> config;
  std::unique_ptr<caf::actor_system> system;
  bool abandoned = false;
};

/// Whether this thread is one of the system's own. CAF's threads remember their system; others do so only within a
/// system_scope.
bool runs_here(caf::actor_system& system) { return caf::logger::current_logger() == &system.logger(); }

std::shared_ptr<owned_system> make_system(bool networked) {
  return {new owned_system(networked), [](owned_system* last) {
            std::unique_ptr<owned_system> ending{last};
            if (runs_here(*ending->system)) reaper::instance().take(std::shared_ptr<owned_system>{std::move(ending)});
          }};
}

struct shared_systems {
  std::mutex mutex;
  std::array<std::weak_ptr<owned_system>, 2> by_kind;
};

shared_systems& shared() {
  static shared_systems instance;
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
  const system_scope scope;
  auto& all = shared();
  const std::scoped_lock lock{all.mutex};
  auto& slot = all.by_kind[networked ? 1 : 0];
  auto owner = slot.lock();
  if (!owner) slot = owner = make_system(networked);
  return {owner, owner->system.get()};
}

void abandon(const caf::actor_system& system) {
  auto& all = shared();
  const std::scoped_lock lock{all.mutex};
  for (auto& slot : all.by_kind) {
    const auto owner = slot.lock();
    if (!owner || owner->system.get() != &system) continue;
    owner->abandoned = true;
    slot.reset();
  }
}

}  // namespace troupe::rpc
