// How a process learns which task of which cluster it is: from TF_CONFIG in its environment.
//
// TF_CONFIG is the JSON object that Kubeflow and other launchers already write, and that troupe's own launcher writes
// too: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...]}, "task": {"type": "worker", "index": 1}}.
// A wrong TF_CONFIG would make a process wait for peers that never come, so every field is checked before anything is
// started, and each error names the field, what it holds, what it must hold and how to fix it.
#pragma once

#include <troupe/runtime/cluster/cluster_spec.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A cluster and this process's task in it.
struct task_config {
  cluster_spec cluster;
  task_id task;
  bool operator==(const task_config&) const = default;
};

/// Reads the text of a TF_CONFIG. The task type "master" counts as "chief"; fields that troupe does not know, such as
/// "environment" and "rpc_layer", are ignored.
/// @throws invalid_argument_error for a malformed field; `source` is where the text stands.
task_config parse_tf_config(std::string_view text, std::string_view source = "TF_CONFIG");

/// The text that parse_tf_config reads.
std::string to_tf_config(const task_config& config);

/// The task of this process; nothing when TF_CONFIG is unset or empty, which means that one process is the whole
/// cluster. Throws what parse_tf_config throws.
std::optional<task_config> tf_config_from_environment();

}  // namespace troupe
