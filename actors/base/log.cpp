#include "actors/base/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "actors/base/defaults.hpp"

namespace holdfast::log {
namespace {

std::atomic<level> least_level{level::off};
std::mutex logger_mutex;
std::shared_ptr<spdlog::logger> logger;  // none while off; replaced under logger_mutex

spdlog::level::level_enum spdlog_level(level at) {
  switch (at) {
    case level::info: return spdlog::level::info;
    case level::warn: return spdlog::level::warn;
    case level::error: return spdlog::level::err;
    case level::off: break;
  }
  return spdlog::level::off;
}

void install(spdlog::sink_ptr sink, level least) {
  auto fresh = std::make_shared<spdlog::logger>("holdfast", std::move(sink));
  fresh->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc));
  fresh->set_level(spdlog::level::info);
  fresh->flush_on(spdlog::level::info);  // a line must be there after SIGKILL
  // A full disk must not make spdlog print to stderr for ever, nor throw into the caller: the line is lost.
  fresh->set_error_handler([](std::string const&) {});
  std::lock_guard const lock(logger_mutex);
  logger = std::move(fresh);
  least_level.store(least, std::memory_order_relaxed);
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      line += fmt::format("\\x{:02x}", byte);
    else
      line += c;
  }
  return line;
}

}  // namespace

result<void> open(std::filesystem::path const& path, level least) {
  // The file is made here, as fopen() would make it readable by others for a moment. Rotation comes by here too.
  spdlog::file_event_handlers handlers;
  handlers.before_open = [](spdlog::filename_t const& name) {
    int const fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
    if (fd >= 0) ::close(fd);
    struct stat status {};
    if (::stat(name.c_str(), &status) == 0 && S_ISFIFO(status.st_mode))
      throw spdlog::spdlog_ex("it is a pipe");  // opening it waits
  };
  handlers.after_open = [](spdlog::filename_t const&, std::FILE* file) {
    ::fcntl(fileno(file), F_SETFD, FD_CLOEXEC);  // kernels must not hold the log
  };
  try {
    install(std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path.string(), defaults::log_file_size, defaults::log_files - 1,
                                                                   false, handlers),
            least);
  } catch (spdlog::spdlog_ex const& problem) {
    return fail(error_code::internal, fmt::format("cannot open log {}: {}", path.string(), problem.what()));
  }
  return {};
}

void open_stderr(level least) { install(std::make_shared<spdlog::sinks::stderr_sink_mt>(), least); }

void close() {
  std::lock_guard const lock(logger_mutex);
  least_level.store(level::off, std::memory_order_relaxed);
  logger.reset();
}

bool is_enabled(level at) { return at >= least_level.load(std::memory_order_relaxed) && at != level::off; }

void write(level at, std::string_view event, std::string_view text) {
  if (!is_enabled(at)) return;
  std::shared_ptr<spdlog::logger> current;
  {
    std::lock_guard const lock(logger_mutex);
    current = logger;
  }
  if (!current) return;
  auto const line = one_line(fmt::format("{} {}", event, text));
  current->log(spdlog_level(at), spdlog::string_view_t(line));
}

}  // namespace holdfast::log
