#include "actors/front/dispatch.hpp"

#include "actors/front/methods.hpp"

namespace holdfast::front {

std::optional<tl::expected<std::string, error>> dispatch(core_port& core, call_defaults const& defaults, std::string_view method,
                                                         boost::json::object const& params, reply_to from) {
  auto checked = read_call(method, params);
  if (!checked) return tl::unexpected(std::move(checked.error()));
  if (auto* session = std::get_if<session_call>(&*checked)) {
    if (auto* run = std::get_if<run_cell>(&session->what)) {
      if (!params.contains("timeout_ms")) run->timeout_ms = defaults.cell_timeout.count();
      if (!params.contains("background_after_ms")) run->background_after_ms = defaults.background_after.count();
    }
    session->from = std::move(from);
    core.route(std::move(*session));
    return std::nullopt;
  }
  if (auto* supervisor = std::get_if<supervisor_call>(&*checked)) {
    supervisor->from = std::move(from);
    core.route(std::move(*supervisor));
    return std::nullopt;
  }
  return discover_text();
}

}  // namespace holdfast::front
