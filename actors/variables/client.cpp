#include <troupe/actors/fibers/stray_messages.hpp>
#include <troupe/actors/variables/client.hpp>

#include <utility>

namespace troupe {

client_actor::behavior_type client_state::make_behavior(dialer_actor dialer, variable_client_options options,
                                                        session_id session) {
  tolerate_stray_messages(self_);
  variables_ = std::make_unique<variable_client>(self_, clock_, std::move(dialer), options);
  variables_->begin_session(session);
  self_->set_down_handler([this](caf::down_msg& down) {
    variables_->down(down.source, status_of(down.reason, "the link to a server"));
    variables_->flush();
  });
  return {
      [this](perform_atom, const std::shared_ptr<operation_group>& group) {
        variables_->submit(group);
        variables_->flush();
      },
      [this](view_atom, wire<cluster_view>& view) {
        if (view.open().ok()) variables_->take_view(*view);
      },
      [this](dismiss_atom) { variables_->close(session_over); },
  };
}

client_actor::behavior_type client(client_state::pointer self, dialer_actor dialer, variable_client_options options,
                                   session_id session) {
  return self->state.make_behavior(std::move(dialer), options, session);
}

}  // namespace troupe
