// What code finds around itself in a simulated process, where nothing has a thread of its own, and time, chance and
// disks are the simulation's.
#pragma once

#include <caf/fwd.hpp>

#include <cstdint>
#include <functional>
#include <utility>

namespace troupe {

class file_system;

/// The configuration of a simulated actor system derives from this.
class simulated_surroundings {
 public:
  virtual ~simulated_surroundings() = default;
  /// A number of the application's stream.
  virtual std::uint64_t random() const = 0;
  /// The disk of the process's host (runtime/files).
  virtual file_system& files() const = 0;
  /// Runs this soon, in a fiber of the process; never, if that ends before.
  virtual void start_program(std::function<void()> program) const = 0;
  /// Of a system; null: it is a real one.
  static const simulated_surroundings* of(const caf::actor_system& system);

 protected:
  simulated_surroundings() = default;
};

/// The simulated system whose turn it is on this thread, in fibers and in actors' handlers; null: there is none.
/// Whatever makes a system or a thread of its own looks here before.
caf::actor_system* simulated_system();

/// While it lives, this is the simulated system whose turn it is on this thread.
class simulated_system_scope {
 public:
  explicit simulated_system_scope(caf::actor_system* system);
  ~simulated_system_scope();
  simulated_system_scope(const simulated_system_scope&) = delete;

 private:
  caf::actor_system* around_;
};

}  // namespace troupe
