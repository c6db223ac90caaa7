#include "bin/holdfast/failure.hpp"

#include <boost/json/serialize.hpp>

#include "bin/holdfast/exit_codes.hpp"
#include "bin/holdfast/format.hpp"
#include "bin/holdfast/streams.hpp"

namespace holdfast::cli {

int show_failure(error const& problem, bool json) {
  if (json) write_out(boost::json::serialize(boost::json::object{{"error", to_json(problem)}}) + "\n");
  complain(one_line(problem.message));
  return code_of_error(problem);
}

}  // namespace holdfast::cli
