#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/refusals.hpp>

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace troupe {

namespace {

std::string_view text_of(refusal why) {
  switch (why) {
    case refusal::wrong_words:
      return "what they said does not let them in";
    case refusal::silent:
      return "they did not say in time what they want";
    case refusal::displaced:
      return "they had not said what they want when others needed their places";
    case refusal::over_limit:
      return "too many connections are open";
    case refusal::no_descriptor:
      return "the process has no descriptor left; raise the limit of open files (ulimit -n)";
  }
  return "";
}

}  // namespace

refusals::refusals(std::string where, limited_log::clock now) : where_(std::move(where)), log_(std::move(now)) {}

void refusals::add(refusal why, const std::string& reason) {
  ++counts_.at(static_cast<std::size_t>(why));
  const auto general = text_of(why);
  if (const auto due = log_.add(reason.empty() ? general : std::string_view{reason}, general))
    log_warning(fmt::format("{}: connections were closed ({} of them): {}", where_, due->count, due->reason));
}

std::uint64_t refusals::count(refusal why) const { return counts_.at(static_cast<std::size_t>(why)); }

}  // namespace troupe
