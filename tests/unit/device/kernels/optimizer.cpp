#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/optimizer.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(optimizer_suite)

namespace {

const auto gradient = tensor::of({2.0, -1.0});

/// A variable on a server, with what its optimizer keeps beside it.
struct shard {
  tensor variable = tensor::of({1.0, -2.0});
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;

  void update(const optimizer& rule, int times = 1, const tensor& by = gradient) {
    for (; times > 0; --times) apply(rule, variable, by, slots, step);
  }
};

tensor zeros() { return tensor::of({0.0, 0.0}); }

auto says(std::string part) {
  return [part = std::move(part)](const error& thrown) { return thrown.message().find(part) != std::string::npos; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(an_optimizer)

BOOST_AUTO_TEST_CASE(of_plain_descent_keeps_nothing_but_the_step) {
  shard actual;
  actual.update(optimizer::sgd(0.1), 2);
  auto expected = shard{}.variable;
  for (auto i = 0; i < 2; ++i) sgd_update(expected, gradient, 0.1);
  BOOST_TEST(actual.variable.bitwise_equal(expected));
  BOOST_TEST(actual.slots.empty());
  BOOST_TEST(actual.step == 2);
}

BOOST_AUTO_TEST_CASE(with_momentum_keeps_the_velocity_from_zero) {
  for (const auto nesterov : {false, true}) {
    shard actual;
    actual.update(optimizer::with_momentum(0.1, 0.8, nesterov), 3);
    auto expected = shard{}.variable;
    auto velocity = zeros();
    for (auto i = 0; i < 3; ++i) momentum_update(expected, velocity, gradient, 0.1, 0.8, nesterov);
    BOOST_TEST(actual.variable.bitwise_equal(expected));
    BOOST_TEST(actual.slots.at("momentum").bitwise_equal(velocity));
    BOOST_TEST(actual.slots.size() == 1u);
  }
}

BOOST_AUTO_TEST_CASE(of_adagrad_keeps_the_accumulator_from_its_initial_value) {
  shard actual;
  actual.update(optimizer::adagrad(0.1, 0.3, 1e-6), 3);
  auto expected = shard{}.variable;
  auto accumulator = tensor::of({0.3, 0.3});
  for (auto i = 0; i < 3; ++i) adagrad_update(expected, accumulator, gradient, 0.1, 1e-6);
  BOOST_TEST(actual.variable.bitwise_equal(expected));
  BOOST_TEST(actual.slots.at("accumulator").bitwise_equal(accumulator));
}

BOOST_AUTO_TEST_CASE(of_adam_keeps_both_moments_and_counts_its_steps_from_one) {
  shard actual;
  actual.update(optimizer::adam(0.1, 0.8, 0.95, 1e-6), 3);
  auto expected = shard{}.variable;
  auto m = zeros();
  auto v = zeros();
  for (auto step = 1; step <= 3; ++step) adam_update(expected, m, v, gradient, 0.1, 0.8, 0.95, 1e-6, step);
  BOOST_TEST(actual.variable.bitwise_equal(expected));
  BOOST_TEST(actual.slots.at("m").bitwise_equal(m));
  BOOST_TEST(actual.slots.at("v").bitwise_equal(v));
  BOOST_TEST(actual.step == 3);
}

BOOST_AUTO_TEST_CASE(goes_on_where_its_restored_state_ended) {
  const auto rule = optimizer::adam(0.1);
  shard straight;
  straight.update(rule, 5);
  shard saved;
  saved.update(rule, 2);
  shard restored{saved.variable, saved.slots, saved.step};
  restored.update(rule, 3);
  BOOST_TEST(restored.variable.bitwise_equal(straight.variable));
}

BOOST_AUTO_TEST_CASE(updates_variables_of_single_precision_too) {
  auto variable = tensor::of({1.0f});
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
  apply(optimizer::with_momentum(0.5), variable, tensor::of({1.0f}), slots, step);
  BOOST_TEST(variable.values<float>()[0] == 0.5f);
  BOOST_TEST((slots.at("momentum").get_dtype() == dtype::float32));
}

BOOST_AUTO_TEST_CASE(changes_nothing_for_a_gradient_that_does_not_fit) {
  for (const auto& rule :
       {optimizer::sgd(0.1), optimizer::with_momentum(0.1), optimizer::adagrad(0.1), optimizer::adam(0.1)}) {
    shard target;
    for (const auto& wrong : {tensor::of({1.0, 2.0, 3.0}), tensor::of({1.0f, 2.0f})})
      BOOST_CHECK_EXCEPTION(target.update(rule, 1, wrong), invalid_argument_error,
                            says("does not fit a variable of float64 (2,)"));
    BOOST_TEST(target.variable.bitwise_equal(shard{}.variable));
    BOOST_TEST(target.slots.empty());
    BOOST_TEST(target.step == 0);
  }
}

BOOST_AUTO_TEST_CASE(changes_nothing_when_a_restored_slot_does_not_fit) {
  for (const auto& name : {"m", "v"}) {
    shard target;
    target.slots.emplace(name, tensor::of({1.0}));
    BOOST_CHECK_THROW(target.update(optimizer::adam(0.1)), invalid_argument_error);
    BOOST_TEST(target.variable.bitwise_equal(shard{}.variable));
    BOOST_TEST(target.step == 0);
  }
}

BOOST_AUTO_TEST_CASE(refuses_variables_without_fractions) {
  auto variable = tensor::of({std::int32_t{1}});
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;
  BOOST_CHECK_EXCEPTION(apply(optimizer::sgd(0.1), variable, tensor::of({std::int32_t{1}}), slots, step),
                        invalid_argument_error, says("not int32"));
}

BOOST_AUTO_TEST_CASE(of_a_kind_that_nobody_knows_is_refused) {
  shard target;
  BOOST_CHECK_EXCEPTION(target.update({.kind = static_cast<optimizer_kind>(77)}), invalid_argument_error, says("77"));
  BOOST_TEST(target.step == 0);
}

BOOST_AUTO_TEST_CASE(is_made_only_with_numbers_that_make_sense) {
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto wrong : {0.0, -1.0, nan}) {
    BOOST_CHECK_EXCEPTION(optimizer::sgd(wrong), invalid_argument_error, says("learning rate"));
    BOOST_CHECK_EXCEPTION(optimizer::with_momentum(wrong), invalid_argument_error, says("learning rate"));
    BOOST_CHECK_EXCEPTION(optimizer::adagrad(wrong), invalid_argument_error, says("learning rate"));
    BOOST_CHECK_EXCEPTION(optimizer::adagrad(0.1, 0.1, wrong), invalid_argument_error, says("epsilon"));
    BOOST_CHECK_EXCEPTION(optimizer::adam(0.1, 0.9, 0.999, wrong), invalid_argument_error, says("epsilon"));
  }
  for (const auto wrong : {-0.1, 1.0, nan}) {
    BOOST_CHECK_EXCEPTION(optimizer::with_momentum(0.1, wrong), invalid_argument_error, says("momentum"));
    BOOST_CHECK_EXCEPTION(optimizer::adam(0.1, wrong), invalid_argument_error, says("beta1"));
    BOOST_CHECK_EXCEPTION(optimizer::adam(0.1, 0.9, wrong), invalid_argument_error, says("beta2"));
  }
  for (const auto wrong : {-0.1, nan})
    BOOST_CHECK_EXCEPTION(optimizer::adagrad(0.1, wrong), invalid_argument_error, says("initial accumulator"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
