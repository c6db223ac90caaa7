#include "actors/env/relay_request.hpp"

#include <algorithm>
#include <charconv>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/link/frame.hpp"
#include "actors/link/json_reader.hpp"
#include "actors/link/utf8.hpp"
#include "bin/kernel/program.hpp"

namespace holdfast::env {

namespace json = boost::json;

namespace {

constexpr std::string_view marker = "\nholdfast-relay ";
constexpr std::size_t shown_output = 300;  // bytes, from its end

std::string_view first_steps() {
  auto const files = program_files();
  auto const found = std::find_if(files.begin(), files.end(), [](auto const& each) { return each.path == "relay_boot.py"; });
  return found == files.end() ? std::string_view{} : found->content;
}

std::string shown(std::string_view output) {
  auto const from = output.size() - std::min(output.size(), shown_output);
  auto text = link::to_utf8(output.substr(from));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return text.find_first_not_of(' ') == std::string::npos ? "nothing" : text;
}

json::array as_array(std::vector<std::string_view> const& words) {
  json::array list;
  for (auto const word : words) list.emplace_back(word);
  return list;
}

}  // namespace

std::vector<std::string> relay_command(std::string const& python) {
  return {python, "-I", "-S", "-c", "import sys; i = sys.stdin.buffer; exec(i.read(int(i.readline())))", "holdfast-relay"};
}

std::string relay_input(json::object const& head, std::string_view frames) {
  auto const steps = first_steps();
  auto input = std::to_string(steps.size()) + '\n';
  input.append(steps);
  link::append(input, 0, 0, json::serialize(head));
  input.append(frames);
  return input;
}

json::object stage_request() {
  json::object files;
  for (auto const& file : program_files()) files[file.path] = file.content;
  return {{"operation", "stage"}, {"files", std::move(files)}};
}

tl::expected<relay_reply, std::string> read_reply(std::string_view output, std::string_view nonce) {
  auto const begin = output.find(std::string(marker) + std::string(nonce) + ' ');
  auto const refuse = [&](std::string const& what) {
    return tl::unexpected("the command wrote no answer of a relay (" + what + "): " + shown(output));
  };
  if (begin == std::string_view::npos) return refuse("its line is not there");
  auto const line = output.substr(begin + marker.size() + nonce.size() + 1);
  std::size_t length = 0;
  auto const [end, failed] = std::from_chars(line.data(), line.data() + line.size(), length);
  if (failed != std::errc{} || end == line.data() + line.size() || *end != '\n') return refuse("its line has no length");
  auto const body = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
  if (body.size() < length || length < link::header_bytes) return refuse("it is cut short");
  auto const head_bytes = link::detail::read_big_endian<std::uint32_t>(body.data());
  if (head_bytes > length - link::header_bytes) return refuse("its head is cut short");
  json::error_code problem;
  auto head = json::parse({body.data() + link::header_bytes, head_bytes}, problem);
  if (problem || !head.is_object()) return refuse("its head is no JSON object");
  auto const read = link::header_bytes + head_bytes;
  return relay_reply{std::move(head.get_object()), std::string(body.substr(read, length - read))};
}

std::string text_of(relay_reply const& reply, std::string_view key) {
  auto const* found = reply.head.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string{};
}

tl::expected<link::brought, std::string> read_brought(relay_reply reply) {
  using ending = link::brought::ending;
  std::string problem;
  link::json_fields fields(reply.head, "carried", problem);
  link::brought made;
  auto const type = fields.text("type");
  if (type == "failed") return tl::unexpected(fields.optional_text("message").value_or("a relay failed"));
  auto const end = fields.text("end");
  made.message = fields.text("message");
  made.cells = fields.number("cells");
  made.requests = fields.number("requests");
  made.jobs = fields.number("jobs");
  if (type != "carried") fields.fail("type", type, "carried");
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  made.frames = std::move(reply.frames);
  if (end == "gone")
    made.end = ending::gone;
  else if (end == "unknown")
    made.end = ending::unknown;
  else
    made.end = end == "closed" ? ending::closed : ending::done;
  return made;
}

json::object usual_variables() {
  auto const usual = usual_words();
  return {{"names", as_array(usual.names)},
          {"prefixes", as_array(usual.prefixes)},
          {"secret_words", as_array(usual.secret_words)},
          {"interpreter_prefixes", as_array(usual.interpreter_prefixes)}};
}

}  // namespace holdfast::env
