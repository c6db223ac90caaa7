// Puts a cell's output on the view in order and without a gap: a piece that was shown before is cut off, a piece that is missing
// (the stream of a slow reader is thinned) is fetched from the record, and what the record no longer has is said to be left out.
#pragma once

#include <cstdint>

#include <boost/json/object.hpp>

#include "actors/front/client.hpp"
#include "bin/holdfast/cell_view.hpp"

namespace holdfast::cli {

class catch_up {
 public:
  enum class outcome { fine, connection_lost, reader_gone };

  /// `asks`: the params that name the cell. The view must outlive this.
  catch_up(cell_view& view, boost::json::object asks) : view_(view), asks_(std::move(asks)) {}

  /// A cell.stream notification (or a chunk of cell.output): {stream, offset, text}. Others that arrive while a gap is fetched go to
  /// `notified`.
  outcome add(boost::json::object const& piece, front::client& connection, front::client::on_notification const& notified);
  /// Shows everything below `end` that has not been shown.
  outcome to(std::uint64_t end, front::client& connection, front::client::on_notification const& notified = {});
  /// One page behind what was shown; `is_final` and `has_more` say what the daemon said.
  struct page {
    outcome came = outcome::fine;
    bool is_final = false;
    bool has_more = false;
    std::optional<error> problem;  // why there is no page
  };
  page read_page(front::client& connection, front::client::on_notification const& notified = {});

  /// Bytes of the cell's combined text that are dealt with.
  std::uint64_t shown() const { return shown_; }

 private:
  outcome show(boost::json::object const& piece);
  void skip_to(std::uint64_t offset);

  cell_view& view_;
  boost::json::object asks_;
  std::uint64_t shown_ = 0;
};

}  // namespace holdfast::cli
