#include <troupe/runtime/exploration.hpp>
#include <troupe/runtime/simulation/coverage_sum.hpp>
#include <troupe/runtime/simulation/exploring_processes.hpp>
#include <troupe/runtime/simulation/failing_seeds.hpp>
#include <troupe/runtime/simulation/found_folder.hpp>
#include <troupe/runtime/simulation/shrinking.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace troupe {

namespace {

/// All of the text as a whole number; nothing: it is none.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t result = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return result;
}

/// A whole number from the environment, if it is there.
std::optional<std::uint64_t> number_from_environment(const char* name, std::uint64_t least = 0) {
  const auto* const given = std::getenv(name);
  if (given == nullptr) return std::nullopt;
  const auto result = number_of(given);
  if (!result || *result < least)
    throw invalid_argument_error{
        fmt::format("{}=\"{}\": it must be a whole number, {} to 2^64 - 1", name, given, least)};
  return result;
}

struct wishes {
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> drawn_choices;
  std::optional<fault_plan> plan;
  std::optional<std::map<std::uint64_t, std::size_t>> deviations;
};

/// No deviation, in TROUPE_DEVIATIONS.
constexpr std::string_view no_deviations = "none";

/// "12:1,40:2" or "none".
std::map<std::uint64_t, std::size_t> deviations_of(std::string_view text) {
  std::map<std::uint64_t, std::size_t> result;
  if (text == no_deviations) return result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto one = text.substr(begin, text.find(',', begin) - begin);
    const auto colon = std::min(one.find(':'), one.size());
    const auto choice = number_of(one.substr(0, colon));
    const auto passed_over = number_of(one.substr(std::min(colon + 1, one.size())));
    if (!choice || !passed_over || *choice == 0 || *passed_over == 0)
      throw invalid_argument_error{fmt::format(
          "TROUPE_DEVIATIONS=\"{}\": \"{}\" must be the number of a choice and how many are passed over, both "
          "from 1 on, as in 12:1,40:2; \"{}\" stands for no deviation",
          text, one, no_deviations)};
    if (!result.emplace(*choice, *passed_over).second)
      throw invalid_argument_error{fmt::format("TROUPE_DEVIATIONS=\"{}\": choice {} is there twice", text, *choice)};
    begin += one.size() + 1;
  }
  return result;
}

/// These repeat one run, and mean nothing for others.
void require_seed_of(const char* name, const std::optional<std::uint64_t>& seed) {
  const auto* const given = std::getenv(name);
  if (given == nullptr || seed) return;
  throw invalid_argument_error{
      fmt::format("{}=\"{}\" without TROUPE_SEED: it repeats the run of one seed. Set TROUPE_SEED to the seed that was "
                  "reported with it, or unset {}",
                  name, given, name)};
}

wishes take_wishes(exploration_options& options) {
  wishes result{.seed = number_from_environment("TROUPE_SEED"),
                .drawn_choices = number_from_environment("TROUPE_DRAWN_CHOICES"),
                .plan = {},
                .deviations = {}};
  if (const auto* const text = std::getenv("TROUPE_DEVIATIONS")) result.deviations = deviations_of(text);
  if (const auto runs = number_from_environment("TROUPE_SEEDS", 1)) options.runs = *runs;
  if (const auto first = number_from_environment("TROUPE_FIRST_SEED")) options.first_seed = *first;
  for (const auto* const name : {"TROUPE_PLAN", "TROUPE_DRAWN_CHOICES", "TROUPE_DEVIATIONS"})
    require_seed_of(name, result.seed);
  if (result.seed) {
    options.first_seed = *result.seed;
    options.runs = 1;
  }
  if (const auto* const path = std::getenv("TROUPE_PLAN")) result.plan = fault_plan::from_file(path);
  return result;
}

