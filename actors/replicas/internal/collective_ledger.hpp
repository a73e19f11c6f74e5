// Who of the replicas in a lock step has called how many collectives, and who waits for the others elsewhere.
//
// Problem: a collective blocks its replica's thread until all replicas call it. If one of them waits in merge_call or
// has returned, it never will, and both would wait until their deadlines. Solution: each replica counts the collectives
// that it enters, and parks its count while it waits in merge_call or after its return. A replica that enters a
// collective which a parked one has not called, or parks before a collective that another has entered, sees it here at
// once.
//
// L-1 Of two replicas that miss each other at least one finds out: each writes its own entry before it reads the
// other's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace troupe {

class collective_ledger {
 public:
  explicit collective_ledger(int replicas);

  // In the replica's own thread.

  /// Before each collective. @throws failed_precondition_error that names the replica that waits elsewhere.
  void enter(int replica);
  /// Before merge_call, and after the function's return (`where`: "waits in merge_call", "has returned").
  /// @throws failed_precondition_error that names the replica that waits in a collective.
  void park(int replica, const char* where);

  /// Before the first result of a merge_call is handed out, for all replicas: the first that goes on may be in its next
  /// collective before the last has even heard. In the thread that hands them out.
  void unpark_all();

  /// Of one replica: "waits in merge_call", "goes on, after 3 collectives". Any thread.
  std::string where(int replica) const;

 private:
  struct alignas(64) entry {
    std::atomic<std::uint64_t> entered{0};
    /// Where it is parked, or nullptr.
    std::atomic<const char*> parked{nullptr};
  };
  int replicas_;
  std::unique_ptr<entry[]> entries_;
};

}  // namespace troupe
