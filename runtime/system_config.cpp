#include <troupe/actors/messages/message_types.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>

namespace troupe {

system_config::system_config(bool networked) {
  add_troupe_types(*this);
  // Work stealing polls and sleeps: a sparse request takes four times as long with it.
  set("scheduler.policy", caf::atom("sharing"));
  if (!networked) return;
  load<caf::io::middleman>();
  // Messages are decoded lazily, so the I/O thread has little to do: handing them to further threads costs more.
  set("middleman.workers", std::size_t{0});
}

}  // namespace troupe
