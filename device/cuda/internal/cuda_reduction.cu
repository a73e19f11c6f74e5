// Sums. A pass turns (outer, extent, inner) into (outer, inner), see reduction_passes.hpp. A GPU wants tens of
// thousands of threads, so where outer * inner is small, the extent is cut into chunks, and the chunks' sums, (outer,
// chunks, inner), are summed by a pass of their own. How, depends on the extents alone: equal inputs give equal bits.
#include <troupe/device/base/internal/numeric.hpp>
#include <troupe/device/cuda/internal/cuda_kernels.hpp>
#include <troupe/device/cuda/internal/cuda_launch.cuh>
#include <troupe/device/cuda/internal/cuda_memory.hpp>

#include <utility>
#include <vector>

namespace troupe::cuda {

namespace {

using numeric::convert;
using numeric::widen;

struct chunked_pass {
  std::int64_t outer;
  std::int64_t extent;
  std::int64_t inner;
  std::int64_t chunk_count;
  std::int64_t chunk_extent;

  // Results are ordered (outer, chunk, inner).
  struct place {
    std::int64_t first;  // index of the first element that belongs to the result
    std::int64_t count;  // how many do, `inner` apart
  };
  __host__ __device__ place place_of(std::int64_t result) const {
    const auto i = result % inner;
    const auto chunk = result / inner % chunk_count;
    const auto o = result / inner / chunk_count;
    const auto begin = chunk * chunk_extent;
    const auto rest = extent - begin;
    return {(o * extent + begin) * inner + i, rest < chunk_extent ? rest : chunk_extent};
  }
  __host__ __device__ std::int64_t result_count() const { return outer * chunk_count * inner; }
};

// One thread per result. Neighbouring threads read neighbouring elements if `inner` is large.
template <class Accumulator, class T>
struct sum_by_thread {
  chunked_pass pass;
  const T* x;
  Accumulator* sums;

