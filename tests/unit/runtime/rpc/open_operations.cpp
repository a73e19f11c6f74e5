// The gate of a connection of the layer "grpc".
#include <troupe/runtime/rpc/open_operations.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(open_operations_suite)

namespace {

using namespace std::chrono_literals;
using refusal = open_operations::refusal;

grpc_operation_ptr operation() { return std::make_shared<grpc_operation>("a method"); }

BOOST_AUTO_TEST_CASE(so_many_operations_enter_as_there_are_places_and_a_place_is_free_when_one_leaves) {
  open_operations gate{2};
  std::uint64_t first = 0, second = 0, third = 0;
  BOOST_TEST((gate.enter(operation(), first) == refusal::none));
  BOOST_TEST((gate.enter(operation(), second) == refusal::none));
  BOOST_TEST((gate.enter(operation(), third) == refusal::full));
  BOOST_TEST(first != second);
  {
    const auto last = gate.leave(first);
    // It is still there, but takes no place: whoever hears of its end may begin another one.
    BOOST_TEST((gate.enter(operation(), third) == refusal::none));
  }
  BOOST_TEST(!gate.find(first));
  BOOST_TEST(gate.find(second));
  gate.leave(second);
  gate.leave(third);
  BOOST_TEST(gate.wait_until_empty(0s));
}

BOOST_AUTO_TEST_CASE(nothing_enters_a_closed_gate_and_the_first_who_closes_gets_what_is_open) {
  open_operations gate{10};
  std::uint64_t number = 0;
  const auto open = operation();
  gate.enter(open, number);
  BOOST_TEST(!gate.is_closed());
  const auto left = gate.close();
  BOOST_TEST(gate.is_closed());
  BOOST_REQUIRE(left.size() == 1u);
  BOOST_TEST((left[0] == open));
  BOOST_TEST(gate.close().empty());
  std::uint64_t late = 0;
  BOOST_TEST((gate.enter(operation(), late) == refusal::closed));
  gate.leave(number);
}

BOOST_AUTO_TEST_CASE(an_operation_counts_until_it_is_destroyed) {
  open_operations gate{1};
  std::uint64_t number = 0;
  std::optional<bool> empty_when_destroyed;
  const auto look = [&](call*) { empty_when_destroyed = gate.wait_until_empty(0s); };
  gate.enter(std::make_shared<grpc_operation>("a method", call_ptr{nullptr, look}), number);
  BOOST_TEST(!gate.wait_until_empty(0s));
  {
    const auto last = gate.leave(number);
    BOOST_TEST((*last).method == "a method");
    BOOST_TEST(!gate.wait_until_empty(0s));
    BOOST_TEST(!empty_when_destroyed.has_value());
  }
  BOOST_TEST((empty_when_destroyed == false));
  BOOST_TEST(gate.wait_until_empty(0s));
}

// G-2
BOOST_AUTO_TEST_CASE(who_waits_may_destroy_the_gate_while_the_last_one_leaves) {
  for (auto round = 0; round < 200; ++round) {
    auto gate = std::make_unique<open_operations>(1);
    std::uint64_t number = 0;
    gate->enter(operation(), number);
    std::thread leaving{[&gate = *gate, number] { gate.leave(number); }};
    gate->close();
    BOOST_TEST(gate->wait_until_empty());
    gate.reset();
    leaving.join();
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
