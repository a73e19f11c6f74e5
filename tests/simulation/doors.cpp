// Hosts that speak at each other's doors: who has the secret of a cluster, or its certificate, or another one's.
#include "support/certificate_files.hpp"
#include "support/refusal.hpp"

#include <troupe/actors/fibers/ask.hpp>
#include <troupe/runtime/actors.hpp>
#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/remote_actors.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <memory>
#include <string>

BOOST_AUTO_TEST_SUITE(doors_suite)

using namespace troupe;
using namespace std::chrono_literals;

namespace {

using counter_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<int>>;

constexpr std::uint16_t port = 7000;

counter_actor::behavior_type counter(counter_actor::pointer) {
  return {[count = 0](caf::get_atom) mutable { return ++count; }};
}

const certificate_authority& authority() {
  static const auto made = certificate_authority::make("blue");
  return made;
}

/// With a certificate.
credentials certified(const certificate_files& files, const std::string& cluster = "blue",
                      const certificate_clock& clock = system_time) {
  return {.cluster = cluster, .tls = std::make_shared<const tls_identity>(files.files(), clock)};
}

credentials of(const std::string& cluster, const std::string& secret = {}) {
  return {.cluster = cluster, .secret = secret.empty() ? nullptr : std::make_shared<const cluster_secret>(secret)};
}

const std::string right = "the secret of this cluster";
const std::string wrong = "the secret of another one";

void serve(simulated_host& here) { publish_actor(here.system(), here.spawn(counter), port, 1s); }

int count_at(simulated_host& here, const std::string& host) {
  return ask(remote_actor<counter_actor>(here.system(), host, port, 2s), 1s, caf::get_atom_v);
}

/// How a client with the first credentials gets on with a server that has the second; ok if it is served.
status visit(const credentials& client, const credentials& server) {
  simulated_world world{{.seed = 1}};
  world.host("server", [&](simulated_host& here) {
    here.enter_with(server);
    serve(here);
  });
  status ended{status_code::unknown, "it has not ended"};
  world.host("client", [&](simulated_host& here) {
    here.enter_with(client);
    ended = problem_of([&] { count_at(here, "server"); });
  });
  world.advance(5s);
  return ended;
}

}  // namespace

BOOST_AUTO_TEST_CASE(who_has_the_secret_is_served) {
  BOOST_TEST(visit(of("blue", right), of("blue", right)).ok());
  BOOST_TEST(visit(of("", right), of("blue", right)).ok());
  BOOST_TEST(visit({}, {}).ok());
}

BOOST_AUTO_TEST_CASE(who_has_none_or_another_one_hears_why_and_is_not_served) {
  for (const auto& client : {of("blue", wrong), of("blue")}) {
    const auto why = visit(client, of("blue", right));
    BOOST_TEST((why.code() == status_code::unauthenticated), why.render());
    BOOST_TEST(contains(why.message(), "the door of server:7000"), why.render());
  }
  const auto why = visit(of("blue", right), of("blue"));
  BOOST_TEST(contains(why.render(), "was started without TROUPE_SECRET_FILE"), why.render());
}

BOOST_AUTO_TEST_CASE(who_is_of_another_cluster_hears_both_names) {
  const auto why = visit(of("green", right), of("blue", right));
  BOOST_TEST((why.code() == status_code::failed_precondition), why.render());
  BOOST_TEST(contains(why.render(), "blue"), why.render());
  BOOST_TEST(contains(why.render(), "green"), why.render());
}

BOOST_AUTO_TEST_CASE(who_has_a_certificate_of_the_cluster_is_served) {
  const certificate_files client{authority(), {"blue", "client"}};
  const certificate_files server{authority(), {"blue", "store"}};
  const auto why = visit(certified(client), certified(server));
  BOOST_TEST(why.ok(), why.render());
}

BOOST_AUTO_TEST_CASE(who_has_no_right_certificate_is_left_without_a_word) {
  const certificate_files server{authority(), {"blue", "store"}};
  const auto others = certificate_authority::make("blue");
  const certificate_files foreign{others, {"blue", "client"}};
  const certificate_files expired{authority(), {"blue", "client"}, {.valid_for = -1h, .valid_since = 48h}};
  for (const auto& client : {certified(expired, "blue", yesterday), of("blue")}) {
    const auto why = visit(client, certified(server));
    BOOST_TEST(contains(why.render(), "it closed the connection before it had said"), why.render());
  }
  // He does not believe in the server's either.
  const auto why = visit(certified(foreign), certified(server));
  BOOST_TEST((why.code() == status_code::unauthenticated), why.render());
}

BOOST_AUTO_TEST_CASE(a_client_does_not_pose_as_a_server) {
  const certificate_files client{authority(), {"blue", "client"}};
  const auto why = visit(certified(client), certified(client));
  BOOST_TEST(contains(why.render(), "it serves with the certificate of a client"), why.render());
}

BOOST_AUTO_TEST_CASE(who_says_another_cluster_than_his_certificate_is_refused) {
  const certificate_files client{authority(), {"blue", "client"}};
  const certificate_files server{authority(), {"blue", "store"}};
  const auto why = visit(certified(client, "green"), certified(server));
  BOOST_TEST(contains(why.render(), "its certificate that it is of \"blue\""), why.render());
}

/// As after a change of the secret that has not reached all hosts.
BOOST_AUTO_TEST_CASE(a_host_that_comes_back_with_another_secret_is_nobody_until_it_has_the_right_one) {
  simulated_world world{{.seed = 1}};
  auto secret = right;
  world.host("server", [&](simulated_host& here) {
    here.enter_with(of("blue", secret));
    serve(here);
  });
  auto served = [&world, number = 0]() mutable {
    const auto ended = std::make_shared<status>(status_code::unknown, "it has not ended");
    world.host("client-" + std::to_string(++number), [=](simulated_host& here) {
      here.enter_with(of("blue", right));
      *ended = problem_of([&] { count_at(here, "server"); });
    });
    world.advance(5s);
    return *ended;
  };
  const auto start_again_with = [&](const std::string& another) {
    secret = another;
    world.kill("server");
    world.restart("server");
  };
  BOOST_TEST(served().ok());
  start_again_with(wrong);
  const auto refused = served();
  BOOST_TEST((refused.code() == status_code::unauthenticated), refused.render());
  start_again_with(right);
  BOOST_TEST(served().ok());
}

BOOST_AUTO_TEST_SUITE_END()
