// The codec of each kind of row: its table, and its fields to bytes and back. One .cpp per kind; FORMAT.md is what they follow.
// Version byte and checksum are not theirs: encode() and decode() in row_frame.hpp put them around.
// A codec's read() takes what the key tells from the key. It never throws and never trusts: callers check finished().
#pragma once

#include <string>

#include "storage/bytes.hpp"
#include "storage/records.hpp"
#include "storage/tables.hpp"

namespace holdfast::storage {

struct session_codec {
  using row = session_record;
  static constexpr table in = table::sessions;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

/// What session_keys has for a client's name of a session.
struct session_key_codec {
  using row = session_number;
  static constexpr table in = table::session_keys;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

/// What owners has for (owner, session): enough to filter without the session's row.
struct owner_entry {
  session_number session = 0;
  std::string child;
};
struct owner_codec {
  using row = owner_entry;
  static constexpr table in = table::owners;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct cell_codec {
  using row = cell_record;
  static constexpr table in = table::cells;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
/// The status in an encoded cell, without decoding the rest. The bytes must be a value of `cells`.
cell_status peek_status(std::string_view encoded_cell);

struct cell_index_codec {
  using row = cell_index;
  static constexpr table in = table::cell_ids;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct expired_cell {
  session_number session = 0;
  cell_number number = 0;
  cell_id cell;
};
struct expired_cell_codec {
  using row = expired_cell;
  static constexpr table in = table::expired_cells;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct outbox_codec {
  using row = outbox_record;
  static constexpr table in = table::outbox;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct link_codec {
  using row = link_record;
  static constexpr table in = table::links;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
/// last_seq in an encoded link, without decoding the rest. The bytes must be a value of `links`.
std::uint64_t peek_last_seq(std::string_view encoded_link);

struct nursery_codec {
  using row = nursery_record;
  static constexpr table in = table::nurseries;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

/// A notice, or in `boot` the mark of one that was withdrawn and may still be in `disk`.
struct stored_notice {
  bool withdrawn = false;
  notice_record notice;  // of a mark: session and id only
};
struct notice_codec {
  using row = stored_notice;
  static constexpr table in = table::notices;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct job_codec {
  using row = job_record;
  static constexpr table in = table::jobs;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
/// The state in an encoded job, without decoding the rest. The bytes must be a value of `jobs`.
job_state peek_job_state(std::string_view encoded_job);

/// What job_ids has for a job: whose it is.
struct job_id_codec {
  using row = session_number;
  static constexpr table in = table::job_ids;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

struct saved_codec {
  using row = saved_record;
  static constexpr table in = table::saved;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

/// Rows that say everything by being there.
struct presence {
  session_number session = 0;
  cell_number number = 0;  // 0 in `doomed`
};
struct open_cell_codec {
  using row = presence;
  static constexpr table in = table::open_cells;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
struct doomed_codec {
  using row = presence;
  static constexpr table in = table::doomed;
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

/// meta "schema" of both stores.
struct schema_codec {
  using row = std::uint32_t;
  static constexpr table in = table::meta;
  static constexpr std::string_view name = "schema";
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
/// meta "last_session" of both stores.
struct last_session_codec {
  using row = session_number;
  static constexpr table in = table::meta;
  static constexpr std::string_view name = "last_session";
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};
/// meta "home": whose store this is.
struct home_row {
  std::string id;
  std::uint64_t inode = 0;
  std::string machine_id;  // empty in `boot`
  std::string boot_id;
  std::uint64_t number = 0;  // incarnation in `disk`, device in `boot`
};
struct home_codec {
  using row = home_row;
  static constexpr table in = table::meta;
  static constexpr std::string_view name = "home";
  static void write(byte_writer& out, row const& from);
  static void read(byte_reader& key, byte_reader& value, row& into);
};

}  // namespace holdfast::storage