  __device__ void operator()(std::int64_t result) const {
    const auto place = pass.place_of(result);
    auto sum = Accumulator{0};
    for (auto e = std::int64_t{0}; e < place.count; ++e) {
      sum += static_cast<Accumulator>(widen(x[place.first + e * pass.inner]));
    }
    sums[result] = sum;
  }
};

// One block per result, for small `inner`: the block's threads read neighbouring elements.
template <class Accumulator, class T>
__global__ void sum_by_block(chunked_pass pass, const T* x, Accumulator* sums) {
  __shared__ Accumulator partial[threads_per_block];
  for (auto result = static_cast<std::int64_t>(blockIdx.x); result < pass.result_count(); result += gridDim.x) {
    const auto place = pass.place_of(result);
    auto sum = Accumulator{0};
    for (auto e = static_cast<std::int64_t>(threadIdx.x); e < place.count; e += threads_per_block) {
      sum += static_cast<Accumulator>(widen(x[place.first + e * pass.inner]));
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (auto half = threads_per_block / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) sums[result] = partial[0];
    __syncthreads();  // before the next result overwrites partial[0]
  }
}

constexpr std::int64_t inner_of_thread_min = 32;  // the threads that read together

bool goes_by_block(const chunked_pass& pass) { return pass.inner < inner_of_thread_min; }

// Cuts the extent into as many chunks as make enough results, unless they would become too small to be worth it.
chunked_pass plan_chunks(const reduction_pass& pass) {
  chunked_pass plan{.outer = static_cast<std::int64_t>(pass.outer),
                    .extent = static_cast<std::int64_t>(pass.extent),
                    .inner = static_cast<std::int64_t>(pass.inner),
                    .chunk_count = 1,
                    .chunk_extent = static_cast<std::int64_t>(pass.extent)};
  const auto results_wanted = std::int64_t{1} << (goes_by_block(plan) ? 11 : 17);
  const auto chunk_extent_min = goes_by_block(plan) ? 8 * threads_per_block : inner_of_thread_min;
  const auto results = std::max<std::int64_t>(plan.result_count(), 1);
  const auto chunks = std::min(results_wanted / results, plan.extent / chunk_extent_min);
  if (chunks > 1) {
    plan.chunk_extent = (plan.extent + chunks - 1) / chunks;
    plan.chunk_count = (plan.extent + plan.chunk_extent - 1) / plan.chunk_extent;
  }
  return plan;
}

template <class Accumulator, class T>
buffer run_pass(const tensor& placed, const chunked_pass& pass, const T* x) {
  auto sums = allocate(placed.device(), static_cast<std::size_t>(pass.result_count()) * sizeof(Accumulator));
  auto* target = reinterpret_cast<Accumulator*>(sums.mutable_data());
  if (!goes_by_block(pass)) {
    for_each_index("the kernel of a sum", placed, pass.result_count(), sum_by_thread<Accumulator, T>{pass, x, target});
  } else if (pass.result_count() > 0) {
    auto& state = state_of(placed.device());
    state.make_current();
    const auto blocks = static_cast<unsigned>(std::min(pass.result_count(), blocks_max));
    sum_by_block<<<blocks, threads_per_block, 0, state.work().handle()>>>(pass, x, target);
    check(cudaGetLastError(), "the kernel of a sum");
  }
  return sums;
}

template <class Accumulator>
const Accumulator* accumulators(const buffer& sums) {
  return reinterpret_cast<const Accumulator*>(sums.data());
}

// One accumulator per element of the result.
template <class Accumulator, class T>
buffer sum_up(const tensor& x, std::span<const reduction_pass> passes) {
  const auto count = static_cast<std::size_t>(x.element_count());
  const std::vector<reduction_pass> nothing_to_add{{count, 1, 1}};
  buffer sums;
  auto is_first = true;
  for (auto rest : passes.empty() ? std::span{nothing_to_add} : passes) {
    auto chunk_count = std::int64_t{0};
    do {
      const auto pass = plan_chunks(rest);
      sums = std::exchange(is_first, false) ? run_pass<Accumulator>(x, pass, elements<T>(x))
                                            : run_pass<Accumulator>(x, pass, accumulators<Accumulator>(sums));
      chunk_count = pass.chunk_count;
      rest.extent = static_cast<std::size_t>(chunk_count);
    } while (chunk_count > 1);
  }
  return sums;
}

template <class Out, class Accumulator>
struct finish_element {
  Out* target;
  const Accumulator* sums;
  Accumulator divisor;

  __device__ void operator()(std::int64_t i) const { target[i] = convert<Out>(sums[i] / divisor); }
};

template <class Out, class Accumulator, class T>
tensor reduce(const tensor& x, std::span<const reduction_pass> passes, const shape& extents, Accumulator divisor) {
  auto result = tensor::uninitialised(dtype_of<Out>, extents, x.device());
  const auto sums = sum_up<Accumulator, T>(x, passes);
  for_each_index(
      "the kernel of a sum", result, result.element_count(),
      finish_element<Out, Accumulator>{mutable_elements<Out>(result), accumulators<Accumulator>(sums), divisor});
  return result;
}

}  // namespace

tensor reduce_sum(const tensor& x, std::span<const reduction_pass> passes, const shape& result) {
  return numeric::visit_arithmetic("reduce_sum", x.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using accumulator = std::conditional_t<std::integral<T>, std::uint64_t, double>;
    return reduce<T, accumulator, T>(x, passes, result, accumulator{1});
  });
}

tensor reduce_mean(const tensor& x, std::span<const reduction_pass> passes, const shape& result, double count) {
  return numeric::visit_arithmetic("reduce_mean", x.get_dtype(), [&]<class T>(std::type_identity<T>) {
    using result_type = std::conditional_t<std::integral<T>, float, T>;
    return reduce<result_type, double, T>(x, passes, result, count);
  });
}

}  // namespace troupe::cuda
