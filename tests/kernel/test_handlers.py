"""Code of a cell that runs where it likes, signal handlers and trace functions: it meets the kernel's own code and harms it not."""

import ast
import os
import select
import signal
import sys
import unittest
from unittest import mock

from harness import KernelTest, NurseryTest
from holdfast_kernel import limits, link_thread

TICKS = 'import signal, time\nticks = 0\ndef tick(*_):\n    global ticks\n    ticks += 1\n    {}\nsignal.signal(signal.SIGALRM, tick)\n'
LOUD = TICKS.format('print("tick")') + '''signal.setitimer(signal.ITIMER_REAL, 0.01, 0.02)
until = time.monotonic() + 1
while time.monotonic() < until: print("x" * 9); time.sleep(0)
signal.setitimer(signal.ITIMER_REAL, 0)
ticks'''
WAITING = TICKS.format('print("tick" + "-" * 4000); open(path, "a").write(".")') + '''path = %r
open(path, "w").close()
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
for _ in range(2000): print("x" * 999)
signal.setitimer(signal.ITIMER_REAL, 0)
ticks'''
RAISING = TICKS.format('raise TimeoutError("rang")')

RINGING = '''until = time.monotonic() + 1
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.002)
while time.monotonic() < until:
    try:
        while time.monotonic() < until: print(ticks); display(ticks); j.poll()
    except TimeoutError: pass
'''


class PrintingTest(KernelTest):
    """What prints in the midst of a print of the same thread: its text follows, and nothing waits for itself."""

    def test_a_handler_that_prints_while_its_cell_prints_loses_no_text(self):
        done = self.kernel.run(LOUD, timeout_ms=10000)

        self.assertEqual(done['status'], 'ok')
        self.assertEqual(self.kernel.connection.output(done['cell']).count('tick'), int(done['value']))
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_handler_that_prints_while_its_cell_waits_for_room_loses_no_text(self):
        link, marks = self.kernel.connection, os.path.join(self.home, 'ticks')
        link.auto_ack = False  # at 1 MiB the kernel sends no more, at 256 KiB beyond that its cell waits
        cell = self.kernel.execute(WAITING % marks, timeout_ms=10000)
        while sum(len(frame['text']) for frame in link.frames if frame['type'] == 'output') < 1 << 20:
            link.next()
        before = os.path.getsize(marks)
        self.wait_until(lambda: os.path.getsize(marks) > before + 1, 'handlers that ran meanwhile')
        link.auto_ack = True
        link.ack()

        done = link.wait_for('done', cell=cell)

        text = link.output(cell)
        self.assertEqual(len(text), done['output_bytes'])
        self.assertEqual(text.count('tick'), int(done['value']))

    def test_trace_and_profile_functions_that_print_end_with_their_cell(self):
        for name in ('settrace', 'setprofile'):
            done = self.kernel.run('import sys\nsys.%s(lambda *_: print("seen"))\ndef f(): print("here")\nf()\nsys.%s(None)' % (name, name),
                                   timeout_ms=5000)
            self.assertEqual(done['status'], 'ok', done)
            text = self.kernel.connection.output(done['cell'])
            self.assertIn('here', text)
            self.assertIn('seen\n', text)
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_handler_that_floods_in_the_midst_of_a_print_is_counted(self):
        code = TICKS.format('sys.stdout.write("y" * (3 << 20))').replace('import', 'import sys,', 1)
        code += 'with sys.stdout._output._lock: signal.raise_signal(signal.SIGALRM)\nprint("end")'

        done = self.kernel.run(code, timeout_ms=5000)

        self.assertEqual(done['status'], 'ok')
        self.assertEqual(done['stdout']['head'], 'end\n')
        self.assertIn('[3145728 bytes left out', done['stderr']['head'])


