// What a program hears that names a GPU where there is none. With a GPU, the cases are skipped.
#include <troupe/device/accelerators/accelerators.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/device_communicator.hpp>
#include <troupe/device/collectives/internal/through_host_communicator.hpp>
#include <troupe/device/collectives/thread_communicator.hpp>
#include <troupe/device/cuda/cuda_device.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/device/kernels/matmul.hpp>
#include <troupe/device/kernels/optimizer_kernels.hpp>
#include <troupe/device/kernels/reduction.hpp>
#include <troupe/device/tensor/dlpack.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(gpu_errors_suite)

namespace {

boost::test_tools::assertion_result no_gpu(boost::unit_test::test_unit_id) {
  return cuda::physical_device_count() == 0;
}

// The message names the device, says why, and says what to do instead.
bool is_helpful(const unavailable_error& e) {
  const auto has = [&](std::string_view part) { return e.message().find(part) != std::string::npos; };
  return has("\"GPU:0\"") && (has("no CUDA device") || has("without CUDA")) && has("use \"CPU:0\"");
}

tensor on_gpu() {
  return tensor::from_buffer(dtype::float32, {2}, buffer::adopt(nullptr, "not real GPU memory", 8, "GPU:0"));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(without_a_gpu, *boost::unit_test::precondition(no_gpu))

BOOST_AUTO_TEST_CASE(there_are_no_devices_to_list) { BOOST_TEST(gpu_names().empty()); }

BOOST_AUTO_TEST_CASE(tensors_cannot_be_made_there) {
  const auto x = tensor::zeros(dtype::float32, {2});
  BOOST_CHECK_EXCEPTION(x.copy_to("GPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(tensor::zeros(dtype::float32, {2}, "GPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(tensor::uninitialised(dtype::float32, {2}, "GPU:0"), unavailable_error, is_helpful);
}

BOOST_AUTO_TEST_CASE(tensors_that_claim_to_be_there_cannot_be_worked_on) {
  auto x = on_gpu();
  auto velocity = on_gpu();
  BOOST_CHECK_EXCEPTION(x.copy_to("CPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(x.mutable_data(), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(add_in_place(x, x), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(fill(x, 0), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(cast(x, dtype::int32), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(reduce_sum(x), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(momentum_update(x, velocity, on_gpu(), 0.1, 0.9, false), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(concatenate(std::vector{x, x}, 0), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(to_dlpack(x), unavailable_error, is_helpful);
  const auto matrix = x.reshape({2, 1});
  BOOST_CHECK_EXCEPTION(matmul(matrix, matrix, {.of_a = true}), unavailable_error, is_helpful);
}

BOOST_AUTO_TEST_CASE(devices_cannot_be_asked) {
  BOOST_CHECK_EXCEPTION(describe_device("GPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(synchronize_device("GPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(cuda::stream_of("GPU:0"), unavailable_error, is_helpful);
  BOOST_CHECK_EXCEPTION(accelerator_of("GPU:0"), unavailable_error, is_helpful);
}

BOOST_AUTO_TEST_CASE(groups_cannot_be_made_there) {
  const std::vector<std::string> devices{"GPU:0", "CPU:0"};
  BOOST_CHECK_EXCEPTION(make_local_communicators(devices), unavailable_error, is_helpful);
}

BOOST_AUTO_TEST_CASE(the_other_ranks_hear_that_a_rank_has_no_gpu) {
  using namespace std::chrono_literals;
  auto through_host = make_thread_communicators(2);
  BOOST_CHECK_THROW(make_through_host_communicator(std::move(through_host[0]), "GPU:0"), unavailable_error);
  BOOST_CHECK_THROW(through_host[1]->barrier(1min), unavailable_error);

  BOOST_CHECK_THROW(make_device_communicators(make_thread_communicators(2), {"GPU:0", "GPU:1"}), unavailable_error);
}

BOOST_AUTO_TEST_CASE(pinned_memory_is_ordinary_memory) {
  auto memory = allocate_pinned(100);
  BOOST_TEST(memory.on_host());
  BOOST_TEST(memory.mutable_data() != nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_number_of_logical_devices_below_one_is_refused) {
  BOOST_CHECK_THROW(cuda::configure_logical_devices(0), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(tensors_of_different_devices_are_not_combined) {
  auto x = tensor::zeros(dtype::float32, {2});
  BOOST_CHECK_THROW(add_in_place(x, on_gpu()), failed_precondition_error);
  BOOST_CHECK_THROW(sgd_update(x, on_gpu(), 0.1), failed_precondition_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
