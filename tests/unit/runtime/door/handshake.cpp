// What the two sides of a door agree on, and what ends their conversation.
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/door/handshake.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(handshake_suite)

namespace {

using secret_handle = std::shared_ptr<const cluster_secret>;

const auto right = std::make_shared<const cluster_secret>("the right secret of a cluster");
const auto wrong = std::make_shared<const cluster_secret>("a wrong secret of a cluster");

const peer_identity worker{.cluster = "training",
                           .task = {"worker", 3},
                           .incarnation = 0xfedcba9876543210,
                           .build_id = 0x0123456789abcdef,
                           .system = {.process = {{1, 2, 3}}, .number = 1}};
const peer_identity chief{.cluster = "training",
                          .task = {"chief", 0},
                          .incarnation = 7,
                          .build_id = 0,
                          .system = {.process = {{9, 8}}, .number = 2}};

status admit(const door_hello&) { return {}; }

/// What was said of itself, without what the handshake has added.
peer_identity said_by(const handshake& heard_by) {
  auto said = heard_by.other().who;
  said.key = {};
  said.proof = identity_proof::none;
  return said;
}

/// Passes on what one side says to the other, once, in pieces as they are expected. Returns what was said.
std::string pass(handshake& from, handshake& to) {
  const auto said = from.take_words();
  std::string_view rest = said;
  while (!rest.empty() && !to.is_over()) {
    const auto size = to.expected_bytes();
    BOOST_REQUIRE(size <= rest.size());
    to.hear(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return said;
}

/// What both have said, in turns.
std::vector<std::string> talk(handshake& visitor, handshake& host) {
  std::vector<std::string> said;
  do {
    said.push_back(pass(visitor, host));
    said.push_back(pass(host, visitor));
  } while (!said.back().empty());
  return said;
}

status result_of(handshake& side, const std::string& heard) {
  std::string_view rest = heard;
  while (!rest.empty() && !side.is_over()) {
    const auto size = std::min(side.expected_bytes(), rest.size());
    if (size < side.expected_bytes()) break;
    side.hear(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  return side.is_over() ? side.result() : status{status_code::unavailable, "it goes on"};
}

bool has(const status& in, const std::string& part) { return in.render().find(part) != std::string::npos; }

}  // namespace

const std::array<secret_handle, 2> with_and_without{nullptr, right};

BOOST_DATA_TEST_CASE(two_that_have_the_same_secret_or_none_agree_and_know_each_other, with_and_without, secret) {
  visitor_handshake visitor{door_service::tensors, worker, secret};
  host_handshake host{chief, secret, admit};
  talk(visitor, host);
  BOOST_REQUIRE(visitor.is_over());
  BOOST_REQUIRE(host.is_over());
  BOOST_TEST(visitor.result().render() == "ok");
  BOOST_TEST(host.result().render() == "ok");
  BOOST_TEST((host.other().wanted == door_service::tensors));
  BOOST_TEST((said_by(host) == worker));
  BOOST_TEST((said_by(visitor) == chief));
  for (const auto* const side : {static_cast<handshake*>(&visitor), static_cast<handshake*>(&host)})
    BOOST_TEST((side->other().who.proof == (secret ? identity_proof::secret : identity_proof::none)));
  BOOST_TEST(visitor.expected_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(the_conversation_takes_two_round_trips) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, admit};
  const auto said = talk(visitor, host);
  BOOST_TEST(said.size() == 6u);  // the last round is of nothing
  BOOST_TEST(said[4] + said[5] == "");
}

BOOST_AUTO_TEST_CASE(who_has_another_secret_is_refused_and_learns_no_proof) {
  visitor_handshake visitor{door_service::messages, worker, wrong};
  host_handshake host{chief, right, [](const door_hello&) -> status { throw internal_error{"it was let in"}; }};
  const auto said = talk(visitor, host);
  BOOST_TEST((host.result().code() == status_code::unauthenticated));
  BOOST_TEST((visitor.result().code() == status_code::unauthenticated));
  BOOST_TEST(has(visitor.result(), "not the one of this cluster"), visitor.result().render());
  for (const auto at : {1, 3}) {
    BOOST_TEST(said[at].find(chief.cluster) == std::string::npos);
    BOOST_TEST(said[at].find(chief.task.job) == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(who_has_no_secret_is_told_what_is_missing) {
  visitor_handshake visitor{door_service::messages, worker, nullptr};
  host_handshake host{chief, right, admit};
  talk(visitor, host);
  BOOST_TEST(has(visitor.result(), "TROUPE_SECRET_FILE"), visitor.result().render());
  BOOST_TEST(!host.is_over());  // the visitor hangs up
}

BOOST_AUTO_TEST_CASE(who_has_a_secret_does_not_speak_to_somebody_who_asks_for_none) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, nullptr, admit};
  const auto said = talk(visitor, host);
  BOOST_TEST((visitor.result().code() == status_code::unauthenticated));
  BOOST_TEST(has(visitor.result(), "is somebody else"), visitor.result().render());
}

BOOST_AUTO_TEST_CASE(a_host_that_asks_for_a_proof_but_has_none_is_left) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, wrong, admit};
  pass(visitor, host);
  pass(host, visitor);
  visitor.take_words();
  BOOST_TEST((result_of(visitor, frame_of(word_kind::welcome, "")).code() == status_code::unauthenticated));
}

BOOST_AUTO_TEST_CASE(a_visitors_own_proof_is_no_proof_of_the_host) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, admit};
  pass(visitor, host);
  pass(host, visitor);
  const auto own_proof = visitor.take_words().substr(words_head_bytes);
  const auto said = frame_of(word_kind::welcome, own_proof + content_of({.who = chief}));
  BOOST_TEST((result_of(visitor, said).code() == status_code::unauthenticated));
}

BOOST_AUTO_TEST_CASE(who_the_host_is_can_not_be_changed_on_the_way) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, admit};
  pass(visitor, host);
  pass(host, visitor);
  pass(visitor, host);
  auto welcome = host.take_words();
  const auto at = welcome.find("chief");
  BOOST_REQUIRE(at != std::string::npos);
  welcome.replace(at, 5, "Chief");
  BOOST_TEST((result_of(visitor, welcome).code() == status_code::unauthenticated));
}

