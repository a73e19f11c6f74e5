// What client and server of the layer "caf" say to each other, and their typed interfaces.
//
//   client                         server                          executor
//     | admit: client_hello --------> |                                |
//     | <------ executors, server_welcome                              |
//     | run: call_orders --------------------------------------------> |  many calls in one message
//     | <-------------------------------------------- call_replies ... |
//     | cancel: call_cancellations ----------------------------------> |
//     | alive <---- pings in both directions ----> |                   |
//     | dismiss --------------------> |  (or the other way round)      |
//
// `client_hello` and `server_welcome` begin with the version and must stay readable for ever; everything else may
// change with `protocol_version`.
#pragma once

#include <troupe/actors/messages/interfaces.hpp>
#include <troupe/actors/rpc/rpc_limits.hpp>
#include <troupe/actors/rpc/rpc_method.hpp>
#include <troupe/actors/values/wire.hpp>

#include <caf/typed_actor.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe::rpc {

struct client_hello {
  std::uint32_t version = protocol_version;
  /// For people, and to tell several clients of one program apart.
  std::string name;
};

struct server_welcome {
  std::uint32_t version = protocol_version;
  std::uint64_t session = 0;
  std::vector<method_description> methods;
  std::uint64_t calls_per_client_max = 0;
  std::uint64_t request_bytes_max = 0;
  /// Large tensors of answers are fetched by the door that the client has dialled, whatever their tickets say: the
  /// server can't know which of its addresses reaches it from there.
  bool tensors_where_dialled = false;
};

struct call_order {
  std::uint64_t id = 0;
  std::string method;
  std::uint64_t signature = 0;
  /// What is left until the deadline; the two clocks need not agree. Negative: none.
  std::int64_t limit_ns = 0;
  std::vector<datum> arguments;
};

struct call_orders {
  std::vector<call_order> calls;
};

struct call_reply {
  std::uint64_t id = 0;
  status ended;
  datum result;
  /// The call was not taken, since the server has no such session (any more).
  bool session_over = false;
};

struct call_replies {
  std::uint64_t session = 0;
  std::vector<call_reply> replies;
};

struct call_cancellations {
  std::uint64_t session = 0;
  std::vector<std::uint64_t> calls;
};

/// A call that a layer has received and hands to an executor in the same process. One that is dropped without an
/// answer, because its executor has ended, answers itself.
struct incoming_call {
  ~incoming_call() { answer({status_code::unavailable, "the server has stopped"}, {}); }

  /// The first time only.
  void answer(const status& ended, datum result) {
    if (auto once = std::exchange(reply, nullptr)) once(ended, std::move(result));
  }

  /// Whose call it is; with `id` it names the call.
  std::uint64_t client = 0;
  /// In which role he has come; empty: nobody knows.
  std::string role;
  call_order order;
  /// Called exactly once, in the executor's thread while it lives, with the result or why there is none.
  std::function<void(const status& ended, datum result)> reply;
};
using incoming_call_ptr = std::shared_ptr<incoming_call>;

/// Takes the answers to a client's calls. The number is the id of a call that is alone, as in `executor_actor`.
using reply_sink = caf::typed_actor<caf::reacts_to<outcome_atom, std::uint64_t, wire<call_replies>>>;

/// Runs methods; see rpc_executor.hpp.
using executor_actor = caf::typed_actor<
    // Calls of a client elsewhere, by its session; their answers go to the sender, which is a reply_sink. A call with
    // tensors that travel beside the message comes alone, and the second number is its id, so that it can be cancelled
    // before they are there and answered when they are lost.
    caf::reacts_to<run_atom, std::uint64_t, std::uint64_t, wire<call_orders>>,
    caf::reacts_to<cancel_atom, wire<call_cancellations>>,
    // A call that another layer of this process has received, and its cancellation by client and id.
    caf::reacts_to<run_atom, incoming_call_ptr>, caf::reacts_to<cancel_atom, std::uint64_t, std::uint64_t>,
    // The client with this session is gone: its calls are cancelled.
    caf::reacts_to<dismiss_atom, std::uint64_t>,
    // The server stops: everything is answered with this status, and whatever comes later too.
    caf::replies_to<retire_atom, wire<status>>::with<caf::ok_atom>>;

/// A client's door; see rpc_connection.hpp.
using connection_actor =
    caf::typed_actor<caf::replies_to<alive_atom, std::uint64_t>::with<std::uint64_t>,
                     caf::reacts_to<suspect_atom, std::uint64_t, wire<status>>,
                     // The server does not know this session any more.
                     caf::reacts_to<dismiss_atom, std::uint64_t>,
                     // From this process: calls wait to be sent, or have an earlier deadline than all others.
                     caf::reacts_to<submit_atom>>;

/// A server's door; see rpc_door.hpp.
using door_actor =
    caf::typed_actor<caf::replies_to<alive_atom, std::uint64_t>::with<std::uint64_t>,
                     caf::reacts_to<suspect_atom, std::uint64_t, wire<status>>,
                     // A client comes. Answers with where its calls go.
                     caf::replies_to<admit_atom, connection_actor, reply_sink,
                                     wire<client_hello>>::with<std::vector<executor_actor>, wire<server_welcome>>,
                     // A client goes.
                     caf::reacts_to<dismiss_atom, std::uint64_t>>;

/// Reaches servers by their addresses.
using dialer_actor =
    caf::typed_actor<caf::replies_to<dial_atom, std::string, std::uint16_t>::with<door_actor>,
                     // The server is silent: its link is ended on this side, so that the next dial makes a new one.
                     caf::reacts_to<hang_up_atom, caf::node_id>>;

}  // namespace troupe::rpc

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(::troupe::rpc::incoming_call_ptr)
