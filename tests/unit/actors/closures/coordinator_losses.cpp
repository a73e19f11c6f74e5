// What a lost worker held, until no server takes anything from that worker any more (C-3).
#include "office.hpp"

#include <troupe/actors/fibers/notifier.hpp>

#include <boost/test/unit_test.hpp>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_losses_suite)

namespace {

constexpr coordinator_options two_workers{.workers = 2, .fence_limit = 5s};
constexpr std::uint64_t life = 7;

using told_promise = caf::typed_response_promise<caf::ok_atom>;

/// What a stand-in for a server was told. It answers when the test says so.
struct heard_by_server {
  std::vector<session_fence> fences;
  std::vector<std::function<void()>> open;

  bool refuses(session_id session) const {
    const auto& last = fences.back();
    return session < last.horizon && std::find(last.live.begin(), last.live.end(), session) == last.live.end();
  }
};

parameter_server_actor::behavior_type stand_in_server(parameter_server_actor::pointer self,
                                                      std::shared_ptr<heard_by_server> heard) {
  return {[](create_atom, std::uint64_t, wire<shard_orders>&) { return caf::ok_atom_v; },
          [](release_atom, std::uint64_t, wire<shard_numbers>&) { return caf::ok_atom_v; },
          [](find_atom, std::uint64_t, std::uint64_t) { return shard_actor{}; },
          [self, heard](dismiss_atom, std::uint64_t meant, wire<session_fence>& fence) -> caf::result<caf::ok_atom> {
            BOOST_TEST(meant == life);
            heard->fences.push_back(*fence);
            auto promise = self->make_response_promise<told_promise>();
            heard->open.emplace_back(make_notifier(self, [promise]() mutable { promise.deliver(caf::ok_atom_v); }));
            return promise;
          },
          [](alive_atom, std::uint64_t number) { return number; }};
}

struct office_with_servers : office {
  office_with_servers() : office(two_workers) {
    for (int i = 0; i < 2; ++i) {
      servers.push_back(std::make_shared<heard_by_server>());
      handles.push_back(spawn(stand_in_server, servers.back()));
      server_up(i);
      answer(i);
    }
    up(0);
    up(1);
  }
  ~office_with_servers() {
    for (const auto& each : servers) each->open.clear();
  }

  void server_up(int index) {
    caf::anon_send(handle, up_atom_v, handles.at(static_cast<std::size_t>(index)),
                   wire<member_identity>{{.task = {"ps", index}, .incarnation = life, .functions = {}, .host = {}}});
    run();
  }
  heard_by_server& server(int index) { return *servers.at(static_cast<std::size_t>(index)); }
  void answer(int index) {
    for (auto& each : std::exchange(server(index).open, {})) each();
    run();
  }
  /// Lets worker 0 be lost with a closure that nobody else holds.
  std::shared_ptr<closure> lose_one() {
    auto held = schedule();
    BOOST_TEST_REQUIRE(heard(0).orders.size() == 1u);
    lost_session = session(0);
    down(0);
    return held;
  }

  std::vector<std::shared_ptr<heard_by_server>> servers;
  std::vector<parameter_server_actor> handles;
  session_id lost_session = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_coordinator_that_loses_a_worker, office_with_servers)

BOOST_AUTO_TEST_CASE(gives_its_closures_to_others_when_every_server_refuses_it) {
  const auto held = lose_one();
  for (const auto index : {0, 1}) {
    BOOST_TEST(server(index).refuses(lost_session));
    BOOST_TEST(!server(index).refuses(session(1)));
  }
  BOOST_TEST(heard(1).orders.empty());
  answer(0);
  BOOST_TEST(heard(1).orders.empty());
  answer(1);
  BOOST_REQUIRE(heard(1).orders.size() == 1u);
  end(1, 0);
  BOOST_TEST(held->ended());
}

BOOST_AUTO_TEST_CASE(does_not_hold_up_what_the_worker_did_not_hold) {
  lose_one();
  const auto other = schedule();
  BOOST_REQUIRE(heard(1).orders.size() == 1u);
  end(1, 0);
  BOOST_TEST(other->ended());
}

BOOST_AUTO_TEST_CASE(does_not_wait_for_a_server_that_is_lost) {
  lose_one();
  answer(1);
  send_down({"ps", 0}, life);
  BOOST_TEST(heard(1).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(waits_for_a_server_for_the_limit_at_most) {
  lose_one();
  answer(1);
  advance(5s - 1ns);
  BOOST_TEST(heard(1).orders.empty());
  advance(1ns);
  BOOST_TEST(heard(1).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(tells_a_server_that_comes_back_what_it_has_missed) {
  send_down({"ps", 0}, life);
  lose_one();
  answer(1);
  server_up(0);
  BOOST_TEST(server(0).refuses(lost_session));
  BOOST_TEST(!server(0).refuses(session(1)));
}

BOOST_AUTO_TEST_CASE(joins_only_when_what_it_held_has_ended_elsewhere) {
  lose_one();
  const auto& joined = join();
  answer(0);
  answer(1);
  BOOST_TEST(!joined.given);
  end(1, 0);
  BOOST_TEST(joined.given);
}

// C-2: the worker may still run it.
BOOST_AUTO_TEST_CASE(joins_only_when_a_cancelled_closure_can_write_no_more) {
  const auto held = lose_one();
  cancel(held);
  BOOST_TEST(held->ended());
  const auto& joined = join();
  BOOST_TEST(!joined.given);
  answer(0);
  answer(1);
  BOOST_TEST(joined.given);
  BOOST_TEST(heard(1).orders.empty());
}

BOOST_AUTO_TEST_CASE(raises_an_error_only_when_what_it_held_can_write_no_more) {
  const auto held = lose_one();
  schedule();
  end(1, 0, {status_code::out_of_range, "row 7 of 5"});
  const auto& joined = join();
  BOOST_TEST(!joined.given);
  answer(0);
  answer(1);
  BOOST_REQUIRE(joined.given);
  BOOST_TEST((joined.problem.code() == status_code::out_of_range));
  BOOST_TEST((held->end_status().code() == status_code::cancelled));
  BOOST_TEST(heard(1).orders.size() == 1u);
}

BOOST_AUTO_TEST_CASE(takes_the_worker_in_again_meanwhile_and_does_not_mix_up_what_it_holds) {
  const auto held = lose_one();
  up(0);
  const auto next = schedule({.worker = 0});
  BOOST_REQUIRE(heard(0).orders.size() == 2u);
  // An outcome of the new session for a closure of the old one.
  send(session(0), {.outcomes = {{.id = heard(0).orders.at(0).second, .ended = {}, .result = {}}}}, 0);
  BOOST_TEST(!held->ended());
  down(0);
  answer(0);
  answer(1);
  BOOST_REQUIRE(heard(1).orders.size() == 1u);
  end(1, 0);
  BOOST_TEST(held->ended());
  up(0);
  BOOST_REQUIRE(heard(0).orders.size() == 3u);
  end(0, 2);
  BOOST_TEST(next->ended());
}

BOOST_AUTO_TEST_CASE(ends_what_it_held_when_it_stops_itself) {
  const auto held = lose_one();
  caf::anon_send_exit(handle, caf::exit_reason::user_shutdown);
  handle = nullptr;
  run();
  BOOST_TEST(held->ended());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
