// A job whose processes have certificates: nobody reads what they say, and nobody comes in without one, with one of
// another authority, with one that is over its time, or in a role that is not his.
#include "attacked_job.hpp"
#include "finished_program.hpp"
#include "recorded_job.hpp"
#include "support/refusal.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/visit.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(private_links_suite)

namespace {

using namespace std::chrono_literals;

/// What messages of a job have in them in the clear.
constexpr std::array<std::string_view, 3> telling{"troupe.run_orders", "@strong_actor_ptr", "TROUPE"};

bool is_readable(const basp::recorded_job& recorded) {
  return std::ranges::any_of(recorded.recorders(), [](const auto& each) {
    return std::ranges::any_of(each->heard_with_the_door(), [](const std::string& said) {
      return std::ranges::any_of(telling, [&](std::string_view text) { return said.find(text) != std::string::npos; });
    });
  });
}

/// How a visit to a port ends.
status visit(const task_address& where, const peer_identity& who, const std::shared_ptr<const tls_identity>& shown) {
  struct outcome {
    completion ended;
    status why;
  };
  const auto shared = std::make_shared<outcome>();
  tcp_connector::of_process().connect(where, 10s, words_for(door_service::messages, who, nullptr, shown),
                                      [shared](const channel&, const door_hello&, const status& why) {
                                        shared->why = why;
                                        shared->ended.set();
                                      });
  BOOST_TEST_REQUIRE(shared->ended.block_for(20s));
  return shared->why;
}

std::shared_ptr<const tls_identity> identity(const certificate_files& of,
                                             const certificate_clock& clock = system_time) {
  return std::make_shared<const tls_identity>(of.files(), clock);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_members_say_is_read_by_nobody) {
  {
    basp::recorded_job in_the_clear;
    in_the_clear.job().rate();
    BOOST_TEST(is_readable(in_the_clear));
    in_the_clear.job().check_end();
  }
  basp::recorded_job recorded{attacked_job::security::tls};
  recorded.job().rate();
  BOOST_TEST(!is_readable(recorded));
  recorded.job().check_goes_on("somebody who listens");
  recorded.job().check_end();
}

BOOST_AUTO_TEST_CASE(nobody_enters_without_a_right_certificate) {
  attacked_job job{{}, attacked_job::security::tls};
  const auto& authority = job.certificates().authority();
  const auto other = certificate_authority::make("attacked");
  const certificate_files foreign{other, {"attacked", "worker"}};
  const certificate_files expired{authority, {"attacked", "worker"}, {.valid_for = -1h, .valid_since = 48h}};
  const peer_identity worker{.cluster = "attacked", .task = {"worker", 7}};
  for (const auto& port : job.ports()) {
    BOOST_TEST(!visit(port.address, worker, nullptr).ok(), to_string(port.task));
    BOOST_TEST(!visit(port.address, worker, identity(foreign)).ok(), to_string(port.task));
    BOOST_TEST(!visit(port.address, worker, identity(expired, yesterday)).ok(), to_string(port.task));
  }
  job.processes().wait_for("certificate has expired");
  job.check_goes_on("strangers without certificates");
  job.check_end();
}

BOOST_AUTO_TEST_CASE(a_process_whose_own_certificate_is_over_ends_at_its_start_and_one_that_ends_soon_is_announced) {
  const auto authority = certificate_authority::make("own");
  const auto run = [&](const certificate_terms& terms) {
    const certificate_files own{authority, {"own", "chief"}, terms};
    const auto files = own.files();
    return run_program(COUNTER_PROGRAM, {},
                       {{tls_certificate_variable, files.certificate},
                        {tls_key_variable, files.key},
                        {tls_authority_variable, files.authority}});
  };
  const auto expired = run({.valid_for = -1h, .valid_since = 48h});
  BOOST_TEST(expired.exit == "exit code 2");
  BOOST_TEST(contains(expired.errors, "expired on "), expired.errors);
  const auto ends_soon = run({.valid_for = std::chrono::days{13}});
  BOOST_TEST(ends_soon.exit == "exit code 0");
  BOOST_TEST(contains(ends_soon.errors, "warning: the certificate "), ends_soon.errors);
  BOOST_TEST(contains(ends_soon.errors, "expires on "), ends_soon.errors);
  BOOST_TEST(!contains(run({}).errors, "expires on "));
}

BOOST_AUTO_TEST_CASE(a_worker_is_no_chief_and_of_no_other_cluster) {
  attacked_job job{{}, attacked_job::security::tls};
  const certificate_files own{job.certificates().authority(), {"attacked", "worker"}};
  const auto come = [&](const peer_identity& who) {
    return visit(job.ports().front().address, who, identity(own)).render();
  };
  BOOST_TEST(come({.cluster = "attacked", .task = {"chief", 0}}).find("its certificate is that of a worker") !=
             std::string::npos);
  BOOST_TEST(come({.cluster = "other", .task = {"worker", 7}}).find("its certificate that it is of") !=
             std::string::npos);
  BOOST_TEST(come({.cluster = "attacked", .task = {"worker", 7}}) == "ok");
  job.check_goes_on("a worker in other roles");
  job.check_end();
}

/// What was stolen opens nothing any more, and nobody has to be started again.
BOOST_AUTO_TEST_CASE(certificates_of_another_authority_take_the_place_of_those_of_a_running_job) {
  attacked_job job{{}, attacked_job::security::tls};
  const certificate_files before{job.certificates().authority(), {"attacked", "worker"}};
  const auto next = certificate_authority::make("attacked");
  const certificate_files after{next, {"attacked", "worker"}};
  const peer_identity worker{.cluster = "attacked", .task = {"worker", 7}};
  BOOST_TEST(visit(job.ports().front().address, worker, identity(before)).ok());
  job.certificates().change_to(next);
  for (const auto& port : job.ports()) {
    // The files are looked at again within a second.
    const stopwatch since;
    while (!visit(port.address, worker, identity(after)).ok() && since.elapsed() < process_cluster::patience) {
      job.processes().pass(10ms);
    }
    BOOST_TEST(visit(port.address, worker, identity(after)).ok(), to_string(port.task));
    BOOST_TEST(!visit(port.address, worker, identity(before)).ok(), to_string(port.task));
  }
  job.processes().wait_for("has changed, and is used for new connections");
  job.check_goes_on("another authority");
  job.check_end();
}

BOOST_AUTO_TEST_CASE(a_process_that_has_the_certificate_of_another_role_ends_with_code_2_and_says_so) {
  process_cluster cluster{
      "", {.program = COUNTER_PROGRAM, .certificates = std::make_shared<cluster_certificates>("attacked")}};
  cluster.start(worker_task(0), {}, cluster.config(server_task(0)));
  cluster.wait_for("this process is /job:ps/task:0 by TF_CONFIG, and its certificate");
  BOOST_TEST(to_string(cluster.end_of(worker_task(0))) == "exit code 2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
