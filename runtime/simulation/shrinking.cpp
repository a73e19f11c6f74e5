#include <troupe/runtime/simulation/shrinking.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

namespace {

/// "aborted" of "aborted: the invariant ...".
std::string code_of(const failure& of) { return of.what.substr(0, of.what.find(':')); }

/// The code, the message and the code of the first cause, without digits: "unavailable: closure  failed; caused by
/// aborted". The causes' messages depend on how the failure was noticed.
std::string essence_of(const failure& of) {
  constexpr std::string_view between = "; caused by ";
  std::string_view text{of.what};
  const auto message_end = text.find(between);
  if (message_end != std::string_view::npos) text = text.substr(0, text.find(':', message_end + between.size()));
  std::string result;
  std::copy_if(text.begin(), text.end(), std::back_inserter(result), [](char c) { return c < '0' || c > '9'; });
  return result;
}

/// Whether the second, which comes later, ends the first: a fault that never ends is another one.
bool is_end_of(const planned_fault& begun, const planned_fault& later) {
  const auto of_same_link = (begun.host == later.host && begun.other == later.other) ||
                            (begun.host == later.other && begun.other == later.host);
  switch (later.what) {
    case fault_kind::restart:
      return (begun.what == fault_kind::kill || begun.what == fault_kind::switch_off) && begun.host == later.host;
    case fault_kind::thaw:
      return begun.what == fault_kind::freeze && begun.host == later.host;
    case fault_kind::heal:
      return (begun.what == fault_kind::cut || begun.what == fault_kind::cut_one_way ||
              begun.what == fault_kind::slow_link || begun.what == fault_kind::slow_link_one_way) &&
             of_same_link;
    case fault_kind::mend_disk:
      return (begun.what == fault_kind::fill_disk || begun.what == fault_kind::slow_disk) && begun.host == later.host;
    case fault_kind::set_clock:
    case fault_kind::slow_host:
      return begun.what == later.what && later.time == duration::zero() && begun.host == later.host;
    default:
      return false;
  }
}

/// For each fault of the plan the number of what it belongs to: ends have that of the faults that they end.
std::vector<std::size_t> units_of(const fault_plan& plan) {
  std::vector<std::size_t> result;
  std::vector<bool> has_end(plan.faults.size());
  std::size_t units = 0;
  for (std::size_t later = 0; later < plan.faults.size(); ++later) {
    auto begun = later;
    while (begun != 0 && (has_end[begun - 1] || !is_end_of(plan.faults[begun - 1], plan.faults[later]))) --begun;
    if (begun != 0) has_end[begun - 1] = true;
    result.push_back(begun != 0 ? result[begun - 1] : units++);
  }
  return result;
}

class shrinker {
 public:
  shrinker(const scenario& what, const world_options& world, std::uint64_t runs_max, failure& found)
      : what_(what), world_(world), left_(runs_max), found_(found) {}

  void shrink_plan() {
    for (std::size_t parts = 2; count_units() > 1 || parts == 2;) {
      const auto count = count_units();
      if (count == 0) return;
      if (leave_out_a_part(std::min(parts, count))) {
        parts = std::max<std::size_t>(parts - 1, 2);
        continue;
      }
      if (parts >= count) return;
      parts = std::min(parts * 2, count);
    }
  }

  /// Leaves out single faults of units that have several, the last fault first. The failure must stay the same:
  /// without its end a fault is another fault.
  void shrink_units() {
    for (auto i = found_.plan.faults.size(); i > 0; --i) {
      const auto units = units_of(found_.plan);
      if (std::count(units.begin(), units.end(), units[i - 1]) == 1) continue;
      auto rest = found_.plan;
      rest.faults.erase(rest.faults.begin() + static_cast<std::ptrdiff_t>(i - 1));
      if (attempt(std::move(rest), found_.drawn_choices, true)) i = found_.plan.faults.size() + 1;
    }
  }

