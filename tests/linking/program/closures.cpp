// Schedules closures on other processes of this program and prints what they return. Whatever compiler and linker did
// to the program, it prints the same, but for one line: whether they have folded two functions of equal code.
#include "closures.hpp"

#include <fmt/format.h>

#include <cstdint>

#include <unistd.h>

namespace {

using closures::metres;
using closures::seconds;

int twice(int x) { return x * 2; }

/// Functions of equal code, one for each tag.
template <int Tag>
[[gnu::noinline]] int three_more(int x) {
  return x + 3;
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const auto& word : words) result += word;
  return result;
}

void schedule_all(troupe::cluster& cluster) {
  troupe::parameter_server_strategy strategy{cluster};
  troupe::cluster_coordinator coordinator{strategy};
  const auto one_more = [](int a) { return a + 1; };
  const auto one_more_again = [](int a) { return a + 1; };
  const auto further = [](metres m) { return metres{m.amount + 1}; };
  const auto later = [](seconds s) { return seconds{s.amount + 1}; };

  const auto process = coordinator.schedule([] { return static_cast<std::int64_t>(::getpid()); });
  const auto first = coordinator.schedule(one_more, 1);
  const auto second = coordinator.schedule(one_more_again, 2);
  const auto third = closures::schedule_elsewhere(coordinator, 3);
  const auto distance = coordinator.schedule(further, metres{4});
  const auto duration = coordinator.schedule(later, seconds{5});
  const auto doubled = coordinator.schedule<twice>(6);
  const auto doubled_elsewhere = closures::schedule_twice_elsewhere(coordinator, 7);
  const auto tenth = coordinator.schedule<three_more<0>>(7);
  const auto eleventh = coordinator.schedule<three_more<1>>(8);
  const auto word = coordinator.schedule<joined>(std::vector<std::string>{"tr", "oupe"});
  auto total = strategy.variable("total", 0);
  const auto added = coordinator.schedule(
      [](troupe::variable<int> sum, int x) {
        sum.assign_add(x);
        return sum.read();
      },
      total, first);

  fmt::print("elsewhere: {}\n", process.fetch() != ::getpid());
  fmt::print("results: {} {} {} {} {} {} {} {} {} {} {}\n", first.fetch(), second.fetch(), third.fetch(),
             distance.fetch().amount, duration.fetch().amount, doubled.fetch(), doubled_elsewhere.fetch(),
             tenth.fetch(), eleventh.fetch(), word.fetch(), added.fetch());
  int (*volatile kept)(int) = three_more<0>;  // the linker decides about them, not the compiler
  int (*volatile folded)(int) = three_more<1>;
  fmt::print("folded: {}\n", kept == folded);
}

}  // namespace

int main(int argc, char** argv) { return troupe::run(argc, argv, schedule_all); }
