// What only the layer "grpc" has: clients and servers of other makes, connections that break, and gRPC's threads.
#include "grpc_stream.hpp"
#include "rpc_test.hpp"

#include <troupe/actors/rpc/internal/rpc_executor.hpp>
#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/rpc.grpc.pb.h>
#include <troupe/runtime/cluster/reaper.hpp>
#include <troupe/runtime/rpc/grpc_messages.hpp>
#include <troupe/runtime/rpc/rpc_layer.hpp>
#include <troupe/runtime/sockets/socket.hpp>
#include <troupe/runtime/system_config.hpp>

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <poll.h>

namespace troupe::rpc {

BOOST_AUTO_TEST_SUITE(grpc_layer_suite)

namespace {

/// Protobuf prints what it can't parse, which is what these tests are full of.
struct quiet_protobuf {
  quiet_protobuf() { google::protobuf::SetLogHandler(nullptr); }
};
BOOST_TEST_GLOBAL_FIXTURE(quiet_protobuf);

/// A client that knows rpc.proto and nothing else of troupe, with a connection of its own.
class foreign_client {
 public:
  explicit foreign_client(std::uint16_t port) : channel_(connected_to(port)), stub_(v1::Rpc::NewStub(channel_)) {}

  struct answer {
    ::grpc::Status ended;
    v1::CallReply reply;
  };

  answer call(const v1::CallRequest& request, duration limit = patience) {
    answer result;
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::milliseconds>(limit));
    result.ended = stub_->Call(&context, request, &result.reply);
    return result;
  }
  answer call(const std::string& method, duration limit = patience) {
    v1::CallRequest request;
    request.set_method(method);
    return call(request, limit);
  }
  v1::Rpc::Stub& stub() { return *stub_; }
  const std::shared_ptr<::grpc::Channel>& channel() const { return channel_; }

 private:
  static std::shared_ptr<::grpc::Channel> connected_to(std::uint16_t port) {
    ::grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxSendMessageSize(-1);
    return ::grpc::CreateCustomChannel(fmt::format("127.0.0.1:{}", port), ::grpc::InsecureChannelCredentials(),
                                       arguments);
  }

  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<v1::Rpc::Stub> stub_;
};

/// The TCP connections between clients and one server, in the test's hands.
class link {
 public:
  explicit link(std::uint16_t server_port)
      : server_port_(server_port), listening_(listen_on("127.0.0.1", 0)), carrier_([this] { carry(); }) {}
  ~link() {
    stopped_ = true;
    carrier_.join();
  }
  link(const link&) = delete;

  std::string address() const { return fmt::format("127.0.0.1:{}", bound_port(listening_.get())); }
  /// Nothing passes any more, and nobody is told.
  void freeze() { frozen_ = true; }
  void thaw() { frozen_ = false; }
  /// All connections are closed; new ones are made as before.
  void cut() { cut_ = true; }

 private:
  struct pair {
    descriptor client, server;
    bool broken = false;
  };

  void carry() {
    while (!stopped_) {
      std::vector<pollfd> sockets{{listening_.get(), POLLIN, 0}};
      for (const auto& each : pairs_) {
        sockets.push_back({each.client.get(), POLLIN, 0});
        sockets.push_back({each.server.get(), POLLIN, 0});
      }
      constexpr auto look_milliseconds = 5;
      ::poll(frozen_ ? nullptr : sockets.data(), frozen_ ? 0 : sockets.size(), look_milliseconds);
      if (cut_.exchange(false)) pairs_.clear();
      if (!frozen_) move();
    }
  }
  void move() {
    while (auto client = accept_next(listening_.get()))
      pairs_.push_back({std::move(client), start_connecting(resolve("127.0.0.1", server_port_).front())});
    for (auto& each : pairs_)
      each.broken = !pass(each.client.get(), each.server.get()) || !pass(each.server.get(), each.client.get());
    std::erase_if(pairs_, [](const pair& each) { return each.broken; });
  }
  static bool pass(int from, int to) {
    std::array<std::byte, 65536> bytes;
    const auto got = receive_some(from, bytes);
    if (got.broken) return false;
    for (std::size_t sent = 0; sent < got.bytes;) {
      pollfd socket{to, POLLOUT, 0};
      ::poll(&socket, 1, 1000);
      const auto progress = send_some(to, std::span{bytes}.subspan(sent, got.bytes - sent));
      if (progress.broken) return false;
      sent += progress.bytes;
    }
    return true;
  }

