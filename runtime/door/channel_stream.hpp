// A channel for whom the stream is a matter of indifference (byte_stream.hpp).
#pragma once

#include <troupe/device/base/byte_stream.hpp>
#include <troupe/runtime/door/channel.hpp>

#include <utility>

namespace troupe {

class channel_stream final : public byte_stream {
 public:
  explicit channel_stream(channel opened) : opened_(std::move(opened)) {}

  int socket() const override { return opened_.socket(); }
  stream_progress receive_some(std::span<std::byte> into) override { return opened_.receive_some(into); }
  stream_progress send_some(std::span<const std::byte> from) override { return opened_.send_some(from); }

 private:
  channel opened_;
};

}  // namespace troupe
