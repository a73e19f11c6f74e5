#include "decoder.hpp"

#include <troupe/device/base/error.hpp>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

std::vector<const decoder*>& registered() {
  static std::vector<const decoder*> all;
  return all;
}

}  // namespace

decoder::decoder(std::string name, seeds given, take taken) : name_(std::move(name)), seeds_(given), take_(taken) {
  registered().push_back(this);
}

const std::vector<const decoder*>& decoder::all() { return registered(); }

const decoder* decoder::find(std::string_view name) {
  const auto found = std::ranges::find_if(registered(), [&](const decoder* each) { return each->name() == name; });
  return found == registered().end() ? nullptr : *found;
}

void decoder::feed(std::string_view bytes) const {
  try {
    take_(bytes);
  } catch (const error&) {
    // As it should be.
  }
}

}  // namespace troupe
