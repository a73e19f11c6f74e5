// The world of the tests of remote procedure calls over the layer "caf" in virtual time, one node: door, executors,
// connection and call table; actors/rpc/internal. A dialer of the test stands for the network: it finds a server's
// door, another actor in its place, or nothing.
#pragma once

#include "support/virtual_system.hpp"

#include <troupe/actors/rpc/internal/rpc_channel.hpp>
#include <troupe/actors/rpc/internal/rpc_door.hpp>
#include <troupe/actors/rpc/internal/rpc_executor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::rpc {

using namespace std::chrono_literals;

inline constexpr liveness silence{};
/// From the last ping that was answered until the silence is noticed, at the next look.
inline constexpr duration silence_noticed_max = silence.silence_max + 2 * silence.ping_interval;

// --- the network -----------------------------------------------------------------------------------------------------

/// What lies at the server's address.
struct place {
  door_actor door;
  int dials = 0;
  /// When its client ends the link.
  std::function<void()> hung_up;
};

inline dialer_actor::behavior_type finder(dialer_actor::pointer, std::shared_ptr<place> at) {
  return {[at](dial_atom, const std::string&, std::uint16_t) -> caf::result<door_actor> {
            ++at->dials;
            if (at->door) return at->door;
            return make_error(status{status_code::unavailable, "nobody listens"});
          },
          [at](hang_up_atom, const caf::node_id&) {
            if (at->hung_up) at->hung_up();
          }};
}

/// What a test can do to the door and the client between which it stands.
struct interference {
  door_actor behind;
  connection_actor client;
  /// Of the client at the server; weak, since it holds this.
  caf::actor_addr stand_in = {};
  int admissions = 0;
  /// Not ok: what those who come are told instead.
  status refusal;
  bool server_silent = false;
  bool client_silent = false;
  std::vector<caf::typed_response_promise<std::uint64_t>> unanswered = {};
};

/// Answers a ping unless it is silent.
inline caf::result<std::uint64_t> pong(caf::scheduled_actor* self, interference& with, bool silent,
                                       std::uint64_t number) {
  if (!silent) return number;
  with.unanswered.push_back(self->make_response_promise<caf::typed_response_promise<std::uint64_t>>());
  return with.unanswered.back();
}

/// Stands for the client at the server.
inline connection_actor::behavior_type client_in_between(connection_actor::pointer self,
                                                         std::shared_ptr<interference> with) {
  return {[=](alive_atom, std::uint64_t number) { return pong(self, *with, with->client_silent, number); },
          [](suspect_atom, std::uint64_t, const wire<status>&) {},
          [=](dismiss_atom, std::uint64_t session) { self->send(with->client, dismiss_atom_v, session); },
          [](submit_atom) {}};
}

/// Stands for the server at the client.
inline door_actor::behavior_type door_in_between(door_actor::pointer self, std::shared_ptr<interference> with) {
  using welcome = caf::typed_response_promise<std::vector<executor_actor>, wire<server_welcome>>;
  return {[=](alive_atom, std::uint64_t number) { return pong(self, *with, with->server_silent, number); },
          [](suspect_atom, std::uint64_t, const wire<status>&) {},
          [=](admit_atom, const connection_actor& client, const reply_sink& sink,
              const wire<client_hello>& hello) -> caf::result<std::vector<executor_actor>, wire<server_welcome>> {
            ++with->admissions;
            if (!with->refusal.ok()) return make_error(with->refusal);
            with->client = client;
            auto answer = self->make_response_promise<welcome>();
            if (!with->behind) return make_error(status{status_code::unavailable, "the server is gone"});
            const auto stand_in = self->spawn(client_in_between, with);
            with->stand_in = stand_in.address();
            self->request(with->behind, caf::infinite, admit_atom_v, stand_in, sink, hello)
                .then(
                    [=](std::vector<executor_actor>& executors, wire<server_welcome>& terms) mutable {
                      answer.deliver(std::move(executors), std::move(terms));
                    },
                    [=](caf::error& why) mutable { answer.deliver(std::move(why)); });
            return answer;
          },
          [=](dismiss_atom, std::uint64_t session) { self->send(with->behind, dismiss_atom_v, session); }};
}

// --- servers and clients ---------------------------------------------------------------------------------------------

/// How often methods began, were let go, and were cancelled.
struct counters {
  int began = 0;
  int cancelled = 0;
};

class simulated_server {
 public:
  explicit simulated_server(virtual_system& world, limits bounds = {}, int threads = 1,
                            const std::vector<method>& others = {})
      : world_(world), admitted(std::make_shared<admission>(bounds)) {
    const auto methods = std::make_shared<method_table>();
    methods->add(make_method("hold",
                             [this] {
                               ++seen.began;
                               try {
                                 released->wait_until(never, "the test");
                               } catch (const cancelled_error&) {
                                 ++seen.cancelled;
                                 throw;
                               }
                               return 7;
                             }),
                 10);
    methods->add(make_method("add", [](std::int32_t a, std::int32_t b) { return a + b; }), 10);
    for (const auto& each : others) methods->add(each, 10);
    for (auto i = 0; i < threads; ++i)
      executors.push_back(
          world.spawn(executor, executor_options{.methods = methods, .admitted = admitted, .bounds = bounds}));
    front = world.spawn(door, door_options{.methods = methods->describe(),
                                           .executors = executors,
                                           .admitted = admitted,
                                           .bounds = bounds,
                                           .silence = silence});
  }
  ~simulated_server() { die(); }
  simulated_server(const simulated_server&) = delete;

