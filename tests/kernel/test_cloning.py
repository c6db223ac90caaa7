"""The fork of a session: a kernel with a copy of the namespace, kept by the same nursery; what is shared with others stays behind."""

import json
import os
import signal
import socket
import time
import unittest

from harness import Connection, Kernel, KernelTest


class CloningTest(KernelTest):
    def ask(self, name='k-2', of=None, **changes):
        directory = os.path.join(self.home, 'run', name)
        os.makedirs(directory, 0o700, exist_ok=True)
        fields = {'kernel': name, 'token': 'ef' * 32, 'directory': directory, 'env': {}}
        return (of or self.kernel).ask('fork', **dict(fields, **changes))

    def fork(self, name='k-2', of=None, **changes):
        """The clone, connected, and the answer."""
        answer = self.ask(name, of, **changes)
        self.assertNotIn('error', answer)
        self.pids.append(answer['pid'])
        clone = Kernel(self, name, os.path.join(self.home, 'run', name), 'ef' * 32, answer['pid'])
        clone.connect()
        self.assertEqual((clone.hello['type'], clone.hello['pid'], clone.hello['start_time']), ('hello', answer['pid'], answer['start_time']))
        return clone, answer

    def test_the_clone_has_a_copy_and_each_goes_on_by_itself(self):
        self.kernel.run('x = [1]\ndef f(): return x\nimport os\nos.environ["MINE"] = "1"; os.chdir("/")')

        clone, answer = self.fork(env={'YOURS': '2'})

        self.assertEqual(answer['left_behind'], [])
        self.assertEqual(clone.run('x.append(2)\nprint("clone")\nf(), os.environ["MINE"], os.environ["YOURS"], os.environ["HOLDFAST_KERNEL"], os.getcwd()')['value'],
                         "([1, 2], '1', '2', 'k-2', '/')")
        self.assertEqual(self.kernel.run('print("original")\nf(), "YOURS" in os.environ')['value'], '([1], False)')
        self.assertEqual(clone.connection.output('c-1'), 'clone\n')
        self.assertEqual(self.kernel.connection.output('c-2'), 'original\n')
        self.assertNotEqual(clone.run('os.getpid(), os.getsid(0)')['value'], self.kernel.run('os.getpid(), os.getsid(0)')['value'])
        self.assertEqual(clone.run('os.getppid()')['value'], str(self.nursery_pid))

    def test_the_nursery_tells_of_the_clone_and_of_its_end_like_of_its_own(self):
        clone, answer = self.fork()

        spawned = self.nursery.wait_for('spawned', kernel='k-2')

        self.assertEqual((spawned['pid'], spawned['start_time']), (answer['pid'], answer['start_time']))
        child = int(clone.run('import subprocess, os\nos.write(1, b"raw"); subprocess.Popen(["sleep", "77"], start_new_session=True, env={}).pid')['value'])
        clone.execute('import ctypes\nos.write(1, b"last"); ctypes.string_at(0)')
        record = self.wait_exit(clone)
        self.assertEqual((record['signal'], record['pid']), ('SIGSEGV', answer['pid']))
        self.assertEqual([entry['pid'] for entry in record['ended']], [child])
        self.assertIn('Segmentation fault', record['log_tail'])
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_job_stays_behind_is_named_and_the_clone_starts_its_own(self):
        job, pid = eval(self.kernel.run("j = run('sh', '-c', 'sleep 0.7; exit 5')\n(j.id, j.pid)")['value'])

        clone, answer = self.fork()

        self.assertEqual([(entry['kind'], entry['job'], entry['pid']) for entry in answer['left_behind']], [('job', job, pid)])
        self.assertIn('fork of a kernel', clone.run('j.wait()')['error']['message'])
        self.assertEqual(clone.run("k = run('echo', 'mine'); (k.wait(), k.read(), len(k.command))")['value'], "(0, 'mine\\n', 9)")
        self.assertEqual(self.kernel.run('j.wait()')['value'], '5')

    def test_the_original_s_end_leaves_the_clone(self):
        self.kernel.run('x = 5')
        clone, _answer = self.fork()

        os.kill(self.kernel.pid, signal.SIGKILL)

        self.assertEqual(self.wait_exit(self.kernel)['ended'], [])
        self.assertEqual(clone.run('x')['value'], '5')

    def test_a_clone_does_all_that_a_kernel_does(self):
        self.kernel.run('class A:\n    def get(self): return 1\na = A()')
        clone, _answer = self.fork()

        cell = clone.execute('import time\nprint("on")\ntime.sleep(60)')
        clone.connection.wait_for('output', cell=cell)
        clone.connection.send({'type': 'interrupt', 'cell': cell})
        self.assertEqual(clone.connection.wait_for('done', cell=cell)['status'], 'interrupted')
        self.assertEqual(clone.run('import os\nif os.fork() == 0: print("child")\nelse: os.wait()')['stdout']['head'], 'child\n')
        self.assertEqual(clone.run('while True: pass', timeout_ms=100)['status'], 'timeout')
        self.assertEqual([row['name'] for row in clone.ask('variables')['rows']], ['A', 'a', 'time', 'os'])
        path = os.path.join(self.home, 'state')
        self.assertEqual(clone.ask('snapshot', path=path)['names'], ['A', 'a', 'time', 'os'])
        clone.execute('os.closerange(3, 2000)\nkept = 7')
        self.wait_until(lambda: b'descriptors-lost listening socket: rebuilt' in clone.file('kernel.log'), 'rebuilt')
        clone.connect()
        self.assertEqual(clone.connection.wait_for('done')['status'], 'ok')
        grandchild, _answer = self.fork('k-3', clone)
        self.assertEqual(grandchild.run('a.get(), kept')['value'], '(1, 7)')
        clone.connection.send({'type': 'shutdown', 'reason': 'test'})
        self.assertEqual(self.wait_exit(clone)['exit_code'], 0)
        self.assertEqual(grandchild.run('a.get()')['value'], '1')

    def test_the_clone_awaits_on_a_loop_of_its_own(self):
        self.kernel.run('import asyncio\nawait asyncio.sleep(0)\nfirst = asyncio.get_running_loop()')

        clone, answer = self.fork()

        self.assertEqual(answer['left_behind'], [])
        for kernel in (clone, self.kernel):
            done = kernel.run('await asyncio.sleep(0.01, 5)')
            self.assertEqual(done['value'], '5', done)
        self.assertEqual(clone.run('asyncio.get_running_loop() is first; await asyncio.sleep(0)\nasyncio.get_running_loop() is first')['value'], 'False')

    def test_what_cells_have_set_in_context_variables_is_copied_and_each_sets_its_own_from_then_on(self):
        self.kernel.run('import asyncio, contextvars\nnow, then = contextvars.ContextVar("now"), contextvars.ContextVar("then")\nnow.set(1)')
        self.kernel.run('then.set(2)\nawait asyncio.sleep(0)')

        clone, _answer = self.fork()

        self.assertEqual(clone.run('await asyncio.sleep(0, (now.get(), then.get()))')['value'], '(1, 2)')
        clone.run('now.set(3)')
        self.assertEqual((clone.run('now.get()')['value'], self.kernel.run('now.get()')['value']), ('3', '1'))

    def test_a_traceback_in_the_clone_shows_the_source_of_the_original_s_cell(self):
        self.kernel.run('def f():\n    return 1 / 0  # of the original')
        clone, _answer = self.fork()
        clone.run('def g():\n    return 2  # of the clone')

        self.assertIn('# of the original', clone.run('f()')['error']['traceback'])

    def test_it_is_refused_while_threads_of_the_user_live_and_they_are_named(self):
        self.kernel.run('import threading, _thread, time\nhold = threading.Event()\nt = threading.Thread(target=hold.wait, name="poller")\nt.start()')

        error = self.ask()['error']

        self.assertEqual(error['kind'], 'failed')
        self.assertIn('cannot fork while threads live: poller', error['message'])
        self.kernel.run('hold.set(); t.join(); lock = _thread.allocate_lock(); lock.acquire(); n = _thread.start_new_thread(lock.acquire, ())')
        self.kernel.run('def wait(): lock.acquire()\n_thread.start_new_thread(wait, ())\ntime.sleep(0.05)')
        self.assertIn('thread ', self.ask()['error']['message'])

    def test_connections_and_processes_stay_behind_and_are_named(self):
        server = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(server.close)
        self.kernel.run('import socket, subprocess, os, select\nc = socket.create_connection(("127.0.0.1", %d))\np = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n'
                        'e = select.epoll(); e.register(c, select.EPOLLIN)\nf = open("note", "w+"); f.write("kept"); f.flush()\nout = os.dup(1)' % server.getsockname()[1])
        peer = server.accept()[0]
        self.addCleanup(peer.close)

        clone, answer = self.fork()

        self.assertEqual({entry['kind'] for entry in answer['left_behind']}, {'connection', 'process'})
        by_kind = {entry['kind']: entry for entry in answer['left_behind']}
        self.assertEqual(by_kind['process']['command'], 'cat')
        self.assertIn('127.0.0.1', by_kind['connection']['what'])
        self.assertEqual(clone.run('c.send(b"x")')['error']['name'], 'BrokenPipeError')
        self.assertEqual(clone.run('e.poll(0)')['status'], 'error')
        self.assertEqual(clone.run('p.stdout.read(1)')['value'], "b''")
        self.assertEqual(clone.run('p.stdin.write(b"x"); p.stdin.flush()')['error']['name'], 'BrokenPipeError')
        self.assertEqual(clone.run('f.seek(0); print(f.read()); os.write(out, b"copy\\n");None')['stdout']['head'], 'kept\ncopy\n')
        self.assertEqual(self.kernel.run('p.stdin.write(b"abc"); p.stdin.close(); p.stdout.read(), c.send(b"hi")')['value'], "(b'abc', 2)")
        self.assertEqual(peer.recv(10), b'hi')
        peer.send(b'!')
        self.assertEqual(self.kernel.run('len(e.poll(5)), c.recv(9), p.wait()')['value'], "(1, b'!', 0)")

    def test_exit_handlers_and_children_of_the_original_are_its_own(self):
        path = os.path.join(self.home, 'ended')
        self.kernel.run('import atexit, multiprocessing, time, tempfile\nt = tempfile.TemporaryDirectory()\natexit.register(lambda: open(%r, "a").write("once"))\n'
                        'p = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,), daemon=True)\np.start()' % path)
        clone, _answer = self.fork()

        clone.connection.send({'type': 'shutdown', 'reason': 'test'})
        self.wait_exit(clone)

        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.kernel.run('import os\np.is_alive(), os.path.isdir(t.name)')['value'], '(True, True)')

    def test_a_clone_that_does_not_answer_is_killed_and_the_call_fails(self):
        self.kernel.run('import os, time\nforks = []\ndef hang():\n    forks.append(1)\n    if len(forks) > 1: time.sleep(60)\nos.register_at_fork(after_in_child=hang)')
        began = time.monotonic()

        error = self.ask()['error']

        self.assertLess(time.monotonic() - began, 3)
        self.assertIn('did not answer within 1 s', error['message'])
        self.wait_until(lambda: len(self.processes_of_nursery()) == 1, 'nothing is left of it')
        self.assertEqual(self.kernel.run('forks')['value'], '[]')

    def test_what_a_cell_registered_for_forks_and_hangs_fails_the_fork_alone(self):
        for when in ('before', 'after_in_parent'):
            kernel = self.spawn('k-%s' % when)
            kernel.run('import functools, os, time\nkept = 41\nos.register_at_fork(%s=functools.partial(time.sleep, 60))' % when)
            began = time.monotonic()

            error = self.ask('k-of-%s' % when, kernel)['error']

            self.assertLess(time.monotonic() - began, 6)
            self.assertIn('cannot fork', error['message'])
            self.assertIn('os.register_at_fork', error['message'])
            self.assertEqual(kernel.run('kept + 1')['value'], '42')

    def test_what_a_cell_registered_for_forks_is_called_in_the_fork_of_a_session(self):
        self.kernel.run('import os\nseen = []\nos.register_at_fork(before=lambda: seen.append("before"), after_in_child=lambda: seen.append("child"))')

        clone, _answer = self.fork()

        self.assertEqual(clone.run('seen[:2], seen[-1]')['value'], "(['before', 'child'], 'child')")

    def test_the_children_in_which_values_are_looked_at_call_nothing_of_it(self):
        self.kernel.run('import os, time\nx = 1\nos.register_at_fork(before=lambda: time.sleep(60), after_in_child=lambda: os._exit(9))')

        names = [row['name'] for row in self.kernel.ask('variables', timeout=5)['rows']]

        self.assertIn('x', names)

    def processes_of_nursery(self):
        with open('/proc/%d/task/%d/children' % (self.nursery_pid, self.nursery_pid)) as file:
            return file.read().split()

    def test_bad_fields_are_refused_and_nothing_is_forked(self):
        os.makedirs(os.path.join(self.home, 'run', 'k-1'), exist_ok=True)
        for changes in ({'token': None}, {'directory': 'relative'}, {'directory': os.path.join(self.home, 'none')}, {'env': {'A=': 'b'}}, {'env': 5},
                        {'kernel': ''}, {'kernel': 'k-1'}, {'state': 'relative'}, {'directory': self.kernel.directory}):
            self.assertEqual(self.ask(**changes)['error']['kind'], 'failed', changes)

        self.assertEqual(self.kernel.run('1+1')['value'], '2')
        self.assertEqual(len(self.processes_of_nursery()), 1)

    def test_without_a_nursery_it_fails_and_the_kernel_goes_on(self):
        os.kill(self.nursery_pid, signal.SIGKILL)
        self.wait_until(lambda: not self.is_alive(self.nursery_pid), 'the nursery is dead')

        message = self.ask()['error']['message']

        self.assertIn('cannot fork: NotAdopted: its nursery, which would keep the fork, does not answer', message)
        self.assertIn('kernel.stop saves the namespace, and a saved one can be forked', message)
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_stranger_is_not_adopted(self):
        stranger = Connection(os.path.join(self.nursery_directory, 'nursery.sock'))
        self.addCleanup(stranger.close)
        adopt = {'type': 'adopt', 'kernel': 'k-9', 'directory': self.home, 'grace_ms': 1, 'first_grace_ms': 1}

        stranger.send_raw(0, json.dumps(adopt).encode())

        self.assertIn('is no child of this nursery', stranger.next()['message'])
        self.assertEqual(self.spawn('k-2').run('1')['value'], '1')


if __name__ == '__main__':
    unittest.main()
