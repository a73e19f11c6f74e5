// A child of a supervisor that does not end, since its thread computes: a name leads to its next life all the same.
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/actors/offers/directory.hpp>
#include <troupe/actors/offers/supervision.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(left_behind_suite)

namespace {

/// Says which life it is; computes until it is released; breaks.
using child_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<int>, caf::reacts_to<caf::put_atom>,
                                     caf::reacts_to<caf::delete_atom>>;

struct config : caf::actor_system_config {
  config() { add_troupe_types(*this); }
};

constexpr auto patience = 60s;

}  // namespace

// V-2
BOOST_AUTO_TEST_CASE(the_name_of_a_child_that_was_left_behind_leads_to_its_next_life) {
  // The children use these until the system has waited for their end.
  std::promise<void> computes;
  std::promise<void> release;
  std::promise<std::string> left;
  std::once_flag reported;
  std::atomic<int> lives = 0;
  const auto child = [&](child_actor::pointer) -> child_actor::behavior_type {
    return {[life = ++lives](caf::get_atom) { return life; },
            [&](caf::put_atom) {
              computes.set_value();
              release.get_future().wait_for(patience);
            },
            [](caf::delete_atom) { throw data_loss_error{"broken"}; }};
  };
  config options;
  caf::actor_system system{options};
  const auto context = std::make_shared<member_context>(system, task_id{"worker", 0});
  context->report = [&](const std::string& line) {
    if (line.find("left behind") != std::string::npos) std::call_once(reported, [&] { left.set_value(line); });
  };
  const auto keeper = system.spawn(directory, context->book, dialer_actor{}, failure_detector_options{});
  const member here{context};
  const auto supervisor = here.supervise({.policy = restart_policy::one_for_all, .first_pause = 1ms, .end_limit = 20ms},
                                         {{"stuck", [&](member& at) { return at.spawn<caf::detached>(child); }},
                                          {"fragile", [&](member& at) { return at.spawn(child); }}});
  const auto stuck = here.find<child_actor>(context->book->owner(), "stuck", patience);
  const auto first = ask(stuck, patience, caf::get_atom_v);
  stuck.tell(caf::put_atom_v);
  computes.get_future().wait();
  here.find<child_actor>(context->book->owner(), "fragile", patience).tell(caf::delete_atom_v);
  BOOST_REQUIRE((left.get_future().wait_for(patience) == std::future_status::ready));
  // Whoever looks for it while it still computes finds the next life,
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto found = context->book->find("stuck");
  while (!found && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    found = context->book->find("stuck");
  }
  BOOST_REQUIRE(found);
  BOOST_TEST(ask(caf::actor_cast<child_actor>(found->actor), patience, caf::get_atom_v) > first);
  // and who has found it before follows when it ends.
  release.set_value();
  auto life = first;
  while (life == first && std::chrono::steady_clock::now() < deadline) try {
      life = ask(stuck, patience, caf::get_atom_v);
    } catch (const unavailable_error&) {
    }
  BOOST_TEST(life > first);
  caf::anon_send_exit(supervisor, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(keeper, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_SUITE_END()
