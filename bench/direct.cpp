#include "bench/direct.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>

#include "actors/base/hash.hpp"
#include "actors/base/home.hpp"
#include "actors/base/spawn_process.hpp"
#include "actors/base/unix_socket.hpp"
#include "actors/env/start_nursery.hpp"
#include "actors/link/frame.hpp"
#include "actors/link/handshake.hpp"
#include "bench/processes.hpp"

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

constexpr int patience_ms = 30'000;
constexpr std::uint64_t grace_ms = 60'000;
constexpr char const* home_id = "home-of-the-benchmark";
constexpr char const* nursery_name = "y-bench";

std::map<std::string, std::string> few_variables() {
  std::map<std::string, std::string> chosen;
  for (auto const* name : {"PATH", "HOME", "LANG", "TMPDIR"})
    if (auto const* value = std::getenv(name)) chosen.emplace(name, value);
  return chosen;
}

template <class Message, class Expected>
Message as(Expected parsed, char const* wanted) {
  if (!parsed) throw std::runtime_error(parsed.error());
  if (auto* message = std::get_if<Message>(&*parsed)) return std::move(*message);
  throw std::runtime_error(std::string("something else came than ") + wanted);
}

}  // namespace

direct_link::direct_link(fs::path const& socket, std::string const& id, std::string const& token) {
  auto connected = connect_unix(socket);
  if (!connected) throw std::runtime_error("cannot connect to " + socket.string() + ": error " + std::to_string(connected.error()));
  fd_ = connected->release();
  link::attach attach;
  attach.kernel = id;
  attach.token = token;
  attach.home = home_id;
  attach.incarnation = 1;
  attach.grace_ms = grace_ms;
  write(0, link::to_json(attach));
  as<link::hello>(link::parse_hello(receive()), "hello");
}

direct_link::~direct_link() { ::close(fd_); }

void direct_link::send(std::string const& payload) { write(++sent_, payload); }

void direct_link::write(std::uint64_t seq, std::string const& payload) {
  std::string out;
  link::append(out, seq, received_, payload);
  if (::send(fd_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
    throw std::runtime_error("the link takes nothing");
}

std::string direct_link::receive() {
  for (;;) {
    while (auto item = decoder_.next()) {
      auto& frame = std::get<link::frame>(*item);
      if (frame.seq > 0) received_ = frame.seq;
      if (!frame.payload.empty()) return std::move(frame.payload);
    }
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, patience_ms) != 1) throw std::runtime_error("the link is silent");
    char in[65536];
    auto const count = ::recv(fd_, in, sizeof(in), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) throw std::runtime_error("the link was closed");
    decoder_.feed({in, static_cast<std::size_t>(count)});
  }
}

direct_kernel::direct_kernel(fs::path const& directory, link::spawned const& born, std::string const& token)
    : born_(born), link_(directory / "kernel.sock", born.kernel.text, token) {}

void direct_kernel::execute(std::string const& code) {
  link::execute message;
  message.generation = ++generation_;
  message.cell = cell_id("c-" + std::to_string(generation_));
  message.code = code;
  message.output_limit = std::uint64_t{16} << 20;
  link_.send(link::to_json(message));
}

link::done direct_kernel::run(std::string const& code) {
  execute(code);
  for (;;) {
    auto parsed = link::parse_from_kernel(link_.receive());
    if (!parsed) throw std::runtime_error(parsed.error());
    if (auto* done = std::get_if<link::done>(&*parsed)) return std::move(*done);
  }
}

void direct_kernel::start(std::string const& code) {
  execute(code);
  as<link::started>(link::parse_from_kernel(link_.receive()), "started");
}

direct_nursery::direct_nursery(fs::path home)
    : home_(std::move(home)), token_(random_hex(32)), link_(start(), nursery_name, token_) {}

fs::path direct_nursery::start() {
  auto const variables = few_variables();
  auto const path = variables.find("PATH");
  env::nursery_plan plan;
  plan.home = home_;
  plan.row.nursery = nursery_id(nursery_name);
  plan.row.python = find_program("python3", path == variables.end() ? "" : path->second).string();
  plan.row.program = "of the benchmark";
  plan.row.token = token_;
  plan.row.directory = "nursery";
  plan.home_id = home_id;
  plan.variables = variables;
  plan.idle_ms = grace_ms;
  if (auto prepared = prepare_home(home_); !prepared) throw std::runtime_error(prepared.error().message);
  if (auto started = env::start_nursery(plan); !started) throw std::runtime_error(started.error().message);
  return home_ / plan.row.directory / "nursery.sock";
}

direct_nursery::birth direct_nursery::spawn() {
  link::spawn message;
  message.kernel = kernel_id("k-" + std::to_string(++kernels_));
  message.token = token_;
  message.home = home_id;
  auto const directory = home_ / "run" / message.kernel.text;
  fs::create_directories(directory);
  message.directory = directory.string();
  message.cwd = home_.string();
  message.env = few_variables();
  message.grace_ms = grace_ms;
  message.first_grace_ms = grace_ms;
  message.interrupt_grace_ms = 2'000;
  link_.send(link::to_json(message));
  return {directory, as<link::spawned>(link::parse_from_nursery(link_.receive()), "spawned")};
}

direct_kernel direct_nursery::attach(birth const& kernel) { return {kernel.directory, kernel.born, token_}; }

void direct_nursery::wait_exited(kernel_id const& kernel) {
  if (as<link::exited>(link::parse_from_nursery(link_.receive()), "exited").kernel != kernel)
    throw std::runtime_error("another kernel than " + kernel.text + " ended");
}

}  // namespace holdfast::bench
