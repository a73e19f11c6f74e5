#include <troupe/actors/variables/variable_operations.hpp>
#include <troupe/runtime/checkpoint_saving.hpp>
#include <troupe/runtime/files/safetensors.hpp>
#include <troupe/runtime/launch/terminal.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <iostream>
#include <limits>
#include <utility>
#include <vector>

#include <unistd.h>

namespace troupe {

std::string slot_name(const std::string& variable, const std::string& slot) {
  return fmt::format("{}/slot/{}", variable, slot);
}

std::string step_key(const std::string& variable) { return "troupe.step/" + variable; }

// --- progress -------------------------------------------------------------------------------------------------------

namespace {

constexpr auto bytes_per_step = std::uint64_t{1} << 20;

}  // namespace

void checkpoint_progress::start(std::uint64_t bytes_total) {
  if (wanted_ && shows_progress_bar(STDERR_FILENO))
    bar_.emplace(std::cerr, progress_bar_options{.title = title_,
                                                 .steps_total = static_cast<std::int64_t>(bytes_total / bytes_per_step),
                                                 .is_terminal = true});
}

void checkpoint_progress::add(std::uint64_t size_bytes) {
  bytes_ += size_bytes;
  if (bar_) bar_->update(static_cast<std::int64_t>(bytes_ / bytes_per_step), "MiB");
}

void checkpoint_progress::finish() {
  if (bar_) bar_->finish(static_cast<std::int64_t>(bytes_ / bytes_per_step), "MiB");
}

// --- saving ---------------------------------------------------------------------------------------------------------

namespace {

/// A variable and its places in the file.
struct saved_variable {
  std::shared_ptr<variable_record> record;
  std::shared_ptr<const shard_list> shards;
  /// Those that all shards had when the save began, with their tensors' indices in the file.
  std::map<std::string, std::size_t> slots;
  std::size_t content = 0;
  std::int64_t step = 0;
};

void require_ok(const operation_outcome& outcome) {
  if (!outcome.ended.ok()) throw_status(outcome.ended.wrap("saving a checkpoint"));
}

class saving {
 public:
  saving(const parameter_server_strategy& strategy, const checkpoint_options& options);
  void write(const std::string& path, std::map<std::string, std::string> metadata);

 private:
  struct place {
    std::size_t variable = 0;
    std::size_t shard = 0;
  };
  /// Shards that are read in one round trip.
  struct piece {
    std::vector<place> places;
    std::vector<shard_request> requests;
    std::size_t size_bytes = 0;
  };
  struct piece_under_way {
    piece what;
    started_operations outcomes;
  };

  void lay_out(saved_variable& variable, std::span<const operation_outcome> descriptions);
  std::size_t bytes_of(const place& where) const;
  void start(piece next);
  void write_oldest(safetensors_writer& file);
  void write_shard(safetensors_writer& file, const place& where, const operation_outcome& outcome);
  std::map<std::string, std::string> with_steps(std::map<std::string, std::string> metadata, bool longest) const;

