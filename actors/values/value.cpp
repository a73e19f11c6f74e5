#include <troupe/actors/values/value.hpp>

#include <fmt/format.h>

namespace troupe {

namespace {

/// A value from another process, as it arrived.
class stored_encoding final : public detail::value_storage {
 public:
  stored_encoding(std::uint64_t tag, std::string name, encoded source)
      : tag_(tag), name_(std::move(name)), source_(std::move(source)) {}

  std::uint64_t tag() const noexcept override { return tag_; }
  std::string_view name() const noexcept override { return name_; }
  const void* object(const std::type_info&) const noexcept override { return nullptr; }
  const encoded* encoding() const noexcept override { return &source_; }
  void write(output_archive& archive) const override {
    archive.write_bytes(source_.bytes.data(), source_.bytes.size());
    for (const auto& attachment : source_.attachments) archive.attach(attachment);
  }

 private:
  std::uint64_t tag_;
  std::string name_;
  encoded source_;
};

constexpr std::uint64_t tag_of_nothing = 0;

}  // namespace

void detail::throw_stays_in_process(std::string_view type) {
  throw failed_precondition_error(fmt::format(
      "a value of type {} cannot leave its process, because nothing says how to encode it; make the type an "
      "aggregate of members that can be encoded or give it a serialize function, or run all that uses the "
      "value in one process",
      type));
}

std::string value::type_name() const { return storage_ ? std::string{storage_->name()} : "nothing"; }

std::size_t value::encoded_size_hint() const {
  auto archive = output_archive{output_archive::purpose::measure};
  save(archive);
  return archive.size_bytes();
}

void value::save(output_archive& archive) const {
  if (!storage_) {
    archive(tag_of_nothing);
    return;
  }
  archive(storage_->tag(), std::uint64_t{storage_->name().size()});
  archive.write_bytes(storage_->name().data(), storage_->name().size());
  const auto part = archive.begin_part();
  storage_->write(archive);
  archive.end_part(part);
}

void value::load(input_archive& archive) {
  auto tag = std::uint64_t{};
  archive(tag);
  if (tag == tag_of_nothing) {
    storage_.reset();
    return;
  }
  auto name = std::string{};
  auto attachment_count = std::uint32_t{};
  auto byte_count = std::uint64_t{};
  archive(name, attachment_count, byte_count);
  const auto bytes = archive.take_bytes(byte_count);
  const auto attachments = archive.take_attachments(attachment_count);
  storage_ = std::make_shared<stored_encoding>(
      tag, std::move(name), encoded{{bytes.begin(), bytes.end()}, {attachments.begin(), attachments.end()}});
}

void value::throw_other_type(std::string_view wanted) const {
  throw invalid_argument_error(fmt::format(
      "asked for a {} but the value holds {}{}; ask for exactly the type that was stored, without conversion", wanted,
      type_name(), storage_ && storage_->encoding() ? " (encoded)" : ""));
}

}  // namespace troupe
