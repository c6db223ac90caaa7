"""What `!command` and `%pip` in a cell do: /bin/sh or this interpreter's pip, its output in the cell's, its code in `_exit_code`."""

import builtins
import os
import signal
import sys
from subprocess import PIPE, Popen
from time import monotonic, sleep  # bound here: a cell may replace those of the module

from . import limits, magics
from .interrupts import door


class Shell:
    def __init__(self, namespace, leave_kernel):
        self._namespace = namespace
        self._leave_kernel = leave_kernel

    def install(self):
        setattr(builtins, magics.CALL, self.run)

    def run(self, command, captures=False, is_pip=False):
        """Runs a command to its end; with `captures` the lines of its standard output."""
        if is_pip:
            command = '"$0" -m pip %s' % command
        # A session of its own: its whole group can be ended when the cell is.
        process = Popen(['/bin/sh', '-c', command, sys.executable], stdout=PIPE if captures else None, start_new_session=True)
        try:
            data = _wait(process)
        except BaseException:
            _end(process)
            raise
        self._namespace['_exit_code'] = process.returncode
        self._leave_kernel()
        return data.decode('utf-8', 'replace').splitlines() if captures else None


@door
def _wait(process):
    return process.communicate()[0]


def _end(process):
    """TERM, some time, KILL to the whole group; the leader is reaped last: until then the group's number is nobody else's."""
    if process.returncode is None:
        _signal(process, signal.SIGTERM)
        until = monotonic() + limits.TERM_SECONDS
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None and monotonic() < until:
            sleep(0.005)
        _signal(process, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _signal(process, number):
    try:
        os.killpg(process.pid, number)
    except OSError:
        pass
