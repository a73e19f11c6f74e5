// Hosts of an application's own: actors that are published, found, watched and lost by CAF's own means, and nothing
// that passes between hosts but over the network.
#include "probe.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/actors/fibers/random_device.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/fibers/system_clock.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <array>
#include <limits>
#include <string>

using namespace std::chrono_literals;

namespace harbour {

/// A message of the application's own.
struct cargo {
  std::string name;
  double tons = 0;
};
TROUPE_MESSAGE(cargo)

using crane_actor = caf::typed_actor<caf::replies_to<caf::put_atom, cargo>::with<cargo>,
                                     caf::replies_to<caf::get_atom>::with<std::uint64_t>>;

constexpr std::uint16_t port = 7000;

/// Gives back twice the cargo, and counts.
crane_actor::behavior_type crane(crane_actor::pointer) {
  const auto count = std::make_shared<std::uint64_t>(0);
  return {[=](caf::put_atom, const cargo& given) {
            ++*count;
            return cargo{given.name + given.name, given.tons * 2};
          },
          [=](caf::get_atom) { return *count; }};
}

void crane_host(troupe::simulated_host& here) { troupe::publish_actor(here.system(), here.spawn(crane), port, 1s); }

crane_actor find_crane(troupe::simulated_host& here, troupe::duration limit = 1s) {
  return troupe::remote_actor<crane_actor>(here.system(), "crane", port, limit);
}

}  // namespace harbour

BOOST_AUTO_TEST_SUITE(own_hosts_suite)

using namespace troupe;
using namespace harbour;

namespace {

auto says(std::string text) {
  return [text](const error& refused) { return contains(refused.message(), text); };
}

/// What ships do, one after the other, and how that ended.
struct voyage {
  std::vector<status> ends;
  std::vector<duration> took;
  std::string brought;

