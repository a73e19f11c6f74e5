#include "support/virtual_system.hpp"

#include <troupe/actors/fibers/has_ended.hpp>
#include <troupe/actors/offers/actor_interface.hpp>
#include <troupe/actors/offers/directory.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(directory_suite)

namespace {

using probe_actor = caf::typed_actor<caf::replies_to<caf::get_atom>::with<int>>;
using other_actor = caf::typed_actor<caf::replies_to<caf::put_atom>::with<int>>;

const task_id home{"worker", 0};

/// What one member offers, and follows of itself.
struct world : virtual_system {
  /// When links that nobody holds are looked for first.
  static constexpr int many = 64;

  void open() {
    spawn(directory, book, dialer_actor{}, failure_detector_options{});
    run();
  }
  probe_actor begin() {
    return spawn([](probe_actor::pointer) -> probe_actor::behavior_type { return {[](caf::get_atom) { return 1; }}; });
  }
  template <class Actor>
  void offer(const std::string& name, const Actor& actor) {
    book->offer(name, {caf::actor_cast<caf::strong_actor_ptr>(actor), interface_of<Actor>()});
  }
  template <class Actor = probe_actor>
  std::shared_ptr<actor_link> follow(const std::string& name) {
    return book->follow(home, name, interface_of<Actor>());
  }
  /// Of links that nobody holds, all others go.
  void drop_unused_links() {
    for (int i = 0; i <= many; ++i) follow(fmt::format("unused {} of {}", i, ++rounds));
    run();
  }
  template <class Actor>
  void end(const Actor& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
  }

  const std::shared_ptr<address_book> book = std::make_shared<address_book>(home, offer_limits{.offers_max = 8});
  int rounds = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(the_directory, world)

BOOST_AUTO_TEST_CASE(finds_what_was_followed_before_it_began_however_much_that_is) {
  std::vector<std::shared_ptr<actor_link>> held;
  for (int i = 0; i < 2 * many; ++i) held.push_back(follow(fmt::format("probe {}", i)));
  open();
  offer("probe 0", begin());
  run();
  BOOST_TEST((held.front()->now() == actor_link::state::up));
  BOOST_TEST((follow("probe 0") == held.front()));
}

BOOST_AUTO_TEST_CASE(forgets_an_offer_with_its_actor_also_when_nobody_follows_it_any_more) {
  open();
  for (std::size_t i = 0; i <= 2 * book->limits().offers_max; ++i) {
    const auto name = fmt::format("probe {}", i);
    const auto actor = begin();
    offer(name, actor);
    follow(name);
    drop_unused_links();
    end(actor);
    run();
  }
}

BOOST_AUTO_TEST_CASE(forgets_an_offer_whose_actor_ends_before_the_directory_hears_of_it) {
  open();
  for (std::size_t i = 0; i <= 2 * book->limits().offers_max; ++i) {
    const auto actor = begin();
    run();
    // It is the next one that has something to do.
    end(actor);
    offer(fmt::format("probe {}", i), actor);
    run();
    BOOST_TEST(has_ended(actor));
  }
}

BOOST_AUTO_TEST_CASE(leads_one_name_of_an_actor_on_when_another_one_is_not_followed_any_more) {
  open();
  const auto first = begin();
  offer("kept", first);
  offer("dropped", first);
  const auto kept = follow("kept");
  follow("dropped");
  run();
  BOOST_TEST((kept->now() == actor_link::state::up));
  drop_unused_links();
  end(first);
  run();
  BOOST_TEST((kept->now() == actor_link::state::down));
  const auto second = begin();
  offer("kept", second);
  run();
  BOOST_TEST((kept->current() == caf::actor_cast<caf::strong_actor_ptr>(second)));
}

BOOST_AUTO_TEST_CASE(leads_to_the_actor_that_fits_when_it_takes_the_name_of_one_that_does_not) {
  open();
  const auto wrong = begin();
  offer("probe", wrong);
  const auto link = follow<other_actor>("probe");
  run();
  BOOST_TEST((link->why().code() == status_code::failed_precondition));
  book->withdraw("probe");
  const auto right =
      spawn([](other_actor::pointer) -> other_actor::behavior_type { return {[](caf::put_atom) { return 1; }}; });
  offer("probe", right);
  run();
  BOOST_TEST((link->current() == caf::actor_cast<caf::strong_actor_ptr>(right)));
  end(wrong);
  run();
  BOOST_TEST((link->now() == actor_link::state::up));
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()
