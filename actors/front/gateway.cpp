#include "holdfast/holdfast.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>

#include <boost/json/parse.hpp>

#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/base/log.hpp"
#include "actors/front/gateway_parts.hpp"
#include "actors/front/result_reader.hpp"
#include "actors/front/settings.hpp"

namespace holdfast {
namespace {

namespace json = boost::json;
using outcome = tl::expected<std::string, error>;

[[noreturn]] void raise(error const& problem) {
  throw failure(static_cast<int>(problem.code), std::string(to_string(problem.code)), is_retryable(problem.code), problem.message);
}

error ended() { return {error_code::shutting_down, "the gateway has not been started, or has ended", {}}; }

front::runtime& running(gateway::parts& parts) {
  if (!parts.runtime) raise(ended());
  return *parts.runtime;
}

std::string wait_for(std::future<outcome> future) {
  try {
    auto answered = future.get();
    if (!answered) raise(answered.error());
    return std::move(*answered);
  } catch (std::future_error const&) {
    raise(ended());  // the gateway ended before it looked at the call
  }
}

/// One message in, one promise out.
std::string call_and_wait(gateway::parts& parts, std::string method, json::object params) {
  auto promise = std::make_shared<std::promise<outcome>>();
  auto future = promise->get_future();
  running(parts).call(std::move(method), std::move(params),
                      [promise = std::move(promise)](outcome answered) { promise->set_value(std::move(answered)); });
  return wait_for(std::move(future));
}

json::object name_of(std::string const& owner, std::string const& child, std::string const& name) {
  json::object params;
  params["owner"] = owner;
  if (!child.empty()) params["child"] = child;
  params["session"] = name;
  return params;
}

void add_options(json::object& params, std::string_view code, run_options const& options) {
  params["code"] = code;
  if (!options.cell.empty()) params["cell"] = options.cell;
  if (options.environment) params["environment"] = *options.environment;
  if (options.python) params["python"] = *options.python;
  if (options.tools) params["tools"] = json::array(options.tools->begin(), options.tools->end());
  if (options.cwd) params["cwd"] = *options.cwd;
  if (options.timeout) params["timeout_ms"] = options.timeout->count();
  if (options.wait) params["wait_ms"] = options.wait->count();
  if (options.reset) params["reset"] = true;
  if (!options.if_kernel.empty()) params["if_kernel"] = options.if_kernel;
  if (options.on_output) params["stream"] = true;
  if (options.text_limit > 0) params["text_limit"] = static_cast<std::int64_t>(options.text_limit);
  if (options.env.empty()) return;
  json::object variables;
  for (auto const& [key, value] : options.env) variables[key] = value;
  params["env"] = std::move(variables);
}

/// Hands a cell's output to the callback thread; what piles up there is bounded, so a piece may be skipped.
front::on_notified output_handler(front::callback_thread& callbacks, run_options const& options) {
  if (!options.on_output) return {};
  return [&callbacks, on_output = options.on_output](std::string_view method, std::string const& params) {
    if (method != "cell.stream") return;
    callbacks.try_post(
        [on_output, params] {
          auto const piece = front::read_output_piece(params);
          if (!piece.text.empty()) on_output(piece.stream, piece.text, piece.offset);
        },
        params.size());
  };
}

void subscribe(gateway::parts& parts) {
  if (!parts.on_event && !parts.on_notice) return;
  json::object params;
  if (!parts.on_event) params["types"] = json::array{"notice"};
  auto& callbacks = *parts.callbacks;
  parts.runtime->subscribe(
      std::move(params),
      [](outcome const& answered) {
        if (!answered) log::error("subscribe-failed", "gateway cannot subscribe to events: {}", answered.error().message);
      },
      [&callbacks, on_event = parts.on_event, on_notice = parts.on_notice](std::string_view, std::string const& text) {
        callbacks.try_post(
            [on_event, on_notice, text] {
              auto const read = front::read_event(text);
              if (on_event) on_event(read);
              if (on_notice && read.kind == "notice") on_notice(front::read_notice(text));
            },
            text.size());
      });
}

}  // namespace

gateway::gateway(config configuration) : parts_(std::make_unique<parts>()) { parts_->configuration = std::move(configuration); }

gateway::gateway(std::unique_ptr<parts> made) : parts_(std::move(made)) {}

gateway::~gateway() {
  stop(kernels::keep);
  parts_->runtime.reset();
}

void gateway::on_notice(std::function<void(notice const&)> callback) { parts_->on_notice = std::move(callback); }
void gateway::on_event(std::function<void(event const&)> callback) { parts_->on_event = std::move(callback); }

void gateway::add_environment(std::string name, std::shared_ptr<exec_environment> environment) {
  std::lock_guard const lock(parts_->mutex);
  auto const refuse = [&](std::string const& why) {
    raise({error_code::invalid_params, "cannot add environment " + name + ": " + why, {{"param", "environment"}}});
  };
  if (parts_->runtime) refuse("the gateway has been started");
  auto const is_word = [](unsigned char each) { return std::isalnum(each) || (each != 0 && std::strchr("._:-", each) != nullptr); };
  if (name.empty() || name.size() > defaults::id_length_most || !std::all_of(name.begin(), name.end(), is_word))
    refuse("a name is 1 to 128 characters of A-Z a-z 0-9 . _ : -");
  if (name == "local") refuse("that is this machine");
  for (auto const& each : parts_->environments)
    if (each.name == name) refuse("there is one of that name");
  auto run = [environment](env::exec_command const& what) {
    auto done = environment->execute({what.argv, what.cwd, what.timeout, what.input});
    return env::exec_outcome{std::move(done.output), done.returncode};
  };
  parts_->environments.push_back(
      {std::move(name), environment->directory(), environment->python(), environment->longest_command(), std::move(run)});
}

std::string exec_environment::command::shell_line() const {
  std::string line;
  for (auto const& word : argv) {
    line += line.empty() ? "'" : " '";
    for (auto const each : word) line += each == '\'' ? std::string("'\\''") : std::string(1, each);
    line += '\'';
  }
  return line;
}

void gateway::start() {
  std::lock_guard const lock(parts_->mutex);
  if (parts_->runtime) raise({error_code::busy, "cannot start the gateway: it has been started before; make another one", {}});
  auto settings = front::merge_settings(parts_->configuration);
  if (!settings) raise(settings.error());
  if (auto prepared = prepare_home(settings->home); !prepared) raise(prepared.error());
  if (auto opened = log::open(settings->home / "daemon.log"); !opened) raise(opened.error());
  if (!parts_->callbacks) parts_->callbacks = std::make_unique<front::callback_thread>();
  auto started =
      front::runtime::start({std::move(*settings), parts_->configuration.listen, parts_->start_core, parts_->environments});
  if (!started) raise(started.error());
  parts_->runtime = std::move(*started);
  subscribe(*parts_);
}

session gateway::open_session(std::string owner, std::string child, std::string name) {
  return session(*this, std::move(owner), std::move(child), std::move(name));
}

std::string gateway::call(std::string_view method, std::string_view params_json) {
  json::error_code code;
  auto params = json::parse({params_json.data(), params_json.size()}, code);
  if (code || !params.is_object())
    raise({error_code::invalid_params, "cannot call " + std::string(method) + ": the params are not a JSON object", {}});
  return call_and_wait(*parts_, std::string(method), std::move(params.get_object()));
}

void gateway::stop(kernels what) {
  std::lock_guard const lock(parts_->mutex);
  if (parts_->runtime) parts_->runtime->stop(what == kernels::end);
}

session::session(gateway& owner_gateway, std::string owner, std::string child, std::string name)
    : gateway_(&owner_gateway), owner_(std::move(owner)), child_(std::move(child)), name_(std::move(name)) {}

cell_result session::run(std::string_view code, run_options const& options) {
  if (options.on_output) return run_async(code, options).get();
  auto params = name_of(owner_, child_, name_);
  add_options(params, code, options);
  return front::read_result(call_and_wait(*gateway_->parts_, "run", std::move(params)));
}

std::future<cell_result> session::run_async(std::string_view code, run_options const& options) {
  auto& runtime = running(*gateway_->parts_);
  auto params = name_of(owner_, child_, name_);
  add_options(params, code, options);
  // Destroyed unset when the gateway ends before it looks at the call.
  struct pending {
    std::promise<cell_result> promise;
    bool is_set = false;
    ~pending() {
      if (!is_set) finish(tl::unexpected(ended()));
    }
    void finish(outcome answered) {
      is_set = true;
      if (answered)
        promise.set_value(front::read_result(std::move(*answered)));
      else
        promise.set_exception(
            std::make_exception_ptr(failure(static_cast<int>(answered.error().code), std::string(to_string(answered.error().code)),
                                            is_retryable(answered.error().code), answered.error().message)));
    }
  };
  auto waiting = std::make_shared<pending>();
  auto future = waiting->promise.get_future();
  auto& callbacks = *gateway_->parts_->callbacks;
  bool const after_output = static_cast<bool>(options.on_output);
  runtime.call(
      "run", std::move(params),
      [waiting = std::move(waiting), &callbacks, after_output](outcome answered) {
        if (!after_output) return waiting->finish(std::move(answered));
        callbacks.post([waiting, answered = std::move(answered)] { waiting->finish(answered); });
      },
      output_handler(callbacks, options));
  return future;
}

cell_result session::cell_get(std::string_view cell, std::size_t text_limit) {
  auto params = name_of(owner_, child_, name_);
  params["cell"] = cell;
  if (text_limit > 0) params["text_limit"] = static_cast<std::int64_t>(text_limit);
  return front::read_result(call_and_wait(*gateway_->parts_, "cell.get", std::move(params)));
}

cell_result session::cell_wait(std::string_view cell, std::optional<std::chrono::milliseconds> wait, std::size_t text_limit) {
  auto params = name_of(owner_, child_, name_);
  params["cell"] = cell;
  if (text_limit > 0) params["text_limit"] = static_cast<std::int64_t>(text_limit);
  if (wait) params["wait_ms"] = wait->count();
  return front::read_result(call_and_wait(*gateway_->parts_, "cell.wait", std::move(params)));
}

cell_result session::interrupt(std::string_view cell) {
  auto params = name_of(owner_, child_, name_);
  if (!cell.empty()) params["cell"] = cell;
  return front::read_result(call_and_wait(*gateway_->parts_, "cell.interrupt", std::move(params)));
}

void session::reset() { call_and_wait(*gateway_->parts_, "session.reset", name_of(owner_, child_, name_)); }
void session::close() { call_and_wait(*gateway_->parts_, "session.close", name_of(owner_, child_, name_)); }

}  // namespace holdfast
