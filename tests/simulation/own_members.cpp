// Own hosts of a world as members: they offer actors to each other, find, follow and supervise them, as on members of a
// cluster.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/completion.hpp>
#include <troupe/actors/offers/supervision.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/remote_actors.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/blocking_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace belfry {

using bell_actor =
    caf::typed_actor<caf::replies_to<caf::get_atom>::with<int>, caf::reacts_to<caf::delete_atom, std::string>>;
using whistle_actor = caf::typed_actor<caf::replies_to<caf::put_atom, int>::with<int>>;

/// Which bell to ring.
struct bell_errand {
  troupe::actor_reference<bell_actor> bell;
};
TROUPE_MESSAGE(bell_errand)
using ringer_actor = caf::typed_actor<caf::replies_to<caf::put_atom, bell_errand>::with<int>>;

/// Counts how often it is rung, and can crack.
bell_actor::behavior_type bell(bell_actor::pointer self) {
  const auto count = std::make_shared<int>(0);
  return {[=](caf::get_atom) { return ++*count; },
          [=](caf::delete_atom, const std::string& why) {
            self->quit(make_error(troupe::status{troupe::status_code::data_loss, why}));
          }};
}

void bell_host(troupe::simulated_host& here) { here.as_member().offer("bell", here.spawn(bell)); }

}  // namespace belfry

BOOST_AUTO_TEST_SUITE(own_members_suite)

using namespace troupe;
using namespace belfry;

