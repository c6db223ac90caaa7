#include "python_peer.hpp"

#include <catch2/catch.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::link::test {

python_peer::python_peer(std::uint64_t frames, std::string const& token, std::string const& defect) {
  int control[2];
  int printed[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control) == 0);
  REQUIRE(::pipe2(printed, O_CLOEXEC) == 0);
  auto const* chosen = std::getenv("HOLDFAST_PYTHON");
  std::string python = chosen ? chosen : "python3";
  std::string script = std::string{HOLDFAST_SOURCE_DIR} + "/tests/link/wire_peer.py";
  auto descriptor = std::to_string(control[1]);
  auto count = std::to_string(frames);
  auto secret = token;
  auto planted = defect;
  std::string flag = "-B";
  char* arguments[] = {python.data(), flag.data(),   script.data(),  descriptor.data(),
                       count.data(),  secret.data(), planted.data(), nullptr};

  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    ::fcntl(control[1], F_SETFD, 0);
    ::dup2(printed[1], STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    ::_exit(127);
  }
  ::close(control[1]);
  ::close(printed[1]);
  control_ = control[0];
  printed_ = printed[0];
}

python_peer::~python_peer() {
  if (control_ >= 0) ::close(control_);
  if (printed_ >= 0) ::close(printed_);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

int python_peer::connect() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
  char byte = 'c';
  ::iovec data{&byte, 1};
  alignas(::cmsghdr) char ancillary[CMSG_SPACE(sizeof(int))] = {};
  ::msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = ancillary;
  message.msg_controllen = sizeof(ancillary);
  auto* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &ends[1], sizeof(int));
  auto const sent = ::sendmsg(control_, &message, MSG_NOSIGNAL);
  ::close(ends[1]);
  REQUIRE(sent == 1);
  return ends[0];
}

std::string python_peer::finish() {
  ::close(std::exchange(control_, -1));
  std::string text;
  char buffer[4096];
  for (;;) {
    auto const count = ::read(printed_, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  int status = 0;
  ::waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : "";
}

}  // namespace holdfast::link::test
