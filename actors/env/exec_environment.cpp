#include "actors/env/exec_environment.hpp"

#include <signal.h>

#include <fstream>
#include <list>

#include <boost/json/array.hpp>
#include <caf/io/middleman.hpp>

#include "actors/base/caf.hpp"
#include "actors/base/defaults.hpp"
#include "actors/base/home.hpp"
#include "actors/env/exec_commands.hpp"
#include "actors/env/exec_per_call.hpp"
#include "actors/link/json_reader.hpp"

namespace holdfast::env {

namespace json = boost::json;
using std::chrono::steady_clock;

namespace {

json::object as_json(storage::process_identity const& process) {
  return {{"boot_id", process.boot_id},
          {"pid_namespace", process.pid_namespace},
          {"pid", process.pid},
          {"start_time", process.start_time}};
}

/// What a `spawned` says; the error is a text.
tl::expected<kernel_spawned, std::string> read_spawned(relay_reply const& reply) {
  std::string problem;
  link::json_fields fields(reply.head, "spawned", problem);
  kernel_spawned made;
  made.nursery = nursery_id(fields.text("nursery"));
  made.python = fields.text("python");
  made.program = fields.text("program");
  made.process.boot_id = fields.text("boot_id");
  made.process.pid_namespace = fields.number("pid_namespace");
  made.process.pid = static_cast<std::int32_t>(fields.number("pid"));
  made.process.start_time = fields.number("start_time");
  if (!problem.empty()) return tl::unexpected(std::move(problem));
  return made;
}

/// What a `remains` says of the file of the session's namespace.
std::optional<exit_known::state_file> read_state(relay_reply const& reply) {
  auto const* found = reply.head.if_contains("state");
  auto const* object = found != nullptr ? found->if_object() : nullptr;
  if (object == nullptr) return std::nullopt;
  std::string problem;
  link::json_fields fields(*object, "state", problem);
  exit_known::state_file file{fields.number("bytes"), static_cast<storage::unix_ms>(fields.number("written_at"))};
  if (!problem.empty()) return std::nullopt;
  return file;
}

struct exec_state {
  /// A dead kernel whose remains have not come yet.
  struct exit_wait {
    await_exit asked;
    steady_time until;
    std::optional<steady_time> try_at;  // none: a command is underway
  };
  struct removal {
    remove_kernel what;
    std::uint32_t tries = 0;
    std::optional<steady_time> try_at;
  };

  exec_state(caf::io::broker* broker, exec_options given)
      : self(broker),
        options(std::move(given)),
        commands(std::make_unique<exec_commands>(self, options.registered, options.home_id,
                                                 options.settings.scaled(defaults::command_wait))),
        per_calls(
            self, options,
            [this](json::object head, std::string frames, milliseconds timeout, bool is_urgent, exec_commands::on_reply then) {
              run(std::move(head), std::move(frames), timeout, is_urgent, std::move(then));
            },
            [this](steady_time when) { wake.at(self, when); },
            [this](std::string const& name) {
              on_remove({kernel_id(name), {}});
            }) {}

  caf::io::broker* self;
  exec_options options;
  std::unique_ptr<exec_commands> commands;
  exec_per_calls per_calls;
  std::list<exit_wait> exit_waits;
  std::list<removal> removals;
  std::optional<steady_time> quit_at;  // it has let go
  alarm wake;

  config const& settings() const { return options.settings; }

  void run(json::object head, std::string frames, milliseconds timeout, bool is_urgent, exec_commands::on_reply then,
           std::shared_ptr<command_start> begin = {}) {
    commands->run(std::move(head), std::move(frames), timeout, is_urgent, std::move(then), std::move(begin));
    wake.at(self, steady_clock::now() + std::min(timeout + defaults::late_command, settings().scaled(defaults::command_wait)));
  }

  json::object about(std::string_view operation, kernel_id const& kernel, storage::process_identity const& process) const {
    return {{"operation", operation}, {"kernel", kernel.text}, {"process", as_json(process)}};
  }

  // ---- spawning ----

