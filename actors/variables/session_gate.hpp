// Which workers' sessions may still use the variables of a server.
//
// A worker that the chief has given up may be alive behind a broken link, and its closures run again elsewhere. What it
// writes from then on would stand beside, or over, what they write. So before the chief hands its closures to others,
// it tells every server which sessions are left, and shards refuse all others (C-3).
//
// The server takes the news; its shards, actors of their own on other threads, ask. Asking costs one load of an atomic
// number as long as there are no news. What was refused once is refused for ever: news may overtake each other.
#pragma once

#include <troupe/actors/messages/messages.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace troupe {

/// Thread-safe.
class session_gate {
 public:
  /// Grows with the news, so that an answer of `admits` holds as long as it is the same.
  std::uint64_t news() const { return news_.load(std::memory_order_acquire); }

  /// 0 is whoever is no worker.
  bool admits(session_id session) const {
    const std::scoped_lock lock{mutex_};
    return !excludes(known_, session);
  }

  void take(session_fence told) {
    std::sort(told.live.begin(), told.live.end());
    const std::scoped_lock lock{mutex_};
    session_fence next{.horizon = std::max(known_.horizon, told.horizon), .live = {}};
    for (const auto* some : {&known_.live, &told.live})
      for (const auto session : *some)
        if (!excludes(known_, session) && !excludes(told, session)) next.live.push_back(session);
    std::sort(next.live.begin(), next.live.end());
    next.live.erase(std::unique(next.live.begin(), next.live.end()), next.live.end());
    known_ = std::move(next);
    news_.fetch_add(1, std::memory_order_release);
  }

 private:
  /// `live` is sorted.
  static bool excludes(const session_fence& fence, session_id session) {
    return session != 0 && session < fence.horizon &&
           !std::binary_search(fence.live.begin(), fence.live.end(), session);
  }

  mutable std::mutex mutex_;
  session_fence known_;
  std::atomic<std::uint64_t> news_{0};
};

}  // namespace troupe
