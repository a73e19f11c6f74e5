// Functions travel by identity: every process of a program knows the same table of functions, and a message names an
// entry.
//
// Problem: a lambda has no name that another process could look up. Its mangled name repeats over translation units,
// and a pointer means nothing elsewhere. Solution: mentioning a function in `registered` instantiates an invoker for
// it, and the invoker's registration runs before main, in every process of the program, whether or not that line is
// ever reached. The identity is (build id of the module, offset of the invoker in it). A process of another build looks
// for the name instead, if the function was given one:
//
//   float step(variable<float> v, float x);
//   TROUPE_REGISTER("mnist/step", step);
//
// The name belongs to the invoker for the function's own parameter types, decayed. `registered<step, Args...>()` with
// the same argument types (a float for the float, not a double) instantiates the same invoker, so it is found under
// that name in other builds; with other argument types it is an entry without a name, for processes of the same build.
//
// R-1 A remote peer can only select an entry of this table, whatever it sends. R-2 Entries are never removed: a library
// that registers functions must stay loaded. R-3 A name that was given to two functions finds neither.
//
// An object file in a static library registers its functions only if the linker takes it; TROUPE_REGISTER alone does
// not make it do so, but a mention of the function in `registered` is in the code that uses it anyway.
#pragma once

#include <troupe/actors/functions/build_id.hpp>
#include <troupe/actors/functions/deferred.hpp>
#include <troupe/actors/values/internal/type_name.hpp>
#include <troupe/actors/values/value.hpp>

#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// Calls a registered function. `arguments` holds the std::tuple<Args...> it was registered for, in which a deferred<T>
/// stands for `dependencies[index]`. Returns an empty value for void. Throws what the function throws, and
/// invalid_argument_error or data_loss_error when the arguments are not what it was registered for.
using invoker = value (*)(const value& arguments, std::span<const value> dependencies);

/// How a message names a function.
struct function_id {
  std::uint64_t build_id = 0;
  std::uint64_t offset = 0;
  /// Empty unless it was registered with a name.
  std::string name;
  auto operator<=>(const function_id&) const = default;
};

/// "mnist/step at job.cpp:41", or "main()::<lambda(float)>(float) at job.cpp:41" when it has no name. Without debug
/// information (source_line.hpp) it is "mnist/step" and "main()::<lambda(float)>(float) (module 3fa9...+0x1234)".
std::string to_string(const function_id& id);

/// A function that peers may call. Entries live as long as the process.
struct function_entry {
  invoker call;
  /// The function and its argument types, for people.
  std::string description;
  module_position position;
  /// Where the function's own code begins, for source_line.hpp; null: unknown.
  const void* code = nullptr;
};

/// The process's functions. Filled before main and by dlopen; thread-safe.
class function_registry {
 public:
  static function_registry& instance();

  /// Adds the function, or the name to a function that is there. Never throws for a name that is taken: that would end
  /// the process before main, so the name becomes ambiguous and `find` reports it.
  const function_entry& add(invoker call, std::string_view description, std::string_view name = {},
                            const void* code = nullptr);

  /// The entry, or nullptr. When the id is of a module that registered functions here, only its offset counts;
  /// otherwise only its name. Throws failed_precondition_error for a name that was given to several functions.
  const function_entry* find(const function_id& id) const;
  /// By name.
  const function_entry* find(std::string_view name) const;

  /// Throws not_found_error that names the function, both builds and the remedy.
  const function_entry& find_or_throw(const function_id& id) const;

  function_id id_of(const function_entry& entry) const;

  /// All names, sorted.
  std::vector<std::string> names() const;

 private:
  function_registry() = default;
  const function_entry* find_name(std::string_view name) const;  // caller holds the lock

  mutable std::shared_mutex mutex_;
  std::map<module_position, function_entry> entries_;
  std::map<std::string, std::vector<const function_entry*>, std::less<>> names_;
  std::unordered_map<const function_entry*, std::string> first_names_;
};

/// A function as a type: what makes `schedule<step>` the same as scheduling a lambda.
template <auto Function>
struct function_constant {
  template <class... Args>
  requires std::invocable<decltype(Function), Args...>
  decltype(auto) operator()(Args&&... args) const { return std::invoke(Function, std::forward<Args>(args)...); }
};

