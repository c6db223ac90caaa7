"""What the daemon is told of jobs, what ends with a kernel, and what outlives it."""

import json
import os
import shutil
import signal
import time
import unittest

from harness import NurseryTest
from job_tests import JobTest
from holdfast_kernel import job_start, spool, ulids


class FrameTest(JobTest):
    def test_a_job_is_in_the_spool_before_its_cell_goes_on(self):
        cell = self.kernel.execute("j = run('sleep', 300, keep=False)\nimport os; os._exit(3)")
        self.wait_exit(self.kernel)

        record, = [json.loads(payload) for _seq, payload in spool.read(self.kernel.file('spool'))[1] if b'"job_started"' in payload]

        self.assertEqual({name: record[name] for name in ('cell', 'command', 'keep')}, {'cell': cell, 'command': 'sleep 300', 'keep': False})
        self.assertEqual(record['group'], record['pid'])
        self.wait_gone(record['group'])

    def test_hello_lists_the_live_jobs_with_what_identifies_them(self):
        job, pid = self.value("k = run('true'); k.wait(); j = run('sleep', 300)\n(j.id, j.pid)")

        started = self.frames('job_started', job=job)[0]

        self.kernel.connect(incarnation=2)

        entry, = self.kernel.hello['jobs']
        with open('/proc/%d/stat' % pid) as file:
            start_time = int(file.read().rpartition(')')[2].split()[19])
        self.assertEqual(entry, {name: value for name, value in started.items() if name not in ('type', 'seq')})
        self.assertEqual((entry['pid'], entry['group'], entry['start_time']), (pid, pid, start_time))

    def test_a_finish_is_read_by_whatever_learns_of_it_and_by_nothing_else(self):
        for reading in ('j.poll()', 'j.exit_code', 'j.wait()', 'j.read()', 'j.tail()', 'j.read_bytes()', 'j.stop()', 'asyncio.run(f())'):
            job = self.value("import asyncio\nj = run('echo', 'a')\nasync def f(): await j\nj.id")
            self.assertFalse(self.wait_frame('job_finished', job=job)['read'], reading)
            self.value("j.id, j.pid, j.command, j.duration, j.timed_out, j.read_bytes(0, 1), repr(j)")
            self.assertEqual(self.frames('jobs', read=[job]), [], reading)
            self.value(reading + '; None')
            self.wait_frame('jobs', read=[job])
            self.value(reading + '; None')
            self.assertEqual(len(self.frames('jobs', read=[job])), 1, reading)

    def test_a_finish_that_is_waited_for_is_told_as_read(self):
        for waiting in ('j.wait()', 'asyncio.run(f())'):
            job = self.value("import asyncio\nj = run('sleep', 0.2)\nasync def f(): await j\n%s\nj.id" % waiting)
            self.assertTrue(self.wait_frame('job_finished', job=job)['read'])
            self.assertEqual(self.frames('jobs', read=[job]), [])

    def test_the_daemon_stops_a_job_while_a_cell_is_busy(self):
        job, pid = self.value("j = run('sh', '-c', \"trap '' TERM; sleep 300 & wait; wait; sleep 300\")\n(j.id, j.pid)")
        cell = self.kernel.execute('import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass')
        self.kernel.connection.wait_for('started', cell=cell)

        answer = self.kernel.ask('job_stop', job=job)

        self.assertEqual((answer['signal'], answer['stopped'], answer.get('error')), ('SIGKILL', True, None))
        self.assertEqual(self.group(pid), [])
        self.assertTrue(self.wait_frame('job_finished', job=job)['stopped'])
        self.assertEqual(self.kernel.ask('job_stop', job=job)['signal'], 'SIGKILL')  # again: it is gone
        self.kernel.connection.wait_for('done', cell=cell)

    def test_jobs_of_threads_between_cells_are_recorded_too(self):
        self.value("import threading, time\ndef late():\n    time.sleep(0.3)\n    global j\n    j = run('echo', 'late')\n"
                   "threading.Thread(target=late).start()")
        self.wait_frame('job_finished', job=self.wait_frame('job_started')['job'])
        self.assertEqual(self.value('j.read()'), 'late\n')


