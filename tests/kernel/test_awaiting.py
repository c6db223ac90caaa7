"""Cells that await: one loop and one context for all of them, which nothing that a cell does can take away."""

import time
import unittest

from harness import KernelTest


class AwaitingTest(KernelTest):
    spawning = {'interrupt_grace_ms': 1500}

    def test_await_async_for_and_async_with_work_at_the_top_level(self):
        self.assertEqual(self.value('import asyncio\nawait asyncio.sleep(0.01, 5)'), '5')
        self.assertEqual(self.value('x = await asyncio.sleep(0, 6)\nx + 1'), '7')
        self.assertEqual(self.value('async def g():\n    yield 1\n    yield 2\nr = []\nasync for i in g(): r.append(i)\nr'), '[1, 2]')
        self.assertEqual(self.value('[i async for i in g()]'), '[1, 2]')
        self.assertEqual(self.value('lock = asyncio.Lock()\nasync with lock:\n    1\nlock.locked()'), 'False')
        self.assertEqual(self.value('await asyncio.sleep(0, 8)\nNone'), None)

    def test_a_coroutine_that_nobody_awaited_is_warned_of_by_its_definition_each_time(self):
        self.value('import asyncio\n\nasync def later():\n    return 1')
        for code in ('later()', 'asyncio.ensure_future(later(), loop=5)', 'later()'):
            said = self.kernel.run(code)['stderr']['head'] + self.kernel.run('5')['stderr']['head']
            self.assertIn("<cell 1>:3: RuntimeWarning: coroutine 'later' was never awaited\n  async def later():\n", said, code)
            self.assertNotIn('holdfast', said)

        said = self.run_ok('def lose():\n    later()\nlose()')['stderr']['head']

        self.assertRegex(said, r"^<cell \d+>:2: RuntimeWarning: coroutine 'later' was never awaited\n  later\(\)\n")

    def test_the_last_awaited_value_is_underscore(self):
        self.value('import asyncio\nawait asyncio.sleep(0, 40)')

        self.assertEqual(self.value('_ + 2'), '42')

    def test_all_awaiting_cells_have_one_loop(self):
        self.value('import asyncio\nawait asyncio.sleep(0)\nfirst = asyncio.get_running_loop()')

        self.assertEqual(self.value('await asyncio.sleep(0)\nfirst is asyncio.get_running_loop()'), 'True')
        self.assertEqual(self.value('first.run_until_complete(asyncio.sleep(0, 3))'), '3')

    def test_what_was_made_before_the_first_await_belongs_to_the_loop(self):
        self.value('import asyncio\nqueue = asyncio.Queue(); lock = asyncio.Lock(); event = asyncio.Event()')

        self.assertEqual(self.value('async def put():\n    await queue.put(3)\nasync with lock:\n    t = asyncio.ensure_future(put())\n'
                                    '    got = await queue.get()\ngot'), '3')

    def test_context_variables_live_on_over_sync_and_async_cells(self):
        self.value('import asyncio, contextvars\nv = contextvars.ContextVar("v", default=0)\ntoken = v.set(1)')
        self.assertEqual(self.value('await asyncio.sleep(0)\nv.get()'), '1')
        self.value('await asyncio.sleep(0)\nv.set(2)\nawait asyncio.sleep(0)')
        self.assertEqual(self.value('v.get()'), '2')
        self.assertEqual(self.value('async def f(): v.set(9)\nawait asyncio.ensure_future(f())\nv.get()'), '2')

        self.assertEqual(self.value('v.reset(token)\nv.get()'), '0')

    def test_a_kernel_makes_no_loop_before_a_cell_awaits(self):
        self.value('1')

        found = self.value('import os\n[os.readlink("/proc/self/fd/" + n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)]')

        self.assertNotIn('eventpoll', found)

    def test_asyncio_run_works_in_a_cell_that_does_not_await_and_between_such_that_do(self):
        self.value('import asyncio\nasync def f(): return 7')
        self.assertEqual(self.value('asyncio.run(f())'), '7')
        self.assertEqual(self.value('await f()'), '7')
        self.assertEqual(self.value('asyncio.run(f())'), '7')
        self.assertEqual(self.value('await f()'), '7')

    def test_asyncio_run_in_a_cell_that_awaits_says_what_to_write(self):
        for call in ('asyncio.run(f())', 'asyncio.get_event_loop().run_until_complete(f())'):
            error = self.kernel.run('import asyncio\nasync def f(): return 7\nawait f()\n' + call)['error']
            self.assertEqual(error['name'], 'RuntimeError')
            self.assertIn('await', error['message'])
            self.assertIn('await', error['traceback'])

    def test_a_task_made_where_no_loop_runs_says_what_to_write(self):
        error = self.kernel.run('import asyncio\nasync def f(): pass\nasyncio.create_task(f())')['error']

        self.assertIn('await', error['message'])

    def test_an_interrupt_ends_an_await_at_once_and_the_loop_goes_on(self):
        for code in ('await asyncio.sleep(60)', 'await asyncio.gather(asyncio.sleep(60), asyncio.sleep(70))', 'await asyncio.Event().wait()',
                     'await asyncio.get_running_loop().create_future()'):
            cell = self.kernel.execute('import asyncio\nprint("on", flush=True)\n' + code)
            self.kernel.connection.wait_for('output', cell=cell)
            began = time.monotonic()
            self.interrupt(cell)
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertLess(time.monotonic() - began, 0.6)
            self.assertEqual((done['status'], done['error']['name'], done['error']['message']),
                             ('interrupted', 'KeyboardInterrupt', 'the cell was interrupted'), done)
            self.assertIn(code.split('(')[0], done['error']['traceback'])
            self.assertNotIn('holdfast', done['error']['traceback'])
            self.assertEqual(self.value('await asyncio.sleep(0, 1)'), '1')

    def test_a_deadline_ends_an_await_as_timeout(self):
        began = time.monotonic()

        done = self.kernel.run('import asyncio\nprint("kept")\nawait asyncio.sleep(60)', timeout_ms=200)

        self.assertEqual((done['status'], done['stdout']['head']), ('timeout', 'kept\n'))
        self.assertLess(time.monotonic() - began, 0.9)

    def test_an_interrupt_meets_sync_code_inside_of_coroutines_tasks_and_callbacks(self):
        for code in ('async def f():\n    while True: pass\nawait f()', 'async def f():\n    while True: pass\nawait asyncio.ensure_future(f())',
                     'async def f():\n    time.sleep(60)\nt = asyncio.ensure_future(f())\nawait asyncio.sleep(60)',
                     'asyncio.get_running_loop().call_soon(time.sleep, 60)\nawait asyncio.sleep(60)',
                     'class R:\n    def __repr__(self):\n        while True: pass\nawait asyncio.sleep(0, R())',
                     'while True:\n    await asyncio.sleep(0)'):
            cell = self.kernel.execute('import asyncio, time\nprint("on", flush=True)\n' + code)
            self.kernel.connection.wait_for('output', cell=cell)
            began = time.monotonic()
            self.interrupt(cell)
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertEqual((done['status'], done.get('kernel_ended')), ('interrupted', None), (code, done))
            self.assertLess(time.monotonic() - began, 0.8, code)
            self.assertEqual(self.value('await asyncio.sleep(0, 1)'), '1')

    def test_a_cell_that_handles_its_cancellation_ends_as_it_likes(self):
        cell = self.kernel.execute('import asyncio\nprint("on", flush=True)\ntry:\n    await asyncio.sleep(60)\nexcept asyncio.CancelledError:\n    pass\n"clean"')
        self.kernel.connection.wait_for('output', cell=cell)
        self.interrupt(cell)
        done = self.kernel.connection.wait_for('done', cell=cell)
        self.assertEqual((done['status'], done['value']), ('ok', "'clean'"))

    def test_a_cancellation_of_its_own_is_an_error(self):
        done = self.kernel.run('import asyncio\nraise asyncio.CancelledError()')
        self.assertEqual((done['status'], done['error']['name']), ('error', 'CancelledError'))
        done = self.kernel.run('asyncio.current_task().cancel()\nawait asyncio.sleep(1)')
        self.assertEqual((done['status'], done['error']['name']), ('error', 'CancelledError'))

    def test_a_swallowed_cancellation_ends_the_kernel_after_the_grace(self):
        cell = self.kernel.execute('import asyncio\nprint("on", flush=True)\nwhile True:\n    try: await asyncio.sleep(1)\n    except: pass')
        self.kernel.connection.wait_for('output', cell=cell)
        self.interrupt(cell)
        done = self.kernel.connection.wait_for('done', cell=cell)
        self.assertEqual((done['status'], done['kernel_ended']), ('interrupted', True))

    def test_a_task_that_is_left_running_goes_on_while_a_later_cell_awaits(self):
        self.value('import asyncio\ngo = asyncio.Event()\nasync def f():\n    await go.wait()\n    return 5\n'
                   't = asyncio.ensure_future(f()); await asyncio.sleep(0)')
        self.assertEqual(self.value('t.done()'), 'False')

        self.assertEqual(self.value('go.set()\nawait t'), '5')

    def test_nothing_done_to_the_loop_makes_the_kernel_silent(self):
        for code in ('await asyncio.sleep(0)\nasyncio.get_running_loop().stop()\nawait asyncio.sleep(0.01)',
                     'asyncio.get_event_loop().close()', 'asyncio.set_event_loop(None)', 'asyncio.set_event_loop(asyncio.new_event_loop())',
                     'class P(asyncio.DefaultEventLoopPolicy):\n    def get_event_loop(self): 1/0\n    def set_event_loop(self, loop): 1/0\n'
                     'asyncio.set_event_loop_policy(P())',
                     'asyncio.set_event_loop_policy(None)', 'await asyncio.sleep(0)\nasyncio.get_running_loop()._selector.close()\nawait asyncio.sleep(0.01)',
                     'await asyncio.sleep(0)\nimport os\nos.close(asyncio.get_running_loop()._selector.fileno())\nawait asyncio.sleep(0.01)',
                     'await asyncio.sleep(0)\nasyncio.get_running_loop().call_soon(exit_now)\nawait asyncio.sleep(0.01)',
                     'await asyncio.sleep(0)\nasyncio.get_running_loop().close()',
                     'await asyncio.sleep(0)\nasyncio.get_running_loop()._ready = None\nawait asyncio.sleep(0.01)',
                     'asyncio._set_running_loop(asyncio.new_event_loop())', 'asyncio._set_running_loop(None)\nawait asyncio.sleep(0)'):
            cell = self.kernel.execute('import asyncio, os, sys\ndef exit_now(): raise SystemExit(4)\n' + code, timeout_ms=3000)
            done = self.kernel.connection.wait_for('done', cell=cell)
            self.assertIn(done['status'], ('ok', 'error'), (code, done))
            self.assertEqual(self.value('import asyncio\nawait asyncio.sleep(0.001, 5)'), '5', code)
            self.assertEqual(self.value('1+1'), '2')

    def test_all_descriptors_closed_while_awaiting_cost_the_cell_alone(self):
        cell = self.kernel.execute('import asyncio, os\nawait asyncio.sleep(0)\nos.closerange(3, 2000)\nawait asyncio.sleep(0.01)')
        self.wait_until(lambda: b'descriptors-lost listening socket: rebuilt' in self.kernel.file('kernel.log'), 'rebuilt')
        self.kernel.connect()
        self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'error')
        self.assertEqual(self.value('await asyncio.sleep(0.001, 5)'), '5')

    def test_child_processes_threads_and_streams_of_asyncio_work(self):
        self.assertEqual(self.value('import asyncio\np = await asyncio.create_subprocess_shell("echo hi; exit 3", stdout=asyncio.subprocess.PIPE)\n'
                                    'out = await p.communicate()\nout[0], p.returncode'), "(b'hi\\n', 3)")
        self.assertEqual(self.value('await asyncio.get_running_loop().run_in_executor(None, lambda: 7)'), '7')
        self.assertEqual(self.value('r, w = await asyncio.open_unix_connection(sock=__import__("socket").socketpair()[0])\nw.close()\n1'), '1')

    def test_exit_in_an_awaiting_cell_ends_it_with_its_code(self):
        done = self.kernel.run('import asyncio\nkept = 1\nawait asyncio.sleep(0)\nraise SystemExit(3)')
        self.assertEqual((done['status'], done['exit_code']), ('exit', 3))
        self.assertEqual(self.value('await asyncio.sleep(0, kept)'), '1')

    def test_a_traceback_of_an_awaiting_cell_has_its_lines_and_no_others(self):
        error = self.kernel.run('import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    return 1 / 0\nawait f()')['error']
        self.assertIn('    await f()', error['traceback'])
        self.assertIn('    return 1 / 0', error['traceback'])
        self.assertNotIn('holdfast', error['traceback'])
        self.assertNotIn('asyncio/', error['traceback'])

    def test_a_fork_in_an_awaiting_cell_makes_no_second_kernel(self):
        done = self.run_ok('import asyncio, os\nawait asyncio.sleep(0)\npid = os.fork()\nif pid == 0: print("c", flush=True)\n'
                           'else: print(os.waitpid(pid, 0)[1], flush=True)\n', timeout_ms=5000)
        self.assertEqual(sorted(done['stdout']['head'].split()), ['0', 'c'])
        self.assertEqual(self.value('await asyncio.sleep(0, 4)'), '4')


if __name__ == '__main__':
    unittest.main()
