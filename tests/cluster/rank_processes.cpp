#include "rank_processes.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace troupe {

rank_processes::rank_processes(const std::vector<std::string>& arguments, const std::vector<int>& ranks) {
  processes_.reserve(ranks.size());
  for (const auto rank : ranks) {
    child_process_options options;
    options.program = std::filesystem::read_symlink("/proc/self/exe").string();
    options.arguments = arguments;
    options.arguments.push_back(std::to_string(rank));
    processes_.push_back({rank, child_process{options}, {}, {}});
  }
}

rank_processes::process& rank_processes::find(int rank) {
  const auto found = std::ranges::find(processes_, rank, &process::rank);
  if (found == processes_.end()) throw std::logic_error{"no such rank was started"};
  return *found;
}

std::string rank_processes::next_line(int rank, milliseconds limit) {
  auto& from = find(rank);
  const auto ended = [&] { return !from.child.standard_output(); };
  pump(limit, [&] { return !from.read.empty() || ended(); });
  if (from.read.empty()) {
    BOOST_FAIL(fmt::format("rank {} wrote no line {}", rank,
                           ended() ? "before it ended" : fmt::format("within {} ms", limit.count())));
  }
  auto line = std::move(from.read.front());
  from.read.pop_front();
  return line;
}

void rank_processes::pass(milliseconds time) {
  pump(time, [] { return false; });
}

exit_status rank_processes::end_of(int rank, milliseconds limit) {
  const auto end = find(rank).child.wait_for(limit);
  if (!end) BOOST_FAIL(fmt::format("rank {} did not end within {} ms", rank, limit.count()));
  return end.value();
}

bool rank_processes::pump(milliseconds limit, const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left <= milliseconds::zero()) return false;
    std::vector<pollfd> watched;
    for (auto& each : processes_) watched.push_back({each.child.standard_output().get(), POLLIN, 0});
    ::poll(watched.data(), watched.size(), static_cast<int>(left.count()));
    for (auto& each : processes_) read_from(each);
  }
  return true;
}

void rank_processes::read_from(process& from) {
  const auto keep = [&](line_splitter::kind kind, std::string_view text) {
    if (kind == line_splitter::kind::line) from.read.emplace_back(text);
  };
  auto& file = from.child.standard_output();
  std::array<char, 4096> block;
  while (file) {
    const auto count = ::read(file.get(), block.data(), block.size());
    if (count < 0) return;
    if (count == 0) {
      from.lines.finish(keep);
      file.reset();
    } else {
      from.lines.feed({block.data(), static_cast<std::size_t>(count)}, keep);
    }
  }
}

}  // namespace troupe
