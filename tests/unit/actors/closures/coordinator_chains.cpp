// Closures that take each other's remote values, and what the coordinator keeps of those that have ended.
#include "office.hpp"

#include <boost/test/unit_test.hpp>

#include <malloc.h>

using namespace std::chrono_literals;
using namespace troupe;

BOOST_AUTO_TEST_SUITE(coordinator_chains_suite)

namespace {

struct small_office : office {
  small_office() { up(); }

  /// Each but the first takes the one before.
  std::vector<std::shared_ptr<closure>> chain(std::size_t length) {
    std::vector<std::shared_ptr<closure>> all;
    all.push_back(make());
    while (all.size() < length) all.push_back(make({}, {{.producer = all.back()}}));
    for (const auto& each : all) push(each);
    run();
    return all;
  }
};

const status broken{status_code::out_of_range, "row 7 of 5"};
constexpr std::size_t long_chain = 300'000;

}  // namespace

BOOST_FIXTURE_TEST_CASE(all_of_a_long_chain_of_closures_end_with_the_cause_when_the_first_fails, small_office) {
  auto all = chain(long_chain);
  BOOST_REQUIRE(heard().orders.size() == 1u);
  const auto& answer = join();
  end(0, 0, broken);
  BOOST_TEST(answer.given);
  std::size_t with_cause = 0;
  for (const auto& each : all)
    with_cause += each->ended() && each->end_status().code() == status_code::out_of_range &&
                          each->end_status().render().find("row 7 of 5") != std::string::npos
                      ? 1u
                      : 0u;
  BOOST_TEST(with_cause == all.size());
  // The last one is the only one that anybody holds.
  all.erase(all.begin(), all.end() - 1);
}

BOOST_FIXTURE_TEST_CASE(all_of_a_long_chain_of_closures_are_cancelled_with_the_first, small_office) {
  const auto all = chain(long_chain);
  cancel(all.front());
  BOOST_TEST((all.back()->state() == closure::readiness::aborted));
}

BOOST_AUTO_TEST_CASE(a_long_chain_of_closures_ends_with_their_coordinator) {
  std::shared_ptr<closure> last;
  {
    small_office here;
    last = here.chain(long_chain).back();
  }
  BOOST_TEST((last->state() == closure::readiness::aborted));
}

// --- what has ended ---

BOOST_FIXTURE_TEST_CASE(a_closure_that_has_ended_takes_no_memory_until_its_limit, small_office) {
  constexpr std::size_t count = 20'000;
  const auto run_some = [&] {
    for (std::size_t i = 0; i < count; ++i) {
      push(make({.limit = i % 2 == 0 ? 1min : 1h}));
      if (i % 1000 != 999) continue;
      run();
      while (!heard().orders.empty()) {
        run_outcomes all;
        for (const auto& [_, id] : std::exchange(heard().orders, {})) all.outcomes.push_back({.id = id});
        send(session(), std::move(all));
      }
    }
  };
  run_some();
  const auto before = ::mallinfo2().uordblks;
  for (int i = 0; i < 5; ++i) run_some();
  BOOST_TEST(join().given);
  const auto grown = ::mallinfo2().uordblks > before ? ::mallinfo2().uordblks - before : 0;
  BOOST_TEST(grown < count * 5 * 16);
}

BOOST_AUTO_TEST_SUITE_END()
