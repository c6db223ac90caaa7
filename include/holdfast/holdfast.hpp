// Holdfast inside your own process: Python cells in kernels that outlive it. Standard library only.
//
//     holdfast::gateway gateway({.home = "/var/lib/agent/holdfast"});
//     gateway.start();  // kernels that an earlier process left are attached again
//     auto session = gateway.open_session("ada", "", "main");
//     auto result = session.run("x = 20; x + 1");  // result.value is "21"
//
// Errors: a `failure` is thrown when nothing ran: the request was refused, or the gateway does not work. What becomes of a cell
// that was accepted, its own exceptions, a timeout or the death of its kernel included, is a `cell_result`.
//
// Threads: every function may be called from any thread, and from the callbacks. All callbacks of a gateway come one after
// the other on one thread of the gateway's own. The gateway installs no signal handlers, writes to neither stdout nor stderr
// (its log is HOME/daemon.log, one per process: that of the gateway started last), and does not change the working directory.
//
// One process at a time may have a home: a daemon or a gateway.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// Nothing ran, and why. docs/protocol.md lists the codes.
class failure : public std::runtime_error {
 public:
  failure(int failure_code, std::string failure_kind, bool retry, std::string const& message)
      : std::runtime_error(message), code_(failure_code), kind_(std::move(failure_kind)), may_retry_(retry) {}

  int code() const noexcept { return code_; }
  /// Such as "cell_conflict".
  std::string const& kind() const noexcept { return kind_; }
  /// Whether the same request may succeed later.
  bool may_retry() const noexcept { return may_retry_; }

 private:
  int code_;
  std::string kind_;
  bool may_retry_;
};

struct run_options {
  std::string cell = {};                        // an id that never runs twice in this session; empty: a new one
  std::optional<std::string> environment = {};  // where its kernel lives; none: as last time, at first `local`
  std::optional<std::string> python = {};       // another one is another kernel of the session; none: as last time
  std::optional<std::vector<std::string>> tools =
      {};                                       // names that cells can import; another set is another kernel; none: as last time
  std::optional<std::string> cwd = {};          // of a fresh kernel, absolute
  std::map<std::string, std::string> env = {};  // of a fresh kernel, besides the usual ones
  std::optional<std::chrono::milliseconds> timeout = {};  // from its start; 0: none; left out: the configured one
  std::optional<std::chrono::milliseconds> wait = {};     // how long to block; then the result is not final and the cell goes on
  bool reset = false;                                     // run it in a fresh kernel
  std::string if_kernel = {};                             // run it only if the session still has this kernel
  std::size_t text_limit = 0;                             // bytes of cell_result::text, at least 256; 0: without
  /// The cell's output as it is written; every call comes before the result. On the callback thread.
  std::function<void(std::string_view stream, std::string_view text, std::uint64_t offset)> on_output = {};
};

struct cell_error {
  std::string name, message, traceback;
};

/// What is known of a cell. `json` has all of it, as docs/protocol.md describes the result object.
struct cell_result {
  std::string cell;
  std::string status;  // queued running (not final); ok error exit timeout interrupted lost (final)
  bool is_final = false;
  bool is_replayed = false;              // from the record: it did not run again
  std::string stdout_text, stderr_text;  // their heads and tails; cell.output has all
  std::optional<std::string> value;      // repr of the last expression
  std::optional<cell_error> error;
  std::optional<int> exit_code;
  std::vector<std::string> notices;  // what the session must be told once, such as the loss of its state
  std::chrono::milliseconds duration{0};
  std::string kernel;  // its id; empty when it had none
  std::string text;    // what a model should read; empty without text_limit
  std::string json;

  bool is_ok() const { return status == "ok"; }
};

/// Something that a session must be told once.
struct notice {
  std::string id, owner, child, session, kind, text;
};

struct event {
  std::uint64_t seq = 0;
  std::string kind;
  std::string json;  // all of it
};

/// A place for kernels that is reached by running commands there, each to its end: a container, a host behind ssh, a sandbox with an API.
/// What it needs there: a POSIX system with Python 3.8 or newer, /proc, and processes that outlive the command that started them.
///
/// A warm cell is one command. Kernels there go on when this process ends, and are attached again by the next one that registers the
/// same name. A command that fails, for whatever reason, says nothing about a kernel: it is tried again.
class exec_environment {
 public:
  struct command {
    std::vector<std::string> argv;
    std::string cwd;                    // empty: anywhere
    std::chrono::milliseconds timeout;  // end it after this; it then counts as failed
    std::string input;                  // its whole standard input, any bytes

