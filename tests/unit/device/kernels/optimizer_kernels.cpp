#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(optimizer_kernels_suite)

namespace {

constexpr auto tolerance = 1e-12;

double at(const tensor& x, std::size_t i) { return x.values<double>()[i]; }

bool near(double a, double b) { return std::abs(a - b) <= tolerance; }

}  // namespace

BOOST_AUTO_TEST_CASE(sgd_steps_against_the_gradient) {
  auto x = tensor::of({1.0, -2.0});
  sgd_update(x, tensor::of({0.5, 4.0}), 0.1);
  BOOST_TEST(near(at(x, 0), 0.95));
  BOOST_TEST(near(at(x, 1), -2.4));
}

BOOST_AUTO_TEST_CASE(momentum_carries_the_velocity_on) {
  auto x = tensor::of({1.0});
  auto velocity = tensor::of({0.0});
  const auto gradient = tensor::of({2.0});
  momentum_update(x, velocity, gradient, 0.1, 0.9, false);
  BOOST_TEST(near(at(velocity, 0), -0.2));
  BOOST_TEST(near(at(x, 0), 0.8));
  momentum_update(x, velocity, gradient, 0.1, 0.9, false);
  BOOST_TEST(near(at(velocity, 0), -0.38));
  BOOST_TEST(near(at(x, 0), 0.42));
}

BOOST_AUTO_TEST_CASE(nesterov_momentum_looks_ahead) {
  auto x = tensor::of({1.0});
  auto velocity = tensor::of({0.0});
  momentum_update(x, velocity, tensor::of({2.0}), 0.1, 0.9, true);
  BOOST_TEST(near(at(velocity, 0), -0.2));
  BOOST_TEST(near(at(x, 0), 1.0 + 0.9 * -0.2 - 0.2));
}

BOOST_AUTO_TEST_CASE(adagrad_divides_by_the_root_of_the_summed_squares) {
  auto x = tensor::of({1.0});
  auto sum = tensor::of({0.25});
  adagrad_update(x, sum, tensor::of({-1.5}), 0.1, 0.5);
  BOOST_TEST(near(at(sum, 0), 2.5));
  BOOST_TEST(near(at(x, 0), 1.0 + 0.15 / (std::sqrt(2.5) + 0.5)));
}

BOOST_AUTO_TEST_CASE(adam_follows_its_corrected_moments) {
  auto x = tensor::of({1.0});
  auto m = tensor::of({0.0});
  auto v = tensor::of({0.0});
  // Step 1: m = 0.2, v = 0.004, rate = 0.1 sqrt(0.001) / 0.1, so that the variable moves by nearly 0.1.
  adam_update(x, m, v, tensor::of({2.0}), 0.1, 0.9, 0.999, 1e-7, 1);
  BOOST_TEST(near(at(m, 0), 0.2));
  BOOST_TEST(near(at(v, 0), 0.004));
  const auto first = 1.0 - 0.1 * std::sqrt(0.001) / 0.1 * 0.2 / (std::sqrt(0.004) + 1e-7);
  BOOST_TEST(near(at(x, 0), first));
  // Step 2 with gradient -1: m = 0.2 + 0.1 * -1.2 = 0.08, v = 0.004 + 0.001 * 0.996 = 0.004996.
  adam_update(x, m, v, tensor::of({-1.0}), 0.1, 0.9, 0.999, 1e-7, 2);
  BOOST_TEST(near(at(m, 0), 0.08));
  BOOST_TEST(near(at(v, 0), 0.004996));
  const auto rate = 0.1 * std::sqrt(1 - 0.999 * 0.999) / (1 - 0.9 * 0.9);
  BOOST_TEST(near(at(x, 0), first - rate * 0.08 / (std::sqrt(0.004996) + 1e-7)));
}

BOOST_AUTO_TEST_CASE(float_and_double_agree_on_every_element) {
  const auto count = 37;
  std::vector<float> starts, slopes;
  for (auto i = 0; i < count; ++i) {
    starts.push_back(std::sin(static_cast<float>(i)));
    slopes.push_back(std::cos(static_cast<float>(3 * i)));
  }
  auto narrow = tensor::of<float>({count}, starts);
  const auto narrow_gradient = tensor::of<float>({count}, slopes);
  auto narrow_m = tensor::zeros(dtype::float32, {count});
  auto narrow_v = narrow_m;
  auto broad = cast(narrow, dtype::float64);
  const auto broad_gradient = cast(narrow_gradient, dtype::float64);
  auto broad_m = tensor::zeros(dtype::float64, {count});
  auto broad_v = broad_m;
  for (auto step = 1; step <= 10; ++step) {
    adam_update(narrow, narrow_m, narrow_v, narrow_gradient, 0.01, 0.9, 0.999, 1e-7, step);
    adam_update(broad, broad_m, broad_v, broad_gradient, 0.01, 0.9, 0.999, 1e-7, step);
  }
  for (auto i = std::size_t{0}; i < count; ++i) BOOST_TEST(std::abs(narrow.values<float>()[i] - at(broad, i)) < 1e-4);
}

BOOST_AUTO_TEST_CASE(an_update_is_seen_by_no_holder_of_the_old_value) {
  auto x = tensor::of({1.0});
  const auto snapshot = x;
  sgd_update(x, tensor::of({1.0}), 1.0);
  BOOST_TEST(at(x, 0) == 0.0);
  BOOST_TEST(at(snapshot, 0) == 1.0);
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_fit_are_named_and_nothing_changes) {
  auto x = tensor::of({1.0f, 2.0f});
  auto slot = tensor::of({0.0f, 0.0f});
  const auto gradient = tensor::of({1.0f, 1.0f});
  const auto names = [](std::string text) {
    return [text = std::move(text)](const error& e) { return e.message().find(text) != std::string::npos; };
  };
  BOOST_CHECK_EXCEPTION(sgd_update(x, tensor::of({1.0f}), 1), invalid_argument_error, names("gradient"));
  BOOST_CHECK_EXCEPTION(sgd_update(x, tensor::of({1.0, 1.0}), 1), invalid_argument_error, names("float64"));
  BOOST_CHECK_EXCEPTION(sgd_update(x, x, 1), invalid_argument_error, names("gradient"));
  auto small = tensor::of({0.0f});
  BOOST_CHECK_EXCEPTION(momentum_update(x, small, gradient, 1, 0, false), invalid_argument_error, names("velocity"));
  BOOST_CHECK_EXCEPTION(adagrad_update(x, small, gradient, 1, 0), invalid_argument_error, names("accumulator"));
  BOOST_CHECK_EXCEPTION(adam_update(x, slot, small, gradient, 1, 0.9, 0.999, 0, 1), invalid_argument_error,
                        names("slot v"));
  BOOST_CHECK_EXCEPTION(adam_update(x, slot, slot, gradient, 1, 0.9, 0.999, 0, 0), invalid_argument_error,
                        names("step"));
  auto integer = tensor::of({1, 2});
  BOOST_CHECK_EXCEPTION(sgd_update(integer, integer, 1), invalid_argument_error, names("int32"));
  BOOST_TEST(x.bitwise_equal(tensor::of({1.0f, 2.0f})));
}

BOOST_AUTO_TEST_SUITE_END()
