#include <troupe/runtime/door/process_secret.hpp>

#include <array>
#include <cstring>

namespace troupe {

process_secret::process_secret() : random_(cluster_secret::make_text()) {}

std::shared_ptr<const process_secret> process_secret::of_this_process() {
  static const auto& made = *new std::shared_ptr<const process_secret>{std::make_shared<const process_secret>()};
  return made;
}

process_key process_secret::key_for(const process_id& own, const process_id& peer) const {
  std::array<char, sizeof(own.bytes) + sizeof(peer.bytes)> both{};
  std::memcpy(both.data(), own.bytes.data(), own.bytes.size());
  std::memcpy(both.data() + own.bytes.size(), peer.bytes.data(), peer.bytes.size());
  const auto proof = random_.prove("troupe process key", {both.data(), both.size()});
  process_key key;
  std::memcpy(key.data(), proof.data(), key.size());
  return key;
}

}  // namespace troupe
