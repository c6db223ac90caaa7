"""Jobs as cells have them: started as they are told, waited for in every way, ended with their whole group."""

import os
import time
import unittest

from job_tests import JobTest

STUBBORN = "trap '' TERM; echo on; while :; do sleep 0.05; done"  # a shell that only KILL ends, with a child in its group
WORDS = ['', ' ', '$HOME', '*', "it's", '"', 'a\nb', '\\', '-x', '--', '\u00fc\u20ac', '; echo no', '`echo no`', 'caf\udce9']


class StartTest(JobTest):
    def test_the_arguments_are_taken_exactly_and_no_shell_sees_them(self):
        got = self.value("import sys\nwords = %a\nj = run(sys.executable, '-c', 'import sys; print(ascii(sys.argv[1:]))', *words)\n"
                         "j.wait()\nj.read()" % (WORDS,))

        self.assertEqual(eval(got), WORDS)
        self.assertEqual(self.value("j = run('printf', '%s-%s', 5, b'x'); j.wait(); j.read()"), '5-x')
        self.assertEqual(self.kernel.run("run('true').wait()")['stderr']['bytes'], 0)  # no warning of a fork beside our threads

    def test_its_directory_and_variables_are_the_kernels_and_those_it_is_given(self):
        os.mkdir(os.path.join(self.home, 'sub'))
        self.value("import os\nos.environ['FROM_CELL'] = 'yes'\nos.environ['GONE'] = 'x'")

        lines = self.value("j = run('sh', '-c', 'pwd; env', cwd='sub', env={'ADDED': 'a b', 'GONE': None})\nj.wait()\nj.read()").split('\n')

        self.assertEqual(os.path.basename(lines[0]), 'sub')
        for line in ('FROM_CELL=yes', 'ADDED=a b', 'HOLDFAST_KERNEL=k-1', 'HOLDFAST_JOB=' + self.value('j.id')):
            self.assertIn(line, lines)
        self.assertFalse([line for line in lines if line.startswith('GONE=')])

    def test_it_inherits_no_descriptor_no_ignored_signal_and_leads_a_group(self):
        self.value("import os, signal\nheld = os.open('/dev/null', 0); os.set_inheritable(held, True)\n"
                   "signal.signal(signal.SIGUSR1, signal.SIG_IGN); None")

        text = self.value("j = run('cat', '/proc/self/status', '/proc/self/stat')\nj.wait()\nk = run('ls', '/proc/self/fd')\nk.wait()\n"
                          "(j.read(), j.pid, os.getsid(0), k.read())")

        for line in text[0].split('\n'):
            if line.startswith(('SigIgn:', 'SigBlk:')):
                self.assertEqual(int(line.split()[1], 16) & ~(3 << 31), 0, line)  # two of them are the C library's own
        stat = text[0].rpartition(')')[2].split()
        self.assertEqual((int(stat[2]), int(stat[3])), text[1:3])
        self.assertEqual(text[3].split(), ['0', '1', '2', '3'])  # 3: the folder that ls reads

    def test_what_cannot_be_started_is_an_error_that_names_it_and_leaves_nothing(self):
        with open(os.path.join(self.home, 'plain'), 'w') as file:
            file.write('not a program')
        os.chmod(file.name, 0o755)
        with open(os.path.join(self.home, 'locked'), 'w'):
            pass
        for call, words in (("run('no-such-program')", 'no such program in PATH'), ("run('ls -l')", "run('ls', '-l')"),
                            ("run('./locked')", 'permission denied'), ("run('./plain')", 'Exec format'), ("run('/')", 'permission denied'),
                            ("run('ls', cwd='nowhere')", 'nowhere'), ("run('ls', cwd='plain')", 'not a directory'),
                            ("run(['ls', '-l'])", "one by one: run('ls', '-l')"), ("run('ls', None)", 'NoneType'), ("run('a\\0b')", 'NUL'),
                            ("run('')", 'empty'), ("run('ls', timeout=-1)", 'timeout'), ("run('ls', stdin=5)", 'stdin'),
                            ("run('ls', env={'a=b': ''})", 'a=b'), ("run('true', 'x' * 10**7)", 'too long')):
            self.assertIn(words, self.error(call), call)

        self.wait_until(lambda: not self.children(self.kernel.pid), 'nothing is left')
        for frame in self.frames('job_started'):
            self.assertTrue(self.wait_frame('job_finished', job=frame['job'])['read'])

    def test_the_sixty_fifth_live_job_is_refused_until_one_has_ended(self):
        self.value("jobs = [run('sleep', 300) for _ in range(64)]")

        self.assertIn('64 jobs live already', self.error("run('true')"))

        self.value("jobs[7].stop()")
        self.assertEqual(self.value("run('true').wait()"), 0)
        self.value("[run('sleep', 300).stop() for _ in range(2)]\nNone")


