// What ranks that gloo connects send each other, and the memory that it lies in. Private to gloo_communicator.cpp.
//
// gloo moves bytes between registered memory of two ranks: a message is sent once the other side has said where it may
// be written. Every rank has room for two rounds from each other rank, and says so one round ahead; so a message goes
// out at once. It has room for one farewell, too, from the beginning.
//
//   inbox of a rank     round 0, 2, 4 ... | round 1, 3, 5 ... | farewell
//
// A rank that fails sends its farewell, and completes with it the same wait as a message of a round would, so that who
// waits for anything of that rank wakes up. So arrivals are counted: they don't say what has come.
#pragma once

#include <troupe/device/base/error.hpp>
#include <troupe/device/collectives/collective.hpp>
#include <troupe/device/tensor/buffer.hpp>

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace troupe::gloo_messages {

/// In front of every message of a round.
struct alignas(64) header {
  std::uint64_t round;
  collective call;
};

/// Why a rank has given up.
struct farewell {
  std::uint32_t code;
  std::uint32_t length;
  std::array<char, 1000> text;
  std::uint32_t given;  // 0 until all of it has come
};

/// Which stream a message belongs to, in gloo's terms; nobody sends in the last one.
enum stream : std::uint64_t { rounds = 1, farewells = 2, nothing = 3 };

farewell encode(const status& why);
status decode(const farewell& message);

/// Memory from which one message at a time is sent, to one rank or several.
class outbox {
 public:
  outbox(gloo::Context& context, std::size_t bytes_max)
      : memory_(buffer::allocate(sizeof(header) + bytes_max)),
        registered_(context.createUnboundBuffer(memory_.mutable_data(), memory_.size_bytes())) {}

  std::byte* content() { return memory_.mutable_data() + sizeof(header); }
  void write(const header& head) { std::memcpy(memory_.mutable_data(), &head, sizeof(head)); }
  void send(int to, std::size_t bytes);
  /// Waits for what was sent. Never blocks when its receivers have answered to it.
  void finish(std::chrono::milliseconds limit);

 private:
  buffer memory_;
  std::unique_ptr<gloo::transport::UnboundBuffer> registered_;
  int sending_ = 0;
};

/// Memory in which everything arrives that one rank sends.
class inbox {
 public:
  inbox(gloo::Context& context, int from, std::size_t bytes_max);

  /// Makes room for the message of a round.
  void expect(std::uint64_t round);
  const header& head(std::uint64_t round) const { return *reinterpret_cast<const header*>(place(round)); }
  const std::byte* content(std::uint64_t round) const { return place(round) + sizeof(header); }
  /// Whether the message of a round is here. Only a hint: it may just be arriving.
  bool has(std::uint64_t round) noexcept { return look_at(&writable<header>(round % 2 * stride_)->round) == round; }
  /// Whether the farewell is here, and can be read. No doubt is left if its arrival has been waited for.
  bool has_parting() noexcept { return look_at(&writable<farewell>(2 * stride_)->given) != 0; }
  status parting() const { return decode(*reinterpret_cast<const farewell*>(memory_.data() + 2 * stride_)); }
  gloo::transport::UnboundBuffer& arrivals() { return *registered_; }

 private:
  template <class T>
  T* writable(std::size_t offset) noexcept {
    return reinterpret_cast<T*>(memory_.mutable_data() + offset);
  }
  // gloo's thread may be writing it.
  template <class Number>
  static Number look_at(Number* place) noexcept {
    return std::atomic_ref{*place}.load(std::memory_order_acquire);
  }
  const std::byte* place(std::uint64_t round) const { return memory_.data() + round % 2 * stride_; }

  int from_;
  std::size_t stride_;
  buffer memory_;
  std::unique_ptr<gloo::transport::UnboundBuffer> registered_;
};

}  // namespace troupe::gloo_messages
