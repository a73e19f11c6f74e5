#include "support/refusal.hpp"

#include <troupe/actors/functions/function_registry.hpp>
#include <troupe/device/base/error.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

using troupe::contains;
using troupe::deferred;
using troupe::function_entry;
using troupe::function_id;
using troupe::function_registry;
using troupe::message_of;
using troupe::registered;
using troupe::value;

// From function_registry_other.cpp.
const function_entry& entry_of_other_lambda();
const function_entry& entry_of_other_static_function();

namespace {

const function_entry& entry_of_local_lambda() {
  return registered<decltype([](int x) { return x + 1000; }), int>();
}

int shared_name(int x) { return x + 1; }
TROUPE_REGISTER("test/ambiguous", shared_name);

constexpr int step_line = __LINE__ + 1;
float step(const std::string& variable, float rate) { return static_cast<float>(variable.size()) * rate; }
TROUPE_REGISTER("test/step", step);

TROUPE_REGISTER("test/lambda", [](int a, int b) { return a * b; });

constexpr auto named_lambda = [](int a) { return -a; };
TROUPE_REGISTER("test/named_lambda", named_lambda);

void quiet(int) noexcept {}

constexpr int never_called_line = __LINE__ + 1;
int never_called(int x) { return x; }

struct counted {
  static constexpr int line = __LINE__ + 1;
  int add(int more) const { return count + more; }
  int count = 0;
};

/// Nobody calls this: the mention alone registers the function.
[[maybe_unused]] const function_entry& mention() { return registered<never_called, int>(); }

/// Calls the entry with the arguments as they are.
template <class... Args>
value call(const function_entry& entry, const std::vector<value>& dependencies, Args... args) {
  return entry.call(value::of(std::tuple<Args...>{std::move(args)...}), dependencies);
}

template <class F, class... Args>
value call_lambda(F, const std::vector<value>& dependencies, Args... args) {
  return call(registered<F, Args...>(), dependencies, std::move(args)...);
}

const function_registry& registry() { return function_registry::instance(); }

value through_the_wire(const value& x) { return troupe::decode<value>(troupe::encode(x)); }

constexpr auto print_request = "TROUPE_TEST_PRINT_FUNCTION";

}  // namespace

static const function_entry& entry_of_static_function() {
  const auto function = [](int x) { return x + 100; };
  return registered<decltype(function), int>();
}

BOOST_AUTO_TEST_SUITE(function_registry_suite)

BOOST_AUTO_TEST_CASE(a_registered_lambda_is_called_by_its_entry) {
  const auto result = call_lambda([](int a, float b) { return static_cast<float>(a) + b; }, {}, 1, 0.5f);
  BOOST_TEST(*result.get<float>() == 1.5f);
}

BOOST_AUTO_TEST_CASE(equal_lambdas_in_two_translation_units_are_two_functions) {
  BOOST_TEST(*call(entry_of_static_function(), {}, 1).get<int>() == 101);
  BOOST_TEST(*call(entry_of_other_static_function(), {}, 1).get<int>() == 201);
  BOOST_TEST(*call(entry_of_local_lambda(), {}, 1).get<int>() == 1001);
  BOOST_TEST(*call(entry_of_other_lambda(), {}, 1).get<int>() == 2001);
  const auto ids =
      std::set{registry().id_of(entry_of_static_function()), registry().id_of(entry_of_local_lambda()),
               registry().id_of(entry_of_other_static_function()), registry().id_of(entry_of_other_lambda())};
  BOOST_TEST(ids.size() == 4u);
  for (const auto& id : ids) BOOST_TEST((registry().find(id) != nullptr));
}

BOOST_AUTO_TEST_CASE(a_generic_lambda_is_registered_for_each_list_of_types) {
  const auto add = [](const auto& a, const auto& b) { return a + b; };
  BOOST_TEST(*call_lambda(add, {}, 1, 2).get<int>() == 3);
  BOOST_TEST(*call_lambda(add, {}, std::string{"a"}, std::string{"b"}).get<std::string>() == "ab");
}

