#include <troupe/actors/closures/worker.hpp>
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/membership/member.hpp>
#include <troupe/actors/values/wire.hpp>
#include <troupe/actors/variables/parameter_server.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/node.hpp>

#include <caf/actor_cast.hpp>
#include <caf/io/middleman.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>

#include <arpa/inet.h>
#include <unistd.h>

namespace troupe {

identity make_identity(const task_id& task) {
  static std::mt19937_64 numbers{std::random_device{}()};
  identity self;
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

std::string listen_address(const std::string& host) {
  guard_basp();
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  const auto is_address = ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
  return is_address || host == "localhost" ? host : "0.0.0.0";
}

namespace {

/// Waits until these actors are destroyed, for a while: an application may hold handles of its own. What an actor sent
/// last lies in the mailbox of CAF's broker, which the actor system closes without emptying it (0.17), and a message
/// keeps its sender; the system would then wait for ever for the thread of a detached one. So the broker gets its time.
void await_destruction(const std::vector<caf::weak_actor_ptr>& actors) {
  constexpr auto limit = std::chrono::milliseconds{500};
  constexpr auto pause = std::chrono::milliseconds{1};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  const auto destroyed = [](const auto& actor) { return actor.lock() == nullptr; };
  while (!std::all_of(actors.begin(), actors.end(), destroyed) && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(pause);
}

bool is_detached(const caf::actor& actor) {
  return caf::actor_cast<caf::abstract_actor*>(actor)->getf(caf::abstract_actor::is_detached_flag);
}

}  // namespace

bool stop_actors(std::vector<caf::actor> actors, duration limit) {
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
  // This mostly runs in destructors, which no cancellation may cut short.
  if (!open->ended.block_for(limit)) return false;
  await_destruction(detached);
  return true;
}

struct node::implementation {
  caf::actor_system& system;
  node_options options;
  std::vector<caf::actor> actors;
  std::uint16_t port = 0;
  member_actor member;
  member_end end;
  completion ended;
};

node::node(caf::actor_system& system, const task_config& config, node_options options)
    : implementation_(new implementation{.system = system, .options = options}) {
  auto& self = *implementation_;
  if (config.task.job != "worker" && config.task.job != "ps")
    throw invalid_argument_error{
        fmt::format("{} is no task for a node: a chief makes a troupe::cluster", to_string(config.task))};
  if (!system.has_middleman())
    throw failed_precondition_error{
        "a node needs CAF's middleman: call load<caf::io::middleman>() in the constructor of the actor system's "
        "config"};
  const auto keep = [&](const auto& handle) {
    self.actors.push_back(caf::actor_cast<caf::actor>(handle));
    return handle;
  };
  member_options door{.self = make_identity(config.task),
                      .adoption_limit = options.adoption_limit,
                      .link_loss_max = options.link_loss_max};
  const auto dialer = keep(system.spawn(network_dialer, tcp_connector::of_process()));
  if (config.task.job == "worker")
    door.worker = keep(system.spawn<caf::detached>(worker, dialer, options.worker));
  else
    door.server = keep(system.spawn(parameter_server, door.self.incarnation, options.server));
  door.on_end = [&self](const member_end& how) {
    self.end = how;
    self.ended.set();
  };
  self.member = keep(system.spawn(troupe::member, std::move(door)));
  const auto& address = config.cluster.address(config.task);
  // Only on the address of the specification, if it is one: a BASP port is open to anyone who reaches it.
  const auto listen = listen_address(address.host);
  const auto published = system.middleman().publish(self.member, address.port, listen.c_str(), true);
  if (!published) {
    self.member = nullptr;
    stop_actors(std::move(self.actors), options.stop_limit);
    throw unavailable_error{fmt::format("{} can't listen on {}: {}; is another process using the port?",
                                        to_string(config.task), to_string(address), system.render(published.error()))};
  }
  self.port = *published;
  // A host that was away has to make itself known in its network, before others reach it: their own search for it is
  // repeated once a second only. What answers at the chief's address is of no interest.
  const auto chief = config.cluster.address({"chief", 0});
  constexpr auto knock_limit = std::chrono::seconds{1};
  tcp_connector::of_process()->connect(chief, knock_limit, [](connector::connection, const status&) {});
}

node::~node() {
  auto& self = *implementation_;
  self.system.middleman().unpublish(self.member, self.port);
  self.member = nullptr;
  stop_actors(std::move(self.actors), self.options.stop_limit);
}

member_end node::wait() {
  implementation_->ended.wait_until(never, "the end of this member");
  return implementation_->end;
}

}  // namespace troupe
