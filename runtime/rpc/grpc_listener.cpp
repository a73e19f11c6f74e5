#include <troupe/actors/values/internal/type_name.hpp>
#include <troupe/runtime/cluster_node.hpp>
#include <troupe/runtime/rpc/grpc_credentials.hpp>
#include <troupe/runtime/rpc/grpc_library.hpp>
#include <troupe/runtime/rpc/grpc_listener.hpp>

#include <caf/send.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/impl/server_builder_option.h>
#include <grpcpp/server_builder.h>

namespace troupe::rpc {

namespace {

const status server_stops{status_code::unavailable, "the server stops"};

// How long answers may take to leave when the listener ends.
constexpr std::chrono::milliseconds farewell_limit{500};
constexpr std::chrono::seconds silent_client_ping{10};

/// What the call has left; negative without a deadline, 0 when it has passed.
std::int64_t remaining_ns(gpr_timespec deadline) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return -1;
  const auto left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  // A year says enough, and keeps the product within 64 bits.
  constexpr std::int64_t seconds_max = 366 * 24 * 3600;
  const auto seconds = std::clamp<std::int64_t>(left.tv_sec, -1, seconds_max);
  return std::max<std::int64_t>(seconds * 1'000'000'000 + left.tv_nsec, 0);
}

/// A connection is a client. Two of them would need the same 64 bits to be taken for one.
std::uint64_t client_number(const ::grpc::CallbackServerContext& context) { return hash_text(context.peer()); }

call_order read_order(v1::CallRequest& request, gpr_timespec deadline) {
  call_order order;
  order.method = std::move(*request.mutable_method());
  order.signature = request.signature_tag();
  order.limit_ns = remaining_ns(deadline);
  order.arguments.reserve(static_cast<std::size_t>(request.arguments_size()));
  for (auto& each : *request.mutable_arguments()) {
    try {
      order.arguments.push_back(read_datum(each));
    } catch (const error& thrown) {
      throw_status(thrown.get_status().wrap(
          fmt::format("argument {} of {} can't be read", order.arguments.size() + 1, as_utf8(order.method))));
    }
  }
  return order;
}

::grpc::ServerUnaryReactor* refuse(::grpc::CallbackServerContext& context, const status& why) {
  auto* const reactor = context.DefaultReactor();
  reactor->Finish(write_status(why));
  return reactor;
}

/// Reflection for this server only; gRPC's own switch is for all servers of the process.
class reflection_option final : public ::grpc::ServerBuilderOption {
 public:
  void UpdateArguments(::grpc::ChannelArguments*) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<::grpc::ServerBuilderPlugin>>* plugins) override {
    auto added = std::make_unique<::grpc::reflection::ProtoServerReflectionPlugin>();
    for (const auto& each : *plugins)
      if (each->name() == added->name()) return;
    plugins->push_back(std::move(added));
  }
};

void configure(::grpc::ServerBuilder& builder, const listener_options& options) {
  builder.SetMaxReceiveMessageSize(static_cast<int>(message_bytes(options.bounds.request_bytes_max)));
  builder.SetMaxSendMessageSize(-1);  // G-1: grpc_call says which limit a result exceeds
  builder.SetOption(std::make_unique<reflection_option>());
  // Clients may ask as often as ours do, and with no call open.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             grpc_milliseconds(options.silence.ping_interval) / 2);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // The calls of a client that is silent for long end.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, grpc_milliseconds(silent_client_ping));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, grpc_milliseconds(options.silence.silence_max));
}

}  // namespace

// --- one call -------------------------------------------------------------------------------------------------------

void grpc_call::finish(const std::string& method, status ended, datum result) {
  if (ended.ok()) ended = write(method, result);
  Finish(write_status(ended));
}

status grpc_call::write(const std::string& method, const datum& result) {
  status problem;
  try {
    if (!result.empty()) write_datum(result, *reply_.mutable_result());
    const auto size_bytes = reply_.ByteSizeLong();
    if (size_bytes > reply_bytes_max_)
      problem = {status_code::resource_exhausted,
                 fmt::format("the result of {} takes {} bytes, but at most {} are allowed (reply_bytes_max)",
                             as_utf8(method), size_bytes, reply_bytes_max_)};
  } catch (...) {
    problem = status_of(std::current_exception()).wrap(fmt::format("the result of {} can't travel", as_utf8(method)));
  }
  if (!problem.ok()) reply_.Clear();
  return problem;
}

