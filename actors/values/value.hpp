// One argument or result of a closure, whatever its type.
//
// Problem: coordinator, workers and links pass on objects whose types only the user's functions know. Inside a process
// they should cost nothing; between processes they have to be bytes; and one that passes through a process which never
// looks inside should pass as it is.
// Solution: a shared, immutable object that is encoded only when an archive asks for it. What arrives from elsewhere
// stays encoded until somebody asks for an object of a type, and is sent on as the same bytes and attachments.
//
// E-1 The object never changes after `of`: copies share it, from any thread.
// E-2 An encoded value is decoded only as the type it was made from.
#pragma once

#include <troupe/actors/values/codec.hpp>
#include <troupe/actors/values/internal/type_name.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace troupe {

namespace detail {

/// What a value shares: an object, or the encoding of one.
class value_storage {
 public:
  virtual ~value_storage() = default;
  virtual std::uint64_t tag() const noexcept = 0;
  virtual std::string_view name() const noexcept = 0;
  /// The object if it is here and of exactly this type, else nullptr.
  virtual const void* object(const std::type_info& type) const noexcept = 0;
  /// The encoding if this is one, else nullptr.
  virtual const encoded* encoding() const noexcept = 0;
  virtual void write(output_archive& archive) const = 0;
};

[[noreturn]] void throw_stays_in_process(std::string_view type);

template <class T>
class stored_object final : public value_storage {
 public:
  explicit stored_object(T&& object) : object_(std::move(object)) {}

  std::uint64_t tag() const noexcept override { return type_tag<T>; }
  std::string_view name() const noexcept override { return type_name<T>; }
  const void* object(const std::type_info& type) const noexcept override {
    return type == typeid(T) ? std::addressof(object_) : nullptr;
  }
  const encoded* encoding() const noexcept override { return nullptr; }
  void write(output_archive& archive) const override {
    if constexpr (encodable<T>) {
      archive(object_);
    } else if (!archive.measuring()) {
      throw_stays_in_process(type_name<T>);
    }
  }

 private:
  T object_;
};

}  // namespace detail

/// A shared, immutable object of any type, or nothing. As large as two pointers; copying counts a reference. Different
/// threads may use copies of it, and a single one for reading.
class value {
 public:
  /// Nothing: the result of a function that returns void.
  value() noexcept = default;

  /// One allocation. The type need not be encodable; such a value lives inside its process. A value stays as it is.
  template <class T>
  static value of(T object) {
    static_assert(!std::is_pointer_v<T>, "a value owns its object: pass the object (std::string for a text literal)");
    if constexpr (std::is_same_v<T, value>) {
      return object;
    } else {
      return value{std::make_shared<detail::stored_object<T>>(std::move(object))};
    }
  }

  bool empty() const noexcept { return !storage_; }

  /// The type's name as the compiler that built the sender spells it; "nothing" for an empty value.
  std::string type_name() const;

  /// The object. Without a copy if it was made in this process; otherwise decoded at each call, so keep the pointer.
  /// Throws invalid_argument_error that names both types if it is of another type, data_loss_error if it arrived
  /// damaged.
  template <class T>
  std::shared_ptr<const T> get() const;

  /// Bytes that this value takes inside a message, attachments included. Exact for encodable types; walks containers,
  /// but copies nothing.
  std::size_t encoded_size_hint() const;

  /// Called by output_archive. Throws failed_precondition_error that names the type if it is not encodable.
  void save(output_archive& archive) const;
  /// Called by input_archive. Copies the bytes, shares the attachments, and does not decode them.
  void load(input_archive& archive);

 private:
  explicit value(std::shared_ptr<const detail::value_storage> storage) noexcept : storage_(std::move(storage)) {}

  [[noreturn]] void throw_other_type(std::string_view wanted) const;

  std::shared_ptr<const detail::value_storage> storage_;
};

template <class T>
std::shared_ptr<const T> value::get() const {
  if (!storage_) throw_other_type(troupe::type_name<T>);
  if (const auto* object = storage_->object(typeid(T))) return {storage_, static_cast<const T*>(object)};
  if constexpr (encodable<T>) {
    const auto* encoding = storage_->encoding();
    if (encoding && storage_->tag() == type_tag<T>) {
      auto object = std::make_shared<T>();
      decode_into(*object, encoding->bytes, encoding->attachments);
      return object;
    }
  }
  throw_other_type(troupe::type_name<T>);
}

}  // namespace troupe
