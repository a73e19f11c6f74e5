// Processes that state the identity of another one, which is no secret: they get no connection to whoever is connected
// with the true one, whatever credentials they have, so they neither command in its name nor read what it is sent.
#include "attacked_job.hpp"
#include "basp_stranger.hpp"
#include "intruder.hpp"
#include "support/refusal.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe::hostile {

BOOST_AUTO_TEST_SUITE(impersonation_suite)

namespace {

/// Those in which frames can be written by hand.
const auto modes_in_the_clear = boost::unit_test::data::make({security_mode::none, security_mode::secret});

/// What a process that should be refused can do in the name of another one; fails the test if it is not refused.
void check_refused(intruder& here, const attacked_port& member) {
  status why;
  const auto door = here.connect(member.address, why);
  const auto obeyed = door && here.error_of_retiring(door).ok();
  BOOST_TEST(contains(why.render(), "two processes have the same identity"),
             to_string(member.task) << ": " << (door ? "connected" : why.render())
                                    << (obeyed ? ", and is obeyed as the chief" : ""));
}

}  // namespace

BOOST_DATA_TEST_CASE(a_member_obeys_nobody_who_states_the_identity_of_its_chief,
                     boost::unit_test::data::make(security_modes) *
                         boost::unit_test::data::make({as_no_member, as_a_worker, as_the_chief}),
                     mode, role) {
  attacked_job job{{}, mode};
  {
    const scoped_credentials own{job.processes().credentials_of(role.certificate)};
    intruder here{{role.task, job.chief_incarnation()}, basp::node_of(job.chief_node())};
    for (const auto& port : job.ports())
      if (port.task != chief_task) check_refused(here, port);
  }
  job.check_goes_on("somebody in the chief's name");
  job.check_end();
}

/// CAF would send all that is for the chief over the connection that was selected last.
BOOST_DATA_TEST_CASE(nobody_takes_over_the_route_to_another_process, modes_in_the_clear, mode) {
  attacked_job job{{}, mode};
  const auto chief = basp::node_of(job.chief_node());
  std::vector<basp::stranger> visitors;
  for (const auto& port : job.ports()) {
    if (port.task == chief_task) continue;
    auto& visitor = visitors.emplace_back(port.address);
    const auto entered = visitor.enter(chief, credentials::of_process()->secret);
    BOOST_TEST(!entered, to_string(port.task));
    if (entered) visitor.say(basp::client_handshake(chief, basp::header::select_connection_flag));
  }
  job.check_goes_on("connections in the chief's name");
  job.check_end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::hostile
