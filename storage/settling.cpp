#include "storage/settling.hpp"

#include <algorithm>

#include "storage/codecs.hpp"
#include "storage/keys.hpp"
#include "storage/sweep.hpp"

namespace holdfast::storage {
namespace {

struct settle {
  write_transaction& in;

  void operator()(put_session const& what) const {
    auto const& row = what.row;
    auto const key = key_of(row.number);
    auto const here = in.get(table::sessions, key);
    if (!here) return;
    std::string committed;
    encode<session_codec>(key, row, committed);
    if (*here != committed) return;  // written anew since
    in.erase(table::sessions, key);
    in.erase(table::session_keys, key_of(row.key));
    in.erase(table::owners, owner_key(row.key.owner, row.number));
  }

  void operator()(erase_session const& what) const {
    auto budget = rows_per_sweep;
    auto const key = key_of(what.number);
    if (in.has(table::doomed, key) && sweep_session(in, what.number, budget)) in.erase(table::doomed, key);
  }

  void operator()(erase_notice const& what) const {
    auto const key = key_of(what.session, what.notice.text);
    if (auto const here = in.find<notice_codec>(key); here && here->withdrawn) in.erase(table::notices, key);
  }

  template <class Other>
  void operator()(Other const&) const {}
};

bool matters(change const& what) {
  return std::holds_alternative<put_session>(what) || std::holds_alternative<erase_session>(what) ||
         std::holds_alternative<erase_notice>(what);
}

}  // namespace

void settling::add(changes const& unit) {
  if (std::none_of(unit.begin(), unit.end(), matters)) return;
  std::lock_guard lock(mutex_);
  std::copy_if(unit.begin(), unit.end(), std::back_inserter(committed_), matters);
  waiting_ = true;
}

std::size_t settling::carry_out(write_transaction& in_boot, std::size_t limit) {
  if (!waiting_) return 0;
  changes taken;
  {
    std::lock_guard lock(mutex_);
    auto const count = static_cast<std::ptrdiff_t>(std::min(limit, committed_.size()));
    taken.assign(committed_.begin(), committed_.begin() + count);
  }
  for (auto const& what : taken) std::visit(settle{in_boot}, what);
  return taken.size();
}

void settling::forget(std::size_t first) {
  if (first == 0) return;
  std::lock_guard lock(mutex_);
  committed_.erase(committed_.begin(), committed_.begin() + static_cast<std::ptrdiff_t>(first));
  waiting_ = !committed_.empty();
}

}  // namespace holdfast::storage
