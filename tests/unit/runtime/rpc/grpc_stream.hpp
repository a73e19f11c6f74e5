// Calls of gRPC without generated code, for tests of what a server answers to clients of other makes.
#pragma once

#include "rpc_test.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

namespace troupe::rpc {

inline ::grpc::ByteBuffer buffer_of(const std::string& bytes) {
  const ::grpc::Slice slice{bytes};
  return {&slice, 1};
}

inline std::string text_of(const ::grpc::ByteBuffer& buffer) {
  std::vector<::grpc::Slice> slices;
  std::string result;
  if (buffer.Valid() && buffer.Dump(&slices).ok())
    for (const auto& each : slices) result.append(reinterpret_cast<const char*>(each.begin()), each.size());
  return result;
}

/// One message to and one from a method that streams both ways.
inline std::string ask_stream(const std::shared_ptr<::grpc::Channel>& channel, const std::string& method,
                              const std::string& question) {
  ::grpc::GenericStub stub{channel};
  ::grpc::ClientContext context;
  ::grpc::CompletionQueue queue;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  const auto step_succeeds = [&queue] {
    void* ignored = nullptr;
    auto succeeded = false;
    return queue.Next(&ignored, &succeeded) && succeeded;
  };
  ::grpc::ByteBuffer answer;
  auto stream = stub.Call(&context, method, &queue, nullptr);
  auto going = step_succeeds();
  if (going) stream->Write(buffer_of(question), nullptr), going = step_succeeds();
  if (going) stream->Read(&answer, nullptr), going = step_succeeds();
  context.TryCancel();
  ::grpc::Status ended;
  stream->Finish(&ended, nullptr);
  step_succeeds();
  queue.Shutdown();
  return going ? text_of(answer) : std::string{};
}

/// The answer of a server's reflection that holds the names of its services; empty: it gives none.
inline std::string services_of(const std::shared_ptr<::grpc::Channel>& channel) {
  // ServerReflectionRequest.list_services, field 7, any text.
  return ask_stream(channel, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "\x3a\x01*");
}

}  // namespace troupe::rpc
