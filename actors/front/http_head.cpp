#include "actors/front/http_head.hpp"

namespace holdfast::front {
namespace {

std::string response(std::string_view status, std::string_view type, std::string_view body) {
  std::string out = "HTTP/1.1 ";
  out.append(status).append("\r\nContent-Type: ").append(type);
  out.append("\r\nContent-Length: ").append(std::to_string(body.size()));
  return out.append("\r\nConnection: close\r\n\r\n").append(body);
}

constexpr std::string_view plain = "text/plain; charset=utf-8";

}  // namespace

http_asked read_http_head(std::string_view received) {
  if (received.substr(0, http_head_limit).find("\r\n\r\n") == std::string_view::npos)
    return received.size() < http_head_limit ? http_asked::incomplete : http_asked::not_http;
  auto const line = received.substr(0, received.find("\r\n"));
  auto const method_end = line.find(' ');
  auto const target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || target_end == method_end || !line.substr(target_end).starts_with(" HTTP/1."))
    return http_asked::not_http;
  if (line.substr(0, method_end) != "GET") return http_asked::other_method;
  auto const target = line.substr(method_end + 1, target_end - method_end - 1);
  return target.substr(0, target.find('?')) == "/metrics" ? http_asked::metrics : http_asked::elsewhere;
}

std::string http_response(http_asked asked, std::string_view body) {
  switch (asked) {
    case http_asked::metrics: return response("200 OK", "text/plain; version=0.0.4; charset=utf-8", body);
    case http_asked::elsewhere: return response("404 Not Found", plain, "only /metrics is here\n");
    case http_asked::other_method: return response("405 Method Not Allowed\r\nAllow: GET", plain, "only GET is answered\n");
    case http_asked::incomplete:
    case http_asked::not_http: break;
  }
  return response("400 Bad Request", plain, "wanted GET /metrics HTTP/1.1\n");
}

std::string http_unavailable(std::string_view why) { return response("503 Service Unavailable", plain, std::string(why) + "\n"); }

}  // namespace holdfast::front