BOOST_AUTO_TEST_CASE(a_function_that_returns_nothing_gives_an_empty_value) {
  BOOST_TEST(call(registered<quiet, int>(), {}, 1).empty());
}

BOOST_AUTO_TEST_CASE(a_function_without_arguments_accepts_an_empty_value) {
  const auto& entry = registered<decltype([] { return 7; })>();
  BOOST_TEST(*entry.call({}, {}).get<int>() == 7);
  BOOST_TEST(*call(entry, {}).get<int>() == 7);
}

BOOST_AUTO_TEST_CASE(an_argument_is_passed_without_a_copy) {
  using owner = std::unique_ptr<int>;
  BOOST_TEST(*call_lambda([](const owner& x) { return *x; }, {}, std::make_unique<int>(5)).get<int>() == 5);
  const auto address = [](const std::string& x) { return reinterpret_cast<std::uintptr_t>(x.data()); };
  const auto arguments = value::of(std::tuple{std::string(100, 'x')});
  const auto result = registered<decltype(address), std::string>().call(arguments, {});
  BOOST_TEST(*result.get<std::uintptr_t>() ==
             reinterpret_cast<std::uintptr_t>(std::get<0>(*arguments.get<std::tuple<std::string>>()).data()));
}

BOOST_AUTO_TEST_CASE(a_deferred_argument_is_the_result_itself) {
  const auto dependency = value::of(std::string(100, 'x'));
  const auto address = [](const std::string& x) { return reinterpret_cast<std::uintptr_t>(x.data()); };
  const auto result = call_lambda(address, {value::of(1), dependency}, deferred<std::string>{1});
  BOOST_TEST(*result.get<std::uintptr_t>() == reinterpret_cast<std::uintptr_t>(dependency.get<std::string>()->data()));
}

BOOST_AUTO_TEST_CASE(deferred_arguments_are_found_inside_containers) {
  const auto dependencies = std::vector{value::of(1), value::of(20), value::of(300)};
  const auto sum = [](const std::vector<int>& xs) {
    auto total = 0;
    for (auto x : xs) total += x;
    return total;
  };
  BOOST_TEST(*call_lambda(sum, dependencies, std::vector<deferred<int>>{{2}, {0}, {2}}).get<int>() == 601);

  const auto deep = [](const std::map<std::string, std::tuple<int, std::array<int, 2>>>& x, std::pair<int, float> y) {
    const auto& [first, rest] = x.at("key");
    return first + rest[0] + rest[1] + y.first + static_cast<int>(y.second);
  };
  using inner = std::tuple<deferred<int>, std::array<deferred<int>, 2>>;
  const auto result = call_lambda(deep, dependencies, std::map<std::string, inner>{{"key", {{0}, {{{1}, {2}}}}}},
                                  std::pair<deferred<int>, float>{{1}, 4000.0f});
  BOOST_TEST(*result.get<int>() == 4341);
}

BOOST_AUTO_TEST_CASE(arguments_and_dependencies_may_arrive_encoded) {
  const auto scale = [](const std::vector<float>& xs, float factor) { return xs.front() * factor; };
  using arguments = std::tuple<deferred<std::vector<float>>, float>;
  const auto& entry = registered<decltype(scale), deferred<std::vector<float>>, float>();
  const auto dependencies = std::vector{through_the_wire(value::of(std::vector{2.0f}))};
  BOOST_TEST(*entry.call(through_the_wire(value::of(arguments{{0}, 3.0f})), dependencies).get<float>() == 6.0f);
}

