// Who may enter at the one port of a process, what he hears, and where he goes.
#include "door_test.hpp"
#include "support/certificate_files.hpp"
#include "support/program_log_in_memory.hpp"
#include "support/refusal.hpp"

#include <troupe/runtime/door/door.hpp>
#include <troupe/runtime/door/visit.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <future>
#include <memory>
#include <optional>
#include <semaphore>
#include <string>
#include <vector>

#include <fcntl.h>

using namespace door_test;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(door_suite)

namespace {

const auto right = std::make_shared<const cluster_secret>("the right secret of a cluster");
const auto wrong = std::make_shared<const cluster_secret>("a wrong secret of a cluster");

peer_identity party(std::string cluster, task_id task) {
  return {.cluster = std::move(cluster), .task = std::move(task), .incarnation = 1, .build_id = 0, .system = {}};
}

const peer_identity worker = party("training", {"worker", 1});

door_options options(std::shared_ptr<const cluster_secret> secret, acceptor_options strangers = {}) {
  return {.self = party("training", {"ps", 0}), .secret = std::move(secret), .strangers = std::move(strangers)};
}

/// How a visit ended.
struct outcome {
  channel connection;
  door_hello host;
  status why;
};

/// Visits from a thread of its own.
class visitors {
 public:
  visitors() { loop_.start("visitors"); }
  ~visitors() { loop_.stop(); }
  visitors(const visitors&) = delete;

  outcome visit_door(std::uint16_t port, door_service wanted, const std::shared_ptr<const cluster_secret>& secret,
                     peer_identity who = worker, const std::shared_ptr<const tls_context>& tls = nullptr) {
    std::promise<outcome> ended;
    auto coming = ended.get_future();
    loop_.post([&] {
      visit_ = std::make_unique<visit>(loop_, start_connecting(resolve("127.0.0.1", port).front()),
                                       visitor_side{std::make_unique<visitor_handshake>(wanted, who, secret), tls},
                                       [&](channel connection, const door_hello& host, const status& why) {
                                         ended.set_value(outcome{std::move(connection), host, why});
                                       });
    });
    BOOST_REQUIRE((coming.wait_for(patience) == std::future_status::ready));
    return coming.get();
  }

