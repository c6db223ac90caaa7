// Where the rows of the method table stand: one function per group, in its own file, and what their rows have in common.
// Used by methods.cpp alone to put the table together.
#pragma once

#include <cstdint>
#include <vector>

#include "actors/base/defaults.hpp"
#include "actors/front/methods.hpp"

namespace holdfast::front {

constexpr auto max_code_bytes = static_cast<std::int64_t>(defaults::source_limit);
constexpr std::int64_t max_variables_bytes = std::int64_t{128} << 10;
constexpr std::int64_t max_output_page = std::int64_t{1} << 20;  // escaped at its worst it still fits a line
constexpr std::int64_t max_duration_ms = std::int64_t{365} * 24 * 3600 * 1000;
constexpr std::int64_t max_offset = (std::int64_t{1} << 53) - 1;  // exact in every JSON reader

std::vector<method> cell_methods();
std::vector<method> session_methods();
std::vector<method> kernel_methods();
std::vector<method> job_methods();
std::vector<method> notice_methods();
std::vector<method> gateway_methods();

// Params that many methods have.
param owner_param();
param child_param();
param session_param();
param limit_param();
param after_param();
/// An id that a list is narrowed to; null: all.
param filter_param(std::string_view name, std::string_view sentence);
/// S of the contract: owner, child, session; then the method's own.
std::vector<param> with_session(std::vector<param> own);
session_key read_key(arguments const& given);
/// A call to the session that the params name.
call to_session(arguments const& given, decltype(session_call::what) what);
call to_supervisor(decltype(supervisor_call::what) what);

}  // namespace holdfast::front
