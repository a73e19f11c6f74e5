#include <troupe/actors/values/codec.hpp>

#include <fmt/format.h>

namespace troupe {

void detail::rethrow_decoding_error(std::string_view type) {
  const auto context = [type] { return fmt::format("what arrived is no {}", type); };
  try {
    throw;
  } catch (const resource_exhausted_error&) {
    throw;  // this process has no memory left: nothing is wrong with the bytes
  } catch (const error& found) {
    throw data_loss_error(found.get_status().wrap(status_code::data_loss, context()));
  } catch (const cereal::Exception& found) {
    throw data_loss_error(status{status_code::data_loss, found.what()}.wrap(context()));
  }
}

}  // namespace troupe
