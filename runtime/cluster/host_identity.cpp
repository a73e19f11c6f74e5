#include <troupe/runtime/cluster/host_identity.hpp>

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>

#include <unistd.h>

namespace troupe {

namespace {

/// "net:[4026531840]". Without /proc there is nothing to compare.
std::string name_space(const char* path) {
  std::array<char, 64> name{};
  return ::readlink(path, name.data(), name.size() - 1) < 0 ? "unknown" : name.data();
}

}  // namespace

std::string host_identity() {
  std::string boot;
  std::getline(std::ifstream{"/proc/sys/kernel/random/boot_id"}, boot);
  return fmt::format("{} {} {} {}", boot.empty() ? "unknown" : boot, name_space("/proc/self/ns/net"),
                     name_space("/proc/self/ns/pid"), ::geteuid());
}

std::string difference_of_hosts(const std::string& one, const std::string& other) {
  constexpr std::array reasons{"they are on different machines", "they are in different network namespaces",
                               "they are in different namespaces of process numbers, as containers are",
                               "they belong to different users"};
  std::istringstream left{one};
  std::istringstream right{other};
  for (const auto* const reason : reasons) {
    std::string mine;
    std::string theirs;
    left >> mine;
    right >> theirs;
    if (mine != theirs) return reason;
  }
  return one == other ? "" : "they are of different versions";
}

}  // namespace troupe
