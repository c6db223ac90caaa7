// What an HTTP request for /metrics must look like, and what it is answered. Pure; used by metrics_server.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::front {

constexpr std::size_t http_head_limit = 8192;  // bytes of a request up to its empty line

enum class http_asked { incomplete, metrics, elsewhere, other_method, not_http };

/// What the bytes that came so far ask for; `incomplete` until their empty line is there.
http_asked read_http_head(std::string_view received);

/// A whole response, after which the connection is closed. `body` is sent for `metrics` alone.
std::string http_response(http_asked asked, std::string_view body);
/// The same when the core has no answer.
std::string http_unavailable(std::string_view why);

}  // namespace holdfast::front