  /// Fewer draws need not fail whenever more do; the one that is found is a border all the same.
  void shrink_choices() {
    std::uint64_t passes = 0;
    auto fails = found_.drawn_choices;
    if (fails == 0) return;
    if (attempt(found_.plan, 0)) return;
    while (fails - passes > 1 && left_ != 0) {
      const auto middle = passes + (fails - passes) / 2;
      if (attempt(found_.plan, middle))
        fails = found_.drawn_choices;
      else
        passes = middle;
    }
  }

  /// What gets smaller with each success: faults, then choices.
  std::pair<std::size_t, std::uint64_t> size() const { return {found_.plan.faults.size(), found_.drawn_choices}; }

 private:
  std::size_t count_units() const {
    const auto units = units_of(found_.plan);
    return units.empty() ? 0 : *std::max_element(units.begin(), units.end()) + 1;
  }

  bool leave_out_a_part(std::size_t parts) {
    const auto& all = found_.plan.faults;
    const auto units = units_of(found_.plan);
    const auto count = count_units();
    for (std::size_t i = 0; i < parts; ++i) {
      fault_plan rest;
      for (std::size_t k = 0; k < all.size(); ++k)
        if (units[k] < count * i / parts || units[k] >= count * (i + 1) / parts) rest.faults.push_back(all[k]);
      if (attempt(std::move(rest), found_.drawn_choices)) return true;
    }
    return false;
  }

  /// Whether the run fails with the same code or, if wanted, with the same failure; then it replaces what was found.
  bool attempt(fault_plan plan, std::uint64_t drawn_choices, bool same_failure = false) {
    if (left_ == 0) return false;
    --left_;
    ++found_.shrink_runs;
    auto ran = run_once(
        what_, {.seed = found_.seed, .plan = std::move(plan), .drawn_choices = drawn_choices, .world = world_});
    if (!ran || code_of(*ran) != code_of(found_)) return false;
    if (same_failure && essence_of(*ran) != essence_of(found_)) return false;
    ran->runs = found_.runs;
    ran->shrink_runs = found_.shrink_runs;
    found_ = std::move(*ran);
    return true;
  }

  const scenario& what_;
  const world_options& world_;
  std::uint64_t left_;
  failure& found_;
};

}  // namespace

std::optional<failure> run_once(const scenario& what, run_options_of_world options, run_record* record) {
  options.world.seed = options.seed;
  options.world.plan = options.plan;
  options.world.faults.reset();
  options.world.drawn_choices = options.drawn_choices;
  simulated_world world{options.world};
  const auto keep_record = [&] {
    if (record != nullptr) *record = {world.coverage(), world.alternatives()};
  };
  try {
    what(world);
    keep_record();
    return std::nullopt;
  } catch (...) {
    keep_record();
    const auto why = status_of(std::current_exception());
    return failure{.seed = options.seed,
                   .what = why.render(),
                   .plan = std::move(options.plan),
                   .drawn_choices = std::min(options.drawn_choices, world.choices()),
                   .choices = world.choices(),
                   .deviations = world.options().choice == step_choice::in_order
                                     ? std::optional{world.options().deviations}
                                     : std::nullopt,
                   .decision = world.last_drawn(),
                   .trace = world.trace(),
                   .runs = 0,
                   .shrink_runs = 0,
                   .coverage = world.coverage(),
                   .picture = world.picture()};
  }
}

void shrink(const scenario& what, const world_options& world, std::uint64_t runs_max, failure& found) {
  shrinker smaller{what, world, runs_max, found};
  using step = void (shrinker::*)();
  constexpr std::array<step, 3> steps{&shrinker::shrink_plan, &shrinker::shrink_units, &shrinker::shrink_choices};
  // What one step leaves out can be all that another one needed to succeed, so each is repeated until none does.
  std::size_t in_vain = 0;
  for (std::size_t i = 0; in_vain < steps.size(); i = (i + 1) % steps.size()) {
    const auto before = smaller.size();
    (smaller.*steps[i])();
    // A step that has succeeded has also tried all that was left.
    in_vain = smaller.size() == before ? in_vain + 1 : 1;
  }
}

}  // namespace troupe