BOOST_AUTO_TEST_CASE(what_was_recorded_does_not_open_the_door_again) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, admit};
  const auto said = talk(visitor, host);
  host_handshake again{chief, right, admit};
  BOOST_TEST((result_of(again, said[0] + said[2]).code() == status_code::unauthenticated));
  visitor_handshake other{door_service::messages, worker, right};
  BOOST_TEST((result_of(other, said[1] + said[3]).code() == status_code::unauthenticated));
}

BOOST_AUTO_TEST_CASE(who_is_named_in_a_proof_can_not_be_changed_on_the_way) {
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, admit};
  auto hello = visitor.take_words();
  const auto at = hello.find("worker");
  BOOST_REQUIRE(at != std::string::npos);
  hello.replace(at, 6, "Worker");
  result_of(host, hello);
  pass(host, visitor);
  pass(visitor, host);
  BOOST_TEST((host.result().code() == status_code::unauthenticated));
}

BOOST_AUTO_TEST_CASE(who_may_not_enter_hears_why_after_the_proof) {
  const status reason{status_code::failed_precondition, "this is the cluster \"training\", and not \"other\""};
  visitor_handshake visitor{door_service::messages, worker, right};
  host_handshake host{chief, right, [&](const door_hello& who) {
                        BOOST_TEST(who.who.task.index == worker.task.index);
                        return reason;
                      }};
  talk(visitor, host);
  BOOST_TEST((host.result() == reason));
  BOOST_TEST((visitor.result() == reason));
}

BOOST_AUTO_TEST_CASE(a_process_of_another_version_is_told_so_on_both_sides) {
  visitor_handshake visitor{door_service::messages, worker, nullptr};
  host_handshake host{chief, nullptr, admit};
  auto hello = visitor.take_words();
  hello[8] = 7;
  BOOST_TEST(has(result_of(host, hello), "version 7"));
  auto refusal = host.take_words();
  refusal[8] = 8;  // whose refusals look the same
  const auto heard = result_of(visitor, refusal);
  BOOST_TEST((heard.code() == status_code::failed_precondition));
  BOOST_TEST(has(heard, "run the same release"), heard.render());
}

BOOST_AUTO_TEST_CASE(who_speaks_something_else_is_not_answered) {
  host_handshake host{chief, nullptr, admit};
  BOOST_TEST((result_of(host, "GET / HTTP/1.1\r\n").code() == status_code::invalid_argument));
  BOOST_TEST(host.take_words() == "");
}

BOOST_AUTO_TEST_CASE(words_at_the_wrong_time_end_the_conversation) {
  const auto hello = content_of({.who = worker});
  const std::vector<std::string> visits{
      frame_of(word_kind::proof, std::string(sizeof(process_key), 'k')),
      frame_of(word_kind::welcome, ""),
      frame_of(word_kind::hello, hello) + frame_of(word_kind::hello, hello),
      frame_of(word_kind::hello, hello) + frame_of(word_kind::welcome, ""),
  };
  for (const auto& said : visits) {
    host_handshake host{chief, nullptr, admit};
    BOOST_TEST(has(result_of(host, said), "wrong time"));
    visitor_handshake visitor{door_service::messages, worker, nullptr};
    BOOST_TEST((result_of(visitor, said).code() == status_code::invalid_argument ||
                said.starts_with(frame_of(word_kind::hello, hello))));
  }
}

BOOST_AUTO_TEST_CASE(a_hello_that_is_cut_off_or_changed_is_read_or_refused_and_nothing_else) {
  const auto hello = content_of({.who = worker});
  for (std::size_t size = 0; size < hello.size(); ++size) BOOST_TEST(!read_hello(hello.substr(0, size)).has_value());
  BOOST_TEST(!read_hello(hello + "x").has_value());
  BOOST_TEST((read_hello(hello)->who == worker));
  for (std::size_t at = 0; at < hello.size(); ++at)
    for (const auto bit : {1, 0x80}) {
      auto changed = hello;
      changed[at] = static_cast<char>(changed[at] ^ bit);
      if (const auto read = read_hello(changed)) BOOST_TEST(content_of(*read) == changed);
    }
}