    /// The same for where a command is one line for /bin/sh.
    std::string shell_line() const;
  };
  struct outcome {
    std::string output;  // its standard output, byte for byte
    int returncode = 0;
  };

  virtual ~exec_environment() = default;

  /// Runs a command to its end. Called on threads of the gateway's own, up to 72 at once, and may block for as long as its timeout; an
  /// exception counts as a failure. A call that is underway when the gateway ends is not waited for: this object lives until it returns.
  virtual outcome execute(command const& what) = 0;

  /// Where the far side keeps program, kernels and sockets; of this user alone. A leading ~ is the home directory there.
  virtual std::string directory() const { return "~/.local/state/holdfast/remote"; }
  /// The interpreter there, a path or a name: for the gateway's own work, and for kernels whose session names none.
  virtual std::string python() const { return "python3"; }
  /// How long one command may take at most, a second or more. A command waits there for a cell, and the next one goes on where it ended.
  virtual std::chrono::milliseconds longest_command() const { return std::chrono::seconds(40); }
};

enum class kernels { keep, end };

class gateway;

/// A handle to one conversation; cheap to copy. It must not be used after its gateway is gone.
class session {
 public:
  /// Runs the code and blocks until its result is final, or for options.wait.
  cell_result run(std::string_view code, run_options const& options = {});
  /// The same, later: get() gives the result or throws the failure.
  std::future<cell_result> run_async(std::string_view code, run_options const& options = {});

  /// What is known of a cell now.
  cell_result cell_get(std::string_view cell, std::size_t text_limit = 0);
  /// Blocks until the cell is final, or for `wait`.
  cell_result cell_wait(std::string_view cell, std::optional<std::chrono::milliseconds> wait = {}, std::size_t text_limit = 0);
  /// Ends a running or queued cell, the running one if none is named, and gives its result.
  cell_result interrupt(std::string_view cell = {});
  /// Ends the kernel with its state; a running cell ends as interrupted first.
  void reset();
  /// Resets the session and removes it with all its records.
  void close();

 private:
  friend class gateway;
  session(gateway& owner_gateway, std::string owner, std::string child, std::string name);

  gateway* gateway_;
  std::string owner_, child_, name_;
};

class gateway {
 public:
  struct config {
    std::string home = {};    // empty: HOLDFAST_HOME, else the user's state directory
    std::string python = {};  // empty: as configured, else python3 of PATH
    /// Any key of config.toml, such as {"grace_seconds", "600"}; they win over the environment and the file.
    std::map<std::string, std::string> settings = {};
    /// Also serve other processes at HOME/holdfast.sock, as the daemon does.
    bool listen = false;
  };

  explicit gateway(config configuration);
  gateway(gateway const&) = delete;
  gateway& operator=(gateway const&) = delete;
  /// As stop(kernels::keep).
  ~gateway();

  /// What every session must be told, when it is noted; it also rides on the session's next result. Before start().
  void on_notice(std::function<void(notice const&)> callback);
  /// Everything that happens. Before start(). Those that a slow callback lets pile up beyond 4,096 are dropped: `seq` then jumps.
  void on_event(std::function<void(event const&)> callback);

  /// Makes `environment` known as `name` to run_options::environment. Before start().
  void add_environment(std::string name, std::shared_ptr<exec_environment> environment);

  /// Takes the home and attaches the kernels that are there; returns while that goes on (a session waits for its own kernel).
  void start();

  /// The session need not exist: its first cell makes it. An empty child is none.
  session open_session(std::string owner = "default", std::string child = {}, std::string name = "default");

  /// Any method of docs/protocol.md, such as call("kernel.list", R"({"owner": "ada"})"); the answer's result as JSON text.
  std::string call(std::string_view method, std::string_view params_json = "{}");

  /// Ends the gateway; kernels::keep leaves kernels and their running cells for the next start. Who waits for a cell is answered with
  /// how it stands. Safe to call twice. Not from a callback.
  void stop(kernels what = kernels::keep);

  /// What is behind it; not for users.
  struct parts;
  explicit gateway(std::unique_ptr<parts> made);

 private:
  friend class session;
  std::unique_ptr<parts> parts_;
};

}  // namespace holdfast