  const std::uint16_t server_port_;
  descriptor listening_;
  std::vector<pair> pairs_;
  std::atomic<bool> frozen_{false}, cut_{false}, stopped_{false};
  std::thread carrier_;
};

/// A server with the methods of these tests.
struct test_server {
  explicit test_server(server_options options = {}) : serving(make_server("grpc", options)) {
    serving.register_method("double", [](int x) { return 2 * x; });
    serving.register_method("length", [](const std::string& x) { return static_cast<std::int64_t>(x.size()); });
    serving.register_method("text",
                            [](std::int64_t length) { return std::string(static_cast<std::size_t>(length), 'x'); });
    serving.register_method("echo", [](const datum& x) { return x; });
    serving.register_method("wait", [this] {
      running.open();
      wait_for_cancellation(cancelled);
    });
    serving.register_method("shout", [] {
      status why{status_code::data_loss, std::string(5000, '%')};
      for (auto level = 0; level < 20; ++level) why = why.wrap(status_code::aborted, std::string(100'000, '\n'));
      throw aborted_error{std::move(why)};
    });
    serving.register_method("fail", [] {
      throw aborted_error{status{status_code::data_loss, "the disk"}.wrap(status_code::aborted, "the step")};
    });
    serving.start();
  }

  gate running, cancelled;
  server serving;
};

v1::CallRequest request_of(const std::string& method, const datum& argument) {
  v1::CallRequest result;
  result.set_method(method);
  write_datum(argument, *result.add_arguments());
  return result;
}

void check_status(const ::grpc::Status& found, ::grpc::StatusCode code, const std::string& text) {
  BOOST_TEST(found.error_code() == code, found.error_message());
  BOOST_TEST(found.error_message().find(text) != std::string::npos, found.error_message());
}

/// Calls until it succeeds. A call that begins while the loss is noticed may be lost, too.
bool is_found_again(const client& by) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < deadline)
    if (by.call("double", {1}).is_ok()) return true;
  return false;
}

int doubled(const client& by, int x) { return by.method<int(int)>("double").blocking(x); }

}  // namespace

// --- clients of other makes ------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_client_that_knows_only_the_proto_lists_and_calls) {
  test_server server;
  foreign_client client{server.serving.port()};
  ::grpc::ClientContext context;
  v1::ListReply list;
  BOOST_REQUIRE(client.stub().List(&context, {}, &list).ok());
  BOOST_REQUIRE(list.methods_size() == 7);
  BOOST_TEST(list.methods(0).name() == "double");
  BOOST_TEST(list.methods(0).signature() == "(int32) -> int32");

  auto request = request_of("double", datum{21});
  BOOST_TEST(client.call(request).reply.result().int_value() == 42);
  request.set_signature_tag(list.methods(0).signature_tag());
  BOOST_TEST(client.call(request).reply.result().int_value() == 42);
  request.set_signature_tag(list.methods(1).signature_tag());
  check_status(client.call(request).ended, ::grpc::INVALID_ARGUMENT, "(int32) -> int32");
}

BOOST_AUTO_TEST_CASE(errors_are_grpc_statuses_with_their_causes_as_details) {
  test_server server;
  foreign_client client{server.serving.port()};
  const auto failed = client.call("fail").ended;
  check_status(failed, ::grpc::ABORTED, "the step");
  const auto read = read_status(failed);
  BOOST_REQUIRE(read.causes().size() >= 1u);
  BOOST_TEST(read.causes().back().message == "the disk");
  BOOST_TEST(client.call("shout").ended.error_code() == ::grpc::ABORTED);
  check_status(client.call("nowhere").ended, ::grpc::INVALID_ARGUMENT, "nowhere");
}

