#include <troupe/runtime/rpc_result.hpp>

namespace troupe::rpc {

status status_or_result::get_error() const {
  const auto& ended = awaited();
  if (!ended.end_status().ok()) return ended.end_status();
  try {
    static_cast<void>(specs_.apply(ended.result()));
    return {};
  } catch (const error& other) {
    return other.get_status();
  }
}

datum status_or_result::get_value() const {
  const auto& ended = awaited();
  if (!ended.end_status().ok()) throw_status(ended.end_status());
  if (ended.result().empty() && !specs_.known()) return {};
  return specs_.apply(ended.result());
}

}  // namespace troupe::rpc
