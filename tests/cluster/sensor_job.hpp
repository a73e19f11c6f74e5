// A job with an actor of the application on each member, for tests that kill a worker and find its actor again.
//
// The chief asks the sensor of worker 0 a question that is never answered, and writes "open question: CODE" when that
// ends, which a loss does; then "found in process P" when it has found the sensor again; worker 1, in a closure, has,
// too; the sensor has had the workers compute for it; and that of worker 1 has heard of the losses. After so many as
// its argument says the program ends.
#pragma once

#include "process_cluster.hpp"
#include "test_program.hpp"

namespace troupe {

extern const test_program sensor_job;

/// From the environment, TROUPE_KILL_ROUNDS: how often.
int kill_rounds();

void wait_until_sensor_is_found(process_cluster& cluster);
/// Kills worker 0 so often and starts it again.
void kill_and_find_again(process_cluster& cluster, int rounds);

}  // namespace troupe
