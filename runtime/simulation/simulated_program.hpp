// A program of a simulated process, in a fiber of an actor of its own: where it waits, virtual time passes.
#pragma once

#include <troupe/runtime/eventual.hpp>
#include <troupe/runtime/simulation/simulated_process.hpp>

#include <caf/atom.hpp>

#include <cstddef>
#include <functional>
#include <memory>

namespace troupe {

struct member_context;

struct program_options {
  /// What the program may find of its member, or null.
  std::shared_ptr<member_context> application;
  /// Of its stack. The default has room for what reads and writes files.
  std::size_t stack_bytes = std::size_t{1} << 20;
  /// Called in the program's actor with what it threw.
  std::function<void(const status& why)> on_failure;
};

/// Starts it soon. It ends with its process at the latest: with `cancelled` then.
eventual<caf::ok_atom> start_program_in(simulated_process& process, std::function<void()> program,
                                        program_options options = {});

}  // namespace troupe
