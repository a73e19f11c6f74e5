#include <troupe/actors/fibers/own_thread.hpp>
#include <troupe/device/base/error.hpp>
#include <troupe/runtime/datasets/joining_thread.hpp>

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

namespace troupe::detail {

struct joining_thread::implementation {
  std::jthread thread;
};

joining_thread::joining_thread(std::function<void()> work) : implementation_(std::make_unique<implementation>()) {
  try {
    implementation_->thread = std::jthread{std::move(work)};
  } catch (const std::system_error& failed) {
    throw resource_exhausted_error{fmt::format("a thread could not be started: {}", failed.what())};
  }
}

bool joining_thread::is_possible() { return simulated_system() == nullptr; }

joining_thread::~joining_thread() = default;

}  // namespace troupe::detail
