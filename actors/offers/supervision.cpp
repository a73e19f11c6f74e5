#include <troupe/actors/offers/supervision.hpp>

#include <fmt/format.h>

#include <set>
#include <string_view>

namespace troupe {

void supervision_options::check() const {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) throw invalid_argument_error{"supervision_options: " + what};
  };
  require(restarts_max >= 0,
          fmt::format("restarts_max is {}, but must be 0 (give up at the first failure) or more", restarts_max));
  require(within > duration::zero(), fmt::format("within is {} ms, but must be more than 0: the time in which "
                                                 "restarts_max restarts are not too many, such as 1min",
                                                 in_milliseconds(within)));
  require(first_pause >= duration::zero(),
          fmt::format("first_pause is {} ms, but must be 0 (restart at once) or more", in_milliseconds(first_pause)));
  require(pause_max >= first_pause,
          fmt::format("pause_max is {} ms, but must not be below first_pause, {} ms: raise it, or lower the other",
                      in_milliseconds(pause_max), in_milliseconds(first_pause)));
  require(end_limit > duration::zero(),
          fmt::format("end_limit is {} ms, but must be more than 0: how long an actor that ends is waited for",
                      in_milliseconds(end_limit)));
}

void check(const std::vector<supervised_child>& children) {
  if (children.empty())
    throw invalid_argument_error{
        "a supervisor has no children: give it one or more, each a name and the function "
        "that starts its actor"};
  if (children.size() > supervision_options::children_max)
    throw invalid_argument_error{
        fmt::format("a supervisor can't have {} children, its limit is {} (children_max): "
                    "divide them among several supervisors",
                    children.size(), supervision_options::children_max)};
  std::set<std::string_view> names;
  for (const auto& child : children) {
    if (child.name().empty())
      throw invalid_argument_error{
          "a child of a supervisor has no name: give it one, and child_name::not_offered if "
          "nobody is to find it"};
    if (!names.insert(child.name()).second)
      throw invalid_argument_error{
          fmt::format("two children of a supervisor are called \"{}\": each needs a name of its own", child.name())};
  }
}

}  // namespace troupe
