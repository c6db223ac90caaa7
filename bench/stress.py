"""Many owners and sessions, random requests, kills and restarts; a ledger outside of the daemon proves what became of each cell.

    python3 bench/stress.py [SECONDS] [SEED]        with $HOLDFAST_BINARY, or the usual build's executable

Clients run cells that count in their session's namespace and append to a file outside of the daemon's home; they send them again, with
the same and with other code, interrupt, reset, save, fork and close sessions, and leave in the middle. Meanwhile kernels, nurseries and
the daemon are killed and started again. Each session is settled in the end. What must hold:

- an accepted cell has one outcome, which never changes; its effect happened once, or at most once when it did not end by itself
- nothing is lost, interrupted or over its time unless the script saw to that
- a namespace is counted up without a step back, by its own session, child and tools; a loss is told
- when all is closed no kernel, process, file or record is left

The seed decides what is done next; what meets what is a matter of time. Ends with 1 if it has found something.
"""

import argparse
import random
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1] / "tests" / "support")]

from stressing.running import Options, run  # noqa: E402

SHOWN = 10  # violations


def main():
    usual = Options()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seconds", nargs="?", type=float, default=usual.seconds)
    parser.add_argument("seed", nargs="?", type=int, default=None)
    parser.add_argument("--clients", type=int, default=usual.clients)
    parser.add_argument("--sessions", type=int, default=usual.sessions, help="at once; over a run there are many more")
    parser.add_argument("--length", type=int, default=usual.length, help="requests of a session, about")
    parser.add_argument("--parked", type=int, default=usual.parked, help="sessions that are hibernated at once, beside those")
    parser.add_argument("--requests", type=int, default=usual.requests, help="of each client; 0: as many as there is time for")
    parser.add_argument("--every", type=float, default=usual.every, help="requests, about, for a kill; 0: no kills")
    parser.add_argument("--max-kernels", type=int, default=usual.max_kernels)
    parser.add_argument("--idle-seconds", type=float, default=usual.idle_seconds)
    parser.add_argument("--nursery-seconds", type=float, default=usual.nursery_seconds,
                        help="how long the last nursery may take to end by itself, which it does after a minute; 0: it is not waited for")
    parser.add_argument("--skip-notices", dest="counts_notices", action="store_false",
                        help="do not count whether each restored namespace was told by a notice")
    parser.add_argument("--keep", action="store_true", help="keep the home of a run that has found something")
    options = Options(**vars(parser.parse_args()))
    if options.seed is None:
        options.seed = random.randrange(1 << 32)
    print(f"seed {options.seed}", flush=True)
    report = run(options, lambda text: print(text, flush=True))
    show(report, options)
    return 1 if report.violations else 0


def show(report, options):
    print(f"\n{report.seconds:.0f} s, {report.effects} effects of cells and jobs")
    for title, counts in (("done", report.counts), ("ended as", report.statuses)):
        print(f"{title}: " + ", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    if report.violations:
        print(report.logs)
        print(f"\n{len(report.violations)} violations; the first of them (seed {options.seed}):")
        for text in report.violations[:SHOWN]:
            print(f"- {text}")
    else:
        print("nothing found")


if __name__ == "__main__":
    sys.exit(main())
