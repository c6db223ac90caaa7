"""How kernels end: causes, evidence, what they leave behind, and when they end by themselves."""

import json
import os
import shutil
import signal
import time
import unittest

from harness import NurseryTest
from holdfast_kernel import journal, spool


class DeathTest(NurseryTest):
    def cell_types(self, kernel):
        return [(json.loads(payload)['type'], json.loads(payload).get('cell')) for _seq, payload in spool.read(kernel.file('spool'))[1]]

    def test_a_kill_in_mid_cell_is_known_with_its_signal_and_the_output_up_to_it(self):
        kernel = self.spawn()
        kernel.execute('print("before"); import time; time.sleep(60)')
        kernel.connection.wait_for('output')
        os.kill(kernel.pid, signal.SIGKILL)
        record = self.wait_exit(kernel, 2)
        self.assertEqual((record['cause'], record['signal'], record['exit_code'], record['pid']), ('signal', 'SIGKILL', None, kernel.pid))
        self.assertEqual(b''.join(chunk.text for chunk in journal.read(kernel.file('journal'))), b'before\n')

    def test_exit_codes_and_signals_are_told_apart(self):
        for name, code, expected in (('k-1', 'import os; os._exit(3)', ('exit', 3, None)),
                                     ('k-2', 'import os; os.kill(os.getpid(), 15)', ('signal', None, 'SIGTERM')),
                                     ('k-3', 'import os; os.abort()', ('signal', None, 'SIGABRT'))):
            kernel = self.spawn(name)
            kernel.execute(code)
            record = self.wait_exit(kernel)
            self.assertEqual((record['cause'], record['exit_code'], record['signal']), expected)

    def test_a_segfault_keeps_what_was_written_before_it_by_either_way(self):
        kernel = self.spawn()
        kernel.execute('import os, ctypes\nprint("before")\nos.write(1, b"raw")\nctypes.string_at(0)')
        record = self.wait_exit(kernel)
        self.assertEqual(record['signal'], 'SIGSEGV')
        self.assertRegex(record['log_tail'], r'(?s)Segmentation fault.*File "<cell 1>", line 4 in <module>\n')
        self.assertNotIn('holdfast_kernel', record['log_tail'])
        text = b''.join(chunk.text for chunk in journal.read(kernel.file('journal'))).decode() + ''.join(r['text'] for r in record['rest'])
        self.assertIn('before', text)
        self.assertIn('raw', text)
        self.assertEqual(self.cell_types(kernel)[-1], ('started', 'c-1'))

    def test_a_done_that_nobody_acked_is_in_the_spool(self):
        kernel = self.spawn()
        kernel.connection.auto_ack = False
        kernel.run('print("x"); 5')
        os.kill(kernel.pid, signal.SIGKILL)
        self.wait_exit(kernel)
        self.assertEqual(self.cell_types(kernel), [('started', 'c-1'), ('done', 'c-1')])

    def test_what_a_kernel_leaves_is_ended_before_its_exit_is_told(self):
        kernel = self.spawn()
        code = ('import subprocess, os\nps = [subprocess.Popen(["sleep", "77"]), subprocess.Popen(["sleep", "78"], start_new_session=True),\n'
                '  subprocess.Popen("trap \'\' TERM; sleep 79; sleep 79", shell=True),\n'
                '  subprocess.Popen("setsid nohup sleep 80 >/dev/null 2>&1 &", shell=True)]\n[p.pid for p in ps]')
        pids = json.loads(kernel.run(code)['value'])
        self.wait_until(lambda: self.sleeping(kernel, b'80'), 'the daemonized child runs')
        os.kill(kernel.pid, signal.SIGKILL)
        record = self.wait_exit(kernel)
        for pid in pids:
            self.assertFalse(self.is_alive(pid))
        self.assertFalse(self.sleeping(kernel, b'77', b'78', b'79', b'80'))
        commands = ' '.join(entry['command'] for entry in record['ended'])
        for number in ('77', '78', '79', '80'):
            self.assertIn('sleep ' + number, commands)

    def test_no_zombie_is_left_of_a_dead_kernel(self):
        kernel = self.spawn()
        pids = json.loads(kernel.run('jobs = [run("sleep", "77") for _ in range(3)]\n[job.pid for job in jobs]')['value'])
        os.kill(kernel.pid, signal.SIGKILL)
        self.wait_exit(kernel)
        self.wait_until(lambda: not any(os.path.exists('/proc/%d' % pid) for pid in pids), 'reaped', 5)

    def sleeping(self, kernel, *numbers):
        found = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                try:
                    with open('/proc/%s/cmdline' % name, 'rb') as file:
                        words = file.read().split(b'\0')
                    with open('/proc/%s/environ' % name, 'rb') as file:
                        ours = ('HOME=' + self.home).encode() in file.read().split(b'\0')
                except OSError:
                    continue
                if ours and b'sleep' in words[0] and words[1] in numbers:
                    found.append(name)
        return found

    def test_one_kernel_s_stubborn_rest_does_not_delay_another_s_end(self):
        stubborn, quick = self.spawn('k-1'), self.spawn('k-2')
        # It is stubborn once it has said so.
        stubborn.run('import subprocess\nrest = subprocess.Popen("trap \'\' TERM; echo; sleep 79; sleep 79", shell=True, stdout=subprocess.PIPE)\n'
                     'rest.stdout.readline()')
        os.kill(stubborn.pid, signal.SIGKILL)
        os.kill(quick.pid, signal.SIGKILL)
        self.assertEqual([self.nursery.wait_for('exited')['kernel'] for _ in range(2)], ['k-2', 'k-1'])

    def test_the_rest_of_another_kernel_is_not_touched(self):
        first, second = self.spawn('k-1'), self.spawn('k-2')
        pid = int(second.run('import subprocess\np = subprocess.Popen(["sleep", "81"], start_new_session=True)\np.pid')['value'])
        os.kill(first.pid, signal.SIGKILL)
        self.wait_exit(first)
        self.assertTrue(self.is_alive(pid))
        self.assertEqual(second.run('p.poll()')['value'], None)

    def test_a_kernel_ends_its_grace_after_the_last_daemon_left_it_and_its_spool_stays(self):
        kernel = self.spawn(connect=False)
        kernel.connect(grace_ms=300)
        kernel.connection.auto_ack = False
        kernel.run('1')
        kernel.connection.close()
        record = self.wait_exit(kernel, 5)
        self.assertEqual((record['cause'], record['exit_code']), ('exit', 0))
        self.assertIn('nothing attached for 300 ms', record['log_tail'])
        self.assertEqual(self.cell_types(kernel), [('started', 'c-1'), ('done', 'c-1')])

    def test_a_kernel_that_nobody_ever_attached_ends_after_its_first_grace(self):
        self.wait_exit(self.spawn(connect=False, first_grace_ms=200), 5)

    def test_a_running_cell_outlives_the_grace(self):
        kernel = self.spawn(connect=False)
        kernel.connect(grace_ms=100)
        marker = os.path.join(self.home, 'marker')
        kernel.execute('import time\ntime.sleep(1)\nopen(%r, "w").close()' % marker)
        kernel.connection.wait_for('started')
        kernel.connection.close()
        self.wait_exit(kernel, 5)
        self.assertTrue(os.path.exists(marker))

    def test_a_kernel_whose_directory_is_removed_ends_within_a_second_or_so(self):
        for name, code in (('k-1', None), ('k-2', 'import time\ntime.sleep(60)')):
            kernel = self.spawn(name)
            if code:
                kernel.execute(code)
                kernel.connection.wait_for('started')
            kernel.connection.close()
            shutil.rmtree(kernel.directory)
            message = self.nursery.wait_for('exited', 3, kernel=name)
            self.assertEqual(message['exit_code'], 0)

    def test_a_moved_directory_is_not_a_removed_one(self):
        kernel = self.spawn()
        kernel.connection.close()
        moved = os.path.join(self.home, 'moved')
        os.rename(kernel.directory, moved)
        kernel.directory = moved
        time.sleep(1.2)
        kernel.connect()
        self.assertEqual(kernel.run('1')['value'], '1')


