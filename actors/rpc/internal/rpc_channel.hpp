// A channel of the layer "caf": the client's actor, the table of its calls, and the inbox where answers arrive.
#pragma once

#include <troupe/actors/rpc/internal/rpc_connection.hpp>
#include <troupe/actors/rpc/rpc_call.hpp>

#include <caf/actor_system.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::rpc {

struct caf_channel_options {
  dialer_actor dialer;
  std::string host;
  std::uint16_t port = 0;
  std::string client_name;
  limits bounds;
  liveness silence;
  /// Changes a ticket so that its bytes are fetched from the address that was dialled; see server_welcome.
  std::function<void(bulk_ticket&)> redirect;
};

class caf_channel : public channel {
 public:
  /// Connects in the background. The system outlives the channel.
  caf_channel(caf::actor_system& system, const caf_channel_options& options);
  ~caf_channel() override;

  std::vector<method_description> list(time_point deadline) override;
  void start(call_ptr started) override { calls_->start(started); }
  void cancel(const call_ptr& unwanted) override { calls_->cancel(unwanted); }
  void close() override;

 private:
  std::string server_;
  std::shared_ptr<call_table> calls_;
  std::shared_ptr<method_listing> methods_;
  reply_sink inbox_;
  connection_actor connection_;
};

}  // namespace troupe::rpc
