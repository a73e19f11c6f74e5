#include <troupe/device/base/error.hpp>
#include <troupe/runtime/cluster/basp_guard.hpp>
#include <troupe/runtime/cluster/function_references.hpp>
#include <troupe/runtime/cluster/replaced_functions.hpp>

#include <caf/binary_deserializer.hpp>
#include <fmt/format.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

#include <dlfcn.h>

namespace troupe {

namespace {

constexpr std::array replaced{
    replaced_function{"_ZN3caf19binary_deserializer14begin_sequenceERm", "caf::binary_deserializer::begin_sequence"},
    replaced_function{"_ZN3caf7node_id12default_data5localERKNS_19actor_system_configE",
                      "caf::node_id::default_data::local"},
    replaced_function{"_ZN3caf2io4basp5validERKNS1_6headerE", "caf::io::basp::valid"},
    replaced_function{"_ZN3caf2io4basp13routing_table12erase_directERKNS0_17connection_handleE",
                      "caf::io::basp::routing_table::erase_direct"},
    replaced_function{"_ZN3caf2io4basp13routing_table12add_indirectERKNS_7node_idES5_",
                      "caf::io::basp::routing_table::add_indirect"},
    replaced_function{"_ZN3caf2io4basp8instance6handleEPNS_14execution_unitERNS0_12new_data_msgERNS1_6headerEb",
                      "caf::io::basp::instance::handle"},
};

constexpr auto how_to_link =
    "Link the program with CAF's shared libraries, without -Wl,--exclude-libs and without a version script that hides "
    "the symbols of caf (_ZN3caf*); load a plugin with RTLD_NOW, into a program that has not loaded CAF before "
    "(examples/reference/caf.md)";

/// The program or plugin that holds troupe.
loaded_object own_object() {
  static const char here = 0;
  return object_of(&here);
}

/// What the first call will find: each library is searched after the global scope.
const void* in_global_scope(const char* mangled) {
  auto* const scope = ::dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
  if (scope == nullptr) return nullptr;
  const auto* const found = ::dlsym(scope, mangled);
  ::dlclose(scope);
  return found;
}

std::string problem_with(const function_reference& call) {
  const auto* const called = call.bound != nullptr ? call.bound : in_global_scope(call.function);
  const auto caller = object_of(call.place);
  if (called == nullptr) return fmt::format("it can't be seen yet what {} will call", caller.path);
  const auto target = object_of(called);
  if (target == own_object()) return {};
  return target == caller ? fmt::format("{} calls its own", caller.path)
                          : fmt::format("{} calls that of {}", caller.path, target.path);
}

std::string problem_with(const replaced_function& function, std::span<const function_reference> calls) {
  auto is_called = false;
  for (const auto& call : calls) {
    if (call.function != function.mangled) continue;
    if (auto problem = problem_with(call); !problem.empty()) return problem;
    is_called = is_called || object_of(call.place) != own_object();
  }
  if (!is_called) return "no shared library calls it by its name";
  // basp::valid asks CAF's definition, too.
  if (::dlsym(RTLD_NEXT, function.mangled) == nullptr) return "CAF's own definition can't be found";
  return {};
}

/// Whether CAF makes room for the text of a message before it has come.
bool makes_room_for_what_is_absent() {
  const std::vector<char> says_1023_characters{'\xFF', '\x07'};
  caf::binary_deserializer source{nullptr, says_1023_characters};
  std::string text;
  const auto failed = source(text);
  return !failed || !text.empty();
}

std::string find_problem() {
  guard_basp();
  auto problem = problem_with_replaced(replaced);
  if (problem.empty() && makes_room_for_what_is_absent())
    problem = "caf::binary_deserializer::begin_sequence: CAF's library has calls that pass the dynamic linker by";
  return problem;
}

}  // namespace

std::span<const replaced_function> replaced_functions() { return replaced; }

std::string problem_with_replaced(std::span<const replaced_function> functions) {
  std::vector<const char*> mangled;
  mangled.reserve(functions.size());
  for (const auto& function : functions) mangled.push_back(function.mangled);
  const auto calls = references_to(mangled);
  std::map<std::string, std::vector<const char*>> functions_by_problem;
  for (const auto& function : functions)
    if (auto problem = problem_with(function, calls); !problem.empty())
      functions_by_problem[std::move(problem)].push_back(function.name);
  std::vector<std::string> result;
  result.reserve(functions_by_problem.size());
  for (const auto& [problem, names] : functions_by_problem)
    result.push_back(fmt::format("{}: {}", fmt::join(names, ", "), problem));
  return fmt::format("{}", fmt::join(result, "; "));
}

void require_replaced_functions() {
  static const auto problem = find_problem();
  if (problem.empty()) return;
  throw failed_precondition_error{fmt::format(
      "no port is opened or dialled, because CAF uses functions of its own in place of troupe's, which keep "
      "peers from ending this process ({}). {}",
      problem, how_to_link)};
}

}  // namespace troupe
