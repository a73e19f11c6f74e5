// Who agrees under TLS, who does not, and why.
#include "support/certificate_files.hpp"
#include "support/refusal.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/certificate_authority.hpp>
#include <troupe/runtime/door/tls_session.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include <sys/socket.h>

using namespace troupe;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tls_session_suite)

namespace {

const certified_role chief{"training", "chief"};
const certified_role worker{"training", "worker"};

const certificate_authority& authority() {
  static const auto made = certificate_authority::make("training");
  return made;
}

class shown : public certificate_files {
 public:
  explicit shown(const certificate_and_key& own) : certificate_files(own, authority()) {}
  shown(const certificate_and_key& own, const certificate_authority& believed) : certificate_files(own, believed) {}
  std::shared_ptr<const tls_context> load(std::chrono::sys_seconds now = system_time()) const {
    return tls_context::load(files(), now);
  }
};

struct connection {
  connection() {
    BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) == 0);
  }
  ~connection() {
    for (const auto each : ends) ::close(each);
  }
  std::array<int, 2> ends{};
};

struct pair {
  pair(const shown& of_visitor, const shown& of_host, std::chrono::sys_seconds visitor_reads_at = system_time())
      : visitor(of_visitor.load(visitor_reads_at), tls_session::side::visitor, line.ends[0]),
        host(of_host.load(), tls_session::side::host, line.ends[1]) {}

  /// Until neither goes on.
  void agree() {
    auto visitor_is_over = false;
    auto host_is_over = false;
    for (auto turns = 0; turns < 10 && !(visitor_is_over && host_is_over); ++turns) {
      if (!visitor_is_over) visitor_is_over = visitor.handshake() == tls_session::progress::over;
      if (!host_is_over) host_is_over = host.handshake() == tls_session::progress::over;
    }
    BOOST_TEST(visitor_is_over);
    BOOST_TEST(host_is_over);
  }

  connection line;
  tls_session visitor;
  tls_session host;
};

}  // namespace

BOOST_AUTO_TEST_CASE(two_of_one_cluster_agree_and_know_each_others_roles) {
  pair two{shown{authority().issue(worker)}, shown{authority().issue(chief)}};
  two.agree();
  BOOST_TEST(two.visitor.result().ok());
  BOOST_TEST(two.host.result().ok());
  BOOST_TEST((two.visitor.peer() == chief));
  BOOST_TEST((two.host.peer() == worker));
}

BOOST_AUTO_TEST_CASE(what_is_said_arrives_and_is_not_read_on_the_way) {
  pair two{shown{authority().issue(worker)}, shown{authority().issue(chief)}};
  two.agree();
  const std::string said = "a secret of the two";
  BOOST_TEST(two.visitor.send_some(std::as_bytes(std::span{said})).bytes == said.size());
  std::array<char, 1000> on_the_way{};
  const auto seen = ::recv(two.line.ends[1], on_the_way.data(), on_the_way.size(), MSG_PEEK);
  BOOST_REQUIRE(seen > 0);
  BOOST_TEST((std::string{on_the_way.data(), static_cast<std::size_t>(seen)}.find(said) == std::string::npos));
  std::array<char, 100> heard{};
  const auto came = two.host.receive_some(std::as_writable_bytes(std::span{heard}));
  BOOST_TEST((std::string{heard.data(), came.bytes} == said));
  BOOST_TEST(two.host.receive_some(std::as_writable_bytes(std::span{heard})).blocked);
}

/// OpenSSL's own sockets would end the process by SIGPIPE.
BOOST_AUTO_TEST_CASE(what_is_said_to_somebody_who_has_gone_is_an_error) {
  pair two{shown{authority().issue(worker)}, shown{authority().issue(chief)}};
  two.agree();
  ::shutdown(two.line.ends[1], SHUT_RDWR);
  const std::string said = "anybody there?";
  BOOST_TEST(two.visitor.send_some(std::as_bytes(std::span{said})).broken);
  std::array<char, 100> heard{};
  BOOST_TEST(two.visitor.receive_some(std::as_writable_bytes(std::span{heard})).broken);
}

