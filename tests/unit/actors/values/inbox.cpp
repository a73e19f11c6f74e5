#include "support/held_transport.hpp"
#include "support/virtual_system.hpp"

#include <troupe/actors/values/inbox.hpp>

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(inbox_suite)

namespace {

struct parcel {
  std::string name;
  tensor content;
};

struct owner_of_inbox {
  explicit owner_of_inbox(caf::event_based_actor*) {}
  std::optional<inbox<int>> messages;
};

const status gone{status_code::unavailable, "the sender is gone"};
const status over{status_code::cancelled, "the session is over"};

/// An actor with an inbox, and what its handlers saw: "name", or "name: why not".
struct post : virtual_system {
  explicit post(const inbox_limits& limits = {}) {
    actor.act([this, limits] { actor->messages.emplace(actor.pointer(), limits); });
  }

  void take(int lane, const std::string& name, tensor content) {
    auto message = from_elsewhere(parcel{name, std::move(content)});
    actor.act([&] {
      actor->messages->take(lane, message, [this, name](wire<parcel>& arrived, const status& problem) {
        if (problem.ok()) BOOST_TEST(arrived->name == name);
        seen.push_back(problem.ok() ? name : name + ": " + problem.message());
        if (then) std::exchange(then, {})();
      });
    });
  }
  void late(int lane, const std::string& name) { take(lane, name, large_tensor()); }
  void small(int lane, const std::string& name) { take(lane, name, tensor::of({1.0f})); }
  void complete(std::size_t fetch) {
    transport->complete(fetch);
    run();
  }
  void check(const std::vector<std::string>& expected) const {
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
  }

  installed_transport transport;
  std::vector<std::string> seen;
  /// Done by the next handler.
  std::function<void()> then;
  simulated_actor<owner_of_inbox> actor{*this};
};

struct small_post : post {
  small_post() : post({.bulk_limit = 3s, .messages_max = 2, .bytes_max = 1 << 30, .lanes_max = 2}) {}
};

struct post_for_few_bytes : post {
  post_for_few_bytes() : post({.bytes_max = 2 * attachment_bytes_min}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(without_late_tensors_a_message_is_handled_at_once, post) {
  small(1, "first");
  small(1, "second");
  check({"first", "second"});
  BOOST_TEST(actor->messages->size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_small_message_waits_for_the_tensors_of_an_earlier_one, post) {  // IB-1
  late(1, "first");
  small(1, "second");
  check({});
  complete(0);
  check({"first", "second"});
  BOOST_TEST(actor->messages->size() == 0u);  // IB-4
  small(1, "third");
  check({"first", "second", "third"});
}

BOOST_FIXTURE_TEST_CASE(tensors_are_fetched_side_by_side_and_handled_one_after_the_other, post) {  // IB-1
  late(1, "first");
  late(1, "second");
  late(1, "third");
  BOOST_REQUIRE(transport->fetches.size() == 3u);
  complete(2);
  complete(0);
  check({"first"});
  complete(1);
  check({"first", "second", "third"});
}

BOOST_FIXTURE_TEST_CASE(lanes_do_not_wait_for_each_other, post) {
  late(1, "slow");
  small(2, "other");
  late(3, "quick");
  check({"other"});
  complete(1);
  check({"other", "quick"});
  BOOST_TEST(actor->messages->waits(1));
  BOOST_TEST(!actor->messages->waits(3));
}

BOOST_FIXTURE_TEST_CASE(what_does_not_arrive_is_handed_over_in_its_place_with_the_reason, post) {  // IB-2
  late(1, "first");
  late(1, "second");
  small(1, "third");
  transport->fail(1, gone);
  run();
  check({});
  complete(0);
  check({"first", "second: the sender is gone", "third"});
}

BOOST_FIXTURE_TEST_CASE(the_end_of_a_lane_hands_over_what_waits_once, post) {  // IB-2
  late(1, "first");
  small(1, "second");
  late(2, "other");
  actor.act([&] { actor->messages->end(1, over); });
  check({"first: the session is over", "second: the session is over"});
  complete(0);
  complete(1);
  check({"first: the session is over", "second: the session is over", "other"});
}

BOOST_FIXTURE_TEST_CASE(a_lane_that_has_ended_may_begin_anew, post) {  // IB-4
  late(1, "old");
  actor.act([&] { actor->messages->end(1, over); });
  late(1, "new");
  complete(0);
  check({"old: the session is over"});
  complete(1);
  check({"old: the session is over", "new"});
}

BOOST_FIXTURE_TEST_CASE(a_handler_may_end_its_own_lane, post) {  // IB-2
  late(1, "first");
  small(1, "second");
  small(1, "third");
  then = [&] { actor->messages->end(1, over); };
  complete(0);
  check({"first", "second: the session is over", "third: the session is over"});
  BOOST_TEST(actor->messages->size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(some_lanes_end_together, post) {
  for (const auto lane : {1, 2, 3, 4}) late(lane, std::to_string(lane));
  actor.act([&] {
    actor->messages->end_from(
        2, [](int lane) { return lane <= 3; }, over);
  });
  check({"2: the session is over", "3: the session is over"});
  actor.act([&] { actor->messages->end_all(gone); });
  check({"2: the session is over", "3: the session is over", "1: the sender is gone", "4: the sender is gone"});
}

BOOST_FIXTURE_TEST_CASE(the_end_of_the_inbox_drops_what_waits, post) {
  late(1, "first");
  small(1, "second");
  actor.act([&] { actor->messages.reset(); });
  complete(0);
  check({});
}

BOOST_FIXTURE_TEST_CASE(too_many_messages_end_their_lane_in_order, small_post) {  // IB-3
  late(1, "first");
  small(1, "second");
  late(2, "other");
  small(1, "third");
  BOOST_REQUIRE(seen.size() == 3u);
  for (const auto i : {0u, 1u, 2u}) BOOST_TEST(seen[i].find("inbox_limits::messages_max") != std::string::npos);
  BOOST_TEST((seen[0].starts_with("first:") && seen[1].starts_with("second:") && seen[2].starts_with("third:")));
  complete(1);
  BOOST_TEST(seen.back() == "other");
}

BOOST_FIXTURE_TEST_CASE(too_many_lanes_are_refused, small_post) {  // IB-3
  late(1, "first");
  late(2, "second");
  late(3, "third");
  BOOST_REQUIRE(seen.size() == 1u);
  BOOST_TEST(seen[0].find("inbox_limits::lanes_max") != std::string::npos);
  BOOST_TEST(transport->fetches.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(too_many_bytes_end_their_lane, post_for_few_bytes) {  // IB-3
  late(1, "first");
  late(1, "second");
  small(1, "third");
  check({});
  late(1, "fourth");
  BOOST_REQUIRE(seen.size() == 4u);
  for (const auto& each : seen) BOOST_TEST(each.find("inbox_limits::bytes_max") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(what_was_handed_over_leaves_room_for_others, post_for_few_bytes) {  // IB-3
  std::vector<std::string> expected{"0"};
  late(1, "0");
  for (std::size_t i = 1; i < 10; ++i) {
    expected.push_back(std::to_string(i));
    late(1, expected.back());
    complete(i - 1);
  }
  complete(9);
  check(expected);
}

BOOST_FIXTURE_TEST_CASE(tensors_are_given_as_long_as_the_limit_says, small_post) {
  late(1, "first");
  BOOST_TEST((transport->fetches.at(0).limit == 3s));
}

BOOST_AUTO_TEST_SUITE_END()
