// Collectives between ranks that cannot see each other's tensors: processes, whatever connects them. Private to the
// library.
//
// Every collective is a sequence of rounds. In a round each rank writes into its outgoing memory, all exchange, and
// each reads what came from the others. Three patterns are enough:
//
//   to_all      everybody gets the same bytes of a rank
//   to_each     every rank gets bytes of its own from a rank
//   from_root   as to_all, but only the root of the call has bytes
//
//   barrier          one empty round to_all
//   broadcast        rounds from_root
//   all_gather       rounds to_all
//   reduce_scatter   rounds to_each; each rank reduces what it got
//   all_reduce       small: one round to_all, and each rank reduces everything. Else, chunk by chunk: a round to_each
//                    of shares, each rank reduces its own, a round to_all of the reduced shares
//
// So a large all_reduce over R ranks sends 2 (R-1)/R of its bytes from each rank and to each rank, which is the least
// possible, in two steps instead of a ring's 2. All ranks talk to each other directly, so who misses something
// knows whose it is. Reductions are reduce_ranks(), so the bits do not depend on what connects the ranks.
//
// What implementations add: the memory, the exchange, and how a rank learns that another one calls something else, is
// lost, late, or has given up.
#pragma once

#include <troupe/device/collectives/communicator.hpp>

#include <cstddef>
#include <vector>

namespace troupe {

class staged_communicator : public communicator {
 protected:
  enum class pattern { to_all, to_each, from_root };

  /// Bytes, equal on all ranks, multiples of 512.
  struct capacities {
    std::size_t to_all;
    std::size_t to_each;
    /// Inputs of all_reduce up to this size take one round. At most to_all.
    std::size_t small;
  };

  staged_communicator(int rank, int size, const capacities& room);

  void execute(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline) final;

  /// A new call has begun. Throws what has broken the communicator.
  virtual void begin(const collective& call) = 0;
  /// Where to write what all others (or rank `to`) get in the next round. Aligned to 64 bytes.
  virtual std::byte* outgoing_to_all() = 0;
  virtual std::byte* outgoing_to(int to) = 0;
  /// Gives the first `bytes` of what was written to the others, and waits for as many of each of them. Throws as D-1
  /// says.
  virtual void exchange(pattern which, std::size_t bytes, clock::time_point deadline) = 0;
  /// What rank `from`, another one, gave in the round just done. Valid until the next exchange. Aligned to 64 bytes.
  virtual const std::byte* incoming(int from) const = 0;

  /// The status of a rank that finds that another one calls something else.
  status calls_differ(const collective& mine, int other_rank, const collective& other) const;

 private:
  struct region;

  void all_reduce_small(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline);
  void all_reduce_chunk(const collective& call, const region& chunk, clock::time_point deadline);
  void all_reduce_large(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline);
  void all_gather(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline);
  void reduce_scatter(const collective& call, const std::byte* input, std::byte* output, clock::time_point deadline);
  void broadcast(const collective& call, std::byte* data, clock::time_point deadline);

  /// incoming() of all ranks, with `own` as this rank's part.
  const std::vector<const std::byte*>& incoming_with(const std::byte* own);

  capacities room_;
  std::vector<const std::byte*> parts_;  // here to be allocated once
};

}  // namespace troupe
