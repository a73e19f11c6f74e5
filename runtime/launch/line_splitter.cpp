#include <troupe/runtime/launch/line_splitter.hpp>

namespace troupe {

void line_splitter::feed(std::string_view bytes, const sink& on_piece) {
  for (const auto byte : bytes) {
    if (byte == '\n') {
      end_line(on_piece);
    } else if (byte == '\r') {
      has_returned_ = at_return_ = true;
    } else {
      if (at_return_) text_.clear();
      at_return_ = false;
      text_.push_back(byte);
      if (text_.size() == line_bytes_max) end_line(on_piece);
    }
  }
  if (has_returned_ && !bytes.empty() && bytes.back() != '\n') on_piece(kind::status, text_);
}

void line_splitter::finish(const sink& on_piece) {
  if (!text_.empty()) end_line(on_piece);
  has_returned_ = at_return_ = false;
}

void line_splitter::end_line(const sink& on_piece) {
  on_piece(kind::line, text_);
  text_.clear();
  has_returned_ = at_return_ = false;
}

}  // namespace troupe