class EndTest(JobTest):
    def test_every_way_to_wait_gives_the_exit_code(self):
        self.assertEqual(self.value("run('sh', '-c', 'exit 7').wait()"), 7)
        self.assertEqual(self.value("j = run('sh', '-c', 'kill -9 $$'); j.wait(), j.poll(), j.exit_code, j.timed_out"), (-9, -9, -9, False))
        self.assertEqual(self.value("j = run('sleep', 300); a = j.poll(), j.exit_code, j.wait(0.05); j.stop(); a"), (None, None, None))
        self.assertEqual(self.value("import asyncio\nasync def f():\n"
                                    "    return await asyncio.gather(*[run('sh', '-c', 'exit %d' % n) for n in range(9)])\n"
                                    "asyncio.run(f())"), list(range(9)))

    def test_an_interrupted_wait_ends_at_once_and_the_job_goes_on(self):
        for wait in ('j.wait()', 'asyncio.run(f())'):
            cell = self.kernel.execute("import asyncio\nj = run('sleep', 300)\nasync def f(): await j\nprint('on')\n" + wait)
            self.kernel.connection.wait_for('output', cell=cell)
            began = time.monotonic()
            self.kernel.connection.send({'type': 'interrupt', 'cell': cell})
            self.assertEqual(self.kernel.connection.wait_for('done', cell=cell)['status'], 'interrupted')
            self.assertLess(time.monotonic() - began, 1.9)  # else the kernel would have been killed
            self.assertEqual(self.value("(j.poll(), j.stop())"), (None, -15))

    def test_a_deadline_holds_while_a_cell_keeps_the_interpreter_busy(self):
        cell = self.kernel.execute("import time\nj = run('sleep', 300, timeout=0.3)\nend = time.monotonic() + 1.5\n"
                                   "while time.monotonic() < end: pass")
        started = self.kernel.connection.wait_for('job_started')
        finished = self.wait_frame('job_finished', job=started['job'])

        self.assertFalse(self.frames('done', cell=cell))
        self.assertEqual((finished['timed_out'], finished['signal'], finished['stopped']), (True, 'SIGTERM', False))
        self.assertGreaterEqual(finished['duration_ms'], 300)
        self.kernel.connection.wait_for('done', cell=cell)
        self.assertEqual(self.value('j.timed_out, j.duration >= 0.3, j.poll()'), (True, True, -15))

    def test_a_deadline_ends_the_whole_group_even_if_it_ignores_the_first_signal(self):
        self.value("j = run('sh', '-c', %r, timeout=0.5)" % STUBBORN)
        started = self.wait_frame('job_started')

        finished = self.wait_frame('job_finished', job=started['job'])

        self.assertEqual((finished['timed_out'], finished['signal']), (True, 'SIGKILL'))
        self.wait_gone(started['group'])
        self.assertEqual(self.value('j.tail()'), 'on\n')

    def test_a_stop_returns_when_no_process_of_the_group_is_left(self):
        for program in (STUBBORN, 'sleep 300 & sleep 300', 'kill -STOP $$', '(trap "" TERM; sleep 300) & exit 0'):
            group, code = self.value("j = run('sh', '-c', %r)\nimport time; time.sleep(0.2)\n(j.pid, j.stop())" % program)
            self.assertEqual(self.group(group), [], program)
            self.assertIn(code, (-15, -9, 0))
        self.assertEqual(self.zombies(), [])

    def test_the_first_process_is_not_reaped_before_its_group_is_empty(self):
        group = self.value("j = run('sh', '-c', 'sleep 300 >/dev/null 2>&1 &')\n(j.wait(), j.pid)[1]")
        self.assertEqual(self.zombies(), [group])
        self.assertEqual(len(self.group(group)), 1)

        os.kill(self.group(group)[0], 9)

        self.wait_until(lambda: not self.zombies(), 'the group is looked at again and given up')

    def test_it_outlives_its_cell_and_its_daemon_and_its_end_is_told_afterwards(self):
        self.value("j = run('sh', '-c', 'sleep 0.5; echo late; exit 4')")
        self.kernel.connection.close()

        connection = self.kernel.connect(incarnation=2)

        finished = self.kernel.connection.wait_for('job_finished')
        self.assertEqual((finished['exit_code'], finished['read']), (4, False))
        self.assertIs(connection, self.kernel.connection)
        self.assertEqual(self.value('j.read(), j.poll()'), ('late\n', 4))
        self.wait_frame('jobs', read=[finished['job']])


class BackgroundTest(JobTest):
    def test_a_job_belongs_to_the_cell_whose_code_started_it_which_may_be_in_the_background(self):
        cell = self.kernel.execute("import asyncio\ngo, on = asyncio.Event(), asyncio.Event()\nawait go.wait()\n"
                                   "j = run('sh', '-c', 'exit 6'); on.set()\nawait j", background_after_ms=30)
        self.kernel.connection.wait_for('background', cell=cell)

        self.value('go.set()\nawait on.wait()\nNone')

        self.assertEqual(self.wait_frame('done', cell=cell)['value'], '6')
        self.assertEqual([frame['cell'] for frame in self.frames('job_started')], [cell])
        finished = self.frames('job_finished', cell=cell)[0]  # before its done, as is that it knows
        self.assertTrue(finished['read'] or self.frames('jobs', read=[finished['job']]))

    def test_a_cell_that_awaits_a_job_ends_with_its_interrupt_and_the_job_goes_on(self):
        cell = self.kernel.execute("j = run('sleep', 300)\nawait j", background_after_ms=30)
        self.kernel.connection.wait_for('background', cell=cell)
        self.kernel.connection.send({'type': 'interrupt', 'cell': cell, 'reason': 'interrupt'})

        self.assertEqual(self.wait_frame('done', cell=cell)['status'], 'interrupted')
        self.assertEqual(self.value('j.poll(), j.stop()'), (None, -15))


