// The methods of a server: functions by name, with signatures that any program can compare.
#pragma once

#include <troupe/actors/rpc/rpc_representation.hpp>
#include <troupe/actors/rpc/rpc_spec.hpp>
#include <troupe/actors/values/internal/type_name.hpp>

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

namespace troupe::rpc {

/// What a client learns of a method.
struct method_description {
  std::string name;
  /// "(int32, int32) -> int32": what types are matched by.
  std::string signature;
  /// For people: the tensors that it takes, "int32 (), int32 ()"; empty when none was said.
  std::string input_specs;

  bool operator==(const method_description&) const = default;
};

/// "addition(int32, int32) -> int32".
std::string to_string(const method_description& method);

/// Stands for a signature in a call, so that the server can tell that the caller meant another one; never 0, which
/// stands for a caller who does not know.
std::uint64_t signature_tag(std::string_view signature) noexcept;

struct method {
  method_description description;
  std::uint64_t tag = 0;
  /// Throws what the function throws, and invalid_argument_error for arguments that it can't be called with. Any
  /// thread.
  std::function<datum(std::span<const datum> arguments)> call;
  /// Who may call it; empty: whoever has come in.
  std::vector<std::string> roles = {};
};

namespace detail {

std::string signature_text(std::span<const std::string> parameters, const std::string& result);
void check_argument_count(const std::string& name, std::size_t expected, std::size_t found);
/// Adds what was called to an error about an argument.
[[noreturn]] void rethrow_argument_error(const std::string& name, std::size_t position);
method_description describe_method(std::string name, std::string signature, std::span<const tensor_spec> specs,
                                   std::span<const bool> takes_tensor);

template <class Signature>
struct signature_of;
template <class Result, class... Parameters>
struct signature_of<Result(Parameters...)> {
  // As constants, whose failure a compiler reports without the concepts behind them.
  static constexpr bool parameters_travel = (representable<std::decay_t<Parameters>> && ...);
  static constexpr bool result_travels = std::is_void_v<Result> || representable<std::decay_t<Result>>;
  static constexpr bool parameters_stay =
      ((!std::is_lvalue_reference_v<Parameters> || std::is_const_v<std::remove_reference_t<Parameters>>)&&...);
  static_assert(parameters_travel,
                "a parameter of this method can't travel between programs; see rpc_representation.hpp for what can");
  static_assert(result_travels,
                "the result of this method can't travel between programs; see rpc_representation.hpp for what can");
  static_assert(parameters_stay, "a method takes its parameters by value or by const reference");

