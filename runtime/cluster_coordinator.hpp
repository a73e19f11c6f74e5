// Schedules functions onto the workers of a cluster.
//
//   cluster_coordinator coordinator{strategy};
//   auto ratio = coordinator.schedule([](variable<float> a, variable<float> b) { return a.read() / b.read(); },
//                                     v1, v2);
//   fmt::print("{}\n", ratio.fetch());
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
// Semantics: examples/reference/semantics.md 1.1, 2, 5.2.
#pragma once

#include <troupe/actors/closures/current_worker.hpp>
#include <troupe/actors/values/structure.hpp>
#include <troupe/runtime/closure_scheduler.hpp>
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

/// Its `schedule` (closure_scheduler.hpp) throws the first error of an earlier closure, too; then its own one never
/// runs.
class cluster_coordinator : public closure_scheduler<cluster_coordinator> {
 public:
  explicit cluster_coordinator(parameter_server_strategy strategy) : strategy_(std::move(strategy)) {}

  // --- waiting ---

  /// Waits until every closure that was scheduled before has ended. @throws the first error of any closure;
  /// deadline_exceeded_error after `limit`, and the closures go on: it says which have not ended, where they are and
  /// for what they wait, and comes up to half a second after the limit; failed_precondition_error inside a closure,
  /// which would wait for itself.
  void join(duration limit = std::chrono::hours{24});
  /// True if every closure has ended. Does not wait, unless there is an error to throw.
  /// @throws as join
  bool done();
  /// All errors of the generation whose first error was thrown last; at most 1000.
  std::vector<status> errors();

  /// Fetches every remote value in a structure: alone or in the containers of structure.hpp; other leaves come back
  /// unchanged.
  template <class T>
  auto fetch(const T& structure);

  // --- values that each worker has for itself ---

  /// Runs `F{}(arguments...)` on each worker, now and whenever a worker comes back, and keeps the result there.
  /// Errors appear only where the value is used.
  template <class F, class... Arguments>
  auto create_per_worker_values(F, Arguments&&... arguments) {
    if constexpr (detail::is_sound_call<F, std::decay_t<Arguments>...>()) {
      using packing = detail::packing_for<F, Arguments...>;
      return per_worker_values<typename packing::result>{
          create_resource(packing::pack(std::forward<Arguments>(arguments)...))};
    } else {
      return per_worker_values<detail::any_type>{nullptr};
    }
  }
  /// The source is a function that makes a `dataset<T>` from an `input_context` (or from nothing) and the arguments; it
  /// runs on each worker, at each iterate(). Or it is a dataset: then each worker makes it again by the same calls, so
  /// all workers see all its elements (shard it in a function if they shall not); its tensors travel with it, and its
  /// files are read by the workers.
  /// @throws invalid_argument_error for a dataset that can't be made elsewhere, because a function in it has captures.
  template <class Source, class... Arguments>
  auto create_per_worker_dataset(Source source, Arguments... arguments);
  /// An unsynchronised copy of a T on each worker, from the same initial value.
  template <class T>
  per_worker_variable<T> create_per_worker_variable(T initial);

  const parameter_server_strategy& strategy() const { return strategy_; }
  cluster& get_cluster() const { return strategy_.get_cluster(); }

 private:
  friend class closure_scheduler<cluster_coordinator>;
  std::shared_ptr<closure> enqueue(detail::packed_closure packed, const schedule_options& options);
  const coordinator_ptr& owner_of_closures() const { return get_cluster().shared_coordinator(); }
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

struct fetch_leaf {
  template <class T>
  T operator()(const T& leaf) const {
    return leaf;
  }
  template <class T>
  T operator()(const remote_value<T>& leaf) const {
    return leaf.fetch();
  }
};

/// What gives elements.
template <class T>
concept iterable_dataset = requires(const T& x) {
  x.iterate().next();
};

template <class T>
inline constexpr bool is_dataset = false;
template <class T>
inline constexpr bool is_dataset<dataset<T>> = true;

template <class F, class... Arguments>
inline constexpr bool makes_from_context = std::is_invocable_v<F&, input_context, const Arguments&...>;
template <class F, class... Arguments>
inline constexpr bool makes_from_arguments = std::is_invocable_v<F&, const Arguments&...>;

/// True for a function that makes a dataset on the workers; does not compile, with one message, for any other.
template <class F, class... Arguments>
constexpr bool is_sound_source() {
  constexpr bool callable = makes_from_context<F, Arguments...> || makes_from_arguments<F, Arguments...>;
  static_assert(callable,
                "create_per_worker_dataset takes a dataset, or a function that makes one from an input_context or from "
                "nothing, and the arguments that follow");
  if constexpr (!callable) {
    return false;
  } else if constexpr (mistake_in_function<F>() != call_mistake::none) {
    return explain_mistake<mistake_in_function<F>(), the_function_is<F>>();
  } else {
    using made = typename std::conditional_t<makes_from_context<F, Arguments...>,
                                             std::invoke_result<F&, input_context, const Arguments&...>,
                                             std::invoke_result<F&, const Arguments&...>>::type;
    constexpr bool sound = iterable_dataset<std::remove_cvref_t<made>>;
    static_assert(sound, "the function makes no dataset<T>, which create_per_worker_dataset is for");
    return sound;
  }
}

/// Makes a worker's own dataset and opens it.
template <class Dataset>
struct iterate_again {
  auto operator()(const dataset_recipe& recipe) const { return recipe.make<Dataset>()->iterate(); }
};

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
  return map_leaves<detail::whole_structs>(structure, detail::fetch_leaf{});
}

template <class Source, class... Arguments>
auto cluster_coordinator::create_per_worker_dataset([[maybe_unused]] Source source, Arguments... arguments) {
  if constexpr (detail::is_dataset<Source>) {
    static_assert(sizeof...(Arguments) == 0, "create_per_worker_dataset takes further arguments only for a function");
    source.recipe().check();
    return per_worker_dataset<typename Source::value_type>{[self = *this, recipe = source.recipe()]() mutable {
      return self.create_per_worker_values(detail::iterate_again<Source>{}, recipe);
    }};
  } else if constexpr (detail::is_sound_source<Source, Arguments...>()) {
    using opener = detail::open_iterator<Source>;
    using iterator = std::invoke_result_t<opener, int, const Arguments&...>;
    using element = std::decay_t<decltype(std::declval<iterator>().next())>;
    return per_worker_dataset<element>{[self = *this, arguments...]() mutable {
      return self.create_per_worker_values(opener{}, self.strategy().worker_count(), arguments...);
    }};
  } else {
    return per_worker_dataset<detail::any_type>{nullptr};
  }
}

template <class T>
per_worker_variable<T> cluster_coordinator::create_per_worker_variable(T initial) {
  return {create_per_worker_values([](T x) { return worker_cell<T>{std::move(x)}; }, std::move(initial)), *this};
}

}  // namespace troupe
