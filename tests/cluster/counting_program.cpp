#include "counting_program.hpp"

#include <troupe/device/kernels/elementwise.hpp>

#include <algorithm>
#include <thread>

namespace troupe {

namespace {

using namespace std::chrono_literals;

/// No closure, join or read may take longer, whatever fault it meets: then it counts as one that hangs (K-4).
constexpr auto patience = 30s;

void count_once(const sharded_variable& counts, std::int64_t row) {
  std::this_thread::sleep_for(1ms);
  counts.scatter_add({&row, 1}, tensor::of<std::int32_t>({1}));
}

bool follows_from_a_loss(status_code code) {
  return code == status_code::unavailable || code == status_code::cancelled;
}

}  // namespace

counting_program::counting_program(cluster& here)
    : cluster_(here),
      strategy_(here, {.creation_limit = 5s}),
      coordinator_(strategy_),
      events_(here),
      counts_(strategy_.sharded("counts", tensor::zeros(dtype::int32, {row_count}))) {}

void counting_program::run(int round) {
  wait_for_everybody();
  events_.take_all(event_kind::closures_requeued, "worker");
  say("round {} begins", round);
  outcome ended;
  count(ended);
  check_rows(ended);
  say("round {} ends: {} of {} acknowledged, workers lost {} times, {} shards lost", round, ended.acknowledged,
      row_count, ended.worker_losses, ended.shards_lost);
}

/// Everybody is present, and every worker takes closures.
void counting_program::wait_for_everybody() {
  std::vector<task_id> tasks;
  for (const auto& member : cluster_.view().members) tasks.push_back(member.task);
  cluster_.wait_for(tasks, patience);
  for (int worker = 0; worker < strategy_.worker_count(); ++worker)
    coordinator_.schedule<current_worker_index>({.limit = patience, .worker = worker}).fetch();
}

void counting_program::count(outcome& so_far) {
  std::vector<std::pair<std::size_t, remote_value<void>>> scheduled;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto raised = status_of_call([&] {
      scheduled.emplace_back(i, coordinator_.schedule<count_once>({.limit = patience}, counts_, std::int64_t(i)));
    });
    require(raised.ok() || follows_from_a_loss(raised.code()), "schedule: " + raised.render());
  }
  const auto joined = status_of_call([&] { coordinator_.join(patience); });
  require(joined.ok() || follows_from_a_loss(joined.code()), "join: " + joined.render());
  for (const auto& [number, result] : scheduled) {
    require(result.wait_for(0s), "a closure has not ended although join has returned");
    const auto why = status_of_call([&, &value = result] { value.fetch(); });
    require(why.ok() || follows_from_a_loss(why.code()), "a closure: " + why.render());
    if (!why.ok()) continue;
    ++rows_[number].least;
    ++so_far.acknowledged;
  }
  so_far.worker_losses = static_cast<std::int32_t>(events_.take_all(event_kind::closures_requeued, "worker"));
  for (auto& row : rows_) row.most += 1 + so_far.worker_losses;
}

void counting_program::check_rows(outcome& so_far) {
  const auto shards = counts_.shared_record()->shards();
  std::vector<tensor> parts(shards->size());
  for (std::size_t i = 0; i < shards->size(); ++i) {
    const auto& part = (*shards)[i];
    if (read(i, parts[i])) {
      check(part, parts[i]);
      continue;
    }
    ++so_far.shards_lost;
    forget(part);
    parts[i] = tensor::zeros(dtype::int32, {part.rows});
  }
  if (so_far.shards_lost != 0) restore(parts);
}

bool counting_program::read(std::size_t shard, tensor& content) {
  const auto& where = (*counts_.shared_record()->shards())[shard].where;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    const auto why = status_of_call([&] { content = counts_.shard(shard).read(); });
    if (why.ok()) return true;
    require(why.code() == status_code::unavailable, "a read: " + why.render());
    require(why.render().find(to_string(task_id{"ps", where.server})) != std::string::npos, why.render());
    // It may be frozen: only as another process it has lost the rows (K-3).
    const auto view = cluster_.wait_for({{"ps", where.server}}, patience);
    if (view.find({"ps", where.server})->incarnation != where.incarnation) return false;
    require(std::chrono::steady_clock::now() < deadline, "a server is present, but not for reads: " + why.render());
  }
}

void counting_program::check(const variable_shard& part, const tensor& content) const {
  const auto values = content.values<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto number = static_cast<std::size_t>(part.row_begin) + i;
    const auto& expected = rows_[number];
    require(values[i] >= expected.least && values[i] <= expected.most,
            fmt::format("row {} (on /job:ps/task:{}) holds {}, but must hold {} to {}", number, part.where.server,
                        values[i], expected.least, expected.most));
  }
}

void counting_program::forget(const variable_shard& part) {
  const auto begin = rows_.begin() + part.row_begin;
  std::fill(begin, begin + part.rows, bounds{});
}

/// Makes the variable anew from what was read; nothing runs meanwhile.
void counting_program::restore(const std::vector<tensor>& parts) {
  const auto content = concatenate(parts, 0);
  const recreated_variable anew{counts_.shared_record(), static_cast<std::int64_t>(parts.size()),
                                [&](std::int64_t begin, std::int64_t rows) {
                                  return shard_content{content.slice(begin, begin + rows), {}, 0};
                                }};
  const auto deadline = std::chrono::steady_clock::now() + patience;
  status why;
  do {
    wait_for_everybody();
    why = status_of_call([&] { strategy_.recreate({&anew, 1}, strategy_options{}.window_bytes); });
  } while (!why.ok() && std::chrono::steady_clock::now() < deadline);
  require(why.ok(), "the variable can't be made anew: " + why.render());
}

}  // namespace troupe
