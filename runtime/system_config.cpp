#include <troupe/actors/messages/message_types.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>

namespace troupe {

system_config::system_config(bool networked) : config_(std::make_unique<caf::actor_system_config>()) {
  add_troupe_types(*config_);
  // Work stealing polls and sleeps: a sparse request takes four times as long with it.
  config_->set("scheduler.policy", caf::atom("sharing"));
  if (!networked) return;
  config_->load<caf::io::middleman>();
  // Messages are decoded lazily, so the I/O thread has little to do: handing them to further threads costs more.
  config_->set("middleman.workers", std::size_t{0});
}

system_config::~system_config() = default;

}  // namespace troupe
