#include "actors/core/display_store.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>

#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/link/image_file.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace fs = std::filesystem;

namespace {

std::optional<link::display> read_file(fs::path const& path) {
  auto text = link::read_image(path, defaults::frame_limit, "display");
  if (!text) return std::nullopt;
  auto parsed = link::parse_from_kernel(std::move(*text));
  if (!parsed) return std::nullopt;
  auto* found = std::get_if<link::display>(&*parsed);
  return found ? std::optional(std::move(*found)) : std::nullopt;
}

/// Text in the protocol; all other types are base64. displays.py counts by the same rule.
bool is_text(std::string_view mime) {
  constexpr std::array<std::string_view, 3> others = {"application/json", "application/javascript", "application/xml"};
  return mime.starts_with("text/") || mime.ends_with("+json") || mime.ends_with("+xml") ||
         std::find(others.begin(), others.end(), mime) != others.end();
}

/// None: it is not base64.
std::optional<std::uint64_t> decoded_bytes(std::string_view data) {
  std::uint64_t digits = 0, padding = 0;
  for (auto const each : data) {
    if (each == '\r' || each == '\n') continue;
    if (each == '=') {
      ++padding;
      continue;
    }
    auto const is_digit =
        (each >= 'A' && each <= 'Z') || (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '+' || each == '/';
    if (!is_digit || padding > 0) return std::nullopt;
    ++digits;
  }
  if (padding > 2 || (digits + padding) % 4 != 0) return std::nullopt;
  return digits * 3 / 4;
}

/// Moves the parts that `is_shown` does not want from data to omitted.
template <class Shown>
void leave_out(link::display& shown, bool is_written, Shown is_shown) {
  std::vector<link::display::part> left;
  for (auto& part : shown.data)
    if (is_shown(part))
      left.push_back(std::move(part));
    else
      shown.omitted.push_back({part.mime, payload_bytes(part.mime, part.data), is_written});
  shown.data = std::move(left);
}

}  // namespace

fs::path display_file(fs::path const& directory, std::uint64_t index) { return directory / std::to_string(index); }

std::uint64_t payload_bytes(std::string_view mime, std::string_view data) {
  if (is_text(mime)) return data.size();
  return decoded_bytes(data).value_or(data.size());  // a cell may give any text under any type
}

bool display_store::keep(link::display shown) {
  load();
  if (shown.index >= defaults::displays_most) return false;
  (void)make_private_directories(directory_);
  auto const path = display_file(directory_, shown.index);
  auto const whole = link::to_json(shown);
  std::ofstream file(path.string() + ".new", std::ios::binary | std::ios::trunc);
  file << whole;
  file.close();
  std::error_code problem;
  if (file) fs::rename(path.string() + ".new", path, problem);
  auto const is_written = file && !problem;
  take(std::move(shown), is_written);
  return is_written;
}

void display_store::take(link::display shown, bool is_written) {
  auto& kept = kept_[shown.index];
  for (auto const& part : kept.data) room_ += link::json_string_bytes(part.data);  // of the same one, which came before
  leave_out(shown, is_written, [&](auto const& part) {
    auto const bytes = link::json_string_bytes(part.data);
    if (!is_written || bytes > std::min(defaults::inline_display, room_)) return false;
    room_ -= bytes;
    return true;
  });
  kept = std::move(shown);
}

void display_store::load() {
  if (std::exchange(is_loaded_, true)) return;
  std::error_code problem;
  if (!fs::exists(directory_, problem)) return;
  for (std::uint64_t index = 0; index < defaults::displays_most;
       ++index)  // half written when the daemon died: the kernel sends it again
    if (auto found = read_file(display_file(directory_, index))) take(std::move(*found), true);
}

std::vector<link::display> display_store::inline_ones() {
  load();
  std::vector<link::display> shown;
  for (auto const& [index, each] : kept_) shown.push_back(each);
  return shown;
}

result<std::string> display_data(fs::path const& directory, std::uint64_t index, std::string const& mime) {
  auto const found = read_file(display_file(directory, index));
  if (!found)
    return fail(error_code::not_found,
                "no display " + std::to_string(index) + "; the cell's result lists its displays, cell.get shows it");
  std::string there;
  for (auto const& part : found->data) {
    if (part.mime == mime)
      return link::json_writer({}, part.data.size() + 64)
          .text("mime", mime)
          .text("data", part.data)
          .number("bytes", payload_bytes(part.mime, part.data))
          .take();
    there += (there.empty() ? "" : ", ") + part.mime;
  }
  return fail(error_code::not_found,
              "display " + std::to_string(index) + " has no " + mime + "; it has " + (there.empty() ? "nothing that fits" : there));
}

std::string display_json(link::display const& shown) {
  std::string data = "{";
  for (auto const& part : shown.data) {
    if (data.size() > 1) data += ',';
    link::append_json_string(data, part.mime);
    data += ':';
    link::append_json_string(data, part.data);
  }
  data += '}';
  link::json_writer out({}, data.size() + 128);
  out.number("index", shown.index).flag("main", shown.is_main).number("offset", shown.offset).json("data", data);
  out.json("metadata", shown.metadata.empty() ? "{}" : shown.metadata);
  out.json("omitted", link::json_list(shown.omitted, [](link::display::left_out const& each) {
             return link::json_writer{}.text("mime", each.mime).number("bytes", each.bytes).flag("kept", each.is_kept).take();
           }));
  return out.take();
}

}  // namespace holdfast::core
