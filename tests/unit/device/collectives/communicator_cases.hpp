// What the tests of every communicator ask of it, whatever it is made of. The ranks are threads of the test.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace troupe::communicator_cases {

using rank_work = std::function<void(communicator&)>;
/// Makes a new group of so many ranks, does the work on each in a thread of its own, and returns how each has ended:
/// ok, or the status of what was thrown.
using group_runner = std::function<std::vector<status>(int size, const rank_work& work)>;

/// Calls `f(rank)` for each rank in a thread of its own; returns how each has ended.
std::vector<status> run_threads(int size, const std::function<void(int)>& f);

/// In the work of ranks, where BOOST_TEST must not be used: it is not made for several threads.
void expect(bool holds, std::string_view what);

void require_ok(const std::vector<status>& ends);
void require_all(const std::vector<status>& ends, status_code code, std::string_view text);

void collectives_give_what_plain_loops_give(const group_runner& run, const std::vector<int>& sizes);
void large_tensors_arrive_whole(const group_runner& run);
void different_calls_are_named(const group_runner& run);
void late_ranks_are_named(const group_runner& run);
void an_abort_reaches_all(const group_runner& run);
void a_broken_group_stays_broken(const group_runner& run);
void leaving_ends_the_others(const group_runner& run);
void the_longest_limit_is_none(const group_runner& run);
void bad_arguments_break_nothing(const group_runner& run);

}  // namespace troupe::communicator_cases
