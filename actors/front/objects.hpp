// The objects that answers are made of, the notifications and the errors, described for rpc.discover and docs/protocol.md.
// Descriptions only: the core makes the objects.
#pragma once

#include <string_view>
#include <vector>

#include "actors/base/errors.hpp"

namespace holdfast::front {

struct field {
  std::string_view name;  // several at once when one sentence describes them all
  std::string_view sentence;
};

struct object_description {
  std::string_view name;
  std::vector<field> fields;
};

struct notification_description {
  std::string_view method;
  std::string_view when;
  std::vector<field> params;
};

struct error_description {
  error_code code;
  std::string_view sentence;
};

std::vector<object_description> const& described_objects();
std::vector<notification_description> const& described_notifications();
std::vector<error_description> const& described_errors();

}  // namespace holdfast::front
