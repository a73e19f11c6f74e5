// Closures whose machine code is equal although their types are not: a linker that folds identical code keeps one.
#pragma once

#include <troupe/troupe.hpp>

namespace closures {

/// Equal in memory, different in meaning.
struct metres {
  int amount = 0;
};
struct seconds {
  int amount = 0;
};

/// What the other source schedules: a lambda with the same text as one of main's, and a function of its own with the
/// same name and signature as main's, named "more/twice".
troupe::remote_value<int> schedule_elsewhere(troupe::cluster_coordinator& coordinator, int x);
troupe::remote_value<int> schedule_twice_elsewhere(troupe::cluster_coordinator& coordinator, int x);

}  // namespace closures