  void on_spawn(spawn_kernel request) {
    auto const& own = options.registered;
    json::object variables;
    for (auto const& [name, value] : request.variables) variables[name] = value;
    json::array passed(settings().pass_env.begin(), settings().pass_env.end());
    json::array preload(settings().preload.begin(), settings().preload.end());
    auto const scaled = [this](milliseconds time) { return settings().scaled(time).count(); };
    json::object head{{"operation", "spawn"},
                      {"kernel", request.kernel.text},
                      {"token", request.token},
                      {"python", request.python.empty() ? own.python : request.python},
                      {"cwd", request.cwd},
                      {"env", std::move(variables)},
                      {"usual", usual_variables()},
                      {"pass_env", std::move(passed)},
                      {"preload", std::move(preload)},
                      {"state", request.state},
                      {"tools", json::array(request.tools.begin(), request.tools.end())},
                      {"tools_module", settings().tools_module},
                      {"incarnation", options.incarnation},
                      {"grace_ms", scaled(settings().grace)},
                      {"first_grace_ms", scaled(defaults::first_grace)},
                      {"interrupt_grace_ms", settings().interrupt_grace.count()},
                      {"nursery_idle_ms", scaled(defaults::nursery_idle)}};
    auto const timeout = std::min(defaults::nursery_start + defaults::spawn_deadline + defaults::command_margin, own.longest);
    run(std::move(head), {}, timeout, false, [this, asker = request.asker, kernel = request.kernel](auto reply) {
      auto made = !reply                                 ? tl::unexpected(reply.error())
                  : text_of(*reply, "type") == "spawned" ? read_spawned(*reply)
                                                         : tl::unexpected(text_of(*reply, "message"));
      if (made) return self->send(asker, std::move(*made));
      // Not known to have failed there as well: whatever came to be is ended.
      if (!reply) on_remove({kernel, {}});
      self->send(asker,
                 spawn_refused{error{error_code::start_failed,
                                     "cannot start kernel " + kernel.text + " in " + options.registered.name + ": " + made.error(),
                                     {}}});
    });
  }

  // ---- trips ----

  void on_carry(carry request) {
    auto const margin = std::min(defaults::command_margin, options.registered.longest / 2);
    auto const wait = std::min(defaults::relay_wait, options.registered.longest - margin);
    auto head = about("carry", request.kernel, request.process);
    auto const& attach = request.trip.message;
    head["attach"] = json::object{{"kernel", attach.kernel}, {"home", attach.home},         {"incarnation", attach.incarnation},
                                  {"ack", attach.ack},       {"grace_ms", attach.grace_ms}, {"protocol", attach.protocol}};
    head["wait_ms"] = wait.count();
    head["daemon_home"] = settings().home.string();
    // Those behind a first one have something to end, or to ask beside what is waited for.
    run(
        std::move(head), std::move(request.trip.frames), wait + margin, request.is_urgent,
        [this, asker = request.asker, number = request.trip.number](auto reply) {
          auto outcome = reply ? read_brought(std::move(*reply)) : tl::unexpected(std::move(reply.error()));
          self->send(asker, carried{number, std::move(outcome)});
        },
        std::move(request.begin));
  }

  // ---- ends ----

  void on_signal(signal_process const& request) {
    auto head = about("signal", request.kernel, request.process);
    head["signal"] = request.number;
    run(std::move(head), {}, defaults::command_margin, true, [this, asker = request.asker](auto reply) {
      self->send(asker, process_signalled{reply && text_of(*reply, "state") == "gone"});
    });
  }

  void on_await_exit(await_exit request) {
    auto const until = steady_clock::now() + settings().scaled(defaults::remains_patience);
    exit_waits.push_back({std::move(request), until, steady_clock::now()});
    on_wake();
  }

