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

// Elements that lie a step apart, several of which are loaded before the first is needed.
template <class Accumulator, class T, class Step>
__device__ Accumulator sum_of(const T* x, std::int64_t count, Step step) {
  constexpr auto at_once = 4;
  auto sum = Accumulator{0};
  auto e = std::int64_t{0};
  for (; e + at_once <= count; e += at_once) {
    T loaded[at_once];
#pragma unroll
    for (auto i = 0; i < at_once; ++i) loaded[i] = x[(e + i) * step];
#pragma unroll
    for (auto i = 0; i < at_once; ++i) sum += static_cast<Accumulator>(widen(loaded[i]));
  }
  for (; e < count; ++e) sum += static_cast<Accumulator>(widen(x[e * step]));
  return sum;
}

// What becomes of a sum: it stays as it is for the next pass, or is an element of the result.
template <class Accumulator>
struct kept_sum {
  using element = Accumulator;
  __device__ Accumulator operator()(Accumulator sum) const { return sum; }
};
template <class Accumulator, class Out>
struct divided_sum {
  using element = Out;
  Accumulator divisor;
  __device__ Out operator()(Accumulator sum) const { return convert<Out>(sum / divisor); }
};

// One thread per result. Neighbouring threads read neighbouring elements if `inner` is large.
template <class Accumulator, class T, class Finish>
struct sum_by_thread {
  chunked_pass pass;
  const T* x;
  typename Finish::element* results;
  Finish finish;

  __device__ void operator()(std::int64_t result) const {
    const auto place = pass.place_of(result);
    results[result] = finish(sum_of<Accumulator>(x + place.first, place.count, pass.inner));
  }
};

// One block per result, for small `inner`: the block's threads read neighbouring elements.
template <class Accumulator, class T, class Finish>
__global__ void sum_by_block(chunked_pass pass, const T* x, typename Finish::element* results, Finish finish) {
  __shared__ Accumulator partial[threads_per_block];
  for (auto result = static_cast<std::int64_t>(blockIdx.x); result < pass.result_count(); result += gridDim.x) {
    const auto place = pass.place_of(result);
    const auto thread = static_cast<std::int64_t>(threadIdx.x);
    const auto count = (place.count - thread + threads_per_block - 1) / threads_per_block;
    const auto* first = x + place.first + thread * pass.inner;
    partial[threadIdx.x] = pass.inner == 1
                               ? sum_of<Accumulator>(first, count, std::integral_constant<int, threads_per_block>{})
                               : sum_of<Accumulator>(first, count, threads_per_block * pass.inner);
    __syncthreads();
    for (auto half = threads_per_block / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) results[result] = finish(partial[0]);
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

template <class Accumulator, class Finish, class T>
void run_pass(const tensor& placed, const chunked_pass& pass, const T* x, typename Finish::element* results,
              const Finish& finish) {
  if (!goes_by_block(pass)) {
    for_each_index("the kernel of a sum", placed, pass.result_count(),
                   sum_by_thread<Accumulator, T, Finish>{pass, x, results, finish});
  } else if (pass.result_count() > 0) {
    const auto queue = queue_of(placed);
    const auto blocks = static_cast<unsigned>(std::min(pass.result_count(), blocks_max));
    sum_by_block<Accumulator><<<blocks, threads_per_block, 0, queue>>>(pass, x, results, finish);
    check(cudaGetLastError(), "the kernel of a sum");
  }
}

// All passes with those over the sums of their chunks. At least one.
std::vector<chunked_pass> plan_all(std::int64_t element_count, std::span<const reduction_pass> passes) {
  std::vector<chunked_pass> plan;
  for (auto rest : passes) {
    do {
      plan.push_back(plan_chunks(rest));
      rest.extent = static_cast<std::size_t>(plan.back().chunk_count);
    } while (plan.back().chunk_count > 1);
  }
  if (plan.empty()) plan.push_back(plan_chunks({static_cast<std::size_t>(element_count), 1, 1}));
  return plan;
}

template <class Out, class Accumulator, class T>
tensor reduce(const tensor& x, std::span<const reduction_pass> passes, const shape& extents, Accumulator divisor) {
  auto result = tensor::uninitialised(dtype_of<Out>, extents, x.device());
  const auto plan = plan_all(x.element_count(), passes);
  buffer sums;
  // The first pass reads the elements, all others the sums of the one before.
  const auto run = [&](const chunked_pass& pass, auto* target, const auto& finish) {
    if (&pass == &plan.front()) {
      run_pass<Accumulator>(x, pass, elements<T>(x), target, finish);
    } else {
      run_pass<Accumulator>(x, pass, reinterpret_cast<const Accumulator*>(sums.data()), target, finish);
    }
  };
  for (const auto& pass : std::span{plan}.first(plan.size() - 1)) {
    auto next = allocate(x.device(), static_cast<std::size_t>(pass.result_count()) * sizeof(Accumulator));
    run(pass, reinterpret_cast<Accumulator*>(next.mutable_data()), kept_sum<Accumulator>{});
    sums = std::move(next);
  }
  run(plan.back(), mutable_elements<Out>(result), divided_sum<Accumulator, Out>{divisor});
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
