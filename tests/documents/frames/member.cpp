#include <troupe/runtime/actors.hpp>

using namespace troupe;
using namespace std::chrono_literals;

void on_member(member& here) {
  // SNIPPET
}
