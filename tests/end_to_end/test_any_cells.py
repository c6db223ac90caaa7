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


if __name__ == "__main__":
    unittest.main()
