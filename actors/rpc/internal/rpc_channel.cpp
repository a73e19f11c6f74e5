#include <troupe/actors/rpc/internal/rpc_channel.hpp>

#include <caf/actor_cast.hpp>
#include <caf/actor_companion.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>

#include <utility>

namespace troupe::rpc {

namespace {

/// How long tensors of an answer may take to arrive; the call's own deadline ends it before.
constexpr auto bulk_limit = std::chrono::minutes{10};

void take_reply(const std::shared_ptr<call_table>& calls, std::uint64_t alone, wire<call_replies>& message) {
  if (const auto problem = message.open(); !problem.ok())
    return calls->fail(alone, problem.wrap("the answer did not arrive whole"));
  calls->take_replies(message.take());
}

/// Handles answers in the thread that brings them: one turn less than an actor needs. An answer with tensors is
/// alone in its message, so nothing depends on which comes first.
void take_message(const std::shared_ptr<call_table>& calls, const std::function<void(bulk_ticket&)>& redirect,
                  caf::type_erased_tuple& content) {
  if (!content.match_elements<outcome_atom, std::uint64_t, wire<call_replies>>()) return;
  const auto alone = content.get_as<std::uint64_t>(1);
  auto message = content.get_as<wire<call_replies>>(2);
  if (!message.waits_for_bulk()) return take_reply(calls, alone, message);
  if (redirect && calls->tensors_where_dialled())
    for (auto& [_, ticket] : message.arrival()->tickets) redirect(ticket);
  fetch_attachments(message.arrival(), bulk_limit,
                    [calls, alone, message]() mutable { take_reply(calls, alone, message); });
}

caf::actor_companion* companion_of(const reply_sink& inbox) {
  return caf::actor_cast<caf::actor_companion*>(caf::actor_cast<caf::actor>(inbox));
}

/// What CAF's own `disconnect` does; its library does not have that function.
void close_inbox(const reply_sink& inbox) {
  auto* const companion = companion_of(inbox);
  companion->on_enqueue({});
  companion->cleanup(caf::exit_reason::user_shutdown, nullptr);
}

/// The table that answers go to is set before the inbox is known to anybody else.
reply_sink spawn_inbox(caf::actor_system& system) {
  return caf::actor_cast<reply_sink>(system.spawn<caf::actor_companion>());
}

}  // namespace

caf_channel::caf_channel(caf::actor_system& system, const caf_channel_options& options)
    : server_(fmt::format("the server {}:{}", options.host, options.port)),
      methods_(std::make_shared<method_listing>()),
      inbox_(spawn_inbox(system)) {
  // The actor comes after the table that wakes it.
  const auto door = std::make_shared<connection_actor>();
  calls_ = std::make_shared<call_table>(call_table::options{.bounds = options.bounds,
                                                            .server = server_,
                                                            .now = [&system] { return system.clock().now(); },
                                                            .wake = [door] { caf::anon_send(*door, submit_atom_v); },
                                                            .inbox = inbox_});
  companion_of(inbox_)->on_enqueue([calls = calls_, redirect = options.redirect](caf::mailbox_element_ptr arrived) {
    take_message(calls, redirect, arrived->content());
  });
  connection_ = system.spawn(connection, connection_options{.dialer = options.dialer,
                                                            .host = options.host,
                                                            .port = options.port,
                                                            .name = options.client_name,
                                                            .silence = options.silence,
                                                            .calls = calls_,
                                                            .methods = methods_,
                                                            .inbox = inbox_});
  *door = connection_;
}

caf_channel::~caf_channel() { caf_channel::close(); }

std::vector<method_description> caf_channel::list(time_point deadline) {
  return methods_->await(deadline, server_ + " to come up");
}

void caf_channel::close() {
  calls_->close({status_code::cancelled, "the client was closed"});
  methods_->set(status{status_code::cancelled, "the client was closed"});
  if (!connection_) return;
  caf::anon_send_exit(connection_, caf::exit_reason::user_shutdown);
  connection_ = nullptr;
  close_inbox(std::exchange(inbox_, nullptr));
}

}  // namespace troupe::rpc
