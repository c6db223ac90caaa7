// The daemon's rows as lines of a table and as facts for one of them. Pure.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "bin/holdfast/table.hpp"

namespace holdfast::cli {

using table_row = std::vector<std::string>;

table_row const& cell_headings();
table_row cell_row(boost::json::object const& item);
table_row const& session_headings();
table_row session_row(boost::json::object const& item);
table_row const& kernel_headings();
table_row kernel_row(boost::json::object const& item);
table_row const& variable_headings();
table_row variable_row(boost::json::object const& item);
table_row const& job_headings();
table_row job_row(boost::json::object const& item);
table_row const& notice_headings();
table_row notice_row(boost::json::object const& item);

facts session_facts(boost::json::object const& item);
/// What a fork left with the original: "job j-1 (make -j2)", "process 17 (sleep 5)", "connection 5 (socket to ...)".
std::vector<std::string> left_behind_lines(boost::json::object const& forked);
facts kernel_facts(boost::json::object const& item);
facts job_facts(boost::json::object const& item);
/// A result object but its output, value and traceback.
facts cell_facts(boost::json::object const& result);
facts status_facts(boost::json::object const& answer);

/// "2026-01-31 12:00:05  17  cell_finished  default/s1  {"cell":"c-1"}".
std::string event_line(boost::json::object const& event);

}  // namespace holdfast::cli
