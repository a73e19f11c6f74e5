// Schedules functions onto the workers of a cluster.
//
//   cluster_coordinator coordinator{strategy};
//   auto ratio = coordinator.schedule([](variable<float> a, variable<float> b) { return a.read() / b.read(); }, v1,
//   v2); fmt::print("{}\n", ratio.fetch());
//
// A closure runs at least once, on any worker; its worker may be lost in the middle, and it runs again elsewhere. There
// is no order between closures, unless one takes the other's remote value as an argument. Errors are raised late, as in
// the reference: the first error of any closure is thrown by the next schedule, join or done, after everything else has
// been cancelled; then the coordinator is usable again.
//
// One coordinator per strategy: constructing another gives the same. Thread-safe. schedule never waits unless the queue
// is full; join, done and fetch do. Waiting suspends a fiber (a closure, a method of a server, a replica's function)
// and blocks any other thread; handlers of event-based actors, which must not block, use `then` and the coordinator's
// actor.
//
// A closure may schedule others and fetch their results: while it waits, its place on the worker is free for others.
// Errors of other closures are not raised there, but by the program's next schedule, join or done.
//
// Semantics: seeds ClusterCoordinator and RemoteValue; semantics.md 1.1, 2, 5.2.
#pragma once

#include <troupe/runtime/closures/closure_arguments.hpp>
#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/per_worker.hpp>
#include <troupe/runtime/remote_value.hpp>

#include <memory>
#include <tuple>
#include <vector>

namespace troupe {

/// How `create_per_worker_dataset` opens iterators on the workers.
template <class T>
class per_worker_dataset {
 public:
  explicit per_worker_dataset(std::function<per_worker_values<dataset_iterator<T>>()> open) : open_(std::move(open)) {}
  /// A new set of iterators, one per worker, each at its beginning.
  per_worker_values<dataset_iterator<T>> iterate() const { return open_(); }

 private:
  std::function<per_worker_values<dataset_iterator<T>>()> open_;
};

template <class T>
class per_worker_variable;

class cluster_coordinator {
 public:
  explicit cluster_coordinator(parameter_server_strategy strategy) : strategy_(std::move(strategy)) {}

  // --- schedule ---

  /// Enqueues `F{}(arguments...)` and returns at once. F is a lambda without captures: what it needs are arguments
  /// (numbers, strings, tensors, containers, structs, variables, remote values, per-worker values).
  /// @throws the first error of an earlier closure, and then this closure is cancelled, too; resource_exhausted_error
  ///         when the queue stays full for `queue_limit`.
  template <class F, class... Arguments>
  requires(!std::is_same_v<std::decay_t<F>, schedule_options>) auto schedule(F, Arguments&&... arguments) {
    return schedule_packed<std::decay_t<F>>(schedule_options{}, std::forward<Arguments>(arguments)...);
  }
  template <class F, class... Arguments>
  auto schedule(const schedule_options& options, F, Arguments&&... arguments) {
    return schedule_packed<std::decay_t<F>>(options, std::forward<Arguments>(arguments)...);
  }
  /// The same for a named function: `schedule<step>(v, x)`.
  template <auto Function, class... Arguments>
  auto schedule(Arguments&&... arguments) {
    return schedule_packed<detail::callable_of<Function>>(schedule_options{}, std::forward<Arguments>(arguments)...);
  }
  template <auto Function, class... Arguments>
  auto schedule_with(const schedule_options& options, Arguments&&... arguments) {
    return schedule_packed<detail::callable_of<Function>>(options, std::forward<Arguments>(arguments)...);
  }

  // --- waiting ---

  /// Waits until every closure has ended. @throws the first error of any of them; deadline_exceeded_error after
  /// `limit`, and the closures go on; failed_precondition_error inside a closure, which would wait for itself.
  void join(duration limit = std::chrono::hours{24});
  /// True if every closure has ended. Does not wait, unless there is an error to throw.
  /// @throws as join
  bool done();
  /// All errors of the generation whose first error was thrown last; at most 1000.
  std::vector<status> errors();

  /// Fetches every remote value in a structure: vectors, arrays, maps, pairs and tuples of them, other leaves
  /// unchanged.
  template <class T>
  auto fetch(const T& structure);

  // --- values that each worker has for itself ---

  /// Runs `F{}(arguments...)` on each worker, now and whenever a worker comes back, and keeps the result there.
  /// Errors appear only where the value is used.
  template <class F, class... Arguments>
  auto create_per_worker_values(F, Arguments&&... arguments) {
    using packing = detail::packing_for<std::decay_t<F>, Arguments...>;
    return per_worker_values<typename packing::result>{
        create_resource(packing::pack(std::forward<Arguments>(arguments)...))};
  }
  /// F makes a `dataset<T>` from an `input_context` (or from nothing) and the arguments; it runs on each worker.
  template <class F, class... Arguments>
  auto create_per_worker_dataset(F, Arguments... arguments);
  /// An unsynchronised copy of a T on each worker, from the same initial value.
  template <class T>
  per_worker_variable<T> create_per_worker_variable(T initial);

