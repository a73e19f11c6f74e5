// SIGTERM and SIGINT as an orderly end of a program.
//
//   first signal --> on_signal --half of the grace time--> on_late --the other half--> _Exit(128 + signal)
//                        \________________________________________\___ this object is gone before: an orderly end
//   second signal --> _Exit(128 + signal)
//
// From the first signal on, a write to a pipe whose reader is gone fails and does not end the process: the same Ctrl-C
// has ended the reader (`program | tee log`).
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/runtime/cluster/signal_source.hpp>

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace troupe {

struct stop_reaction {
  /// Takes the signal's name, in the thread that hears the second one, too: it may not block.
  std::function<void(const std::string& signal)> on_signal;
  /// The program has not ended yet. In a thread of its own; may be long.
  std::function<void()> on_late;
  /// The grace time is over, or a second signal has come: the process ends now. In a thread of its own, for 100 ms.
  std::function<void(const std::string& why)> on_end;
};

class stop_signal {
 public:
  /// @throws resource_exhausted_error when no descriptor is left, or too many listen for signals.
  stop_signal(duration grace, stop_reaction reaction);
  /// On the thread that made it.
  ~stop_signal();
  stop_signal(const stop_signal&) = delete;

  /// 128 + the number of the signal that has come; nothing if none has.
  std::optional<int> exit_code() const;

 private:
  enum class heard { signal, time, leaving };

  void listen();
  heard wait(duration limit);
  [[noreturn]] void end(const std::string& why);

  const duration grace_;
  const stop_reaction reaction_;
  signal_source signals_;
  const descriptor leaving_;
  std::atomic<int> signal_{0};
  std::thread late_;
  std::thread listener_;
};

}  // namespace troupe
