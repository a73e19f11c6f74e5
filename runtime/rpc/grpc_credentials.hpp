// What gRPC asks of the other side, and shows: as the doors of the process (door/credentials.hpp), TLS with
// certificates of both sides if it has files for it, and nothing otherwise. A secret is of no use here. gRPC itself
// takes TLS 1.2, too; grpc_door.hpp admits TLS 1.3 only.
//
// Changed files are read within a second. Clients check that the host that they have called stands in the server's
// certificate (`troupe certs --host`), as all clients of gRPC do, and that it is a server of their cluster.
#pragma once

#include <troupe/runtime/door/credentials.hpp>

#include <memory>
#include <string>

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

namespace troupe::rpc {

/// With certificates only clients of the own cluster call anything: methods, the list of methods, reflection.
std::shared_ptr<::grpc::ServerCredentials> grpc_server_credentials(const credentials& with);
std::shared_ptr<::grpc::ChannelCredentials> grpc_channel_credentials(const credentials& with);

/// Why gRPC does not reach a server, in its own words, and what they mean for certificates.
status cause_of_connect_error(const std::string& said_by_grpc, const credentials& with);

/// The job of the certificate that a client has shown to a server with these credentials; empty if they ask for none.
/// @throws permission_denied_error for a certificate that names no role, or another cluster than the server's
std::string job_of_client(const ::grpc::AuthContext& client, const credentials& with);

}  // namespace troupe::rpc
