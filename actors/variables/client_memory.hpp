// What a shard remembers of its clients, so that it applies no change twice: the shard's half of V-1.
//
// Problem: a client sends a change again when no answer has come, so the shard keeps the outcomes of all changes that
// are not acknowledged. Clients that end do not say so, and nobody can tell one that is silent from one that is gone:
// what they left would stay for as long as the server lives, and whoever makes up clients fills its memory. Solution:
// everything has a limit (parameter_server_options), and clients that were silent for `client_silence_max` are
// forgotten, those that were silent for longest first.
//
//             first message             silent for client_silence_max
//   UNKNOWN ------------------> KNOWN --------------------------------> FORGOTTEN
//      ^                        |   ^___________ its next message __________|  |
//      |   its session is over, |                                              | its session is over, or
//      |   or it was silent and |                                              | forgotten_clients_max others
//      |   changed nothing      |                                              | were forgotten after it
//      \________________________|______________________________________________/
//
// CM-1 A change of a KNOWN client is applied once, however often it comes: its outcome is kept until the client says
// that it is acknowledged. A change that there is no room to remember is refused, not applied.
// CM-2 Of a FORGOTTEN client the highest number of its changes is left. It may come back and go on: changes with higher
// numbers are new. One that comes again is refused, since it may have been applied and nobody knows how that ended.
// CM-3 Nobody takes another's place. Who is KNOWN stays so, and can make its share of changes (`client_share`) however
// many others there are; if there is no room for one more client, that is the one that is refused.
//
// How long a client repeats: until the operation's limit is over (variable_client_options::operation_limit, 30 s, or
// its caller's own). Each message counts as a sign of life, so nothing is repeated to a shard that has forgotten its
// client as long as limits are shorter than `client_silence_max`; longer ones are refused in the end, by CM-2. What
// could still be applied twice: a change that arrives again after its client was silent for so long, and
// `forgotten_clients_max` others were forgotten after it.
//
// Costs O(1) a message: no timer, whoever is heard lets the first in line go.
#pragma once

#include <troupe/actors/fibers/time.hpp>
#include <troupe/actors/messages/messages.hpp>
#include <troupe/actors/variables/parameter_server_options.hpp>

#include <caf/node_id.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// Changes that may come again, in the order of their numbers, most of which are added at the end and leave at the
/// front. Takes no memory when there are none: most clients have few, and bursts pass.
class change_log {
 public:
  /// A change has no outcome but how it ended.
  struct change {
    std::uint64_t number = 0;
    status ended;
  };

  std::size_t size() const { return changes_.size() - first_; }
  /// What they take, in changes that ended well: an error counts for its text, too.
  std::size_t weight() const { return weight_; }
  /// Nullptr: it is not there.
  const change* find(std::uint64_t number) const;
  /// Adds a change that is not there, and then how it ends: memory is there before anything is applied.
  template <class Perform>
  const status& add(std::uint64_t number, Perform perform) {
    auto& added = *changes_.insert(place_of(number), change{number, {}});
    ++weight_;
    added.ended = perform();
    weight_ += weight_of(added.ended);
    return added.ended;
  }
  /// Those with lower numbers leave.
  void drop_below(std::uint64_t number);

 private:
  std::vector<change>::iterator place_of(std::uint64_t number);
  static std::size_t weight_of(const status& ended);
  void give_memory_back();

  /// Those before `first_` have left.
  std::vector<change> changes_;
  std::size_t first_ = 0;
  std::size_t weight_ = 0;
};

class client_memory {
 public:
  class client {
   public:
    /// Messages over lower ones are refused.
    link_number link = 0;
    /// Where its first message came from: nobody else speaks for it.
    std::optional<caf::node_id> process;
    /// Which session was let in last, and the gate's news then.
    session_id session = 0;
    std::uint64_t news = 0;

   private:
    friend class client_memory;
    explicit client(client_id named) : id_(named) {}

    client_id id_;
    time_point heard_{};
    bool forgotten_ = false;
    change_log changes_;
    /// Of all its changes so far the highest number, and of those whose outcomes were forgotten.
    std::uint64_t highest_ = 0;
    std::uint64_t highest_forgotten_ = 0;
  };

  explicit client_memory(const parameter_server_options& limits = {}) : limits_(limits) {}

  /// The client says something. Nullptr: there is no room for one more. Addresses hold until a later call.
  client* hear(client_id id, time_point now);
  /// Nullptr: it is unknown, or forgotten.
  client* find(client_id id);
  /// Why there was no room.
  status no_room(std::string_view variable) const;

  /// The client sends no change below this number again.
  void acknowledge(client& of, std::uint64_t first_open);
  /// How the change ended, now or when it came before.
  template <class Perform>
  status change_once(client& of, std::uint64_t number, std::string_view variable, Perform perform) {
    if (const auto* const known = of.changes_.find(number)) return known->ended;
    if (auto refused = why_not(of, number, variable); !refused.ok()) return refused;
    of.highest_ = std::max(of.highest_, number);
    const auto before = of.changes_.weight();
    auto ended = of.changes_.add(number, std::move(perform));
    weight_ += of.changes_.weight() - before;
    return ended;
  }

  /// Whatever else comes of it is refused, so nothing need be known.
  void forget_for_good(const client& which);
  /// The same for all clients of some sessions.
  template <class Predicate>
  void forget_for_good_if(Predicate is_over) {
    for (auto* const some : {&known_, &forgotten_})
      for (auto next = some->begin(); next != some->end();) {
        const auto& each = *next++;
        if (is_over(each.session)) forget_for_good(each);
      }
  }

  std::size_t known() const { return known_.size(); }
  std::size_t forgotten() const { return forgotten_.size(); }
  /// Of all changes.
  std::size_t weight() const { return weight_; }
  /// What each client may have however many changes others have.
  std::size_t client_share() const;

 private:
  using clients = std::list<client>;

  status why_not(const client& of, std::uint64_t number, std::string_view variable) const;
  void forget_silent(time_point now);
  void forget(clients::iterator which);

  parameter_server_options limits_;
  /// The one that was silent for longest first; and the one that was forgotten first.
  clients known_;
  clients forgotten_;
  std::unordered_map<client_id, clients::iterator> places_;
  std::size_t weight_ = 0;
};

}  // namespace troupe