/// A search without any run would look like one that has found nothing.
void require_runs(const exploration_options& options, bool runs_known_seeds) {
  if (options.runs != 0 || (runs_known_seeds && !options.known_seeds.empty())) return;
  throw invalid_argument_error{
      "exploration_options::runs is 0, so nothing would be tested: it must be at least 1, unless explore has known "
      "seeds"};
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

/// A run that ended its process can't be run again here.
failure crashed(const found_in_process& by, fault_plan plan) {
  failure result;
  result.seed = by.seed;
  result.what = fmt::format("the run ended its process: {}", *by.crash);
  result.plan = std::move(plan);
  result.runs = by.runs;
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
  bool run(std::uint64_t seed, fault_plan plan, run_record* record = nullptr) {
    auto world = world_of(seed, options_);
    if (given_.deviations) {
      world.choice = step_choice::in_order;
      world.deviations = *given_.deviations;
    }
    return run(seed, std::move(plan), world, record);
  }
  bool run(std::uint64_t seed, fault_plan plan, const world_options& world, run_record* record) {
    ++result.runs;
    run_record own;
    auto& seen = record != nullptr ? *record : own;
    result.found = run_once(what_,
                            {.seed = seed,
                             .plan = std::move(plan),
                             .drawn_choices = given_.drawn_choices.value_or(options_.world.drawn_choices),
                             .world = world},
                            &seen);
    coverage.add(seen.coverage, !result.found);
    if (!result.found) return false;
    result.found->runs = result.runs;
    // Who asks for that very failure has it shrunk already.
    if (!given_.plan && !given_.drawn_choices && !given_.deviations)
      shrink(what_, world, options_.shrink_runs, *result.found);
    draw(world);
    keep_found(*result.found);
    return true;
  }

  /// With its coverage.
  exploration end() {
    result.coverage = coverage.sites();
    keep_coverage(result);
    return std::move(result);
  }

  exploration result;
  coverage_sum coverage;

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
  require_runs(options, true);
  const auto run = [&](std::uint64_t seed) { return all.run(seed, plan_of(seed, options, all.given())); };
  if (options.processes != 1 && !all.given().seed) {
    // They may fail in any way; what they find is run again here.
    const auto fails = [&](std::uint64_t seed) {
      run_record record;
      const auto is_good = !run_once(what,
                                     {.seed = seed,
                                      .plan = plan_of(seed, options, all.given()),
                                      .drawn_choices = options.world.drawn_choices,
                                      .world = world_of(seed, options)},
                                     &record);
      if (is_good) all.coverage.add(record.coverage, true);
      return !is_good;
    };
    const auto found = explore_in_processes(
        fails, [&] { return all.coverage.write(); }, options);
    all.result.runs = found.runs;
    for (const auto& each : found.told) all.coverage.add_written(each);
    if (found.crash) {
      all.result.found = crashed(found, plan_of(found.seed, options, all.given()));
      keep_found(*all.result.found);
    }
    if (found.crash || !found.fails) return all.end();
    run(found.seed);
    return all.end();
  }
  if (!all.given().seed)
    for (const auto seed : options.known_seeds)
      if (run(seed)) return all.end();
  for (std::uint64_t i = 0; i < options.runs && !all.is_over(); ++i)
    if (run(options.first_seed + i)) break;
  return all.end();
}

exploration explore_every_message(const scenario& what, const std::vector<std::string>& hosts,
                                  std::optional<duration> restart_after, exploration_options options) {
  search all{what, options};
  require_runs(options, false);
  if (hosts.empty())
    throw invalid_argument_error{"explore_every_message: there are no hosts whose messages it could take"};
  // A failure that was found is a plan like any other.
  if (all.given().plan) return explore(what, std::move(options));
  for (const auto& host : hosts)
    for (std::uint64_t sent = 1; all.result.runs < options.runs && !all.is_over(); ++sent) {
      auto plan = plan_of(options.first_seed, options, all.given());
      const message_pattern any{.from = host, .to = {}, .type = {}};
      const auto place = plan.faults.size();
      plan.when_sent(any, sent).kill(host);
      if (restart_after) plan.when_sent(any, sent, *restart_after).restart(host);
      run_record record;
      if (all.run(options.first_seed, std::move(plan), &record)) return all.end();
      // It sends no more.
      if (record.coverage[place].fired == 0) break;
    }
  return all.end();
}

namespace {

/// The runs of one bound after the other.
class deviation_search {
 public:
  deviation_search(search& all, const exploration_options& options, fault_plan plan)
      : all_(all), options_(options), plan_(std::move(plan)) {
    world_ = options.world;
    world_.choice = step_choice::in_order;
  }

  /// Whether it is over: a failure, or no more time.
  bool run(std::size_t deviations) {
    went_deeper_ = false;
    return descend({}, 1, deviations);
  }
  /// Of the last `run`: some run has so many deviations.
  bool went_deeper() const { return went_deeper_; }

 private:
  /// All runs that begin with these deviations, the last of which is before the choice `next`, and have `left` more.
  bool descend(const std::map<std::uint64_t, std::size_t>& deviations, std::uint64_t next, std::size_t left) {
    if (all_.result.runs >= options_.runs || all_.is_over()) return true;
    world_.deviations = deviations;
    run_record record;
    if (all_.run(options_.first_seed, plan_, world_, &record)) return true;
    went_deeper_ = went_deeper_ || left == 0;
    if (left == 0) return false;
    for (auto choice = next; choice <= record.alternatives.size(); ++choice)
      for (std::size_t passed_over = 1; passed_over < record.alternatives[choice - 1]; ++passed_over) {
        auto more = deviations;
        more[choice] = passed_over;
        if (descend(more, choice + 1, left - 1)) return true;
      }
    return false;
  }

  search& all_;
  const exploration_options& options_;
  fault_plan plan_;
  world_options world_;
  bool went_deeper_ = false;
};

}  // namespace

std::optional<std::string> find_difference(const scenario& what, world_options world) {
  world.traces_steps = true;
  std::array<std::vector<std::string>, 2> traces;
  for (auto& trace : traces) {
    simulated_world run{world};
    try {
      what(run);
    } catch (...) {
      run.note("it throws: " + status_of(std::current_exception()).render());
    }
    trace = run.trace();
  }
  const auto& [first, second] = traces;
  const auto [at, other] = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  if (at == first.end() && other == second.end()) return std::nullopt;
  constexpr std::ptrdiff_t lines_before = 5;
  auto result = fmt::format("two runs of seed {} differ after {} lines\n", world.seed, at - first.begin());
  for (auto line = at - std::min(at - first.begin(), lines_before); line != at; ++line) result += "  " + *line + "\n";
  const auto end = std::string{"(the end)"};
  result +=
      fmt::format("  first:  {}\n  second: {}\n", at == first.end() ? end : *at, other == second.end() ? end : *other);
  return result;
}

exploration explore_deviations(const scenario& what, std::size_t deviations_max, exploration_options options) {
  search all{what, options};
  require_runs(options, false);
  // A failure that was found is repeated like any other.
  if (all.given().plan || all.given().deviations) return explore(what, std::move(options));
  deviation_search runs{all, options, plan_of(options.first_seed, options, all.given())};
  for (std::size_t count = 0; count <= deviations_max; ++count) {
    if (runs.run(count)) return all.end();
    if (!runs.went_deeper()) break;
  }
  all.result.is_complete = true;
  return all.end();
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
  if (deviations) {
    std::string text;
    for (const auto& [choice, passed_over] : *deviations)
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", choice, passed_over);
    return fmt::format("{} TROUPE_DEVIATIONS={}", result, text.empty() ? no_deviations : text);
  }
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
    result += fmt::format("the decision that makes it fail, choice {}: {}\n",
                          deviations && !deviations->empty() ? deviations->rbegin()->first : drawn_choices, decision);
  const auto first = trace.size() > lines_max ? trace.size() - lines_max : 0;
  result += fmt::format("the last {} lines of the trace, of {}:\n", trace.size() - first, trace.size());
  for (auto i = first; i < trace.size(); ++i) result += "  " + trace[i] + "\n";
  return result;
}

}  // namespace troupe
