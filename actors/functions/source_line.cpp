#include <troupe/actors/functions/source_line.hpp>

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

namespace troupe {

namespace {

/// Only what the program's own files hold: neither other folders nor servers are asked.
int no_separate_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
  return -1;
}

/// Looks at each source file's part in turn: clang leaves out the table that says which one holds an address.
Dwarf_Line* find_line(Dwfl_Module* module, Dwarf_Addr address) {
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; module != nullptr && (unit = dwfl_module_nextcu(module, unit, &bias)) != nullptr;)
    if (dwarf_haspc(unit, address - bias) > 0) return dwarf_getsrc_die(unit, address - bias);
  return nullptr;
}

/// The code that this process had loaded when it was made: its files, as far as they have been read. One thread at a
/// time.
class loaded_code {
 public:
  loaded_code() : session_(dwfl_begin(&callbacks), dwfl_end) {
    if (!session_ || dwfl_linux_proc_report(session_.get(), ::getpid()) != 0) return;
    dwfl_report_end(session_.get(), nullptr, nullptr);
  }

  /// Null for what has been loaded since.
  Dwfl_Module* module_of(Dwarf_Addr address) const {
    return session_ ? dwfl_addrmodule(session_.get(), address) : nullptr;
  }

 private:
  static constexpr Dwfl_Callbacks callbacks{.find_elf = dwfl_linux_proc_find_elf,
                                            .find_debuginfo = no_separate_file,
                                            .section_address = nullptr,
                                            .debuginfo_path = nullptr};
  std::unique_ptr<Dwfl, decltype(&dwfl_end)> session_;
};

/// One thread at a time.
std::string read_line(const void* code) {
  static auto* loaded = new loaded_code;  // asked until the process ends
  const auto address = static_cast<Dwarf_Addr>(reinterpret_cast<std::uintptr_t>(code));
  if (loaded->module_of(address) == nullptr) {
    delete loaded;
    loaded = new loaded_code;
  }
  auto* const line = find_line(loaded->module_of(address), address);
  int number = 0;
  if (line == nullptr || dwarf_lineno(line, &number) != 0 || number == 0) return {};
  const std::string_view file{dwarf_linesrc(line, nullptr, nullptr)};
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
