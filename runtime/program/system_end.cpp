#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/cluster/unannounced.hpp>
#include <troupe/runtime/program/system_end.hpp>

#include <caf/actor_registry.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/logger.hpp>
#include <fmt/format.h>

#include <thread>

namespace troupe {

bool end_system(std::unique_ptr<system_config> config, std::unique_ptr<caf::actor_system> system,
                std::size_t own_threads) {
  const auto running = [&] { return system->registry().running(); };
  if (!await_unannounced([&] { return running() == 0 && system->detached_actors() <= own_threads; })) {
    const auto left = running();
    log_warning(left != 0 ? fmt::format("{} actors have not ended: the actor system stays until the process ends", left)
                          : "the program still holds handles of the cluster, which has ended: the actor system stays "
                            "until the process ends");
    static_cast<void>(config.release());
    static_cast<void>(system.release());
    return left == 0;
  }
  // CAF 0.17 can hang here although nothing is left.
  struct progress {
    std::unique_ptr<system_config> config;
    std::unique_ptr<caf::actor_system> system;
    completion ended;
  };
  const auto shared = std::make_shared<progress>();
  shared->config = std::move(config);
  shared->system = std::move(system);
  // The system waits for the end of its logger, which this thread, where it was made, still holds.
  caf::logger::set_current_actor_system(nullptr);
  std::thread ending{[shared] {
    shared->system.reset();
    shared->ended.set();
  }};
  constexpr auto end_limit = std::chrono::seconds{5};
  if (shared->ended.block_for(end_limit)) {
    ending.join();
    return true;
  }
  ending.detach();
  log_warning("the actor system does not end: it stays until the process ends");
  return true;
}

}  // namespace troupe
