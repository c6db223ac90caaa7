// The schema of what clients are sent, for rpc.discover and docs/protocol.md: the objects that answers are made of, the notifications,
// the kinds of events, the errors. Descriptions only: the core makes the objects, and tests/end_to_end/test_protocol_schema.py compares
// every real answer with them, both ways.
#pragma once

#include <string_view>
#include <vector>

#include "actors/base/errors.hpp"
#include "actors/front/fields.hpp"

namespace holdfast::front {

/// Every field of it, in the order in which it is sent.
struct object_description {
  std::string_view name;
  std::vector<field> fields;
};

struct notification_description {
  std::string_view method;
  std::string_view when;
  std::vector<field> params;
};

/// One kind of event: the `event` notification's `kind` and its `details`.
struct event_description {
  std::string_view kind;
  std::string_view when;
  std::vector<field> details;
};

struct error_description {
  error_code code;
  std::string_view sentence;
};

// objects.cpp
std::vector<object_description> const& described_objects();
// table_objects.cpp: what rpc.discover itself is made of
std::vector<object_description> table_objects();
// notifications.cpp
std::vector<notification_description> const& described_notifications();
std::vector<event_description> const& described_events();
// errors.cpp
std::vector<error_description> const& described_errors();

// The words of states and kinds, for params and fields alike.
std::vector<std::string_view> cell_statuses();
std::vector<std::string_view> session_states();
std::vector<std::string_view> kernel_states();
std::vector<std::string_view> job_states();
std::vector<std::string_view> event_kinds();

}  // namespace holdfast::front
