// Who can read the secret and the certificates of a job that is started here, and for how long.
#include "support/in_a_child.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>
#include <troupe/runtime/door/credentials.hpp>
#include <troupe/runtime/launch/credentials_for_children.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>

#include <unistd.h>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(credentials_for_children_suite)

namespace {

bool same(const cluster_secret& one, const cluster_secret& other) {
  return one.prove("a", "b") == other.prove("a", "b");
}

boost::test_tools::assertion_result this_user_can_become_another(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer{::geteuid() == 0};
  answer.message() << "skipped: only root can become another user";
  return answer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(children_read_it_as_often_as_they_like) {
  const secret_for_children made;
  const auto own = cluster_secret::read(made.path());
  BOOST_TEST(same(*own, *cluster_secret::read(made.path())));
  BOOST_TEST(in_a_child([&] { return same(*own, *cluster_secret::read(made.path())); }));
}

BOOST_AUTO_TEST_CASE(each_job_has_another_one) {
  const secret_for_children one;
  const secret_for_children other;
  BOOST_TEST(!same(*cluster_secret::read(one.path()), *cluster_secret::read(other.path())));
}

BOOST_AUTO_TEST_CASE(it_is_gone_with_its_owner) {
  std::optional<secret_for_children> made{std::in_place};
  const auto path = made->path();
  made.reset();
  BOOST_CHECK_THROW(cluster_secret::read(path), error);
}

BOOST_AUTO_TEST_CASE(another_user_does_not_read_it, *boost::unit_test::precondition(this_user_can_become_another)) {
  constexpr uid_t nobody = 65534;
  const secret_for_children made;
  BOOST_TEST(in_a_child([&] {
    if (::setuid(nobody) != 0) return false;
    return ::access(made.path().c_str(), R_OK) != 0;
  }));
}

BOOST_AUTO_TEST_CASE(each_job_has_certificates_of_its_own_that_its_processes_use) {
  const certificates_for_children made{"training", {"chief", "worker"}, {"localhost", "127.0.0.1", "::1"}};
  const auto role_of = [&](const std::string& job) {
    auto own = made.environment_of(job);
    return tls_context::load({own[tls_certificate_variable], own[tls_key_variable], own[tls_authority_variable]})
        ->own_role();
  };
  BOOST_TEST((role_of("chief") == certified_role{"training", "chief"}));
  BOOST_TEST((role_of("client") == certified_role{"training", "client"}));
  BOOST_TEST(in_a_child([&] { return role_of("worker") == certified_role{"training", "worker"}; }));
}

BOOST_AUTO_TEST_SUITE_END()