class RaisingTest(KernelTest):
    """A handler that raises ends its cell, or nothing."""

    def test_an_alarm_that_rings_between_cells_costs_nothing(self):
        self.kernel.run('kept = 41\n' + RAISING)
        os.kill(self.kernel.pid, signal.SIGALRM)
        self.wait_until(lambda: b'handler-raised TimeoutError' in self.kernel.file('kernel.log'), 'the line in the log')

        self.assertEqual(self.kernel.run('kept + 1')['value'], '42')
        self.assertEqual(self.kernel.run('ticks')['value'], '1')

    def test_one_that_rings_in_a_cell_ends_it_with_its_own_error(self):
        for rest in ('time.sleep(10)', 'while True: print(1)', 'while True: display(1)', 'j = run("sleep", "10"); j.wait()',
                     'j = run("sleep", "10")\nwhile True: j.poll()', 'import asyncio; await asyncio.sleep(10)'):
            done = self.kernel.run(RAISING + 'signal.setitimer(signal.ITIMER_REAL, 0.1)\n' + rest, timeout_ms=5000)

            self.assertEqual((done['status'], done['error'] and done['error']['name']), ('error', 'TimeoutError'), (rest, done))
            self.assertNotIn('holdfast', done['error']['traceback'])
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_hundreds_of_them_end_no_kernel(self):
        self.kernel.run('j = run("sleep", "100")\n' + RAISING)

        def has_rung():
            """An alarm may meet the cell outside of its try; then another one goes on."""
            self.assertIn(self.kernel.run(RINGING, timeout_ms=10000)['status'], ('ok', 'error'))
            self.wait_until(lambda: self.kernel.run('signal.setitimer(signal.ITIMER_REAL, 0)')['status'] == 'ok', 'the end of the alarms')
            return self.kernel.run('ticks > 300')['value'] == 'True'

        self.wait_until(has_rung, 'hundreds of alarms')
        self.assertEqual(self.kernel.run('j.poll() is None')['value'], 'True')

    def test_a_cell_sees_the_handlers_that_it_set(self):
        self.assertEqual(self.kernel.run(RAISING + 'signal.getsignal(signal.SIGALRM) is tick')['value'], 'True')
        self.assertEqual(self.kernel.run('signal.signal(signal.SIGALRM, signal.SIG_IGN) is tick')['value'], 'True')
        self.assertEqual(self.kernel.run('signal.getsignal(signal.SIGALRM) is signal.SIG_IGN')['value'], 'True')


class InterruptHandlerTest(NurseryTest):
    def test_a_cell_that_sets_the_default_one_is_ended_at_its_deadline_and_the_kernel_lives(self):
        kernel = self.spawn()

        done = kernel.run('import signal, time\nkept = 41\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\ntime.sleep(60)', timeout_ms=300)

        self.assertEqual(done['status'], 'timeout', done)
        self.assertEqual(kernel.run('kept + 1')['value'], '42')


class LeftTracingTest(KernelTest):
    """Trace and profile functions that outlive their cell."""

    def test_one_that_prints_goes_on_with_the_next_cell_and_not_between(self):
        for name in ('settrace', 'setprofile'):
            self.kernel.run('import sys\ndef show(*_): print("seen")\nsys.%s(show)' % name, timeout_ms=5000)

            done = self.kernel.run('(lambda: 0)()\nsys.%s(None)' % name, timeout_ms=5000)

            self.assertEqual(done['status'], 'ok', done)
            self.assertIn('seen\n', self.kernel.connection.output(done['cell']))
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_one_that_raises_later_on_is_an_error_of_the_cell_that_it_meets(self):
        for name in ('settrace', 'setprofile'):
            self.kernel.run('import sys, time\nlate = False\ndef limit(*_):\n    if late: raise TimeoutError("too long")\nsys.%s(limit)' % name)

            done = self.kernel.run('late = True\n(lambda: 0)()')

            self.assertEqual((done['status'], done['error']['name']), ('error', 'TimeoutError'), done)
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_fresh_kernel_has_none(self):
        self.assertEqual(self.kernel.run('import sys\nsys.gettrace(), sys.getprofile()')['value'], '(None, None)')

    def test_one_that_prints_in_a_child_of_a_fork_writes_into_nothing_of_the_kernel_s(self):
        code = ('import os, sys\nnumber, seen = os.getpid(), 0\ndef show(*_):\n    global seen\n    seen += 1\n'
                '    sys.stdout.write("%d %s\\n" % (os.getpid(), "\\u00e9" * (os.getpid() % 50)))\nsys.setprofile(show)\nfor _ in range(40):\n    if os.fork() == 0: os._exit(0)\n'
                'sys.setprofile(None)\nnumber, seen')

        done = self.kernel.run(code, timeout_ms=15000)

        self.assertEqual(done['status'], 'ok', done)
        number, seen = ast.literal_eval(done['value'])
        own = [line for line in self.kernel.connection.output(done['cell']).split('\n') if line.startswith('%d ' % number)]
        self.assertEqual(own, ['%d %s' % (number, '\u00e9' * (number % 50))] * seen)
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_an_alarm_that_raises_in_one_costs_no_kernel(self):
        self.kernel.run('import sys\nkept = 41\nsys.setprofile(lambda *_: None)\n' + RAISING +
                        'signal.setitimer(signal.ITIMER_REAL, 0.001, 0.002)')
        for _ in range(200):
            self.kernel.run('1+1')
        self.wait_until(lambda: self.kernel.run('signal.setitimer(signal.ITIMER_REAL, 0)')['status'] == 'ok', 'the end of the alarms')

        self.assertEqual(self.kernel.run('kept + 1')['value'], '42')

    def test_one_that_raises_in_a_step_of_a_cell_that_awaits_ends_that_cell(self):
        done = self.kernel.run('import asyncio, sys\ndef fail(frame, *_):\n    if frame.f_code.co_name == "send": raise TimeoutError("too long")\n'
                               'sys.settrace(fail)\nawait asyncio.sleep(0.01)\nawait asyncio.sleep(60)', timeout_ms=5000)

        self.assertEqual((done['status'], done['error']['name']), ('error', 'TimeoutError'), done)
        self.assertEqual(self.kernel.run('await asyncio.sleep(0, 2)')['value'], '2')

    def test_a_profiler_of_c_code_goes_on_from_cell_to_cell(self):
        self.kernel.run('import cProfile\nprofiler = cProfile.Profile()\nprofiler.enable()')
        self.kernel.run('def called(): pass\ncalled()')

        done = self.kernel.run('profiler.disable()\nany(getattr(entry.code, "co_name", "") == "called" for entry in profiler.getstats())')

        self.assertEqual(done['value'], 'True', done)


