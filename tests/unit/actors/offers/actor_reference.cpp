#include "support/virtual_system.hpp"

#include <troupe/actors/offers/actor_reference.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(actor_reference_suite)

namespace {

using probe_actor = caf::typed_actor<caf::replies_to<errand>::with<int>>;

/// A reference whose link the test leads where it wants, and an actor that asks over it.
struct world : virtual_system {
  struct no_state {};
  using asking_actor = simulated_actor<no_state>;

  ~world() { link->fall({status_code::failed_precondition, "the cluster has ended"}, true); }

  void ask(asking_actor& asker, duration limit) {
    asker.act([&] {
      reference.request(asker.pointer(), limit, errand{[held = token] {}})
          .then([this](int) { ++answered; }, [this](const status& why) { failed.push_back(to_string(why.code())); });
    });
  }
  void rise() {
    link->rise(caf::actor_cast<caf::strong_actor_ptr>(probe), keeper);
    run();
  }

  const probe_actor probe =
      spawn([](probe_actor::pointer) -> probe_actor::behavior_type { return {[](const errand&) { return 1; }}; });
  const caf::strong_actor_ptr keeper = caf::actor_cast<caf::strong_actor_ptr>(
      spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; }));
  const std::shared_ptr<actor_link> link =
      std::make_shared<actor_link>(task_id{"worker", 0}, "probe", actor_interface{});
  const actor_reference<probe_actor> reference{link};
  /// Each question holds it.
  const std::shared_ptr<int> token = std::make_shared<int>();
  int answered = 0;
  std::vector<std::string> failed;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_reference, world)

BOOST_AUTO_TEST_CASE(of_which_nothing_is_known_yet_sends_its_requests_when_there_is) {
  asking_actor asker{*this};
  ask(asker, 1s);
  ask(asker, duration::max());
  advance(900ms);
  BOOST_TEST(failed.empty());
  rise();
  BOOST_TEST(answered == 2);
  advance(1h);
  BOOST_TEST(answered == 2);
  BOOST_TEST(failed.empty());
}

BOOST_AUTO_TEST_CASE(of_which_nothing_becomes_known_keeps_nothing_of_requests_that_are_over) {
  asking_actor asker{*this};
  for (int i = 0; i < 10; ++i) ask(asker, 1s);
  {
    // Nor of one whose actor ends first.
    asking_actor ending{*this};
    ask(ending, 1h);
    BOOST_TEST(token.use_count() > 11);
  }
  advance(1s);
  BOOST_TEST(failed == std::vector<std::string>(10, "deadline_exceeded"), boost::test_tools::per_element());
  BOOST_TEST(token.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(tells_its_watcher_of_a_loss_that_was_over_before_the_watcher_heard_of_it) {
  asking_actor watching{*this};
  std::vector<std::string> heard;
  watching.act([&] {
    reference.watch(
        watching.pointer(), [&](const probe_actor&) { heard.emplace_back("up"); },
        [&](const status& why) { heard.push_back(to_string(why.code())); });
  });
  rise();
  link->fall({status_code::unavailable, "the link broke"});
  rise();
  const std::vector<std::string> all{"up", "unavailable", "up"};
  BOOST_TEST(heard == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
