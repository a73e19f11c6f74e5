#include <troupe/runtime/file.hpp>
#include <troupe/runtime/files/file_system.hpp>

#include <utility>

namespace troupe {

file::file(std::string path, std::unique_ptr<opened_file> opened)
    : path_(std::move(path)), opened_(std::move(opened)) {}
file::file(file&&) noexcept = default;
file& file::operator=(file&&) noexcept = default;
file::~file() = default;

file file::open(const std::string& path) { return {path, file_system::current().open(path, file_mode::read, path)}; }
file file::create(const std::string& path) {
  return {path, file_system::current().open(path, file_mode::create, path)};
}
file file::append_to(const std::string& path) {
  return {path, file_system::current().open(path, file_mode::keep, path)};
}

std::uint64_t file::size() const { return opened_->size(); }
std::size_t file::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  return opened_->read_at(offset, into);
}
void file::append(std::span<const std::byte> bytes) { opened_->write_at(opened_->size(), bytes); }
void file::write_at(std::uint64_t offset, std::span<const std::byte> bytes) { opened_->write_at(offset, bytes); }
void file::resize(std::uint64_t size_bytes) { opened_->resize(size_bytes); }
void file::sync() { opened_->sync(); }

std::string read_file(const std::string& path) {
  const auto from = file::open(path);
  std::string result(from.size(), '\0');
  result.resize(from.read_at(0, std::as_writable_bytes(std::span{result})));
  return result;
}

bool file_exists(const std::string& path) { return file_system::current().kind_of(path) == path_kind::file; }
std::vector<std::string> list_directory(const std::string& path) { return file_system::current().list(path); }
void create_directories(const std::string& path) { file_system::current().create_directories(path); }
void rename_file(const std::string& from, const std::string& to) { file_system::current().rename(from, to); }
void remove_file(const std::string& path) { file_system::current().remove(path); }
void sync_directory(const std::string& path) { file_system::current().sync_directory(path); }

}  // namespace troupe
