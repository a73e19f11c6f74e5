// The messages in what a process writes to a connection: CAF's protocol writes whole frames, a header and what it
// announces.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace troupe {

struct basp_frame {
  std::span<const char> bytes;
  /// Of an application's actor to another; others are CAF's own.
  bool is_message = false;
};

/// The frames of `written`; what is no whole frame comes last, as one that is no message.
std::vector<basp_frame> frames_of(std::span<const char> written);

/// Its parts: atoms, numbers and texts as they are, from the first other one on the names of their types.
std::string content_of(std::span<const char> message);
/// Whether the message has this atom, or this text in a type's name.
bool has_type(std::span<const char> message, const std::string& type);

}  // namespace troupe
