#include <troupe/actors/messages/message_types.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/files/caf_options.hpp>
#include <troupe/runtime/system_config.hpp>

#include <caf/actor_system_config.hpp>
#include <caf/atom.hpp>
#include <caf/io/middleman.hpp>

#include <utility>

namespace troupe {

system_config::system_config(bool networked) : system_config(std::make_unique<caf::actor_system_config>(), networked) {}

system_config::system_config(std::unique_ptr<caf::actor_system_config> own, bool networked) : config_(std::move(own)) {
  if (!config_) throw invalid_argument_error{"the program's config function made no configuration"};
  add_troupe_types(*config_);
  // Work stealing polls and sleeps: a sparse request takes four times as long with it.
  if (!caf::get_if<caf::atom_value>(&caf::content(*config_), "scheduler.policy"))
    config_->set("scheduler.policy", caf::atom("sharing"));
  if (!networked) return;
  config_->load<caf::io::middleman>();
  // Messages are decoded lazily, so the I/O thread has little to do: handing them to further threads costs more.
  if (!caf::get_if<std::size_t>(&caf::content(*config_), "middleman.workers"))
    config_->set("middleman.workers", std::size_t{0});
}

void system_config::read(const std::string& file) { read_caf_options(file, *config_); }

system_config::~system_config() = default;

}  // namespace troupe
