#include <troupe/actors/rpc/rpc_method.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace troupe::rpc {

std::string to_string(const method_description& method) { return method.name + method.signature; }

std::uint64_t signature_tag(std::string_view signature) noexcept { return hash_text(signature) | 1; }

namespace detail {

std::string signature_text(std::span<const std::string> parameters, const std::string& result) {
  return fmt::format("({}) -> {}", fmt::join(parameters, ", "), result);
}

void check_argument_count(const std::string& name, std::size_t expected, std::size_t found) {
  if (expected == found) return;
  throw invalid_argument_error{
      fmt::format("{} takes {} argument{}, but got {}", name, expected, expected == 1 ? "" : "s", found)};
}

void rethrow_argument_error(const std::string& name, std::size_t position) {
  const auto why = status_of(std::current_exception());
  throw_status({why.code(), fmt::format("argument {} of {}: {}", position + 1, name, why.message())});
}

method_description describe_method(std::string name, std::string signature, std::span<const tensor_spec> specs,
                                   std::span<const bool> takes_tensor) {
  if (name.empty()) throw invalid_argument_error{"a method needs a name"};
  if (!specs.empty()) {
    if (specs.size() != takes_tensor.size())
      throw invalid_argument_error{fmt::format("the input signature of {} has {} specs, but the method takes {}", name,
                                               specs.size(), takes_tensor.size())};
    const auto other = std::find(takes_tensor.begin(), takes_tensor.end(), false);
    if (other != takes_tensor.end())
      throw invalid_argument_error{
          fmt::format("the input signature of {} is for tensors, but parameter {} of {} is none: its type says enough",
                      name, other - takes_tensor.begin() + 1, signature)};
  }
  std::vector<std::string> texts;
  for (const auto& spec : specs) texts.push_back(to_string(spec));
  return {std::move(name), std::move(signature), fmt::format("{}", fmt::join(texts, ", "))};
}

std::vector<datum> apply_input_specs(const std::string& name, std::span<const datum> arguments,
                                     std::span<const tensor_spec> specs) {
  check_argument_count(name, specs.size(), arguments.size());
  std::vector<datum> applied;
  applied.reserve(arguments.size());
  for (std::size_t i = 0; i < specs.size(); ++i)
    applied.push_back(datum::of(expect_tensor(arguments[i], specs[i], fmt::format("argument {} of {}", i + 1, name))));
  return applied;
}

}  // namespace detail

namespace {

template <class Names>
std::string listing(const Names& names) {
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void method_table::add(method added, std::size_t methods_max) {
  const auto name = added.description.name;
  if (methods_.contains(name))
    throw invalid_argument_error{fmt::format("a method named \"{}\" is registered already, as {}", name,
                                             to_string(methods_.find(name)->second.description))};
  if (methods_.size() >= methods_max)
    throw resource_exhausted_error{
        fmt::format("\"{}\" would be method {} of this server, whose limit (methods_max) is {}", name,
                    methods_.size() + 1, methods_max)};
  methods_.emplace(name, std::move(added));
}

const method& method_table::find_or_throw(std::string_view name) const {
  const auto found = methods_.find(name);
  if (found != methods_.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [known, ignored] : methods_) names.push_back(known);
  throw invalid_argument_error{
      fmt::format("the method \"{}\" is not registered; this server has: {}", name, listing(names))};
}

void method_table::permit(std::string_view name, std::vector<std::string> roles) {
  find_or_throw(name);
  if (roles.empty() || std::ranges::any_of(roles, &std::string::empty))
    throw invalid_argument_error{fmt::format(
        "\"{}\" is to be permitted to no role, or to one without a name; expected jobs of certificates, such "
        "as \"worker\"",
        name)};
  methods_.find(name)->second.roles = std::move(roles);
}

status method_table::check_caller(std::string_view name, std::string_view role) const {
  const auto found = methods_.find(name);
  if (found == methods_.end()) return {};
  const auto& permitted = found->second.roles;
  if (permitted.empty() || std::ranges::find(permitted, role) != permitted.end()) return {};
  return {status_code::permission_denied,
          fmt::format("\"{}\" is for processes of the roles {}, and the caller's is {}", name,
                      fmt::join(permitted, ", "), role.empty() ? "not known" : role)};
}

const method* method_table::find_permitted() const {
  const auto found = std::ranges::find_if(methods_, [](const auto& each) { return !each.second.roles.empty(); });
  return found == methods_.end() ? nullptr : &found->second;
}

std::vector<method_description> method_table::describe() const {
  std::vector<method_description> all;
  all.reserve(methods_.size());
  for (const auto& [name, known] : methods_) all.push_back(known.description);
  return all;
}

datum call_method(const method_table& methods, std::string_view name, std::uint64_t tag,
                  std::span<const datum> arguments) {
  const auto& called = methods.find_or_throw(name);
  if (tag != 0 && tag != called.tag)
    throw invalid_argument_error{
        fmt::format("the caller means another signature than the server's {}; make the client again to see its methods",
                    to_string(called.description))};
  return called.call(arguments);
}

const method_description& find_method(std::span<const method_description> methods, std::string_view name,
                                      std::string_view signature, std::string_view server) {
  const auto found =
      std::find_if(methods.begin(), methods.end(), [name](const auto& known) { return known.name == name; });
  if (found == methods.end()) {
    std::vector<std::string> texts;
    for (const auto& known : methods) texts.push_back(to_string(known));
    throw not_found_error{fmt::format("the server {} has no method \"{}\"; it has: {}", server, name, listing(texts))};
  }
  if (found->signature != signature)
    throw invalid_argument_error{
        fmt::format("{}{} was expected, but the server {} has {}", name, signature, server, to_string(*found))};
  return *found;
}

}  // namespace troupe::rpc
