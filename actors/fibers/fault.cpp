#include <troupe/actors/fibers/fault.hpp>
#include <troupe/actors/values/codec.hpp>

#include <caf/exit_reason.hpp>
#include <caf/make_message.hpp>
#include <caf/sec.hpp>
#include <fmt/format.h>

#include <cstring>

namespace troupe {

namespace {

std::string pack(const status& failed) {
  const auto packed = encode(failed);
  return {reinterpret_cast<const char*>(packed.bytes.data()), packed.bytes.size()};
}

status unpack(std::uint8_t code, const caf::message& context) {
  if (context.match_elements<std::string>()) {
    const auto& packed = context.get_as<std::string>(0);
    try {
      return decode<status>(std::as_bytes(std::span{packed}), {});
    } catch (const error& broken) {
      return {static_cast<status_code>(code), fmt::format("(the error's text did not arrive: {})", broken.what())};
    }
  }
  return {static_cast<status_code>(code), "(no text)"};
}

status_code nearest(const caf::error& failed) {
  if (failed.category() == caf::atom("system")) {
    switch (static_cast<caf::sec>(failed.code())) {
      case caf::sec::request_timeout:
        return status_code::deadline_exceeded;
      case caf::sec::request_receiver_down:
      case caf::sec::cannot_connect_to_node:
      case caf::sec::disconnect_during_handshake:
      case caf::sec::malformed_basp_message:  // another program is there
      case caf::sec::no_route_to_receiving_node:
      case caf::sec::no_actor_published_at_port:
      case caf::sec::cannot_open_port:
        return status_code::unavailable;
      case caf::sec::unexpected_message:
      case caf::sec::unexpected_actor_messaging_interface:
      case caf::sec::incompatible_versions:
        return status_code::failed_precondition;
      default:
        return status_code::unknown;
    }
  }
  if (failed.category() == caf::atom("exit")) return status_code::unavailable;
  return status_code::unknown;
}

}  // namespace

caf::error make_error(const status& failed) {
  return {static_cast<std::uint8_t>(failed.code()), fault_category, caf::make_message(pack(failed))};
}

status status_of(const caf::error& failed, std::string_view what) {
  if (!failed) return {};
  if (failed.category() == fault_category) return unpack(failed.code(), failed.context());
  const auto text = caf::to_string(failed);
  return {nearest(failed), what.empty() ? text : fmt::format("{}: {}", what, text)};
}

std::string render_fault(std::uint8_t code, caf::atom_value, const caf::message& context) {
  return unpack(code, context).render();
}

}  // namespace troupe
