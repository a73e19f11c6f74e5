#include <troupe/runtime/files/file_system.hpp>
#include <troupe/runtime/simulation/simulated_disk.hpp>

#include <algorithm>

namespace troupe {

// --- what a file holds ----------------------------------------------------------------------------------------------

void simulated_content::apply(const change& made, std::vector<std::byte>& to) {
  if (!made.written) return to.resize(made.offset);
  const auto end = made.offset + made.written->size();
  if (to.size() < end) to.resize(end);
  std::copy(made.written->begin(), made.written->end(), to.begin() + static_cast<std::ptrdiff_t>(made.offset));
}

void simulated_content::add(change made) {
  *used_ -= bytes_.size();
  apply(made, bytes_);
  *used_ += bytes_.size();
  unsynced_bytes_ += bytes_of(made);
  unsynced_.push_back(std::move(made));
  while (unsynced_bytes_ > unsynced_bytes_max || unsynced_.size() > unsynced_changes_max) {
    apply(unsynced_.front(), durable_);
    unsynced_bytes_ -= bytes_of(unsynced_.front());
    unsynced_.pop_front();
  }
}

void simulated_content::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!bytes.empty()) add({offset, std::vector<std::byte>{bytes.begin(), bytes.end()}});
}

void simulated_content::resize(std::uint64_t size_bytes) {
  if (size_bytes != bytes_.size()) add({size_bytes, std::nullopt});
}

void simulated_content::sync() {
  for (const auto& each : unsynced_) apply(each, durable_);
  unsynced_.clear();
  unsynced_bytes_ = 0;
}

bool simulated_content::lose_power(random_stream& random) {
  if (unsynced_.empty()) return false;
  // The system may have written all of it in the meantime.
  if (random.below(2) == 0) {
    unsynced_.resize(random.below(unsynced_.size() + 1));
    if (!unsynced_.empty() && unsynced_.back().written) {
      auto& torn = *unsynced_.back().written;
      torn.resize(random.below(torn.size() + 1));
    }
  }
  sync();
  const auto differs = bytes_ != durable_;
  *used_ -= bytes_.size();
  bytes_ = durable_;
  *used_ += bytes_.size();
  return differs;
}

// --- names ----------------------------------------------------------------------------------------------------------

simulated_disk::content_ptr simulated_disk::find(const std::string& path) const {
  const auto found = names_.find(path);
  return found == names_.end() ? nullptr : found->second;
}

std::map<std::string, bool> simulated_disk::names_in(const std::string& directory) const {
  std::map<std::string, bool> result;
  const auto add = [&](const std::string& path, bool is_there) {
    if (path != directory && directory_of(path) == directory)
      result[path.substr(directory.size() + (directory.ends_with('/') ? 0 : 1))] = is_there;
  };
  for (const auto& [path, content] : names_) add(path, content != nullptr);
  for (const auto& path : directories_) add(path, true);
  return result;
}

void simulated_disk::change(const std::string& directory, std::map<std::string, content_ptr> names) {
  for (const auto& [path, content] : names) names_[path] = content;
  unsynced_.push_back({directory, std::move(names)});
  if (unsynced_.size() <= unsynced_changes_max) return;
  make_durable(unsynced_.front());
  unsynced_.pop_front();
}

void simulated_disk::make_durable(const name_change& made) {
  for (const auto& [path, content] : made.names) durable_names_[path] = content;
}

simulated_disk::content_ptr simulated_disk::create(const std::string& path) {
  auto made = std::make_shared<simulated_content>(used_);
  change(directory_of(path), {{path, made}});
  return made;
}

simulated_disk::content_ptr simulated_disk::adopt(const std::string& path, std::span<const std::byte> bytes) {
  auto made = std::make_shared<simulated_content>(used_);
  made->write(0, bytes);
  made->sync();
  names_[path] = durable_names_[path] = made;
  return made;
}

/// It belongs to the directory of the new name, whose sync makes the end of the old one durable, too.
void simulated_disk::rename(const std::string& from, const std::string& to) {
  if (from != to) change(directory_of(to), {{to, find(from)}, {from, nullptr}});
}

void simulated_disk::remove(const std::string& path) { change(directory_of(path), {{path, nullptr}}); }

void simulated_disk::sync_directory(const std::string& path) {
  std::deque<name_change> others;
  for (auto& each : unsynced_) {
    if (each.directory != path) {
      others.push_back(std::move(each));
      continue;
    }
    make_durable(each);
    // An earlier change in another directory, from where it was renamed, must not bring the name back.
    for (auto& earlier : others)
      for (const auto& [name, _] : each.names) earlier.names.erase(name);
  }
  unsynced_ = std::move(others);
}

// --- what befalls it ------------------------------------------------------------------------------------------------

void simulated_disk::lose_power() {
  std::map<std::string, std::uint64_t> surviving;
  for (const auto& each : unsynced_) ++surviving[each.directory];
  for (auto& [_, changes] : surviving) changes = random_.below(changes + 1);
  for (auto& each : unsynced_) {
    auto& left = surviving[each.directory];
    if (left == 0) continue;
    --left;
    make_durable(each);
  }
  unsynced_.clear();
  std::set<std::string> lost;
  for (const auto& [path, content] : names_) {
    const auto found = durable_names_.find(path);
    if (content != (found == durable_names_.end() ? nullptr : found->second)) lost.insert(path);
  }
  names_ = durable_names_;
  for (const auto& [path, content] : names_)
    if (content && content->lose_power(random_)) lost.insert(path);
  lost_.assign(lost.begin(), lost.end());
}

void simulated_disk::wipe() {
  unsynced_.clear();
  names_.clear();
  durable_names_.clear();
  directories_.clear();
  full_ = false;
  slowness_ = {};
}

}  // namespace troupe
