// What an event's `details` say: always the reason, that is, why it came to what the kind names. The fields are described in
// actors/front/notifications.cpp. Pure.
#pragma once

#include <string>
#include <string_view>

#include "actors/base/errors.hpp"
#include "storage/records.hpp"

namespace holdfast::core {

/// {reason}: of what needs no other word.
std::string reason_details(std::string_view reason);
/// {kernel, reason}: started, dropped, ended, hibernated.
std::string kernel_details(kernel_id const& kernel, std::string_view reason);
std::string attached_details(kernel_id const& kernel, std::uint64_t epoch, std::string_view reason);

/// `reason`: whether it goes to its kernel at once or waits behind others.
std::string accepted_details(storage::cell_record const& cell);
/// `reason`: as in the result's kernel, why it runs in this one.
std::string started_details(storage::cell_record const& cell, std::string_view reason);
/// `why`: `done` when its kernel said how it ended, which its status then tells more of; else what ended it.
std::string finished_details(storage::cell_record const& cell, std::string_view why);
/// The cell is null when its client gave it no id.
std::string refused_details(error_code code, cell_id const& cell);

std::string job_started_details(storage::job_record const& job);
std::string job_finished_details(storage::job_record const& job);

}  // namespace holdfast::core
