// Remote procedure calls over the layer "caf" in virtual time, one node: door, executors, connection and call table;
// actors/rpc_*.hpp. A dialer of the test stands for the network: it finds a server's door, another actor in its place,
// or nothing.
#include "support/simulated_world.hpp"

#include <troupe/actors/rpc/internal/rpc_channel.hpp>
#include <troupe/actors/rpc/internal/rpc_door.hpp>
#include <troupe/actors/rpc/internal/rpc_executor.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_companion.hpp>
#include <caf/typed_response_promise.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(rpc_suite)

namespace {

using namespace std::chrono_literals;

constexpr liveness silence{};
/// From the last ping that was answered until the silence is noticed, at the next look.
constexpr duration silence_noticed_max = silence.silence_max + 2 * silence.ping_interval;

// --- the network -----------------------------------------------------------------------------------------------------

/// What lies at the server's address.
struct place {
  door_actor door;
  int dials = 0;
};

dialer_actor::behavior_type finder(dialer_actor::pointer, std::shared_ptr<place> at) {
  return {[at](dial_atom, const std::string&, std::uint16_t) -> caf::result<door_actor> {
    ++at->dials;
    if (at->door) return at->door;
    return make_error(status{status_code::unavailable, "nobody listens"});
  }};
}

/// What a test can do to the door and the client between which it stands.
struct interference {
  door_actor behind;
  connection_actor client;
  int admissions = 0;
  /// Not ok: what those who come are told instead.
  status refusal;
  bool server_silent = false;
  bool client_silent = false;
  std::vector<caf::typed_response_promise<std::uint64_t>> unanswered = {};
};

/// Answers a ping unless it is silent.
caf::result<std::uint64_t> pong(caf::scheduled_actor* self, interference& with, bool silent, std::uint64_t number) {
  if (!silent) return number;
  with.unanswered.push_back(self->make_response_promise<caf::typed_response_promise<std::uint64_t>>());
  return with.unanswered.back();
}

/// Stands for the client at the server.
connection_actor::behavior_type client_in_between(connection_actor::pointer self, std::shared_ptr<interference> with) {
  return {[=](alive_atom, std::uint64_t number) { return pong(self, *with, with->client_silent, number); },
          [](suspect_atom, std::uint64_t, const wire<status>&) {},
          [=](dismiss_atom, std::uint64_t session) { self->send(with->client, dismiss_atom_v, session); },
          [](submit_atom) {}};
}

/// Stands for the server at the client.
door_actor::behavior_type door_in_between(door_actor::pointer self, std::shared_ptr<interference> with) {
  using welcome = caf::typed_response_promise<std::vector<executor_actor>, wire<server_welcome>>;
  return {[=](alive_atom, std::uint64_t number) { return pong(self, *with, with->server_silent, number); },
          [](suspect_atom, std::uint64_t, const wire<status>&) {},
          [=](admit_atom, const connection_actor& client, const reply_sink& sink,
              const wire<client_hello>& hello) -> caf::result<std::vector<executor_actor>, wire<server_welcome>> {
            ++with->admissions;
            if (!with->refusal.ok()) return make_error(with->refusal);
            with->client = client;
            auto answer = self->make_response_promise<welcome>();
            const auto stand_in = self->spawn(client_in_between, with);
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
  explicit simulated_server(simulated_world& world, limits bounds = {}, int threads = 1)
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
    for (auto i = 0; i < threads; ++i)
      executors.push_back(
          world.spawn(executor, executor_options{.methods = methods, .admitted = admitted, .bounds = bounds}));
    front = world.spawn(
        door,
        door_options{.methods = methods->describe(), .executors = executors, .bounds = bounds, .silence = silence});
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
  simulated_world& world_;

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

watched_call watch(call_ptr what) {
  watched_call result{std::move(what)};
  result.what->on_end([ends = result.ends] { ++*ends; });
  return result;
}

struct simulated_client {
  simulated_client(simulated_world& in, const std::shared_ptr<place>& at, limits bounds = {})
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

  simulated_world& world;
  dialer_actor dialer;
  std::unique_ptr<caf_channel> to_server;
};

bool ended_with(const watched_call& ended, status_code code, std::string_view text = {}) {
  if (!ended.what->ended()) {
    BOOST_TEST_MESSAGE("the call is open");
    return false;
  }
  const auto said = ended.what->end_status().render();
  BOOST_TEST_MESSAGE(said);
  return *ended.ends == 1 && ended.what->end_status().code() == code && said.find(text) != std::string::npos;
}

struct one_server {
  simulated_world world;
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

// --- deadlines -------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_call_ends_at_its_deadline_and_not_a_nanosecond_before, one_of_each) {  // RPC-1, RPC-3
  connected();
  const auto held = client.start("hold", {}, 10s);
  BOOST_TEST(server->seen.began == 1);
  world.advance(10s - 1ns);
  BOOST_TEST(!held.what->ended());
  BOOST_TEST(server->seen.cancelled == 0);
  world.advance(1ns);
  BOOST_TEST(ended_with(held, status_code::deadline_exceeded, "hold"));
  BOOST_TEST(server->seen.cancelled == 1);
  BOOST_TEST(server->admitted->calls() == 0u);
}

BOOST_FIXTURE_TEST_CASE(each_of_many_calls_ends_at_its_own_deadline, one_of_each) {
  connected();
  std::vector<watched_call> open;
  for (const auto seconds : {5, 1, 3, 2, 4, 3}) open.push_back(client.start("hold", {}, seconds * 1s));
  const auto count = [&] {
    return std::count_if(open.begin(), open.end(), [](const auto& each) { return each.what->ended(); });
  };
  for (const auto expected : {1, 2, 4, 5, 6}) {
    world.advance(1s - 1ns);
    const auto before = count();
    world.advance(1ns);
    BOOST_TEST(count() == expected);
    BOOST_TEST(before < expected);
  }
  for (const auto& each : open) BOOST_TEST(ended_with(each, status_code::deadline_exceeded));
}

BOOST_FIXTURE_TEST_CASE(a_call_that_finds_no_server_ends_at_its_deadline_and_says_so, one_server) {
  simulated_client client{world, at};
  const auto waiting = client.start("add", {1, 2}, 5s);
  world.advance(5s - 1ns);
  BOOST_TEST(!waiting.what->ended());
  world.advance(1ns);
  BOOST_TEST(ended_with(waiting, status_code::deadline_exceeded, "could not be reached"));
  BOOST_TEST(at->dials > 50);
}

BOOST_FIXTURE_TEST_CASE(a_call_without_a_deadline_waits_for_a_year, one_of_each) {
  connected();
  const auto held = client.start("hold", {}, no_timeout);
  world.advance(24h);
  BOOST_TEST(!held.what->ended());
  server->release();
  world.run();
  BOOST_TEST(ended_with(held, status_code::ok));
}

// --- servers come and go ---------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(calls_wait_while_there_is_no_server_and_are_sent_when_it_comes, one_server) {
  simulated_client client{world, at};
  std::vector<watched_call> waiting;
  for (auto i = 0; i < 300; ++i) waiting.push_back(client.start("add", {i, 1}));
  world.advance(1min);
  BOOST_TEST(std::none_of(waiting.begin(), waiting.end(), [](const auto& each) { return each.what->ended(); }));
  serve();
  world.advance(100ms);
  for (auto i = 0; i < 300; ++i) {
    const auto& each = waiting[static_cast<std::size_t>(i)];
    BOOST_TEST_REQUIRE(ended_with(each, status_code::ok));
    BOOST_TEST(each.what->result().as<int>() == i + 1);
  }
  BOOST_TEST(client.to_server->list(time_point{}).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_loss_of_the_server_ends_what_was_sent_and_not_what_was_not, one_of_each) {
  connected();
  const auto sent = client.start("hold");
  BOOST_TEST(server->seen.began == 1);
  lose();
  BOOST_TEST(ended_with(sent, status_code::unavailable, "was lost while it had the call"));
  const auto unsent = client.start("add", {1, 2});
  world.advance(10s);
  BOOST_TEST(!unsent.what->ended());
  serve();
  world.advance(100ms);
  BOOST_TEST(ended_with(unsent, status_code::ok));
  BOOST_TEST(client.sum(2, 3) == 5);
}

BOOST_FIXTURE_TEST_CASE(a_server_that_is_lost_again_and_again_ends_each_call_once, one_of_each) {
  for (auto round = 0; round < 50; ++round) {
    connected();
    const auto sent = client.start("hold");
    BOOST_TEST_REQUIRE(server->seen.began == 1);
    const auto last = client.begin("hold");  // on its way
    lose();
    BOOST_TEST_REQUIRE(ended_with(sent, status_code::unavailable));
    BOOST_TEST_REQUIRE(ended_with(last, status_code::unavailable));
    serve();
  }
}

BOOST_FIXTURE_TEST_CASE(a_silent_server_ends_its_calls_with_unavailable_and_is_found_again, interfered_server) {
  simulated_client client{world, at};
  const auto held = client.start("hold", {}, no_timeout);
  BOOST_TEST(server->seen.began == 1);
  world.advance(1h);
  BOOST_TEST(!held.what->ended());
  with->server_silent = true;
  world.advance(silence.silence_max - silence.ping_interval);
  BOOST_TEST(!held.what->ended());
  world.advance(silence_noticed_max - (silence.silence_max - silence.ping_interval));
  BOOST_TEST(ended_with(held, status_code::unavailable, "nothing was heard of it for 4000 ms"));
  with->server_silent = false;
  world.advance(1s);
  BOOST_TEST(client.sum(1, 2) == 3);
}

BOOST_FIXTURE_TEST_CASE(a_silent_client_is_dismissed_its_methods_are_cancelled_and_it_comes_again, interfered_server) {
  simulated_client client{world, at};
  const auto held = client.start("hold", {}, no_timeout);
  world.advance(1h);
  BOOST_TEST(server->seen.cancelled == 0);
  with->client_silent = true;
  world.advance(silence_noticed_max);
  BOOST_TEST(server->seen.cancelled == 1);
  BOOST_TEST(server->admitted->calls() == 0u);
  BOOST_TEST(ended_with(held, status_code::unavailable, "it has ended this client's session"));
  with->client_silent = false;
  world.advance(1s);
  BOOST_TEST(client.sum(1, 2) == 3);
  BOOST_TEST(with->admissions == 2);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_closes_takes_its_methods_along, one_of_each) {
  connected();
  const auto held = client.start("hold");
  client.to_server->close();
  BOOST_TEST(ended_with(held, status_code::cancelled, "the client was closed"));
  world.run();
  BOOST_TEST(server->seen.cancelled == 1);
  BOOST_TEST(ended_with(client.start("add", {1, 2}), status_code::cancelled, "the client was closed"));
  BOOST_CHECK_THROW(client.to_server->list(never), cancelled_error);
}

// --- admission -------------------------------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(a_refusal_ends_the_calls_that_wait_and_the_client_goes_on_trying, interfered_server) {
  for (const auto code : {status_code::failed_precondition, status_code::resource_exhausted}) {
    with->refusal = {code, "not you"};
    simulated_client client{world, at};
    BOOST_CHECK_EXCEPTION(client.to_server->list(time_point{}), error,
                          [&](const error& refused) { return refused.code() == code; });
    const auto waiting = client.start("add", {1, 2});
    world.advance(2s);
    BOOST_TEST(ended_with(waiting, code, "not you"));
    const auto tried = with->admissions;
    world.advance(10s);
    BOOST_TEST(with->admissions - tried >= 8);
    BOOST_TEST(with->admissions - tried <= 12);
    with->refusal = {};
    world.advance(2s);
    BOOST_TEST(client.sum(1, 2) == 3);
    BOOST_TEST(client.to_server->list(time_point{}).size() == 2u);
  }
}

BOOST_FIXTURE_TEST_CASE(a_client_of_another_version_is_refused_with_both_versions, one_server) {
  serve();
  status refused;
  const auto visitor = [&](caf::event_based_actor* self, door_actor to, connection_actor me, reply_sink sink) {
    self->request(to, caf::infinite, admit_atom_v, me, sink,
                  wire<client_hello>{{.version = protocol_version + 1, .name = "newer"}})
        .then([](std::vector<executor_actor>&, wire<server_welcome>&) {},
              [&](caf::error& why) { refused = status_of(why); });
  };
  const auto nobody = world.spawn(client_in_between, std::make_shared<interference>());
  const auto sink = world.spawn([](reply_sink::pointer) -> reply_sink::behavior_type {
    return {[](outcome_atom, std::uint64_t, const wire<call_replies>&) {}};
  });
  world.spawn(visitor, server->front, nobody, sink);
  world.run();
  BOOST_TEST((refused.code() == status_code::failed_precondition));
  BOOST_TEST(
      refused.message().find(fmt::format("\"newer\" speaks version {}", protocol_version + 1)) != std::string::npos,
      refused.message());
}

BOOST_FIXTURE_TEST_CASE(a_client_beyond_the_limit_is_let_in_when_another_one_goes, one_server) {
  serve({.clients_max = 1});
  std::optional<simulated_client> first;
  first.emplace(world, at);
  BOOST_TEST(first->sum(1, 2) == 3);
  simulated_client second{world, at};
  const auto waiting = second.start("add", {1, 2});
  world.advance(2s);
  BOOST_TEST(ended_with(waiting, status_code::resource_exhausted, "its limit (clients_max)"));
  BOOST_TEST(first->sum(2, 2) == 4);
  first.reset();
  world.advance(2s);
  BOOST_TEST(second.sum(2, 3) == 5);
}

BOOST_FIXTURE_TEST_CASE(a_client_whose_welcome_is_lost_takes_one_place_only, one_server) {
  serve({.clients_max = 1});
  // The server admits, the client does not hear of it and asks again: the same client, one place.
  auto late = std::make_shared<int>(2);
  at->door = world.spawn(
      [](door_actor::pointer self, door_actor behind, std::shared_ptr<int> lost) -> door_actor::behavior_type {
        using welcome = caf::typed_response_promise<std::vector<executor_actor>, wire<server_welcome>>;
        return {[](alive_atom, std::uint64_t number) { return number; },
                [](suspect_atom, std::uint64_t, const wire<status>&) {},
                [=](admit_atom, const connection_actor& client, const reply_sink& sink,
                    const wire<client_hello>& hello) -> caf::result<std::vector<executor_actor>, wire<server_welcome>> {
                  auto answer = self->make_response_promise<welcome>();
                  self->request(behind, caf::infinite, admit_atom_v, client, sink, hello)
                      .then(
                          [=](std::vector<executor_actor>& executors, wire<server_welcome>& terms) mutable {
                            if ((*lost)-- <= 0) answer.deliver(std::move(executors), std::move(terms));
                          },
                          [=](caf::error& why) mutable { answer.deliver(std::move(why)); });
                  return answer;
                },
                [=](dismiss_atom, std::uint64_t session) { self->send(behind, dismiss_atom_v, session); }};
      },
      server->front, late);
  simulated_client client{world, at};
  const auto waiting = client.start("add", {1, 2});
  world.advance(10s);
  BOOST_TEST(ended_with(waiting, status_code::ok));
}

// --- the table: every order of ends ----------------------------------------------------------------------------------

/// What an executor of the test has heard.
struct heard_orders {
  int messages = 0;
  std::vector<std::uint64_t> calls;
  std::vector<std::uint64_t> cancelled;
};

executor_actor::behavior_type listening_executor(executor_actor::pointer, std::shared_ptr<heard_orders> heard) {
  return {[=](run_atom, std::uint64_t, std::uint64_t, wire<call_orders>& orders) {
            ++heard->messages;
            BOOST_REQUIRE(orders.open().ok());
            for (const auto& each : orders->calls) heard->calls.push_back(each.id);
          },
          [=](cancel_atom, wire<call_cancellations>& unwanted) {
            BOOST_REQUIRE(unwanted.open().ok());
            for (const auto id : unwanted->calls) heard->cancelled.push_back(id);
          },
          [](run_atom, const incoming_call_ptr&) {},
          [](cancel_atom, std::uint64_t, std::uint64_t) {},
          [](dismiss_atom, std::uint64_t) {},
          [](retire_atom, const wire<status>&) { return caf::ok_atom_v; }};
}

struct one_table {
  explicit one_table(limits bounds = {})
      : calls({.bounds = bounds,
               .server = "the server",
               .now = [this] { return world.now(); },
               .wake = [this] { ++wakes; },
               .inbox = inbox}) {}
  ~one_table() { calls.close({status_code::cancelled, "the end"}); }

  void connect(int threads = 1) {
    std::vector<executor_actor> executors;
    for (auto i = 0; i < threads; ++i) {
      heard.push_back(std::make_shared<heard_orders>());
      executors.push_back(world.spawn(listening_executor, heard.back()));
    }
    calls.connected(executors, {.session = 5, .calls_per_client_max = 10'000, .request_bytes_max = 1 << 20});
    world.run();
  }
  watched_call start(duration limit = 10s) {
    auto result = watch(std::make_shared<call>("f", 0, std::vector<datum>{}, later(world.now(), limit)));
    calls.start(result.what);
    return result;
  }
  void reply(std::uint64_t id) { calls.take_replies({5, {{id, {}, datum{7}}}}); }

  simulated_world world;
  int wakes = 0;
  std::vector<std::shared_ptr<heard_orders>> heard;
  reply_sink inbox = world.spawn([](reply_sink::pointer) -> reply_sink::behavior_type {
    return {[](outcome_atom, std::uint64_t, const wire<call_replies>&) {}};
  });
  call_table calls;
};

enum class ending { reply, failure, cancel, deadline, loss, close };

/// The code that a call ends with if this is the first of its ends.
status_code code_of(ending how) {
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

void end_in_table(one_table& table, const watched_call& what, ending how) {
  switch (how) {
    case ending::reply:
      return table.reply(what.what->id);
    case ending::failure:
      return table.calls.fail(what.what->id, {status_code::data_loss, "damaged"});
    case ending::cancel:
      return table.calls.cancel(what.what);
    case ending::deadline:
      return static_cast<void>(table.calls.expire(what.what->deadline));
    case ending::loss:
      return table.calls.disconnected({status_code::unavailable, "lost"});
    case ending::close:
      return table.calls.close({status_code::cancelled, "closed"});
  }
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_the_first_one_ends_a_call_that_was_sent) {  // RPC-1
  std::vector<ending> order{ending::reply,    ending::failure, ending::cancel,
                            ending::deadline, ending::loss,    ending::close};
  auto orders = 0;
  do {
    one_table table;
    table.connect();
    const auto sent = table.start();
    const auto beside = table.start(1h);
    for (const auto how : order) {
      end_in_table(table, sent, how);
      BOOST_TEST_REQUIRE(*sent.ends == 1);
      BOOST_TEST_REQUIRE((sent.code() == code_of(order.front())));
    }
    BOOST_TEST_REQUIRE(*beside.ends == 1);
    BOOST_TEST_REQUIRE(table.calls.size() == 0u);
    table.world.run();
    const auto told = order.front() == ending::cancel ? 1u : 0u;
    BOOST_TEST_REQUIRE(table.heard[0]->cancelled.size() == told);
    ++orders;
  } while (std::next_permutation(order.begin(), order.end()));
  BOOST_TEST(orders == 720);
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_a_call_that_was_not_sent_ends_once_and_outlives_the_loss) {  // RPC-1
  std::vector<ending> order{ending::cancel, ending::deadline, ending::loss, ending::close};
  do {
    one_table table;
    const auto unsent = table.start();
    auto first = order.front() == ending::loss ? order[1] : order.front();
    for (std::size_t i = 0; i < order.size(); ++i) {
      end_in_table(table, unsent, order[i]);
      BOOST_TEST_REQUIRE(*unsent.ends == (i == 0 && order[0] == ending::loss ? 0 : 1));
    }
    BOOST_TEST_REQUIRE((unsent.code() == code_of(first)));
    table.connect();
    BOOST_TEST_REQUIRE(table.heard[0]->calls.empty());
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_FIXTURE_TEST_CASE(answers_to_calls_that_nobody_made_are_ignored, one_table) {
  connect();
  const auto open = start();
  calls.take_replies({5, {{0, {}, {}}, {99, {}, datum{1}}, {~std::uint64_t{0}, {status_code::unknown, "x"}, {}}}});
  calls.fail(99, {status_code::data_loss, "damaged"});
  const auto stranger = watch(std::make_shared<call>("f", 0, std::vector<datum>{}, never));
  stranger.what->id = open.what->id;
  calls.cancel(stranger.what);
  BOOST_TEST(!open.what->ended());
  reply(open.what->id);
  reply(open.what->id);
  BOOST_TEST(ended_with(open, status_code::ok));
  BOOST_TEST(open.what->result().as<int>() == 7);
}

BOOST_FIXTURE_TEST_CASE(a_thousand_calls_leave_in_a_few_messages_and_each_once, one_table) {
  connect();
  std::vector<watched_call> open;
  for (auto i = 0; i < 1000; ++i) open.push_back(start());
  calls.flush();
  world.run();
  BOOST_TEST(heard[0]->calls.size() == 1000u);
  BOOST_TEST(heard[0]->messages <= 4 + 8);
  // Asked once for the batch, and once for the first deadline.
  BOOST_TEST(wakes <= 3);
  auto ids = heard[0]->calls;
  std::sort(ids.begin(), ids.end());
  BOOST_TEST((std::adjacent_find(ids.begin(), ids.end()) == ids.end()));
}

BOOST_FIXTURE_TEST_CASE(calls_that_are_over_before_they_are_sent_are_not_sent, one_table) {
  std::vector<watched_call> open;
  for (auto i = 0; i < 100; ++i) open.push_back(start());
  for (auto i = 0; i < 100; i += 2) calls.cancel(open[static_cast<std::size_t>(i)].what);
  connect();
  BOOST_TEST(heard[0]->calls.size() == 50u);
  BOOST_TEST(heard[0]->cancelled.empty());
}

BOOST_FIXTURE_TEST_CASE(calls_go_to_all_executors_and_their_cancellations_after_them, one_table) {
  connect(2);
  std::vector<watched_call> open;
  for (auto i = 0; i < 100; ++i) open.push_back(start());
  calls.flush();
  world.run();
  BOOST_TEST(heard[0]->calls.size() == 50u);
  BOOST_TEST(heard[1]->calls.size() == 50u);
  for (const auto& each : open) calls.cancel(each.what);
  world.run();
  for (const auto& each : heard) {
    std::sort(each->calls.begin(), each->calls.end());
    std::sort(each->cancelled.begin(), each->cancelled.end());
    BOOST_TEST((each->calls == each->cancelled));
  }
}

BOOST_AUTO_TEST_CASE(a_client_refuses_calls_beyond_its_own_limit_or_its_servers) {
  one_table table{{.calls_per_client_max = 3}};
  std::vector<watched_call> open;
  for (auto i = 0; i < 3; ++i) open.push_back(table.start());
  BOOST_TEST(ended_with(table.start(), status_code::resource_exhausted, "calls_per_client_max"));
  table.calls.cancel(open[0].what);
  const auto again = table.start();
  BOOST_TEST(!again.what->ended());
  table.calls.connected({}, {.session = 5, .calls_per_client_max = 1, .request_bytes_max = 1 << 20});
  table.calls.cancel(again.what);
  BOOST_TEST(ended_with(table.start(), status_code::resource_exhausted, "calls_per_client_max"));
}

// --- the whole way: every order of ends ------------------------------------------------------------------------------

void happens(one_of_each& all, const watched_call& what, ending how) {
  switch (how) {
    case ending::reply:
    case ending::failure:
      return all.server->release();
    case ending::cancel:
      return all.client.to_server->cancel(what.what);
    case ending::deadline:
      all.world.clock().advance_time(10s);
      return;
    case ending::loss:
      all.at->door = nullptr;
      return all.server->begin_death();
    case ending::close:
      return all.client.to_server->close();
  }
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_a_running_call_ends_once_and_its_method_too) {  // RPC-1, RPC-2
  std::vector<ending> order{ending::reply, ending::cancel, ending::deadline, ending::loss, ending::close};
  do {
    one_of_each all;
    all.connected();
    const auto held = all.client.start("hold", {}, 10s);
    BOOST_TEST_REQUIRE(all.server->seen.began == 1);
    for (const auto how : order) {
      happens(all, held, how);
      all.world.run();
      BOOST_TEST_REQUIRE(*held.ends == 1);
    }
    BOOST_TEST_REQUIRE((held.code() == code_of(order.front())), held.what->end_status().render());
    BOOST_TEST_REQUIRE(all.server->seen.cancelled == (order.front() == ending::reply ? 0 : 1));
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(ends_at_the_same_moment_end_a_call_once) {  // RPC-1, RPC-2
  std::vector<ending> order{ending::reply, ending::cancel, ending::deadline, ending::loss, ending::close};
  do {
    // The first so many of them happen before anybody has heard of any.
    for (std::size_t count = 1; count <= order.size(); ++count) {
      one_of_each all;
      all.connected();
      const auto held = all.client.start("hold", {}, 10s);
      for (std::size_t i = 0; i < count; ++i) happens(all, held, order[i]);
      all.world.run();
      BOOST_TEST_REQUIRE(*held.ends == 1);
      const auto is_one = std::any_of(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count),
                                      [&](ending how) { return code_of(how) == held.code(); });
      BOOST_TEST_REQUIRE(is_one, held.what->end_status().render());
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// --- executors -------------------------------------------------------------------------------------------------------

/// A call of another layer, and how it was answered.
struct handed_call {
  std::shared_ptr<int> answers = std::make_shared<int>(0);
  std::shared_ptr<status> ended = std::make_shared<status>();
};

handed_call hand(const executor_actor& to, std::uint64_t id, std::string method, duration limit) {
  handed_call result;
  auto arrived = std::make_shared<incoming_call>();
  arrived->client = 1;
  arrived->order.id = id;
  arrived->order.method = std::move(method);
  arrived->order.limit_ns = limit.count();
  arrived->reply = [result](const status& ended, const datum&) {
    ++*result.answers;
    *result.ended = ended;
  };
  caf::anon_send(to, run_atom_v, incoming_call_ptr{std::move(arrived)});
  return result;
}

enum class blow { release, cancel, dismissal, deadline, retirement, death };

void strike(simulated_world& world, simulated_server& server, const executor_actor& at, blow how) {
  switch (how) {
    case blow::release:
      return server.release();
    case blow::cancel:
      caf::anon_send(at, cancel_atom_v, std::uint64_t{1}, std::uint64_t{1});
      return caf::anon_send(at, cancel_atom_v, std::uint64_t{1}, std::uint64_t{2});
    case blow::dismissal:
      return caf::anon_send(at, dismiss_atom_v, std::uint64_t{1});
    case blow::deadline:
      world.clock().advance_time(10s);
      return;
    case blow::retirement:
      return caf::anon_send(at, retire_atom_v, wire<status>{{status_code::unavailable, "it stops"}});
    case blow::death:
      return caf::anon_send_exit(at, caf::exit_reason::kill);
  }
}

BOOST_AUTO_TEST_CASE(in_every_order_of_ends_an_executor_answers_each_call_once) {  // RPC-2
  std::vector<blow> order{blow::release, blow::cancel, blow::dismissal, blow::deadline, blow::retirement, blow::death};
  do {
    for (const auto at_once : {false, true}) {
      simulated_world world;
      simulated_server server{world, {.running_calls_max = 1}};
      const auto at = server.executors.front();
      const auto running = hand(at, 1, "hold", 10s);
      const auto waiting = hand(at, 2, "hold", 10s);
      world.run();
      BOOST_TEST_REQUIRE(server.seen.began == 1);
      BOOST_TEST_REQUIRE(*running.answers == 0);
      for (const auto how : order) {
        strike(world, server, at, how);
        if (!at_once) world.run();
        if (!at_once) BOOST_TEST_REQUIRE(*running.answers == 1);
        if (!at_once) BOOST_TEST_REQUIRE(*waiting.answers == 1);
      }
      world.run();
      BOOST_TEST_REQUIRE(*running.answers == 1);
      BOOST_TEST_REQUIRE(*waiting.answers == 1);
      BOOST_TEST_REQUIRE(server.seen.began <= 2);
      const auto late = hand(at, 3, "hold", 10s);
      world.run();
      BOOST_TEST_REQUIRE(*late.answers == 1);
      BOOST_TEST_REQUIRE((late.ended->code() == status_code::unavailable));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

BOOST_AUTO_TEST_CASE(a_call_whose_id_is_open_already_is_refused_and_the_first_one_goes_on) {
  simulated_world world;
  simulated_server server{world};
  const auto at = server.executors.front();
  const auto first = hand(at, 1, "hold", 10s);
  const auto second = hand(at, 1, "hold", 10s);
  world.run();
  BOOST_TEST(*first.answers == 0);
  BOOST_TEST((second.ended->code() == status_code::invalid_argument), second.ended->render());
  server.release();
  world.run();
  BOOST_TEST(*first.answers == 1);
  BOOST_TEST(first.ended->ok());
  BOOST_TEST(server.admitted->calls() == 0u);
  const auto third = hand(at, 1, "hold", 10s);
  world.run();
  BOOST_TEST(third.ended->ok(), third.ended->render());
}

BOOST_AUTO_TEST_CASE(a_call_that_has_no_time_left_does_not_run) {
  simulated_world world;
  simulated_server server{world};
  const auto late = hand(server.executors.front(), 1, "hold", 0ns);
  world.run();
  BOOST_TEST((late.ended->code() == status_code::deadline_exceeded));
  BOOST_TEST(server.seen.began == 0);
}

BOOST_AUTO_TEST_CASE(a_thousand_answers_leave_in_a_few_messages_however_the_calls_came) {
  simulated_world world;
  simulated_server server{world};
  const auto messages = std::make_shared<int>(0);
  const auto answered = std::make_shared<std::size_t>(0);
  const auto sink = world.spawn([=](reply_sink::pointer) -> reply_sink::behavior_type {
    return {[=](outcome_atom, std::uint64_t, wire<call_replies>& replies) {
      ++*messages;
      if (replies.open().ok()) *answered += replies->replies.size();
    }};
  });
  for (const auto calls_per_message : {1000, 1}) {
    *messages = 0;
    *answered = 0;
    for (auto next = 1; next <= 1000;) {
      call_orders orders;
      for (auto i = 0; i < calls_per_message; ++i, ++next)
        orders.calls.push_back({static_cast<std::uint64_t>(next), "add", 0, -1, {next, 1}});
      caf::send_as(sink, server.executors.front(), run_atom_v, std::uint64_t{9}, std::uint64_t{0},
                   wire<call_orders>{std::move(orders)});
    }
    world.run();
    BOOST_TEST(*answered == 1000u);
    BOOST_TEST(*messages <= 10);
  }
}

BOOST_FIXTURE_TEST_CASE(a_server_of_two_executors_runs_calls_on_both_and_is_lost_as_one, one_server) {
  serve({}, 2);
  simulated_client client{world, at};
  std::vector<watched_call> open;
  for (auto i = 0; i < 20; ++i) open.push_back(client.start("hold"));
  BOOST_TEST(server->seen.began == 20);
  client.to_server->cancel(open[0].what);
  client.to_server->cancel(open[1].what);
  world.run();
  BOOST_TEST(server->seen.cancelled == 2);
  for (auto i = 0; i < 20; ++i) BOOST_TEST(client.sum(i, 1) == i + 1);
  lose();
  for (std::size_t i = 2; i < open.size(); ++i) BOOST_TEST(ended_with(open[i], status_code::unavailable));
  BOOST_TEST(server->seen.cancelled == 20);
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
