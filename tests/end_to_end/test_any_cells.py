"""Whatever sequence of odd cells runs, each has one result in time, and `1+1` is 2 afterwards. HOLDFAST_SEED repeats a sequence."""

import os
import random
import time
import unittest

from holdfast_test.cases import DaemonCase

CELLS = int(os.environ.get("HOLDFAST_ODD_CELLS", "40"))
TIMEOUT_SECONDS = 1.0
GRACE_SECONDS = 2.0
SLACK_SECONDS = 6.0  # the daemon's own margin, a fresh kernel, a slow machine

ODD = (
    "1/0",
    "x = [0] * 10**6",
    "print('a' * 10**6)",
    "import sys\nsys.stdout = None",
    "import sys\nsys.stdout.close()",
    "import os\nos.closerange(3, 256)",
    "import os\nos.close(1); os.close(2)",
    "import os\nos.dup2(0, 1)",
    "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)",
    "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))",
    "import signal\nsignal.alarm(1)",
    "import os\nos._exit(3)",
    "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "import os\nif os.fork() == 0: os._exit(0)",
    "import os\nif os.fork() == 0: print('child')",
    "import threading\nthreading.Thread(target=lambda: [print('late') for _ in range(100)]).start()",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(0.3,), daemon=True).start()",
    "import time\nwhile True:\n    try: time.sleep(60)\n    except: pass",
    "while True: pass",
    "import time\ntime.sleep(60)",
    "import asyncio\nawait asyncio.sleep(60)",
    "import asyncio\nawait asyncio.sleep(0.01)\n'awaited'",
    "import asyncio\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(0)",
    "import asyncio\nasync def f(): return 1\nasyncio.run(f())",
    "import asyncio\nasyncio.create_task(asyncio.sleep(0.05)); await asyncio.sleep(0)",
    "class Bad:\n    def __repr__(self): raise SystemExit(4)\nBad()",
    "class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()",
    "class Shown:\n    def _repr_html_(self): raise ValueError\n    def _repr_mimebundle_(self, **_): return 7\nShown()",
    "display('x' * 10**6)",
    "raise SystemExit('text')",
    "raise KeyboardInterrupt",
    "class Odd(BaseException): pass\nraise Odd",
    "def f(): f()\nf()",
    "import builtins\ndel builtins.len, builtins.print",
    "import sys\nsys.modules.clear()",
    "__import__('sys').settrace(lambda *a: None)",
    "import gc\ngc.disable(); gc.freeze()",
    "import gc\ngc.callbacks.append(lambda *_: 1/0)\ngc.set_threshold(1)",
    "from sys import monitoring as m\nm.use_tool_id(3, 'odd')\nm.register_callback(3, 1, lambda *_: print())\nm.set_events(3, 1)",
    "import threading\nthreading.settrace_all_threads(lambda *_: 1/0)",
    "import threading\nthreading.settrace(lambda *_: 1/0)\nthreading.Thread(target=int).start()",
    "import asyncio, sys\ndef odd(frame, *_): frame.f_code.co_name == 'call_soon' and 1/0\nsys.settrace(odd)\nawait asyncio.sleep(0.01)",
    "import asyncio\nawait asyncio.sleep(0)\nasyncio.get_running_loop()._closed = True\nawait asyncio.sleep(0.01)",
    "import asyncio\nfor task in asyncio.all_tasks(): task.cancel()\nawait asyncio.sleep(0.01)",
    "import asyncio\nasyncio.get_running_loop().set_debug(True)\nawait asyncio.sleep(0)",
    "import asyncio\nasyncio.get_running_loop().run_until_complete(asyncio.sleep(0))\nawait asyncio.sleep(0)",
    "import asyncio\nasync def f(): raise KeyboardInterrupt\nawait asyncio.create_task(f())",
    "import contextvars\nfor variable in contextvars.copy_context(): variable.set(5)",
    "import sys\nsys.setswitchinterval(1000)",
    "import sys, threading\nsys.setswitchinterval(1000)\nthreading.Thread(target=lambda: [None for _ in range(10**7)]).start()",
    "import sys\ndef hook(*_): raise ValueError\nsys.excepthook = sys.unraisablehook = sys.displayhook = hook\n5",
    "class Bad:\n    def __del__(self): raise SystemExit(4)\nBad()",
    "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('odd')",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nwhile True: pass",
    "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
    "import resource\nresource.setrlimit(resource.RLIMIT_AS, (10**6, resource.getrlimit(resource.RLIMIT_AS)[1]))",
    "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (0, resource.getrlimit(resource.RLIMIT_NPROC)[1]))",
    "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (65536, resource.getrlimit(resource.RLIMIT_STACK)[1]))",
    "import builtins\ndel builtins.__import__, builtins.__build_class__, builtins.open",
    "import builtins\nfor name in list(vars(builtins)): setattr(builtins, name, None)",
    "__builtins__ = None",
    "globals().clear()",
    "import sys\nsys.path[:] = [None, 5]; sys.meta_path[:] = [5]; sys.path_hooks[:] = [7]",
    "import os\nos.environ.clear(); os.umask(0o777)",
    "import os, tempfile\nplace = tempfile.mkdtemp(); os.chdir(place); os.rmdir(place)",
    "import os, time\nos.register_at_fork(before=lambda: time.sleep(60), after_in_child=lambda: os._exit(1))",
    "import os\nsaved = os.dup(1)\nos.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
    "import sys, threading\nthreading.Thread(target=sys.exit).start()",
    "class Odd(BaseException):\n    def __str__(self): raise SystemExit\n    __repr__ = __str__\n    __class__ = __cause__ = 5\nraise Odd",
    "class Odd(type):\n    def __getattribute__(cls, name): raise ValueError\nclass Error(Exception, metaclass=Odd): pass\nraise Error",
    "raise ExceptionGroup('odd', [ValueError(n) for n in range(1000)])",
    "error = ValueError()\nfor n in range(10**4):\n    other = ValueError(n); other.__context__ = error; error = other\nraise error",
    "raise type('\\ud800', (Exception,), {})('\\udfff')",
    "class Deep:\n    def __repr__(self): return repr(Deep())\nDeep()",
    "deep = []\nfor n in range(10**5): deep = [deep]\ndeep",
    "10**5000",
    "globals()['\\ud800'] = 5",
    "exec(compile('1/0', '\\ud800', 'exec'))",
    "import linecache\nlinecache.cache = linecache.getlines = None\n1/0",
    "import json.encoder, time, codecs\nfor m in (json.encoder, time, codecs):\n    for name in list(vars(m)): setattr(m, name, None)",
    "import sys, types\nsys.__class__ = type('Odd', (types.ModuleType,), {'__getattribute__': lambda *_: 1/0})",
    "import os\nos.chdir('/proc/self')",
    "import atexit, time\natexit.register(time.sleep, 1000)",
    "x = run('sleep', '600')",
    "j = run('sh', '-c', 'echo out; exit 3')\nj.wait()",
    "run('no-such-program')",
    "import subprocess\nsubprocess.Popen(['sleep', '600'])",
    "import subprocess\nsubprocess.run('read x', shell=True, capture_output=True)",
    "!echo shell",
    "%matplotlib inline",
    "%nonsense",
    "\x00",
    "\ufeffx = 1\r\ny = 2\r\ny",
    "if:",
    "print('\\ud800')",
    "input()",
    "",
)