  const parameter_server_strategy& strategy() const { return strategy_; }
  cluster& get_cluster() const { return strategy_.get_cluster(); }

 private:
  template <class F, class... Arguments>
  auto schedule_packed(const schedule_options& options, Arguments&&... arguments) {
    using packing = detail::packing_for<F, Arguments...>;
    using result = typename packing::result;
    static_assert(
        std::is_void_v<result> || encodable<result>,
        "a closure's result must be able to travel (see actors/values/codec.hpp); keep what can't on the worker with "
        "create_per_worker_values");
    return remote_value<result>{enqueue(packing::pack(std::forward<Arguments>(arguments)...), options),
                                get_cluster().coordinator(), get_cluster().system()};
  }

  std::shared_ptr<closure> enqueue(detail::packed_closure packed, const schedule_options& options);
  std::shared_ptr<per_worker_resource> create_resource(detail::packed_closure packed);

  parameter_server_strategy strategy_;
};

/// A variable with a copy per worker; as an argument of a closure it is the worker's `worker_cell`.
template <class T>
class per_worker_variable : public per_worker_values<worker_cell<T>> {
 public:
  per_worker_variable(per_worker_values<worker_cell<T>> values, cluster_coordinator coordinator)
      : per_worker_values<worker_cell<T>>(std::move(values)), coordinator_(std::move(coordinator)) {}
  /// The value of each worker, in order. Waits for workers that are away, within the limit.
  std::vector<T> read_all(duration limit = std::chrono::seconds{60}) {
    std::vector<remote_value<T>> values;
    for (int worker = 0; worker < coordinator_.strategy().worker_count(); ++worker)
      values.push_back(coordinator_.schedule(
          schedule_options{.limit = limit, .worker = worker}, [](worker_cell<T> cell) { return cell.read(); },
          static_cast<const per_worker_values<worker_cell<T>>&>(*this)));
    return coordinator_.fetch(values);
  }

 private:
  cluster_coordinator coordinator_;
};

namespace detail {

template <class T>
struct argument<per_worker_variable<T>> : argument<per_worker_values<worker_cell<T>>> {};

template <class T>
const T& fetch_nested(const T& leaf) {
  return leaf;
}
template <class T>
T fetch_nested(const remote_value<T>& x) {
  return x.fetch();
}
template <class T>
auto fetch_nested(const std::vector<T>& xs);
template <class T, std::size_t Size>
auto fetch_nested(const std::array<T, Size>& xs);
template <class K, class V>
auto fetch_nested(const std::map<K, V>& xs);
template <class A, class B>
auto fetch_nested(const std::pair<A, B>& x);
template <class... Ts>
auto fetch_nested(const std::tuple<Ts...>& x);

template <class T>
auto fetch_nested(const std::vector<T>& xs) {
  std::vector<std::decay_t<decltype(fetch_nested(xs.front()))>> result;
  for (const auto& x : xs) result.push_back(fetch_nested(x));
  return result;
}
template <class T, std::size_t Size>
auto fetch_nested(const std::array<T, Size>& xs) {
  std::array<std::decay_t<decltype(fetch_nested(xs.front()))>, Size> result;
  for (std::size_t i = 0; i < Size; ++i) result[i] = fetch_nested(xs[i]);
  return result;
}
template <class K, class V>
auto fetch_nested(const std::map<K, V>& xs) {
  std::map<K, std::decay_t<decltype(fetch_nested(std::declval<const V&>()))>> result;
  for (const auto& [key, x] : xs) result.emplace(key, fetch_nested(x));
  return result;
}
template <class A, class B>
auto fetch_nested(const std::pair<A, B>& x) {
  return std::pair{fetch_nested(x.first), fetch_nested(x.second)};
}
template <class... Ts>
auto fetch_nested(const std::tuple<Ts...>& x) {
  return std::apply([](const auto&... xs) { return std::tuple{fetch_nested(xs)...}; }, x);
}

/// Opens the dataset of a worker.
template <class F>
struct open_iterator {
  template <class... Arguments>
  auto operator()(int pipelines, const Arguments&... arguments) const {
    if constexpr (std::is_invocable_v<F, input_context, const Arguments&...>)
      return F{}(input_context{current_worker_index(), pipelines}, arguments...).iterate();
    else
      return F{}(arguments...).iterate();
  }
};

}  // namespace detail

template <class T>
auto cluster_coordinator::fetch(const T& structure) {
  return detail::fetch_nested(structure);
}

template <class F, class... Arguments>
auto cluster_coordinator::create_per_worker_dataset(F, Arguments... arguments) {
  using opener = detail::open_iterator<F>;
  using iterator = std::invoke_result_t<opener, int, const Arguments&...>;
  using element = std::decay_t<decltype(std::declval<iterator>().next())>;
  return per_worker_dataset<element>{[self = *this, arguments...]() mutable {
    return self.create_per_worker_values(opener{}, self.strategy().worker_count(), arguments...);
  }};
}

template <class T>
per_worker_variable<T> cluster_coordinator::create_per_worker_variable(T initial) {
  return {create_per_worker_values([](T x) { return worker_cell<T>{std::move(x)}; }, std::move(initial)), *this};
}

}  // namespace troupe
