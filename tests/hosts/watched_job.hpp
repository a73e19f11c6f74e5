// A job whose chief tells how worker 0 is, for tests that break its link or end its process.
//
// The chief writes "running as process P" when a closure that only worker 0 may run has ended there, at the beginning
// and after each loss of it, and "lost" when its membership has ended. After so many losses as its argument says the
// program ends.
#pragma once

#include "cluster/test_program.hpp"
#include "placement.hpp"

#include <string>

namespace troupe {

inline const task_id watched_task = worker_task(0);

// The hosts: of the chief and the server, of the watched worker, of the other one.
inline constexpr int chief_host = 0;
inline constexpr int watched_host = 1;
inline constexpr int other_host = 2;
std::map<task_id, int> watched_places();

/// What the chief does, for programs that do something else before.
void tell_of_watched_task(cluster& here);

extern const chief_program watched_job;

/// The job's processes, none of them started. The network has three hosts at least.
process_cluster watched_cluster(const host_network& network, int losses,
                                const std::string& program = watched_job.name());

/// Waits until the watched task's present process runs closures.
void wait_until_it_runs(process_cluster& cluster, process_cluster::milliseconds limit = process_cluster::patience);

/// A worker is back some 0.2 s after nothing is in its way any more; a busy machine takes longer. Waiting for the
/// kernel, which repeats itself after 1, 3 and 7 s, or for the end of a dial that leads to a dead process, would take
/// more.
inline constexpr process_cluster::milliseconds return_limit{1900};

/// Waits for the same, prints how long it took `after` something, and checks it against the limit.
void require_return(process_cluster& cluster, const stopwatch& watch, std::string_view after);

}  // namespace troupe
