// The random number from which a process makes its keys (actors/messages/peer_identity.hpp): one for each peer, so that
// no peer can use its key to speak to a third process in this one's name.
//
// Limit: a key is shown to whoever is at the address that was dialled, so it proves that two connections have the same
// origin, not who that is. A secret or a certificate proves that.
#pragma once

#include <troupe/actors/messages/peer_identity.hpp>
#include <troupe/runtime/door/cluster_secret.hpp>

#include <memory>

namespace troupe {

class process_secret {
 public:
  /// A new one. @throws unavailable_error when the system gives no random numbers
  process_secret();

  /// Of this process. Any thread.
  static std::shared_ptr<const process_secret> of_this_process();

  /// What `own` shows to `peer`.
  process_key key_for(const process_id& own, const process_id& peer) const;

 private:
  const cluster_secret random_;
};

}  // namespace troupe
