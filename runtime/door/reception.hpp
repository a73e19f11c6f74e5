// How a stranger at a port is heard, until it is known whether he may come in. acceptor.hpp has the strangers.
#pragma once

#include <troupe/device/base/internal/descriptor.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

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
  /// Why it was wrong, for the log; never what a stranger has sent.
  virtual std::string reason() const = 0;
  /// Takes the connection after `right`.
  virtual void welcome(descriptor connection) = 0;
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
