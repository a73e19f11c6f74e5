// What the chief's program does with variables in an explorer: it makes and removes them, saves and restores
// checkpoints, and looks at what comes of it. Several of that may go on at the same time.
#pragma once

#include "explorer_cluster.hpp"
#include "explorer_lives.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/checkpoint_saving.hpp>
#include <troupe/runtime/file.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <algorithm>
#include <optional>

namespace troupe {

/// Elements of a variable that travels beside the messages.
constexpr std::int64_t large = 10'000;

/// A variable in a file.
struct saved_variable_content {
  tensor content;
  /// All of the optimizer's, or none.
  std::map<std::string, tensor> slots;
  std::int64_t step = 0;

  std::vector<counted_shard> of_shards(const std::string& name, const shard_list& shards) const {
    std::vector<counted_shard> result;
    for (const auto& shard : shards) {
      auto& one = result.emplace_back(counted_shard{element_of(name, shard, content), {}, step});
      for (const auto& [slot, whole] : slots) one.slots.emplace(slot, element_of(name, shard, whole));
    }
    return result;
  }
};

inline saved_variable_content content_in(const safetensors_file& file, const std::string& name) {
  saved_variable_content result{copy_of_tensor(file, name), {}, std::stoll(file.metadata().at(step_key(name)))};
  const auto prefix = slot_name(name, "");
  for (const auto& each : file.names(prefix))
    result.slots.emplace(each.substr(prefix.size()), copy_of_tensor(file, each));
  return result;
}

inline std::size_t slots_in(const safetensors_file& file) {
  const auto names = file.names();
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [](const auto& each) { return contains(each, slot_name("", "")); }));
}

inline bool is_equal(const tensor& a, const tensor& b) {
  const auto x = a.values<double>();
  const auto y = b.values<double>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}

inline bool is_equal(const saved_variable_content& a, const saved_variable_content& b) {
  return a.step == b.step && is_equal(a.content, b.content) &&
         std::equal(a.slots.begin(), a.slots.end(), b.slots.begin(), b.slots.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && is_equal(x.second, y.second); });
}

/// A variable when a save began.
struct variable_before_save {
  std::shared_ptr<const shard_list> shards;
  std::uint64_t of = 0;
  int acknowledged = 0;
};

/// What a program of the chief does.
struct program {
  std::string what;
  eventual<caf::ok_atom> end;
};

class chief_programs : public cluster_course {
 public:
  chief_programs(std::uint64_t seed, bool is_rough)
      : cluster_course(seed, is_rough), strategy_(cluster.chief_cluster()) {}
  /// Programs that have not ended use this object.
  ~chief_programs() {
    variables_.clear();
    removed_.clear();
    cluster.kill(chief);
  }

 protected:
  void start(std::string what, std::function<void()> program);
  void make_variable();
  void make(const std::string& name, int layout);
  void remove_variable();
  void save();
  void save_now();
  void restore();
  /// Whether it succeeded.
  bool restore_now();
  void require_saved_file();
  void require_possible_save(const std::string& name, const variable_before_save& before,
                             const saved_variable_content& saved);
  bool is_over(const std::string& name, std::uint64_t of) const;
  bool is_loss(const status& how) const;

  parameter_server_strategy strategy_;
  std::map<std::string, tensor_variable> variables_;
  std::vector<tensor_variable> removed_;
  std::vector<program> programs_;
  /// On the chief's disk.
  std::string path_ = "checkpoint";
  /// What the file holds; nothing: there is none.
  std::optional<std::map<std::string, saved_variable_content>> saved_;
  /// One save or restore at a time.
  bool checkpoint_is_open_ = false;
  int last_variable_ = 0;
};

inline bool chief_programs::is_loss(const status& how) const {
  return rough && (how.code() == status_code::unavailable || how.code() == status_code::deadline_exceeded);
}

/// Whether the life of a variable that had this name is over.
inline bool chief_programs::is_over(const std::string& name, std::uint64_t of) const {
  const auto now = strategy_.variables();
  const auto found = now.find(name);
  return found == now.end() || life_of(*found->second) != of;
}

// --- programs of the chief
// --------------------------------------------------------------------------------------------

inline void chief_programs::start(std::string what, std::function<void()> program) {
  programs_.push_back({std::move(what), cluster.start_program(std::move(program))});
}

inline void chief_programs::make_variable() {
  const auto name = "variable " + std::to_string(++last_variable_);
  const std::vector<optimizer> optimizers{optimizer::with_momentum(1), optimizer::adagrad(1), optimizer::adam(1)};
  if (draw(2) == 0) rules().emplace(name, one_of(optimizers));
  start("making " + name, [this, name, layout = draw(3)] { make(name, layout); });
}

inline void chief_programs::make(const std::string& name, int layout) {
  const auto zeros = [](const shape& extents) { return tensor::zeros(dtype::float64, extents); };
  const auto made = layout == 0   ? strategy_.variable(name, zeros({}))
                    : layout == 1 ? strategy_.variable(name, zeros({large}))
                                  : tensor_variable{strategy_.sharded(name, zeros({4}))};
  begin_life(life_of(made), std::vector<counted_shard>(made.shared_record()->shards()->size()));
  variables_.emplace(name, made);
}

