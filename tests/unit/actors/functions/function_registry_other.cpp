// The second translation unit of the test: the same names and the same lambda as in function_registry.cpp, on purpose.
#include <troupe/actors/functions/function_registry.hpp>

namespace {

const troupe::function_entry& entry_of_local_lambda() {
  return troupe::registered<decltype([](int x) { return x + 2000; }), int>();
}

int shared_name(int x) { return x + 2; }
TROUPE_REGISTER("test/ambiguous", shared_name);

}  // namespace

static const troupe::function_entry& entry_of_static_function() {
  const auto function = [](int x) { return x + 200; };
  return troupe::registered<decltype(function), int>();
}

const troupe::function_entry& entry_of_other_lambda() { return entry_of_local_lambda(); }

const troupe::function_entry& entry_of_other_static_function() { return entry_of_static_function(); }
