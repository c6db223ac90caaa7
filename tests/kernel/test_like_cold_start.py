"""A cell meets the process that `python3 -c` would have met; what differs on purpose is named here."""

import json
import os
import signal
import subprocess
import sys
import unittest

from harness import PATIENCE, NurseryTest

LOOK = r'''
import asyncio, atexit, codecs, fcntl, gc, json, locale, os, random, resource, signal, stat, subprocess, sys, threading, time, warnings
def status(*names):
    with open("/proc/self/status") as file:
        fields = dict(line.split(":") for line in file if line.split(":")[0] in names)
    own = 3 << 31  # 32 and 33 are the C library's, for processes with threads
    return {name: int(value, 16) & ~own for name, value in fields.items()}
def descriptor(fd):
    flags = fcntl.fcntl(fd, fcntl.F_GETFL)
    return [stat.S_IFMT(os.fstat(fd).st_mode), flags & os.O_ACCMODE, bool(flags & os.O_NONBLOCK), os.get_inheritable(fd)]
mask = os.umask(0)
os.umask(mask)
open_ones = sorted(fd for fd in map(int, os.listdir("/proc/self/fd")) if fd < 900)
open_ones = [fd for fd in open_ones if os.path.exists("/proc/self/fd/%d" % fd)]  # without the one that listed them
seen = {
    "environment": dict(os.environ), "environment of a child": subprocess.run(["env", "-0"], stdout=subprocess.PIPE).stdout.decode().split("\0"),
    "directory": os.getcwd(), "path": sys.path, "umask": mask, "argv": sys.argv,
    "flags": list(sys.flags), "warning options": sys.warnoptions, "warning filters": [str(one) for one in warnings.filters],
    "hash": hash("x"), "descriptors": {fd: descriptor(fd) for fd in open_ones},
    "handlers": {int(number): getattr(signal.getsignal(number), "__name__", str(signal.getsignal(number))) for number in signal.valid_signals()},
    "wakeup descriptor": signal.set_wakeup_fd(-1), "timers": [signal.getitimer(which) for which in range(3)],
    "signals": status("SigBlk", "SigIgn", "SigPnd", "ShdPnd"), "caught": status("SigCgt")["SigCgt"],
    "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")},
    "recursion": sys.getrecursionlimit(), "switch interval": sys.getswitchinterval(), "collection": [gc.isenabled(), gc.get_threshold(), gc.get_debug()],
    "encodings": [sys.stdout.encoding, sys.stderr.encoding, sys.stdin.encoding, sys.getfilesystemencoding(), sys.getdefaultencoding(),
                  locale.getpreferredencoding(False), locale.setlocale(locale.LC_CTYPE), locale.setlocale(locale.LC_COLLATE)],
    "errors": [sys.stderr.errors, sys.getfilesystemencodeerrors()], "zone": time.tzname,
    "streams": [sys.stdin.fileno(), sys.stdout.fileno(), sys.stderr.fileno(), sys.stdout.isatty(), sys.stdin.readable(), sys.stdout.writable(),
                sys.__stdout__ is sys.stdout, sys.__stderr__ is sys.stderr, sys.__stdin__ is sys.stdin],
    "threads": [[thread.name for thread in threading.enumerate()], threading.current_thread() is threading.main_thread()],
    "hooks": [sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace() is None, sys.getprofile() is None],
    "loop": [type(asyncio.get_event_loop_policy()).__name__], "exit handlers": atexit._ncallbacks(), "bytecode": [sys.dont_write_bytecode, sys.pycache_prefix],
    "nice": os.nice(0), "groups": os.getgroups(), "processors": sorted(os.sched_getaffinity(0)), "ids": [os.getuid(), os.geteuid(), os.getgid()],
    "main": [name for name in ("__name__", "__doc__", "__builtins__", "__spec__", "__package__", "__loader__") if name in globals()],
    "name": __name__, "module": sys.modules["__main__"].__dict__ is globals(),
    "interpreter": [sys.executable, sys.prefix, sys.base_prefix],
}
'''
PRINT = 'print(json.dumps(seen, default=str, sort_keys=True))'


