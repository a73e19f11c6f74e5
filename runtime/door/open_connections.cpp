#include <troupe/runtime/door/open_connections.hpp>

#include <sys/stat.h>

namespace troupe {

namespace {

/// A look at 4,096 descriptors takes about a millisecond, and strangers decide how often the limit is reached.
constexpr std::chrono::milliseconds looks_apart{10};

}  // namespace

bool open_connections::has_room() {
  if (identities_.size() >= most_) forget_closed();
  return identities_.size() < most_;
}

void open_connections::add(int socket) {
  identity found;
  // An entry of the same number is over: the number is this socket's now.
  if (read(socket, found)) identities_[socket] = found;
}

bool open_connections::read(int socket, identity& into) {
  struct stat info = {};
  if (::fstat(socket, &info) != 0) return false;
  into = {info.st_dev, info.st_ino};
  return true;
}

void open_connections::forget_closed() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_look_) return;
  next_look_ = now + looks_apart;
  std::erase_if(identities_, [](const auto& entry) {
    identity now_there;
    return !read(entry.first, now_there) || now_there != entry.second;
  });
}

}  // namespace troupe
