// Where new variables go while a colocate_vars_with() is in force.
#pragma once

#include <string>
#include <vector>

namespace troupe {

class strategy_state;

/// New variables of a strategy lie on these devices until this object is gone; the innermost counts. Belongs to the
/// running fiber, or outside of fibers to the thread.
class colocation {
 public:
  colocation(const strategy_state* strategy, std::vector<std::string> devices);
  ~colocation();
  colocation(const colocation&) = delete;

  /// The devices in force for this strategy, or nullptr.
  static const std::vector<std::string>* current(const strategy_state* strategy);
};

}  // namespace troupe
