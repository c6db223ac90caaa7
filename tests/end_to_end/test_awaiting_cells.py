"""Cells that await: ended at once by an interrupt or a deadline, and a clear word where asyncio is used in a way that cannot work."""

import time
import unittest

from holdfast_test import processes
from holdfast_test.cases import SharedDaemonCase

SOON_MS = 3000  # well below what the cells sleep, far above what an interrupt takes


class AwaitingTest(SharedDaemonCase):
    def call(self, method, **params):
        return self.client.call(method, session=self.session, **params)

    def interrupted(self, code, cell):
        """The result of a cell that is interrupted once it has run for a second, and how long that took."""
        pending = self.start_cell("import asyncio, time\nprint('on', flush=True)\n" + code, cell)
        self.client.wait_streamed(cell, "on")
        time.sleep(1)  # it shall be deep in its sleep, not about to begin it
        began = time.monotonic()
        answer = self.call("cell.interrupt", cell=cell)
        elapsed = (time.monotonic() - began) * 1000
        self.assertEqual(pending.result()["status"], answer["status"])
        return answer, elapsed

    def test_an_interrupt_ends_whatever_is_awaited_at_once_and_the_kernel_goes_on(self):
        kernel = self.run_cell("kept = 1")["kernel"]["id"]
        ways = (
            "await asyncio.sleep(60)",
            "await asyncio.gather(*[asyncio.sleep(60) for _ in range(100)])",
            "await asyncio.wait_for(asyncio.shield(asyncio.sleep(60)), 60)",
            "await asyncio.Event().wait()",
            "async def numbers():\n    while True:\n        yield 1\n        await asyncio.sleep(0.01)\nasync for n in numbers(): pass",
            "async def lock():\n    async with asyncio.Lock(): await asyncio.sleep(60)\nawait asyncio.create_task(lock())",
            "p = await asyncio.create_subprocess_exec('sleep', '60')\nawait p.wait()",
            "asyncio.run(asyncio.sleep(60))",
        )
        for number, code in enumerate(ways):
            with self.subTest(code):
                result, elapsed = self.interrupted(code, f"c{number}")

                self.assertEqual((result["status"], result["stdout"]), ("interrupted", "on\n"), result)
                self.assertLess(elapsed, SOON_MS)
                after = self.run_cell("import asyncio\nawait asyncio.sleep(0, kept)")
                self.assert_ok(after, "1")
                self.assertEqual(after["kernel"]["id"], kernel)

    def test_asyncio_run_works_where_nothing_awaits_and_else_says_what_to_write(self):
        define = "import asyncio\nasync def f(): return 5\n"
        works = ("asyncio.run(f())", "asyncio.get_event_loop_policy().new_event_loop().run_until_complete(f())", "await f()",
                 "await asyncio.to_thread(asyncio.run, f())")  # fmt: skip
        for code in works:
            with self.subTest(code):
                self.assert_ok(self.run_cell(define + code), "5")
        fails = ("await f()\nasyncio.run(f())", "await f()\nasyncio.get_running_loop().run_until_complete(f())",
                 "async def g(): return asyncio.run(f())\nawait g()")  # fmt: skip
        for code in fails:
            with self.subTest(code):
                result = self.run_cell(define + code)
                self.assertEqual((result["status"], result["error"]["name"]), ("error", "RuntimeError"), result)
                if "asyncio.run" in code:
                    self.assertIn("await f()", result["error"]["message"] + result["error"]["traceback"].splitlines()[-1])
                self.assert_ok(self.run_cell("await f()"), "5")

    def test_a_cell_that_goes_on_in_spite_of_its_end_is_killed_after_the_grace_and_the_loss_is_said(self):
        ways = (
            "while True:\n    try: time.sleep(0.05)\n    except: pass",
            "while True:\n    try: await asyncio.sleep(0.05)\n    except BaseException: pass",
            "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ndef f():\n    try: time.sleep(60)\n    finally: f()\nf()",
            "class Stubborn:\n    def __enter__(self): pass\n    def __exit__(self, *_): time.sleep(60)\nwith Stubborn(): time.sleep(60)",
        )
        for number, code in enumerate(ways):
            for ending in ("interrupted", "timeout"):
                with self.subTest(code, ending=ending):
                    old = processes.identify(self.run_cell("kept = 1")["kernel"]["pid"])
                    name = f"c{number}-{ending}"
                    if ending == "timeout":
                        result = self.run_cell("import asyncio, time\nprint('on', flush=True)\n" + code, cell=name, timeout_ms=700)
                    else:
                        result, _ = self.interrupted(code, name)

                    self.assertEqual((result["status"], result["stdout"]), (ending, "on\n"), result)
                    self.assertEqual(result["death"]["cause"], "unresponsive")
                    after = self.run_cell("kept", text_limit=1000)
                    self.assertEqual((after["status"], after["error"]["name"]), ("error", "NameError"), after)
                    self.assertTrue(after["kernel"]["state_lost"])
                    self.assertTrue(after["text"].startswith("[state lost: "), after["text"])
                    self.assertFalse(processes.is_alive(old))


if __name__ == "__main__":
    unittest.main()
