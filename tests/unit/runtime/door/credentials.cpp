// Where credentials come from, and where a port may be open with them.
#include "support/environment_variable.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"
#include "support/temporary_file.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/credentials.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(credentials_suite)

namespace {

const std::string text = "the text of a secret";
const std::string other_text = "the text of another secret";

bool holds(const credentials& read, const std::string& expected) {
  return read.secret && read.secret->prove("a", "b") == cluster_secret{expected}.prove("a", "b");
}

/// Why a port may not be open there; empty: it may.
template <class Check>
std::string refusal(Check check, const credentials& with, const std::string& host) {
  try {
    check(with, host);
  } catch (const permission_denied_error& refused) {
    return refused.message();
  }
  return {};
}

credentials with_secret() { return {.secret = std::make_shared<const cluster_secret>(text)}; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_environment_says_who_a_process_is) {
  const auto nobody = credentials::from_environment();
  BOOST_TEST(nobody.cluster.empty());
  BOOST_TEST(nobody.secret == nullptr);
  BOOST_TEST(!nobody.insecure);
  const temporary_file file{text + "\n"};
  const environment_variable cluster{cluster_variable, "blue"};
  const environment_variable secret{secret_variable, file.path()};
  const environment_variable insecure{insecure_variable, "1"};
  const auto somebody = credentials::from_environment();
  BOOST_TEST(somebody.cluster == "blue");
  BOOST_TEST(holds(somebody, text));
  BOOST_TEST(somebody.insecure);
}

BOOST_AUTO_TEST_CASE(a_file_that_was_given_by_name_goes_before_the_environments) {
  const temporary_file file{other_text};
  const environment_variable secret{secret_variable, "/nowhere"};
  BOOST_TEST(holds(credentials::from_environment({.secret = file.path()}), other_text));
}

BOOST_AUTO_TEST_CASE(a_wrong_value_in_the_environment_is_named) {
  {
    const environment_variable insecure{insecure_variable, "yes"};
    BOOST_CHECK_EXCEPTION(credentials::from_environment(), invalid_argument_error, [](const error& wrong) {
      return contains(wrong.message(), "TROUPE_INSECURE is \"yes\"; expected 1");
    });
  }
  const environment_variable secret{secret_variable, "/nowhere"};
  BOOST_CHECK_EXCEPTION(credentials::from_environment(), not_found_error,
                        [](const error& wrong) { return contains(wrong.message(), "/nowhere"); });
}

BOOST_AUTO_TEST_CASE(without_a_secret_a_port_is_open_on_loopback_only) {
  for (const auto* host : {"127.0.0.1", "127.0.0.9", "localhost"})
    BOOST_TEST(refusal(check_may_listen, {}, host).empty(), host);
  for (const auto* host : {"", "0.0.0.0", "::"}) {
    const auto why = refusal(check_may_listen, {}, host);
    BOOST_TEST(contains(why, "TROUPE_SECRET_FILE"), host << ": " << why);
    BOOST_TEST(contains(why, "TROUPE_INSECURE=1"), host << ": " << why);
    BOOST_TEST(refusal(check_may_listen, with_secret(), host).empty(), host);
  }
}

BOOST_AUTO_TEST_CASE(a_secret_opens_no_port_of_grpc_whose_clients_know_none) {
  BOOST_TEST(refusal(check_may_listen_for_grpc, with_secret(), "127.0.0.1").empty());
  BOOST_TEST(contains(refusal(check_may_listen_for_grpc, with_secret(), "0.0.0.0"), "TROUPE_INSECURE=1"));
  BOOST_TEST(refusal(check_may_listen_for_grpc, {.insecure = true}, "0.0.0.0").empty());
}

BOOST_AUTO_TEST_CASE(who_lets_everybody_in_reads_what_that_means_once) {
  const program_log_in_memory log;
  check_may_listen(with_secret(), "");
  check_may_listen({.insecure = true}, "127.0.0.1");
  BOOST_TEST(log.text().empty());
  check_may_listen({.insecure = true}, "");
  const auto line = log.text();
  BOOST_TEST(contains(line, "whoever reaches it can"), line);
  check_may_listen({.insecure = true}, "");
  BOOST_TEST(log.text() == line);
}

BOOST_AUTO_TEST_SUITE_END()
