// What the benchmarks share: measuring, percentiles, and the lines that they print, a figure always beside its budget.
// A figure over its budget is printed as MISS and changes no exit status: these are no tests. A benchmark that does not work throws.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace holdfast::bench {

using clock = std::chrono::steady_clock;

inline double microseconds_since(clock::time_point start) {
  return std::chrono::duration<double, std::micro>(clock::now() - start).count();
}

/// How long the call took, in microseconds.
template <class Call>
double microseconds_of(Call&& call) {
  auto const start = clock::now();
  std::forward<Call>(call)();
  return microseconds_since(start);
}

/// Measured values of one kind and unit.
class samples {
 public:
  void add(double value) { values_.push_back(value); }
  std::size_t size() const { return values_.size(); }
  double p50() const { return percentile(0.50); }
  double p99() const { return percentile(0.99); }

 private:
  /// The smallest value that at least `share` of all do not exceed.
  double percentile(double share) const {
    if (values_.empty()) throw std::logic_error("a percentile of nothing");
    auto sorted = values_;
    auto const rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
    auto const nth = sorted.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(sorted.begin(), nth, sorted.end());
    return *nth;
  }

  std::vector<double> values_;
};

template <class... Values>
std::string text(char const* format, Values... values) {
  char line[256];
  std::snprintf(line, sizeof(line), format, values...);
  return line;
}

/// A duration in the unit that suits it.
inline std::string duration(double microseconds) {
  if (std::abs(microseconds) < 1'000) return text("%.0f us", microseconds);
  if (std::abs(microseconds) < 1'000'000) return text("%.2f ms", microseconds / 1e3);
  return text("%.2f s", microseconds / 1e6);
}

inline std::string p50_and_p99(samples const& measured) {
  return text("p50 %s  p99 %s", duration(measured.p50()).c_str(), duration(measured.p99()).c_str());
}

inline void heading(std::string const& what) { std::printf("\n%s\n", what.c_str()); }

/// One figure. `budget` is empty for a figure that has none.
inline void figure(std::string const& what, std::string const& measured, std::string const& budget = {}, bool is_kept = true) {
  std::printf("  %-44s %-36s", what.c_str(), measured.c_str());
  if (!budget.empty()) std::printf(" (budget %s)  %s", budget.c_str(), is_kept ? "ok" : "MISS");
  std::printf("\n");
  std::fflush(stdout);
}

/// One part of the figure above it.
inline void hop(std::string const& what, std::string const& measured) {
  std::printf("      %-40s %s\n", what.c_str(), measured.c_str());
}

/// What the figures are worth: others at work on the same cores make them worse, never better.
inline void print_machine(char const* when) {
  double load[1] = {0};
  auto const cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  if (::getloadavg(load, 1) != 1) return;
  std::printf("%s: %ld cores, load %.1f%s\n", when, cores, load[0],
              load[0] > 0.5 * static_cast<double>(cores) ? ": loaded, every figure is an upper bound" : "");
}

/// What main does: runs it with the number that was given, or the usual one, between two lines on the machine. Returns the exit status.
template <class Run>
int run_benchmark(char const* name, int argc, char** argv, std::size_t usual, Run&& run) {
  try {
    print_machine("before");
    run(argc > 1 ? std::stoul(argv[1]) : usual);
    print_machine("after");
    return 0;
  } catch (std::exception const& problem) {
    std::fprintf(stderr, "%s: %s\n", name, problem.what());
    return 1;
  }
}

}  // namespace holdfast::bench
