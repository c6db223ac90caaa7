"""A relay: one command per request, as a daemon without any connection to this machine would run it."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from harness import HEADER, HOME, PROGRAM

COMMAND = 'import sys; i = sys.stdin.buffer; exec(i.read(int(i.readline())))'
USUAL = {'names': ['PATH', 'HOME'], 'prefixes': ['LC_'], 'secret_words': ['TOKEN'], 'interpreter_prefixes': ['PYTHON']}


def program_files():
    files = {}
    for folder, _folders, names in os.walk(PROGRAM):
        for name in names:
            if name.endswith('.py'):
                path = os.path.join(folder, name)
                with open(path) as file:
                    files[os.path.relpath(path, PROGRAM)] = file.read()
    return files


def digest_of(files):
    lines = ['%s %s\n' % (path, hashlib.sha256(files[path].encode()).hexdigest()) for path in sorted(files)]
    return hashlib.sha256(''.join(lines).encode()).hexdigest()


FILES = program_files()
DIGEST = digest_of(FILES)


class Far:
    """The far side of a daemon: a directory, and commands that run there."""

    def __init__(self, root):
        self.root = root
        self.sent = 0  # seq of the last frame to the kernel
        self.received = 0  # of the last from it
        self.process = None
        self.commands = 0

    def command(self, operation, frames=b'', **fields):
        """(head, frames) of the answer."""
        head = dict({'operation': operation, 'nonce': os.urandom(4).hex(), 'root': self.root, 'home': HOME, 'program': DIGEST}, **fields)
        payload = json.dumps(head).encode()
        boot = FILES['relay_boot.py'].encode()
        data = b'%d\n%s%s%s%s' % (len(boot), boot, HEADER.pack(len(payload), 0, 0), payload, frames)
        self.commands += 1
        done = subprocess.run([sys.executable, '-I', '-S', '-c', COMMAND, 'holdfast-relay'], input=data, stdout=subprocess.PIPE, timeout=60)
        line = b'\nholdfast-relay %s ' % head['nonce'].encode()
        assert line in done.stdout, done.stdout
        length, _, body = done.stdout.partition(line)[2].partition(b'\n')
        assert len(body) == int(length), 'cut short'
        came = list(self.cut(body))
        return json.loads(came[0][2]), came[1:]

    @staticmethod
    def cut(data):
        while data:
            length, seq, ack = HEADER.unpack_from(data)
            yield seq, ack, data[20:20 + length]
            data = data[20 + length:]

    def stage(self):
        return self.command('stage', files=FILES)[0]

    def spawn(self, kernel='k-1', **fields):
        given = dict({'kernel': kernel, 'token': 'a' * 64, 'python': sys.executable, 'cwd': self.root, 'env': {}, 'usual': USUAL, 'pass_env': [],
                      'preload': [], 'state': 'state/1', 'tools': [], 'tools_module': '', 'incarnation': 1, 'grace_ms': 60000, 'first_grace_ms': 60000,
                      'interrupt_grace_ms': 500, 'nursery_idle_ms': 1000}, **fields)
        answer, _frames = self.command('spawn', **given)
        if answer['type'] == 'spawned':
            self.process = {name: answer[name] for name in ('boot_id', 'pid_namespace', 'pid', 'start_time')}
        return answer

    def carry(self, *messages, kernel='k-1', wait_ms=20000, ack=None):
        """(head, messages that came, hello first)."""
        data = b''
        for message in messages:
            self.sent += 1
            payload = json.dumps(message).encode()
            data += HEADER.pack(len(payload), self.sent, self.received) + payload
        attach = {'kernel': kernel, 'home': HOME, 'incarnation': 1, 'ack': self.received if ack is None else ack, 'grace_ms': 60000,
                  'protocol': 1}
        head, came = self.command('carry', data, kernel=kernel, process=self.process, attach=attach, wait_ms=wait_ms,
                                  daemon_home='/daemon/home')
        messages = []
        for seq, _ack, payload in came:
            if payload:
                messages.append(dict(json.loads(payload), seq=seq))
                self.received = max(self.received, seq)
        return head, messages

    def about(self, operation, kernel='k-1', **fields):
        return self.command(operation, kernel=kernel, process=self.process, state='state/1', **fields)


def execute(cell, code, generation, timeout_ms=0):
    return {'type': 'execute', 'cell': cell, 'generation': generation, 'code': code, 'timeout_ms': timeout_ms, 'output_limit': 1 << 20}


def kinds(messages):
    return [message['type'] for message in messages]


class RelayTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.far = Far(self.root)
        self.addCleanup(self._end)

    def _end(self):
        if self.far.process is not None:
            self.far.about('signal', signal=signal.SIGKILL)
        pids = [pid for pid in os.listdir('/proc') if pid.isdigit() and self._is_nursery_of(pid)]
        until = time.monotonic() + 10
        while os.path.exists(self.root) and time.monotonic() < until:
            shutil.rmtree(self.root, ignore_errors=True)  # a nursery may write how its kernel ended meanwhile
        while any(self._is_nursery_of(pid) for pid in pids) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual([], [pid for pid in pids if self._is_nursery_of(pid)])

    def _is_nursery_of(self, pid):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as file:
                return self.root.encode() in file.read()
        except OSError:
            return False

    def start(self):
        self.assertEqual({'type': 'staged'}, self.far.stage())
        answer = self.far.spawn()
        self.assertEqual('spawned', answer['type'], answer)
        return answer

    def test_a_program_that_is_missing_is_said_so_and_staged_once(self):
        self.assertEqual({'type': 'missing'}, self.far.spawn())
        self.assertEqual({'type': 'staged'}, self.far.stage())
        self.assertEqual({'type': 'staged'}, self.far.stage())
        self.assertEqual([DIGEST], os.listdir(os.path.join(self.root, 'program')))

    def test_a_program_that_was_changed_on_its_way_is_not_staged(self):
        files = dict(FILES, **{'nursery.py': 'print()'})
        answer, _frames = self.far.command('stage', files=files)
        self.assertEqual('failed', answer['type'])
        self.assertEqual({'type': 'missing'}, self.far.spawn())

    def test_a_cell_comes_back_with_the_trip_that_took_it_there(self):
        self.start()
        head, came = self.far.carry(execute('c-1', 'print("hi")\n6 * 7', 1))
        self.assertEqual(['hello', 'started', 'output', 'done'], kinds(came))
        self.assertEqual('42', came[-1]['value'])
        self.assertEqual(('done', 0, 0), (head['end'], head['cells'], head['requests']))

    def test_the_same_spawn_is_answered_with_the_same_kernel(self):
        first = self.start()
        self.assertEqual(first['pid'], self.far.spawn()['pid'])
        self.assertEqual(1, len(os.listdir(os.path.join(self.root, HOME, 'nursery'))))

    def test_what_nobody_acked_comes_again(self):
        self.start()
        self.far.carry(execute('c-1', '1', 1))
        _head, came = self.far.carry(ack=0)
        self.assertEqual(['hello', 'started', 'done'], kinds(came))
        _head, came = self.far.carry()
        self.assertEqual(['hello'], kinds(came))

    def test_a_newer_trip_ends_the_one_that_waits(self):
        self.start()
        older = Far(self.root)
        older.process = self.far.process
        ends = []
        code = "open('begun', 'w').close()\nwhile True: pass"
        waiting = threading.Thread(target=lambda: ends.append(older.carry(execute('c-1', code, 1))[0]['end']))
        waiting.start()
        begun = os.path.join(self.root, 'begun')
        until = time.monotonic() + 20
        while not os.path.exists(begun) and time.monotonic() < until:
            time.sleep(0.02)
        self.far.sent = 1
        _head, came = self.far.carry({'type': 'interrupt', 'cell': 'c-1', 'reason': 'interrupt'})
        waiting.join(20)
        self.assertEqual('interrupted', came[-1]['status'])
        self.assertEqual(['closed'], ends)

    def test_a_wait_ends_at_its_limit_and_the_next_one_goes_on(self):
        self.start()
        head, came = self.far.carry(execute('c-1', 'import time; time.sleep(2)', 1), wait_ms=300)
        self.assertEqual(('limit', 1), (head['end'], head['cells']))
        self.assertEqual(['hello', 'started'], kinds(came))
        head, came = self.far.carry()
        self.assertEqual(['hello', 'done'], kinds(came))

    def test_a_kernel_that_was_killed_is_gone_and_leaves_its_exit_file_spool_and_journal(self):
        self.start()
        self.far.carry(execute('c-1', 'print("last words", flush=True)\nimport time\ntime.sleep(600)', 1), wait_ms=500)
        answer, _frames = self.far.about('signal', signal=signal.SIGKILL)
        self.assertEqual('gone', answer['state'])
        self.assertEqual('gone', self.far.carry()[0]['end'])
        answer, came = self.far.about('remains', nursery='y-none')
        self.assertEqual('remains', answer['type'], answer)
        ended, spool, journal = [payload for _seq, _ack, payload in came]
        self.assertIn(b'HFSPOOL1', spool)
        self.assertIn(b'last words', journal)

    def test_a_kernel_that_ends_with_its_cell_is_known_to_be_gone_with_the_result(self):
        self.start()
        code = 'import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\ntime.sleep(600)'
        head, came = self.far.carry(execute('c-1', code, 1, 200))
        self.assertEqual(['timeout', True], [came[-1]['status'], came[-1]['kernel_ended']])
        self.assertEqual('gone', head['end'])

    def test_a_kernel_that_is_told_to_end_is_known_to_be_gone(self):
        self.start()
        self.far.carry(execute('c-1', '1', 1))
        head, _came = self.far.carry({'type': 'shutdown', 'reason': 'stop'})
        self.assertEqual('gone', head['end'])

    def test_a_pid_that_another_process_has_by_now_is_not_signalled(self):
        self.start()
        self.far.process['start_time'] += 1
        self.assertEqual('gone', self.far.about('signal', signal=signal.SIGKILL)[0]['state'])
        self.far.process['start_time'] -= 1
        self.assertEqual('done', self.far.carry()[0]['end'])

    def test_the_token_is_in_a_private_file_and_in_nothing_else_that_shows(self):
        self.start()
        path = os.path.join(self.root, HOME, 'run', 'k-1', 'token')
        self.assertEqual(0o600, os.stat(path).st_mode & 0o777)
        for name in os.listdir('/proc/%d' % self.far.process['pid']):
            if name in ('cmdline', 'environ'):
                with open('/proc/%d/%s' % (self.far.process['pid'], name), 'rb') as file:
                    self.assertNotIn(b'a' * 64, file.read())

    def test_an_interpreter_that_is_not_there_is_refused_by_name(self):
        self.far.stage()
        answer = self.far.spawn(python='python-that-is-not-there')
        self.assertEqual('refused', answer['type'])
        self.assertIn('python-that-is-not-there', answer['message'])

    def test_a_directory_that_others_may_read_is_refused(self):
        os.chmod(self.root, 0o755)
        answer = self.far.stage()
        self.assertEqual('failed', answer['type'])
        self.assertIn('0700', answer['message'])


if __name__ == '__main__':
    unittest.main()
