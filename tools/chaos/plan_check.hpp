// Says before anything is started what of a plan can't be done to real processes, why, and what can be done instead.
#pragma once

#include <troupe/runtime/cluster/cluster_spec.hpp>
#include <troupe/runtime/fault_plan.hpp>

#include <vector>

namespace troupe::tools {

/// Whether it happens between hosts, which must be of their own for it.
bool needs_hosts(fault_kind what);

/// Whether links are slow in it, for which not all machines have what it takes.
bool has_slow_links(const fault_plan& plan);

/// @throws invalid_argument_error that names the fault: one that only a simulation can have, one between hosts without
///         `on_hosts` (each task is on a host of its own), one of a host that is none of `tasks`, or the chief's end.
void check_plan(const fault_plan& plan, const std::vector<task_id>& tasks, bool on_hosts);

}  // namespace troupe::tools