void grpc_call::OnCancel() { caf::anon_send(executor_, cancel_atom_v, client_, id_); }

// --- all calls ------------------------------------------------------------------------------------------------------

status grpc_call_table::add(grpc_call& opened) {
  const std::scoped_lock lock{mutex_};
  if (closed_) return server_stops;
  if (auto problem = held_.enter(opened.client_); !problem.ok()) return problem;
  opened.id_ = ++last_id_;
  open_.emplace(opened.id_, &opened);
  return {};
}

grpc_call* grpc_call_table::take(std::uint64_t id) {
  const std::scoped_lock lock{mutex_};
  const auto found = open_.find(id);
  if (found == open_.end()) return nullptr;
  auto* const result = found->second;
  open_.erase(found);
  held_.leave(result->client_);
  return result;
}

std::vector<grpc_call*> grpc_call_table::close() {
  const std::scoped_lock lock{mutex_};
  closed_ = true;
  std::vector<grpc_call*> result;
  for (const auto& [id, each] : open_) result.push_back(each);
  open_.clear();
  return result;
}

status grpc_call_table::check(std::uint64_t client) {
  const std::scoped_lock lock{mutex_};
  if (closed_) return server_stops;
  auto problem = held_.enter(client);
  if (problem.ok()) held_.leave(client);
  return problem;
}

// --- the service ----------------------------------------------------------------------------------------------------

::grpc::ServerUnaryReactor* grpc_service::Call(::grpc::CallbackServerContext* context, const v1::CallRequest* request,
                                               v1::CallReply* reply) {
  auto arrived = std::make_shared<incoming_call>();
  try {
    // gRPC has made the request for this call alone and never looks at it again: its tensors need not be copied.
    arrived->role = job_of_client(*context->auth_context(), *with_);
    arrived->order = read_order(const_cast<v1::CallRequest&>(*request), context->raw_deadline());
  } catch (...) {
    return refuse(*context, status_of(std::current_exception()));
  }
  const auto turn = next_executor_.fetch_add(1, std::memory_order_relaxed) % options_.executors.size();
  const auto executor = options_.executors[turn];
  auto opened = std::make_unique<grpc_call>(executor, client_number(*context), reply_bytes_max_, *reply);
  if (const auto problem = calls_->add(*opened); !problem.ok()) return refuse(*context, problem);
  auto* const result = opened.release();  // G-1: from here on it is finished, and deletes itself
  arrived->client = result->client();
  arrived->order.id = result->id();
  arrived->reply = [calls = calls_, id = result->id(), method = arrived->order.method](const status& ended,
                                                                                       datum data) {
    if (auto* const call = calls->take(id)) call->finish(method, ended, std::move(data));
  };
  caf::anon_send(executor, run_atom_v, std::move(arrived));
  return result;
}

::grpc::ServerUnaryReactor* grpc_service::List(::grpc::CallbackServerContext* context, const v1::ListRequest*,
                                               v1::ListReply* reply) {
  if (const auto problem = calls_->check(client_number(*context)); !problem.ok()) return refuse(*context, problem);
  for (const auto& each : options_.methods->describe()) {
    auto& to = *reply->add_methods();
    to.set_name(as_utf8(each.name));
    to.set_signature(as_utf8(each.signature));
    to.set_input_specs(as_utf8(each.input_specs));
    to.set_signature_tag(signature_tag(each.signature));
  }
  return refuse(*context, {});
}

// --- the listener ---------------------------------------------------------------------------------------------------

grpc_listener::grpc_listener(const listener_options& options)
    : calls_(std::make_shared<grpc_call_table>(options.bounds)), service_(options, calls_, credentials::of_process()) {
  ::grpc::ServerBuilder builder;
  configure(builder, options);
  builder.RegisterService(&service_);
  door_ = std::make_unique<grpc_door>(builder);
  server_ = builder.BuildAndStart();
  if (!server_) throw unavailable_error{fmt::format("gRPC does not start a server at {}", to_string(options.address))};
  door_->open(options.address, options.silence.silence_max);
}

grpc_listener::~grpc_listener() {
  door_.reset();
  for (auto* const each : calls_->close()) each->finish({}, server_stops, {});
  server_->Shutdown(std::chrono::system_clock::now() + farewell_limit);
}

std::unique_ptr<listener> listen_grpc(const listener_options& options) {
  keep_grpc_started();
  return std::make_unique<grpc_listener>(options);
}

}  // namespace troupe::rpc