 private:
  event_loop loop_;
  std::unique_ptr<visit> visit_;
};

/// Keeps who was served.
class service {
 public:
  door::serve taking() {
    return [this](channel connection, const door_hello& visitor) {
      const std::scoped_lock lock{mutex_};
      served_.emplace_back(std::move(connection), visitor);
    };
  }
  std::size_t count() const {
    const std::scoped_lock lock{mutex_};
    return served_.size();
  }
  /// The first of those served.
  std::pair<channel, door_hello> first() {
    const std::scoped_lock lock{mutex_};
    return std::move(served_.front());
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<channel, door_hello>> served_;
};

std::string read_all(const descriptor& from) {
  std::array<char, 1024> bytes{};
  pollfd asked{from.get(), POLLIN, 0};
  ::poll(&asked, 1, static_cast<int>(std::chrono::milliseconds{patience}.count()));
  const auto count = ::recv(from.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

}  // namespace

/// What one of two that have met says to the other.
void check_talk(channel& from, channel& to, const std::string& said) {
  BOOST_TEST(from.send_some(std::as_bytes(std::span{said})).bytes == said.size());
  std::array<char, 100> heard{};
  pollfd asked{to.socket(), POLLIN, 0};
  ::poll(&asked, 1, static_cast<int>(std::chrono::milliseconds{patience}.count()));
  const auto came = to.receive_some(std::as_writable_bytes(std::span{heard}));
  BOOST_TEST((std::string{heard.data(), came.bytes} == said));
}

BOOST_AUTO_TEST_CASE(a_visitor_gets_to_whom_he_wants_and_both_know_who_is_there) {
  service messages;
  service tensors;
  door open{"127.0.0.1", 0, options(right)};
  open.open_for(door_service::messages, messages.taking());
  open.open_for(door_service::tensors, tensors.taking());
  visitors guests;
  auto entered = guests.visit_door(open.port(), door_service::tensors, right);
  BOOST_TEST(entered.why.render() == "ok");
  BOOST_TEST((entered.host.who.task == options(right).self.task));
  BOOST_REQUIRE(comes_true([&] { return tensors.count() == 1; }));
  BOOST_TEST(messages.count() == 0u);
  auto [connection, visitor] = tensors.first();
  BOOST_TEST((visitor.who.task == worker.task));
  BOOST_TEST((visitor.who.proof == identity_proof::secret));
  check_talk(entered.connection, connection, "first");
  check_talk(connection, entered.connection, "answer");
  BOOST_TEST(open.counts().welcomed == 1u);
}

BOOST_AUTO_TEST_CASE(who_may_not_enter_hears_why_and_is_served_by_nobody) {
  service any;
  door open{"127.0.0.1", 0, options(right)};
  open.open_for(door_service::messages, any.taking());
  visitors guests;
  const auto refusal = [&](door_service wanted, const std::shared_ptr<const cluster_secret>& secret,
                           peer_identity who) {
    auto ended = guests.visit_door(open.port(), wanted, secret, std::move(who));
    BOOST_TEST(!ended.connection);
    return ended.why.render();
  };
  BOOST_TEST(refusal(door_service::messages, wrong, worker).starts_with("unauthenticated: "));
  BOOST_TEST(refusal(door_service::messages, nullptr, worker).find("TROUPE_SECRET_FILE") != std::string::npos);
  BOOST_TEST(refusal(door_service::messages, right, party("other", {"worker", 1})).find("\"training\"") !=
             std::string::npos);
  BOOST_TEST(refusal(door_service::tensors, right, worker).find("nobody for tensors") != std::string::npos);
  BOOST_TEST(any.count() == 0u);
  BOOST_TEST(comes_true([&] { return open.counts().refused + open.counts().left == 4; }));
  BOOST_TEST(open.counts().welcomed == 0u);
}

BOOST_AUTO_TEST_CASE(who_is_of_no_cluster_may_enter_and_a_door_of_none_takes_everybody) {
  service any;
  visitors guests;
  door named{"127.0.0.1", 0, options(nullptr)};
  named.open_for(door_service::messages, any.taking());
  BOOST_TEST(guests.visit_door(named.port(), door_service::messages, nullptr, party("", {})).why.render() == "ok");
  door nameless{"127.0.0.1", 0, {.self = party("", {}), .secret = nullptr, .strangers = {}}};
  nameless.open_for(door_service::messages, any.taking());
  BOOST_TEST(guests.visit_door(nameless.port(), door_service::messages, nullptr).why.render() == "ok");
}

BOOST_AUTO_TEST_CASE(a_service_that_has_ended_is_refused_and_one_that_begins_is_served) {
  service any;
  visitors guests;
  door open{"127.0.0.1", 0, options(right)};
  const auto come = [&] { return guests.visit_door(open.port(), door_service::group, right).why.code(); };
  BOOST_TEST((come() == status_code::unavailable));
  open.open_for(door_service::group, any.taking());
  BOOST_TEST((come() == status_code::ok));
  open.close_for(door_service::group);
  BOOST_TEST((come() == status_code::unavailable));
}

BOOST_AUTO_TEST_CASE(a_stranger_who_stops_in_the_middle_or_speaks_another_language_is_closed) {
  door open{"127.0.0.1", 0, options(right, {.first_words_limit = 300ms})};
  const auto words = visitor_handshake{door_service::messages, worker, right}.take_words();
  const auto address = resolve("127.0.0.1", open.port()).front();
  for (const auto& said : {std::string{}, words.substr(0, 5), words, std::string{"GET / HTTP/1.1\r\n\r\n"}}) {
    const descriptor stranger{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    BOOST_REQUIRE(::connect(stranger.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
    ::send(stranger.get(), said.data(), said.size(), MSG_NOSIGNAL);
    std::string heard;
    for (auto more = read_all(stranger); !more.empty(); more = read_all(stranger)) heard += more;
    // The host's proof is for those who have shown theirs.
    BOOST_TEST(heard.size() < 2 * words.size());
  }
  BOOST_TEST(comes_true([&] { return open.counts().timed_out + open.counts().refused == 4; }));
}

/// Of which the host reads no more than the head.
BOOST_AUTO_TEST_CASE(who_speaks_another_version_hears_so_whatever_he_says_then) {
  door open{"127.0.0.1", 0, options(right)};
  const auto address = resolve("127.0.0.1", open.port()).front();
  auto words = visitor_handshake{door_service::messages, worker, right}.take_words();
  words[8] = door_version + 1;
  const descriptor visitor{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  BOOST_REQUIRE(::connect(visitor.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
  ::send(visitor.get(), words.data(), words.size(), MSG_NOSIGNAL);
  BOOST_TEST(read_all(visitor).find("run the same release of troupe on both") != std::string::npos);
  // He is waited for, as long as he says no more than that.
  BOOST_TEST(open.counts().refused == 0u);
  ::send(visitor.get(), words.data(), 1, MSG_NOSIGNAL);
  BOOST_TEST(open.counts().refused == 0u);
  ::shutdown(visitor.get(), SHUT_WR);
  BOOST_TEST(comes_true([&] { return open.counts().refused == 1; }));
}

BOOST_AUTO_TEST_CASE(a_visitor_is_told_when_nobody_answers_as_a_door) {
  host other;
  visitors guests;
  std::optional<outcome> ended;
  ended = guests.visit_door(other.port(), door_service::messages, right);
  BOOST_TEST((ended->why.code() == status_code::unavailable));
  const auto nobody = [] {
    const host gone;
    return gone.port();
  }();
  BOOST_TEST((guests.visit_door(nobody, door_service::messages, right).why.code() == status_code::unavailable));
}

BOOST_AUTO_TEST_CASE(names_that_are_too_long_show_when_the_door_opens) {
  auto large = options(nullptr);
  large.self.cluster = std::string(words_bytes_max, 'x');
  BOOST_CHECK_THROW((door{"127.0.0.1", 0, large}), invalid_argument_error);
}

// --- room -----------------------------------------------------------------------------------------------------------

namespace {

peer_identity process(std::string_view name, task_id task) {
  auto made = party("training", std::move(task));
  std::ranges::copy(name.substr(0, made.system.process.bytes.size()), made.system.process.bytes.begin());
  return made;
}

/// Visits one after the other, and keeps the connections.
class guests_of {
 public:
  explicit guests_of(const door& whom) : port_(whom.port()) {}

  status come(const peer_identity& who, door_service wanted = door_service::messages) {
    auto ended = visitors_.visit_door(port_, wanted, right, who);
    BOOST_TEST(static_cast<bool>(ended.connection) == ended.why.ok());
    if (ended.connection) kept_.push_back(std::move(ended.connection));
    return ended.why;
  }
  /// How many of those kept the host has not ended.
  std::ptrdiff_t open() const {
    return std::ranges::count_if(kept_, [](const channel& each) {
      char byte = 0;
      return ::recv(each.socket(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
    });
  }

 private:
  const std::uint16_t port_;
  visitors visitors_;
  std::vector<channel> kept_;
};

}  // namespace

// OC-2, and the refusal is a part of the handshake: nobody is welcome first.
BOOST_AUTO_TEST_CASE(clients_have_a_quarter_of_the_places_and_hear_when_it_is_full) {
  service any;
  door open{"127.0.0.1", 0, options(right, {.connections_max = 16})};
  open.open_for(door_service::messages, any.taking());
  guests_of guests{open};
  for (auto i = 0; i < 4; ++i) BOOST_TEST(guests.come(process(fmt::format("client {}", i), {})).ok());
  const auto refused = guests.come(process("one more", {}));
  BOOST_TEST((refused.code() == status_code::resource_exhausted));
  BOOST_TEST(contains(refused.render(), "it has 4 open connections of clients"), refused.render());
  for (auto i = 0; i < 12; ++i) BOOST_TEST(guests.come(process(fmt::format("member {}", i), {"worker", i})).ok());
  BOOST_TEST(contains(guests.come(process("one more", {"worker", 12})).render(), "12 open connections of members"));
  BOOST_TEST(any.count() == 16u);
  BOOST_TEST(open.counts().welcomed == 16u);
  BOOST_TEST(comes_true([&] { return open.counts().over_limit == 2; }));
  BOOST_TEST(guests.open() == 16);
}

// OC-3
BOOST_AUTO_TEST_CASE(one_process_leaves_places_to_others) {
  service any;
  door open{"127.0.0.1", 0, options(right, {.connections_max = 64, .peer_connections_max = 2})};
  open.open_for(door_service::messages, any.taking());
  guests_of guests{open};
  const auto greedy = process("greedy", {"worker", 0});
  for (auto i = 0; i < 2; ++i) BOOST_TEST(guests.come(greedy).ok());
  const auto refused = guests.come(greedy);
  BOOST_TEST((refused.code() == status_code::resource_exhausted));
  BOOST_TEST(contains(refused.render(), "it has 2 connections of this process"), refused.render());
  BOOST_TEST(guests.come(process("modest", {"worker", 0})).ok());
  // As a client it has other places, and without a name it is known as its task.
  BOOST_TEST(guests.come(process("greedy", {})).ok());
  for (auto i = 0; i < 2; ++i) BOOST_TEST(guests.come(process("", {"worker", 7})).ok());
  BOOST_TEST(!guests.come(process("", {"worker", 7})).ok());
  // What is closed counts no more.
  static_cast<void>(any.first());
  BOOST_TEST(guests.come(greedy).ok());
}

// OC-4
BOOST_AUTO_TEST_CASE(an_idle_client_gives_its_place_to_the_next_one_and_a_member_does_not) {
  service any;
  door open{"127.0.0.1", 0, options(right, {.connections_max = 8, .client_idle_max = 0ms})};
  open.open_for(door_service::messages, any.taking());
  guests_of guests{open};
  for (auto i = 0; i < 6; ++i) BOOST_TEST(guests.come(process(fmt::format("member {}", i), {"worker", i})).ok());
  for (auto i = 0; i < 2; ++i) BOOST_TEST(guests.come(process(fmt::format("client {}", i), {})).ok());
  BOOST_TEST(guests.open() == 8);
  // Looks for room are some milliseconds apart.
  BOOST_TEST(comes_true([&] { return guests.come(process("next", {})).ok(); }));
  BOOST_TEST(comes_true([&] { return guests.open() == 8; }));
  BOOST_TEST(!guests.come(process("member", {"worker", 6})).ok());
}

// --- under TLS ------------------------------------------------------------------------------------------------------

namespace {

/// Of the cluster "training".
const certificate_authority& authority() {
  static const auto made = certificate_authority::make("training");
  return made;
}

door_options private_options(const certificate_files& own) {
  auto made = options(nullptr);
  made.tls = std::make_shared<const tls_identity>(own.files());
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(under_tls_the_two_talk_in_private) {
  const certificate_files of_server{authority(), {"training", "ps"}};
  const certificate_files of_worker{authority(), {"training", "worker"}};
  service any;
  door open{"127.0.0.1", 0, private_options(of_server)};
  open.open_for(door_service::tensors, any.taking());
  visitors guests;
  auto entered =
      guests.visit_door(open.port(), door_service::tensors, nullptr, worker, tls_context::load(of_worker.files()));
  BOOST_TEST(entered.why.render() == "ok");
  BOOST_REQUIRE(comes_true([&] { return any.count() == 1; }));
  auto [connection, visitor] = any.first();
  BOOST_TEST((visitor.who.task == worker.task));
  BOOST_TEST((visitor.who.proof == identity_proof::certificate));
  BOOST_TEST(visitor.who.certified_role == "worker");
  check_talk(entered.connection, connection, "first");
  check_talk(connection, entered.connection, "answer");
}

BOOST_AUTO_TEST_CASE(processes_that_start_at_once_on_one_machine_lose_no_connection_under_tls) {
  constexpr std::size_t count = 64;
  const certificate_files of_server{authority(), {"training", "ps"}};
  const certificate_files of_worker{authority(), {"training", "worker"}};
  const auto own = tls_context::load(of_worker.files());
  service any;
  door open{"127.0.0.1", 0, private_options(of_server)};
  open.open_for(door_service::messages, any.taking());
  event_loop loop;
  std::vector<std::unique_ptr<visit>> visits;
  std::vector<channel> entered;
  std::counting_semaphore<> ended{0};
  loop.start("visitors");
  loop.post([&] {
    for (std::size_t i = 0; i < count; ++i)
      visits.push_back(std::make_unique<visit>(
          loop, start_connecting(resolve("127.0.0.1", open.port()).front()),
          visitor_side{std::make_unique<visitor_handshake>(door_service::messages, worker, nullptr), own},
          [&](channel connection, const door_hello&, const status& why) {
            if (why.ok()) entered.push_back(std::move(connection));
            ended.release();
          }));
  });
  for (std::size_t i = 0; i < count; ++i) BOOST_TEST(ended.try_acquire_for(patience));
  loop.stop();
  BOOST_TEST(entered.size() == count);
  BOOST_TEST(open.counts().displaced == 0u);
}

//
BOOST_AUTO_TEST_CASE(who_is_in_the_middle_of_tls_gives_no_place_to_silent_ones) {
  const certificate_files of_server{authority(), {"training", "ps"}};
  const certificate_files of_worker{authority(), {"training", "worker"}};
  auto few = private_options(of_server);
  few.strangers.strangers_max = 4;
  const door open{"127.0.0.1", 0, few};
  const auto connected = [&] {
    descriptor made{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const auto address = resolve("127.0.0.1", open.port()).front();
    BOOST_REQUIRE(::connect(made.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) == 0);
    return made;
  };
  const auto begun = connected();
  tls_session session{tls_context::load(of_worker.files()), tls_session::side::visitor, begun.get()};
  ::fcntl(begun.get(), F_SETFL, O_NONBLOCK);
  // Mostly it has to wait for what the server says then.
  auto progress = session.handshake();
  const auto wait = [&] {
    pollfd answer{begun.get(), POLLIN, 0};
    BOOST_REQUIRE(::poll(&answer, 1, static_cast<int>(std::chrono::milliseconds{patience}.count())) == 1);
  };
  if (progress != tls_session::progress::over) wait();
  std::vector<descriptor> silent;
  for (auto i = 0; i < 100; ++i) silent.push_back(connected());
  BOOST_REQUIRE(comes_true([&] { return open.counts().displaced == 98; }));
  while (progress != tls_session::progress::over) {
    wait();
    progress = session.handshake();
  }
  BOOST_TEST(session.result().render() == "ok");
  // It goes on after TLS.
  auto words = visitor_handshake{door_service::messages, worker, nullptr}.take_words();
  BOOST_TEST(session.send_some(std::as_bytes(std::span{words})).bytes == words.size());
  std::array<char, words_head_bytes> heard{};
  stream_progress came;
  BOOST_TEST(comes_true([&] {
    came = session.receive_some(std::as_writable_bytes(std::span{heard}));
    return !came.blocked;
  }));
  BOOST_TEST(came.bytes == words_head_bytes);
}

BOOST_AUTO_TEST_CASE(nobody_comes_as_another_than_his_certificate_says) {
  const certificate_files of_server{authority(), {"training", "ps"}};
  const certificate_files of_worker{authority(), {"training", "worker"}};
  service any;
  door open{"127.0.0.1", 0, private_options(of_server)};
  open.open_for(door_service::messages, any.taking());
  visitors guests;
  const auto come = [&](const peer_identity& who) {
    return guests.visit_door(open.port(), door_service::messages, nullptr, who, tls_context::load(of_worker.files()))
        .why;
  };
  BOOST_TEST(contains(come(party("training", {"chief", 0})).render(), "its certificate is that of a worker"));
  BOOST_TEST(contains(come(party("other", {"worker", 0})).render(), "its certificate that it is of \"training\""));
  BOOST_TEST(contains(come(party("training", {})).render(), "it comes as a client"));
  BOOST_TEST(come(worker).ok());
  BOOST_TEST(comes_true([&] { return any.count() == 1; }));
}

/// An authority of one's own may sign for several clusters.
BOOST_AUTO_TEST_CASE(a_certificate_of_another_cluster_is_refused_by_both_sides_also_if_no_cluster_is_said) {
  const certificate_files here{authority(), {"training", "worker"}};
  const certificate_files elsewhere{authority(), {"other", "worker"}};
  const auto come = [&](const certificate_files& of_host, const certificate_files& of_visitor) {
    service any;
    door open{"127.0.0.1",
              0,
              {.self = party("", {"worker", 0}),
               .secret = nullptr,
               .tls = std::make_shared<const tls_identity>(of_host.files()),
               .strangers = {}}};
    open.open_for(door_service::messages, any.taking());
    visitors guests;
    return guests
        .visit_door(open.port(), door_service::messages, nullptr, party("", {"worker", 1}),
                    tls_context::load(of_visitor.files()))
        .why;
  };
  BOOST_TEST(come(here, here).ok());
  BOOST_TEST(come(elsewhere, elsewhere).ok());
  BOOST_TEST(contains(come(here, elsewhere).render(), "its certificate is of the cluster \"other\""));
  BOOST_TEST(contains(come(elsewhere, here).render(), "of \"other\""));
}

BOOST_AUTO_TEST_CASE(a_visitor_leaves_a_host_that_is_another_than_its_certificate_says) {
  const certificate_files of_worker{authority(), {"training", "worker"}};
  service any;
  door open{"127.0.0.1", 0, private_options(of_worker)};  // says that it is a server
  open.open_for(door_service::messages, any.taking());
  visitors guests;
  const auto ended =
      guests.visit_door(open.port(), door_service::messages, nullptr, worker, tls_context::load(of_worker.files()));
  BOOST_TEST(contains(ended.why.render(), "it comes as a ps, and its certificate is that of a worker"));
  BOOST_TEST(!ended.connection);
}

BOOST_AUTO_TEST_CASE(who_comes_without_a_right_certificate_hears_nothing_and_the_log_has_the_reason) {
  const certificate_files of_server{authority(), {"training", "ps"}};
  const auto others = certificate_authority::make("training");
  const certificate_files foreign{others, {"training", "worker"}};
  const certificate_files expired{authority(), {"training", "worker"}, {.valid_for = -1h, .valid_since = 48h}};
  const program_log_in_memory log;
  door open{"127.0.0.1", 0, private_options(of_server)};
  visitors guests;
  // The foreign one does not believe in the server's either, and goes; the other one is left without a word.
  const auto come = [&](const certificate_files& own, std::chrono::sys_seconds read_at) {
    const auto shown = tls_context::load(own.files(), read_at);
    return guests.visit_door(open.port(), door_service::messages, nullptr, worker, shown).why;
  };
  BOOST_TEST(!come(foreign, system_time()).ok());
  const auto left = come(expired, yesterday());
  BOOST_TEST(contains(left.render(), "it closed the connection before it had said"), left.render());
  BOOST_TEST(!guests.visit_door(open.port(), door_service::messages, nullptr, worker).why.ok());
  BOOST_TEST(comes_true([&] { return open.counts().refused == 3; }));
  BOOST_TEST(contains(log.text(), "certificate has expired"), log.text());
}

BOOST_AUTO_TEST_CASE(a_certificate_that_has_changed_is_shown_to_the_next_who_comes) {
  certificate_files of_server{authority(), {"training", "ps"}};
  const certificate_files of_worker{authority(), {"training", "worker"}};
  service any;
  door open{"127.0.0.1", 0, private_options(of_server)};
  open.open_for(door_service::messages, any.taking());
  visitors guests;
  const auto come = [&] {
    return guests.visit_door(open.port(), door_service::messages, nullptr, worker, tls_context::load(of_worker.files()))
        .why;
  };
  BOOST_TEST(come().ok());
  of_server.change_to(authority().issue({"training", "evaluator"}));
  BOOST_TEST(comes_true([&] { return contains(come().render(), "its certificate is that of a evaluator"); }));
}

BOOST_AUTO_TEST_SUITE_END()
