"""The end of a kernel that ends by itself."""

import atexit
import os
import time
from _thread import start_new_thread

from . import limits


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


def _end_later(code):
    time.sleep(limits.EXIT_SECONDS)
    os._exit(code)
