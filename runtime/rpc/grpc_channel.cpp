#include <troupe/actors/fibers/fiber.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/device/base/printable_text.hpp>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/rpc/grpc_channel.hpp>
#include <troupe/runtime/rpc/grpc_credentials.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

namespace troupe::rpc {

namespace {

using namespace std::chrono_literals;

// Whether this thread belongs to gRPC, and runs one of the callbacks below.
thread_local bool in_callback = false;

struct callback_scope {
  callback_scope() { in_callback = true; }
  ~callback_scope() { in_callback = false; }
  callback_scope(const callback_scope&) = delete;
};

// A client that looks for its server asks again after at most this.
constexpr auto first_pause = 100ms;
constexpr auto longest_pause = 1s;
// gRPC answers at once why it does not reach the server, unless it is just connecting.
constexpr auto cause_limit = 50ms;
// Cancelled operations end at once; beyond this something else is wrong, and only the reaper waits for it.
constexpr auto end_limit = 10s;

// It travels as a header.
constexpr std::size_t client_name_bytes_max = 128;

::grpc::ChannelArguments arguments_of(const channel_options& options) {
  ::grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  // What has certainly not reached the server's methods is sent again: calls that begin while a loss is noticed.
  // Nothing else is, since nobody configures it.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 1);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // servers are neighbours
  arguments.SetMaxSendMessageSize(-1);              // `prepare` says which limit a request exceeds
  arguments.SetMaxReceiveMessageSize(static_cast<int>(message_bytes(options.bounds.reply_bytes_max)));
  // Silence: one interval until the question, the rest for the answer.
  const auto& silence = options.silence;
  const auto answer_limit = std::max<duration>(silence.silence_max - silence.ping_interval, silence.ping_interval);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, grpc_milliseconds(silence.ping_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, grpc_milliseconds(answer_limit));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // The least is how long one attempt to connect may take, not how long to wait for the next.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, grpc_milliseconds(silence.silence_max));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, grpc_milliseconds(first_pause));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, grpc_milliseconds(longest_pause));
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, grpc_milliseconds(longest_pause));
  return arguments;
}

/// An address in numbers needs no name service, whose library loses a few bytes for each channel. A server of ours that
/// is asked to listen on "localhost" does so there.
std::string target_of(const task_address& server) {
  return to_string(server.host == "localhost" ? task_address{"127.0.0.1", server.port} : server);
}

gpr_timespec as_timespec(time_point deadline) {
  if (deadline == never) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const auto left = std::max<duration>(deadline - time_point::clock::now(), duration::zero());
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

bool is_lost(const ::grpc::Status& ended) {
  return ended.error_code() == ::grpc::StatusCode::UNAVAILABLE || ended.error_code() == ::grpc::StatusCode::CANCELLED;
}

/// With its cause, if that is known.
status deadline_status(std::string message, const status& unreached_because) {
  if (unreached_because.ok()) return {status_code::deadline_exceeded, std::move(message)};
  return unreached_because.wrap(status_code::deadline_exceeded, std::move(message));
}

const status client_closed{status_code::cancelled, "the client was closed"};

}  // namespace

// --- the connection -------------------------------------------------------------------------------------------------

grpc_connection::grpc_connection(const channel_options& options)
    : server_(to_string(options.address)),
      client_name_(printable_text(options.client_name, client_name_bytes_max)),
      bounds_(options.bounds),
      channel_(::grpc::CreateCustomChannel(
          target_of(options.address), grpc_channel_credentials(*credentials::of_process()), arguments_of(options))),
      stub_(v1::Rpc::NewStub(channel_)),
      operations_(bounds_.calls_per_client_max) {}

grpc_connection::~grpc_connection() { operations_.wait_until_empty(); }

status grpc_connection::begin(const grpc_operation_ptr& started, std::uint64_t& number) {
  switch (operations_.enter(started, number)) {
    case open_operations::refusal::none:
      return {};
    case open_operations::refusal::closed:
      return client_closed;
    case open_operations::refusal::full:
      break;
  }
  return {status_code::resource_exhausted,
          fmt::format("the client has {} open calls to {}, its limit (calls_per_client_max)", operations_.places(),
                      server_)};
}

status grpc_connection::prepare(grpc_operation& started) const {
  const auto& name = started.method;
  try {
    if (!is_utf8(name))
      throw invalid_argument_error{"the name of the method is no UTF-8, which no method over \"grpc\" has"};
    started.request.set_method(name);
    started.request.set_signature_tag(started.what->signature);
    auto& arguments = started.what->arguments;
    for (const auto& each : arguments) write_datum(each, *started.request.add_arguments());
    arguments.clear();
  } catch (...) {
    return status_of(std::current_exception()).wrap(fmt::format("the arguments of {} can't travel", as_utf8(name)));
  }
  const auto size_bytes = started.request.ByteSizeLong();
  const auto size_bytes_max = message_bytes(bounds_.request_bytes_max);
  if (size_bytes > size_bytes_max)
    return {status_code::resource_exhausted,
            fmt::format("the arguments of {} take {} bytes, but at most {} are allowed (request_bytes_max)", name,
                        size_bytes, size_bytes_max)};
  prepare_context(started.context, started.what->deadline);
  return {};
}

void grpc_connection::prepare_context(::grpc::ClientContext& context, time_point deadline, bool waits) const {
  context.set_wait_for_ready(waits);
  if (deadline != never) context.set_deadline(as_timespec(deadline));
}

void grpc_connection::finish(grpc_operation& ended) const {
  if (!ended.ended.ok()) {
    ended.what->finish(explain(ended));
    return;
  }
  try {
    ended.what->finish({}, read_datum(*ended.reply.mutable_result()));
  } catch (...) {
    ended.what->finish(status_of(std::current_exception())
                           .wrap(fmt::format("the result of {} from {} can't be read", ended.method, server_)));
  }
}

status grpc_connection::explain(const grpc_operation& ended) const {
  auto result = read_status(ended.ended);
  if (has_details(ended.ended)) return result;
  const auto say = [&](std::string_view what) {
    return status{result.code(), fmt::format("{} at {} {}: {}", ended.method, server_, what, result.message())};
  };
  switch (result.code()) {
    case status_code::deadline_exceeded:
      return deadline_status(fmt::format("{} at {} did not end before its deadline", ended.method, server_),
                             ended.unreached_because);
    case status_code::unavailable:
      return say("was lost with the server");
    case status_code::cancelled:
      // Our own cancellations have ended their calls before; a server that shuts down does this, too.
      if (operations_.is_closed()) return client_closed;
      return {status_code::unavailable, fmt::format("{} was dropped by {}", ended.method, server_)};
    case status_code::unimplemented:
      return {status_code::failed_precondition,
              fmt::format("{} is no troupe server for the layer \"grpc\", or one of another version: {}", server_,
                          result.message())};
    default:
      return say("failed");
  }
}

// --- the channel ----------------------------------------------------------------------------------------------------

grpc_channel::grpc_channel(const channel_options& options) : connection_(std::make_unique<grpc_connection>(options)) {}

grpc_channel::~grpc_channel() {
  close();
  if (in_callback || !connection_->operations().wait_until_empty(end_limit))
    reaper::instance().take(std::move(connection_));
}

std::vector<method_description> grpc_channel::list(time_point deadline) {
  auto asked = try_list(deadline);
  // Reading the list twice does no harm: a server that is lost meanwhile, or stops, is waited for again.
  while (is_lost(asked->ended)) {
    sleep_for(std::min<duration>(first_pause, deadline - current_time()));
    asked = try_list(deadline);
  }
  if (asked->ended.error_code() == ::grpc::StatusCode::DEADLINE_EXCEEDED) asked = list_at_once(std::move(asked));
  if (!asked->ended.ok()) throw_status(connection_->explain(*asked));
  std::vector<method_description> result;
  for (const auto& each : asked->methods.methods())
    result.push_back({each.name(), each.signature(), each.input_specs()});
  return result;
}

// A question that waits for its server ends at its deadline, without a cause. One that does not wait has the cause.
grpc_operation_ptr grpc_channel::list_at_once(grpc_operation_ptr late) {
  auto asked = try_list(current_time() + cause_limit, false);
  if (asked->ended.ok()) return asked;
  if (asked->ended.error_code() == ::grpc::StatusCode::UNAVAILABLE)
    late->unreached_because = cause_of_connect_error(asked->ended.error_message(), *credentials::of_process());
  return late;
}

grpc_operation_ptr grpc_channel::try_list(time_point deadline, bool waits) {
  auto asked = std::make_shared<grpc_operation>("the list of methods");
  std::uint64_t number = 0;
  if (auto problem = connection_->begin(asked, number); !problem.ok()) throw_status(std::move(problem));
  connection_->prepare_context(asked->context, deadline, waits);
  // Only here: headers cost each call a microsecond.
  if (!connection_->client_name_.empty()) asked->context.AddMetadata("troupe-client", connection_->client_name_);
  connection_->stub().async()->List(&asked->context, &v1::ListRequest::default_instance(), &asked->methods,
                                    [question = asked.get(), number, open = connection_.get()](::grpc::Status ended) {
                                      const callback_scope scope;
                                      const auto last = open->operations().leave(number);
                                      question->ended = std::move(ended);
                                      question->completed.set();
                                    });
  try {
    asked->completed.wait_until(never, "the list of a server's methods");
  } catch (...) {
    asked->context.TryCancel();
    throw;
  }
  return asked;
}

/// The operation of a call that can be sent; nullptr when the call has ended already.
grpc_operation_ptr grpc_channel::begin(const call_ptr& started) {
  auto result = std::make_shared<grpc_operation>(started->method, started);
  auto problem = connection_->prepare(*result);
  if (problem.ok()) problem = connection_->begin(result, started->id);
  if (problem.ok()) return result;
  started->finish(std::move(problem));
  return nullptr;
}

void grpc_channel::start(call_ptr started) {
  const auto operation = begin(started);
  if (!operation) return;
  connection_->stub().async()->Call(&operation->context, &operation->request, &operation->reply,
                                    [operation = operation.get(), open = connection_.get()](::grpc::Status ended) {
                                      const callback_scope scope;
                                      const auto last = open->operations().leave(operation->what->id);
                                      operation->ended = std::move(ended);
                                      open->finish(*operation);
                                    });
}

void grpc_channel::perform(const call_ptr& started) {
  if (fiber_host::current() != nullptr) return channel::perform(started);
  const auto operation = begin(started);
  if (!operation) return;
  operation->ended = connection_->stub().Call(&operation->context, operation->request, &operation->reply);
  const auto last = connection_->operations().leave(started->id);
  connection_->finish(*operation);
}

void grpc_channel::cancel(const call_ptr& unwanted) {
  const auto operation = connection_->operations().find(unwanted->id);
  unwanted->finish({status_code::cancelled, "the caller does not want the result any more"});
  if (operation && operation->what == unwanted) operation->context.TryCancel();
}

void grpc_channel::close() {
  for (const auto& each : connection_->operations().close()) {
    if (each->what) each->what->finish(client_closed);
    each->context.TryCancel();
  }
}

std::shared_ptr<channel> connect_grpc(const channel_options& options) {
  keep_grpc_started();
  return std::make_shared<grpc_channel>(options);
}

}  // namespace troupe::rpc