namespace {

/// Runs well, and twice in the same way.
void require_good_and_same(const scenario& what, std::uint64_t runs = 10) {
  const auto result = explore(what, {.runs = runs});
  BOOST_TEST(!result.found.has_value(), (result.found ? result.found->report() : std::string{}));
  BOOST_TEST(find_difference(what, {.seed = 10}).value_or("") == "");
}

/// A host's function whose problem fails the test.
std::function<void(simulated_host&)> visitor(std::function<void(const member&)> work, int& visits) {
  return [=, &visits](simulated_host& here) {
    const auto problem = problem_of([&] { work(here.as_member()); });
    BOOST_TEST(problem.ok(), problem.render());
    ++visits;
  };
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_one_host_offers_others_find_by_its_name) {
  auto visits = 0;
  simulated_world world{{.seed = 1}};
  world.host("tower", bell_host);
  world.host("house-0", bell_host);
  world.host("house-1", bell_host);
  world.host("visitor", visitor(
                            [&](const member& here) {
                              BOOST_TEST(to_string(here.task()) == "/job:visitor/task:0");
                              const auto bell = here.find<bell_actor>({"tower", 0}, "bell", 1s);
                              BOOST_TEST(ask(bell, 1s, caf::get_atom_v) == 1);
                              BOOST_TEST(ask(bell, 1s, caf::get_atom_v) == 2);
                              const auto houses = here.find_all<bell_actor>("house", "bell", 1s);
                              BOOST_TEST_REQUIRE(houses.size() == 2u);
                              for (const auto& each : houses) BOOST_TEST(ask(each, 1s, caf::get_atom_v) == 1);
                            },
                            visits));
  BOOST_TEST(world.run_until([&] { return visits == 1; }, 5s));
}

BOOST_AUTO_TEST_CASE(who_finds_nothing_hears_what_is_missing) {
  auto visits = 0;
  simulated_world world{{.seed = 2}};
  world.host("tower", bell_host);
  world.host("silent", [](simulated_host&) {});
  const auto looks = [&](const member& here) {
    const auto find = [&](const task_id& task, const std::string& name) {
      return problem_of([&] { here.find<bell_actor>(task, name, 1s); });
    };
    const auto other = find({"tower", 0}, "gong");
    BOOST_TEST(to_string(other.code()) == "deadline_exceeded");
    BOOST_TEST(contains(other.render(), "offers no actor \"gong\"; it offers bell"), other.render());
    const auto silent = find({"silent", 0}, "bell");
    BOOST_TEST(to_string(silent.code()) == "deadline_exceeded");
    BOOST_TEST(contains(silent.render(), "no connection to silent:1: refused"), silent.render());
    // Nobody waits for a host that there is not.
    const auto before = current_time();
    const auto nobody = find({"tower", 1}, "bell");
    BOOST_TEST(to_string(nobody.code()) == "not_found");
    BOOST_TEST(contains(nobody.render(), "/job:tower/task:1 is no host of this world"), nobody.render());
    BOOST_TEST((current_time() - before < 100ms));
    const auto whistle = problem_of([&] { here.find<whistle_actor>({"tower", 0}, "bell", 1s); });
    BOOST_TEST(to_string(whistle.code()) == "failed_precondition");
    const auto chiefs = problem_of([&] { here.find<bell_actor>({"chief", 0}, "bell", 1s); });
    const auto scheduled = problem_of([&] { here.coordinator().schedule([] { return 1; }).fetch(); });
    BOOST_TEST(contains(scheduled.render(), "/job:chief/task:0 is no host of this world"), scheduled.render());
    BOOST_TEST(to_string(chiefs.code()) == "not_found", chiefs.render());
  };
  world.host("visitor", visitor(looks, visits));
  BOOST_TEST(world.run_until([&] { return visits == 1; }, 10s));
}

BOOST_AUTO_TEST_CASE(a_reference_follows_its_host_through_whatever_happens_to_it) {
  actor_reference<bell_actor> bell;
  simulated_world world{{.seed = 3}};
  world.host("tower", bell_host);
  world.host("visitor", [&](simulated_host& here) {
    bell = here.as_member().follow<bell_actor>({"tower", 0}, "bell");
  });
  const auto is_up = [&] { return bell.is_up(); };
  const auto is_down = [&] { return !bell.is_up(); };
  const auto rings = [&] {
    const auto rung = world.start_program("visitor", [&] { ask(bell, 1s, caf::get_atom_v); });
    world.run_until([&] { return rung.ended(); }, 5s);
    return rung.problem();
  };
  world.advance(1ms);
  BOOST_TEST(world.run_until(is_up, 1s));
  for (const std::string how : {"kill", "switch off", "freeze", "cut", "break", "silence"}) {
    BOOST_TEST(rings().ok(), how);
    if (how == "kill") world.kill("tower");
    if (how == "switch off") world.switch_off("tower");
    if (how == "freeze") world.freeze("tower");
    if (how == "cut") world.cut("tower", "visitor");
    if (how == "break") world.break_link("tower", "visitor");
    if (how == "silence") world.silence_link("tower", "visitor");
    BOOST_TEST(world.run_until(is_down, 5s), how);
    if (how != "break" && how != "silence") BOOST_TEST(to_string(rings().code()) == "unavailable", how);
    world.heal_everything();
    BOOST_TEST(world.run_until(is_up, 2s), how);
  }
  BOOST_TEST(rings().ok());
  bell = {};
}

BOOST_AUTO_TEST_CASE(hosts_that_look_for_each_other_at_the_same_time_find_each_other) {
  const scenario meet = [](simulated_world& world) {
    auto& rung = world.keep<int>();
    for (const std::string name : {"tower-0", "tower-1", "tower-2"})
      world.host(name, [&](simulated_host& here) {
        bell_host(here);
        const auto member = here.as_member();
        for (const auto& each : member.find_all<bell_actor>("tower", "bell", 5s)) {
          each.await_up(5s);
          ++rung;
        }
      });
    world.require(world.run_until([&] { return rung == 9; }, 10s), "they do not find each other");
  };
  require_good_and_same(meet, 200);
}

BOOST_AUTO_TEST_CASE(actors_are_supervised_and_a_host_ends_when_that_does_not_help) {
  auto starts = 0;
  status heard;
  simulated_world world{{.seed = 4}};
  world.host("tower", [&](simulated_host& here) {
    here.as_member().supervise({.restarts_max = 1}, {{"bell", [&](member& in) {
                                                        ++starts;
                                                        return in.spawn(bell);
                                                      }}});
  });
  actor_reference<bell_actor> bell;
  world.host("visitor", [&](simulated_host& here) {
    bell = here.as_member().follow<bell_actor>({"tower", 0}, "bell");
  });
  world.advance(1ms);
  const auto crack = [&] {
    world.start_program("visitor", [&] { bell.tell(caf::delete_atom_v, std::string{"it has a crack"}); });
  };
  BOOST_TEST_REQUIRE(world.run_until([&] { return bell.is_up(); }, 1s));
  crack();
  BOOST_TEST_REQUIRE(world.run_until([&] { return !bell.is_up(); }, 1s));
  BOOST_TEST_REQUIRE(world.run_until([&] { return bell.is_up(); }, 1s));
  BOOST_TEST(starts == 2);
  crack();
  BOOST_TEST(world.run_until([&] { return !world.running("tower"); }, 1s));
  BOOST_TEST_REQUIRE(world.end_of("tower").has_value());
  BOOST_TEST(contains(world.end_of("tower")->render(), "it has a crack"), world.end_of("tower")->render());
  world.restart("tower");
  BOOST_TEST(world.run_until([&] { return bell.is_up(); }, 2s));
  BOOST_TEST(starts == 3);
  bell = {};
}

BOOST_AUTO_TEST_CASE(a_reference_that_is_sent_leads_to_the_same_actor_from_there) {
  auto visits = 0;
  simulated_world world{{.seed = 5}};
  world.host("tower", bell_host);
  world.host("ringer", [](simulated_host& here) {
    here.as_member().offer("ringer", here.spawn([](ringer_actor::pointer self) -> ringer_actor::behavior_type {
      return {[self](caf::put_atom, const bell_errand& what) -> caf::result<int> {
        auto promise = self->make_response_promise<caf::typed_response_promise<int>>();
        what.bell.request(self, 1s, caf::get_atom_v)
            .then([promise](int count) mutable { promise.deliver(count); },
                  [promise](const status& why) mutable { promise.deliver(make_error(why)); });
        return promise;
      }};
    }));
  });
  world.host("visitor", visitor(
                            [](const member& here) {
                              const auto bell = here.find<bell_actor>({"tower", 0}, "bell", 1s);
                              BOOST_TEST(ask(bell, 1s, caf::get_atom_v) == 1);
                              const auto ringer = here.find<ringer_actor>({"ringer", 0}, "ringer", 1s);
                              BOOST_TEST(ask(ringer, 1s, caf::put_atom_v, bell_errand{bell}) == 2);
                            },
                            visits));
  BOOST_TEST(world.run_until([&] { return visits == 1; }, 5s));
}

BOOST_AUTO_TEST_CASE(detached_actors_of_a_host_and_of_its_member_take_turns_like_others) {
  const scenario rung = [](simulated_world& world) {
    auto& sum = world.keep<int>();
    world.host("tower", [](simulated_host& here) {
      const auto member = here.as_member();
      member.offer("small", here.spawn<caf::detached>(bell));
      member.offer("large", member.spawn<caf::detached>(bell));
    });
    world.host("visitor", [&](simulated_host& here) {
      for (const std::string name : {"small", "large"})
        sum += ask(here.as_member().find<bell_actor>({"tower", 0}, name, 1s), 1s, caf::get_atom_v);
    });
    world.require(world.run_until([&] { return sum == 2; }, 5s), "they do not ring");
  };
  require_good_and_same(rung);
}

namespace {

struct bell_life {
  std::optional<time_point> ticked;
  std::string end;
};

/// Lives in one function: counts until it is told to end, and has a clock of its own.
void blocking_bell(caf::blocking_actor* self, int first, bell_life* told) {
  auto count = first;
  self->delayed_send(self, 30ms, caf::tick_atom_v);
  self->receive_while([told] { return told->end.empty(); })(
      [&](caf::get_atom) { return count++; }, [told](caf::tick_atom) { told->ticked = current_time(); },
      [told](caf::delete_atom, const std::string& why) { told->end = why; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_blocking_actor_is_a_fiber) {
  const scenario rung = [](simulated_world& world) {
    auto& life = world.keep<bell_life>();
    auto& counts = world.keep<std::vector<int>>();
    auto& after = world.keep<status>();
    world.host("tower", [&](simulated_host& here) {
      const auto made = here.spawn(blocking_bell, 7, &life);
      here.as_member().offer("bell", caf::actor_cast<bell_actor>(made));
    });
    world.require(world.run_until([&] { return life.ticked.has_value(); }, 1s), "its clock stands still");
    world.require(world.now() >= 30ms && world.now() < 31ms, "its clock is not the world's");
    world.host("visitor", [&](simulated_host& here) {
      const auto bell = here.as_member().find<bell_actor>({"tower", 0}, "bell", 1s);
      for (int i = 0; i < 2; ++i) counts.push_back(ask(bell, 1s, caf::get_atom_v));
      bell.tell(caf::delete_atom_v, std::string{"enough"});
      after = problem_of([&] { ask(bell, 1s, caf::get_atom_v); });
    });
    world.require(world.run_until([&] { return !after.ok(); }, 5s), "it does not end");
    world.require(life.end == "enough", "it ends too early");
    world.require(after.code() == status_code::unavailable, after.render());
    world.require(counts == std::vector<int>{7, 8}, "it does not count");
  };
  require_good_and_same(rung);
}

BOOST_AUTO_TEST_CASE(a_blocking_actor_ends_with_its_process_and_waits_by_no_wall_clock) {
  for (const std::string how : {"kill", "end", "switch off", "world"}) {
    auto ended = std::make_shared<int>(0);
    {
      simulated_world world{{.seed = 11}};
      world.host("tower", [&](simulated_host& here) {
        const auto made = here.spawn([ended](caf::blocking_actor* self) {
          const std::shared_ptr<void> guard{nullptr, [ended](void*) { ++*ended; }};
          self->receive([](caf::get_atom) { return 1; });
          self->receive([](caf::delete_atom) {});
        });
        ask(
            here.system(), caf::actor_cast<bell_actor>(made), 1s, "whether it lives", [](int) {}, caf::get_atom_v);
        if (how == "end") throw data_loss_error{"on purpose"};
      });
      world.advance(10ms);
      BOOST_TEST(*ended == (how == "end" ? 1 : 0));
      if (how == "kill") world.kill("tower");
      if (how == "switch off") world.switch_off("tower");
      if (how != "world") BOOST_TEST(*ended == 1, how);
    }
    BOOST_TEST(*ended == 1, how);
  }
  std::string refused;
  simulated_world world{{.seed = 12}};
  world.host("tower", [&](simulated_host& here) {
    here.spawn([&](caf::blocking_actor* self) {
      refused = problem_of([&] { self->receive([](caf::delete_atom) {}, caf::after(1ms) >> [] {}); }).render();
    });
  });
  world.advance(10ms);
  BOOST_TEST(contains(refused, "by the wall clock"), refused);
}

BOOST_AUTO_TEST_CASE(an_own_host_finds_what_the_members_of_a_simulated_cluster_offer) {
  auto visits = 0;
  auto answer = 0;
  simulated_world world{{.seed = 6}};
  run_options whole;
  constexpr std::uint16_t port = 7000;
  whole.program = [](cluster& all) {
    const auto visited = std::make_shared<completion>();
    const auto here = all.here();
    const auto door = here.spawn([visited](whistle_actor::pointer) -> whistle_actor::behavior_type {
      return {[visited](caf::put_atom, int number) {
        visited->set();
        return number;
      }};
    });
    publish_actor(here.system(), door, port, 1s);
    visited->wait_until(later(current_time(), 1min), "the visitor");
    return 0;
  };
  whole.on_member = [](member& here) { here.offer("bell", here.spawn(bell)); };
  whole.size = {.workers = 1};
  world.host("visitor", visitor(
                            [&](const member& here) {
                              answer = ask(here.find<bell_actor>({"worker", 0}, "bell", 1s), 1s, caf::get_atom_v);
                              const auto chief = remote_actor<whistle_actor>(here.system(), "chief-0", port, 5s);
                              // Its answer may come after the cluster's end.
                              caf::anon_send(chief, caf::put_atom_v, 1);
                            },
                            visits));
  simulate(world, whole);
  BOOST_TEST(visits == 1);
  BOOST_TEST(answer == 1);
}

BOOST_AUTO_TEST_CASE(names_that_can_be_no_members_are_refused) {
  const auto refusal = [](const std::vector<std::string>& names) {
    simulated_world world{{.seed = 7}};
    for (const auto& name : names) world.host(name, [](simulated_host& here) { here.as_member(); });
    world.advance(10ms);
    const auto end = world.end_of(names.back());
    return end ? end->render() : std::string{};
  };
  BOOST_TEST(contains(refusal({"chief-0"}), "chief-0 can't become a member: own hosts have no chief"));
  BOOST_TEST(contains(refusal({"chief"}), "chief can't become a member"));
  BOOST_TEST(contains(refusal({"tower", "tower-0"}), "it would be /job:tower/task:0, and so would tower"));
  // These are jobs of their own.
  for (const std::string name : {"tower-01", "tower-", "-1", "tower--1", "tower-99999999999"})
    BOOST_TEST(refusal({"tower", "tower-1", name}) == "", name);
}

BOOST_AUTO_TEST_CASE(a_host_whose_port_is_taken_ends_and_says_so) {
  simulated_world world{{.seed = 8}};
  world.host("tower", [](simulated_host& here) {
    publish_actor(here.system(), here.spawn(bell), 1, 1s);
    here.as_member();
  });
  BOOST_TEST(world.run_until([&] { return !world.running("tower"); }, 1min));
  BOOST_TEST_REQUIRE(world.end_of("tower").has_value());
  BOOST_TEST(contains(world.end_of("tower")->render(), "it can't become a member"), world.end_of("tower")->render());
}

BOOST_AUTO_TEST_SUITE_END()
