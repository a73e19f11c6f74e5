#include <troupe/runtime/cluster/unannounced.hpp>

#include <thread>

namespace troupe {

bool await_unannounced(const std::function<bool()>& holds) {
  constexpr auto limit = std::chrono::milliseconds{500};
  constexpr auto pause = std::chrono::milliseconds{1};
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

}  // namespace troupe