class EndTest(JobTest):
    def test_a_dead_kernels_jobs_are_ended_and_those_to_be_kept_are_not(self):
        for number, end in enumerate(('import os; os._exit(3)', 'import os; os.kill(os.getpid(), 9)')):
            self.kernel = self.spawn('k-dead-%d' % number)
            path = os.path.join(self.home, 'log-%d' % number)
            groups = self.value("a = run('sleep', 300)\nb = run('sh', '-c', 'trap \"\" TERM; sleep 300 & sleep 300')\n"
                                "c = run('sh', '-c', 'while :; do echo on; date >> %s; sleep 0.05; done', keep=True, env=dict(__import__('os').environ))\n"
                                "(a.pid, b.pid, c.pid)" % path)
            self.end_group_after(groups[2])
            self.wait_until(lambda: os.path.exists(path), 'it runs')
            self.kernel.execute(end)
            self.wait_exit(self.kernel)

            self.assertEqual([self.group(group) for group in groups[:2]], [[], []])
            size = os.path.getsize(path)
            self.wait_until(lambda: os.path.getsize(path) > size + 100, 'what is kept goes on writing')

    def test_what_is_kept_survives_its_nursery_too_and_is_stopped_by_its_cell(self):
        group = self.value("j = run('sleep', 300, keep=True); j.pid")
        self.end_group_after(group)
        self.assertEqual(self.value('j.stop(), j.poll()'), (-15, -15))
        group = self.value("j = run('sleep', 300, keep=True); j.pid")
        self.end_group_after(group)

        os.kill(self.kernel.pid, signal.SIGKILL)
        self.wait_exit(self.kernel)
        os.kill(self.nursery_pid, signal.SIGKILL)
        self.wait_until(lambda: not self.is_alive(self.nursery_pid), 'the nursery is dead')

        self.assertEqual(self.group(group), [group])

    def test_output_of_what_is_kept_is_readable_and_bounded_on_disk(self):
        self.value("import time\nj = run('sh', '-c', 'head -c %d /dev/zero; echo end >&2', keep=True)\nj.wait()\n"
                   "time.sleep(0.6)" % (40 << 20))
        job = self.value('j.id')
        self.assertEqual(self.value('j.tail(1)[-4:], len(j.read_bytes())'), ('end\n', 16 << 20))
        page = self.kernel.ask('job_output', job=job)
        self.assertEqual((page['total_bytes'], len(page['dropped'])), ((40 << 20) + 4, 1))
        stat = os.stat(os.path.join(self.kernel.directory, 'jobs', job + '.out'))
        self.assertLess(stat.st_blocks * 512, 20 << 20)

    def test_a_shutdown_ends_the_jobs_first_and_tells_how_they_ended(self):
        groups = self.value("a = run('sleep', 300)\nb = run('sh', '-c', 'trap \"\" TERM; echo on; sleep 300 & sleep 300; sleep 300')\n"
                            "while not b.head(): pass\nc = run('sleep', 300, keep=True)\n(a.pid, b.pid, c.pid)")
        self.end_group_after(groups[2])
        self.kernel.connection.send({'type': 'shutdown', 'reason': 'test'})

        signals = sorted(self.kernel.connection.wait_for('job_finished')['signal'] for _ in range(2))

        self.assertEqual(signals, ['SIGKILL', 'SIGTERM'])
        record = self.wait_exit(self.kernel)
        self.assertEqual((record['exit_code'], record['ended']), (0, []))
        self.assertEqual([len(self.group(group)) for group in groups], [0, 0, 1])

    def test_a_removed_run_directory_ends_kernel_and_jobs(self):
        for number, cell in enumerate(('None', 'import time; time.sleep(60)')):
            self.kernel = self.spawn('k-removed-%d' % number)
            group = self.value("j = run('sleep', 300); j.pid")
            self.kernel.execute(cell)
            self.kernel.connection.wait_for('started')
            self.kernel.connection.close()
            shutil.rmtree(self.kernel.directory)
            self.wait_until(lambda: not self.is_alive(self.kernel.pid), 'the kernel ends', 4)
            self.assertEqual(self.group(group), [])

    def test_a_live_job_keeps_its_kernel_past_the_grace_and_no_longer(self):
        kernel = self.kernel = self.spawn('k-grace', grace_ms=60000)
        kernel.connection.close()
        kernel.connect(grace_ms=300, incarnation=2)
        self.value("j = run('sleep', 2)")
        self.assertTrue(spool.is_held(kernel.directory, time.monotonic()))  # so says its spool to its nursery
        kernel.connection.close()
        began = time.monotonic()

        self.wait_until(lambda: not self.is_alive(kernel.pid), 'it ends')

        self.assertGreater(time.monotonic() - began, 1.5)
        self.assertIn(b'nothing attached', kernel.file('kernel.log'))
        self.assertFalse(spool.is_held(kernel.directory, time.monotonic()))
        self.assertTrue(any(b'"job_finished"' in payload for _seq, payload in spool.read(kernel.file('spool'))[1]))

    def test_a_job_that_cannot_be_recorded_does_not_start_and_the_cell_ends_well(self):
        self.kernel.connection.auto_ack = False
        done = self.kernel.run("import os\npath = os.path.join(%r, 'ran')\ncount = 0\ntry:\n    while True:\n"
                               "        run('sh', '-c', 'echo >> ' + path, 'x' * 900).wait()\n"
                               "        count += 1\nexcept RuntimeError as error: print(error)\ncount" % self.home, timeout=120)

        self.assertIn('no room', done['stdout']['head'])
        self.assertGreater(int(done['value']), 100)
        self.assertEqual(os.path.getsize(os.path.join(self.home, 'ran')), int(done['value']))
        records = [json.loads(payload) for _seq, payload in spool.read(self.kernel.file('spool'))[1]]
        self.assertEqual([record['type'] for record in records].count('job_started'), int(done['value']))
        self.assertEqual(records[-1]['type'], 'done')
        self.kernel.connection.ack()
        self.assertEqual(self.value("run('true').wait()"), 0)

    def test_nothing_runs_when_there_are_no_jobs(self):
        def threads():
            return len(os.listdir('/proc/%d/task' % self.kernel.pid))
        self.value('1')
        before = threads()
        self.value("run('true').wait()")

        self.wait_until(lambda: threads() == before, 'the keeper ends')
        self.assertEqual(self.value("run('true').wait()"), 0)


class GateTest(unittest.TestCase):
    def test_nothing_is_executed_before_the_gate_opens_and_nothing_when_it_never_does(self):
        started = job_start.fork(job_start.Plan('touch', ('/nonexistent/no',), None, None, False), False, None)
        try:
            self.assertEqual(NurseryTest.is_alive(started.pid), True)
            with open('/proc/%d/cmdline' % started.pid, 'rb') as file:
                self.assertNotIn(b'touch', file.read())
            self.assertEqual(os.getpgid(started.pid), started.pid)
        finally:
            started.abandon()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(started.pid, 0)[1]) if hasattr(os, 'waitstatus_to_exitcode')
                         else os.waitpid(started.pid, 0)[1] >> 8, 127)

    def test_ids_sort_by_time(self):
        made = [ulids.ulid(at) for at in (0, 1, 1700000000000, 2**48 - 1)]
        self.assertEqual(made, sorted(made))
        self.assertEqual({len(each) for each in made}, {26})
        self.assertEqual(made[0][:10], '0' * 10)


if __name__ == '__main__':
    unittest.main()
