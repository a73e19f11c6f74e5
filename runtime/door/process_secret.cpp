#include <troupe/runtime/door/process_secret.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace troupe {

process_secret::process_secret() : random_(cluster_secret::make_text()) {}

std::shared_ptr<const process_secret> process_secret::of_this_process() {
  static const auto& made = *new std::shared_ptr<const process_secret>{std::make_shared<const process_secret>()};
  return made;
}

process_key process_secret::key_for(const process_id& own, const process_id& peer) const {
  std::string both(own.bytes.begin(), own.bytes.end());
  both.append(peer.bytes.begin(), peer.bytes.end());
  const auto proof = random_.prove("troupe process key", both);
  process_key key;
  std::memcpy(key.data(), proof.data(), key.size());
  return key;
}

}  // namespace troupe
