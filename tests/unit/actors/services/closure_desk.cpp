#include "support/virtual_system.hpp"

#include <troupe/actors/closures/coordinator.hpp>
#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/services/closure_desk.hpp>

#include <boost/test/unit_test.hpp>

#include <map>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(closure_desk_suite)

namespace {

/// A desk whose coordinator has no workers, and what a member hears of its submissions, by their numbers.
struct world : virtual_system {
  struct no_state {};
  using sender = simulated_actor<no_state>;

  void submit(sender& from, std::uint64_t number, duration limit = 1h, duration queue_limit = 0s) {
    from.act([&, self = from.pointer()] {
      self->request(
              desk, 36000s, submit_atom_v, number,
              wire<closure_submission>{
                  {.limit_ns = limit.count(), .priority = 1, .worker = -1, .queue_limit_ns = queue_limit.count()}})
          .then(
              [this, number](wire<closure_outcome>& outcome) {
                BOOST_TEST(outcome->id == number);
                answers[number].push_back(to_string(outcome->ended.code()));
              },
              [this, number](caf::error& why) { answers[number].push_back(to_string(status_of(why).code())); });
    });
  }
  void cancel(sender& from, std::uint64_t number) {
    from.act([&, self = from.pointer()] {
      self->request(desk, 36000s, cancel_atom_v, number).then([this](caf::ok_atom) { ++acknowledged; });
    });
  }

  const std::shared_ptr<submission_queue> queue = std::make_shared<submission_queue>(2);
  const coordinator_actor chief = spawn(coordinator, queue, coordinator_options{}, event_bus_actor{});
  const closure_desk_actor desk = spawn(closure_desk, queue, chief);
  std::map<std::uint64_t, std::vector<std::string>> answers;
  /// Cancellations after which nothing runs any more.
  int acknowledged = 0;
};

using texts = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_desk, world)

// CD-1
BOOST_AUTO_TEST_CASE(answers_each_submission_once_whatever_it_is) {
  sender member{*this};
  submit(member, 1);
  submit(member, 1);
  BOOST_TEST(answers[1] == texts{"invalid_argument"}, boost::test_tools::per_element());
  submit(member, 2, 0s);
  BOOST_TEST(answers[2] == texts{"invalid_argument"}, boost::test_tools::per_element());
  submit(member, 3);
  submit(member, 4);
  BOOST_TEST(answers[4] == texts{"resource_exhausted"}, boost::test_tools::per_element());
  cancel(member, 1);
  cancel(member, 1);
  cancel(member, 77);
  BOOST_TEST(acknowledged == 3);
  const texts both{"invalid_argument", "cancelled"};
  BOOST_TEST(answers[1] == both, boost::test_tools::per_element());
  advance(2h);
  BOOST_TEST(answers[3] == texts{"deadline_exceeded"}, boost::test_tools::per_element());
}

// CD-2: and what they took in the queue is free again.
BOOST_AUTO_TEST_CASE(gives_up_what_a_member_has_scheduled_that_is_lost_and_nothing_else) {
  sender other{*this};
  submit(other, 1);
  {
    sender lost{*this};
    submit(lost, 2);
  }
  submit(other, 3);
  BOOST_TEST(answers[1].empty());
  BOOST_TEST(answers[3].empty());
  submit(other, 4);
  BOOST_TEST(answers[4] == texts{"resource_exhausted"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(lets_what_finds_the_queue_full_wait_in_its_turn_up_to_its_queue_limit) {
  sender member{*this};
  submit(member, 1, 10s);
  submit(member, 2, 20s);
  submit(member, 3, 1h, 15s);
  submit(member, 4, 1h, 15s);
  submit(member, 5, 1h, 15s);
  cancel(member, 4);
  BOOST_TEST(answers[4] == texts{"cancelled"}, boost::test_tools::per_element());
  // The first one has ended: the third one has its place.
  advance(14s);
  submit(member, 6, 1h, 1s);
  advance(2s);
  BOOST_TEST(answers[3].empty());
  BOOST_TEST(answers[5] == texts{"resource_exhausted"}, boost::test_tools::per_element());
  BOOST_TEST(answers[6] == texts{"resource_exhausted"}, boost::test_tools::per_element());
  // And the second: nobody waits any more for what it leaves.
  advance(10s);
  submit(member, 7);
  BOOST_TEST(answers[7].empty());
}

// CD-1, CD-2
BOOST_AUTO_TEST_CASE(answers_what_waits_for_room_when_its_member_or_the_coordinator_is_lost) {
  sender other{*this};
  submit(other, 1, 10s);
  submit(other, 2);
  {
    sender lost{*this};
    submit(lost, 3, 1h, 1h);
  }
  submit(other, 4, 1h, 1h);
  advance(11s);
  BOOST_TEST(answers[4].empty());
  submit(other, 5, 1h, 1h);
  queue->close({status_code::failed_precondition, "over"});
  run();
  BOOST_TEST(answers[5] == texts{"failed_precondition"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(does_not_take_the_numbers_of_one_member_for_those_of_another) {
  sender one{*this};
  sender other{*this};
  submit(one, 1);
  cancel(other, 1);
  BOOST_TEST(answers[1].empty());
  submit(other, 1);
  BOOST_TEST(answers[1].empty());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