  void begin_death() {
    if (!front) return;
    caf::anon_send_exit(front, caf::exit_reason::kill);
    for (const auto& each : executors) caf::anon_send_exit(each, caf::exit_reason::kill);
    front = nullptr;
    executors.clear();
  }
  void die() {
    begin_death();
    world_.run();
  }
  void release() { released->set(); }

 private:
  virtual_system& world_;

 public:
  std::shared_ptr<admission> admitted;
  std::shared_ptr<completion> released = std::make_shared<completion>();
  counters seen;
  std::vector<executor_actor> executors;
  door_actor front;
};

/// A call and how often it ended.
struct watched_call {
  call_ptr what;
  std::shared_ptr<int> ends = std::make_shared<int>(0);

  status_code code() const { return what->ended() ? what->end_status().code() : status_code::unknown; }
};

inline watched_call watch(call_ptr what) {
  watched_call result{std::move(what)};
  result.what->on_end([ends = result.ends] { ++*ends; });
  return result;
}

struct simulated_client {
  simulated_client(virtual_system& in, const std::shared_ptr<place>& at, limits bounds = {})
      : world(in),
        dialer(in.spawn(finder, at)),
        to_server(std::make_unique<caf_channel>(in.system(), caf_channel_options{.dialer = dialer,
                                                                                 .host = "server",
                                                                                 .port = 1,
                                                                                 .client_name = "test",
                                                                                 .bounds = bounds,
                                                                                 .silence = silence})) {
    world.run();
  }
  ~simulated_client() {
    to_server.reset();
    world.run();
  }
  simulated_client(const simulated_client&) = delete;

  /// Without anything that follows from it.
  watched_call begin(std::string method, std::vector<datum> arguments = {}, duration limit = 1h) {
    auto result = watch(std::make_shared<call>(std::move(method), 0, std::move(arguments), later(world.now(), limit)));
    to_server->start(result.what);
    return result;
  }
  watched_call start(std::string method, std::vector<datum> arguments = {}, duration limit = 1h) {
    auto result = begin(std::move(method), std::move(arguments), limit);
    world.run();
    return result;
  }
  int sum(std::int32_t a, std::int32_t b) {
    const auto started = start("add", {a, b});
    BOOST_REQUIRE(started.what->ended());
    BOOST_TEST(started.what->end_status().ok(), started.what->end_status().render());
    return started.what->end_status().ok() ? started.what->result().as<int>() : -1;
  }

  virtual_system& world;
  dialer_actor dialer;
  std::unique_ptr<caf_channel> to_server;
};

inline bool ended_with(const watched_call& ended, status_code code, std::string_view text = {}) {
  if (!ended.what->ended()) {
    BOOST_TEST_MESSAGE("the call is open");
    return false;
  }
  const auto said = ended.what->end_status().render();
  BOOST_TEST_MESSAGE(said);
  return *ended.ends == 1 && ended.what->end_status().code() == code && said.find(text) != std::string::npos;
}

struct one_server {
  virtual_system world;
  std::shared_ptr<place> at = std::make_shared<place>();
  std::optional<simulated_server> server;

  simulated_server& serve(limits bounds = {}, int threads = 1) {
    server.emplace(world, bounds, threads);
    at->door = server->front;
    return *server;
  }
  void lose() {
    at->door = nullptr;
    server->die();
  }
};

struct one_of_each : one_server {
  one_of_each() { serve(); }
  simulated_client client{world, at};
  one_of_each& connected() {
    // The client came before its server.
    world.advance(100ms);
    return *this;
  }
};

/// A server behind an actor that can be silent for one side or the other.
struct interfered_server : one_server {
  interfered_server() {
    with->behind = serve().front;
    at->door = between = world.spawn(door_in_between, with);
  }
  ~interfered_server() {
    // Promises and handles keep actors, and these keep what holds the handles.
    with->unanswered.clear();
    with->client = nullptr;
    with->behind = nullptr;
  }
  std::shared_ptr<interference> with = std::make_shared<interference>();
  door_actor between;
};

// --- how calls end ---------------------------------------------------------------------------------------------------

enum class ending { reply, failure, cancel, deadline, loss, close };

/// The code that a call ends with if this is the first of its ends.
inline status_code code_of(ending how) {
  switch (how) {
    case ending::reply:
      return status_code::ok;
    case ending::failure:
      return status_code::data_loss;
    case ending::cancel:
    case ending::close:
      return status_code::cancelled;
    case ending::deadline:
      return status_code::deadline_exceeded;
    case ending::loss:
      return status_code::unavailable;
  }
  return status_code::unknown;
}

}  // namespace troupe::rpc