inline void chief_programs::remove_variable() {
  if (variables_.empty()) return;
  const auto chosen = std::next(variables_.begin(), draw(static_cast<int>(variables_.size())));
  removed_.push_back(chosen->second);
  const auto name = chosen->first;
  variables_.erase(chosen);
  start("removing " + name, [this, name] { strategy_.remove(name); });
}

inline void chief_programs::save() {
  if (std::exchange(checkpoint_is_open_, true)) return;
  start("saving", [this] {
    const std::shared_ptr<void> end{nullptr, [this](void*) { checkpoint_is_open_ = false; }};
    save_now();
  });
}

inline void chief_programs::save_now() {
  std::map<std::string, variable_before_save> began;
  for (const auto& [name, record] : strategy_.variables())
    began.emplace(name,
                  variable_before_save{record->shards(), life_of(*record), lives()[life_of(*record)].acknowledged});
  try {
    save_checkpoint(strategy_, path_, {}, {.progress = false});
  } catch (const error& failed) {
    const auto one_is_over = std::any_of(began.begin(), began.end(),
                                         [this](const auto& each) { return is_over(each.first, each.second.of); });
    require(one_is_over || is_loss(failed.get_status()), std::string{"a save failed: "} + failed.what());
    return require_saved_file();
  }
  const auto file = open_checkpoint(path_);
  saved_.emplace();
  require(file.names().size() == began.size() + slots_in(file),
          "a checkpoint has other variables than were there when it began");
  for (const auto& [name, before] : began) {
    const auto& saved = saved_->emplace(name, content_in(file, name)).first->second;
    require_possible_save(name, before, saved);
  }
}

/// Slots are saved whole or not at all: surely if all shards had them when the save began, surely not if none had.
inline void chief_programs::require_possible_save(const std::string& name, const variable_before_save& before,
                                                  const saved_variable_content& saved) {
  auto& known = lives()[before.of];
  if (known.after_additions.empty()) return;
  const auto shards = saved.of_shards(name, *before.shards);
  std::int64_t step = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    seen_shard seen{.element = shards[i].element, .slots = {}, .step = {}};
    if (!saved.slots.empty()) seen.slots = shards[i].slots;
    const auto additions = additions_in(name, before.of, i, seen, before.acknowledged);
    step = std::max(step, content_after(known, name, i, additions).step);
  }
  require(saved.step == step,
          fmt::format("\"{}\" was saved with the step {} of shards whose last has {}", name, saved.step, step));
  if (!rule_of(name)) return require(saved.slots.empty(), name + " has slots but no optimizer");
  const auto had_slots = before.acknowledged > 0 || !content_after(known, name, 0, 0).slots.empty();
  require(!had_slots || !saved.slots.empty(), "the slots of " + name + " were not saved");
  require(had_slots || known.tried > 0 || saved.slots.empty(), name + " was saved with slots that it never had");
}

inline void chief_programs::require_saved_file() {
  if (!saved_) return require(!file_exists(path_), "a save that failed left a file");
  const auto file = open_checkpoint(path_);
  require(file.names().size() == saved_->size() + slots_in(file), "a save that failed changed the file");
  for (const auto& [name, content] : *saved_)
    require(is_equal(content_in(file, name), content), "a save that failed changed " + name);
}

inline void chief_programs::restore() {
  if (!saved_ || std::exchange(checkpoint_is_open_, true)) return;
  start("restoring", [this] {
    const std::shared_ptr<void> end{nullptr, [this](void*) { checkpoint_is_open_ = false; }};
    restore_now();
  });
}

inline bool chief_programs::restore_now() {
  std::map<std::string, std::uint64_t> before;
  auto all_are_saved = true;
  for (const auto& [name, record] : strategy_.variables()) {
    before.emplace(name, life_of(*record));
    all_are_saved = all_are_saved && saved_->contains(name);
  }
  auto succeeded = false;
  try {
    restore_checkpoint(strategy_, path_, {.progress = false});
    succeeded = true;
  } catch (const error& failed) {
    const auto& how = failed.get_status();
    require(is_loss(how) || (!all_are_saved && how.code() == status_code::not_found),
            std::string{"a restore failed: "} + failed.what());
  }
  require(all_are_saved || !succeeded, "a restore succeeded without a variable in its file");
  const auto after = strategy_.variables();
  for (const auto& [name, of] : before) {
    const auto found = after.find(name);
    if (found == after.end()) continue;
    require((life_of(*found->second) != of) == succeeded,
            "a restore that " + std::string{succeeded ? "succeeded left " : "failed changed "} + name);
    if (!succeeded) continue;
    begin_life(life_of(*found->second), saved_->at(name).of_shards(name, *found->second->shards()));
  }
  return succeeded;
}

}  // namespace troupe