class LostStepTest(KernelTest):
    """What tells the event loop what comes next may be lost: a trace function raises there, or a cell has broken the loop."""

    def setUp(self):
        super().setUp()
        self.kernel.run('import asyncio, sys\nkept = 41')

    def test_a_cell_whose_next_step_is_never_planned_ends_with_its_deadline_and_the_kernel_lives(self):
        for name in ('settrace', 'setprofile'):
            done = self.kernel.run('def limit(frame, *_):\n    if frame.f_code.co_name == "call_soon": raise ValueError("limit")\n'
                                   'sys.%s(limit)\ntry: await asyncio.sleep(0.01)\nfinally: print("left")' % name, timeout_ms=300)

            self.assertEqual((done['status'], done.get('kernel_ended')), ('timeout', None), done)
            self.assertEqual(self.kernel.connection.output(done['cell']).splitlines()[-1], 'left')
            self.assertEqual(self.kernel.run('await asyncio.sleep(0.01, kept + 1)')['value'], '42')

    def test_one_that_waits_for_a_task_that_does_not_end_is_ended_without_it(self):
        done = self.kernel.run('async def stay():\n    while True:\n        try: await asyncio.sleep(60)\n        except BaseException: pass\n'
                               'await asyncio.create_task(stay())', timeout_ms=300)

        self.assertEqual((done['status'], done.get('kernel_ended')), ('timeout', None), done)
        self.assertEqual(self.kernel.run('await asyncio.sleep(0.01, kept + 1)')['value'], '42')

    def test_one_whose_loop_says_that_it_is_closed_has_its_result(self):
        done = self.kernel.run('await asyncio.sleep(0)\nasyncio.get_running_loop()._closed = True\nawait asyncio.sleep(0.01)')

        self.assertEqual((done['status'], done['error']['message']), ('error', 'Event loop is closed'))
        self.assertEqual(self.kernel.run('await asyncio.sleep(0.01, kept + 1)')['value'], '42')

    def test_one_that_has_ended_is_not_held_by_a_task_that_computes(self):
        done = self.kernel.run('import time\nasync def hold():\n    await asyncio.sleep(0.01)\n    time.sleep(60)\n'
                               'held = asyncio.create_task(hold())\nawait asyncio.sleep(0.01)')

        self.assertEqual(done['status'], 'ok', done)
        self.assertEqual(self.kernel.run('kept + 1')['value'], '42')