BOOST_AUTO_TEST_CASE(a_certificate_of_another_authority_is_refused_with_a_reason) {
  const auto other = certificate_authority::make("training");
  pair two{shown{other.issue(worker)}, shown{authority().issue(chief)}};
  two.agree();
  BOOST_TEST(contains(two.host.result().render() + two.visitor.result().render(), "certificate"));
  BOOST_TEST(!two.host.result().ok());
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_over_its_time_is_refused_with_a_reason) {
  const auto old = authority().issue(worker, {.valid_for = -1h, .valid_since = 48h});
  pair two{shown{old}, shown{authority().issue(chief)}, yesterday()};
  two.agree();
  BOOST_TEST(contains(two.host.result().render(), "expired"), two.host.result().render());
  // That is for the host's log: nothing is said to the visitor, not even that he is refused.
  std::array<char, 100> heard{};
  BOOST_TEST(two.visitor.receive_some(std::as_writable_bytes(std::span{heard})).blocked);
}

BOOST_AUTO_TEST_CASE(files_that_are_none_or_do_not_belong_together_are_named) {
  const auto own = authority().issue(worker);
  const auto other = authority().issue(worker);
  const shown swapped{{own.certificate, other.key}};
  BOOST_TEST(contains(problem_of([&] { swapped.load(); }).render(), swapped.files().key));
  const shown none{{"nonsense", own.key}};
  BOOST_TEST(contains(problem_of([&] { none.load(); }).render(), none.files().certificate));
  BOOST_TEST(contains(problem_of([&] {
                        tls_context::load({"/nowhere", "/nowhere", "/nowhere"});
                      }).render(),
                      "troupe certs"));
  const shown good{own};
  ::chmod(good.files().key.c_str(), 0644);
  BOOST_TEST((problem_of([&] { good.load(); }).code() == status_code::permission_denied));
}

// Peers would refuse it, and tell nobody why.
BOOST_AUTO_TEST_CASE(an_own_certificate_that_is_not_valid_now_is_refused_with_its_file_and_time) {
  const shown expired{authority().issue(worker, {.valid_for = -1h, .valid_since = 48h})};
  const auto end = to_utc_text(expired.load(yesterday())->validity().end);
  const auto why = problem_of([&] { expired.load(); });
  BOOST_TEST((why.code() == status_code::invalid_argument));
  for (const auto& part : {expired.files().certificate, "expired on " + end, std::string{"troupe certs"}})
    BOOST_TEST(contains(why.message(), part), why.message());
  const shown early{authority().issue(worker, {.valid_since = -1h})};
  const auto wait = problem_of([&] { early.load(); });
  BOOST_TEST((wait.code() == status_code::invalid_argument));
  const auto begin = to_utc_text(early.load(system_time() + 2h)->validity().begin);
  for (const auto& part : {early.files().certificate, "only from " + begin, std::string{"troupe certs"}})
    BOOST_TEST(contains(wait.message(), part), wait.message());
}

BOOST_AUTO_TEST_CASE(an_authority_is_read_again_and_issues_as_before) {
  const auto again = certificate_authority::read(authority().own());
  pair two{shown{again.issue(worker)}, shown{authority().issue(chief)}};
  two.agree();
  BOOST_TEST(two.host.result().ok(), two.host.result().render());
  const auto other = certificate_authority::make("training");
  BOOST_CHECK_THROW(certificate_authority::read({authority().own().certificate, other.own().key}),
                    invalid_argument_error);
  BOOST_CHECK_THROW(certificate_authority::read(authority().issue(worker)), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(names_of_roles_are_uris) {
  BOOST_TEST(to_uri(worker) == "troupe://training/worker");
  BOOST_TEST((role_of_uri("troupe://training/worker") == worker));
  for (const auto* const wrong : {"", "troupe://", "troupe://training", "troupe://training/", "troupe:///worker",
                                  "http://training/worker", "troupe://training/worker/0/1", "troupe://a b/worker"})
    BOOST_TEST(!role_of_uri(wrong).has_value());
  BOOST_CHECK_THROW(authority().issue({"a,DNS:evil", "worker"}), invalid_argument_error);
  BOOST_CHECK_THROW(authority().issue(worker, {.hosts = {"a,DNS:evil"}}), invalid_argument_error);
}

BOOST_AUTO_TEST_SUITE_END()
