"""A cell without a kernel, attended by a relay: one command from its interpreter's start to its end."""

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

from harness import HEADER, HOME, PATIENCE
from test_relay import COMMAND, DIGEST, FILES, USUAL, Far


def is_gone(pid):
    try:
        with open('/proc/%d/stat' % pid) as file:
            return file.read().split()[2] == 'Z'
    except OSError:
        return True


class PerCallTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix='hf-relay-')
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.far = Far(self.root)
        self.assertEqual(self.far.stage()['type'], 'staged')

    def fields(self, **given):
        return dict({'call': 'p-1', 'python': sys.executable, 'cwd': self.root, 'env': {}, 'usual': USUAL, 'pass_env': [],
                     'timeout_ms': 0, 'interrupt_grace_ms': 500}, **given)

    def run_cell(self, source=None, **given):
        """(head, messages)."""
        data = b'' if source is None else HEADER.pack(len(source.encode()), 1, 0) + source.encode()
        head, came = self.far.command('per_call', data, **self.fields(**given))
        return head, [json.loads(payload) for _seq, _ack, payload in came]

    def order(self, word):
        return self.far.command('per_call_order', call='p-1', order=word)[0]['state']

    def in_background(self, source, **given):
        """A function that waits for what run_cell returns; the cell has made the file `begun`."""
        found = []
        runner = threading.Thread(target=lambda: found.append(self.run_cell("open('begun', 'w').close()\n" + source, **given)))
        runner.start()
        self.addCleanup(runner.join)
        self.wait_for(lambda: os.path.exists(os.path.join(self.root, 'begun')))

        def result():
            runner.join(PATIENCE)
            return found[0]
        return result

    def wait_for(self, holds):
        until = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), until, 'it did not come true')
            time.sleep(0.01)

    def test_without_a_source_it_says_that_an_interpreter_runs_here(self):
        self.assertEqual(self.run_cell()[0], {'type': 'ready'})

    def test_the_outcome_comes_with_the_output_in_its_order(self):
        head, said = self.run_cell("import sys\nprint('one')\nprint('two', file=sys.stderr)\nprint('thr\\u00e9e')\n6 * 7")
        self.assertEqual(json.loads(head['reply']), {'status': 'ok', 'value': '42'})
        self.assertEqual([(each['stream'], each['offset'], each['text']) for each in said],
                         [('stdout', 0, 'one\n'), ('stderr', 4, 'two\n'), ('stdout', 8, 'thr\u00e9e\n')])
        self.assertEqual((head['stdout_bytes'], head['stderr_bytes'], head['exit_code'], head['timed_out']), (11, 4, 0, False))

    def test_of_much_output_the_front_and_the_newest_come_and_all_is_counted(self):
        head, said = self.run_cell("import sys\nfor i in range(40000): print('%099d' % i)\nprint('last', file=sys.stderr)")
        self.assertEqual((head['stdout_bytes'], head['stderr_bytes']), (4000000, 5))
        self.assertTrue(said[0]['text'].startswith('0' * 99 + '\n'))
        self.assertEqual((said[-2]['text'][-6:], said[-2]['offset'] + len(said[-2]['text'])), ('39999\n', 4000000))
        self.assertEqual((said[-1]['text'], said[-1]['offset']), ('last\n', 4000000))
        self.assertLess(sum(len(each['text']) for each in said), 1200000)

    def test_an_interpreter_that_is_not_there_is_refused_by_name_and_nothing_ran(self):
        head, _ = self.run_cell('open("ran", "w")', python='python-of-nobody')
        self.assertEqual(head['type'], 'refused')
        self.assertIn('python-of-nobody', head['message'])
        self.assertFalse(os.path.exists(os.path.join(self.root, 'ran')))

    def test_a_cell_is_interrupted_at_its_deadline(self):
        head, _ = self.run_cell('import time\ntime.sleep(60)', timeout_ms=300)
        self.assertTrue(head['timed_out'])
        self.assertEqual(json.loads(head['reply'])['error']['name'], 'KeyboardInterrupt')

    def test_one_that_does_not_obey_is_killed_with_its_group(self):
        head, said = self.run_cell("import signal, subprocess, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\n"
                                   "time.sleep(600)", timeout_ms=500)
        self.assertEqual((head['timed_out'], head['reply'], head['exit_code']), (True, None, -signal.SIGKILL))
        child = int(said[0]['text'])
        self.wait_for(lambda: is_gone(child))

    def test_an_interrupt_reaches_it_through_another_command(self):
        result = self.in_background('import time\ntime.sleep(60)')
        self.assertEqual(self.order('interrupt'), 'taken')
        self.assertEqual(json.loads(result()[0]['reply'])['error']['name'], 'KeyboardInterrupt')
        self.assertEqual(self.order('interrupt'), 'absent')
        self.assertEqual(os.listdir(os.path.join(self.root, HOME, 'run')), [])

    def test_a_kill_ends_it_at_once(self):
        result = self.in_background('import time\ntime.sleep(60)')
        self.assertEqual(self.order('kill'), 'taken')
        head, _ = result()
        self.assertEqual((head['reply'], head['exit_code']), (None, -signal.SIGKILL))

    def test_its_end_comes_with_that_of_its_command_and_with_that_of_whoever_reads_the_answer(self):
        for ending in ('killed', 'unread'):
            with self.subTest(ending):
                head = dict(self.fields(call='p-' + ending), operation='per_call', nonce='n', root=self.root, home=HOME, program=DIGEST)
                source = ("import os, time\nopen('pid-%s.new', 'w').write(str(os.getpid()))\n"
                          "os.rename('pid-%s.new', 'pid-%s')\ntime.sleep(600)" % ((ending,) * 3)).encode()
                payload, boot = json.dumps(head).encode(), FILES['relay_boot.py'].encode()
                relay = subprocess.Popen([sys.executable, '-I', '-S', '-c', COMMAND, 'holdfast-relay'], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                self.addCleanup(relay.wait)
                relay.stdin.write(b'%d\n%s%s%s%s%s' % (len(boot), boot, HEADER.pack(len(payload), 0, 0), payload,
                                                       HEADER.pack(len(source), 1, 0), source))
                relay.stdin.close()
                path = os.path.join(self.root, 'pid-' + ending)
                self.wait_for(lambda: os.path.exists(path))
                with open(path) as file:
                    pid = int(file.read())
                if ending == 'killed':
                    relay.kill()
                relay.stdout.close()
                self.wait_for(lambda: is_gone(pid))


if __name__ == '__main__':
    unittest.main()
