#include <troupe/runtime/cluster/program_log.hpp>
#include <troupe/runtime/door/refusals.hpp>

#include <fmt/format.h>

#include <string_view>

namespace troupe {

namespace {

constexpr std::chrono::minutes quiet_time{1};

std::string_view text_of(refusal why) {
  switch (why) {
    case refusal::wrong_words:
      return "what they said does not let them in";
    case refusal::silent:
      return "they did not say in time what they want";
    case refusal::displaced:
      return "they had said nothing yet when others needed their places";
    case refusal::over_limit:
      return "too many connections are open";
    case refusal::no_descriptor:
      return "the process has no descriptor left; raise the limit of open files (ulimit -n)";
  }
  return "";
}

}  // namespace

void refusals::add(refusal why, const std::string& reason) {
  std::string said{reason.empty() ? text_of(why) : reason};
  std::uint64_t unsaid = 0;
  {
    const std::scoped_lock lock{mutex_};
    ++counts_.at(static_cast<std::size_t>(why));
    if (reasons_.size() >= reasons_max && !reasons_.contains(said)) said = text_of(why);
    auto& entry = reasons_[said];
    ++entry.count;
    const auto now = std::chrono::steady_clock::now();
    if (now < entry.quiet_until) return;
    entry.quiet_until = now + quiet_time;
    unsaid = entry.count - entry.said;
    entry.said = entry.count;
  }
  log_warning(fmt::format("{}: connections were closed ({} of them): {}", where_, unsaid, said));
}

std::uint64_t refusals::count(refusal why) const {
  const std::scoped_lock lock{mutex_};
  return counts_.at(static_cast<std::size_t>(why));
}

}  // namespace troupe
