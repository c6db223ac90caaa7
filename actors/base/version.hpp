// What this build is, for clients: one place.
#pragma once

#include <string_view>

namespace holdfast {

inline constexpr std::string_view version = "0.1.0";
inline constexpr std::string_view client_protocol = "1.0";  // minor versions only add

}  // namespace holdfast
