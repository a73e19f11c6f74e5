#include "support/refusal.hpp"

#include <troupe/actors/values/value.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/tensor.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(value_suite)

using troupe::contains;
using troupe::decode;
using troupe::encode;
using troupe::message_of;
using troupe::tensor;
using troupe::value;

namespace {

struct point {
  int x = 0;
  float y = 0;
  bool operator==(const point&) const = default;
};

struct other_point {
  int x = 0;
  float y = 0;
};

/// Lives inside its process only.
struct handle {
  std::unique_ptr<int> held;
};

struct message {
  int number = 0;
  std::vector<value> values;
  std::string note;
};

/// Counts its copies and says so.
struct counted {
  static inline int copies = 0;
  counted() = default;
  counted(const counted&) { ++copies; }
  counted(counted&&) noexcept = default;
};

value through_the_wire(const value& x) { return decode<value>(encode(x)); }

tensor large_tensor() { return tensor::full(troupe::shape{100, 1000}, 0.5f); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_is_a_small_handle) { static_assert(sizeof(value) <= 32); }

BOOST_AUTO_TEST_CASE(inside_a_process_an_object_is_shared_and_never_copied) {
  counted::copies = 0;
  const auto first = value::of(counted{});
  const auto second = first;
  BOOST_TEST(first.get<counted>().get() == second.get<counted>().get());
  BOOST_TEST(counted::copies == 0);
}

BOOST_AUTO_TEST_CASE(an_object_outlives_its_value_while_somebody_holds_it) {
  auto held = value::of(std::string(100, 'x')).get<std::string>();
  BOOST_TEST(held->size() == 100u);
}

BOOST_AUTO_TEST_CASE(nothing_is_a_value_too) {
  const auto nothing = value{};
  BOOST_TEST(nothing.empty());
  BOOST_TEST(nothing.type_name() == "nothing");
  BOOST_TEST(through_the_wire(nothing).empty());
  BOOST_TEST(contains(message_of<troupe::invalid_argument_error>([&] { nothing.get<int>(); }), "holds nothing"));
}

BOOST_AUTO_TEST_CASE(a_value_of_a_value_is_that_value) {
  const auto x = value::of(value::of(5));
  BOOST_TEST(*x.get<int>() == 5);
}

BOOST_AUTO_TEST_CASE(another_type_is_refused_with_both_names) {
  for (const auto& x : {value::of(point{1, 2}), through_the_wire(value::of(point{1, 2}))}) {
    const auto text = message_of<troupe::invalid_argument_error>([&] { x.get<other_point>(); });
    BOOST_TEST(contains(text, "asked for a value_suite::(anonymous namespace)::other_point") !=
               contains(text, "asked for a value_suite::{anonymous}::other_point"));
    BOOST_TEST(contains(text, "holds value_suite::(anonymous namespace)::point") !=
               contains(text, "holds value_suite::{anonymous}::point"));
    BOOST_CHECK_THROW(value::of(1.0f).get<double>(), troupe::invalid_argument_error);
    BOOST_CHECK_THROW(through_the_wire(value::of(1.0f)).get<double>(), troupe::invalid_argument_error);
  }
}

BOOST_AUTO_TEST_CASE(an_object_arrives_as_it_was) {
  BOOST_TEST((*through_the_wire(value::of(point{1, 2})).get<point>() == point{1, 2}));
  BOOST_TEST(*through_the_wire(value::of(std::string{"text"})).get<std::string>() == "text");
  const auto infinity = -std::numeric_limits<double>::infinity();
  BOOST_TEST(*through_the_wire(value::of(infinity)).get<double>() == infinity);
  BOOST_TEST(std::isnan(*through_the_wire(value::of(std::nanf("1"))).get<float>()));
  BOOST_TEST(through_the_wire(value::of(large_tensor())).get<tensor>()->bitwise_equal(large_tensor()));
}

BOOST_AUTO_TEST_CASE(values_nest_in_messages_and_in_values) {
  const auto inner = message{1, {value::of(2), value{}, value::of(large_tensor())}, "inner"};
  const auto outer = message{3, {value::of(inner), value::of(std::vector<value>{value::of(point{4, 5})})}, "outer"};
  const auto source = encode(outer);
  BOOST_TEST(source.attachments.size() == 1u);
  const auto arrived = decode<message>(source);
  BOOST_TEST(arrived.note == "outer");
  const auto arrived_inner = arrived.values[0].get<message>();
  BOOST_TEST(*arrived_inner->values[0].get<int>() == 2);
  BOOST_TEST(arrived_inner->values[1].empty());
  BOOST_TEST(arrived_inner->values[2].get<tensor>()->bitwise_equal(large_tensor()));
  BOOST_TEST((*arrived.values[1].get<std::vector<value>>()->front().get<point>() == point{4, 5}));
}

BOOST_AUTO_TEST_CASE(a_value_passes_through_a_process_that_does_not_know_its_type) {
  const auto weights = large_tensor();
  const auto first = encode(message{1, {value::of(point{7, 8}), value::of(weights)}, ""});
  const auto passing = decode<message>(first);
  const auto second = encode(passing);
  BOOST_TEST((second.bytes == first.bytes));
  BOOST_REQUIRE(second.attachments.size() == 1u);
  BOOST_TEST((second.attachments[0].data() == weights.bytes().data()));
  BOOST_TEST((*decode<message>(second).values[0].get<point>() == point{7, 8}));
  BOOST_TEST(passing.values[0].type_name() == value::of(point{}).type_name());
}

BOOST_AUTO_TEST_CASE(a_type_that_cannot_be_encoded_stays_in_its_process) {
  const auto x = value::of(handle{std::make_unique<int>(3)});
  BOOST_TEST(*x.get<handle>()->held == 3);
  const auto text = message_of<troupe::failed_precondition_error>([&] { encode(x); });
  BOOST_TEST(contains(text, "handle"));
  BOOST_TEST(contains(text, "serialize"));
  BOOST_CHECK_THROW(through_the_wire(value::of(1)).get<handle>(), troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(the_size_hint_is_exact_for_what_can_be_encoded) {
  for (const auto& x : {value{}, value::of(1), value::of(large_tensor()),
                        value::of(std::vector<std::string>{"a", "bc"}), through_the_wire(value::of(large_tensor()))}) {
    BOOST_TEST(x.encoded_size_hint() == encode(x).size_bytes());
  }
  BOOST_CHECK_NO_THROW(value::of(handle{}).encoded_size_hint());
}

BOOST_AUTO_TEST_CASE(a_value_above_the_limit_does_not_leave_its_process) {
  const auto before = troupe::value_bytes_max();
  troupe::set_value_bytes_max(1000);
  BOOST_CHECK_THROW(encode(value::of(std::string(2000, 'x'))), troupe::resource_exhausted_error);
  BOOST_CHECK_THROW(encode(value::of(large_tensor())), troupe::resource_exhausted_error);
  troupe::set_value_bytes_max(before);
}

BOOST_AUTO_TEST_CASE(a_damaged_value_is_refused_when_it_arrives_or_when_it_is_read) {
  const auto original = encode(message{1, {value::of(std::vector<point>(5)), value::of(large_tensor())}, "note"});
  auto random = std::mt19937_64{4};
  auto refused = 0;
  for (auto round = 0; round < 5'000; ++round) {
    auto damaged = original;
    if (random() % 4 == 0) damaged.bytes.resize(random() % damaged.bytes.size());
    for (auto flip = 0; flip < 2 && !damaged.bytes.empty(); ++flip) {
      damaged.bytes[random() % damaged.bytes.size()] = static_cast<std::byte>(random());
    }
    try {
      for (const auto& x : decode<message>(damaged).values) {
        if (x.type_name() == value::of(tensor{}).type_name()) x.get<tensor>();
        if (!x.empty()) x.get<std::vector<point>>();
      }
    } catch (const troupe::data_loss_error&) {
      ++refused;
    } catch (const troupe::invalid_argument_error&) {
      ++refused;
    }
  }
  BOOST_TEST(refused > 500);
}

BOOST_AUTO_TEST_SUITE_END()
