#include <troupe/actors/functions/source_line.hpp>

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <elfutils/libdwfl.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Only what the program's own files hold: neither other folders nor servers are asked.
int no_separate_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

std::string read_line(const void* code) {
  const Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                 .find_debuginfo = no_separate_file,
                                 .section_address = nullptr,
                                 .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, decltype(&dwfl_end)> session{dwfl_begin(&callbacks), dwfl_end};
  if (!session || dwfl_linux_proc_report(session.get(), ::getpid()) != 0) return {};
  dwfl_report_end(session.get(), nullptr, nullptr);
  const auto address = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(code));
  auto* const line = dwfl_getsrc(session.get(), address);
  if (line == nullptr) return {};
  int number = 0;
  const char* const path = dwfl_lineinfo(line, nullptr, &number, nullptr, nullptr, nullptr);
  if (path == nullptr || number <= 0) return {};
  const std::string_view file{path};
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), number);
}

}  // namespace

std::string source_line_of(const void* code) {
  if (code == nullptr) return {};
  static std::mutex mutex;
  static auto& known = *new std::map<const void*, std::string>;  // asked for until the process ends
  const std::lock_guard guard{mutex};
  const auto [entry, is_new] = known.try_emplace(code);
  if (is_new) entry->second = read_line(code);
  return entry->second;
}

}  // namespace troupe
