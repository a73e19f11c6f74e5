// An application's own actors beside troupe: they own the system, use remote values without blocking, and listen to
// events.
#include "support/local_world.hpp"

#include <troupe/actors/messages/message_types.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(application_actors_suite)

namespace {

/// What an application's config looks like.
struct application_config : caf::actor_system_config {
  application_config() { add_troupe_types(*this); }
};

struct application {
  application_config config;
  caf::actor_system system{config};
  cluster members{system, local_cluster{}};
  parameter_server_strategy strategy{members};
  cluster_coordinator coordinator{strategy};
  caf::scoped_actor self{system};
};

std::string next_text(caf::scoped_actor& self) {
  std::string text = "nothing came";
  self->receive([&](const std::string& received) { text = received; }, caf::after(10s) >> [] {});
  return text;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(then_calls_an_event_based_actor_with_the_value_or_the_error, application) {
  const auto reply_to = caf::actor_cast<caf::actor>(self);
  const auto good = coordinator.schedule([](int x) { return x + 1; }, 41);
  const auto user = system.spawn([=](caf::event_based_actor* me) {
    good.then(
        me, [=](int x) { me->send(reply_to, "value " + std::to_string(x)); },
        [=](const status& why) { me->send(reply_to, why.render()); });
  });
  BOOST_TEST(next_text(self) == "value 42");
  const auto bad = coordinator.schedule([] { throw not_found_error{"gone"}; });
  system.spawn([=](caf::event_based_actor* me) {
    bad.then(
        me, [=] { me->send(reply_to, std::string{"value"}); },
        [=](const status& why) { me->send(reply_to, to_string(why.code())); });
  });
  BOOST_TEST(next_text(self) == "not_found");
}

BOOST_FIXTURE_TEST_CASE(a_remote_value_is_an_actor_that_answers_when_it_is_ready, application) {
  const auto result = coordinator.schedule([] { return std::string{"ready"}; });
  std::string text;
  self->request(result.handle(), 10s, find_atom_v)
      .receive([&](wire<value>& x) { text = *x->get<std::string>(); },
               [&](caf::error& failed) { text = status_of(failed).render(); });
  BOOST_TEST(text == "ready");
}

BOOST_FIXTURE_TEST_CASE(the_coordinators_actor_answers_other_actors_directly, application) {
  coordinator.schedule([] {});
  auto drained = false;
  self->request(members.coordinator(), 10s, drained_atom_v, std::int64_t{duration{10s}.count()})
      .receive([&](bool all) { drained = all; }, [](caf::error&) {});
  BOOST_TEST(drained);
}

BOOST_FIXTURE_TEST_CASE(listeners_hear_members_join_and_generations_fail, application) {
  const auto reply_to = caf::actor_cast<caf::actor>(self);
  const auto listener = system.spawn([=](event_listener::pointer) -> event_listener::behavior_type {
    return {[=](event_atom, const wire<event>& what) {
      if (what->kind == event_kind::closure_failed) caf::anon_send(reply_to, what->why.render());
    }};
  });
  caf::anon_send(members.events(), listen_atom_v, listener);
  coordinator.schedule([] { throw aborted_error{"heard of"}; });
  BOOST_CHECK_THROW(coordinator.join(), aborted_error);
  BOOST_TEST(next_text(self).find("heard of") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_chief_of_many_processes_needs_the_middleman_and_says_so) {
  application_config config;
  caf::actor_system system{config};
  const task_config chief{.cluster = {.chief = {{"127.0.0.1", 1}}, .worker = {{"127.0.0.1", 2}}, .ps = {}},
                          .task = {"chief", 0}};
  BOOST_CHECK_EXCEPTION((cluster{system, chief}), failed_precondition_error,
                        [](const error& e) { return says(e, "load<caf::io::middleman>()"); });
  auto worker = chief;
  worker.task = {"worker", 0};
  BOOST_CHECK_THROW((cluster{system, worker}), invalid_argument_error);
  BOOST_CHECK_THROW((cluster_node{system, worker}), failed_precondition_error);
}

// It could neither be reached nor told to end.
BOOST_AUTO_TEST_CASE(a_node_whose_door_has_ended_has_failed) {
  application_config config;
  config.load<caf::io::middleman>();
  caf::actor_system system{config};
  const task_config worker{.cluster = {.chief = {{"127.0.0.1", 1}}, .worker = {{"127.0.0.1", 0}}, .ps = {}},
                           .task = {"worker", 0}};
  cluster_node node{system, worker};
  caf::anon_send_exit(node.door(), caf::exit_reason::kill);
  const auto end = node.wait_for(std::chrono::seconds{10});
  BOOST_REQUIRE(end.has_value());
  BOOST_TEST((end->how == member_end::kind::failed));
  BOOST_TEST(end->why.render().find("the door of /job:worker/task:0 ended by an error") != std::string::npos,
             end->why.render());
}

BOOST_AUTO_TEST_SUITE_END()
