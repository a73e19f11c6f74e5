#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/actors/membership/waits_inquiry.hpp>

namespace troupe {

status waits_inquiries::too_many() {
  return {status_code::resource_exhausted,
          fmt::format("{} questions who waits are open here already: ask again when they are answered", open_max)};
}

process_waits waits_of(const caf::actor_system& system, const member_identity& self, time_point now) {
  process_waits told{.task = self.task, .host = self.host, .process = self.process, .waits = {}, .silent = {}};
  told.waits = open_waits(has_threads(system) ? nullptr : &system, now);
  if (told.waits.size() > open_waits_max) {
    told.more = told.waits.size() - open_waits_max;
    told.waits.resize(open_waits_max);
  }
  return told;
}

}  // namespace troupe
