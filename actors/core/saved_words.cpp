#include "actors/core/saved_words.hpp"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "actors/base/defaults.hpp"
#include "actors/link/json_writer.hpp"

namespace holdfast::core {

namespace {

/// The first of `all` by commas, each made by `word`, and how many more there are: those of `all` and `more` beside them.
template <class List, class Word>
std::string listed(List const& all, std::uint64_t more, Word word) {
  std::string text;
  auto const shown = std::min(all.size(), defaults::saved_names_told);
  for (std::size_t at = 0; at < shown; ++at) text += (at == 0 ? "" : ", ") + word(all[at]);
  auto const rest = all.size() - shown + more;
  return rest > 0 ? text + " and " + std::to_string(rest) + " more" : text;
}

template <class List>
List cut(List list) {
  if (list.size() > defaults::saved_names_listed) list.resize(defaults::saved_names_listed);
  return list;
}

std::string skipped_in_words(link::namespace_told const& told) {
  return listed(told.skipped, told.more_skipped, [](auto const& each) { return each.name + " (" + each.reason + ")"; });
}

void write_skipped(link::json_writer& out, link::namespace_told const& told) {
  out.json("jobs", "[]").json("cells", "[]");
  out.json("skipped", link::json_list(cut(told.skipped), [](storage::skipped_name const& each) {
             return link::json_writer{}.text("name", each.name).text("reason", each.reason).take();
           }));
}

}  // namespace

std::string evicted_in_words(eviction_reason reason, link::namespace_told const& told) {
  std::string text = "the session's kernel was ended, as ";
  switch (reason) {
    case eviction_reason::idle: text += "no cell and no job ran in it for longer than idle_seconds allows"; break;
    case eviction_reason::cap: text += "there were more kernels than allowed and it was idle for longest"; break;
    case eviction_reason::memory: text += "kernels used more memory than max_memory_mb allows and it was idle for longest"; break;
    case eviction_reason::upgraded: text += "it ran another version of the kernel's program than this daemon has"; break;
  }
  text += "; its namespace is saved and the next cell has it again";
  return told.skipped.empty() ? text : text + ", but for " + skipped_in_words(told);
}

std::string skipped_details(link::namespace_told const& told) {
  link::json_writer out;
  write_skipped(out, told);
  return out.take();
}

std::string restored_in_words(link::namespace_told const& told) {
  std::string text = "the session's kernel had ended with its namespace saved; a fresh one has it again";
  text += told.names.empty() ? ": no names" : ": " + listed(told.names, told.more_names, [](auto const& each) { return each; });
  return told.skipped.empty() ? text : text + "; missing: " + skipped_in_words(told);
}

std::string restored_details(link::namespace_told const& told) {
  link::json_writer out;
  write_skipped(out, told);
  out.json("names", link::json_list(cut(told.names), [](std::string const& each) {
             std::string text;
             link::append_json_string(text, each);
             return text;
           }));
  return out.take();
}

std::optional<std::string> why_not_saved(std::string_view log_tail) {
  constexpr std::string_view event = " namespace-not-saved ";
  auto const at = log_tail.rfind(event);
  if (at == std::string_view::npos) return {};
  auto const why = log_tail.substr(at + event.size());
  return std::string(why.substr(0, why.find('\n')));
}

std::string skipped_in(std::string const& details) {
  boost::json::error_code problem;
  auto const read = boost::json::parse(details, problem);
  if (problem || !read.is_object()) return "[]";
  auto const* skipped = read.get_object().if_contains("skipped");
  return skipped && skipped->is_array() ? boost::json::serialize(*skipped) : "[]";
}

}  // namespace holdfast::core
