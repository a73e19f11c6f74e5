// The communicators that replicas of one process get for their devices, through whichever implementation serves those.
#include "support/test_devices.hpp"
#include "unit/device/collectives/thread_ranks.hpp"

#include <troupe/device/collectives/communicators.hpp>
#include <troupe/device/collectives/packing.hpp>
#include <troupe/device/kernels/elementwise.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace troupe {

BOOST_AUTO_TEST_SUITE(local_communicators_suite)

namespace {

using std::chrono::milliseconds;

template <class Function>
void on_devices(const std::vector<std::string>& devices, Function function, const communication_options& options = {}) {
  auto group = make_local_communicators(devices, options);
  for (const auto& end : end_of_ranks(group, function)) {
    if (!end.ok()) throw_status(end);
  }
}

// Every element of every rank is another one, and the sums of eight ranks are exact in bfloat16.
tensor rows_of_rank(int rank, dtype type, const shape& extents) {
  auto x = tensor::uninitialised(dtype::int32, extents);
  auto next = rank;
  for (auto& each : x.mutable_values<std::int32_t>()) each = (next += 3) % 30;
  return cast(x, type);
}

tensor sum_of_ranks(int size, dtype type, const shape& extents) {
  auto sum = rows_of_rank(0, type, extents);
  for (auto rank = 1; rank < size; ++rank) add_in_place(sum, rows_of_rank(rank, type, extents));
  return sum;
}

tensor to_host(const tensor& x) { return x.copy_to("CPU:0"); }

constexpr auto dtypes = {dtype::float32, dtype::float64, dtype::bfloat16, dtype::int16, dtype::int32, dtype::uint8};

// Boost.Test is not for several threads: the ranks throw, and the test sees that.
void require(bool condition, const std::string& what) {
  if (!condition) throw internal_error{what};
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_devices_get_the_sum) {
  for (const auto type : dtypes) {
    for (const auto count : {0, 1, 1000, 1 << 18}) {
      on_devices(test_devices(), [&](communicator& end) {
        auto x = rows_of_rank(end.rank(), type, {count}).copy_to(end.device());
        end.all_reduce(x, reduce_op::sum, ample_time);
        require(to_host(x).bitwise_equal(sum_of_ranks(end.size(), type, {count})),
                to_string(type) + ": wrong sum on " + end.device());
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(many_tensors_are_reduced_as_if_each_were_alone_whatever_their_types_and_sizes) {
  on_devices(test_devices(), [](communicator& end) {
    const std::vector<std::pair<dtype, std::int64_t>> kinds{{dtype::float32, 10}, {dtype::int16, 3},
                                                            {dtype::float32, 0},  {dtype::int32, 7},
                                                            {dtype::int16, 1000}, {dtype::float32, 1 << 19}};
    std::vector<tensor> all;
    for (const auto& [type, count] : kinds)
      all.push_back(rows_of_rank(end.rank(), type, {count}).copy_to(end.device()));
    auto packed = all;
    for (auto& each : packed) each = each.slice(0, each.element_count());  // shared: written copies
    end.all_reduce(all, reduce_op::sum, ample_time);
    all_reduce_packed(end, packed, reduce_op::sum, {}, ample_time);
    for (auto i = std::size_t{0}; i < kinds.size(); ++i) {
      const auto expected = sum_of_ranks(end.size(), kinds[i].first, {kinds[i].second});
      require(to_host(all[i]).bitwise_equal(expected), "a wrong sum of tensor " + std::to_string(i));
      require(to_host(packed[i]).bitwise_equal(expected), "a wrong sum of packed tensor " + std::to_string(i));
    }
  });
}

BOOST_AUTO_TEST_CASE(several_tensors_that_differ_between_ranks_are_an_error_on_every_device) {
  auto group = make_local_communicators(test_devices());
  const auto ends = end_of_ranks(group, [](communicator& end) {
    std::vector<tensor> all;
    for (const auto count : {4, 5, end.rank() == 0 ? 6 : 7})
      all.push_back(tensor::zeros(dtype::float32, {count}, end.device()));
    end.all_reduce(all, reduce_op::sum, ample_time);
  });
  for (const auto& end : ends) BOOST_TEST((end.code() == status_code::failed_precondition), end.render());
}

BOOST_AUTO_TEST_CASE(mean_minimum_maximum_and_product_are_those_of_all_devices) {
  on_devices(test_devices(), [](communicator& end) {
    const auto reduced = [&](reduce_op op) {
      auto x = tensor::full({3}, static_cast<float>(end.rank() + 1)).copy_to(end.device());
      end.all_reduce(x, op, ample_time);
      return to_host(x).values<float>()[2];
    };
    const auto size = static_cast<float>(end.size());
    auto factorial = 1.0f;
    for (auto i = 2; i <= end.size(); ++i) factorial *= static_cast<float>(i);
    require(reduced(reduce_op::mean) == (size + 1) / 2, "wrong mean");
    require(reduced(reduce_op::min) == 1, "wrong minimum");
    require(reduced(reduce_op::max) == size, "wrong maximum");
    require(reduced(reduce_op::product) == factorial, "wrong product");
  });
}

BOOST_AUTO_TEST_CASE(sums_and_products_of_small_integers_wrap_around_as_on_the_host) {
  on_devices(test_devices(), [](communicator& end) {
    for (const auto op : {reduce_op::sum, reduce_op::product, reduce_op::min}) {
      auto x = tensor::full({5}, static_cast<std::int16_t>(30'001 + 2 * end.rank())).copy_to(end.device());
      end.all_reduce(x, op, ample_time);
      auto expected = std::int64_t{op == reduce_op::product ? 1 : 0};
      for (auto rank = 0; rank < end.size(); ++rank) {
        const auto each = std::int64_t{30'001} + 2 * rank;
        expected = op == reduce_op::sum ? expected + each : op == reduce_op::min ? 30'001 : (expected * each) % 65'536;
      }
      require(to_host(x).values<std::int16_t>()[4] == static_cast<std::int16_t>(expected), to_string(op));
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_of_all_devices_are_gathered_in_order) {
  on_devices(test_devices(), [](communicator& end) {
    const auto gathered =
        end.all_gather(rows_of_rank(end.rank(), dtype::int16, {2, 5}).copy_to(end.device()), ample_time);
    require(gathered.device() == end.device(), "the result is elsewhere");
    for (auto rank = 0; rank < end.size(); ++rank) {
      require(to_host(gathered).slice(2 * rank, 2 * rank + 2).bitwise_equal(rows_of_rank(rank, dtype::int16, {2, 5})),
              "wrong rows");
    }
  });
}

BOOST_AUTO_TEST_CASE(each_device_gets_its_share_of_the_sum) {
  on_devices(test_devices(), [](communicator& end) {
    for (const auto type : {dtype::float32, dtype::int16}) {
      const shape extents{end.size() * 3, 7};
      const auto x = rows_of_rank(end.rank(), type, extents).copy_to(end.device());
      const auto share = end.reduce_scatter(x, reduce_op::sum, ample_time);
      const auto expected = sum_of_ranks(end.size(), type, extents).slice(end.rank() * 3, end.rank() * 3 + 3);
      require(to_host(share).bitwise_equal(expected), "wrong share of " + to_string(type));
    }
  });
}

BOOST_AUTO_TEST_CASE(all_devices_get_the_tensor_of_the_root) {
  on_devices(test_devices(), [](communicator& end) {
    for (auto root = 0; root < end.size(); ++root) {
      auto x = rows_of_rank(end.rank(), dtype::int64, {100}).copy_to(end.device());
      end.broadcast(x, root, ample_time);
      require(to_host(x).bitwise_equal(rows_of_rank(root, dtype::int64, {100})), "not the root's");
    }
    end.barrier(ample_time);
  });
}

BOOST_AUTO_TEST_CASE(different_collectives_are_an_error_on_every_device) {
  auto group = make_local_communicators(test_devices());
  const auto ends = end_of_ranks(group, [](communicator& end) {
    auto x = tensor::zeros(dtype::float32, {end.rank() == 0 ? 4 : 8}, end.device());
    end.all_reduce(x, reduce_op::sum, ample_time);
  });
  for (const auto& end : ends) BOOST_TEST((end.code() == status_code::failed_precondition));
  for (const auto& end : group) BOOST_TEST(end->broken().has_value());
}

BOOST_AUTO_TEST_CASE(a_missing_device_is_an_error_at_the_deadline) {
  auto group = make_local_communicators(test_devices());
  const auto ends = end_of_ranks(group, [](communicator& end) {
    if (end.rank() == 1) return;
    auto x = tensor::zeros(dtype::float32, {4}, end.device());
    end.all_reduce(x, reduce_op::sum, milliseconds{200});
  });
  BOOST_TEST((ends[0].code() == status_code::deadline_exceeded));
}

BOOST_AUTO_TEST_CASE(an_abort_ends_the_wait_on_every_device_with_its_reason) {
  auto group = make_local_communicators(test_devices());
  const auto ends = end_of_ranks(group, [](communicator& end) {
    if (end.rank() == 1) return end.abort({status_code::unavailable, "replica 1 is lost"});
    auto x = tensor::zeros(dtype::float32, {4}, end.device());
    end.all_reduce(x, reduce_op::sum, ample_time);
  });
  BOOST_TEST((ends[0].code() == status_code::unavailable));
  BOOST_TEST(ends[0].render().find("replica 1 is lost") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_implementation_ring_serves_any_devices) {
  const communication_options options{.implementation = communication_implementation::ring};
  on_devices(
      test_devices(),
      [](communicator& end) {
        auto x = tensor::full({10}, 1.0f).copy_to(end.device());
        end.all_reduce(x, reduce_op::sum, ample_time);
        require(to_host(x).values<float>()[9] == static_cast<float>(end.size()), "wrong sum");
      },
      options);
}

BOOST_AUTO_TEST_CASE(a_processor_and_a_gpu_reduce_together) {
  on_devices({"CPU:0", test_devices().back()}, [](communicator& end) {
    auto x = tensor::full({10}, 1.0f).copy_to(end.device());
    end.all_reduce(x, reduce_op::sum, ample_time);
    require(to_host(x).values<float>()[9] == 2, "wrong sum");
  });
}

BOOST_AUTO_TEST_CASE(devices_that_cannot_form_a_group_are_refused) {
  const auto make = [](const std::vector<std::string>& devices, communication_implementation implementation) {
    return make_local_communicators(devices, {.implementation = implementation});
  };
  using enum communication_implementation;
  BOOST_CHECK_THROW(make({}, automatic), invalid_argument_error);
  BOOST_CHECK_THROW(make({"CPU:0", "/device:CPU:0"}, automatic), invalid_argument_error);
  BOOST_CHECK_THROW(make({"CPU:0", "/job:worker"}, automatic), invalid_argument_error);
  BOOST_CHECK_THROW(make({"CPU:0", "CPU:1"}, nccl), invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(a_tensor_elsewhere_is_refused_and_the_group_stays_usable) {
  if (!tests_gpus()) return;
  on_devices(test_devices(), [](communicator& end) {
    auto elsewhere = tensor::zeros(dtype::float32, {3});
    try {
      end.all_reduce(elsewhere, reduce_op::sum, ample_time);
      throw internal_error{"a tensor on the host was accepted"};
    } catch (const invalid_argument_error&) {
      end.barrier(ample_time);
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
