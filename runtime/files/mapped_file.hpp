// A file as memory: pages come from disk when they are first read, and nothing is copied.
#pragma once

#include <troupe/device/tensor/buffer.hpp>

#include <cstddef>
#include <span>
#include <string>

namespace troupe {

/// Maps a whole regular file for reading. The buffer keeps the mapping alive; tensors on it copy before they write.
/// The file may be replaced by rename meanwhile (the mapping keeps the old one), but must not be shortened: touching a
/// page that is gone ends the process with SIGBUS.
/// @throws what throw_system_error throws, naming the path; failed_precondition_error when it is no regular file.
buffer map_file(const std::string& path);

/// Drops the whole pages of a part of a mapped file from memory; they come from the file again when they are read. What
/// was written to them is lost.
void forget_pages(std::span<const std::byte> part);

}  // namespace troupe
