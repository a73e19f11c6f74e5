#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/values/message_type.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/actor_system_config.hpp>
#include <fmt/format.h>

#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

namespace {

struct type_registry {
  std::mutex mutex;
  std::vector<message_type> types;

  static type_registry& instance() {
    static type_registry registry;
    return registry;
  }
};

}  // namespace

bool register_message_type(message_type what) {
  auto& registry = type_registry::instance();
  const std::scoped_lock lock{registry.mutex};
  registry.types.push_back(std::move(what));
  return true;
}

void add_registered_types(caf::actor_system_config& config) {
  auto& registry = type_registry::instance();
  const std::scoped_lock lock{registry.mutex};
  for (const auto& [type, name, make] : registry.types) {
    const auto found = config.type_names_by_rtti.find(type);
    if (found != config.type_names_by_rtti.end()) continue;
    if (config.value_factories_by_name.contains(name))
      throw invalid_argument_error{
          fmt::format("two message types are called {}: put them into different namespaces", name)};
    config.type_names_by_rtti.emplace(type, name);
    config.value_factories_by_name.emplace(name, make);
    config.value_factories_by_rtti.emplace(type, make);
  }
}

caf::error detail::save_message(caf::serializer& sink, const encoded& content) {
  return save_frame(sink, content, frame_tensors::inside);
}

caf::error detail::load_message(caf::deserializer& source, encoded& content) {
  wire_arrival arrival;
  if (auto failed = load_frame(source, arrival)) return failed;
  // Only a stranger announces tensors beside the message here.
  if (!arrival.tickets.empty()) return caf::sec::invalid_argument;
  content = std::move(arrival.content);
  return {};
}

caf::error detail::message_problem() { return make_error(status_of(std::current_exception())); }

}  // namespace troupe