class NurseryBehaviourTest(NurseryTest):
    def test_it_is_in_the_background_in_a_session_of_its_own(self):
        with open('/proc/%d/stat' % self.nursery_pid) as file:
            fields = file.read().rpartition(')')[2].split()
        self.assertNotEqual(int(fields[3]), os.getsid(0))
        for fd in (0, 1, 2):
            self.assertEqual(os.readlink('/proc/%d/fd/%d' % (self.nursery_pid, fd)), '/dev/null')

    def test_spawn_is_idempotent_and_an_ended_kernel_never_lives_twice(self):
        kernel = self.spawn()
        self.nursery.send(self.spawn_message('k-1'))
        self.assertEqual(self.nursery.wait_for('spawned')['pid'], kernel.pid)
        self.nursery.send({'type': 'kill', 'kernel': 'k-1'})
        self.wait_exit(kernel)
        self.nursery.send(self.spawn_message('k-1'))
        self.assertIn('ended already', self.nursery.wait_for('spawn_failed')['message'])

    def test_what_cannot_be_spawned_is_said(self):
        for changes, words in (({'cwd': '/nowhere/at/all'}, 'no such directory'), ({'env': {'a=b': ''}}, 'env'), ({'token': 3}, 'token'),
                               ({'failpoints': 'kernel.x=y'}, 'unknown failpoint'), ({'directory': '/nowhere'}, 'k-1')):
            self.nursery.send(self.spawn_message('k-1', **changes))
            self.assertIn(words, self.nursery.wait_for('spawn_failed', kernel='k-1')['message'])
        self.spawn()

    def test_a_bad_configuration_is_one_line_and_exit_1(self):
        for changes in ({'protocol': 9}, {'preload': ['no_such_module']}, {'directory': '/nowhere'}, {'directory': 'here'},
                        {'idle_ms': None}, {'failpoints': 'nursery.a=b'}):
            done = self.launch(dict(self.nursery_config(), **changes))
            self.assertEqual((done.returncode, done.stderr.count(b'\n')), (1, 1), done.stderr)
            self.assertTrue(done.stderr.startswith(b'cannot start nursery'))

    def test_its_rehearsal_succeeds_and_leaves_no_descriptor(self):
        with open(os.path.join(self.nursery_directory, 'nursery.log')) as file:
            self.assertNotIn('rehearsal-failed', file.read())
        own = [os.readlink('/proc/%d/fd/%s' % (self.nursery_pid, fd)) for fd in os.listdir('/proc/%d/fd' % self.nursery_pid)]
        self.assertEqual(sum('timerfd' in path or 'eventfd' in path and 'eventpoll' not in path for path in own), 0, own)
        self.assertEqual(sum(path.startswith('socket:') for path in own), 2, own)
        self.assertEqual(sum(path.startswith('pipe:') for path in own), 2, own)

    def test_a_death_that_nobody_heard_of_is_told_after_a_reconnect(self):
        kernel = self.spawn()
        self.nursery.close()
        os.kill(kernel.pid, signal.SIGKILL)
        self.wait_until(lambda: os.path.exists(os.path.join(kernel.directory, 'exit')), 'the exit file is written')
        self.connect_nursery()
        self.assertEqual(self.wait_exit(kernel)['signal'], 'SIGKILL')

    def test_kernels_outlive_their_nursery(self):
        kernel = self.spawn()
        os.kill(self.nursery_pid, signal.SIGKILL)
        self.assertEqual(kernel.run('1+1')['value'], '2')
        kernel.connect(incarnation=2)
        self.assertEqual(kernel.run('print(3)')['stdout']['head'], '3\n')

    def test_hundred_kernels_start_and_run(self):
        kernels = [self.spawn('k-%d' % n) for n in range(100)]
        for number, kernel in enumerate(kernels):
            kernel.execute('x = %d' % number)
        for number, kernel in enumerate(kernels):
            kernel.connection.wait_for('done')
            self.assertEqual(kernel.run('x')['value'], str(number))


