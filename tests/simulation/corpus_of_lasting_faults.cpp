// Those of the corpus that are about what lasts: files and their durability, clocks, leases.
#include "corpus.hpp"

#include <troupe/runtime/file.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <span>

namespace troupe::corpus {

using namespace std::chrono_literals;

namespace {

std::span<const std::byte> bytes_of_number(const std::int64_t& number) { return std::as_bytes(std::span{&number, 1}); }

}  // namespace

/// The process dies while it writes a checkpoint in place.
void torn_checkpoint(simulated_world& world, bool planted) {
  world.host("writer", [planted](simulated_host& here) {
    std::array<std::int64_t, 2> read{};
    if (file_exists("checkpoint")) file::open("checkpoint").read_at(0, std::as_writable_bytes(std::span{read}));
    here.world().require(read[0] == read[1], "a checkpoint is torn");
    for (auto i = read[0] + 1; i <= 50; ++i) {
      auto next = planted ? file::append_to("checkpoint") : file::create("next");
      next.write_at(0, bytes_of_number(i));
      sleep_for(1ms);
      next.write_at(sizeof(i), bytes_of_number(i));
      if (!planted) {
        next.sync();
        rename_file("next", "checkpoint");
        sync_directory(".");
      }
      sleep_for(1ms);
    }
  });
  finish(world);
}

/// A record is acknowledged when it is written, but not yet on the disk.
void missing_sync(simulated_world& world, bool planted) {
  auto& acknowledged = world.keep<std::uint64_t>(0);
  world.host("writer", [&, planted](simulated_host& here) {
    auto journal = file::append_to("journal");
    if (!planted) sync_directory(".");
    const auto records = journal.size() / sizeof(std::int64_t);
    here.world().require(records >= acknowledged, "an acknowledged record is lost");
    // Half a record was not acknowledged.
    journal.resize(records * sizeof(std::int64_t));
    for (auto i = records + 1; i <= 50; ++i) {
      journal.append(bytes_of_number(static_cast<std::int64_t>(i)));
      if (!planted) journal.sync();
      acknowledged = i;
      sleep_for(1ms);
    }
  });
  finish(world);
}

/// A new state takes the old one's name before it is on the disk.
void rename_before_the_sync(simulated_world& world, bool planted) {
  world.host("writer", [planted](simulated_host& here) {
    const auto state = file_exists("state") ? read_file("state") : std::string{"1234567890"};
    here.world().require(state.size() == 10, "a state is torn");
    for (auto i = 0; i < 50; ++i) {
      auto next = file::create("next");
      next.append(std::as_bytes(std::span{state}));
      if (!planted) next.sync();
      rename_file("next", "state");
      sync_directory(".");
      sleep_for(1ms);
    }
  });
  finish(world);
}

/// The name of a thing arrives before the thing.
void order_lost_behind_large_data(simulated_world& world, bool planted) {
  const auto keeps = [](simulated_host& here) {
    const auto value = std::make_shared<std::int64_t>(0);
    serve(here,
          [=](auto, auto what, auto first, auto) { return what == put ? *value = std::max(*value, first) : *value; });
  };
  for (const std::string name : {"blobs", "names"}) world.host(name, keeps);
  auto& written = world.keep<bool>(false);
  world.host("writer", [&, planted](simulated_host& here) {
    const auto blobs = remote_actor<service_actor>(here.system(), "blobs", port, start_limit);
    caller names{here, "names"};
    caller patient{here, "blobs"};
    for (std::int64_t i = 1; i <= 10; ++i) {
      if (planted)
        caf::anon_send(blobs, std::int64_t{put}, i, std::int64_t{0});
      else
        patient.insist(put, i);
      names.insist(put, i);
      sleep_for(1ms);
    }
    written = true;
  });
  world.host("reader", [&](simulated_host& here) {
    caller blobs{here, "blobs"};
    caller names{here, "names"};
    while (!written) {
      const auto name = names.insist(get);
      here.world().require(blobs.insist(get) >= name, "there is a name without its data");
    }
  });
  finish(world);
}

/// A holder trusts its own clock.
void clock_jump(simulated_world& world, bool planted) {
  world.host("lease", [planted](simulated_host& here) {
    struct lease {
      std::int64_t holder = 0;
      time_point until{};
    };
    const auto now = std::make_shared<lease>();
    serve(here, [=, &here](service_pointer self, auto what, auto who, auto) -> std::int64_t {
      const auto is_over = self->clock().now() >= now->until;
      if (what == put) {
        // A write, of one who takes himself for the holder; who asks for no more than that may be late.
        if (planted) here.world().require(is_over || now->holder == who, "two hold the lease");
        return now->holder == who && !is_over ? 1 : 0;
      }
      if (now->holder != who && !is_over) return 0;
      *now = {who, self->clock().now() + 50ms};
      return 1;
    });
  });
  for (std::int64_t number = 1; number <= 2; ++number)
    world.host("client " + std::to_string(number), [number, planted](simulated_host& here) {
      caller lease{here, "lease"};
      for (auto i = 0; i < 20; ++i) {
        const auto asked = current_time();
        if (lease.insist(get, number) == 0) {
          sleep_for(2ms);
          continue;
        }
        while (current_time() < asked + 40ms) {
          const auto is_still = lease.insist(put, number) == 1;
          if (!is_still && !planted) break;
          sleep_for(5ms);
        }
      }
    });
  finish(world, 500ms);
}

}  // namespace troupe::corpus
