#include <troupe/actors/functions/build_id.hpp>

#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <string_view>

#include <link.h>

namespace troupe {

namespace {

/// 64-bit FNV-1a, continued from `hash`.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t hash = 14695981039346656037u) {
  for (auto byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 1099511628211u;
  return hash;
}

std::span<const std::byte> segment_bytes(const dl_phdr_info& module, const ElfW(Phdr) & segment) {
  // The loader names addresses as numbers. NOLINTNEXTLINE(performance-no-int-to-ptr)
  return {reinterpret_cast<const std::byte*>(module.dlpi_addr + segment.p_vaddr), segment.p_memsz};
}

std::span<const ElfW(Phdr)> segments_of(const dl_phdr_info& module) { return {module.dlpi_phdr, module.dlpi_phnum}; }

constexpr std::size_t aligned(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

/// The descriptor of the GNU build id note in a note segment; empty if there is none.
std::span<const std::byte> find_build_id(std::span<const std::byte> notes, std::size_t alignment) {
  constexpr auto owner = std::string_view{"GNU\0", 4};
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    const auto descriptor_begin = sizeof(header) + aligned(header.n_namesz, alignment);
    const auto note_end = descriptor_begin + aligned(header.n_descsz, alignment);
    if (descriptor_begin + header.n_descsz > notes.size()) return {};
    const auto is_gnu =
        header.n_namesz == owner.size() && std::memcmp(notes.data() + sizeof(header), owner.data(), 4) == 0;
    if (is_gnu && header.n_type == NT_GNU_BUILD_ID) return notes.subspan(descriptor_begin, header.n_descsz);
    if (note_end >= notes.size()) return {};
    notes = notes.subspan(note_end);
  }
  return {};
}

/// For modules without a build id. Remembers the answer by load address and size of the code.
std::uint64_t hash_of_code(const dl_phdr_info& module) {
  static std::mutex mutex;
  static std::map<std::pair<ElfW(Addr), std::size_t>, std::uint64_t> known;
  auto size = std::size_t{0};
  const auto is_code = [](const ElfW(Phdr) & segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & (PF_X | PF_R)) == (PF_X | PF_R);
  };
  for (const auto& segment : segments_of(module)) size += is_code(segment) ? segment.p_memsz : 0;
  const std::lock_guard guard{mutex};
  const auto [entry, is_new] = known.try_emplace({module.dlpi_addr, size}, 0);
  if (is_new) {
    auto hash = hash_bytes({});
    for (const auto& segment : segments_of(module)) {
      if (is_code(segment)) hash = hash_bytes(segment_bytes(module, segment), hash);
    }
    entry->second = hash;
  }
  return entry->second;
}

std::uint64_t build_id_of(const dl_phdr_info& module) {
  for (const auto& segment : segments_of(module)) {
    if (segment.p_type != PT_NOTE) continue;
    const auto id = find_build_id(segment_bytes(module, segment), segment.p_align >= 8 ? 8 : 4);
    if (!id.empty()) return hash_bytes(id);
  }
  return hash_of_code(module);
}

bool contains(const dl_phdr_info& module, std::uintptr_t address) {
  for (const auto& segment : segments_of(module)) {
    if (segment.p_type == PT_LOAD && address - (module.dlpi_addr + segment.p_vaddr) < segment.p_memsz) return true;
  }
  return false;
}

/// Calls `visit(module)` for each loaded module, the executable first, until it returns true.
template <class Visit>
void visit_modules(Visit visit) {
  const auto callback = [](dl_phdr_info* module, std::size_t, void* data) {
    return (*static_cast<Visit*>(data))(*module) ? 1 : 0;
  };
  dl_iterate_phdr(callback, &visit);
}

}  // namespace

module_position position_of(const void* address) {
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  auto result = module_position{0, number};
  visit_modules([&](const dl_phdr_info& module) {
    if (!contains(module, number)) return false;
    result = {build_id_of(module), number - module.dlpi_addr};
    return true;
  });
  return result;
}

std::uint64_t build_id_of(const void* address) { return position_of(address).build_id; }

std::uint64_t program_build_id() {
  static const auto id = [] {
    auto result = std::uint64_t{0};
    visit_modules([&](const dl_phdr_info& module) {
      result = build_id_of(module);
      return true;
    });
    return result;
  }();
  return id;
}

}  // namespace troupe