  void ask_remains(exit_wait& wait) {
    wait.try_at.reset();
    auto head = about("remains", wait.asked.kernel, wait.asked.process);
    head["nursery"] = wait.asked.nursery.text;
    head["state"] = wait.asked.state;
    run(std::move(head), {}, defaults::command_margin, true, [this, kernel = wait.asked.kernel](auto reply) {
      auto found =
          std::find_if(exit_waits.begin(), exit_waits.end(), [&](auto const& each) { return each.asked.kernel == kernel; });
      if (found == exit_waits.end()) return;
      auto const has_come = reply && text_of(*reply, "type") == "remains";
      if (!has_come && steady_clock::now() < found->until) {
        found->try_at = steady_clock::now() + settings().scaled_delay(defaults::attach_retry_most);
        return wake.at(self, *found->try_at);
      }
      if (has_come) keep_remains(kernel, reply->frames);
      self->send(found->asked.asker, exit_known{{}, has_come ? read_state(*reply) : std::nullopt});
      exit_waits.erase(found);
    });
  }

  /// Under the kernel's own name in our home, where those of local kernels are read, too.
  void keep_remains(kernel_id const& kernel, std::string const& frames) const {
    auto const directory = settings().home / "run" / kernel.text;
    if (auto made = make_private_directory(directory); !made) return log::warn("remains-not-kept", "{}", made.error().message);
    link::decoder bytes;
    bytes.feed(frames);
    for (auto const* name : {"exit", "spool", "journal"}) {
      auto const item = bytes.next();
      auto const* content = item ? std::get_if<link::frame>(&*item) : nullptr;
      if (content == nullptr || content->payload.empty()) continue;
      std::ofstream(directory / name, std::ios::binary) << content->payload;
    }
  }

  void on_remove(remove_kernel what) {
    removals.push_back({std::move(what), 0, steady_clock::now()});
    on_wake();
  }

  void ask_removal(removal& due) {
    due.try_at.reset();
    ++due.tries;
    run(about("remove", due.what.kernel, due.what.process), {}, defaults::command_margin, true,
        [this, kernel = due.what.kernel](auto reply) {
          auto found = std::find_if(removals.begin(), removals.end(), [&](auto const& each) { return each.what.kernel == kernel; });
          if (found == removals.end()) return;
          if ((reply && text_of(*reply, "type") == "removed") || found->tries >= defaults::removals_tried) {
            removals.erase(found);
            return quit_if_done();
          }
          found->try_at = steady_clock::now() + settings().scaled_delay(defaults::removal_retry);
          wake.at(self, *found->try_at);
        });
  }

  void on_wake() {
    auto const now = steady_clock::now();
    if (wake.due(self, quit_at, now)) return self->quit();
    if (auto const next = commands->give_up_late(now)) wake.at(self, *next);
    for (auto& each : exit_waits)
      if (wake.due(self, each.try_at, now)) ask_remains(each);
    for (auto& each : removals)
      if (wake.due(self, each.try_at, now)) ask_removal(each);
    per_calls.on_wake(now);
  }

  // ---- the end of the gateway ----

  /// Kernels live on. What is left of others is removed first, if that does not take long.
  void on_let_go() {
    quit_at = steady_clock::now() + settings().scaled(defaults::settle_deadline);
    wake.at(self, *quit_at);
    quit_if_done();
  }

  void quit_if_done() {
    if (quit_at && removals.empty()) self->quit();
  }
};

}  // namespace

caf::actor spawn_exec_environment(caf::actor_system& system, exec_options options) {
  return system.middleman().spawn_broker([options = std::move(options)](caf::io::broker* self) -> caf::behavior {
    set_handlers(self, "exec-environment");
    auto state = std::make_shared<exec_state>(self, options);
    return {
        [state](spawn_kernel& request) { state->on_spawn(std::move(request)); },
        [state](carry& request) { state->on_carry(std::move(request)); },
        [state](signal_process const& request) { state->on_signal(request); },
        [state](await_exit& request) { state->on_await_exit(std::move(request)); },
        [state](remove_kernel& what) { state->on_remove(std::move(what)); },
        [state](run_per_call& asked) { state->per_calls.start(std::move(asked)); },
        [state](order_per_call const& given) { state->per_calls.order(given); },
        [state](command_ended& ended) { state->commands->on_ended(std::move(ended)); },
        [state](wake_up const& message) {
          if (state->wake.take(message)) state->on_wake();
        },
        [state](let_go const&) { state->on_let_go(); },
    };
  });
}

}  // namespace holdfast::env