  static std::string text() {
    const std::vector<std::string> parameters{type_text<std::decay_t<Parameters>>()...};
    return signature_text(parameters, type_text<std::decay_t<Result>>());
  }
};

template <class F>
inline constexpr bool one_signature = requires(F function) {
  std::function{function};
};

/// Whether signature_of has no objection.
template <class Function>
struct callable_from_afar;
template <class Result, class... Parameters>
struct callable_from_afar<std::function<Result(Parameters...)>> {
  static constexpr bool value =
      ((representable<std::decay_t<Parameters>> &&
        (!std::is_lvalue_reference_v<Parameters> || std::is_const_v<std::remove_reference_t<Parameters>>)) &&
       ...) &&
      (std::is_void_v<Result> || representable<std::decay_t<Result>>);
  static method explain() {
    static_assert(sizeof(signature_of<Result(Parameters...)>) != 0);
    return {};
  }
};

template <class T>
T unpack_argument(const std::string& name, std::span<const datum> arguments, std::size_t position) {
  try {
    return arguments[position].template as<T>();
  } catch (...) {
    rethrow_argument_error(name, position);
  }
}

template <class F, class Result, class... Parameters, std::size_t... I>
datum call_method(const F& function, const std::string& name, std::span<const datum> arguments,
                  std::function<Result(Parameters...)>*, std::index_sequence<I...>) {
  check_argument_count(name, sizeof...(Parameters), arguments.size());
  // A braced list is evaluated from left to right: the first wrong argument is named.
  std::tuple<std::decay_t<Parameters>...> unpacked{unpack_argument<std::decay_t<Parameters>>(name, arguments, I)...};
  if constexpr (std::is_void_v<Result>) {
    std::apply(*function, std::move(unpacked));
    return {};
  } else {
    return representation<std::decay_t<Result>>::pack(std::apply(*function, std::move(unpacked)));
  }
}

template <class Signature>
struct method_maker;
template <class Result, class... Parameters>
struct method_maker<std::function<Result(Parameters...)>> {
  template <class F>
  static method make(std::string name, F function, std::vector<tensor_spec> specs);
};

/// The arguments as the tensors that the specs name, numbers included. @throws invalid_argument_error
std::vector<datum> apply_input_specs(const std::string& name, std::span<const datum> arguments,
                                     std::span<const tensor_spec> specs);

template <class Result, class... Parameters>
template <class F>
method method_maker<std::function<Result(Parameters...)>>::make(std::string name, F function,
                                                                std::vector<tensor_spec> specs) {
  constexpr std::array<bool, sizeof...(Parameters) + 1> takes_tensor{
      std::is_same_v<std::decay_t<Parameters>, tensor>...};
  auto signature = signature_of<Result(Parameters...)>::text();
  const auto tag = signature_tag(signature);
  auto description = describe_method(std::move(name), std::move(signature), specs,
                                     std::span{takes_tensor}.first(sizeof...(Parameters)));
  // Shared: functions of a table are copied, and what a lambda holds need not be copyable.
  auto call = [shared = std::make_shared<F>(std::move(function)), called = description.name,
               specs = std::move(specs)](std::span<const datum> arguments) {
    std::vector<datum> as_specified;
    if (!specs.empty()) arguments = as_specified = apply_input_specs(called, arguments, specs);
    return call_method(shared, called, arguments, static_cast<std::function<Result(Parameters...)>*>(nullptr),
                       std::index_sequence_for<Parameters...>{});
  };
  return {std::move(description), tag, std::move(call)};
}

}  // namespace detail

/// A method from a function or a lambda with one signature; its parameters by value or const reference.
/// `input_signature` may say which tensors it takes: none, or one spec for each parameter, all of them tensors.
/// @throws invalid_argument_error for an empty name, and specs that don't fit the parameters
template <class F>
method make_method(std::string name, F function, std::vector<tensor_spec> input_signature = {}) {
  // After a failed assertion nothing else is instantiated, so that its message stands alone.
  if constexpr (!detail::one_signature<F>) {
    static_assert(
        detail::one_signature<F>,
        "a method needs one signature: give the lambda's parameters types, and choose one of overloaded functions");
    return {};
  } else if constexpr (!detail::callable_from_afar<decltype(std::function{function})>::value) {
    return detail::callable_from_afar<decltype(std::function{function})>::explain();
  } else {
    return detail::method_maker<decltype(std::function{function})>::make(std::move(name), std::move(function),
                                                                         std::move(input_signature));
  }
}

/// All methods of a server, by name. Filled before the server starts, only read afterwards.
class method_table {
 public:
  /// @throws invalid_argument_error for a name that is taken, resource_exhausted_error beyond `methods_max`
  void add(method added, std::size_t methods_max);
  /// @throws invalid_argument_error "... is not registered" that lists what is
  const method& find_or_throw(std::string_view name) const;
  /// @throws the same; invalid_argument_error for no role or an empty one
  void permit(std::string_view name, std::vector<std::string> roles);
  /// Ok if a caller of this role may call the method, or there is none of that name.
  status check_caller(std::string_view name, std::string_view role) const;
  /// The first method that is for some roles only; null: all are for everybody.
  const method* find_permitted() const;
  /// Sorted by name.
  std::vector<method_description> describe() const;

 private:
  std::map<std::string, method, std::less<>> methods_;
};

/// Calls the method as a client asked. `tag` is 0 or that of the signature that the client knows.
/// @throws invalid_argument_error for an unknown name, another signature or wrong arguments; what the method throws
datum call_method(const method_table& methods, std::string_view name, std::uint64_t tag,
                  std::span<const datum> arguments);

/// Which of a server's methods has this name and signature.
/// @throws not_found_error that lists the methods, invalid_argument_error that shows both signatures
const method_description& find_method(std::span<const method_description> methods, std::string_view name,
                                      std::string_view signature, std::string_view server);

}  // namespace troupe::rpc
