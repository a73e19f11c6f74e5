#include <troupe/device/base/error.hpp>
#include <troupe/device/tensor/dlpack.hpp>

#include <boost/test/unit_test.hpp>
#include <dlpack/dlpack.h>

#include <array>
#include <memory>
#include <vector>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(dlpack_suite)

namespace {

// A tensor as another library would export it; `alive` tells whether its deleter ran.
struct foreign_tensor {
  std::array<float, 12> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::array<std::int64_t, 2> extents{2, 3};
  std::array<std::int64_t, 2> strides{3, 1};
  bool alive = true;
  DLManagedTensor managed{};

  foreign_tensor() {
    managed.dl_tensor = {.data = data.data(),
                         .device = {kDLCPU, 0},
                         .ndim = 2,
                         .dtype = {kDLFloat, 32, 1},
                         .shape = extents.data(),
                         .strides = strides.data(),
                         .byte_offset = 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) { static_cast<foreign_tensor*>(self->manager_ctx)->alive = false; };
  }
};

template <class Change>
void check_refused(Change change) {
  foreign_tensor foreign;
  change(foreign.managed.dl_tensor);
  BOOST_CHECK_THROW(from_dlpack(&foreign.managed), invalid_argument_error);
  BOOST_TEST(foreign.alive);
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_exported_tensor_shares_its_bytes_and_keeps_them_alive) {
  auto x = tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto part = x.slice(1, 2);
  auto* managed = to_dlpack(part);
  x = {};
  const auto& exported = managed->dl_tensor;
  BOOST_TEST(exported.data == static_cast<const void*>(part.bytes().data()));
  BOOST_TEST(exported.ndim == 2);
  BOOST_TEST(exported.shape[0] == 1);
  BOOST_TEST(exported.shape[1] == 2);
  BOOST_TEST(exported.strides[0] == 2);
  BOOST_TEST(exported.strides[1] == 1);
  BOOST_TEST(!part.get_buffer().unique());
  managed->deleter(managed);
  BOOST_TEST(part.get_buffer().unique());
}

BOOST_AUTO_TEST_CASE(every_dtype_goes_out_and_comes_back) {
  for (const auto type : {dtype::float32, dtype::float64, dtype::float16, dtype::bfloat16, dtype::int8, dtype::int16,
                          dtype::int32, dtype::int64, dtype::uint8, dtype::boolean}) {
    const auto x = tensor::zeros(type, {3, 1});
    const auto back = from_dlpack(to_dlpack(x));
    BOOST_TEST(back.bitwise_equal(x));
    BOOST_TEST(back.bytes().data() == x.bytes().data());
  }
  BOOST_TEST(from_dlpack(to_dlpack(tensor::scalar(4.0))).item<double>() == 4.0);
  BOOST_TEST(from_dlpack(to_dlpack(tensor{})).bitwise_equal(tensor{}));
}

BOOST_AUTO_TEST_CASE(an_imported_tensor_is_used_in_place_and_given_back_at_the_end) {
  foreign_tensor foreign;
  {
    auto x = from_dlpack(&foreign.managed);
    BOOST_TEST(static_cast<const void*>(x.bytes().data()) == static_cast<const void*>(foreign.data.data()));
    const auto row = x.row(1);
    x = {};
    BOOST_TEST(foreign.alive);
    BOOST_TEST(row.values<float>()[0] == 3);
  }
  BOOST_TEST(!foreign.alive);
}

BOOST_AUTO_TEST_CASE(writing_to_an_imported_tensor_does_not_change_the_other_library) {
  foreign_tensor foreign;
  auto x = from_dlpack(&foreign.managed);
  x.mutable_values<float>()[0] = 100;
  BOOST_TEST(foreign.data[0] == 0);
  BOOST_TEST(!foreign.alive);
}

BOOST_AUTO_TEST_CASE(strides_that_do_not_matter_are_ignored) {
  foreign_tensor foreign;
  foreign.extents = {1, 6};
  foreign.strides = {77, 1};
  BOOST_TEST(from_dlpack(&foreign.managed).row(0).values<float>()[5] == 5);
  foreign_tensor compact;
  compact.managed.dl_tensor.strides = nullptr;
  compact.managed.dl_tensor.byte_offset = 8;
  BOOST_TEST(from_dlpack(&compact.managed).values<float>()[0] == 2);
}

BOOST_AUTO_TEST_CASE(misaligned_bytes_are_copied_and_given_back_at_once) {
  foreign_tensor foreign;
  foreign.managed.dl_tensor.byte_offset = 2;
  const auto x = from_dlpack(&foreign.managed);
  BOOST_TEST(!foreign.alive);
  BOOST_CHECK((x.get_shape() == shape{2, 3}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_imported_is_refused_and_stays_with_the_caller) {
  BOOST_CHECK_THROW(from_dlpack(nullptr), invalid_argument_error);
  check_refused([](DLTensor& t) { t.device.device_type = kDLCUDA; });
  check_refused([](DLTensor& t) { t.dtype.lanes = 4; });
  check_refused([](DLTensor& t) { t.dtype.code = kDLComplex; });
  check_refused([](DLTensor& t) { t.dtype.bits = 8; });
  check_refused([](DLTensor& t) { t.strides[0] = 4; });
  check_refused([](DLTensor& t) { t.strides[1] = 2; });
  check_refused([](DLTensor& t) { t.ndim = 9; });
  check_refused([](DLTensor& t) { t.ndim = -1; });
  check_refused([](DLTensor& t) { t.shape = nullptr; });
  check_refused([](DLTensor& t) { t.shape[0] = -2; });
  check_refused([](DLTensor& t) { t.data = nullptr; });
}

BOOST_AUTO_TEST_SUITE_END()
