// Checkpoints of a large model that servers of other processes hold, beside writing the same bytes to the same disk.
#include "../scratch_folder.hpp"
#include "bench_case.hpp"
#include "bench_process_memory.hpp"

#include <troupe/device/base/internal/descriptor.hpp>
#include <troupe/runtime/checkpoint.hpp>

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace troupe::tools {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
constexpr std::int64_t variable_bytes = 256 * mebibyte;
constexpr int variables = 16;
constexpr std::int64_t model_bytes = variables * variable_bytes;

void require(bool done, const std::string& what) {
  if (!done) throw unavailable_error{fmt::format("{}: {}", what, std::strerror(errno))};
}

/// The bytes of a model, in pieces as large as its variables.
void write_plainly(const std::string& path, const std::vector<char>& piece) {
  const descriptor file{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  require(static_cast<bool>(file), "opening " + path);
  for (int i = 0; i < variables; ++i)
    for (std::size_t done = 0; done < piece.size();) {
      const auto written = ::write(file.get(), piece.data() + done, piece.size() - done);
      require(written > 0, "writing " + path);
      done += static_cast<std::size_t>(written);
    }
  require(::fsync(file.get()) == 0, "syncing " + path);
}

figure compare_with_writing(const measuring_plan& plan, const scratch_folder& folder,
                            const std::function<void()>& transfer) {
  const std::vector<char> piece(variable_bytes, 'x');
  const auto gigabytes_per_second = [](std::chrono::nanoseconds slice, const auto& move) {
    return items_per_second(slice, model_bytes, move) / 1e9;
  };
  return compare(
      plan, {"GB/s"}, [&](std::chrono::nanoseconds slice) { return gigabytes_per_second(slice, transfer); },
      "write and fsync of the same bytes",
      [&](std::chrono::nanoseconds slice) {
        return gigabytes_per_second(slice, [&] { write_plainly(folder.file("plain"), piece); });
      });
}

std::vector<figure> save_and_restore(const measuring_plan& plan, cluster& cluster) {
  parameter_server_strategy strategy{cluster};
  for (int i = 0; i < variables; ++i)
    strategy.variable(fmt::format("layer {}", i),
                      tensor::full({variable_bytes / static_cast<std::int64_t>(sizeof(float))}, 1.0f));
  const scratch_folder folder{"troupe-bench-checkpoint"};
  const auto path = folder.file("model.safetensors");
  const auto measured = [&](const std::function<void()>& transfer) {
    transfer();
    const auto before = resident_bytes();
    reset_peak_resident_bytes();
    transfer();
    const auto growth = peak_resident_bytes() - before;
    auto row = compare_with_writing(plan, folder, transfer);
    row.details.push_back({"chief_growth_mib", growth / mebibyte});
    return row;
  };
  return {measured([&] {
            // As for the plain file, whose content goes before it is written again: memory that the system has to find
            // for a second file would cost more than saving.
            std::filesystem::remove(path);
            save_checkpoint(strategy, path, {}, {.progress = false});
          }),
          measured([&] { restore_checkpoint(strategy, path, {.progress = false}); })};
}

}  // namespace

std::vector<bench_case> checkpoint_cases() {
  bench_case made{.bench = "transfer",
                  .name = "checkpoint-4GiB",
                  .summary = "saving, then restoring, 4 GiB of variables on two server processes",
                  .where = placement_of_members::processes,
                  .size = {.workers = 1, .servers = 2},
                  .measure = save_and_restore};
  made.left_out_because = "4 GiB are written to the disk several times";
  return {std::move(made)};
}

}  // namespace troupe::tools
