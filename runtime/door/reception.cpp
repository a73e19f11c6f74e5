#include <troupe/runtime/door/reception.hpp>

#include <array>
#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace troupe {

namespace {

class listening_in final : public reception {
 public:
  using shared = std::shared_ptr<const std::pair<first_words::judge, first_words::take>>;

  explicit listening_in(shared port) : port_(std::move(port)) {}

  finding hear(int socket) override {
    std::array<std::byte, first_words::bytes_max> peeked;
    const auto count = ::recv(socket, peeked.data(), peeked.size(), MSG_PEEK | MSG_DONTWAIT);
    if (count == 0) return finding::gone;
    if (count < 0) return errno == EAGAIN || errno == EINTR ? finding::undecided : finding::gone;
    const auto there = static_cast<std::size_t>(count);
    if (there == seen_) return finding::undecided;
    seen_ = there;
    const auto judged = port_->first(std::span{peeked}.first(there));
    switch (judged.found) {
      case first_words::verdict::welcome:
        return finding::right;
      case first_words::verdict::refuse:
        reason_ = judged.reason;
        return finding::wrong;
      case first_words::verdict::wait_for_more:
        break;
    }
    if (there < peeked.size()) return finding::undecided;
    reason_ = "what they sent first is longer than what this port speaks";
    return finding::wrong;
  }

  std::string reason() const override { return reason_; }

  bool has_begun() const override { return seen_ > 0; }

  void welcome(descriptor connection) override { port_->second(std::move(connection)); }

 private:
  const shared port_;
  std::size_t seen_ = 0;
  const char* reason_ = "";
};

}  // namespace

receptionist first_words::receive(judge judged, take given) {
  const auto port = std::make_shared<const std::pair<judge, take>>(std::move(judged), std::move(given));
  return [port] { return std::make_unique<listening_in>(port); };
}

}  // namespace troupe
