"""The end of a kernel that ends by itself, and of the child of a fork in a cell."""

import atexit
import os
import time
from _thread import start_new_thread

from os import write  # bound here: a cell may replace those of the module

from . import limits, strays


def end_process(log, code, why):
    """Writes the reason, runs the exit handlers for a bounded time and ends the process; does not return."""
    log.write('kernel-ended %s' % why)
    start_new_thread(_end_later, (code,))
    try:
        atexit._run_exitfuncs()
    except BaseException as error:
        log.write('exit-handler-failed %s' % type(error).__name__)
    finally:
        os._exit(code)


def end_without_link(log, error):
    """A kernel without its link thread would be silent: better an end with its cause, without memory for a line of the log, too."""
    try:
        log.write('link-thread-failed %s: %s' % (type(error).__name__, error))
    finally:
        os._exit(70)


def end_forked_child(outcome):
    """The cell's code returned in a forked child: it ends as a script would."""
    try:
        strays.mark()
        if outcome.error is not None:
            write(2, outcome.error['traceback'].encode('utf-8', 'backslashreplace'))
    finally:
        os._exit(outcome.exit_code if outcome.exit_code is not None else 0 if outcome.error is None else 1)


def _end_later(code):
    time.sleep(limits.EXIT_SECONDS)
    os._exit(code)