BOOST_AUTO_TEST_CASE(a_missing_dependency_or_another_type_is_an_error) {
  const auto negate = [](int x) { return -x; };
  const auto text = message_of<troupe::invalid_argument_error>([&] { call_lambda(negate, {}, deferred<int>{3}); });
  BOOST_TEST(contains(text, "result 3"));
  BOOST_CHECK_THROW(call_lambda(negate, {value::of(1.0f)}, deferred<int>{0}), troupe::invalid_argument_error);
  const auto& entry = registered<decltype(negate), int>();
  BOOST_CHECK_THROW(entry.call(value::of(std::tuple{1.0f}), {}), troupe::invalid_argument_error);
  BOOST_CHECK_THROW(entry.call({}, {}), troupe::invalid_argument_error);
}

BOOST_AUTO_TEST_CASE(what_the_function_throws_passes_through) {
  const auto thrower = [](int) -> int { throw troupe::aborted_error("on purpose"); };
  BOOST_CHECK_THROW(call_lambda(thrower, {}, 1), troupe::aborted_error);
}

BOOST_AUTO_TEST_CASE(a_named_function_is_the_same_entry_under_its_name) {
  const auto& entry = registered<step, std::string, float>();
  const auto id = registry().id_of(entry);
  BOOST_TEST(id.name == "test/step");
  BOOST_TEST(to_string(id).starts_with("test/step at "));
  BOOST_TEST((registry().find("test/step") == &entry));
  BOOST_TEST(contains(entry.description, "step("));
  BOOST_TEST((registry().id_of(registered<named_lambda, int>()).name == "test/named_lambda"));
  BOOST_TEST((&registered<decltype(named_lambda), int>() == registry().find("test/named_lambda")));
  BOOST_TEST(*call(*registry().find("test/lambda"), {}, 6, 7).get<int>() == 42);
  const auto names = registry().names();
  BOOST_TEST(std::is_sorted(names.begin(), names.end()));
  BOOST_TEST((std::find(names.begin(), names.end(), "test/lambda") != names.end()));
}

BOOST_AUTO_TEST_CASE(other_argument_types_are_another_entry_without_the_name) {
  const auto& entry = registered<step, std::string, double>();
  BOOST_TEST(registry().id_of(entry).name.empty());
  BOOST_TEST((&entry != &registered<step, std::string, float>()));
}

BOOST_AUTO_TEST_CASE(a_process_of_another_build_finds_functions_by_name_only) {
  auto id = registry().id_of(registered<step, std::string, float>());
  id.build_id ^= 1;
  id.offset = 12345;
  BOOST_TEST((registry().find(id) == &registered<step, std::string, float>()));
  auto unnamed = registry().id_of(entry_of_static_function());
  unnamed.build_id ^= 1;
  BOOST_TEST((registry().find(unnamed) == nullptr));
}

BOOST_AUTO_TEST_CASE(only_registered_offsets_can_be_called) {
  auto id = registry().id_of(registered<step, std::string, float>());
  ++id.offset;
  BOOST_TEST((registry().find(id) == nullptr));
  const auto text = message_of<troupe::not_found_error>([&] { registry().find_or_throw(id); });
  BOOST_TEST(contains(text, "test/step"));
  BOOST_TEST(contains(text, "TROUPE_REGISTER"));
  BOOST_TEST(contains(text, "same binary"));
  BOOST_TEST((registry().find(function_id{}) == nullptr));
}

BOOST_AUTO_TEST_CASE(a_name_given_to_two_functions_finds_neither) {
  const auto text = message_of<troupe::failed_precondition_error>([&] { registry().find("test/ambiguous"); });
  BOOST_TEST(contains(text, "test/ambiguous"));
  BOOST_TEST(contains(text, "2 functions"));
  const auto exact = registry().id_of(registered<shared_name, int>());
  BOOST_TEST((registry().find(exact) == &registered<shared_name, int>()));
}

