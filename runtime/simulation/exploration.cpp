#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/simulation/failing_seeds.hpp>
#include <troupe/runtime/simulation/shrinking.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// A whole number from the environment, if it is there.
std::optional<std::uint64_t> number_from_environment(const char* name) {
  const auto* const given = std::getenv(name);
  if (given == nullptr) return std::nullopt;
  const std::string_view text{given};
  std::uint64_t result = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (problem != std::errc{} || end != text.data() + text.size())
    throw invalid_argument_error{fmt::format("{}=\"{}\": it must be a whole number, 0 to 2^64 - 1", name, text)};
  return result;
}

struct wishes {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> drawn_choices;
  std::optional<fault_plan> plan;
};

wishes take_wishes(exploration_options& options) {
  wishes result{.seed = number_from_environment("TROUPE_SEED"),
                .drawn_choices = number_from_environment("TROUPE_DRAWN_CHOICES"),
                .plan = {}};
  if (const auto runs = number_from_environment("TROUPE_SEEDS")) options.runs = *runs;
  if (result.seed) {
    options.first_seed = *result.seed;
    options.runs = 1;
  }
  if (const auto* const path = std::getenv("TROUPE_PLAN")) {
    result.plan = fault_plan::from_file(path);
    if (!result.seed)
      throw invalid_argument_error{"TROUPE_PLAN without TROUPE_SEED: a plan repeats a failure together with its seed"};
  }
  return result;
}

/// What the seed gives: all its faults as one plan.
fault_plan plan_of(std::uint64_t seed, const exploration_options& options, const wishes& given) {
  if (given.plan) return *given.plan;
  auto result = options.plan;
  if (options.faults)
    for (auto& each : draw_faults(*options.faults, seed).faults) result.faults.push_back(std::move(each));
  return result;
}

/// The world of a run with this seed.
world_options world_of(std::uint64_t seed, const exploration_options& options) {
  auto result = options.world;
  const auto is_ranked =
      options.strategy == search_strategy::by_rank || (options.strategy == search_strategy::portfolio && seed % 2 == 1);
  result.choice = is_ranked ? step_choice::by_rank : step_choice::evenly;
  return result;
}

/// One run after the other, until one fails.
class search {
 public:
  search(const scenario& what, exploration_options& options)
      : what_(what), given_(take_wishes(options)), options_(options), begin_(std::chrono::steady_clock::now()) {}

  const wishes& given() const { return given_; }
  bool is_over() const { return result.runs != 0 && std::chrono::steady_clock::now() - begin_ > options_.budget; }
  /// Whether it fails.
  bool run(std::uint64_t seed, fault_plan plan, std::vector<fault_coverage>* coverage = nullptr) {
    ++result.runs;
    const auto world = world_of(seed, options_);
    result.found = run_once(what_,
                            {.seed = seed,
                             .plan = std::move(plan),
                             .drawn_choices = given_.drawn_choices.value_or(options_.world.drawn_choices),
                             .world = world},
                            coverage);
    if (!result.found) return false;
    result.found->runs = result.runs;
    // Who asks for that very failure has it shrunk already.
    if (!given_.plan && !given_.drawn_choices) shrink(what_, world, options_.shrink_runs, *result.found);
    draw(world);
    return true;
  }

  exploration result;

 private:
  /// The same run once more, whose messages are recorded.
  void draw(world_options world) {
    world.records_messages = true;
    auto& found = *result.found;
    auto again =
        run_once(what_, {.seed = found.seed, .plan = found.plan, .drawn_choices = found.drawn_choices, .world = world});
    if (again) found.picture = std::move(again->picture);
  }

  const scenario& what_;
  wishes given_;
  const exploration_options& options_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace

exploration explore(const scenario& what, exploration_options options) {
  search all{what, options};
  const auto run = [&](std::uint64_t seed) { return all.run(seed, plan_of(seed, options, all.given())); };
  if (!all.given().seed)
    for (const auto seed : options.known_seeds)
      if (run(seed)) return all.result;
  for (std::uint64_t i = 0; i < options.runs && !all.is_over(); ++i)
    if (run(options.first_seed + i)) break;
  return all.result;
}

exploration explore_every_message(const scenario& what, const std::vector<std::string>& hosts,
                                  std::optional<duration> restart_after, exploration_options options) {
  search all{what, options};
  // A failure that was found is a plan like any other.
  if (all.given().plan) return explore(what, std::move(options));
  for (const auto& host : hosts)
    for (std::uint64_t sent = 1; all.result.runs < options.runs && !all.is_over(); ++sent) {
      auto plan = plan_of(options.first_seed, options, all.given());
      const message_pattern any{.from = host, .to = {}, .type = {}};
      const auto place = plan.faults.size();
      plan.when_sent(any, sent).kill(host);
      if (restart_after) plan.when_sent(any, sent, *restart_after).restart(host);
      std::vector<fault_coverage> coverage;
      if (all.run(options.first_seed, std::move(plan), &coverage)) return all.result;
      // It sends no more.
      if (coverage[place].fired == 0) break;
    }
  return all.result;
}

exploration explore_with_memory(const std::string& name, const scenario& what, exploration_options options) {
  const auto memory = failing_seeds::from_environment();
  for (const auto seed : memory.of(name)) options.known_seeds.push_back(seed);
  auto result = explore(what, std::move(options));
  if (result.found) memory.add(name, result.found->seed);
  return result;
}

std::string failure::reproduction() const {
  auto result = fmt::format("TROUPE_SEED={}", seed);
  if (!plan.faults.empty()) result += " TROUPE_PLAN=plan.json";
  if (drawn_choices < choices) result += fmt::format(" TROUPE_DRAWN_CHOICES={}", drawn_choices);
  return result;
}

std::string failure::report() const {
  constexpr std::size_t lines_max = 40;
  auto result =
      fmt::format("{}\nfound in run {}, shrunk in {} more; again by {}\n", what, runs, shrink_runs, reproduction());
  if (!plan.faults.empty()) {
    result += fmt::format("with plan.json: {}\nwhich is:\n", plan.to_json());
    for (const auto& fault : plan.faults) result += "  " + to_string(fault) + "\n";
  }
  if (!decision.empty())
    result += fmt::format("the decision that makes it fail, choice {}: {}\n", drawn_choices, decision);
  const auto first = trace.size() > lines_max ? trace.size() - lines_max : 0;
  result += fmt::format("the last {} lines of the trace, of {}:\n", trace.size() - first, trace.size());
  for (auto i = first; i < trace.size(); ++i) result += "  " + trace[i] + "\n";
  return result;
}

}  // namespace troupe
