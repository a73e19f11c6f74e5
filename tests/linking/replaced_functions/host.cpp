// host PLUGIN now|lazy [LIBRARY global|local]: a program without troupe and CAF that loads a library, if one is named,
// and then the plugin, which has troupe, and calls the plugin.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <dlfcn.h>

namespace {

void* load(const char* path, int flags) {
  void* const loaded = ::dlopen(path, flags);
  if (loaded != nullptr) return loaded;
  std::printf("%s\n", ::dlerror());
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  const std::string_view binding = argv[2];
  if (argc == 5) load(argv[3], RTLD_NOW | (std::string_view{argv[4]} == "global" ? RTLD_GLOBAL : RTLD_LOCAL));
  void* const plugin = load(argv[1], RTLD_LOCAL | (binding == "now" ? RTLD_NOW : RTLD_LAZY));
  void* const function = ::dlsym(plugin, "try_ports");
  if (function == nullptr) return 3;
  reinterpret_cast<void (*)()>(function)();
}
