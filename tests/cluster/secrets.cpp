// A job whose processes have a secret: strangers get refusals and nothing else, at every port and for every service,
// also with what was recorded; and the secret shows nowhere.
#include "attacked_job.hpp"
#include "basp_stranger.hpp"

#include <troupe/actors/fibers/completion.hpp>
#include <troupe/runtime/cluster/tcp_connector.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/door/handshake.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(secrets_suite)

namespace {

using namespace std::chrono_literals;

constexpr std::array<door_service, 3> services{door_service::messages, door_service::tensors, door_service::group};

/// How a visit ends: ok if the stranger may enter.
status visit_of_a_stranger(const task_address& where, door_service wanted,
                           const std::shared_ptr<const cluster_secret>& secret) {
  struct outcome {
    completion ended;
    status why;
  };
  const auto shared = std::make_shared<outcome>();
  tcp_connector::of_process().connect(where, 10s, words_for(wanted, {}, secret),
                                      [shared](const channel&, const door_hello&, const status& why) {
                                        shared->why = why;
                                        shared->ended.set();
                                      });
  BOOST_TEST_REQUIRE(shared->ended.block_for(20s));
  return shared->why;
}

std::string content_of_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_has_no_secret_or_another_one_is_refused_at_every_port_and_the_job_goes_on) {
  attacked_job job{{}, attacked_job::security::secret};
  const auto wrong = std::make_shared<const cluster_secret>("not the secret of the job");
  for (const auto& port : job.ports())
    for (const auto wanted : services) {
      for (const auto& secret : {std::shared_ptr<const cluster_secret>{}, wrong}) {
        const auto why = visit_of_a_stranger(port.address, wanted, secret);
        BOOST_TEST(to_string(why.code()) == "unauthenticated", to_string(port.task) << ": " << why.render());
      }
    }
  job.processes().wait_for("the secret is not the one of this cluster");
  BOOST_TEST(
      visit_of_a_stranger(job.ports().front().address, door_service::messages, credentials::of_process()->secret).ok());
  job.check_goes_on("strangers without the secret");
  job.check_end();
}

/// What CAF's own protocol begins with, which was enough before there were doors.
BOOST_AUTO_TEST_CASE(who_does_not_come_by_the_door_hears_nothing) {
  attacked_job job{{}, attacked_job::security::secret};
  std::mt19937 random{1};
  for (const auto& port : job.ports()) {
    std::vector<basp::stranger> visitors;
    visitors.emplace_back(port.address).say(basp::client_handshake(basp::made_up_node(random)));
    BOOST_TEST(basp::open_after(visitors, 5s) == 0u);
    BOOST_TEST(!basp::stranger{port.address}.greet(basp::made_up_node(random)).has_value());
  }
  job.check_goes_on("strangers of CAF");
  job.check_end();
}

BOOST_AUTO_TEST_CASE(the_secret_shows_nowhere) {
  attacked_job job{{}, attacked_job::security::secret};
  const auto secret = content_of_file(job.processes().secret_file());
  BOOST_TEST_REQUIRE(secret.size() == 64u);
  for (const auto& task : job.processes().tasks()) {
    const auto process = "/proc/" + std::to_string(job.processes().pid(task));
    BOOST_TEST(content_of_file(process + "/cmdline").find(secret) == std::string::npos);
    BOOST_TEST(content_of_file(process + "/environ").find(secret) == std::string::npos);
  }
  job.check_end();
  BOOST_TEST(job.processes().output().find(secret) == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
