// What the two stores cost: commits a second in each, alone and in groups, and reads of one row. Beside each: what LMDB alone took
// for a transaction of that kind when the stores were designed, on two cores.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <stdlib.h>

#include "storage/stores.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::storage;

constexpr std::size_t source_bytes = 1024;

/// A home of its own, with one session; removed with the object. Aborts the run if it cannot be had.
class bench_home {
 public:
  bench_home() {
    std::string name = (std::filesystem::temp_directory_path() / "holdfast-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
    directory_ = name;
    auto opened = stores::open({directory_ / "home", "boot", "machine", std::size_t{64} << 30, {}});
    if (!opened) throw std::runtime_error(opened.error().text);
    store_ = *std::move(opened);
    session_record session;
    session.number = 1;
    check(store_->commit_disk(std::vector<changes>{{put_session{session}}}));
  }
  ~bench_home() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  static void check(result<void> const& outcome) {
    if (!outcome) throw std::runtime_error(outcome.error().text);
  }
  stores& store() { return *store_; }

 private:
  std::filesystem::path directory_;
  std::unique_ptr<stores> store_;
};

cell_record cell_row(cell_number number, cell_status status) {
  cell_record row;
  row.session = 1;
  row.number = number;
  row.cell = cell_id("c-" + std::to_string(number));
  row.source = "print(1)";
  row.status = status;
  row.queued_at = 1;
  if (is_final(status)) row.result = std::string(600, 'r');
  return row;
}

changes acceptance(cell_number number) {
  return {put_cell{cell_row(number, cell_status::queued)}, put_outbox{{1, number, std::string(source_bytes, 'x'), false, {}, {}}}};
}

changes result_of(cell_number number) {
  link_record link;
  link.kernel = kernel_id("k-1");
  link.session = 1;
  link.last_seq = number;
  link.token = std::string(64, 'a');
  return {put_cell{cell_row(number, cell_status::ok)}, put_link{link}};
}

/// boot: put_cell + put_outbox, what an acceptance commits.
void boot_accept(benchmark::State& state) {
  bench_home home;
  cell_number number = 0;
  for (auto _ : state) {
    ++number;
    bench_home::check(home.store().commit_boot(acceptance(number)));
    state.PauseTiming();
    // As in life: what was accepted is soon final and gone, so that the tables stay small.
    bench_home::check(home.store().commit_boot(changes{put_cell{cell_row(number, cell_status::ok)}, erase_cell{1, number}}));
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations());
  state.SetLabel("LMDB alone: 5 us");
}
BENCHMARK(boot_accept);

/// boot: acceptance, start, result and removal of one cell: four commits.
void boot_life_of_a_cell(benchmark::State& state) {
  bench_home home;
  cell_number number = 0;
  for (auto _ : state) {
    ++number;
    auto started = cell_row(number, cell_status::running);
    started.started_at = 2;
    bench_home::check(home.store().commit_boot(acceptance(number)));
    bench_home::check(home.store().commit_boot(changes{put_cell{started}, erase_outbox{1, number}}));
    bench_home::check(home.store().commit_boot(result_of(number)));
    bench_home::check(home.store().commit_boot(changes{erase_cell{1, number}}));
  }
  state.SetItemsProcessed(state.iterations());
  state.SetLabel("LMDB alone: 4 x 5 us");
}
BENCHMARK(boot_life_of_a_cell);

/// disk: final cells in groups of range(0), one synced commit each.
void disk_group_commit(benchmark::State& state) {
  bench_home home;
  cell_number number = 0;
  for (auto _ : state) {
    std::vector<changes> units;
    for (std::int64_t i = 0; i < state.range(0); ++i) units.push_back({put_cell{cell_row(++number, cell_status::ok)}});
    bench_home::check(home.store().commit_disk(units));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetLabel(state.range(0) == 1 ? "LMDB alone: 248 us" : "LMDB alone: 16 x 16 us");
}
BENCHMARK(disk_group_commit)->Arg(1)->Arg(16)->UseRealTime();

void read_cell(benchmark::State& state) {
  bench_home home;
  bench_home::check(home.store().commit_boot(acceptance(1)));
  bench_home::check(home.store().commit_disk(std::vector<changes>{{put_cell{cell_row(2, cell_status::ok)}}}));
  auto const number = static_cast<cell_number>(state.range(0));  // 1: in boot, 2: in disk
  for (auto _ : state) benchmark::DoNotOptimize(home.store().cell(1, number));
  state.SetLabel("LMDB alone: 2 us");
}
BENCHMARK(read_cell)->Arg(1)->Arg(2);

void find_session_by_name(benchmark::State& state) {
  bench_home home;
  for (auto _ : state) benchmark::DoNotOptimize(home.store().find_session({}));
}
BENCHMARK(find_session_by_name);

/// What a start reads beside a hundred thousand final cells: nothing of it may depend on their number.
void open_cells_beside_many_final(benchmark::State& state) {
  bench_home home;
  cell_number number = 0;
  for (int group = 0; group < 100; ++group) {
    changes unit;
    for (int i = 0; i < 1000; ++i) unit.push_back(put_cell{cell_row(++number, cell_status::ok)});
    bench_home::check(home.store().commit_disk(std::vector<changes>{unit}));
  }
  bench_home::check(home.store().commit_boot(acceptance(number + 1)));
  for (auto _ : state) benchmark::DoNotOptimize(home.store().open_cells(0));
}
BENCHMARK(open_cells_beside_many_final);

}  // namespace
