// Several steps of each optimizer on a device, against the same steps on the host: equal bit for bit.
#include "support/test_devices.hpp"

#include <troupe/device/base/error.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(optimizers_on_devices_suite)

namespace {

constexpr auto element_count = 1003;
constexpr auto step_count = 5;

template <class T>
tensor wave(double phase) {
  tensor x = tensor::uninitialised(dtype_of<T>, {element_count});
  auto position = phase;
  for (auto& each : x.mutable_values<T>()) each = static_cast<T>(std::sin(position += 0.1));
  return x;
}

struct state {
  tensor variable;
  tensor first_slot;
  tensor second_slot;

  state copy_to(const std::string& device) const {
    return {variable.copy_to(device), first_slot.copy_to(device), second_slot.copy_to(device)};
  }
  bool operator==(const state& other) const {
    return variable.bitwise_equal(other.variable) && first_slot.bitwise_equal(other.first_slot) &&
           second_slot.bitwise_equal(other.second_slot);
  }
};

template <class T>
bool is_same_as_on_host(const std::function<void(state&, const tensor& gradient, int step)>& update) {
  const auto ones = tensor::full({element_count}, T{1});
  state expected{wave<T>(0), ones, ones};
  auto computed = expected.copy_to(test_device());
  for (auto step = 1; step <= step_count; ++step) {
    const auto gradient = wave<T>(step);
    update(expected, gradient, step);
    update(computed, gradient.copy_to(test_device()), step);
  }
  return computed.copy_to("CPU:0") == expected;
}

void check_same_as_on_host(const std::function<void(state&, const tensor& gradient, int step)>& update) {
  BOOST_TEST(is_same_as_on_host<float>(update));
  BOOST_TEST(is_same_as_on_host<double>(update));
}

}  // namespace

BOOST_AUTO_TEST_CASE(sgd_on_a_device_gives_the_bits_of_the_host) {
  check_same_as_on_host([](state& s, const tensor& gradient, int) { sgd_update(s.variable, gradient, 0.01); });
}

BOOST_AUTO_TEST_CASE(momentum_on_a_device_gives_the_bits_of_the_host) {
  for (const auto nesterov : {false, true}) {
    check_same_as_on_host([nesterov](state& s, const tensor& gradient, int) {
      momentum_update(s.variable, s.first_slot, gradient, 0.01, 0.9, nesterov);
    });
  }
}

BOOST_AUTO_TEST_CASE(adagrad_on_a_device_gives_the_bits_of_the_host) {
  check_same_as_on_host(
      [](state& s, const tensor& gradient, int) { adagrad_update(s.variable, s.first_slot, gradient, 0.01, 1e-7); });
}

BOOST_AUTO_TEST_CASE(adam_on_a_device_gives_the_bits_of_the_host) {
  check_same_as_on_host([](state& s, const tensor& gradient, int step) {
    adam_update(s.variable, s.first_slot, s.second_slot, gradient, 0.001, 0.9, 0.999, 1e-7, step);
  });
}

BOOST_AUTO_TEST_CASE(a_gradient_on_another_device_is_refused) {
  if (!tests_gpus()) return;
  auto variable = wave<float>(0).copy_to(test_device());
  BOOST_CHECK_THROW(sgd_update(variable, wave<float>(0), 0.1), failed_precondition_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
