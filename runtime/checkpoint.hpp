// Checkpoints: all variables of a strategy, with their optimizers' state, in one safetensors file.
//
// A sharded variable is saved as one tensor under its name; slots follow as "<name>/slot/<slot>" and the optimizer's
// step as metadata. So a checkpoint can be restored into another number of shards and servers, and other tools read it.
// The file is written atomically: an interrupted save leaves the earlier file as it was.
//
// A save reads shard by shard while closures may go on: each shard is consistent in itself. For a consistent whole,
// join first, as the reference advises. Contents pass through the chief in a window: it needs memory for that, or for
// the largest shard with its slots, whatever the size of the model.
#pragma once

#include <troupe/runtime/parameter_server_strategy.hpp>

#include <map>
#include <string>

namespace troupe {

class strategy;

struct checkpoint_options {
  /// Contents that the chief holds at the same time; a shard that is larger, with its slots, passes alone.
  std::size_t window_bytes = std::size_t{256} << 20;
  /// How long reading what is in the window may take. Together a checkpoint may take any time.
  duration window_limit = std::chrono::minutes{10};
  /// A progress bar on standard error, if that is a terminal.
  bool progress = true;
};

/// What a restore did.
struct restored_checkpoint {
  std::size_t variables = 0;
  /// What was given to `save_checkpoint`.
  std::map<std::string, std::string> metadata;
};

/// Saves all variables. A slot is saved if all shards of its variable have it: one that no gradient has reached has
/// none yet. @throws unavailable_error when a server is lost; what write_safetensors throws (unwritable path, full
/// disk).
void save_checkpoint(const parameter_server_strategy& strategy, const std::string& path,
                     const std::map<std::string, std::string>& metadata = {}, const checkpoint_options& options = {});

/// Restores all variables of the strategy, making their shards anew on the servers that are there now. Handles that
/// exist go on working; closures that were scheduled before, and still run, hold the old shards, which go: join first.
/// All or nothing: the variables change when all of their contents have come to the servers, which need room for both.
/// @throws not_found_error for a variable that the file lacks, invalid_argument_error for another shape or dtype,
/// data_loss_error for a damaged file, unavailable_error when no server is there or one is lost meanwhile; nothing is
/// changed then.
restored_checkpoint restore_checkpoint(parameter_server_strategy& strategy, const std::string& path,
                                       const checkpoint_options& options = {});

/// The same for the variables of a strategy with replicas. A variable that is synchronised on read is saved as its
/// aggregate; restored, a sum gives each replica its share, a mean each the mean (examples/reference/semantics.md 3.4).
/// All processes of the strategy call it; the one that `should_checkpoint` writes, all read.
/// @throws invalid_argument_error for a variable on read without an aggregation; as above.
void save_checkpoint(const strategy& strategy, const std::string& path,
                     const std::map<std::string, std::string>& metadata = {});
restored_checkpoint restore_checkpoint(const strategy& strategy, const std::string& path);

}  // namespace troupe
