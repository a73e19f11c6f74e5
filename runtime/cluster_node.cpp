#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/offers/member.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/member_actors.hpp>
#include <troupe/runtime/cluster/publish.hpp>
#include <troupe/runtime/cluster/system_needs.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/cluster/unannounced.hpp>
#include <troupe/runtime/cluster_node.hpp>

#include <caf/actor_cast.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>

#include <unistd.h>

namespace troupe {

member_identity make_identity(const task_id& task) {
  static std::mt19937_64 numbers{std::random_device{}()};
  member_identity self;
  self.task = task;
  // Zero means "not known yet" in a view.
  do self.incarnation = numbers() >> 1;
  while (self.incarnation == 0);
  self.build_id = program_build_id();
  self.functions = function_registry::instance().names();
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  self.host = host.data();
  self.process = ::getpid();
  return self;
}

namespace {

/// Waits until these actors are destroyed, for a while: an application may hold handles of its own. What an actor sent
/// last lies in the mailbox of CAF's broker, which the actor system closes without emptying it (0.17), and a message
/// keeps its sender; the system would then wait for ever for the thread of a detached one. So the broker gets its time.
void await_destruction(const std::vector<caf::weak_actor_ptr>& actors) {
  const auto destroyed = [](const auto& actor) { return actor.lock() == nullptr; };
  await_unannounced([&] { return std::all_of(actors.begin(), actors.end(), destroyed); });
}

bool is_detached(const caf::actor& actor) {
  return caf::actor_cast<caf::abstract_actor*>(actor)->getf(caf::abstract_actor::is_detached_flag);
}

}  // namespace

bool stop_actors(std::vector<caf::actor> actors, duration limit) {
  const auto in_simulation = std::any_of(actors.begin(), actors.end(), [](const caf::actor& each) {
    return each && !has_threads(caf::actor_cast<caf::abstract_actor*>(each)->home_system());
  });
  struct countdown {
    explicit countdown(std::size_t count) : left(count) {}
    std::atomic<std::size_t> left;
    completion ended;
    void one() {
      if (--left == 0) ended.set();
    }
  };
  // One more, so that it ends even with nobody to wait for.
  const auto open = std::make_shared<countdown>(actors.size() + 1);
  std::vector<caf::weak_actor_ptr> detached;
  for (const auto& actor : actors) {
    if (!actor) {
      open->one();
      continue;
    }
    if (is_detached(actor)) detached.push_back(caf::actor_cast<caf::weak_actor_ptr>(actor));
    caf::actor_cast<caf::abstract_actor*>(actor)->attach_functor([open] { open->one(); });
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }
  actors.clear();
  open->one();
  if (in_simulation) return true;
  // This mostly runs in destructors, which no cancellation may cut short.
  if (!open->ended.block_for(limit)) return false;
  await_destruction(detached);
  return true;
}

struct cluster_node::implementation {
  caf::actor_system& system;
  node_options options;
  member_actors actors;
  caf::actor dialer;
  std::uint16_t port = 0;
  member_end end;
  completion ended;
};

cluster_node::cluster_node(caf::actor_system& system, const task_config& config, node_options options)
    : implementation_(new implementation{.system = system, .options = options}) {
  auto& self = *implementation_;
  if (config.task.job == "chief")
    throw invalid_argument_error{
        fmt::format("{} is no task for a node: a chief makes a troupe::cluster", to_string(config.task))};
  require_network(system, "a node");
  auto who = make_identity(config.task);
  const auto dialer = system.spawn(network_dialer, links_of(system, {who.task, who.incarnation}));
  self.dialer = caf::actor_cast<caf::actor>(dialer);
  try {
    self.actors = member_actors::spawn(system,
                                       {.who = who,
                                        .dialer = dialer,
                                        .on_end =
                                            [&self](const member_end& how) {
                                              self.end = how;
                                              self.ended.set();
                                            }},
                                       options);
  } catch (...) {
    stop_actors({std::move(self.dialer)}, options.stop_limit);
    throw;
  }
  member_context::enter(self.actors.application);
  const auto& address = config.cluster.address(config.task);
  // Only on the address of the specification, if it is one: a BASP port is open to anyone who reaches it.
  try {
    self.port = publish(system, self.actors.door, address, to_string(who.task), {who.task, who.incarnation});
  } catch (...) {
    stop();
    throw;
  }
  // A host that was away has to make itself known in its network, before others reach it: their own search for it is
  // repeated once a second only. What answers at the chief's address is of no interest.
  const auto chief = config.cluster.address({"chief", 0});
  constexpr auto knock_limit = std::chrono::seconds{1};
  tcp_connector::of_process().connect(chief, knock_limit, {}, [](const channel&, const door_hello&, const status&) {});
}

cluster_node::~cluster_node() {
  auto& self = *implementation_;
  unpublish(self.system, self.actors.door, self.port);
  stop();
}

void cluster_node::stop() {
  auto& self = *implementation_;
  stop_application(*self.actors.application, self.options.stop_limit);
  self.actors.door = nullptr;
  self.actors.all.push_back(std::move(self.dialer));
  stop_actors(std::move(self.actors.all), self.options.stop_limit);
  self.actors.application->leave_system();
}

void cluster_node::leave(const status& why) {
  caf::anon_send(implementation_->actors.door, leave_atom_v, wire<status>{why});
}

member cluster_node::here() const { return member{implementation_->actors.application}; }

const member_actor& cluster_node::door() const { return implementation_->actors.door; }

bool cluster_node::is_adopted() const { return implementation_->actors.application->book->knows_jobs(); }

std::optional<member_end> cluster_node::wait_for(duration limit) {
  const awaiting scope{"the end of this member"};
  if (!implementation_->ended.wait_until(later(current_time(), limit))) return std::nullopt;
  return implementation_->end;
}

member_end cluster_node::wait() {
  implementation_->ended.wait_until(never, "the end of this member");
  return implementation_->end;
}

}  // namespace troupe