  /// Asks how much the crane has done, until the end of time.
  std::function<void(simulated_host&)> asking(duration limit) {
    return [this, limit](simulated_host& here) {
      const auto crane = find_crane(here);
      for (;;) {
        const auto begin = here.world().now();
        ends.push_back(problem_of([&] {
          ask(
              here.system(), crane, limit, "asking the crane", [](std::uint64_t) {}, caf::get_atom_v);
        }));
        took.push_back(here.world().now() - begin);
        sleep_for(1ms);
      }
    };
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_actor_is_published_and_found_and_answers_in_messages_of_the_applications_own) {
  voyage one;
  simulated_world world{{.seed = 1}};
  world.host("crane", crane_host);
  double tons = 0;
  world.host("ship", [&](simulated_host& here) {
    ask(
        here.system(), find_crane(here), 1s, "unloading",
        [&](const cargo& given) {
          one.brought = given.name;
          tons = given.tons;
        },
        caf::put_atom_v, cargo{"tin", std::numeric_limits<double>::infinity()});
  });
  BOOST_TEST_REQUIRE(world.run_until([&] { return !one.brought.empty(); }, 1s));
  BOOST_TEST(one.brought == "tintin");
  BOOST_TEST(tons == std::numeric_limits<double>::infinity());
  // A connection, a handshake, a question and an answer, each under way for 50 us and more.
  BOOST_TEST((world.now() > 250us));
  BOOST_TEST(world.bytes_sent("ship") > 100u);
  BOOST_TEST(world.running("ship"));
}

BOOST_AUTO_TEST_CASE(a_frozen_host_a_cut_one_and_one_whose_answers_are_held_back_do_not_answer) {
  for (const std::string how : {"freeze", "cut", "question", "answer"}) {
    voyage one;
    simulated_world world{{.seed = 2}};
    world.host("crane", crane_host);
    world.host("ship", one.asking(100ms));
    world.advance(20ms);
    BOOST_TEST_REQUIRE(!one.ends.empty());
    for (const auto& end : one.ends) BOOST_TEST(end.ok(), end.render());
    const auto before = one.ends.size();
    if (how == "freeze") world.freeze("crane");
    if (how == "cut") world.cut("crane", "ship");
    if (how == "question") world.cut_one_way("ship", "crane");
    if (how == "answer") world.cut_one_way("crane", "ship");
    world.advance(500ms);
    BOOST_TEST(one.ends.size() - before >= 4u);
    BOOST_TEST(one.ends.size() - before <= 6u);
    for (auto i = before + 1; i < one.ends.size(); ++i)
      BOOST_TEST(to_string(one.ends[i].code()) == "deadline_exceeded", how << ": " << one.ends[i].render());
    if (how == "freeze")
      world.thaw("crane");
    else
      world.heal("crane", "ship");
    // The question that waits already may come too late.
    world.advance(110ms);
    const auto after = one.ends.size();
    world.advance(20ms);
    BOOST_TEST_REQUIRE(one.ends.size() > after);
    for (auto i = after; i < one.ends.size(); ++i) BOOST_TEST(one.ends[i].ok(), how << ": " << one.ends[i].render());
  }
}

BOOST_AUTO_TEST_CASE(a_cut_in_one_direction_lets_the_other_pass) {
  std::uint64_t unloaded = 0;
  simulated_world world{{.seed = 3}};
  crane_actor crane_here;
  world.host("crane", [&](simulated_host& here) {
    crane_here = here.spawn(crane);
    publish_actor(here.system(), crane_here, port, 1s);
    for (;;) {
      ask(
          here.system(), crane_here, 1s, "counting", [&](std::uint64_t now) { unloaded = now; }, caf::get_atom_v);
      sleep_for(1ms);
    }
  });
  world.host("ship", [&](simulated_host& here) {
    const auto to = find_crane(here);
    sleep_for(50ms);
    BOOST_TEST(to_string(problem_of([&] {
                           ask(
                               here.system(), to, 1s, "unloading", [](const cargo&) {}, caf::put_atom_v, cargo{});
                         }).code()) == "deadline_exceeded");
  });
  world.advance(40ms);
  world.cut_one_way("crane", "ship");
  world.advance(2s);
  BOOST_TEST(unloaded == 1u);
  world.kill("crane");
  crane_here = crane_actor{};
}

BOOST_AUTO_TEST_CASE(monitors_and_links_hear_of_a_process_that_dies_and_not_of_a_host_that_loses_its_power) {
  for (const auto is_off : {false, true}) {
    std::vector<std::string> heard;
    simulated_world world{{.seed = 4}};
    world.host("crane", crane_host);
    world.host("ship", [&](simulated_host& here) {
      const auto crane = find_crane(here);
      here.spawn([&heard, crane](caf::event_based_actor* self) -> caf::behavior {
        self->set_down_handler([&heard](const caf::down_msg&) { heard.emplace_back("down"); });
        self->set_exit_handler([&heard](const caf::exit_msg&) { heard.emplace_back("exit"); });
        self->monitor(caf::actor_cast<caf::actor_addr>(crane));
        self->link_to(caf::actor_cast<caf::actor_addr>(crane));
        return {[](int) {}};
      });
    });
    world.advance(50ms);
    is_off ? world.switch_off("crane") : world.kill("crane");
    world.advance(1s);
    BOOST_TEST(heard.size() == (is_off ? 0u : 2u));
    // Its host says so when it is on again.
    world.restart("crane");
    world.advance(1s);
    BOOST_TEST(heard.size() == 2u);
  }
}

BOOST_AUTO_TEST_CASE(a_host_that_is_started_again_runs_its_function_in_a_new_process) {
  std::vector<std::uint64_t> starts;
  std::vector<std::string> ends;
  simulated_world world{{.seed = 5}};
  world.host("crane", [&](simulated_host& here) {
    starts.push_back(here.start());
    crane_host(here);
  });
  world.host("ship", [&](simulated_host& here) {
    const auto count = [&](const crane_actor& whom) {
      std::uint64_t result = 100;
      ask(
          here.system(), whom, 100ms, "counting", [&](std::uint64_t now) { result = now; }, caf::get_atom_v);
      return result;
    };
    const auto first = find_crane(here);
    ask(
        here.system(), first, 1s, "unloading", [](const cargo&) {}, caf::put_atom_v, cargo{});
    BOOST_TEST(count(first) == 1u);
    here.world().kill("crane");
    here.world().restart("crane");
    sleep_for(10ms);
    ends.push_back(to_string(problem_of([&] { count(first); }).code()));
    BOOST_TEST(count(find_crane(here)) == 0u);
    ends.emplace_back("found");
  });
  BOOST_TEST(world.run_until([&] { return ends.size() == 2; }, 10s));
  BOOST_TEST(ends.front() == "unavailable");
  BOOST_TEST(starts == (std::vector<std::uint64_t>{1, 2}), boost::test_tools::per_element());
  BOOST_TEST(world.starts("crane") == 2u);
}

BOOST_AUTO_TEST_CASE(a_handle_that_bypasses_the_network_ends_the_run_and_is_named) {
  for (const auto shares : {false, true}) {
    crane_actor shared;
    auto answered = false;
    const auto course = [&] {
      simulated_world world{{.seed = 6, .shares_memory = shares}};
      world.host("crane", [&](simulated_host& here) { shared = here.spawn(crane); });
      world.host("ship", [&](simulated_host& here) {
        sleep_for(1ms);
        ask(
            here.system(), shared, 1s, "counting", [&](std::uint64_t) { answered = true; }, caf::get_atom_v);
      });
      const auto forget = [&] { shared = crane_actor{}; };
      try {
        world.advance(1s);
      } catch (...) {
        forget();
        throw;
      }
      forget();
    };
    if (shares)
      course();
    else
      BOOST_CHECK_EXCEPTION(course(), failed_precondition_error, [](const error& found) {
        return contains(found.message(), "ship has sent a message to") &&
               contains(found.message(), "of crane past the network") && contains(found.message(), "remote_actor");
      });
    BOOST_TEST(answered == shares);
  }
}

BOOST_AUTO_TEST_CASE(a_function_that_throws_ends_its_process) {
  simulated_world world{{.seed = 7}};
  world.host("crane", crane_host);
  world.host("ship", [](simulated_host& here) {
    find_crane(here);
    throw data_loss_error{"it has sunk"};
  });
  world.advance(1s);
  BOOST_TEST(!world.running("ship"));
  BOOST_TEST(world.running("crane"));
  BOOST_TEST_REQUIRE(world.end_of("ship").has_value());
  BOOST_TEST(contains(world.end_of("ship")->render(), "data_loss: it has sunk"));
  world.restart("ship");
  BOOST_TEST(!world.end_of("ship").has_value());
  BOOST_TEST(world.running("ship"));
}

BOOST_AUTO_TEST_CASE(a_process_that_kills_itself_says_nothing_more) {
  std::uint64_t counted = 100;
  simulated_world world{{.seed = 8}};
  world.host("crane", crane_host);
  world.host("ship", [&](simulated_host& here) {
    const auto crane = find_crane(here);
    if (here.start() == 1) {
      here.world().kill("ship");
      caf::anon_send(crane, caf::put_atom_v, cargo{});
      sleep_for(1ms);
      BOOST_ERROR("it goes on");
    }
    ask(
        here.system(), crane, 1s, "counting", [&](std::uint64_t now) { counted = now; }, caf::get_atom_v);
  });
  world.advance(100ms);
  BOOST_TEST(!world.running("ship"));
  world.restart("ship");
  BOOST_TEST(world.run_until([&] { return counted != 100; }, 1s));
  BOOST_TEST(counted == 0u);
}

BOOST_AUTO_TEST_CASE(actors_that_go_on_for_ever_end_with_their_process) {
  auto rounds = 0;
  simulated_world world{{.seed = 15}};
  world.host("mill", [&](simulated_host& here) {
    // Nobody but its process ends it.
    here.system().spawn([&](caf::event_based_actor* self) -> caf::behavior {
      self->delayed_send(self, 1ms, 1);
      return {[self, &rounds](int) {
        ++rounds;
        self->send(self, 1);
      }};
    });
  });
  world.advance(500us);
  BOOST_TEST(rounds == 0);
  world.kill("mill");
  BOOST_TEST(!world.running("mill"));
  const auto at_the_end = rounds;
  world.advance(1s);
  BOOST_TEST(rounds == at_the_end);
}

BOOST_AUTO_TEST_CASE(an_invariant_is_looked_at_after_each_step) {
  auto depth = 0;
  simulated_world world{{.seed = 9}};
  world.host("diver", [&](simulated_host&) {
    for (;;) {
      sleep_for(1s);
      ++depth;
    }
  });
  world.invariant("not too deep", [&] { return depth < 5; });
  BOOST_CHECK_EXCEPTION(world.advance(1min), violation, says("the invariant \"not too deep\" does not hold at    5.0"));
  BOOST_TEST(depth == 5);
  BOOST_CHECK_EXCEPTION(world.require(depth == 4, "4 is deep enough"), violation, says("4 is deep enough"));
  simulated_world other{{.seed = 9}};
  other.host("diver", [](simulated_host& here) {
    sleep_for(1s);
    here.world().require(false, "it is cold");
  });
  BOOST_CHECK_EXCEPTION(other.advance(1min), violation, says("it is cold"));
  BOOST_TEST((other.now() == 1s));
}

BOOST_AUTO_TEST_CASE(a_clock_that_jumps_is_the_hosts_own) {
  std::vector<std::string> woken;
  simulated_world world{{.seed = 10}};
  for (const std::string name : {"early", "right"})
    world.host(name, [&, name](simulated_host&) {
      sleep_for(1h);
      woken.push_back(name);
    });
  world.advance(1min);
  world.set_clock("early", 59min);
  world.advance(1s);
  BOOST_TEST(woken == std::vector<std::string>{"early"}, boost::test_tools::per_element());
  world.advance(1h);
  BOOST_TEST(woken.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_steps_and_other_draws_of_the_application_do_not_change_them) {  // S-1, S-2
  const auto course = [](std::uint64_t seed, int draws) {
    std::array<voyage, 3> ships;
    simulated_world world{{.seed = seed, .traces_steps = true}};
    world.host("crane", crane_host);
    for (std::size_t i = 0; i < ships.size(); ++i) world.host("ship " + std::to_string(i), ships[i].asking(20ms));
    world.advance(10ms);
    while (draws-- > 0) world.random(100);
    world.kill("crane");
    world.advance(50ms);
    world.restart("crane");
    world.advance(50ms);
    return world.trace();
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto once = course(seed, 0);
    BOOST_TEST(once.size() > 100u);
    BOOST_TEST(course(seed, 0) == once, boost::test_tools::per_element());
    BOOST_TEST(course(seed, 3) == once, boost::test_tools::per_element());
    BOOST_TEST((course(seed + 1, 0) != once));
  }
}

BOOST_AUTO_TEST_CASE(everything_is_healed_at_once) {
  voyage one;
  simulated_world world{{.seed = 11}};
  world.host("crane", crane_host);
  world.host("ship", one.asking(10ms));
  world.host("buoy", [](simulated_host&) {});
  world.advance(10ms);
  world.cut_one_way("crane", "ship");
  world.cut("buoy", "ship");
  world.freeze("ship");
  world.kill("buoy");
  world.advance(1s);
  world.heal_everything();
  world.advance(20ms);
  BOOST_TEST(world.running("buoy"));
  BOOST_TEST(!world.frozen("ship"));
  BOOST_TEST(one.ends.back().ok(), one.ends.back().render());
}

BOOST_AUTO_TEST_CASE(what_can_not_be_is_refused_with_a_reason) {
  simulated_world world{{.seed = 12, .processes_max = 3}};
  BOOST_CHECK_EXCEPTION(world.kill("crane"), invalid_argument_error, says("\"crane\" is no host of this simulation"));
  world.host("crane", crane_host);
  BOOST_CHECK_EXCEPTION(world.host("crane", crane_host), already_exists_error, says("\"crane\" already"));
  BOOST_CHECK_EXCEPTION(world.kill("ship"), invalid_argument_error, says("it has crane"));
  BOOST_CHECK_EXCEPTION(world.restart("crane"), failed_precondition_error, says("crane runs"));
  BOOST_CHECK_EXCEPTION(world.thaw("crane"), failed_precondition_error, says("not frozen"));
  BOOST_CHECK_EXCEPTION(world.cut("crane", "crane"), invalid_argument_error, says("both are crane"));
  BOOST_CHECK_EXCEPTION((simulated_world{{.latency_min = 2ms, .latency_max = 1ms}}), invalid_argument_error,
                        says("latency_min"));
  std::vector<std::string> codes;
  world.host("ship", [&](simulated_host& here) {
    const auto code_of = [&](auto work) { codes.push_back(to_string(problem_of(work).code())); };
    const auto crane = find_crane(here);
    code_of([&] { remote_actor<crane_actor>(here.system(), "crane", port + 1, 1s); });
    code_of([&] { remote_actor<crane_actor>(here.system(), "nowhere", port, 1s); });
    code_of([&] { remote_actor<caf::typed_actor<caf::reacts_to<int>>>(here.system(), "crane", port, 1s); });
    publish_actor(here.system(), here.spawn(harbour::crane), port, 1s);
    code_of([&] { publish_actor(here.system(), here.spawn(harbour::crane), port, 1s); });
  });
  BOOST_TEST(world.run_until([&] { return codes.size() == 4; }, 10s));
  BOOST_TEST(codes == (std::vector<std::string>{"unavailable", "unavailable", "failed_precondition", "unavailable"}),
             boost::test_tools::per_element());
  world.kill("crane");
  world.restart("crane");
  world.kill("crane");
  BOOST_CHECK_EXCEPTION(world.restart("crane"), resource_exhausted_error, says("3 processes"));
}

BOOST_AUTO_TEST_CASE(a_host_of_the_applications_own_joins_a_cluster) {
  ready_cluster cluster{{.seed = 13}};
  cluster.world().host("crane", crane_host);
  std::string brought;
  const auto program = cluster.start_program([&] {
    const auto crane = remote_actor<crane_actor>(cluster.system(chief), "crane", port, 1s);
    ask(
        cluster.system(chief), crane, 1s, "unloading", [&](const cargo& given) { brought = given.name; },
        caf::put_atom_v, cargo{"tin", 1});
  });
  BOOST_TEST_REQUIRE(cluster.run_until([&] { return program.ended(); }, 1s));
  BOOST_TEST(program.problem().ok(), program.problem().render());
  BOOST_TEST(brought == "tintin");
}

BOOST_AUTO_TEST_CASE(a_question_of_a_test_to_another_tasks_actor_takes_the_network) {
  ready_cluster cluster{{.seed = 14}};
  const auto made = cluster.spawn(worker_task(0), crane);
  const auto answer = cluster.ask<std::uint64_t>(made, 1s, caf::get_atom_v);
  BOOST_TEST(cluster.run_until([&] { return answer.ended(); }, 1s));
  BOOST_TEST(answer.problem().ok(), answer.problem().render());
  cluster.cut(chief, worker_task(0));
  const auto late = cluster.ask<std::uint64_t>(made, 1s, caf::get_atom_v);
  cluster.advance(900ms);
  BOOST_TEST(!late.ended());
  cluster.advance(200ms);
  BOOST_TEST(to_string(late.problem().code()) == "deadline_exceeded", late.problem().render());
}

BOOST_AUTO_TEST_CASE(hosts_may_cause_failures_but_not_let_time_pass) {
  simulated_world world{{.seed = 1}};
  world.host("victim", [](simulated_host&) { sleep_for(1h); });
  world.host("culprit", [&](simulated_host&) {
    BOOST_CHECK_EXCEPTION(world.advance(1s), failed_precondition_error,
                          [](const error& why) { return contains(why.message(), "advance() was called in culprit"); });
    world.kill("victim");
    sleep_for(1ms);
    BOOST_TEST(!world.running("victim"));
    world.restart("victim");
    world.cut("culprit", "victim");
  });
  world.advance(1s);
  BOOST_TEST(world.starts("victim") == 2u);
  BOOST_TEST(!world.end_of("culprit").has_value());
}

BOOST_AUTO_TEST_CASE(the_time_of_day_is_the_hosts_own_and_virtual_in_fibers_and_in_handlers) {
  const auto begin = troupe::system_clock::time_point{std::chrono::seconds{1'000'000'000}};
  std::vector<troupe::system_clock::time_point> times;
  simulated_world world{{.seed = 1}};
  world.host("right", [&](simulated_host& here) {
    sleep_for(2s);
    times.push_back(troupe::system_clock::now());
    const auto actor = here.spawn([&](caf::event_based_actor*) -> caf::behavior {
      return {[&](caf::get_atom) {
        times.push_back(troupe::system_clock::now());
        times.push_back(
            begin + std::chrono::duration_cast<std::chrono::system_clock::duration>(current_time().time_since_epoch()));
      }};
    });
    caf::anon_send(actor, caf::get_atom_v);
  });
  world.host("wrong", [&](simulated_host&) {
    world.set_clock("wrong", 1h);
    times.push_back(troupe::system_clock::now());
  });
  world.advance(3s);
  BOOST_TEST_REQUIRE(times.size() == 4u);
  BOOST_TEST((times[0] >= begin + 1h && times[0] < begin + 1h + 1s));
  for (std::size_t i = 1; i < times.size(); ++i) BOOST_TEST((times[i] >= begin + 2s && times[i] < begin + 2100ms));
  // Outside of a simulation it is what it is.
  BOOST_TEST((std::chrono::abs(troupe::system_clock::now() - std::chrono::system_clock::now()) < 1min));
}

BOOST_AUTO_TEST_CASE(chance_comes_from_the_seed) {  // S-1
  const auto drawn = [](std::uint64_t seed) {
    std::vector<std::uint32_t> result;
    simulated_world world{{.seed = seed}};
    world.host("gambler", [&](simulated_host& here) {
      const auto actor = here.spawn([&](caf::event_based_actor*) -> caf::behavior {
        return {[&](caf::get_atom) { result.push_back(troupe::random_device{}()); }};
      });
      for (int i = 0; i < 10; ++i) {
        result.push_back(troupe::random_device{}());
        caf::anon_send(actor, caf::get_atom_v);
        sleep_for(1ms);
      }
    });
    world.advance(1s);
    return result;
  };
  BOOST_TEST(drawn(1).size() == 20u);
  BOOST_TEST(drawn(1) == drawn(1), boost::test_tools::per_element());
  BOOST_TEST((drawn(1) != drawn(2)));
  // Elsewhere it does not.
  BOOST_TEST(troupe::random_number() != troupe::random_number());
}

BOOST_AUTO_TEST_SUITE_END()
