// How a dataset is made again somewhere else.
//
// Problem: a dataset consists of functions that hold other functions, and those can't travel. Solution: most datasets
// come from a chain of calls, a source and its transformations, whose arguments can travel; so a dataset remembers
// these calls, each as a registered function (function_registry.hpp) with its arguments. Another process of the program
// makes the dataset by the same calls: with files read there, and with an order of its own where a shuffle has no seed.
// Where a call can't be remembered (a function with captures, rows that can't travel, a source of the program's own),
// the recipe says so instead, once, in words for an error message.
#pragma once

#include <troupe/actors/functions/deferred.hpp>
#include <troupe/actors/functions/function_registry.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe::detail {

class dataset_recipe {
 public:
  /// Of a dataset that somebody made from a function of their own.
  dataset_recipe()
      : dataset_recipe("it was made by the constructor of dataset, from a function of the program's own") {}
  /// The dataset can't be made elsewhere.
  explicit dataset_recipe(std::string obstacle) : obstacle_(std::move(obstacle)) {}

  /// `F{}(arguments...)` makes the dataset.
  template <class F, class... Arguments>
  static dataset_recipe from(Arguments... arguments) {
    dataset_recipe result{std::string{}};
    result.template add<F, Arguments...>(std::tuple<Arguments...>{std::move(arguments)...});
    return result;
  }
  /// `F{}(dataset, arguments...)` makes the dataset from this recipe's, which is an Upstream.
  template <class F, class Upstream, class... Arguments>
  dataset_recipe then(Arguments... arguments) const {
    auto result = *this;
    if (obstacle_.empty())
      result.template add<F, deferred<Upstream>, Arguments...>(
          std::tuple<deferred<Upstream>, Arguments...>{{0}, std::move(arguments)...});
    return result;
  }
  /// `step` could not be remembered. The first reason stays.
  dataset_recipe stopped(std::string why) const { return obstacle_.empty() ? dataset_recipe{std::move(why)} : *this; }

  /// @throws invalid_argument_error that says why this dataset can't be made elsewhere and what to do.
  void check() const;
  /// The dataset, made here and now, which is a T. @throws what the calls throw.
  template <class T>
  std::shared_ptr<const T> make() const {
    return make_value().template get<T>();
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls_, obstacle_);
  }

 private:
  struct call {
    function_id function;
    value arguments;
  };

  template <class F, class... Stored>
  void add(std::tuple<Stored...> arguments) {
    auto& added = calls_.emplace_back();
    added.function = function_registry::instance().id_of(registered<F, Stored...>());
    if constexpr (sizeof...(Stored) != 0) added.arguments = value::of(std::move(arguments));
  }
  value make_value() const;

  std::vector<call> calls_;
  std::string obstacle_;
};

/// Whether a function given to a dataset can be made again from its type alone.
template <class F>
concept remembered_function = std::is_empty_v<F> && std::default_initializable<F>;

}  // namespace troupe::detail
