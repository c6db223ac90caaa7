// docs/protocol.md, written from the method table.
#include <boost/json/serialize.hpp>

#include "actors/front/methods.hpp"
#include "actors/front/objects.hpp"

namespace holdfast::front {
namespace {

constexpr std::string_view introduction = R"(# Protocol 1.0

Written from the daemon's method table (`actors/front/*_methods.cpp`), which requests are checked against: do not edit. `rpc.discover`
answers the same table as JSON: params, the fields of every answer, errors.

JSON-RPC 2.0 at `$HOLDFAST_HOME/holdfast.sock`, a unix stream socket for the same user only: one object in UTF-8 a line, 8 MiB at most, 64
levels deep, no key twice in one object. Params go by name. Batches and requests without an id are refused. An id is a number or a
string and goes back as it came. Requests run side by side and are answered when ready; a closed connection cancels nothing. A line
must be complete 30 s after its first byte. A client that does not read loses `cell.stream` notifications once 8 MiB wait for it
(`dropped_bytes` tells), and its connection at 64 MiB.

**An error means that nothing ran.** What becomes of an accepted cell is a result. Unknown params are refused and named. Clients ignore
unknown fields: minor versions only add.

An *id* given by a client is 1 to 128 characters of `A-Z a-z 0-9 . _ : -`; a cell's is scoped to owner, child and session. The daemon's
begin with `k-` (kernel), `c-` (cell), `j-` (job) and `n-` (notice). Instants are RFC 3339 in UTC with milliseconds, durations integers in
milliseconds (`_ms`), sizes bytes. Lists answer `{items, next}`; `next` is null at the end.
A page may hold fewer items than asked for, even none, and have a `next` all the same: one request looks through so many rows.

The examples work in this order on one connection to a fresh home. Ids, pids, times, counts and paths of the daemon's own will
differ; where an example shows an object with some of its fields, the others are left out.
)";

std::string one_line(boost::json::value const& value) { return boost::json::serialize(value); }

std::string errors_of(std::vector<error_code> const& codes) {
  std::string text;
  for (auto code : codes)
    text += (text.empty() ? "" : ", ") + std::to_string(static_cast<int>(code)) + " " + std::string(to_string(code));
  return text;
}

void add_params(std::string& out, std::vector<param> const& params) {
  if (params.empty()) {
    out += "No params.\n\n";
    return;
  }
  out += "| param | type | default | limits | |\n|---|---|---|---|---|\n";
  for (auto const& each : params) {
    out += "| `" + std::string(each.name) + "` | " + std::string(json_type(each.type)) + " | ";
    out += (each.required ? "required" : "`" + one_line(each.fallback) + "`") + " | " + limits_of(each) + " | " +
           std::string(each.sentence) + " |\n";
  }
  out += '\n';
}

void add_examples(std::string& out, method const& described, int& id) {
  for (auto const& each : described.examples) {
    auto const number = std::to_string(++id);
    out += "```json request\n{\"jsonrpc\": \"2.0\", \"id\": " + number + ", \"method\": \"" + std::string(described.name) +
           "\", \"params\": " + std::string(each.params) + "}\n```\n\n";
    out +=
        "```json response\n{\"jsonrpc\": \"2.0\", \"id\": " + number + ", \"result\": " + std::string(each.result) + "}\n```\n\n";
  }
}

void add_fields(std::string& out, std::string_view heading, std::vector<field> const& fields) {
  if (fields.empty()) {
    out += "No " + std::string(heading) + "s.\n\n";
    return;
  }
  out += "| " + std::string(heading) + " | type | meaning |\n|---|---|---|\n";
  for (auto const& each : fields) {
    auto meaning = std::string(each.sentence);
    if (!each.words.empty()) meaning += meaning.empty() ? "one of:" : "; one of:";
    for (auto word : each.words) meaning += " `" + std::string(word) + "`";
    out += "| `" + std::string(each.name) + "` | " + type_in_words(each) + " | " + meaning + " |\n";
  }
  out += '\n';
}

std::string answer_of(method const& described) {
  auto const object = "`" + std::string(described.result.object) + "`";
  return std::string(described.result.sentence) +
         (described.result.is_list ? ": `{items, next}` of " + object : " (" + object + ")");
}

}  // namespace

std::string protocol_markdown() {
  std::string out(introduction);
  out += "\nAny method may answer " + errors_of(common_errors()) + ".\n\n## Methods\n\n";
  int id = 0;
  for (auto const& each : methods()) {
    out += "### " + std::string(each.name) + "\n\n" + std::string(each.sentence) + "\n\n";
    add_params(out, each.params);
    out += "Answers " + answer_of(each) + ".";
    if (!each.errors.empty()) out += " Errors: " + errors_of(each.errors) + ".";
    out += "\n\n";
    add_examples(out, each, id);
  }
  out += "## Notifications\n\n";
  for (auto const& each : described_notifications()) {
    out += "### " + std::string(each.method) + "\n\n" + std::string(each.when) + "\n\n";
    add_fields(out, "param", each.params);
  }
  out += "## Events\n\nThe kinds of `event`, each with its `details`.\n\n";
  for (auto const& each : described_events()) {
    out += "### " + std::string(each.kind) + "\n\nWhen " + std::string(each.when) + ".\n\n";
    add_fields(out, "detail", each.details);
  }
  out += "## Objects\n\nEvery field is sent, unless it may be left out; the daemon sends no other.\n\n";
  for (auto const& each : described_objects()) {
    out += "### " + std::string(each.name) + "\n\n";
    add_fields(out, "field", each.fields);
  }
  out += "## Errors\n\nEach is an `error` object; retry: the same request may be sent again.\n\n";
  out += "| code | kind | retry | when |\n|---|---|---|---|\n";
  for (auto const& each : described_errors())
    out += "| " + std::to_string(static_cast<int>(each.code)) + " | " + std::string(to_string(each.code)) + " | " +
           (is_retryable(each.code) ? "yes" : "no") + " | " + std::string(each.sentence) + " |\n";
  return out;
}

}  // namespace holdfast::front
