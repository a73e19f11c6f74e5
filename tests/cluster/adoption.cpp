// Who may become the chief of a member: only a process that comes as the chief, with certificates only one whose
// certificate says so, and no second one while the first lives. From anybody else a member takes no orders.
#include "attacked_job.hpp"
#include "intruder.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace troupe::hostile {

BOOST_AUTO_TEST_SUITE(adoption_suite)

namespace {

using namespace std::chrono_literals;

/// What adopts a member, as far as the member sees it: an actor that says nothing.
caf::behavior silent_membership(caf::event_based_actor* self) {
  self->set_default_handler(caf::drop);
  return {[](caf::unit_t) {}};
}

/// Why the member does not take this process for its chief.
status error_of_adopting(intruder& here, const member_actor& door, const task_id& member, std::uint64_t incarnation) {
  const own_actor chief{here.system().spawn(silent_membership)};
  adoption terms{.chief = {}, .task = member, .chief_silence_max_ns = duration{1h}.count(), .jobs = {}};
  terms.chief.task = chief_task;
  terms.chief.incarnation = incarnation;
  return here.error_of<wire<member_identity>>(
      door, adopt_atom_v, caf::actor_cast<membership_actor>(caf::actor_cast<caf::strong_actor_ptr>(*chief)),
      wire<adoption>{terms});
}

std::string code_of(const status& why) { return to_string(why.code()); }

member_actor connect(intruder& here, const task_address& where) {
  status why;
  auto door = here.connect(where, why);
  BOOST_TEST_REQUIRE(why.ok(), why.render());
  return door;
}

}  // namespace

BOOST_DATA_TEST_CASE(a_member_that_waits_for_its_chief_is_adopted_by_no_other_process,
                     boost::unit_test::data::make(security_modes) *
                         boost::unit_test::data::make({as_no_member, as_a_worker}),
                     mode, role) {
  process_cluster cluster{
      "",
      {.workers = 1,
       .program = COUNTER_PROGRAM,
       .secret = mode == security_mode::secret,
       .certificates = mode == security_mode::tls ? std::make_shared<cluster_certificates>("adopted") : nullptr}};
  cluster.start(worker_task(0));
  cluster.wait_for("waits for its chief");
  {
    const scoped_credentials own{cluster.credentials_of(role.certificate)};
    intruder here{{role.task, 77}};
    const auto door = connect(here, cluster.config(worker_task(0)).cluster.address(worker_task(0)));
    const auto refused = error_of_adopting(here, door, worker_task(0), 77);
    BOOST_TEST_REQUIRE(code_of(refused) == "permission_denied", refused.render());
    BOOST_TEST(code_of(here.error_of<worker_actor>(door, worker_atom_v)) == "permission_denied");
    BOOST_TEST_REQUIRE(code_of(here.error_of_retiring(door)) == "permission_denied");
  }
  cluster.start(server_task(0));
  cluster.start(chief_task);
  cluster.wait_for("0.125");
  for (const auto& task : cluster.tasks()) BOOST_TEST(to_string(cluster.end_of(task)) == "exit code 0");
}

/// The incarnation of the first is no secret: each member is told it.
BOOST_DATA_TEST_CASE(a_second_chief_gets_nobody_while_the_first_lives,
                     boost::unit_test::data::make(security_modes) * boost::unit_test::data::make({true, false}), mode,
                     says_the_same_incarnation) {
  attacked_job job{{}, mode};
  {
    const scoped_credentials own{job.processes().credentials_of("chief")};
    const auto incarnation = says_the_same_incarnation ? job.chief_incarnation() : 77;
    intruder here{{chief_task, incarnation}};
    for (const auto& port : job.ports()) {
      if (port.task == chief_task) continue;
      const auto door = connect(here, port.address);
      const auto refused = error_of_adopting(here, door, port.task, incarnation);
      BOOST_TEST_REQUIRE(
          (refused.code() == status_code::permission_denied || refused.code() == status_code::failed_precondition),
          to_string(port.task) << ": " << refused.render());
      BOOST_TEST_REQUIRE(code_of(here.error_of_retiring(door)) == "permission_denied");
    }
  }
  job.check_goes_on("a second chief");
  job.check_end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::hostile
