"""A daemon with a home of its own: started, stopped, killed, started again, and cleaned away with everything it left running.

The home, the daemon's TMPDIR and its printed output lie in one fresh directory under TMPDIR. Every process that a daemon brings
about is found again by that TMPDIR in the environment it was started with (kernels are forks of their nursery), so that cleaning
up needs no daemon and never touches anybody else's processes.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from holdfast_test import processes
from holdfast_test.client import Client
from holdfast_test.waiting import NeverHappened, wait_until

REPOSITORY = Path(__file__).resolve().parents[3]
START_SECONDS = 20.0  # far above what a start takes: the machine may be loaded
STOP_SECONDS = 20.0
LOG_TAIL_BYTES = 6000


def binary():
    """The executable under test: $HOLDFAST_BINARY, or the usual build's."""
    return os.environ.get("HOLDFAST_BINARY") or str(REPOSITORY / "build" / "bin" / "holdfast")


class DaemonEnded(Exception):
    """The daemon ended before it answered. `returncode` and `output` say how."""

    def __init__(self, returncode, output):
        super().__init__(f"the daemon ended with {returncode} before it answered:\n{output}")
        self.returncode = returncode
        self.output = output


class Daemon:
    """One home and, most of the time, one daemon on it."""

    def __init__(self, environment=None, home_name="home"):
        """`environment` is added to the daemon's at every start; `home_name` is the home's path below the fresh directory."""
        self.directory = Path(tempfile.mkdtemp(prefix="d-"))
        self.home = self.directory / home_name
        self.home.mkdir(mode=0o700, parents=True)
        self.scratch = self.directory / "tmp"
        self.scratch.mkdir(mode=0o700)
        self.failpoint_log = self.directory / "failpoints.log"
        self.environment = dict(environment or {})
        self.binary = None  # of another build: what serves from the next start on
        self.before_exec = None  # called in the process that becomes a daemon
        self.process = None  # the Popen of the running daemon, None between two
        self._output = self.directory / "daemon.out"
        self._clients = []

    # -- the daemon process

    def clean_environment(self, extra=None):
        """What daemon and command line are started with: this process's without other HOLDFAST_ variables, plus ours."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HOLDFAST_")}
        environment["PATH"] = os.path.dirname(sys.executable) + ":" + environment.get("PATH", "/usr/bin:/bin")
        environment["TMPDIR"] = str(self.scratch)
        environment["HOLDFAST_HOME"] = str(self.home)
        environment.update(self.environment)
        environment.update(extra or {})
        return environment

    def start(self, seconds=START_SECONDS, **extra):
        """Starts a daemon and returns once it answers; DaemonEnded if it ends instead. `extra` adds to its environment."""
        assert self.process is None, "one daemon at a time"
        with open(self._output, "ab") as output:
            self.process = subprocess.Popen(
                [self.binary or binary(), "--home", str(self.home), "serve"],
                env=self.clean_environment(extra),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=self.before_exec,
            )
        wait_until(self._answers, "the daemon's first answer", seconds)
        return self

    def _answers(self):
        returncode = self.process.poll()
        if returncode is not None:
            self.process = None
            raise DaemonEnded(returncode, self.printed())
        try:
            with Client(self.socket_path) as client:
                return client.call("status", 5)["pid"] == self.process.pid
        except OSError:
            return False

    @property
    def pid(self):
        return self.process.pid

    @property
    def socket_path(self):
        return self.home / "holdfast.sock"

    def stop(self):
        """Ends the daemon by the shutdown request; kernels live on."""
        with self.connect() as client:
            answer = client.call("shutdown")
        self.process.wait(STOP_SECONDS)
        self.process = None
        return answer

    def kill(self):
        """SIGKILL, and returns once it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(STOP_SECONDS)
        self.process = None

    def wait_ended(self, seconds=STOP_SECONDS):
        """Returns the exit status once the daemon has ended by itself (negative: the signal)."""
        returncode = self.process.wait(seconds)
        self.process = None
        return returncode

    def restart(self, crash=False, **extra):
        """Ends this daemon (SIGKILL if `crash`) and starts the next."""
        if self.process is not None:
            self.kill() if crash else self.stop()
        return self.start(**extra)

    # -- the command line

    def start_command(self, *arguments, **extra):
        """`holdfast ARGUMENTS` on this home, in the background; `extra` goes to Popen. A daemon that it starts is ours."""
        extra.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen(
            [binary(), *arguments],
            env=self.clean_environment(extra.pop("environment", None)),
            cwd=extra.pop("cwd", self.directory),
            stdout=extra.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            text=True,
            **extra,
        )

    def command(self, *arguments, seconds=60.0, given=None, **extra):
        """Runs `holdfast ARGUMENTS` to its end with `given` as standard input."""
        process = self.start_command(*arguments, **extra, **({} if given is None else {"stdin": subprocess.PIPE}))
        try:
            stdout, stderr = process.communicate(given, seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            stdout, stderr = process.communicate()
            what = f"the end of holdfast {' '.join(arguments)}; it printed:\n{stdout}{stderr}"
            raise NeverHappened(f"waited {seconds:g} s in vain: {what}") from None
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def serving(self):
        """The identity of the daemon that answers on this home, whoever started it; None when none does."""
        try:
            return processes.identify(self.call("status")["pid"])
        except OSError:
            return None

    # -- its clients

    def connect(self):
        """A new client; closed at the end of the test at the latest."""
        client = Client(self.socket_path)
        self._clients.append(client)
        return client

    def run(self, code, seconds=30.0, **params):
        """Runs a cell on a connection of its own until it is final."""
        with self.connect() as client:
            return client.run(code, seconds, **params)

    def call(self, method, seconds=30.0, **params):
        with self.connect() as client:
            return client.call(method, seconds, **params)

    def start_cell(self, code, cell, **params):
        """Sends a cell and returns its still pending call once its accepted notification is there."""
        client = self.connect()
        pending = client.send("run", code=code, cell=cell, stream=True, **params)
        client.wait_accepted(cell, pending)
        return client, pending

    # -- what it brought about

    def kernels(self, **params):
        """The kernel rows."""
        return self.call("kernel.list", **params)["items"]

    def kernel_identities(self):
        """The identities of the kernels that the daemon lists."""
        return [identity for identity in map(processes.identify, (row["pid"] for row in self.kernels())) if identity]

    def run_directories(self):
        return sorted((self.home / "run").glob("k-*"))

    def wait_spooled(self, kind, cell, seconds=10.0):
        """Returns once a kernel has put that frame (`started`, `done`) of that cell into its spool, which outlives it."""
        frame = re.compile(rb'"type":\s*"%s",\s*"cell":\s*"%s"' % (kind.encode(), cell.encode()))

        def is_there():
            return any(frame.search(path.read_bytes()) for path in self.home.glob("run/*/spool"))

        wait_until(is_there, f"{kind} of {cell} in a spool", seconds)

    def processes(self):
        """Identities of everything alive that this home's daemons started, directly or not; the daemon is one of them."""
        mark = f"TMPDIR={self.scratch}"
        return processes.find(lambda pid: processes.has_environment(pid, mark))

    def nurseries(self):
        """Identities of this home's nurseries: they run the program and were not forked by another process that does."""
        running = {identity.pid: identity for identity in self.processes() if _runs_the_program(identity.pid)}
        return [identity for pid, identity in running.items() if processes.parent_of(pid) not in running]

    def log(self):
        """daemon.log as it stands."""
        path = self.home / "daemon.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def printed(self):
        """What the daemons of this home printed."""
        return self._output.read_text(errors="replace") if self._output.exists() else ""

    def fired_failpoints(self):
        """The lines of the failpoint log so far."""
        return self.failpoint_log.read_text().splitlines() if self.failpoint_log.exists() else []

    def report(self):
        """The ends of all logs, for a failed test."""
        parts = [("printed", self.printed()), ("daemon.log", self.log())]
        for path in sorted(self.home.glob("run/*/kernel.log")) + sorted(self.home.glob("nursery/*/*.log")):
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                parts.append((str(path.relative_to(self.home)), path.read_text(errors="replace")))
        for path in sorted(self.home.glob("run/*/exit")):
            parts.append((str(path.relative_to(self.home)), path.read_text(errors="replace")))
        parts.append(("failpoints", "\n".join(self.fired_failpoints())))
        return "\n".join(f"--- {name}\n{text[-LOG_TAIL_BYTES:]}" for name, text in parts if text.strip())

    # -- the end

    def close(self):
        """Ends all that this home brought about and removes it. A second call does nothing."""
        if not self.directory.exists():
            return
        for client in self._clients:
            client.close()
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(STOP_SECONDS)
            self.process = None
        # Twice: a nursery that was about to fork when it was looked at has forked by then.
        for _ in range(2):
            processes.end_all(self.processes())
        shutil.rmtree(self.directory, ignore_errors=False)


def _runs_the_program(pid):
    return any(word.endswith("/nursery.py") for word in processes.command_line(pid).split())
