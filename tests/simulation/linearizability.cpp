// Histories of what clients saw: those that one order explains, and those that none does.
#include "probe.hpp"

#include <troupe/runtime/linearizability.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

BOOST_AUTO_TEST_SUITE(linearizability_suite)

using namespace troupe;

namespace {

using registers = history<register_input<int>, register_output<int>>;
using model = register_model<int>;

bool is_linearizable(const registers& seen) { return !find_violation<model>(seen); }

/// The definition itself: some order that respects what ended before what began gives all answers.
bool some_order_explains(const registers& seen) {
  std::vector<const registers::operation*> all;
  for (const auto& each : seen.operations())
    if (!each.happened_not) all.push_back(&each);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Those that are unknown may be left out: any subset of them.
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i]->end == 0) unknown.push_back(i);
  do {
    for (std::size_t left_out = 0; left_out < std::size_t{1} << unknown.size(); ++left_out) {
      int state = 0;
      std::uint64_t latest_begin = 0;
      auto fits = true;
      for (const auto which : order) {
        const auto found = std::find(unknown.begin(), unknown.end(), which);
        if (found != unknown.end() && (left_out >> (found - unknown.begin()) & 1) != 0) continue;
        const auto& each = *all[which];
        fits = fits && (each.end == 0 || each.end > latest_begin) &&
               model::step(state, each.what, each.answer ? &*each.answer : nullptr);
        latest_begin = std::max(latest_begin, each.begin);
      }
      if (fits) return true;
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_read_that_runs_beside_a_write_may_see_it_or_not_and_a_later_one_must) {
  for (const auto early : {0, 1})
    for (const auto late : {0, 1}) {
      registers seen;
      const auto write = seen.invoke("a", "x", register_write<int>{1});
      const auto first = seen.invoke("b", "x", register_read{});
      seen.ok(first, {.value = early});
      seen.ok(write, {});
      const auto second = seen.invoke("b", "x", register_read{});
      seen.ok(second, {.value = late});
      BOOST_TEST(is_linearizable(seen) == (late == 1));
    }
}

BOOST_AUTO_TEST_CASE(two_reads_one_after_the_other_do_not_see_a_write_undone) {
  registers seen;
  const auto write = seen.invoke("a", "x", register_write<int>{1});
  for (const auto value : {1, 0}) {
    const auto read = seen.invoke("b", "x", register_read{});
    seen.ok(read, {.value = value});
  }
  seen.ok(write, {});
  const auto wrong = find_violation<model>(seen);
  BOOST_TEST_REQUIRE(wrong.has_value());
  BOOST_TEST(contains(*wrong, "no order of the 3 operations on \"x\" explains that b got 0 from a read"), *wrong);
}

BOOST_AUTO_TEST_CASE(an_unknown_write_may_be_seen_late_or_never_and_a_failed_one_never) {
  for (const std::string how : {"unknown", "fail", "silent"})
    for (const auto value : {0, 1}) {
      registers seen;
      const auto write = seen.invoke("a", "x", register_write<int>{1});
      if (how == "unknown") seen.unknown(write);
      if (how == "fail") seen.fail(write);
      for (const auto each : {0, value}) {
        const auto read = seen.invoke("b", "x", register_read{});
        seen.ok(read, {.value = each});
      }
      BOOST_TEST(is_linearizable(seen) == (how != "fail" || value == 0));
    }
}

BOOST_AUTO_TEST_CASE(keys_are_objects_of_their_own) {
  registers seen;
  const auto write = seen.invoke("a", "x", register_write<int>{1});
  seen.ok(write, {});
  const auto read = seen.invoke("a", "y", register_read{});
  seen.ok(read, {.value = 0});
  BOOST_TEST(is_linearizable(seen));
  BOOST_CHECK_THROW(seen.ok(read, {}), failed_precondition_error);
}

BOOST_AUTO_TEST_CASE(an_exchange_is_done_by_one_of_two) {
  for (const auto both : {false, true}) {
    registers seen;
    const auto first = seen.invoke("a", "x", register_exchange<int>{0, 1});
    const auto second = seen.invoke("b", "x", register_exchange<int>{0, 2});
    seen.ok(first, {.done = true});
    seen.ok(second, {.done = both});
    BOOST_TEST(is_linearizable(seen) == !both);
  }
}

BOOST_AUTO_TEST_CASE(the_search_agrees_with_the_definition) {
  std::mt19937_64 random{1};
  auto good = 0;
  constexpr auto histories = 3000;
  for (auto i = 0; i < histories; ++i) {
    registers seen;
    std::vector<registers::ticket> open;
    for (auto made = 0; made < 5 || !open.empty();) {
      const auto begins = made < 5 && (open.empty() || random() % 2 == 0);
      if (begins) {
        ++made;
        const auto kind = random() % 4;
        register_input<int> what = register_read{};
        if (kind == 1) what = register_write<int>{static_cast<int>(random() % 3)};
        if (kind == 2) what = register_exchange<int>{static_cast<int>(random() % 3), static_cast<int>(random() % 3)};
        open.push_back(seen.invoke("c" + std::to_string(made), "x", what));
        continue;
      }
      const auto place = static_cast<std::ptrdiff_t>(random() % open.size());
      const auto which = open[static_cast<std::size_t>(place)];
      open.erase(open.begin() + place);
      const auto end = random() % 8;
      if (end == 0)
        seen.unknown(which);
      else if (end == 1)
        seen.fail(which);
      else
        seen.ok(which, {.value = static_cast<int>(random() % 2), .done = random() % 2 == 0});
    }
    const auto expected = some_order_explains(seen);
    good += expected ? 1 : 0;
    BOOST_TEST_REQUIRE(is_linearizable(seen) == expected, "history " << i);
  }
  BOOST_TEST(good > histories / 10);
  BOOST_TEST(good < histories * 9 / 10);
}

BOOST_AUTO_TEST_CASE(ten_thousand_operations_by_ten_clients_on_ten_keys_take_less_than_a_second) {
  std::mt19937_64 random{2};
  registers seen;
  struct running {
    registers::ticket ticket;
    std::size_t key;
    int write;
    int read;
  };
  std::array<int, 10> values{};
  std::array<std::optional<running>, 10> clients;
  for (auto made = 0; made < 10'000;) {
    const auto client = random() % clients.size();
    auto& own = clients[client];
    if (own) {
      // It has its moment at its end, or had it at its begin.
      if (own->write != 0) values[own->key] = own->write;
      seen.ok(own->ticket, {.value = own->write != 0 ? 0 : own->read});
      own.reset();
      continue;
    }
    ++made;
    const auto key = random() % values.size();
    const auto write = random() % 2 == 0 ? made : 0;
    const auto what =
        write != 0 ? register_input<int>{register_write<int>{write}} : register_input<int>{register_read{}};
    own = running{seen.invoke("c" + std::to_string(client), "k" + std::to_string(key), what), key, write, values[key]};
  }
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(is_linearizable(seen));
  const auto took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST_MESSAGE("took " << std::chrono::duration<double>{took}.count() << " s");
#ifdef NDEBUG
  BOOST_TEST((took < std::chrono::seconds{1}));
#endif
}

BOOST_AUTO_TEST_SUITE_END()
