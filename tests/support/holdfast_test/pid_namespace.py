"""A pid namespace of a test's own: its init starts what the test says, reaps what is left to it, and gives away a number that was used.

Numbers in it begin at 1, so that one that has become free can be taken again. It ends with its init, and everything in it.
"""

import json
import os
import subprocess
import sys
import unittest

_INIT = """
import json, os, signal, subprocess, sys, threading, time

def reap():  # of what is left to it; what it started itself is waited for as a Popen
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        with lock:
            if found.si_pid in started:
                started.pop(found.si_pid).wait()
            else:
                os.waitpid(found.si_pid, 0)

def start(argv, env, cwd, output):
    with lock, open(output, "ab") as out:
        made = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
        started[made.pid] = made
    return made.pid

def start_as(pid, argv):
    while True:
        with open("/proc/sys/kernel/ns_last_pid", "w") as last:
            last.write(str(pid - 1))
        made = start(argv, dict(os.environ), "/", "/dev/null")
        if made == pid:
            return pid
        os.kill(made, signal.SIGKILL)  # a thread of another process took the number
        time.sleep(0.01)

lock, started = threading.Lock(), {}
keeper = start(["sleep", "infinity"], dict(os.environ), "/", "/dev/null")  # waitid needs a child
threading.Thread(target=reap, daemon=True).start()
print(json.dumps(os.stat("/proc/self/ns/pid").st_ino), flush=True)
for line in sys.stdin:
    name, arguments = json.loads(line)
    print(json.dumps({"start": start, "start_as": start_as, "kill": os.kill}[name](*arguments)), flush=True)
"""


class PidNamespace:
    """Entered by its init; everything that `start` starts is in it, with /proc as that namespace shows it."""

    def __init__(self):
        unshare = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
        if os.getuid() != 0:
            unshare += ["--user", "--map-root-user"]
        self._init = subprocess.Popen(
            [*unshare, sys.executable, "-c", _INIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        answer = self._init.stdout.readline()
        if not answer:
            problem = self._init.communicate()[1].strip()
            raise unittest.SkipTest(f"no pid namespace of our own here: {problem}")
        self.inode = json.loads(answer)

    def _ask(self, name, *arguments):
        self._init.stdin.write(json.dumps([name, arguments]) + "\n")
        self._init.stdin.flush()
        return json.loads(self._init.stdout.readline())

    def start(self, argv, environment, cwd, output):
        """The number, in the namespace, of a process that leads a session of its own."""
        return self._ask("start", argv, environment, str(cwd), str(output))

    def start_as(self, pid, argv):
        """The same under a number that is free."""
        return self._ask("start_as", pid, argv)

    def kill(self, pid, number):
        self._ask("kill", pid, int(number))

    def pid_outside(self, pid):
        """What we call the process that the namespace calls `pid`; None when there is none."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/status") as status:
                    numbers = next(line for line in status if line.startswith("NSpid:")).split()[1:]
                if numbers[1:] == [str(pid)] and os.stat(f"/proc/{name}/ns/pid").st_ino == self.inode:
                    return int(name)
            except (OSError, StopIteration):
                continue
        return None

    def end(self):
        self._init.stdin.close()
        self._init.kill()  # --kill-child: its init follows, and with that all of it
        self._init.wait()
        self._init.stdout.close()
        self._init.stderr.close()
