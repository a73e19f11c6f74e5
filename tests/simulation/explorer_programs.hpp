// What the chief's program does with variables in an explorer: it makes and removes them, saves and restores
// checkpoints, and looks at what comes of it. Several of that may go on at the same time.
#pragma once

#include "explorer_cluster.hpp"
#include "explorer_lives.hpp"

#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/variables/checkpoint_file.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>

#include <unistd.h>

namespace troupe {

/// Elements of a variable that travels beside the messages.
constexpr std::int64_t large = 10'000;

struct checkpoint_path {
  checkpoint_path() { std::filesystem::remove(text); }
  ~checkpoint_path() { std::filesystem::remove(text); }
  std::string text = (std::filesystem::temp_directory_path() / fmt::format("troupe-explorer-{}", ::getpid())).string();
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
  void make(const std::string& name, int kind);
  void remove_variable();
  void save();
  void save_now();
  void restore();
  /// Whether it succeeded.
  bool restore_now();
  void require_saved_file();
  bool is_over(const std::string& name, std::uint64_t of) const;
  bool is_loss(const status& how) const;

  parameter_server_strategy strategy_;
  std::map<std::string, tensor_variable> variables_;
  std::vector<tensor_variable> removed_;
  std::vector<program> programs_;
  checkpoint_path path_;
  /// What the file holds; nothing: there is none.
  std::optional<std::map<std::string, tensor>> saved_;
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
  start("making " + name, [this, name, kind = draw(3)] { make(name, kind); });
}

inline void chief_programs::make(const std::string& name, int kind) {
  const auto zeros = [](const shape& extents) { return tensor::zeros(dtype::int64, extents); };
  const auto made = kind == 0   ? strategy_.variable(name, zeros({}))
                    : kind == 1 ? strategy_.variable(name, zeros({large}))
                                : tensor_variable{strategy_.sharded(name, zeros({4}))};
  lives()[life_of(made)].first.assign(made.shared_record()->shards()->size(), 0);
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
  struct content {
    std::shared_ptr<const shard_list> shards;
    std::uint64_t of = 0;
    int acknowledged = 0;
  };
  std::map<std::string, content> began;
  for (const auto& [name, record] : strategy_.variables())
    began.emplace(name, content{record->shards(), life_of(*record), lives()[life_of(*record)].acknowledged});
  try {
    save_checkpoint(strategy_, path_.text, {}, {.progress = false});
  } catch (const error& failed) {
    const auto one_is_over = std::any_of(began.begin(), began.end(),
                                         [this](const auto& each) { return is_over(each.first, each.second.of); });
    require(one_is_over || is_loss(failed.get_status()), std::string{"a save failed: "} + failed.what());
    return require_saved_file();
  }
  const auto file = open_checkpoint(path_.text);
  saved_.emplace();
  require(file.names().size() == began.size(), "a checkpoint has other variables than were there when it began");
  for (const auto& [name, what] : began) {
    const auto content = copy_of_tensor(file, name);
    require_possible(name, *what.shards, content, what.of, what.acknowledged);
    saved_->emplace(name, content);
  }
}

inline void chief_programs::require_saved_file() {
  if (!saved_) return require(!std::filesystem::exists(path_.text), "a save that failed left a file");
  const auto file = open_checkpoint(path_.text);
  require(file.names().size() == saved_->size(), "a save that failed changed the file");
  for (const auto& [name, content] : *saved_) {
    const auto now = copy_of_tensor(file, name);
    const auto here = now.values<std::int64_t>();
    const auto before = content.values<std::int64_t>();
    require(std::equal(here.begin(), here.end(), before.begin(), before.end()), "a save that failed changed " + name);
  }
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
    restore_checkpoint(strategy_, path_.text, {.progress = false});
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
    auto& first = lives()[life_of(*found->second)].first;
    for (const auto& shard : *found->second->shards()) first.push_back(elements_of(shard, saved_->at(name)).front());
  }
  return succeeded;
}

}  // namespace troupe
