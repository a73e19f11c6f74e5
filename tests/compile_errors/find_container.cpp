// expect: a container can't be known to CAF by itself
#include <troupe/runtime/actors.hpp>
#include <troupe/troupe.hpp>

#include <vector>

using keeper = caf::typed_actor<caf::reacts_to<caf::put_atom, std::vector<int>>>;

void mistake(troupe::cluster& cluster) { cluster.find<keeper>({"worker", 0}, "keeper"); }
