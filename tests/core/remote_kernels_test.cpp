#include "actors/core/remote_kernels.hpp"

#include <catch2/catch.hpp>

using namespace holdfast;
using namespace holdfast::core;
using namespace holdfast::storage;

namespace {

link_record link_of(std::string kernel, std::string environment, std::uint32_t slot = 0, session_number session = 1) {
  link_record row;
  row.kernel = kernel_id(std::move(kernel));
  row.session = session;
  row.slot = slot;
  row.environment = std::move(environment);
  return row;
}

cell_record cell_of(session_number session, cell_number number) {
  cell_record row;
  row.session = session;
  row.number = number;
  return row;
}

outbox_record outbox_of(session_number session, cell_number number, std::uint32_t slot) {
  return {session, number, "x", false, slot, {}};
}

job_record job_of(std::string job, std::string kernel) {
  job_record row;
  row.session = 1;
  row.job = job_id(std::move(job));
  row.kernel = kernel_id(std::move(kernel));
  return row;
}

notice_record notice_of(session_number session) { return {notice_id("n-1"), session, "restarted", "", "{}", 0}; }

}  // namespace

TEST_CASE("of a session without a kernel elsewhere nothing follows") {
  remote_kernels elsewhere;
  unmoved_rows rows;

  CHECK_FALSE(elsewhere.note({put_link{link_of("k-1", "local")}}, rows));
  CHECK_FALSE(elsewhere.note({put_cell{cell_of(1, 1)}, put_outbox{outbox_of(1, 1, 0)}, put_notice{notice_of(1)}}, rows));
  CHECK_FALSE(elsewhere.note({put_cell{cell_of(1, 1)}, erase_outbox{1, 1}, erase_link{kernel_id("k-1")}}, rows));

  CHECK(rows.empty());
}

TEST_CASE("of a session with one its link, cells and notices follow, and sources for its slot alone") {
  remote_kernels elsewhere;
  unmoved_rows rows;

  CHECK(elsewhere.note({put_link{link_of("k-here", "local", 0)}, put_link{link_of("k-far", "far", 1)}}, rows));
  CHECK(elsewhere.note({put_cell{cell_of(1, 1)}, put_outbox{outbox_of(1, 1, 0)}, put_notice{notice_of(1)}}, rows));
  CHECK(elsewhere.note({put_cell{cell_of(1, 2)}, put_outbox{outbox_of(1, 2, 1)}}, rows));
  CHECK_FALSE(elsewhere.note({put_cell{cell_of(2, 1)}, put_outbox{outbox_of(2, 1, 1)}, put_notice{notice_of(2)}}, rows));

  CHECK(rows.links == std::set<kernel_id>{kernel_id("k-far")});
  CHECK(rows.cells == std::set<std::pair<session_number, cell_number>>{{1, 1}, {1, 2}});
  CHECK(rows.outboxes == std::map<std::pair<session_number, cell_number>, bool>{{{1, 1}, false}, {{1, 2}, true}});
  CHECK(rows.notices.size() == 1);
}

TEST_CASE("the end of a link takes what its unit says along, and later ones say nothing of it") {
  remote_kernels elsewhere;
  unmoved_rows rows;
  elsewhere.note({put_link{link_of("k-far", "far")}, put_link{link_of("k-next", "far", 1)}}, rows);
  elsewhere.note({put_link{link_of("k-far", "far")}}, rows);  // again: it has one slot all the same
  rows = {};

  CHECK(elsewhere.note({erase_link{kernel_id("k-far")}, put_cell{cell_of(1, 1)}, put_notice{notice_of(1)}}, rows));
  CHECK(elsewhere.note({erase_link{kernel_id("k-next")}}, rows));
  CHECK_FALSE(elsewhere.note({put_cell{cell_of(1, 2)}, put_outbox{outbox_of(1, 2, 0)}}, rows));

  CHECK(rows.links.size() == 2);
  CHECK(rows.cells.size() == 1);
  CHECK(rows.notices.size() == 1);
  CHECK(rows.outboxes.empty());
}

TEST_CASE("a job of a kernel elsewhere is new to disk, any other one only followed if it is there") {
  remote_kernels elsewhere;
  unmoved_rows rows;
  elsewhere.note({put_link{link_of("k-far", "far")}}, rows);

  CHECK(elsewhere.note({put_job{job_of("j-far", "k-far")}}, rows));
  CHECK_FALSE(elsewhere.note({put_job{job_of("j-here", "k-here")}}, rows));
  CHECK(elsewhere.note({erase_link{kernel_id("k-far")}}, rows));
  CHECK_FALSE(elsewhere.note({put_job{job_of("j-far", "k-far")}, put_job{job_of("j-old", "k-far")}}, rows));

  CHECK(rows.jobs.at({1, job_id("j-far")}));  // not copied yet when its kernel ended
  CHECK_FALSE(rows.jobs.at({1, job_id("j-here")}));
  CHECK_FALSE(rows.jobs.at({1, job_id("j-old")}));
}