class IdleNurseryTest(NurseryTest):
    idle_ms = 300

    def test_it_ends_when_it_has_neither_kernel_nor_daemon(self):
        kernel = self.spawn()
        self.nursery.close()
        time.sleep(0.5)
        self.assertTrue(self.is_alive(self.nursery_pid))
        os.kill(kernel.pid, signal.SIGKILL)
        self.wait_until(lambda: not self.is_alive(self.nursery_pid), 'the nursery ends', 5)
        self.assertTrue(os.path.exists(os.path.join(kernel.directory, 'exit')))


class FailpointTest(NurseryTest):
    def fired(self):
        with open(self.failpoint_log) as file:
            return file.read().split()

    def test_a_kernel_dies_exactly_where_it_is_told_to(self):
        for number, (point, types) in enumerate((
                ('kernel.after_execute_received', []), ('kernel.before_started_spooled', []), ('kernel.after_started_spooled', ['started']),
                ('kernel.before_done_spooled', ['started']), ('kernel.after_done_spooled', ['started', 'done']),
                ('kernel.before_done_sent', ['started', 'done']), ('kernel.after_done_sent', ['started', 'done']))):
            kernel = self.spawn('k-%d' % number, failpoints=point + '=kill')
            kernel.execute('1')
            self.assertEqual(self.wait_exit(kernel)['signal'], 'SIGKILL')
            self.assertEqual([json.loads(payload)['type'] for _seq, payload in spool.read(kernel.file('spool'))[1]], types, point)
            self.assertEqual(self.fired()[-1], point)

    def test_a_failed_send_is_a_lost_connection_and_the_frame_comes_again(self):
        kernel = self.spawn(failpoints='kernel.before_done_sent=1*error->off')
        kernel.execute('6')
        self.wait_until(lambda: b'failpoint kernel.before_done_sent' in kernel.file('kernel.log'), 'it fires')
        kernel.connect()
        self.assertEqual(kernel.connection.wait_for('done')['value'], '6')


class NurseryFailpointTest(NurseryTest):
    nursery_failpoints = 'nursery.before_spawn=1*error->off;nursery.before_spawned_sent=1*error->off'

    def test_a_spawn_that_fails_or_whose_answer_is_lost_can_be_repeated(self):
        self.nursery.send(self.spawn_message('k-1'))
        self.assertIn('before_spawn', self.nursery.wait_for('spawn_failed')['message'])
        self.nursery.send(self.spawn_message('k-1'))
        self.assertRaises(Exception, self.nursery.wait_for, 'spawned', 5)
        self.connect_nursery()
        first = self.nursery.wait_for('spawned')
        self.pids.append(first['pid'])
        self.assertEqual(self.spawn(connect=False).pid, first['pid'])


if __name__ == '__main__':
    unittest.main()
