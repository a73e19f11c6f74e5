#include <troupe/runtime/cluster/reaper.hpp>

#include <cstdlib>
#include <system_error>
#include <utility>

namespace troupe {

reaper& reaper::instance() {
  // Never destroyed: what is handed over while statics end is still taken.
  static auto& of_process = *[] {
    std::atexit([] { instance().wait_until_idle(exit_limit); });
    return new reaper;
  }();
  return of_process;
}

reaper::~reaper() {
  if (wait_until_idle(exit_limit)) return;
  const std::scoped_lock lock{shared_->mutex};
  for (auto& each : shared_->open) each.detach();
}

void reaper::take(std::shared_ptr<void> last) noexcept {
  if (!last) return;
  join_those_that_are_over();
  const std::scoped_lock lock{shared_->mutex};
  const auto place = shared_->open.emplace(shared_->open.end());
  // No thread to be had, and this one may not wait: the object stays, which is better than to end the process.
  // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory the process ends here as anywhere.
  auto* const kept = new std::shared_ptr<void>{std::move(last)};
  try {
    *place = std::thread{[shared = shared_, place, kept] {
      const std::unique_ptr<std::shared_ptr<void>> mine{kept};
      run(shared, place, std::move(*mine));
    }};
  } catch (const std::system_error&) {
    shared_->open.erase(place);
  }
}

void reaper::run(const std::shared_ptr<ends>& shared, std::list<std::thread>::iterator self,
                 std::shared_ptr<void> last) {
  last.reset();
  std::shared_ptr<completion> idle;
  {
    const std::scoped_lock lock{shared->mutex};
    shared->over.splice(shared->over.end(), shared->open, self);
    if (shared->open.empty()) idle = std::move(shared->idle);
  }
  if (idle) idle->set();
}

std::size_t reaper::open() const {
  const std::scoped_lock lock{shared_->mutex};
  return shared_->open.size();
}

bool reaper::wait_until_idle(duration limit) {
  std::shared_ptr<completion> idle;
  {
    const std::scoped_lock lock{shared_->mutex};
    if (!shared_->open.empty()) {
      if (!shared_->idle) shared_->idle = std::make_shared<completion>();
      idle = shared_->idle;
    }
  }
  const auto ended = !idle || idle->block_for(limit);
  join_those_that_are_over();
  return ended;
}

void reaper::join_those_that_are_over() {
  std::list<std::thread> over;
  {
    const std::scoped_lock lock{shared_->mutex};
    over.swap(shared_->over);
  }
  for (auto& each : over) each.join();
}

}  // namespace troupe
