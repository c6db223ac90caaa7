#include "actors/link/handshake.hpp"

#include <limits>
#include <utility>

#include "actors/link/json_reader.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::link {

namespace {

template <class Number>
Number small_number(json_fields& in, std::string_view key) {
  auto const found = in.number(key);
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());
  if (found <= most) return static_cast<Number>(found);
  in.fail(key, std::to_string(found), "an integer from 0 to " + std::to_string(most));
  return 0;
}

hello read_hello(json_fields& in, std::string& problem) {
  hello message;
  message.protocol = small_number<std::uint32_t>(in, "protocol");
  message.program = in.text("program");
  message.epoch = in.number("epoch");
  message.ack = in.number("ack");
  message.first = in.number("first");
  message.process.boot_id = in.text("boot_id");
  message.process.pid_namespace = in.number("pid_namespace");
  message.process.pid = small_number<std::int32_t>(in, "pid");
  message.process.start_time = in.number("start_time");
  message.ready = in.flag("ready");
  if (auto const* cells = in.list("cells")) {
    for (auto const& item : *cells) {
      auto const* found = item.if_object();
      if (!found) {
        in.fail("cells", "a list of something else", "a list of objects");
        break;
      }
      json_fields fields{*found, "cells", problem};
      auto cell = fields.text("cell");
      message.cells.push_back({cell_id{std::move(cell)}, fields.number("generation")});
    }
  }
  in.list("jobs");  // none are known yet, but the field is part of protocol 1
  message.dropped = in.number("dropped");
  message.python = in.optional_text("python").value_or("");
  return message;
}

}  // namespace

std::string to_json(attach const& message) {
  return json_writer{"attach"}
      .text("kernel", message.kernel)
      .text("token", message.token)
      .text("home", message.home)
      .number("incarnation", message.incarnation)
      .number("ack", message.ack)
      .number("grace_ms", message.grace_ms)
      .number("protocol", message.protocol)
      .take();
}

std::string to_json(hello const& message) {
  auto const cell = [](open_cell const& open) {
    return json_writer{}.text("cell", open.cell.text).number("generation", open.generation).take();
  };
  return json_writer{"hello"}
      .number("protocol", message.protocol)
      .text("program", message.program)
      .number("epoch", message.epoch)
      .number("ack", message.ack)
      .number("first", message.first)
      .text("boot_id", message.process.boot_id)
      .number("pid_namespace", message.process.pid_namespace)
      .integer("pid", message.process.pid)
      .number("start_time", message.process.start_time)
      .flag("ready", message.ready)
      .json("cells", json_list(message.cells, cell))
      .json("jobs", "[]")
      .number("dropped", message.dropped)
      .take();
}

std::string to_json(refused const& message) {
  json_writer out{"refused"};
  out.text("reason", message.reason).text("message", message.message);
  if (message.protocol != 0) out.number("protocol", message.protocol);
  return out.take();
}

tl::expected<std::variant<hello, refused>, std::string> parse_hello(std::string_view payload) {
  json_document document{payload};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields outer{*document.object(), "answer to attach", problem};
  auto const type = outer.text("type");
  std::variant<hello, refused> answer;
  if (type == "hello") {
    json_fields fields{*document.object(), "hello", problem};
    answer = read_hello(fields, problem);
  } else if (type == "refused") {
    json_fields fields{*document.object(), "refused", problem};
    auto reason = fields.text("reason");
    auto said = fields.text("message");
    auto const names_its_own = document.object()->contains("protocol");
    answer = refused{std::move(reason), std::move(said), names_its_own ? small_number<std::uint32_t>(fields, "protocol") : 0};
  } else {
    outer.fail("type", '"' + type.substr(0, 64) + '"', "hello or refused");
  }
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return answer;
}

tl::expected<attach, std::string> parse_attach(std::string_view payload) {
  json_document document{payload};
  if (!document.object()) return tl::unexpected(document.problem());
  std::string problem;
  json_fields fields{*document.object(), "attach", problem};
  if (auto const type = fields.text("type"); type != "attach") fields.fail("type", '"' + type.substr(0, 64) + '"', "attach");
  attach message;
  message.kernel = fields.text("kernel");
  message.token = fields.text("token");
  message.home = fields.text("home");
  message.incarnation = fields.number("incarnation");
  message.ack = fields.number("ack");
  message.grace_ms = fields.number("grace_ms");
  message.protocol = small_number<std::uint32_t>(fields, "protocol");
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return message;
}

}  // namespace holdfast::link
