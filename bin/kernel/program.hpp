#pragma once

// The Python program of kernels and nursery, embedded as data.
//
// Whoever stages it writes every file below program/<digest>/ and starts `python program/<digest>/nursery.py`. This header only
// hands the bytes out: it stages, starts and checks nothing.

#include <span>
#include <string_view>

namespace holdfast {

struct program_file {
  // Relative to the program's directory, with '/'; "nursery.py" is the entry.
  std::string_view path;
  std::string_view content;
};

// All files, sorted by path; valid for the life of the process.
std::span<const program_file> program_files();

// SHA-256 over the paths and contents, 64 hex digits: another program has another digest.
std::string_view program_digest();

}  // namespace holdfast
