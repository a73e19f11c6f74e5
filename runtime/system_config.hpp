// The actor system's configuration that `run` uses, and that an application may use or imitate.
#pragma once

#include <caf/fwd.hpp>

#include <memory>
#include <string>

namespace troupe {

/// Troupe's messages, the scheduler policy that wakes actors fastest when there is little to do, and, for a cluster of
/// several processes, the middleman.
///
///   troupe::system_config config{true};
///   config->set("scheduler.max-threads", 2u);
///   caf::actor_system system{config};
///
/// It owns CAF's object, so that only programs with an actor system of their own include CAF's headers. A config class
/// of the application's own calls `add_troupe_types` in its constructor instead.
class system_config {
 public:
  explicit system_config(bool networked);
  /// The same for a configuration of the application's own class; what that has set stays.
  system_config(std::unique_ptr<caf::actor_system_config> own, bool networked);
  ~system_config();

  /// Reads options of CAF's and of the application's class from a file, in the form of INI files. @throws
  /// invalid_argument_error that names the file, and the line or the option (files/caf_options.hpp)
  void read(const std::string& file);

  operator caf::actor_system_config&() const { return *config_; }  // NOLINT(google-explicit-constructor)
  caf::actor_system_config* operator->() const { return config_.get(); }

 private:
  std::unique_ptr<caf::actor_system_config> config_;
};

}  // namespace troupe