BOOST_AUTO_TEST_CASE(arguments_that_cannot_be_read_are_errors_that_name_them) {
  test_server server;
  foreign_client client{server.serving.port()};
  v1::CallRequest request;
  request.set_method("echo");
  request.add_arguments();
  auto& tensor = *request.add_arguments()->mutable_tensor();
  tensor.set_dtype("float32");
  tensor.add_shape(3);
  tensor.set_content("x");
  const auto refused = client.call(request).ended;
  check_status(refused, ::grpc::INVALID_ARGUMENT, "argument 2 of echo can't be read");
  BOOST_TEST(mentions(read_status(refused), "has 1 bytes; expected 12"));
}

BOOST_AUTO_TEST_CASE(the_server_describes_itself_by_reflection) {
  test_server server;
  const foreign_client client{server.serving.port()};
  BOOST_TEST(services_of(client.channel()).find("troupe.rpc.v1.Rpc") != std::string::npos);
}

// --- garbage ---------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(garbage_on_the_port_disturbs_nobody) {
  test_server server;
  const auto client = connect(server.serving, "grpc");
  std::mt19937_64 random{11};
  const std::string preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  for (auto round = 0; round < 30; ++round) {
    auto stranger = start_connecting(resolve("127.0.0.1", server.serving.port()).front());
    pollfd socket{stranger.get(), POLLOUT, 0};
    BOOST_REQUIRE(::poll(&socket, 1, 10'000) == 1);
    auto bytes = round % 2 == 0 ? preface : std::string{};
    for (auto i = random() % 3000; i > 0; --i) bytes += static_cast<char>(random());
    send_some(stranger.get(), std::as_bytes(std::span{bytes}));
    BOOST_TEST(doubled(client, round) == 2 * round);
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_request_are_refused_and_disturb_nobody) {
  test_server server;
  const auto client = connect(server.serving, "grpc");
  foreign_client foreign{server.serving.port()};
  ::grpc::GenericStub stub{foreign.channel()};
  const auto whole = request_of("echo", datum{datum::list{datum{1}, datum{"abc"}, datum{2.5}}}).SerializeAsString();
  std::mt19937_64 random{5};
  for (auto round = 0; round < 300; ++round) {
    auto bytes = whole.substr(0, random() % (whole.size() + 1));
    if (!bytes.empty()) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto damaged = buffer_of(bytes);
    ::grpc::ClientContext context;
    ::grpc::ByteBuffer answer;
    std::promise<::grpc::Status> ended;
    stub.UnaryCall(&context, "/troupe.rpc.v1.Rpc/Call", {}, &damaged, &answer,
                   [&](::grpc::Status status) { ended.set_value(std::move(status)); });
    auto outcome = ended.get_future();
    BOOST_REQUIRE((outcome.wait_for(patience) == std::future_status::ready));
  }
  BOOST_TEST(doubled(client, 4) == 8);
}

BOOST_AUTO_TEST_CASE(another_service_on_the_port_is_no_server_of_troupe) {
  // Has no method at all.
  class other_service final : public v1::Rpc::Service {
  } other;
  auto port = 0;
  ::grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", ::grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&other);
  const auto listening = builder.BuildAndStart();
  const auto address = fmt::format("localhost:{}", port);
  check_error(status_of_call([&] { client::create("grpc", address, "", patience); }), status_code::failed_precondition,
              address);
}

// --- the end of clients ----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_deadline_of_a_foreign_client_cancels_the_method) {
  test_server server;
  foreign_client client{server.serving.port()};
  BOOST_TEST(client.call("wait", 200ms).ended.error_code() == ::grpc::DEADLINE_EXCEEDED);
  BOOST_TEST(server.cancelled.wait());
}

BOOST_AUTO_TEST_CASE(a_foreign_client_that_cancels_its_call_cancels_the_method) {
  test_server server;
  foreign_client client{server.serving.port()};
  ::grpc::ClientContext context;
  v1::CallRequest request;
  request.set_method("wait");
  v1::CallReply reply;
  std::promise<::grpc::Status> ended;
  client.stub().async()->Call(&context, &request, &reply,
                              [&](::grpc::Status status) { ended.set_value(std::move(status)); });
  BOOST_TEST(server.running.wait());
  context.TryCancel();
  BOOST_TEST(ended.get_future().get().error_code() == ::grpc::CANCELLED);
  BOOST_TEST(server.cancelled.wait());
}

BOOST_AUTO_TEST_CASE(a_connection_that_breaks_cancels_its_methods_and_ends_its_calls) {
  test_server server;
  link between{server.serving.port()};
  const auto client = client::create("grpc", between.address(), "", patience);
  const auto waiting = client.call("wait");
  BOOST_TEST(server.running.wait());
  between.cut();
  check_error(waiting.get_error(), status_code::unavailable, "wait at " + between.address());
  BOOST_TEST(server.cancelled.wait());
  BOOST_TEST(is_found_again(client));
}

BOOST_AUTO_TEST_CASE(a_server_that_falls_silent_ends_its_calls_in_time_and_is_found_again) {
  test_server server;
  link between{server.serving.port()};
  client_options options;
  options.silence = {.ping_interval = 100ms, .silence_max = 1s};
  const auto client = client::create("grpc", between.address(), "", patience, options);
  const auto waiting = client.call("wait");
  BOOST_TEST(server.running.wait());
  between.freeze();
  const auto begin = std::chrono::steady_clock::now();
  check_error(waiting.get_error(), status_code::unavailable, between.address());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 5s));
  between.thaw();
  BOOST_TEST(is_found_again(client));
}

