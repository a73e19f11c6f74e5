// Connections of every rank to every other one over TCP, by gloo. Private to gloo_communicator.cpp.
#pragma once

#include <troupe/device/collectives/rendezvous_store.hpp>

#include <chrono>
#include <memory>
#include <string>

namespace gloo {
class Context;
}

namespace troupe {

/// Waits for all ranks. Throws as make_gloo_communicator.
std::shared_ptr<gloo::Context> connect_gloo_mesh(rendezvous_store& store, const std::string& address, int rank,
                                                 int size, std::chrono::steady_clock::time_point deadline);

}  // namespace troupe