BOOST_AUTO_TEST_CASE(an_identity_can_be_sent_and_shown) {
  const auto id = registry().id_of(entry_of_static_function());
  BOOST_TEST((troupe::decode<function_id>(troupe::encode(id)) == id));
  BOOST_TEST(contains(to_string(id), "lambda"));
  BOOST_TEST(to_string(function_id{1, 2, ""}) == "module 0000000000000001+0x2");
  BOOST_TEST(to_string(function_id{1, 2, "name"}) == "name");
  BOOST_TEST(to_string(function_id{1, 2, "test/ambiguous"}) == "test/ambiguous");
}

/// What people are told of a function that stands on this line.
std::string at_line(int line) { return fmt::format(" at function_registry.cpp:{}", line); }

BOOST_AUTO_TEST_CASE(a_function_is_shown_with_its_file_and_line) {
  const auto shown = [](const function_entry& entry) { return to_string(registry().id_of(entry)); };
  // clang-format off
  constexpr auto lambda = [](int a, int b) {
    return a - b;
  }; constexpr int line = __LINE__ - 2;
  constexpr auto generic = [](int a, auto b) { return a + b; };
  // clang-format on
  BOOST_TEST(shown(registered<decltype(lambda), int, int>()).ends_with(at_line(line)));
  BOOST_TEST(shown(registered<never_called, int>()).ends_with(at_line(never_called_line)));
  BOOST_TEST(shown(registered<&counted::add, counted, int>()).ends_with(at_line(counted::line)));
  BOOST_TEST(shown(registered<step, std::string, float>()) == "test/step" + at_line(step_line));
  // Which of its operators is called is not known before it is called.
  BOOST_TEST(contains(shown(registered<decltype(generic), int, int>()), "(module "));
}

BOOST_AUTO_TEST_CASE(the_build_id_belongs_to_the_module_of_an_address) {
  BOOST_TEST(troupe::program_build_id() != 0u);
  BOOST_TEST(troupe::build_id_of(reinterpret_cast<const void*>(&step)) == troupe::program_build_id());
  // No function that a sanitizer replaces by its own.
  const auto in_library = troupe::build_id_of(reinterpret_cast<const void*>(&std::rand));
  BOOST_TEST(in_library != 0u);
  BOOST_TEST(in_library != troupe::program_build_id());
  const auto on_stack = 0;
  BOOST_TEST(troupe::build_id_of(&on_stack) == 0u);
}

// Run by the test below in a process of its own.
BOOST_AUTO_TEST_CASE(a_process_prints_the_identity_when_it_is_asked_to) {
  if (!std::getenv(print_request)) return;
  const auto id = registry().id_of(entry_of_other_static_function());
  std::printf("identity %llx %llx\n", static_cast<unsigned long long>(id.build_id),
              static_cast<unsigned long long>(id.offset));
}

BOOST_AUTO_TEST_CASE(another_process_of_the_same_binary_gives_a_function_the_same_identity) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto command = std::string{print_request} + "=1 '" + program +
                       "' --run_test=function_registry_suite/a_process_prints_the_identity_when_it_is_asked_to";
  const auto output = std::unique_ptr<std::FILE, int (*)(std::FILE*)>{popen(command.c_str(), "r"), pclose};
  BOOST_REQUIRE(output);
  auto build_id = 0ull;
  auto offset = 0ull;
  auto line = std::array<char, 256>{};
  while (std::fgets(line.data(), line.size(), output.get())) {
    if (std::sscanf(line.data(), "identity %llx %llx", &build_id, &offset) == 2) break;
  }
  const auto id = registry().id_of(entry_of_other_static_function());
  BOOST_TEST(build_id == id.build_id);
  BOOST_TEST(offset == id.offset);
}

BOOST_AUTO_TEST_CASE(a_function_that_is_only_mentioned_is_registered_before_main) {
  // The invoker's address is taken without running `mention`.
  const auto position = troupe::position_of(
      reinterpret_cast<const void*>(&troupe::detail::invoke_function<troupe::function_constant<&never_called>, int>));
  BOOST_TEST((registry().find(function_id{position.build_id, position.offset, ""}) != nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
