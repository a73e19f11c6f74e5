#include <troupe/runtime/cluster/function_references.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace troupe {

namespace {

/// What is read of a loaded object's dynamic section.
struct dynamic_section {
  ElfW(Addr) base = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  /// Those of data, as virtual tables have, and those of calls, which may be bound late.
  std::span<const ElfW(Rela)> of_data;
  std::span<const ElfW(Rela)> of_calls;
};

// NOLINTNEXTLINE(performance-no-int-to-ptr): ELF has addresses as numbers.
const void* pointer_to(ElfW(Addr) address) { return reinterpret_cast<const void*>(address); }

std::span<const ElfW(Rela)> relocations(const void* first, std::size_t bytes) {
  return {static_cast<const ElfW(Rela)*>(first), first == nullptr ? 0 : bytes / sizeof(ElfW(Rela))};
}

/// Reads until the end mark.
dynamic_section section_at(ElfW(Addr) base, const ElfW(Dyn) * entry) {
  dynamic_section read{.base = base};
  const void* of_data = nullptr;
  const void* of_calls = nullptr;
  std::size_t bytes_of_data = 0;
  std::size_t bytes_of_calls = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    // glibc has added the base, but not where the section is read-only (the kernel's own object).
    const auto* const where = pointer_to(entry->d_un.d_ptr < base ? base + entry->d_un.d_ptr : entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB:
        read.symbols = static_cast<const ElfW(Sym)*>(where);
        break;
      case DT_STRTAB:
        read.names = static_cast<const char*>(where);
        break;
      case DT_RELA:
        of_data = where;
        break;
      case DT_RELASZ:
        bytes_of_data = entry->d_un.d_val;
        break;
      case DT_JMPREL:
        of_calls = where;
        break;
      case DT_PLTRELSZ:
        bytes_of_calls = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (read.symbols == nullptr || read.names == nullptr) return read;
  read.of_data = relocations(of_data, bytes_of_data);
  read.of_calls = relocations(of_calls, bytes_of_calls);
  return read;
}

struct search {
  std::span<const char* const> functions;
  std::vector<function_reference> found;

  void add(const dynamic_section& of, const ElfW(Rela) & relocation, bool is_call) {
    const auto number = ELF64_R_SYM(relocation.r_info);
    if (number == 0) return;
    const auto& symbol = of.symbols[number];
    // There are tens of thousands of long names, so none is read further than to its first difference.
    const auto name = std::find_if(functions.begin(), functions.end(), [&](const char* function) {
      return std::strcmp(function, of.names + symbol.st_name) == 0;
    });
    if (name == functions.end()) return;
    const auto* const place = pointer_to(of.base + relocation.r_offset);
    function_reference result{*name, place, *static_cast<const void* const*>(place)};
    // Until its first call, a call goes to code of the calling object itself that has it looked up.
    const auto* const own = symbol.st_shndx == SHN_UNDEF ? nullptr : pointer_to(of.base + symbol.st_value);
    if (is_call && result.bound != own && object_of(result.bound) == object_of(place)) result.bound = nullptr;
    found.push_back(result);
  }
};

int search_in(dl_phdr_info* object, std::size_t, void* searching) {
  auto& wanted = *static_cast<search*>(searching);
  for (const auto& part : std::span{object->dlpi_phdr, object->dlpi_phnum}) {
    if (part.p_type != PT_DYNAMIC) continue;
    const auto section =
        section_at(object->dlpi_addr, static_cast<const ElfW(Dyn)*>(pointer_to(object->dlpi_addr + part.p_vaddr)));
    for (const auto& each : section.of_data) wanted.add(section, each, false);
    for (const auto& each : section.of_calls) wanted.add(section, each, true);
  }
  return 0;
}

}  // namespace

std::vector<function_reference> references_to(std::span<const char* const> functions) {
  search wanted{functions, {}};
  ::dl_iterate_phdr(search_in, &wanted);
  return std::move(wanted.found);
}

loaded_object object_of(const void* address) {
  dl_find_object found{};
  if (::_dl_find_object(const_cast<void*>(address), &found) != 0) return {};
  const std::string path = found.dlfo_link_map->l_name;
  return {found.dlfo_link_map, path.empty() ? "the program" : path};
}

}  // namespace troupe
