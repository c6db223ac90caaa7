// The texts of --help: what CLI11 cannot derive. Enough to work with, without another page.
#pragma once

#include <string_view>

namespace holdfast::cli::help {

inline constexpr std::string_view summary =
    "Runs Python cells in kernels that keep their variables between cells and outlive the daemon.\n"
    "\n"
    "  holdfast run 'x = 41'        the first cell starts a daemon and a kernel\n"
    "  holdfast run 'x + 1'         prints 42: the same kernel, the same variables\n"
    "  holdfast run -s other 'x'    another session has its own: NameError, exit code 1\n"
    "  holdfast stop                stops the daemon; kernels and what runs in them go on\n";

inline constexpr std::string_view exit_codes =
    "Exit codes:\n"
    "  0    ok, or accepted\n"
    "  1    the cell raised an exception\n"
    "  2    usage: the command line, or a parameter that the daemon does not take\n"
    "  3    no daemon answers (run, wait and logs start one; then: it could not be started)\n"
    "  4    refused: nothing ran; the message says why and what to do (doctor: something is wrong)\n"
    "  5    lost: what became of the cell cannot be known; it is never run again\n"
    "  6    still running: this command waits no longer, holdfast wait CELL does\n"
    "  7    done, but not all output was written: standard output is closed, or on a full disk\n"
    "  124  the cell's deadline (--timeout)\n"
    "  130  interrupted\n"
    "  A cell that ends by SystemExit gives its own code.\n";

inline constexpr std::string_view run_examples =
    "  holdfast run 'x = 41'\n"
    "  holdfast run -s analysis -f load.py\n"
    "  echo 'print(x)' | holdfast run -\n"
    "  holdfast run --detach 'import time; time.sleep(600)'      prints the cell's id\n"
    "  holdfast run --cell build-7 -f build.py                   run twice, it runs once\n"
    "  holdfast run --tools read_file,web_search 'from tools import read_file'\n"
    "  holdfast run -- -1                                        code that begins with a dash\n"
    "\n"
    "The cell's stdout and stderr come while it runs; the value of a last expression and then, on stderr, what it displayed\n"
    "and an exception follow.\n"
    "The first ^C interrupts the cell; the second stops waiting for it and says how to come back. When the daemon dies,\n"
    "run starts it again and goes on where the output was; when it is stopped, run says how to come back (exit code 6).\n";

inline constexpr std::string_view wait_examples =
    "  holdfast wait c-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "\n"
    "As run: the first ^C interrupts the cell, the second stops waiting. Starts a daemon when none answers.\n";
inline constexpr std::string_view logs_examples =
    "  holdfast logs c-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "  holdfast logs -f c-01HV5K3Q8Z6M2N4P7R9S0T1V2W             ^C stops following, not the cell\n"
    "  holdfast logs -f j-01HV5K3Q8Z6M2N4P7R9S0T1V2W             a job's output\n";
inline constexpr std::string_view cells_examples =
    "  holdfast cells\n"
    "  holdfast cells -s analysis --status running\n";
inline constexpr std::string_view cell_examples =
    "  holdfast cell c-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "  holdfast --json cell c-01HV5K3Q8Z6M2N4P7R9S0T1V2W         the result object\n";
inline constexpr std::string_view display_examples =
    "  holdfast display c-01HV5K3Q8Z6M2N4P7R9S0T1V2W 0\n"
    "  holdfast display c-01HV5K3Q8Z6M2N4P7R9S0T1V2W 0 --mime image/png > plot.png\n";
inline constexpr std::string_view variables_examples = "  holdfast variables analysis\n";
inline constexpr std::string_view interrupt_examples =
    "  holdfast interrupt -s analysis\n"
    "  holdfast interrupt c-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "\n"
    "Answers once the cell has ended. A cell that does not obey within 2 s (4 s in C code) is ended together with its kernel.\n";
inline constexpr std::string_view sessions_examples =
    "  holdfast sessions\n"
    "  holdfast sessions -o alice --state busy\n";
inline constexpr std::string_view session_examples = "  holdfast session analysis\n";
inline constexpr std::string_view reset_examples = "  holdfast reset analysis\n";
inline constexpr std::string_view close_examples =
    "  holdfast close analysis\n"
    "  holdfast close --owner alice                                all of alice's sessions, those of her children too\n";
inline constexpr std::string_view fork_examples =
    "  holdfast fork analysis what-if\n"
    "  holdfast run -s what-if 'x = 2'     analysis has its own x still\n\n"
    "Refused while the session runs a cell or a thread. Jobs and connections stay with the original and are named.\n";
inline constexpr std::string_view kernels_examples =
    "  holdfast kernels\n"
    "  holdfast ps -s analysis\n"
    "\n"
    "VICTIM: whose turn it is to be hibernated when there are too many kernels, 1 being the next; none while it works.\n";
inline constexpr std::string_view kernel_examples =
    "  holdfast kernel k-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "  holdfast kernel k-01HV5K3Q8Z6M2N4P7R9S0T1V2W --stop        its session's next cell has the variables again\n";
inline constexpr std::string_view jobs_examples =
    "  holdfast jobs\n"
    "  holdfast jobs -s analysis --state running\n";
inline constexpr std::string_view job_examples =
    "  holdfast job j-01HV5K3Q8Z6M2N4P7R9S0T1V2W\n"
    "  holdfast job j-01HV5K3Q8Z6M2N4P7R9S0T1V2W --stop\n";
inline constexpr std::string_view notices_examples =
    "  holdfast notices\n"
    "  holdfast notices -s analysis --ack\n";
inline constexpr std::string_view events_examples =
    "  holdfast events\n"
    "  holdfast events -f -t cell_started -t cell_finished\n";
inline constexpr std::string_view serve_examples =
    "  holdfast serve\n"
    "  holdfast --home /srv/holdfast serve\n"
    "\n"
    "SIGTERM and SIGINT stop it as holdfast stop does. Settings: config.toml in the home; the log: daemon.log there.\n";
inline constexpr std::string_view status_examples =
    "  holdfast status\n"
    "  kill -9 \"$(holdfast status --pid)\"                        what a running cell survives\n";
inline constexpr std::string_view metrics_examples =
    "  holdfast metrics\n"
    "  holdfast metrics | grep -F holdfast_cells_total\n"
    "\n"
    "To be scraped: metrics_listen = \"127.0.0.1:9464\" in config.toml serves the same text at /metrics there.\n";
inline constexpr std::string_view doctor_examples =
    "  holdfast doctor\n"
    "  holdfast --home /srv/holdfast doctor\n"
    "\n"
    "Works with and without a daemon and changes nothing. ok, note (keeps nothing from working) or wrong, and then what to do.\n"
    "Exit code 0: nothing is wrong; 4: something is.\n";
inline constexpr std::string_view stop_examples =
    "  holdfast stop\n"
    "  holdfast stop --kernels      nothing runs on: the next cell of each session has its variables again\n"
    "\n"
    "A kernel that lives on ends an hour later (grace_seconds) unless a daemon runs again. With --kernels a cell that does not "
    "let\n"
    "itself be interrupted is killed with its kernel, whose namespace is then not saved; jobs end unless they were started with "
    "keep.\n"
    "To end only one: holdfast kernel KERNEL --stop, or with its session holdfast close SESSION.\n";

}  // namespace holdfast::cli::help