namespace detail {

template <class F>
inline constexpr std::string_view callable_name = type_name<F>;
template <auto Function>
inline constexpr std::string_view callable_name<function_constant<Function>> = constant_name<Function>;

/// "step(float, int)".
std::string describe_function(std::string_view callable, std::span<const std::string_view> arguments);

/// Where the code of a function, or of a pointer to a member function, begins. The latter begins with that address.
template <class F>
const void* code_at(F function) {
  const void* code = nullptr;
  static_assert(sizeof(function) >= sizeof(code));
  std::memcpy(&code, &function, sizeof(code));
  return code;
}

/// Where F's own code begins; null for a class with several call operators, or a template of them.
template <class F>
const void* code_of(std::type_identity<F>) {
  if constexpr (requires { code_at(&F::operator()); })
    return code_at(&F::operator());
  else
    return nullptr;
}
template <auto Function>
const void* code_of(std::type_identity<function_constant<Function>>) {
  if constexpr (std::is_pointer_v<decltype(Function)> || std::is_member_function_pointer_v<decltype(Function)>)
    return code_at(Function);
  else
    return nullptr;
}

/// Calls F with what each argument resolves to.
template <class F, class... Args>
value call_function(const resolved<Args>&... arguments) {
  auto function = F{};
  using result = std::invoke_result_t<F&, const resolved<Args>&...>;
  if constexpr (std::is_void_v<result>) {
    std::invoke(function, arguments...);
    return {};
  } else {
    return value::of<std::decay_t<result>>(std::invoke(function, arguments...));
  }
}

template <class F, class... Args>
value invoke_function(const value& arguments, std::span<const value> dependencies) {
  if constexpr (sizeof...(Args) == 0) {
    if (arguments.empty()) return call_function<F>();
  }
  const auto unpacked = arguments.get<std::tuple<Args...>>();
  return std::apply(
      [&](const Args&... xs) { return call_function<F, Args...>(*resolve_for_call(xs, dependencies)...); }, *unpacked);
}

template <class F, class... Args>
constexpr void require_registrable() {
  static_assert(!std::is_pointer_v<F>,
                "a function pointer has no identity in another process: name the function, as in schedule<step>(...)");
  static_assert(std::is_pointer_v<F> || (std::is_empty_v<F> && std::default_initializable<F>),
                "a closure travels without captures: pass them as arguments of schedule");
  static_assert((std::is_same_v<Args, std::decay_t<Args>> && ...), "arguments are stored by value: decay their types");
  static_assert(
      !std::is_empty_v<F> || std::invocable<F&, const resolved<Args>&...>,
      "the function cannot be called with these arguments: it takes another number of them, types they do not "
      "convert to, or a reference to non-const (take parameters by value or by const reference)");
}

template <class F, class... Args>
struct registration {
  static const function_entry& add(std::string_view name = {}) {
    constexpr std::array<std::string_view, sizeof...(Args)> arguments{type_name<Args>...};
    return function_registry::instance().add(&invoke_function<F, Args...>,
                                             describe_function(callable_name<F>, arguments), name,
                                             code_of(std::type_identity<F>{}));
  }
  static const function_entry& entry() {
    static const auto& result = add();
    return result;
  }
  /// Its initialisation is the registration; it is instantiated by being mentioned.
  static inline const function_entry& before_main = entry();
};

/// The type to register for a constant: a lambda's own type, so that scheduling that lambda finds the same invoker.
template <auto Function>
using callable_of = std::conditional_t<std::is_class_v<decltype(Function)>, std::remove_const_t<decltype(Function)>,
                                       function_constant<Function>>;

template <class F, class Signature>
struct named_registration;
template <class F, class Result, class... Parameters>
struct named_registration<F, std::function<Result(Parameters...)>> {
  static const function_entry& add(std::string_view name) {
    require_registrable<F, std::decay_t<Parameters>...>();
    return registration<F, std::decay_t<Parameters>...>::add(name);
  }
};

}  // namespace detail

/// The entry of a captureless lambda, or another class without state, for arguments of these (decayed) types.
/// Mentioning it anywhere in a program registers it in each process of the program.
template <class F, class... Args>
const function_entry& registered() {
  using callable = std::remove_cvref_t<F>;
  detail::require_registrable<callable, Args...>();
  (void)&detail::registration<callable, Args...>::before_main;
  return detail::registration<callable, Args...>::entry();
}

/// The same for a named function: `registered<step, variable<float>, float>()`.
template <auto Function, class... Args>
const function_entry& registered() {
  return registered<detail::callable_of<Function>, Args...>();
}

/// Registers a function or a captureless lambda that has one signature under a name; what TROUPE_REGISTER expands to.
template <auto Function>
const function_entry& register_function(std::string_view name) {
  static_assert(
      requires { std::function{Function}; },
      "only a function with one signature can be registered by name: give the lambda's parameters types");
  return detail::named_registration<detail::callable_of<Function>, decltype(std::function{Function})>::add(name);
}

}  // namespace troupe

#define TROUPE_CONCATENATE_EXPANDED(a, b) a##b
#define TROUPE_CONCATENATE(a, b) TROUPE_CONCATENATE_EXPANDED(a, b)

/// Gives a function a name by which processes of other builds can call it, at namespace scope of a source file:
/// TROUPE_REGISTER("mnist/step", step); TROUPE_REGISTER("sum", [](float a, float b) { return a + b; });
#define TROUPE_REGISTER(name, ...)                                                                   \
  [[maybe_unused]] static const auto& TROUPE_CONCATENATE(troupe_registered_function_, __COUNTER__) = \
      ::troupe::register_function<(__VA_ARGS__)>(name)
