// Bytes of a job and of its id.
#include "storage/codecs.hpp"

namespace holdfast::storage {
namespace {

constexpr std::size_t state_offset = 1;  // behind the version
constexpr std::uint8_t state_end = static_cast<std::uint8_t>(job_state::lost) + 1;

}  // namespace

char const* to_string(job_state state) {
  switch (state) {
    case job_state::running: return "running";
    case job_state::finished: return "finished";
    case job_state::stopped: return "stopped";
    case job_state::lost: return "lost";
  }
  return "lost";
}

void job_codec::write(byte_writer& out, row const& from) {
  out.u8(static_cast<std::uint8_t>(from.state));
  out.text(from.kernel.text);
  out.text(from.cell.text);
  out.text(from.command);
  out.i32(from.pid);
  out.u64(from.start_time);
  out.i32(from.group);
  out.boolean(from.keep);
  out.boolean(from.timed_out);
  out.boolean(from.exit_code.has_value());
  if (from.exit_code) out.i64(*from.exit_code);
  out.i64(from.started_at);
  out.i64(from.finished_at);
  out.u64(from.output_bytes);
  out.text(from.notice.text);
}

void job_codec::read(byte_reader& key, byte_reader& value, row& into) {
  into.session = key.u64();
  into.job.text = std::string(key.remaining());
  into.state = value.below<job_state>(state_end);
  into.kernel.text = value.text();
  into.cell.text = value.text();
  into.command = value.text();
  into.pid = value.i32();
  into.start_time = value.u64();
  into.group = value.i32();
  into.keep = value.boolean();
  into.timed_out = value.boolean();
  if (value.boolean()) into.exit_code = value.i64();
  into.started_at = value.i64();
  into.finished_at = value.i64();
  into.output_bytes = value.u64();
  into.notice.text = value.text();
}

job_state peek_job_state(std::string_view encoded_job) {
  if (encoded_job.size() <= state_offset) return job_state::lost;
  auto const found = static_cast<std::uint8_t>(encoded_job[state_offset]);
  return found < state_end ? static_cast<job_state>(found) : job_state::lost;
}

void job_id_codec::write(byte_writer& out, row const& from) { out.u64(from); }

void job_id_codec::read(byte_reader& key, byte_reader& value, row& into) {
  key.remaining();  // asked for by its bytes: nothing in it to tell
  into = value.u64();
}

}  // namespace holdfast::storage
