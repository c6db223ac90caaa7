#include <catch2/catch.hpp>

#include "actors/front/http_head.hpp"

namespace holdfast::front {
namespace {

TEST_CASE("a request is read once its empty line is there") {
  CHECK(read_http_head("") == http_asked::incomplete);
  CHECK(read_http_head("GET /metrics HTTP/1.1\r\nHost: x\r\n") == http_asked::incomplete);
  CHECK(read_http_head("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n") == http_asked::metrics);
  CHECK(read_http_head("GET /metrics?x=1 HTTP/1.0\r\n\r\n") == http_asked::metrics);
}

TEST_CASE("anything but GET /metrics is told apart") {
  CHECK(read_http_head("GET / HTTP/1.1\r\n\r\n") == http_asked::elsewhere);
  CHECK(read_http_head("GET /metricsx HTTP/1.1\r\n\r\n") == http_asked::elsewhere);
  CHECK(read_http_head("POST /metrics HTTP/1.1\r\n\r\n") == http_asked::other_method);
  CHECK(read_http_head("GET /metrics\r\n\r\n") == http_asked::not_http);
  CHECK(read_http_head("\r\n\r\n") == http_asked::not_http);
  CHECK(read_http_head("GET  HTTP/1.1\r\n\r\n") == http_asked::elsewhere);
}

TEST_CASE("a head without an end is not waited for beyond its limit") {
  CHECK(read_http_head(std::string(http_head_limit - 1, 'x')) == http_asked::incomplete);
  CHECK(read_http_head(std::string(http_head_limit, 'x')) == http_asked::not_http);
  CHECK(read_http_head("GET /metrics HTTP/1.1\r\nA: " + std::string(http_head_limit, 'x') + "\r\n\r\n") == http_asked::not_http);
}

TEST_CASE("a response says its length and that the connection ends") {
  auto const text = http_response(http_asked::metrics, "up 1\n");

  CHECK(text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4"));
  CHECK(text.find("\r\nContent-Length: 5\r\nConnection: close\r\n\r\nup 1\n") != std::string::npos);
  CHECK(http_response(http_asked::elsewhere, "up 1\n").find("up 1") == std::string::npos);
}

}  // namespace
}  // namespace holdfast::front