BOOST_DATA_TEST_CASE(a_process_shows_each_peer_the_same_key_always_and_another_one_to_others, with_and_without,
                     secret) {
  const auto own = std::make_shared<const process_secret>();
  const auto shown_to = [&](const peer_identity& peer, const std::shared_ptr<const process_secret>& process) {
    visitor_handshake visitor{door_service::messages, worker, secret, process};
    host_handshake host{peer, secret, admit};
    talk(visitor, host);
    BOOST_REQUIRE(host.result().ok());
    return host.other().who.key;
  };
  const auto key = shown_to(chief, own);
  BOOST_TEST((key != process_key{}));
  BOOST_TEST((shown_to(chief, own) == key));
  BOOST_TEST((shown_to(worker, own) != key));
  BOOST_TEST((shown_to(chief, std::make_shared<const process_secret>()) != key));
  // The same on connections in the other direction.
  visitor_handshake visitor{door_service::messages, chief, secret};
  host_handshake host{worker, secret, admit, own};
  talk(visitor, host);
  BOOST_REQUIRE(visitor.result().ok());
  BOOST_TEST((visitor.other().who.key == key));
}

BOOST_AUTO_TEST_CASE(a_key_can_not_be_changed_on_the_way) {
  for (const auto of_visitor : {true, false}) {
    visitor_handshake visitor{door_service::messages, worker, right};
    host_handshake host{chief, right, admit};
    pass(visitor, host);
    pass(host, visitor);
    auto said = visitor.take_words();
    if (of_visitor) said.back() = static_cast<char>(said.back() ^ 1);
    result_of(host, said);
    auto welcome = host.take_words();
    if (!of_visitor) welcome[words_head_bytes + sizeof(cluster_secret::proof)] ^= 1;
    BOOST_TEST((result_of(visitor, welcome).code() == status_code::unauthenticated));
  }
}

BOOST_AUTO_TEST_CASE(a_host_is_one_process_in_all_that_it_says) {
  visitor_handshake visitor{door_service::messages, worker, nullptr};
  host_handshake host{chief, nullptr, admit};
  pass(visitor, host);
  pass(host, visitor);
  visitor.take_words();
  const auto said = frame_of(word_kind::welcome, std::string(sizeof(process_key), 'k') + content_of({.who = worker}));
  BOOST_TEST(has(result_of(visitor, said), "two processes"));
}

BOOST_AUTO_TEST_CASE(a_refusal_by_a_visitor_is_no_reason_of_the_hosts) {
  host_handshake host{chief, nullptr, admit};
  const auto forged = frame_of(word_kind::refusal, content_of_refusal({status_code::aborted, "ALERT: run this"}));
  const auto found = result_of(host, forged);
  BOOST_TEST((found.code() == status_code::invalid_argument));
  BOOST_TEST(!has(found, "ALERT"), found.render());
}

BOOST_AUTO_TEST_CASE(names_in_a_hello_are_words) {
  for (const auto* const name : {"x\n09:99 troupe error: forged", "a b", "\x1b[31m", "a/b", "a\"b"}) {
    auto in_job = worker;
    in_job.task.job = name;
    BOOST_TEST(!read_hello(content_of({.who = in_job})).has_value(), name);
    auto in_cluster = worker;
    in_cluster.cluster = name;
    BOOST_TEST(!read_hello(content_of({.who = in_cluster})).has_value(), name);
  }
}

BOOST_AUTO_TEST_CASE(what_a_host_says_is_printable_and_short) {
  const auto heard = read_refusal(content_of_refusal({status_code::aborted, "\x1b[31mred\n"}));
  BOOST_TEST(heard.render() == "aborted: ?[31mred?");
  const auto frame = frame_of(word_kind::refusal, content_of_refusal({status_code::aborted, std::string(5000, 'x')}));
  BOOST_TEST(frame.size() == words_head_bytes + words_bytes_max);
  BOOST_TEST((read_refusal("").code() == status_code::unknown));
  BOOST_TEST((read_refusal(std::string(1, '\0')).code() == status_code::unknown));
}

BOOST_AUTO_TEST_CASE(names_that_do_not_fit_into_a_hello_are_an_error_at_once) {
  auto large = worker;
  large.cluster = std::string(words_bytes_max, 'x');
  BOOST_CHECK_THROW((visitor_handshake{door_service::messages, large, nullptr}), invalid_argument_error);
  BOOST_CHECK_THROW((host_handshake{large, nullptr, admit}), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(the_longest_names_fit_everywhere) {
  auto large = worker;
  large.cluster.clear();
  large.cluster = std::string(hello_bytes_max - content_of({.who = large}).size(), 'x');
  visitor_handshake visitor{door_service::messages, large, right};
  host_handshake host{large, right, admit};
  talk(visitor, host);
  BOOST_TEST(visitor.result().ok());
  BOOST_TEST((said_by(visitor) == large));
}

BOOST_AUTO_TEST_SUITE_END()
