#include "bench/bare.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/link/frame.hpp"
#include "bench/processes.hpp"

namespace holdfast::bench {

bare_ping_pong::bare_ping_pong() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("cannot create a socket pair");
  link_ = ends[0];
  peer_ = start_program({"python3", "-B", HOLDFAST_BENCH_DIRECTORY "/bare_peer.py"}, {}, ends[1]);
  ::close(ends[1]);
}

bare_ping_pong::~bare_ping_pong() {
  ::close(link_);  // the end of its input ends it
  ::waitpid(peer_, nullptr, 0);
}

std::string bare_ping_pong::run(std::string const& code) {
  auto const cell = "c-" + std::to_string(++seq_);
  std::string out;
  link::append(out, seq_, seq_ - 1,
               boost::json::serialize(boost::json::object{{"type", "execute"}, {"cell", cell}, {"code", code}}));
  if (::send(link_, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size()))
    throw std::runtime_error("the bare peer takes nothing");
  char in[4096];
  auto const count = ::recv(link_, in, sizeof(in), 0);
  if (count <= static_cast<ssize_t>(link::header_bytes)) throw std::runtime_error("the bare peer is gone");
  auto const answer = boost::json::parse({in + link::header_bytes, static_cast<std::size_t>(count) - link::header_bytes});
  return std::string(answer.at("value").as_string());
}

}  // namespace holdfast::bench