class BadCellTest(JobTest):
    """Cells that pull the ground away from under their jobs."""

    def assert_jobs_work(self, after):
        self.assertEqual(self.value("j = run('echo', 'fine'); (j.wait(), j.read())"), (0, 'fine\n'), after)

    def test_a_cell_that_takes_the_status_makes_it_unknown_or_comes_too_late(self):
        code = self.value("import os\nj = run('sh', '-c', 'sleep 0.2; exit 3')\ntry: os.wait()\nexcept ChildProcessError: pass\nj.wait()")
        self.assertIn(code, (3, None))
        self.assertIn(self.value("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
                                 "run('sh', '-c', 'exit 3').wait()"), (3, None))
        group = self.value("j = run('sh', '-c', 'sleep 300 & exit 3')\nj.wait(5)\nj.pid")
        self.assertEqual(len(self.group(group)), 1)
        self.value('j.stop()')
        self.assertEqual(self.group(group), [])
        self.value("signal.signal(signal.SIGCHLD, signal.SIG_DFL)\nNone")
        self.assert_jobs_work('SIGCHLD ignored')

    def test_a_loop_that_a_cell_has_broken_keeps_nobody_else_waiting(self):
        code = ("import asyncio, threading\nloop = asyncio.get_running_loop()\ndef broken(*_arguments): raise ValueError('broken')\n"
                "j = run('sleep', 0.2)\nasync def both(): return await j\n"
                "task = asyncio.ensure_future(both())\nawait asyncio.sleep(0.02)\nseen = []\n"
                "thread = threading.Thread(target=lambda: seen.append(j.wait(10)))\nthread.start()\n"
                "whole, loop.call_soon_threadsafe = loop.call_soon_threadsafe, broken\nthread.join()\n"
                "loop.call_soon_threadsafe = whole\ntask.cancel()\nseen")
        self.assertEqual(self.value(code), [0])
        self.assertNotIn(b'job-keeper-failed', self.kernel.file('kernel.log'))
        self.assert_jobs_work('loop broken')

    def test_a_cell_that_closes_all_descriptors_leaves_ends_that_are_known(self):
        self.value_after_loss("j = run('sh', '-c', 'sleep 0.5; exit 3')\nk = run('cat', stdin=run('sleep', 300))\nimport os\n"
                              "os.closerange(3, 4096)")
        self.assertEqual(self.value('j.wait(), k.wait()'), (3, 0))
        self.assert_jobs_work('closed')

    def test_descriptors_under_old_numbers_are_not_taken_for_a_jobs(self):
        text = self.value("import os\nlisted = lambda: {int(fd) for fd in os.listdir('/proc/self/fd')}\nbefore = listed()\n"
                          "j = run('sh', '-c', 'sleep 0.5; echo lost')\nnew = [fd for fd in listed() - before if fd >= 900]\n"
                          "r, w = os.pipe()\n"
                          "os.write(w, b'mine')\nfor fd in new: os.dup2(r, fd)\nj.wait()\n(len(new) > 2, j.read(), os.read(r, 9))")
        self.assertEqual(text, (True, '', b'mine'))
        self.value('for fd in new: os.close(fd)')
        self.assert_jobs_work('replaced')

    def test_a_child_of_a_fork_has_no_jobs_and_keeps_none_open(self):
        text = self.value("import os\nj = run('cat', stdin=run('sh', '-c', 'sleep 0.5; echo end'))\nr, w = os.pipe()\nif os.fork() == 0:\n"
                          "    said = []\n    for call in (j.wait, j.stop, lambda: run('true')):\n        try: call()\n"
                          "        except RuntimeError as error: said.append(str(error))\n"
                          "    os.write(w, ascii((said, j.poll())).encode())\n    import time; time.sleep(3); os._exit(0)\n"
                          "(j.wait(), j.read(), os.read(r, 9999).decode())")
        self.assertEqual(text[:2], (0, 'end\n'))
        self.assertEqual(text[2].count('fork'), 3, text)

    def test_no_file_can_be_written_and_the_totals_stay_exact(self):
        self.value("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))")
        self.assertEqual(self.value("j = run('head', '-c', 5000, '/dev/zero'); (j.wait(), j.read_bytes())"), (0, b''))
        answer = self.kernel.ask('job_output', job=self.value('j.id'))
        self.assertEqual((answer['total_bytes'], answer['dropped'], answer['chunks']), (5000, [{'from': 0, 'to': 5000}], []))

    def test_a_job_cannot_be_copied_or_saved(self):
        self.assertIn('cannot be saved', self.error("import pickle\npickle.dumps(run('true'))"))


if __name__ == '__main__':
    unittest.main()