// --- limits ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_message_beyond_its_limit_is_refused_with_size_and_limit) {
  server_options options;
  options.bounds.request_bytes_max = 10'000;
  options.bounds.reply_bytes_max = 20'000;
  test_server server{options};
  foreign_client foreign{server.serving.port()};
  const auto large = request_of("length", datum{std::string(11'000, 'x')});
  check_status(foreign.call(large).ended, ::grpc::RESOURCE_EXHAUSTED, "10000");
  check_status(foreign.call(request_of("text", datum{30'000})).ended, ::grpc::RESOURCE_EXHAUSTED, "20000");
  BOOST_TEST(foreign.call(request_of("text", datum{15'000})).reply.result().text().size() == 15'000u);

  client_options own;
  own.bounds.request_bytes_max = 5000;
  const auto client = connect(server.serving, "grpc", "", patience, own);
  check_error(client.call("length", {std::string(6000, 'x')}).get_error(), status_code::resource_exhausted, "5000");
  BOOST_TEST(client.call("length", {std::string(4000, 'x')}).is_ok());
}

BOOST_AUTO_TEST_CASE(calls_beyond_the_limits_of_client_and_server_are_refused_and_the_others_go_on) {
  server_options options;
  options.bounds.calls_per_client_max = 1;
  options.bounds.clients_max = 1;
  test_server server{options};
  const auto client = connect(server.serving, "grpc");
  foreign_client other{server.serving.port()};
  auto waiting = client.call("wait");
  BOOST_TEST(server.running.wait());
  check_error(client.call("double", {1}).get_error(), status_code::resource_exhausted, "calls_per_client_max");
  check_status(other.call(request_of("double", datum{1})).ended, ::grpc::RESOURCE_EXHAUSTED, "clients_max");
  check_error(status_of_call([&] { connect(server.serving, "grpc"); }), status_code::resource_exhausted, "clients_max");
  waiting.cancel();
  BOOST_TEST(server.cancelled.wait());
  // The place is free as soon as the server knows.
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!other.call(request_of("double", datum{1})).ended.ok() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  BOOST_TEST(other.call(request_of("double", datum{1})).ended.ok());
}

BOOST_AUTO_TEST_CASE(a_client_refuses_calls_beyond_its_own_limit) {
  test_server server;
  client_options options;
  options.bounds.calls_per_client_max = 1;
  const auto client = connect(server.serving, "grpc", "", patience, options);
  const auto waiting = client.call("wait");
  check_error(client.call("double", {1}).get_error(), status_code::resource_exhausted, "the client has 1 open calls");
}

// --- both ends -------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_listener_that_ends_answers_what_its_executors_could_not) {
  gate running, over;
  auto methods = std::make_shared<method_table>();
  methods->add(make_method("compute",
                           [&] {
                             running.open();
                             over.wait();
                           }),
               10);
  system_config config{false};
  caf::actor_system system{config};
  const auto executing = system.spawn<caf::detached>(
      executor, executor_options{.methods = methods, .admitted = std::make_shared<admission>(limits{})});
  auto listening =
      listen_grpc({.system = &system, .address = {"127.0.0.1", 0}, .methods = methods, .executors = {executing}});
  const auto to_server = connect_grpc({.address = {"127.0.0.1", listening->port()}});
  const auto computing = std::make_shared<call>("compute", 0, std::vector<datum>{}, never);
  const auto waiting = std::make_shared<call>("compute", 0, std::vector<datum>{}, never);
  to_server->start(computing);
  BOOST_TEST(running.wait());
  to_server->start(waiting);
  listening.reset();
  computing->wait();
  waiting->wait();
  BOOST_TEST((computing->end_status().code() == status_code::unavailable));
  BOOST_TEST((waiting->end_status().code() == status_code::unavailable), waiting->end_status().render());
  over.open();
  caf::anon_send_exit(executing, caf::exit_reason::user_shutdown);
}

// G-2
BOOST_AUTO_TEST_CASE(an_observer_may_be_the_last_who_holds_the_channel) {
  test_server server;
  for (auto round = 0; round < 20; ++round) {
    gate started;
    std::promise<void> gone;
    auto held = connect_grpc({.address = {"127.0.0.1", server.serving.port()}});
    const auto asked =
        std::make_shared<call>("double", 0, std::vector<datum>{datum{1}}, std::chrono::steady_clock::now() + patience);
    auto* const plain = held.get();
    asked->on_end([&, held = std::move(held)]() mutable {
      started.wait();
      held.reset();
      gone.set_value();
    });
    plain->start(asked);
    started.open();
    BOOST_REQUIRE((gone.get_future().wait_for(patience) == std::future_status::ready));
    BOOST_TEST(asked->end_status().ok(), asked->end_status().render());
  }
  // All connections have come to an end.
  BOOST_TEST(reaper::instance().wait_until_idle(patience));
}

BOOST_AUTO_TEST_CASE(a_closed_channel_has_ended_everything_and_stays_closed) {
  test_server server;
  const auto to_server = connect_grpc({.address = {"127.0.0.1", server.serving.port()}});
  std::vector<call_ptr> open;
  for (auto i = 0; i < 50; ++i) {
    open.push_back(std::make_shared<call>("wait", 0, std::vector<datum>{}, never));
    to_server->start(open.back());
  }
  BOOST_TEST(server.running.wait());
  to_server->close();
  to_server->close();
  for (const auto& each : open) BOOST_TEST((each->ended() && each->end_status().code() == status_code::cancelled));
  const auto late = std::make_shared<call>("double", 0, std::vector<datum>{datum{1}}, never);
  to_server->start(late);
  BOOST_TEST((late->ended() && late->end_status().code() == status_code::cancelled));
  BOOST_CHECK_THROW(to_server->list(never), cancelled_error);
}

BOOST_AUTO_TEST_CASE(closing_ends_a_thread_that_waits_for_an_absent_server) {
  const auto nobody = listen_on("127.0.0.1", 0);  // accepts, and says nothing
  const auto to_nobody = connect_grpc({.address = {"127.0.0.1", bound_port(nobody.get())}});
  const auto asked = std::make_shared<call>("double", 0, std::vector<datum>{datum{1}}, never);
  std::thread performing{[&] { to_nobody->perform(asked); }};
  status listed;
  std::thread listing{[&] { listed = status_of_call([&] { to_nobody->list(never); }); }};
  BOOST_CHECK_THROW(to_nobody->list(std::chrono::steady_clock::now() + 300ms), deadline_exceeded_error);
  to_nobody->close();
  performing.join();
  listing.join();
  BOOST_TEST((asked->end_status().code() == status_code::cancelled));
  BOOST_TEST((listed.code() == status_code::cancelled), listed.render());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::rpc
