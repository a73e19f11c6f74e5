// How a stranger at a port is heard, until it is known whether he may come in. acceptor.hpp has the strangers.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/door/open_connections.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace troupe {

/// Of one connection. All runs in the thread of all acceptors, so nothing here may throw, block, or destroy the
/// acceptor.
class reception {
 public:
  enum class finding {
    /// There is more to hear.
    undecided,
    right,
    wrong,
    /// The other side has hung up.
    gone,
  };

  virtual ~reception() = default;

  /// Called when there may be something new on this socket, which does not block, and only then.
  virtual finding hear(int socket) = 0;
  /// Whether the next call of hear() may take a good part of a millisecond, as a step of a TLS handshake does: then
  /// only some have their turn in each round of the loop.
  virtual bool is_costly() const { return false; }
  /// Whether the peer has sent a part of what is right. Until then its place is among those of silent ones.
  virtual bool has_begun() const = 0;
  /// Why it was wrong, for the log; never what a stranger has sent.
  virtual std::string reason() const = 0;
  /// Takes the connection after `right`.
  virtual void welcome(descriptor connection) = 0;

  /// Before the first call of hear(): where it asks for room.
  void ask_at(open_connections& places) { places_ = &places; }
  /// Once it is right.
  const connection_owner& owner() const { return owner_; }
  /// Once it is wrong: whether only for lack of room.
  bool lacks_room() const { return lacks_room_; }

 protected:
  /// Whose connection it is, as soon as the peer has proved it and before it is told that it may go on. The answer
  /// holds until hear() returns.
  status ask_for_room(connection_owner owner) {
    owner_ = std::move(owner);
    auto answer = places_->check_room(owner_);
    lacks_room_ = !answer.ok();
    return answer;
  }

 private:
  open_connections* places_ = nullptr;
  connection_owner owner_;
  bool lacks_room_ = false;
};

/// Makes one for each connection.
using receptionist = std::function<std::unique_ptr<reception>()>;

/// Receives by the first words alone, which stay unread. For protocols that others speak.
class first_words {
 public:
  enum class verdict {
    /// These may become the right words.
    wait_for_more,
    welcome,
    refuse,
  };
  /// A verdict, and for `refuse` the reason, for the log. The reason lives as long as the process.
  struct judgement {
    judgement(verdict judged, const char* because = "what they sent first is not what this port speaks")
        : found(judged), reason(because) {}
    verdict found;
    const char* reason;
  };
  /// Judges what a connection has sent so far, at least 1 byte, at most `bytes_max`. Asked again with all of it when
  /// there is more.
  using judge = std::function<judgement(std::span<const std::byte> peeked)>;
  /// Gets a connection, non-blocking, from which nothing was read.
  using take = std::function<void(descriptor connection)>;

  /// First words that are longer are refused. A ClientHello of TLS has to fit: with a key share for ML-KEM it takes
  /// about 1,500 bytes (gRPC 1.85), and a ticket of an earlier session with a certificate adds up to about as much.
  static constexpr std::size_t bytes_max = 4096;

  static receptionist receive(judge judged, take given);
};

}  // namespace troupe