  client_ptr client_;
  checkpoint_options options_;
  std::vector<saved_variable> variables_;
  std::vector<safetensors_writer::entry> tensors_;
  std::deque<piece_under_way> under_way_;
  std::size_t open_bytes_ = 0;
  checkpoint_progress progress_;
};

/// Asks all shards for their slots, since a file begins with what is in it.
saving::saving(const parameter_server_strategy& strategy, const checkpoint_options& options)
    : client_(strategy.client()), options_(options), progress_("checkpoint", options.progress) {
  std::vector<shard_request> requests;
  for (const auto& [_, record] : strategy.variables()) {
    auto& variable = variables_.emplace_back(saved_variable{record, record->shards(), {}, 0, 0});
    for (const auto& shard : *variable.shards) requests.push_back({shard.where, {.kind = operation_kind::describe}});
  }
  const auto descriptions = perform(client_, std::move(requests), options_.window_limit);
  auto rest = std::span{descriptions};
  for (auto& variable : variables_) {
    lay_out(variable, rest.first(variable.shards->size()));
    rest = rest.subspan(variable.shards->size());
  }
}

void saving::lay_out(saved_variable& variable, std::span<const operation_outcome> descriptions) {
  const auto& record = *variable.record;
  variable.content = tensors_.size();
  tensors_.push_back({record.name, record.type, record.extents});
  for (const auto& description : descriptions) require_ok(description);
  for (const auto& [slot, kind] : descriptions.front().slots) {
    const auto is_whole = std::all_of(descriptions.begin(), descriptions.end(),
                                      [&name = slot](const auto& shard) { return shard.slots.contains(name); });
    if (!is_whole) continue;
    variable.slots.emplace(slot, tensors_.size());
    tensors_.push_back({slot_name(record.name, slot), kind.get_dtype(), record.extents});
  }
}

std::size_t saving::bytes_of(const place& where) const {
  const auto& variable = variables_[where.variable];
  return variable.record->bytes_of_rows((*variable.shards)[where.shard].rows) * (1 + variable.slots.size());
}

void saving::write(const std::string& path, std::map<std::string, std::string> metadata) {
  metadata = with_mark(std::move(metadata));
  safetensors_writer file{path, tensors_, with_steps(metadata, true)};
  std::uint64_t bytes_total = 0;
  std::vector<place> places;
  for (std::size_t i = 0; i < variables_.size(); ++i)
    for (std::size_t shard = 0; shard < variables_[i].shards->size(); ++shard)
      bytes_total += bytes_of(places.emplace_back(place{i, shard}));
  progress_.start(bytes_total);
  // Several pieces in the window: one is written while others are read.
  constexpr std::size_t pieces = 4;
  constexpr std::size_t overhead = 4096;  // of a shard, beside its contents
  piece next;
  for (const auto& where : places) {
    const auto size_bytes = bytes_of(where) + overhead;
    if (!next.places.empty() && next.size_bytes + size_bytes > options_.window_bytes / pieces) {
      while (!under_way_.empty() && open_bytes_ + next.size_bytes > options_.window_bytes) write_oldest(file);
      start(std::exchange(next, {}));
    }
    const auto& shard = (*variables_[where.variable].shards)[where.shard];
    next.places.push_back(where);
    next.requests.push_back({shard.where, {.kind = operation_kind::snapshot}, size_bytes});
    next.size_bytes += size_bytes;
  }
  while (!under_way_.empty() && open_bytes_ + next.size_bytes > options_.window_bytes) write_oldest(file);
  if (!next.places.empty()) start(std::move(next));
  while (!under_way_.empty()) write_oldest(file);
  file.commit(with_steps(metadata, false));
  progress_.finish();
}

void saving::start(piece next) {
  open_bytes_ += next.size_bytes;
  auto requests = std::exchange(next.requests, {});
  under_way_.push_back({std::move(next), {client_, std::move(requests), options_.window_limit}});
}

void saving::write_oldest(safetensors_writer& file) {
  auto oldest = std::move(under_way_.front());
  under_way_.pop_front();
  auto outcomes = oldest.outcomes.wait();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    write_shard(file, oldest.what.places[i], outcomes[i]);
    outcomes[i] = {};
  }
  open_bytes_ -= oldest.what.size_bytes;
}

void saving::write_shard(safetensors_writer& file, const place& where, const operation_outcome& outcome) {
  require_ok(outcome);
  auto& variable = variables_[where.variable];
  const auto row = (*variable.shards)[where.shard].row_begin;
  file.write(variable.content, row, outcome.content);
  for (const auto& [slot, index] : variable.slots) {
    const auto found = outcome.slots.find(slot);
    if (found == outcome.slots.end())
      throw aborted_error{
          fmt::format("variable \"{}\" lost its slot \"{}\" while a checkpoint was saved: a restore ran "
                      "at the same time; save again",
                      variable.record->name, slot)};
    file.write(index, row, found->second);
  }
  variable.step = std::max(variable.step, outcome.step);
  progress_.add(bytes_of(where));
}

/// The steps are known when all is read; before, there must be room for any.
std::map<std::string, std::string> saving::with_steps(std::map<std::string, std::string> metadata, bool longest) const {
  for (const auto& variable : variables_)
    metadata.insert_or_assign(step_key(variable.record->name),
                              std::to_string(longest ? std::numeric_limits<std::int64_t>::max() : variable.step));
  return metadata;
}

}  // namespace

void save_variables(const parameter_server_strategy& strategy, const std::string& path,
                    const std::map<std::string, std::string>& metadata, const checkpoint_options& options) {
  saving{strategy, options}.write(path, metadata);
}

}  // namespace troupe
