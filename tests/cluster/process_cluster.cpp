#include "process_cluster.hpp"

#include <troupe/runtime/door/credentials.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include <poll.h>
#include <unistd.h>

namespace troupe {

namespace {

std::string display_name(const task_id& task) {
  return task.job == "chief" ? task.job : fmt::format("{} {}", task.job, task.index);
}

}  // namespace

std::string this_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

process_cluster::process_cluster(std::string program_name, process_cluster_options options)
    : options_(std::move(options)), program_name_(std::move(program_name)) {
  if (options_.program.empty()) options_.program = this_program();
  if (options_.secret || (options_.place && !options_.certificates)) secret_.emplace();
  const auto add = [this](const char* job, int count, std::vector<task_address>& addresses) {
    for (int i = 0; i < count; ++i) {
      const task_id task{job, i};
      auto [address, launcher] = options_.place ? options_.place(task) : loopback_place();
      addresses.push_back(std::move(address));
      launchers_.emplace(task, std::move(launcher));
    }
  };
  add("ps", options_.servers, spec_.ps);
  add("worker", options_.workers, spec_.worker);
  add("chief", 1, spec_.chief);
}

task_place process_cluster::loopback_place() {
  constexpr const char* host = "127.0.0.1";
  ports_.emplace_back(host);
  return {{host, ports_.back().port()}, {}};
}

process_cluster& process_cluster::start() {
  for (const auto& task : tasks()) start(task);
  return *this;
}

void process_cluster::start(const task_id& task, const std::string& program, const std::optional<task_config>& config) {
  BOOST_REQUIRE_MESSAGE(!processes_.contains(task), to_string(task) << " runs already");
  ended_.erase(task);
  auto command = launchers_.at(task);
  command.push_back(program.empty() ? options_.program : program);
  if (!program_name_.empty()) command.push_back(program_name_);
  command.insert(command.end(), options_.arguments.begin(), options_.arguments.end());
  child_process_options child;
  child.program = command.front();
  child.arguments.assign(command.begin() + 1, command.end());
  if (secret_) child.environment[secret_variable] = secret_->path();
  if (options_.certificates) options_.certificates->put_into(child.environment, task.job);
  child.environment["TF_CONFIG"] = to_tf_config(config.value_or(this->config(task)));
  processes_.emplace(task, process{child_process{child}, {}});
}

credentials process_cluster::credentials_of(const std::string& job) const {
  if (options_.certificates) return options_.certificates->credentials_of(job);
  return {.cluster = "", .secret = secret_ ? cluster_secret::read(secret_->path()) : nullptr};
}

const process_cluster::process& process_cluster::find(const task_id& task) const {
  const auto found = processes_.find(task);
  if (found == processes_.end()) fail(to_string(task) + " does not run");
  return found->second;
}

pid_t process_cluster::pid(const task_id& task) const { return find(task).child.pid(); }

bool process_cluster::runs(const task_id& task) const { return processes_.contains(task); }

void process_cluster::signal(const task_id& task, int number) {
  find(task);
  processes_.at(task).child.signal(number);
}

// --- waiting --------------------------------------------------------------------------------------------------------

std::string process_cluster::wait_for(std::string_view text, milliseconds limit) {
  std::size_t looked = 0;
  const auto come = [&] {
    for (; looked < lines_.size(); ++looked)
      if (!taken_[looked] && lines_[looked].find(text) != std::string::npos) return true;
    return false;
  };
  const auto chief_ran = runs(chief_task);
  const auto ended_early = [&] { return chief_ran && !runs(chief_task); };
  pump(limit, [&] { return come() || ended_early(); });
  if (!come()) {
    if (ended_early())
      fail(fmt::format("the chief ended ({}) before the line \"{}\" came", to_string(ended_.at(chief_task)), text));
    fail(fmt::format("the line \"{}\" did not come within {} ms", text, limit.count()));
  }
  taken_[looked] = true;
  return lines_[looked];
}

bool process_cluster::has(std::string_view text) const {
  for (std::size_t i = 0; i < lines_.size(); ++i)
    if (!taken_[i] && lines_[i].find(text) != std::string::npos) return true;
  return false;
}

exit_status process_cluster::end_of(const task_id& task, milliseconds limit) {
  if (!pump(limit, [&] { return ended_.contains(task); }))
    fail(fmt::format("{} did not end within {} ms", to_string(task), limit.count()));
  return ended_.at(task);
}

void process_cluster::pass(milliseconds time) {
  pump(time, [] { return false; });
}

bool process_cluster::pump(milliseconds limit, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds::zero()) return false;
    wait_for_events(left);
    for (auto each = processes_.begin(); each != processes_.end();) {
      auto& [task, running] = *each;
      const auto ended = running.child.poll();
      read(task, running);
      if (ended) ended_.insert_or_assign(task, *ended);
      each = ended ? processes_.erase(each) : std::next(each);
    }
  }
  return true;
}

void process_cluster::wait_for_events(milliseconds limit) {
  std::vector<pollfd> watched;
  for (auto& [_, running] : processes_) {
    watched.push_back({running.child.pid_descriptor(), POLLIN, 0});
    watched.push_back({running.child.standard_output().get(), POLLIN, 0});
    watched.push_back({running.child.standard_error().get(), POLLIN, 0});
  }
  ::poll(watched.data(), watched.size(), static_cast<int>(limit.count()));
}

void process_cluster::read(const task_id& task, process& from) {
  const auto keep = [&](line_splitter::kind kind, std::string_view text) {
    if (kind != line_splitter::kind::line) return;
    lines_.push_back(fmt::format("[{}] {}", display_name(task), text));
    taken_.push_back(false);
  };
  const std::array files{&from.child.standard_output(), &from.child.standard_error()};
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::array<char, 16 * 1024> block;
    while (*files[i]) {
      const auto count = ::read(files[i]->get(), block.data(), block.size());
      if (count < 0) break;
      if (count == 0) {
        from.lines[i].finish(keep);
        files[i]->reset();
      } else {
        from.lines[i].feed({block.data(), static_cast<std::size_t>(count)}, keep);
      }
    }
  }
}

// --- failing --------------------------------------------------------------------------------------------------------

std::string process_cluster::output() const {
  constexpr std::size_t lines_max = 200;
  const auto begin = lines_.size() > lines_max ? lines_.size() - lines_max : 0;
  std::string text = begin == 0 ? "" : fmt::format("({} lines before these)\n", begin);
  for (auto i = begin; i < lines_.size(); ++i) text += lines_[i] + "\n";
  return text;
}

void process_cluster::fail(const std::string& what) const {
  BOOST_FAIL(what << "; the processes wrote:\n" << output());
  throw std::logic_error{what};  // not reached: BOOST_FAIL throws
}

}  // namespace troupe