class AnyCellsTest(DaemonCase):
    def test_each_of_a_random_sequence_has_one_result_in_time_and_the_session_goes_on(self):
        seed = os.environ.get("HOLDFAST_SEED") or str(random.SystemRandom().randrange(10**9))
        choose = random.Random(seed)
        for number in range(CELLS):
            code = choose.choice(ODD)
            with self.subTest(seed=seed, number=number, code=code):
                began = time.monotonic()
                odd = self.daemon.run(code, cell=f"odd-{number}", timeout_ms=int(TIMEOUT_SECONDS * 1000))
                self.assertLess(time.monotonic() - began, TIMEOUT_SECONDS + GRACE_SECONDS + SLACK_SECONDS)
                self.assertTrue(odd["final"], odd)

                after = self.daemon.run("1+1", cell=f"after-{number}", timeout_ms=10_000)

                self.assertEqual((after["status"], after["value"]), ("ok", "2"), after)
                if after["kernel"]["id"] != odd["kernel"]["id"]:
                    self.assertTrue(after["kernel"]["state_lost"], after)
                # The record is the same one as was answered.
                self.assertEqual(self.daemon.call("cell.get", cell=f"odd-{number}")["finished_at"], odd["finished_at"])
        # Also of processes whose environment a cell had cleared none is left: run_clean.py sees to that.
        self.daemon.call("session.close")


if __name__ == "__main__":
    unittest.main()
