#include <troupe/runtime/cluster/basp_guard.hpp>

#include <caf/io/basp/header.hpp>

#include <cstdint>

#include <dlfcn.h>

namespace caf::io::basp {

namespace {

/// A handshake holds an id and the interface of one actor.
constexpr std::uint32_t handshake_bytes_max = 1 << 20;
/// Twice the largest request of a remote procedure call, whose tensors may travel in it.
constexpr std::uint32_t message_bytes_max = 512U << 20;

}  // namespace

bool valid(const header& checked) {
  using check = bool (*)(const header&);
  static const auto original = reinterpret_cast<check>(::dlsym(RTLD_NEXT, "_ZN3caf2io4basp5validERKNS1_6headerE"));
  if (original != nullptr && !original(checked)) return false;
  if (checked.operation == message_type::heartbeat) return true;
  return checked.payload_len > 0 &&
         checked.payload_len <= (is_handshake(checked) ? handshake_bytes_max : message_bytes_max);
}

}  // namespace caf::io::basp

namespace troupe {

void guard_basp_headers() noexcept {
  // The definition above is what counts.
}

}  // namespace troupe