@unittest.skipUnless(hasattr(sys, 'monitoring'), 'Python 3.12 has it first')
class MonitoringTest(KernelTest):
    """Callbacks of sys.monitoring and functions for all threads meet every thread: not what the kernel does on any of them."""

    MONITOR = ('import sys\nkept = 41\nmonitoring = sys.monitoring\nmonitoring.use_tool_id(3, "mine")\n'
               'def watch(*_):\n    %s\nmonitoring.register_callback(3, monitoring.events.%s, watch)\n'
               'monitoring.set_events(3, monitoring.events.%s)\n')

    def test_a_callback_that_raises_is_an_error_of_the_cell_that_it_meets_and_is_taken_away(self):
        for event in ('PY_START', 'LINE', 'PY_RETURN', 'CALL'):
            self.kernel.run('import sys\nsys.monitoring.free_tool_id(3)')
            self.kernel.run(self.MONITOR % ('raise ValueError("seen")', event, event))
            self.kernel.run('def called(): pass\ncalled()')

            self.assertEqual(self.kernel.run('import time\ntime.sleep(0.02)\nprint(1)\nkept + 1')['value'], '42', event)

    def test_a_callback_that_prints_goes_on_with_the_next_cell(self):
        self.kernel.run(self.MONITOR % ('print("seen")', 'PY_START', 'PY_START'))

        done = self.kernel.run('import time\ntime.sleep(0.02)\n(lambda: 0)()\nkept + 1', timeout_ms=5000)

        self.assertEqual(done['value'], '42', done)
        self.assertEqual(self.kernel.connection.output(done['cell']), 'seen\n' * 3)  # statements, the function, the expression

    def test_one_that_hangs_ends_with_the_deadline_of_the_cell_that_it_meets(self):
        self.kernel.run(self.MONITOR % ('while True: pass', 'PY_START', 'PY_START'))

        self.assertEqual(self.kernel.run('(lambda: 0)()', timeout_ms=300)['status'], 'timeout')
        self.assertEqual(self.kernel.run('kept + 1')['value'], '42')

    def test_a_cell_gets_back_the_callback_that_it_registered(self):
        done = self.kernel.run(self.MONITOR % ('pass', 'LINE', 'LINE') + 'monitoring.register_callback(3, monitoring.events.LINE, None) is watch')

        self.assertEqual(done['value'], 'True', done)

    def test_functions_that_are_set_for_all_threads_do_not_meet_the_kernel_s(self):
        for name in ('settrace_all_threads', 'setprofile_all_threads'):
            done = self.kernel.run('import sys, threading, time\nkept = 41\ndef fail(*_): raise ValueError("seen")\nthreading.%s(fail)\ntime.sleep(0.02)' % name)

            self.assertIn(done['status'], ('ok', 'error'))
            self.assertEqual(self.kernel.run('import time\ntime.sleep(0.02)\nkept + 1')['value'], '42', name)


class AuditHookTest(KernelTest):
    """A hook can never be taken away: the kernel's own work is none of its business."""

    def test_one_that_forbids_everything_forbids_no_later_cell(self):
        self.kernel.run('import sys\ndef forbid(event, _): raise PermissionError(event)\nsys.addaudithook(forbid)')

        self.assertEqual(self.kernel.run('1+1')['value'], '2')
        self.assertEqual(self.kernel.run('def f():\n    return 1/0\nf()')['error']['name'], 'ZeroDivisionError')
        done = self.kernel.run('open("/dev/null")')
        self.assertEqual((done['error']['name'], done['error']['message']), ('PermissionError', 'open'))

    def test_one_that_hangs_holds_up_only_the_cell_that_it_hears(self):
        self.kernel.run('import sys, time\nsys.addaudithook(lambda event, _: time.sleep(60) if event in ("compile", "exec") else None)')

        self.assertEqual(self.kernel.run('exec("1")', timeout_ms=200)['status'], 'timeout')
        self.assertEqual(self.kernel.run('1+1', timeout_ms=5000)['value'], '2')

    def test_a_thread_of_c_code_alone_is_heard(self):
        self.kernel.run('import sys, _thread, threading\nheard = threading.Event()\n'
                        'sys.addaudithook(lambda event, _: heard.set() if event == "open" else None)')

        self.assertEqual(self.kernel.run('_thread.start_new_thread(open, ("/dev/null",))\nheard.wait(10)')['value'], 'True')


class LinkTest(NurseryTest):
    def test_a_link_thread_that_does_not_begin_is_an_error_and_no_silence(self):
        with mock.patch.object(link_thread, 'start_new_thread'), mock.patch.object(limits, 'THREAD_START', 0.05):
            thread = link_thread.LinkThread(select.poll(), None, None)
            self.addCleanup(thread.abandon)
            with self.assertRaisesRegex(RuntimeError, 'does not begin'):
                thread.start()

    def test_a_cell_that_prints_is_not_held_up_by_a_daemon_that_takes_nothing(self):
        kernel = self.spawn()
        cell = kernel.execute('for _ in range(30000): print("x" * 100)', timeout_ms=10000)  # nothing is acked before its done

        self.assertEqual(kernel.connection.wait_for('done', cell=cell)['status'], 'ok')

    def test_a_kernel_whose_link_thread_finds_no_memory_ends_and_is_not_silent(self):
        kernel = self.spawn()
        kernel.execute('import time\nfrom holdfast_kernel import log, pump\ndef fail(*_, **__): raise MemoryError\n'
                       'log.Log.write = fail\npump.Pump.pump = fail\ntime.sleep(60)')

        self.assertEqual(self.wait_exit(kernel, timeout=5)['exit_code'], 70)


if __name__ == '__main__':
    unittest.main()
