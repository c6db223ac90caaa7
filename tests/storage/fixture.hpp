// A home in a directory of its own, removed with the object, and rows to put in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <stdlib.h>
#include <catch2/catch.hpp>

#include "storage/stores.hpp"

namespace holdfast::storage {

inline std::string describe(failure const& why) { return std::string(to_string(why.code)) + ": " + why.text; }

/// The value, or a failed test that shows the failure.
template <class T>
T taken(result<T> outcome) {
  INFO((outcome ? std::string() : describe(outcome.error())));
  REQUIRE(outcome.has_value());
  if constexpr (!std::is_void_v<T>) return *std::move(outcome);
}

class temporary_directory {
 public:
  temporary_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "holdfast-storage-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(temporary_directory const&) = delete;
  temporary_directory& operator=(temporary_directory const&) = delete;
  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct test_home {
  temporary_directory directory;
  options how{directory.path() / "home", "boot-1", "machine-1", std::size_t{1} << 30, {}};

  std::unique_ptr<stores> open() const { return taken(stores::open(how)); }
  failure refused() const {
    auto opened = stores::open(how);
    REQUIRE_FALSE(opened.has_value());
    return opened.error();
  }
  std::filesystem::path disk() const { return how.home / "store" / "disk"; }
  std::filesystem::path boot() const { return how.home / "store" / "boot"; }
};

inline void commit_boot(stores& into, changes const& all) { taken(into.commit_boot(all)); }
inline void commit_disk(stores& into, changes const& unit) { taken(into.commit_disk(std::vector<changes>{unit})); }

inline std::string bytes_of(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline digest digest_of(std::uint8_t fill) {
  digest value;
  value.fill(fill);
  return value;
}

inline session_record session_row(session_number number, std::string session = "default", std::string owner = "default",
                                  std::string child = "") {
  session_record row;
  row.number = number;
  row.key = {std::move(owner), std::move(child), std::move(session)};
  row.created_at = 1'700'000'000'000 + static_cast<unix_ms>(number);
  row.slots.push_back({3, "far", "python3.12", {"read_file", "web_search"}, "died"});
  row.slot = 3;
  return row;
}

inline cell_record queued_cell(session_number session, cell_number number) {
  cell_record row;
  row.session = session;
  row.number = number;
  row.cell = cell_id("c-" + std::to_string(number));
  row.code = digest_of(static_cast<std::uint8_t>(number));
  row.source = "print(" + std::to_string(number) + ")";
  row.queued_at = 1'700'000'000'000;
  return row;
}

inline cell_record running_cell(session_number session, cell_number number) {
  auto row = queued_cell(session, number);
  row.status = cell_status::running;
  row.started_at = row.queued_at + 1;
  row.kernel = kernel_id("k-1");
  return row;
}

inline cell_record final_cell(session_number session, cell_number number, cell_status status = cell_status::ok) {
  auto row = running_cell(session, number);
  row.status = status;
  row.finished_at = row.queued_at + 2;
  row.result = R"({"status":"ok"})";
  return row;
}

inline link_record link_row(std::string kernel, std::uint64_t last_seq = 7) {
  link_record row;
  row.kernel = kernel_id(std::move(kernel));
  row.session = 1;
  row.state = link_state::live;
  row.token = std::string(64, 'a');
  row.nursery = nursery_id("y-1");
  row.directory = "run/k-1";
  row.process = {"boot-1", 4026531836, 4711, 123456};
  row.program = "digest";
  row.protocol = 1;
  row.epoch = 3;
  row.last_seq = last_seq;
  row.generation = 5;
  row.started_at = 1'700'000'000'000;
  row.idle_since = 1'700'000'000'009;
  row.slot = 3;
  row.tools = {"a"};
  return row;
}

inline link_record remote_link_row(std::string kernel, std::uint64_t last_seq = 7) {
  auto row = link_row(std::move(kernel), last_seq);
  row.environment = "far";
  row.process.boot_id = "another machine's";
  return row;
}

inline nursery_record nursery_row(std::string nursery) {
  return {nursery_id(std::move(nursery)), "key",         "/usr/bin/python3",  "program",
          std::string(64, 'b'),           "nursery/y-1", {"boot-1", 1, 2, 3}, 1'700'000'000'000};
}

inline job_record job_row(session_number session, std::string job, job_state state = job_state::running) {
  job_record row;
  row.session = session;
  row.job = job_id(std::move(job));
  row.kernel = kernel_id("k-1");
  row.cell = cell_id("c-1");
  row.command = "sleep 5";
  row.pid = 4712;
  row.start_time = 123457;
  row.group = 4712;
  row.keep = true;
  row.state = state;
  row.started_at = 1'700'000'000'000;
  if (has_ended(state)) {
    row.exit_code = -9;
    row.timed_out = true;
    row.finished_at = row.started_at + 7;
    row.output_bytes = 12;
    row.notice = notice_id("n-1");
  }
  return row;
}

inline saved_record saved_row(session_number session, std::string reason = "stop", std::uint32_t slot = 0) {
  auto file = "state/" + std::to_string(session) + "." + std::to_string(slot);
  return {session,
          slot,
          kernel_id("k-1"),
          std::move(file),
          std::move(reason),
          4711,
          1'700'000'000'000,
          {"x", "y"},
          {{"lock", "cannot be pickled"}}};
}

inline notice_record notice_row(session_number session, std::string notice) {
  return {notice_id(std::move(notice)), session, "state_lost", "the kernel was found dead", R"({"jobs":[]})", 1'700'000'000'000};
}

}  // namespace holdfast::storage
