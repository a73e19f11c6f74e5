// Of which processes `troupe why` takes the secret or the certificate of a job.
#include "../tools/job_credentials.hpp"
#include "support/in_a_child.hpp"

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/cluster/task_environment.hpp>
#include <troupe/runtime/launch/child_process.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <map>
#include <string>

#include <unistd.h>

namespace troupe::tools {

BOOST_AUTO_TEST_SUITE(job_credentials_suite)

namespace {

constexpr uid_t nobody = 65534;

boost::test_tools::assertion_result this_user_can_become_another(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{::geteuid() == 0};
  answer.message() << "skipped: only root can become another user";
  return answer;
}

/// That of no real job: the host's name is this process's number.
task_address address() { return {fmt::format("job-{}.test", ::getpid()), 2222}; }

using variables = std::map<std::string, std::string>;

variables of_member(variables others) {
  others.emplace("TF_CONFIG", fmt::format(R"({{"cluster": {{"chief": ["other.test:1"], "worker": ["{}"]}},
                                             "task": {{"type": "worker", "index": 0}}}})",
                                          to_string(address())));
  return others;
}

/// A process that only waits, with these variables.
child_process waiting(variables environment) {
  return child_process{{.program = "sleep", .arguments = {"600"}, .environment = std::move(environment)}};
}

/// The same, of other users than this one. It starts as the one that is asked for.
child_process waiting_as(uid_t real, uid_t effective, variables environment) {
  // Who a process is passes to its children, the environment of its program, too.
  BOOST_REQUIRE(::setresuid(real, effective, 0) == 0);
  child_process made = waiting(std::move(environment));
  BOOST_REQUIRE(::setresuid(0, 0, 0) == 0);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_member_without_credentials_is_passed_over) {
  const auto without = waiting(of_member({{"TROUPE_TLS_CERTIFICATE", "a.pem"}}));
  const auto other_job = waiting({{"TROUPE_SECRET_FILE", "/other"}});
  const auto with = waiting(of_member({{"TROUPE_SECRET_FILE", "/the/secret"}}));
  BOOST_TEST(credentials_of_job(address()).secret == "/the/secret");
}

BOOST_AUTO_TEST_CASE(a_member_with_certificates_is_found) {
  const auto with = waiting(of_member(
      {{"TROUPE_TLS_CERTIFICATE", "/a.pem"}, {"TROUPE_TLS_KEY", "/a.key"}, {"TROUPE_TLS_CA", "/authority.pem"}}));
  BOOST_TEST((credentials_of_job(address()).tls == tls_files{"/a.pem", "/a.key", "/authority.pem"}));
}

BOOST_AUTO_TEST_CASE(processes_of_other_users_are_not_asked,
                     *boost::unit_test::precondition(this_user_can_become_another)) {
  const auto other = waiting_as(nobody, nobody, of_member({{"TROUPE_SECRET_FILE", "/chosen/by/another"}}));
  BOOST_TEST(credentials_of_job(address()).secret.empty());
  const auto own = waiting(of_member({{"TROUPE_SECRET_FILE", "/the/secret"}}));
  BOOST_TEST(credentials_of_job(address()).secret == "/the/secret");
}

// As a program with the set-user-ID bit: whoever starts it chooses its environment.
BOOST_AUTO_TEST_CASE(a_process_with_this_user_s_rights_that_another_one_started_is_not_asked,
                     *boost::unit_test::precondition(this_user_can_become_another)) {
  const auto other = waiting_as(nobody, 0, of_member({{"TROUPE_SECRET_FILE", "/chosen/by/another"}}));
  BOOST_TEST(credentials_of_job(address()).secret.empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::tools
