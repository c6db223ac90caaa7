#include "actors/base/unix_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/forked.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace holdfast;
using test::temporary_directory;

namespace {

unique_fd must_listen(std::filesystem::path const& path, int backlog = 8) {
  auto listener = listen_unix(path, backlog);
  if (!listener) FAIL("cannot listen: errno " << listener.error());
  return std::move(*listener);
}

void check_flags(unique_fd const& fd) {
  CHECK((::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(fd.get(), F_GETFL) & O_NONBLOCK) != 0);
}

}  // namespace

TEST_CASE("what is connected is accepted, non-blocking and close-on-exec") {
  temporary_directory const directory;
  auto const listener = must_listen(directory / "s");

  auto const client = connect_unix(directory / "s");
  REQUIRE(client);
  unique_fd const server(::accept(listener.get(), nullptr, nullptr));
  REQUIRE(server);
  REQUIRE(::send(client->get(), "x", 1, MSG_NOSIGNAL) == 1);
  char byte = 0;
  CHECK(::recv(server.get(), &byte, 1, 0) == 1);
  CHECK(byte == 'x');
  check_flags(listener);
  check_flags(*client);
}

TEST_CASE("a path longer than sun_path works for both ends") {
  temporary_directory const directory;
  auto const deep = directory.path() / std::string(100, 'a') / std::string(100, 'b');
  std::filesystem::create_directories(deep);
  auto const listener = must_listen(deep / "kernel.sock");

  CHECK(connect_unix(deep / "kernel.sock"));
  CHECK(connect_unix(deep / std::string(200, 'c')).error() == ENAMETOOLONG);
  CHECK(connect_unix(directory.path() / std::string(200, 'x') / "s").error() == ENOENT);
}

TEST_CASE("a socket is 0600 from its first moment under any umask") {
  temporary_directory const directory;
  auto const before = ::umask(0);
  auto const listener = must_listen(directory / "s");
  ::umask(before);

  struct stat found {};
  REQUIRE(::stat((directory / "s").c_str(), &found) == 0);
  CHECK((found.st_mode & 07777) == 0600);
}

TEST_CASE("another user cannot connect") {
  temporary_directory const directory;
  auto const listener = must_listen(directory / "s");
  if (::geteuid() != 0) return;  // there is no other user to be

  ::chmod(directory.path().c_str(), 0755);
  CHECK(test::as_nobody([&] { return connect_unix(directory / "s").error() == EACCES ? 0 : 1; }) == 0);
}

TEST_CASE("no listener, no file and a full backlog are told apart") {
  temporary_directory const directory;
  CHECK(connect_unix(directory / "s").error() == ENOENT);

  auto listener = must_listen(directory / "s", 1);
  std::vector<unique_fd> queued;
  tl::expected<unique_fd, int> last = connect_unix(directory / "s");
  while (last && queued.size() < 100) {
    queued.push_back(std::move(*last));
    last = connect_unix(directory / "s");
  }
  CHECK(last.error() == EAGAIN);
  CHECK(listen_unix(directory / "s", 1).error() == EADDRINUSE);

  listener.reset();
  CHECK(connect_unix(directory / "s").error() == ECONNREFUSED);
}

TEST_CASE("a stale socket file is replaced, a live one and another file are not") {
  temporary_directory const directory;
  must_listen(directory / "s").reset();
  auto const listener = must_listen(directory / "s");
  CHECK(connect_unix(directory / "s"));

  CHECK(listen_unix(directory / "s", 8).error() == EADDRINUSE);
  CHECK(connect_unix(directory / "s"));

  test::write_file(directory / "file", "precious");
  CHECK(listen_unix(directory / "file", 8).error() == ENOTSOCK);
  CHECK(test::read_file(directory / "file") == "precious");
}

TEST_CASE("the other end is named by its credentials") {
  temporary_directory const directory;
  auto const listener = must_listen(directory / "s");
  auto const client = connect_unix(directory / "s");
  REQUIRE(client);

  auto const found = peer(client->get());
  REQUIRE(found);
  CHECK(found->pid == ::getpid());
  CHECK(found->uid == ::geteuid());
  CHECK(is_trusted_peer(client->get()));
  CHECK_FALSE(peer(-1));
  CHECK_FALSE(is_trusted_peer(-1));
}

TEST_CASE("another user's peer is not trusted, root is") {
  if (::geteuid() != 0) return;  // only root can be two users
  temporary_directory const directory;
  auto const listener = must_listen(directory / "s");
  ::chmod(directory.path().c_str(), 0755);
  ::chmod((directory / "s").c_str(), 0666);
  test::gate checked;
  test::forked nobody([&] {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
    auto const client = connect_unix(directory / "s");
    checked.wait();
    return client && is_trusted_peer(client->get()) ? 0 : 1;  // root listens
  });

  pollfd arrival{listener.get(), POLLIN, 0};
  REQUIRE(::poll(&arrival, 1, 10'000) == 1);
  unique_fd const server(::accept(listener.get(), nullptr, nullptr));
  CHECK_FALSE(is_trusted_peer(server.get()));
  checked.open();
  CHECK(nobody.exit_code() == 0);
}
