// A bulk transport whose fetches end when the test says so: messages with late tensors.
#pragma once

#include "support/wire_frames.hpp"

#include <troupe/actors/values/bulk.hpp>
#include <troupe/actors/values/wire.hpp>

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace troupe {

/// Keeps offers and lets the test end each fetch.
class held_transport : public bulk_transport {
 public:
  struct fetch_order {
    bulk_ticket ticket;
    std::span<std::byte> destination;
    duration limit;
    std::function<void(status)> done;
  };

  bulk_ticket offer(buffer content, duration lifetime) override {
    lifetimes.push_back(lifetime);
    offers.emplace(++last_number_, content);
    return {"here:1", last_number_, content.size_bytes()};
  }
  void fetch(const bulk_ticket& ticket, std::span<std::byte> destination, duration limit,
             std::function<void(status)> done) override {
    fetches.push_back({ticket, destination, limit, std::move(done)});
  }

  void complete(std::size_t index) {
    const auto fetched = std::exchange(fetches.at(index), {});
    const auto content = offers.extract(fetched.ticket.number).mapped();
    BOOST_REQUIRE(fetched.destination.size() == content.size_bytes());
    std::memcpy(fetched.destination.data(), content.data(), content.size_bytes());
    fetched.done({});
  }
  void fail(std::size_t index, const status& why) { std::exchange(fetches.at(index).done, {})(why); }

  std::map<std::uint64_t, buffer> offers;
  std::vector<duration> lifetimes;
  std::vector<fetch_order> fetches;

 private:
  std::uint64_t last_number_ = 0;
};

/// The process's transport as long as it lives.
class installed_transport {
 public:
  installed_transport() { bulk_transport::install(held_); }
  ~installed_transport() { bulk_transport::install(nullptr); }
  installed_transport(const installed_transport&) = delete;

  held_transport* operator->() const { return held_.get(); }

 private:
  std::shared_ptr<held_transport> held_ = std::make_shared<held_transport>();
};

/// What another process makes of this message: its large tensors have yet to be fetched.
template <class T>
wire<T> from_elsewhere(T content) {
  return arrival_of<T>(frame_of(wire<T>{std::move(content)}));
}

}  // namespace troupe