class LikeColdStartTest(NurseryTest):
    variables = {'PYTHONHASHSEED': '42', 'LANG': 'C.UTF-8', 'TZ': 'Asia/Kolkata', 'OWN': '\N{SNOWMAN} = x'}

    def start_nursery(self):
        self.addCleanup(os.umask, os.umask(0o026))
        for name, value in self.variables.items():
            self.set_variable(name, value)
        super().start_nursery()

    def set_variable(self, name, value):
        old = os.environ.get(name)
        os.environ[name] = value
        self.addCleanup(lambda: os.environ.pop(name) if old is None else os.environ.__setitem__(name, old))

    def environment(self):
        return dict(self.variables, PATH=os.environ['PATH'], HOME=self.home, PYTHONDONTWRITEBYTECODE='1')

    def cold(self, code):
        with open(os.devnull) as null:
            done = subprocess.run([sys.executable, '-c', code], stdin=null, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.home,
                                  env=self.environment(), timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.decode())

    def warm(self, code, name='k-1'):
        done = self.spawn(name, env=self.environment()).run(code)
        self.assertEqual(done['status'], 'ok', done)
        return json.loads(done['stdout']['head'])

    def test_a_first_cell_meets_what_a_cold_interpreter_meets(self):
        cold, warm = self.cold(LOOK + PRINT), self.warm(LOOK + PRINT)

        # The kernel's mark, and no windows.
        cold['environment'].update(HOLDFAST_KERNEL='k-1', MPLBACKEND='agg')
        cold['environment of a child'] += ['HOLDFAST_KERNEL=k-1', 'MPLBACKEND=agg']
        for one in (cold, warm):
            one['environment of a child'].sort()
        # As of the interactive interpreter.
        self.assertEqual((cold.pop('argv'), warm.pop('argv')), (['-c'], ['']))
        # Interrupts are the kernel's; a hangup does not end it; a crash leaves a trace.
        cold['handlers'].update({'1': 'ignore_signal', '2': 'handle'})
        own = sum(1 << (int(number) - 1) for number in (signal.SIGINT, signal.SIGHUP, signal.SIGSEGV, signal.SIGFPE, signal.SIGABRT, signal.SIGBUS,
                                                        signal.SIGILL))
        cold['caught'] |= own
        cold['signals']['SigIgn'] &= ~own  # of whoever started the tests
        # A cell may fork though the kernel has a thread: Python 3.12 would tell of that one.
        warm['warning filters'] = [one for one in warm['warning filters'] if 'multi-threaded' not in one]
        for name in cold:
            self.assertEqual(warm[name], cold[name], name)

    def test_kernels_of_one_nursery_draw_different_random_numbers(self):
        draw = 'import json, random, uuid, secrets, tempfile\nprint(json.dumps([random.random(), str(uuid.uuid4()), secrets.token_hex(8), next(tempfile._get_candidate_names())]))'
        first, second = self.warm(draw, 'k-1'), self.warm(draw, 'k-2')
        for one, other in zip(first, second):
            self.assertNotEqual(one, other)

    def test_a_generator_that_a_cell_seeds_gives_what_it_gives_elsewhere(self):
        draw = 'import json, random\nrandom.seed(7)\nprint(json.dumps([random.random(), hash("x")]))'
        self.assertEqual(self.warm(draw), self.cold(draw))


class RelativePathTest(LikeColdStartTest):
    variables = dict(LikeColdStartTest.variables, PYTHONPATH=os.pathsep.join(('', 'own', '/absolute', '../other')))


class SafePathTest(LikeColdStartTest):
    variables = dict(LikeColdStartTest.variables, PYTHONSAFEPATH='1', PYTHONWARNINGS='error::UserWarning', PYTHONOPTIMIZE='1')


if __name__ == '__main__':
    unittest.main()
