#include <troupe/runtime/door/pending_connections.hpp>

#include <algorithm>

namespace troupe {

std::optional<pending_connections::number> pending_connections::in_the_way_of(const std::string& source) {
  const auto of_one_source = std::max<std::size_t>(most_ / 2, 1);
  if (const auto found = by_source_.find(source); found != by_source_.end() && found->second.size() >= of_one_source)
    return found->second.draw(random_);
  return all_.size() < most_ ? std::nullopt : any();
}

std::optional<pending_connections::number> pending_connections::any() {
  if (all_.size() == 0) return std::nullopt;
  return all_.draw(random_);
}

void pending_connections::add(number connection, const std::string& source) {
  all_.add(connection);
  by_source_[source].add(connection);
}

void pending_connections::remove(number connection, const std::string& source) {
  all_.remove(connection);
  const auto found = by_source_.find(source);
  found->second.remove(connection);
  if (found->second.size() == 0) by_source_.erase(found);
}

void pending_connections::number_set::add(number added) {
  places_[added] = numbers_.size();
  numbers_.push_back(added);
}

void pending_connections::number_set::remove(number removed) {
  // The last one takes its place.
  const auto place = places_.extract(removed).mapped();
  const auto last = numbers_.back();
  numbers_.pop_back();
  if (last == removed) return;
  numbers_[place] = last;
  places_[last] = place;
}

pending_connections::number pending_connections::number_set::draw(std::mt19937_64& from) const {
  return numbers_[std::uniform_int_distribution<std::size_t>{0, numbers_.size() - 1}(from)];
}

}  // namespace troupe
