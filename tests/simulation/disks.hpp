// What tests of simulated hosts' disks have in common.
#pragma once

#include "probe.hpp"

#include <troupe/runtime/file.hpp>
#include <troupe/runtime/simulated_world.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <utility>

namespace troupe {

inline std::span<const std::byte> bytes_of_text(const std::string& text) { return std::as_bytes(std::span{text}); }

inline void idle(simulated_host&) {}

/// Runs this in the host's process, to its end. @throws what it throws.
inline void run_on(simulated_world& world, const std::string& host, std::function<void()> program) {
  const auto ended = world.start_program(host, std::move(program));
  BOOST_TEST_REQUIRE(world.run_until([&] { return ended.ended(); }, std::chrono::minutes{10}));
  if (!ended.problem().ok()) throw_status(ended.problem());
}

/// A file that holds this, durable with its name.
inline void write_durably(const std::string& path, const std::string& content) {
  auto made = file::create(path);
  made.append(bytes_of_text(content));
  made.sync();
  sync_directory(".");
}

/// The host's process runs for a second, is killed, and its next one runs for as long.
inline void live_twice(simulated_world& world, const std::string& host) {
  constexpr auto life = std::chrono::seconds{1};
  world.advance(life);
  world.kill(host);
  world.restart(host);
  world.advance(life);
}

}  // namespace troupe
