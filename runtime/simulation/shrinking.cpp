#include <troupe/runtime/simulation/shrinking.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace troupe {

namespace {

/// "aborted" of "aborted: the invariant ...".
std::string code_of(const failure& of) { return of.what.substr(0, of.what.find(':')); }

class shrinker {
 public:
  shrinker(const scenario& what, const world_options& world, std::uint64_t runs_max, failure& found)
      : what_(what), world_(world), left_(runs_max), found_(found) {}

  void shrink_plan() {
    for (std::size_t parts = 2; found_.plan.faults.size() > 1 || parts == 2;) {
      const auto count = found_.plan.faults.size();
      if (count == 0) return;
      if (leave_out_a_part(std::min(parts, count))) {
        parts = std::max<std::size_t>(parts - 1, 2);
        continue;
      }
      if (parts >= count) return;
      parts = std::min(parts * 2, count);
    }
  }

  /// Fewer draws need not fail whenever more do; the one that is found is a border all the same.
  void shrink_choices() {
    std::uint64_t passes = 0;
    auto fails = found_.choices;
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

 private:
  bool leave_out_a_part(std::size_t parts) {
    const auto& all = found_.plan.faults;
    const auto count = all.size();
    for (std::size_t i = 0; i < parts; ++i) {
      fault_plan rest;
      for (std::size_t k = 0; k < count; ++k)
        if (k < count * i / parts || k >= count * (i + 1) / parts) rest.faults.push_back(all[k]);
      if (attempt(std::move(rest), found_.drawn_choices)) return true;
    }
    return false;
  }

  /// Whether it fails, too; then it is what was found.
  bool attempt(fault_plan plan, std::uint64_t drawn_choices) {
    if (left_ == 0) return false;
    --left_;
    ++found_.shrink_runs;
    auto ran = run_once(
        what_, {.seed = found_.seed, .plan = std::move(plan), .drawn_choices = drawn_choices, .world = world_});
    if (!ran || code_of(*ran) != code_of(found_)) return false;
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
  try {
    what(world);
    if (record != nullptr) *record = {world.coverage(), world.alternatives()};
    return std::nullopt;
  } catch (...) {
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
  smaller.shrink_plan();
  smaller.shrink_choices();
  // Without some choices fewer faults may do.
  smaller.shrink_plan();
}

}  // namespace troupe
