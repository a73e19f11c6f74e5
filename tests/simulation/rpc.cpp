// Remote procedure calls over the layer "caf" as a whole in virtual time: deadlines, servers that come and go, who is
// let in, and every order of what can end a call.
#include "rpc_world.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_companion.hpp>
#include <caf/typed_response_promise.hpp>
#include <fmt/format.h>

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

BOOST_FIXTURE_TEST_CASE(one_process_does_not_take_all_places, one_server) {
  serve({.clients_per_process_max = 1});
  simulated_client first{world, at};
  simulated_client second{world, at};
  const auto waiting = second.start("add", {1, 2});
  world.advance(2s);
  BOOST_TEST(ended_with(waiting, status_code::resource_exhausted, "its limit (clients_per_process_max)"));
  BOOST_TEST(first.sum(2, 2) == 4);
}

// Its calls would wait for their deadlines.
BOOST_FIXTURE_TEST_CASE(clients_hear_at_once_that_an_executor_has_ended_and_go_on_with_the_others, one_server) {
  serve({}, 2);
  simulated_client client{world, at};
  std::vector<watched_call> held;
  for (auto i = 0; i < 2; ++i) held.push_back(client.start("hold", {}));
  world.run();
  BOOST_TEST(server->seen.began == 2);
  caf::anon_send_exit(server->executors.front(), caf::exit_reason::kill);
  world.run();
  for (const auto& each : held) BOOST_TEST((each.code() == status_code::unavailable));
  world.advance(1s);
  for (auto i = 0; i < 4; ++i) BOOST_TEST(client.sum(i, 2) == i + 2);
}

// --- welcomes that go wrong on their way
// ------------------------------------------------------------------------------

using executors_of = std::vector<executor_actor>;

/// A server's answer to a client that asks to be let in, at a door between them.
struct passing_welcome {
  door_actor::pointer self;
  door_actor behind;
  connection_actor client;
  reply_sink sink;
  wire<client_hello> hello;
  caf::typed_response_promise<executors_of, wire<server_welcome>> answer;
  executors_of executors;
  wire<server_welcome> terms;

  void deliver() { answer.deliver(executors, terms); }
  /// Once more, on behalf of the client, who does not hear of it.
  void ask_again() const {
    self->request(behind, caf::infinite, admit_atom_v, client, sink, hello)
        .then([](const executors_of&, const wire<server_welcome>&) {});
  }
  void end_session() const { self->send(behind, dismiss_atom_v, terms->session); }
};

/// A door before the server's, which decides what becomes of each welcome.
door_actor door_between(virtual_system& world, const door_actor& server,
                        std::function<void(passing_welcome&)> on_welcome) {
  return world.spawn(
      [on_welcome](door_actor::pointer self, door_actor behind) -> door_actor::behavior_type {
        return {[](alive_atom, std::uint64_t number) { return number; },
                [](suspect_atom, std::uint64_t, const wire<status>&) {},
                [=](admit_atom, const connection_actor& client, const reply_sink& sink,
                    const wire<client_hello>& hello) -> caf::result<executors_of, wire<server_welcome>> {
                  auto answer = self->make_response_promise<executors_of, wire<server_welcome>>();
                  self->request(behind, caf::infinite, admit_atom_v, client, sink, hello)
                      .then(
                          [=](executors_of& executors, wire<server_welcome>& terms) {
                            passing_welcome welcome{self, behind, client, sink, hello, answer, executors, terms};
                            on_welcome(welcome);
                          },
                          [=](caf::error& why) mutable { answer.deliver(std::move(why)); });
                  return answer;
                },
                [=](dismiss_atom, std::uint64_t session) { self->send(behind, dismiss_atom_v, session); }};
      },
      server);
}

BOOST_FIXTURE_TEST_CASE(a_client_whose_welcome_is_lost_takes_one_place_only, one_server) {
  serve({.clients_max = 1});
  // The server admits, the client does not hear of it and asks again: the same client, one place.
  auto late = std::make_shared<int>(2);
  at->door = door_between(world, server->front, [late](passing_welcome& welcome) {
    if ((*late)-- <= 0) welcome.deliver();
  });
  simulated_client client{world, at};
  const auto waiting = client.start("add", {1, 2});
  world.advance(10s);
  BOOST_TEST(ended_with(waiting, status_code::ok));
}

BOOST_FIXTURE_TEST_CASE(a_client_whose_given_up_admission_arrives_after_a_later_one_is_served, one_server) {
  serve();
  // What it asked for over a link that it has hung up may come when it is in over the next one.
  const auto repetitions = std::make_shared<int>(1);
  at->door = door_between(world, server->front, [repetitions](passing_welcome& welcome) {
    welcome.deliver();
    if ((*repetitions)-- > 0) welcome.ask_again();
  });
  simulated_client client{world, at};
  world.advance(1s);
  BOOST_TEST(*repetitions < 1);
  BOOST_TEST(client.sum(1, 2) == 3);
}

BOOST_FIXTURE_TEST_CASE(a_client_that_never_hears_of_the_end_of_its_session_learns_it_from_an_answer, one_server) {
  serve();
  // The server's dismissal goes over a link that is no more; both sides hear each other again over the next one.
  const auto to_end = std::make_shared<int>(1);
  at->door = door_between(world, server->front, [to_end](passing_welcome& welcome) {
    if (welcome.terms.open().ok() && (*to_end)-- > 0) welcome.end_session();
    welcome.deliver();
  });
  simulated_client client{world, at};
  world.advance(1s);
  BOOST_TEST(*to_end == 0);
  BOOST_TEST(ended_with(client.start("add", {1, 2}), status_code::unavailable, "has ended this client's session"));
  world.advance(1s);
  BOOST_TEST(*to_end < 0);
  BOOST_TEST(client.sum(1, 2) == 3);
}

BOOST_FIXTURE_TEST_CASE(a_client_whose_admission_is_not_answered_hangs_up_and_comes_in_over_the_next_link, one_server) {
  serve();
  // Each dial finds a link that carries nothing any more, until the client hangs up.
  at->door = world.spawn([](door_actor::pointer self) -> door_actor::behavior_type {
    using welcome = caf::typed_response_promise<std::vector<executor_actor>, wire<server_welcome>>;
    return {[](alive_atom, std::uint64_t number) { return number; },
            [](suspect_atom, std::uint64_t, const wire<status>&) {},
            [self, open = std::make_shared<std::vector<welcome>>()](
                admit_atom, const connection_actor&, const reply_sink&,
                const wire<client_hello>&) -> caf::result<std::vector<executor_actor>, wire<server_welcome>> {
              return open->emplace_back(self->make_response_promise<welcome>());
            },
            [](dismiss_atom, std::uint64_t) {}};
  });
  at->hung_up = [this] { at->door = server->front; };
  simulated_client client{world, at};
  const auto waiting = client.start("add", {1, 2});
  world.advance(5s);
  BOOST_TEST(ended_with(waiting, status_code::ok));
  BOOST_TEST(at->dials == 2);
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

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
