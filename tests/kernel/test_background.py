"""Cells that await go to the background; later cells run meanwhile."""

import time
import unittest

from harness import KernelTest


class BackgroundTest(KernelTest):
    spawning = {'interrupt_grace_ms': 1500}

    def setUp(self):
        super().setUp()
        self.run_ok('import asyncio, time')

    def wait_for(self, kind, cell, **fields):
        return self.kernel.connection.wait_for(kind, cell=cell, **fields)

    def in_background(self, code, after=30, **options):
        """The id of a cell that is in the background."""
        cell = self.kernel.execute(code, background_after_ms=after, **options)
        self.wait_for('background', cell)
        return cell

    def gated(self, code):
        """That of one that is in the background and runs the code after `go.set()`."""
        return self.in_background('go = asyncio.Event()\nawait go.wait()\n' + code)

    def go(self):
        self.run_ok('go.set()')

    def end_of(self, cell):
        """Its done, come or to come."""
        return self.done_of(cell) or self.wait_for('done', cell)

    def test_a_cell_that_awaits_lets_later_cells_run_and_ends_when_it_likes(self):
        cell = self.in_background('go = asyncio.Event()\nawait go.wait()\n"late"')
        self.assertEqual(self.run_ok('1+1')['value'], '2')
        self.assertEqual(self.run_ok('await asyncio.sleep(0.01, 3)')['value'], '3')

        self.kernel.execute('go.set()')

        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done['value']), ('ok', "'late'"))
        self.assertGreaterEqual(done['duration_ms'], 30)
        self.assertEqual(self.run_ok('2')['value'], '2')

    def test_it_goes_on_while_the_kernel_is_idle(self):
        cell = self.gated('for n in range(5):\n    await asyncio.sleep(0.02)\n    print(n)\nn')
        self.go()
        self.assertEqual(self.end_of(cell)['value'], '4')
        self.assertEqual(self.kernel.connection.output(cell), '0\n1\n2\n3\n4\n')

    def test_it_goes_on_while_another_cell_awaits(self):
        cell = self.gated('steps = []\nfor n in range(3):\n    await asyncio.sleep(0.05)\n    steps.append(n)\nn')
        other = self.kernel.execute('steps = []\ngo.set()\nwhile len(steps) < 3: await asyncio.sleep(0.01)\nsteps')
        self.assertEqual(self.wait_for('done', other)['value'], '[0, 1, 2]')
        self.assertEqual(self.end_of(cell)['value'], '2')

    def test_a_cell_that_does_not_await_stays(self):
        done = self.run_ok('time.sleep(0.2)\n5', background_after_ms=30)
        self.assertFalse([frame for frame in self.kernel.connection.frames if frame['type'] == 'background'])
        self.assertEqual(done['value'], '5')

    def test_one_that_computes_first_goes_once_it_awaits(self):
        cell = self.in_background('time.sleep(0.2)\ngo = asyncio.Event()\nawait go.wait()\n6')
        self.go()
        self.assertEqual(self.end_of(cell)['value'], '6')

    def test_zero_means_never(self):
        self.run_ok('await asyncio.sleep(0.2)', background_after_ms=0)
        self.assertFalse([frame for frame in self.kernel.connection.frames if frame['type'] == 'background'])

    def test_output_belongs_to_the_cell_whose_task_writes(self):
        cell = self.in_background('async def part():\n    await go.wait()\n    print("from a task")\ngo = asyncio.Event()\nt = asyncio.ensure_future(part())\n'
                                  'print("first")\nawait go.wait()\nprint("second")\nawait t')
        other = self.run_ok('print("other")\ngo.set()\nawait asyncio.sleep(0.05)\nprint("other")')

        done = self.end_of(cell)
        self.assertEqual(other['stdout']['head'], 'other\nother\n')
        self.assertEqual(sorted(done['stdout']['head'].split('\n')), ['', 'first', 'from a task', 'second'])
        self.assertEqual(self.kernel.connection.output(cell), done['stdout']['head'])
        self.assertEqual(self.kernel.connection.output(other['cell']), 'other\nother\n')

    def done_of(self, cell):
        return next((frame for frame in self.kernel.connection.frames if frame['type'] == 'done' and frame['cell'] == cell), None)

    def test_displays_and_the_last_value_belong_to_their_cell(self):
        cell = self.gated('display("mine")\n7')
        self.go()
        done = self.end_of(cell)
        self.assertEqual((done['displays'], done['value']), (1, '7'))

    def test_its_deadline_still_counts(self):
        began = time.monotonic()
        cell = self.in_background('print("kept")\nawait asyncio.sleep(60)', timeout_ms=1500)
        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done['stdout']['head'], done.get('kernel_ended')), ('timeout', 'kept\n', None))
        self.assertLess(time.monotonic() - began, 2.9)

    def test_a_deadline_while_another_cell_holds_the_main_thread_cancels_when_that_one_ends(self):
        cell = self.in_background('await asyncio.sleep(60)', timeout_ms=1000)
        other = self.kernel.execute('end = time.monotonic() + 3\nwhile time.monotonic() < end: pass\n"through"')

        self.assertEqual(self.wait_for('done', other)['value'], "'through'")
        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done.get('kernel_ended')), ('timeout', None))

    def test_each_cell_is_interrupted_by_its_id(self):
        first = self.in_background('await asyncio.sleep(60)')
        second = self.in_background('await asyncio.sleep(60)')
        third = self.kernel.execute('print("on")\nawait asyncio.sleep(0.4)\n"third"')
        self.wait_for('output', third)
        self.interrupt(second)
        self.assertEqual(self.wait_for('done', second)['status'], 'interrupted')
        self.assertEqual(self.wait_for('done', third)['value'], "'third'")
        self.interrupt(first)
        self.assertEqual(self.wait_for('done', first)['status'], 'interrupted')
        fourth = self.gated('"fourth"')
        fifth = self.kernel.execute('while True: pass')
        self.wait_for('started', fifth)
        self.interrupt(fifth)
        self.assertEqual(self.wait_for('done', fifth)['status'], 'interrupted')
        self.go()
        self.assertEqual(self.end_of(fourth)['value'], "'fourth'")

    def test_sync_code_of_a_background_cell_is_interrupted(self):
        cell = self.gated('print("on", flush=True)\nwhile True: pass')
        self.kernel.execute('go.set()')
        self.wait_for('output', cell)
        self.interrupt(cell)
        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done.get('kernel_ended')), ('interrupted', None))

    def test_one_that_swallows_its_cancellation_ends_with_the_kernel(self):
        cell = self.in_background('while True:\n    try: await asyncio.sleep(1)\n    except: pass')
        self.interrupt(cell)
        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done['kernel_ended']), ('interrupted', True))

    def test_at_most_16_are_there_and_one_more_goes_when_there_is_room(self):
        cells = [self.in_background('await asyncio.sleep(60)', after=1) for _ in range(16)]
        last = self.kernel.execute('print("on")\nawait asyncio.sleep(60)', background_after_ms=1)
        self.wait_for('output', last)
        self.assertIsNone(self.kernel.connection.next(0.4))

        self.interrupt(cells[3])

        self.assertEqual(self.wait_for('done', cells[3])['status'], 'interrupted')
        self.wait_for('background', last)
        for cell in [cell for cell in cells if cell != cells[3]] + [last]:
            self.interrupt(cell)
            self.assertEqual(self.wait_for('done', cell)['status'], 'interrupted')
        self.assertEqual(self.run_ok('1')['value'], '1')

    def test_a_new_daemon_is_told_of_it_and_gets_its_done(self):
        cell = self.gated('8')
        self.kernel.connection.close()
        self.kernel.connect()
        self.assertEqual([one['cell'] for one in self.kernel.hello['cells']], [cell])
        self.go()
        self.assertEqual(self.end_of(cell)['value'], '8')

    def test_a_loop_that_fails_ends_all_that_await_with_its_error(self):
        cell = self.in_background('await asyncio.sleep(60)')
        done = self.kernel.run('await asyncio.sleep(0)\nasyncio.get_running_loop()._selector.close()\nawait asyncio.sleep(0.01)')
        self.assertEqual(done['status'], 'error')
        self.assertEqual(self.end_of(cell)['status'], 'error')
        self.assertEqual(self.run_ok('await asyncio.sleep(0, 9)')['value'], '9')

    def test_a_loop_whose_wake_up_it_has_broken_still_lets_later_cells_run(self):
        cell = self.kernel.execute("import asyncio\nloop = asyncio.get_running_loop()\ndef broken(*_): raise ValueError('broken')\n"
                                   "loop.call_soon_threadsafe = broken\nawait asyncio.sleep(0.3)\n7", background_after_ms=30)
        later = self.kernel.execute('8')

        self.assertEqual(self.kernel.connection.wait_for('done', cell=later)['value'], '8')
        self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['value'], '7')

    def test_a_sync_cell_that_runs_the_loop_by_itself_harms_none(self):
        cell = self.gated('print("mine")\n10')
        self.assertEqual(self.run_ok('go.set()\nasyncio.get_event_loop().run_until_complete(asyncio.sleep(0.4, 11))')['value'], '11')
        self.assertEqual(self.end_of(cell)['value'], '10')
        self.assertEqual(self.done_of(cell)['stdout']['head'], 'mine\n')

    def test_a_loop_that_a_later_cell_closes_ends_it_with_that_error(self):
        cell = self.in_background('await asyncio.sleep(60)')
        self.kernel.run('asyncio.get_event_loop().close()')
        done = self.end_of(cell)
        self.assertEqual((done['status'], done['error']['message']), ('error', 'the event loop was closed by a later cell'))
        self.assertEqual(self.run_ok('await asyncio.sleep(0, 9)')['value'], '9')

    def test_shutdown_interrupts_it_first(self):
        cell = self.in_background('try: await asyncio.sleep(60)\nfinally: print("cleaned up")')
        self.kernel.connection.send({'type': 'shutdown', 'reason': 'test'})
        done = self.wait_for('done', cell)
        self.assertEqual((done['status'], done['stdout']['head']), ('interrupted', 'cleaned up\n'))
        self.assertEqual(self.wait_exit(self.kernel)['exit_code'], 0)

    def test_a_fork_in_it_makes_no_second_kernel_and_runs_no_other_cell_twice(self):
        fork = 'import os\npid = os.fork()\nif pid == 0:\n    await asyncio.sleep(0.05)\n    print("child", flush=True)\nelse: os.waitpid(pid, 0)\npid > 0'
        other = self.in_background('last = asyncio.Event()\nawait last.wait()\nprint("once", flush=True)')
        cell = self.gated(fork)
        self.go()
        self.assertEqual(self.end_of(cell)['value'], 'True')
        self.run_ok('last.set()')
        self.assertEqual(self.end_of(other)['stdout']['head'].replace('child\n', ''), 'once\n')
        cell = self.gated(fork)
        third = self.run_ok('go.set()\nawait asyncio.sleep(0.4)\nprint("once", flush=True)')
        self.assertEqual(self.end_of(cell)['value'], 'True')
        self.assertEqual(third['stdout']['head'].replace('child\n', ''), 'once\n')
        self.assertEqual(self.run_ok('await asyncio.sleep(0.01, 1)')['value'], '1')

    def test_exit_ends_it_alone(self):
        cell = self.gated('raise SystemExit(5)')
        self.go()
        done = self.end_of(cell)
        self.assertEqual((done['status'], done['exit_code']), ('exit', 5))
        self.assertEqual(self.run_ok('1')['value'], '1')


if __name__ == '__main__':
    unittest.main()
