// An actor system of the test's own process that is no part of a job: it connects to the job's processes, in the role
// that it states, and asks and tells their actors what it likes.
#pragma once

#include <troupe/actors/values/wire.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/cluster/dialer.hpp>
#include <troupe/runtime/cluster/links.hpp>
#include <troupe/runtime/cluster/reach.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/node_id.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <utility>

namespace troupe::hostile {

/// Ends with its scope.
template <class Handle>
class own_actor {
 public:
  explicit own_actor(Handle handle) : handle_(std::move(handle)) {}
  ~own_actor() { caf::anon_send_exit(handle_, caf::exit_reason::user_shutdown); }
  own_actor(const own_actor&) = delete;
  const Handle& operator*() const { return handle_; }

 private:
  Handle handle_;
};

/// As whom an intruder connects, and the job of the certificate that it has where the processes have any.
struct intruder_role {
  const char* name;
  const char* certificate;
  task_id task;
};
inline std::ostream& operator<<(std::ostream& to, const intruder_role& role) { return to << role.name; }
inline const intruder_role as_no_member{"as no member", "client", {}};
inline const intruder_role as_a_worker{"as a worker", "worker", {"worker", 7}};
inline const intruder_role as_the_chief{"as the chief", "chief", {"chief", 0}};

/// Makes CAF state another node id than the one that it has made for this system.
class stated_node final : public caf::actor_system::module {
 public:
  stated_node(caf::actor_system& system, caf::node_id node) : system_(system), node_(std::move(node)) {}

  void start() override {}
  void stop() override {}
  // After that of CAF's middleman, which makes the id, and before its `start`, which shows it to others.
  void init(caf::actor_system_config&) override { const_cast<caf::node_id&>(system_.node()) = node_; }
  id_t id() const override { return network_manager; }
  void* subtype_ptr() override { return this; }

 private:
  caf::actor_system& system_;
  const caf::node_id node_;
};

class intruder {
 public:
  static constexpr std::chrono::seconds dial_max{20};
  /// How long it waits for an answer that may never come.
  static constexpr std::chrono::seconds answer_max{1};

  /// Without a role: as no member. The process's credentials must fit.
  explicit intruder(door_role as = {}) : as_(std::move(as)), system_(config_) {}
  /// In the name of another process, which has this node id.
  intruder(door_role as, const caf::node_id& name) : as_(std::move(as)), system_(stating(config_, name)) {}

  /// The door of a member or of a server of remote procedures. Anybody may dial it: fails the test if nobody answers.
  template <class Door>
  Door dial(const task_address& where) {
    Door door;
    std::string problem;
    try {
      door = caf::actor_cast<Door>(reach(system_, where, dial_max, "an intruder").handle);
    } catch (const error& failed) {
      problem = failed.what();
    }
    BOOST_TEST_REQUIRE(static_cast<bool>(door), "no door at " << to_string(where) << ": " << problem);
    return door;
  }

  /// Connects to a member in its role, or sets `why` to the reason why it can't.
  member_actor connect(const task_address& where, status& why) {
    const own_actor dialer{system_.spawn(network_dialer, links_of(system_, as_))};
    member_actor found;
    self_->request(*dialer, dial_max, dial_atom_v, where.host, where.port)
        .receive([&](const member_actor& member) { found = member; },
                 [&](const caf::error& failed) { why = status_of(failed, "connecting"); });
    return found;
  }

  /// What it answers; nothing when that is an error, or nothing.
  template <class Answer, class Handle, class... Words>
  std::optional<Answer> ask(const Handle& whom, const Words&... words) {
    std::optional<Answer> answer;
    if (whom)
      self_->request(whom, answer_max, words...)
          .receive([&](const Answer& given) { answer = given; }, [](const caf::error&) {});
    return answer;
  }

  /// Why it does not give such an answer; ok if it does.
  template <class Answer, class Handle, class... Words>
  status error_of(const Handle& whom, const Words&... words) {
    status why;
    self_->request(whom, answer_max, words...)
        .receive([](const Answer&) {}, [&](const caf::error& failed) { why = status_of(failed, "a request"); });
    return why;
  }

  /// Says it, and waits until that has arrived: a link keeps the order, and the door answers.
  template <class Handle, class... Words>
  void tell(const member_actor& door, const Handle& whom, const Words&... words) {
    if (!whom) return;
    self_->send(whom, words...);
    ask<std::uint64_t>(door, alive_atom_v, std::uint64_t{1});
  }

  /// As anybody may end an actor that he has a handle of.
  template <class Handle>
  void end(const Handle& whom, caf::exit_reason why) {
    if (whom) self_->send_exit(whom, why);
  }

  /// Why a member does not end itself when this process tells it to.
  status error_of_retiring(const member_actor& door) {
    return error_of<caf::ok_atom>(door, retire_atom_v, wire<status>{{status_code::cancelled, "an intruder says so"}});
  }

  caf::actor_system& system() { return system_; }

 private:
  static caf::actor_system_config& stating(system_config& config, const caf::node_id& name) {
    config->module_factories.emplace_back([name](caf::actor_system& system) -> caf::actor_system::module* {
      return new stated_node{system, name};
    });
    return config;
  }

  const door_role as_;
  system_config config_{true};
  caf::actor_system system_;
  caf::scoped_actor self_{system_};
};

}  // namespace troupe::hostile
