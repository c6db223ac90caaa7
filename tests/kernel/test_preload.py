"""Preload lists: what can be shared is imported once, the rest by each kernel."""

import os
import unittest

from harness import NurseryTest

MODULES = {
    'shared': 'import os\nimporter = os.getpid()\n',
    'threaded': 'import os, threading\nimporter = os.getpid()\nasked = threading.Event()\n'
                'def serve():\n    asked.wait()\n    answers.append(os.getpid())\nanswers = []\n'
                'thread = threading.Thread(target=serve, daemon=True)\nthread.start()\nprint("hello from threaded")\n',
    'opening': 'import os\nimporter = os.getpid()\nfile = open("/etc/passwd")\n',
    'by_threaded': 'import os, threaded\nimporter = os.getpid()\n',
    'failing_later': 'import os, threading\nif os.environ.get("HOLDFAST_KERNEL"): raise ValueError("not here")\n'
                     'threading.Thread(target=threading.Event().wait, daemon=True).start()\n',
    'hanging_later': 'import os, threading, time\nimporter = os.getpid()\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n'
                     'if os.environ.get("HOLDFAST_KERNEL"): time.sleep(0.5)\n',
    'crashing': 'import os\nos.abort()\n',
}


class PreloadTest(NurseryTest):
    preload = []

    def start_nursery(self):
        self.library = os.path.join(self.home, 'library')
        os.makedirs(os.path.join(self.library, 'numpy'))
        for name, source in MODULES.items():
            self.write(name + '.py', source)
        # What numpy does: a generator of its own, seeded at the import.
        self.write('numpy/__init__.py', 'from . import random\n')
        self.write('numpy/random.py', 'import os\nstate = 0\ndef seed():\n    global state\n    state = os.urandom(8)\nseed()\n')
        os.environ['PYTHONPATH'] = self.library
        self.addCleanup(os.environ.pop, 'PYTHONPATH')
        super().start_nursery()

    def write(self, name, source):
        with open(os.path.join(self.library, name), 'w') as file:
            file.write(source)

    def nursery_config(self):
        return dict(super().nursery_config(), preload=self.preload)

    def start_with(self, *preload):
        """The nursery is replaced by one with that list."""
        self.nursery.send({'type': 'shutdown'})
        self.wait_until(lambda: not self.is_alive(self.nursery_pid), 'the nursery ends')
        self.preload = list(preload)
        done = self.launch(self.nursery_config())
        if done.returncode == 0:
            self.nursery_state = None
            self.connect_nursery()
            self.pids.append(self.nursery_pid)
        return done

    def value(self, kernel, code):
        done = kernel.run(code)
        self.assertEqual(done['status'], 'ok', done)
        return done['value']

    def test_a_module_is_imported_once_for_all_kernels(self):
        self.assertEqual(self.start_with('shared', 'decimal').returncode, 0)
        seen = [self.value(self.spawn('k-%d' % n), 'import sys\nsys.modules["shared"].importer, "decimal" in sys.modules') for n in range(2)]
        self.assertEqual(seen[0], seen[1])
        self.assertNotIn(self.value(self.spawn('k-3'), 'import os\nos.getpid()'), seen[0])

    def test_one_that_starts_threads_or_opens_descriptors_is_imported_by_each_kernel(self):
        self.assertEqual(self.start_with('threaded', 'opening', 'by_threaded', 'shared').returncode, 0)
        for name in ('k-1', 'k-2'):
            kernel = self.spawn(name)
            self.assertEqual(self.value(kernel, 'import sys, os\n[sys.modules[name].importer == os.getpid() for name in ("threaded", "opening", '
                                                '"by_threaded", "shared")]'), '[True, True, True, False]')
            self.assertEqual(self.value(kernel, 'import threaded\nthreaded.asked.set()\nthreaded.thread.join(5)\nthreaded.answers == [os.getpid()]'),
                             'True')
            self.assertEqual(self.value(kernel, 'import opening\nopening.file.read(4)'), "'root'")
        with open(os.path.join(self.nursery_directory, 'nursery.log')) as file:
            self.assertNotIn('rehearsal-failed', file.read())
        self.assertEqual(len(os.listdir('/proc/%d/task' % self.nursery_pid)), 1)

    def test_a_kernel_answers_while_it_imports_and_the_first_cell_finds_the_module(self):
        self.start_with('hanging_later')
        kernel = self.spawn()  # hello comes within the 0.5 s
        kernel.execute('import sys\n"hanging_later" in sys.modules')
        self.assertEqual(kernel.connection.wait_for('done')['value'], 'True')
        self.assertFalse([frame for frame in kernel.connection.frames if frame['type'] == 'answer'])

    def test_one_that_fails_in_the_kernel_is_logged_and_fails_where_it_is_used(self):
        self.start_with('failing_later', 'threaded')
        kernel = self.spawn()
        self.assertEqual(kernel.run('import failing_later')['error']['message'], 'not here')
        self.assertEqual(self.value(kernel, 'import sys\n"threaded" in sys.modules'), 'True')
        self.assertIn(b'preload-failed failing_later: ValueError: not here', kernel.file('kernel.log'))

    def test_what_a_module_prints_there_is_no_cell_s(self):
        self.start_with('threaded')
        kernel = self.spawn()
        self.assertEqual(kernel.run('print("own")')['stdout']['head'], 'own\n')

    def test_one_that_fails_or_ends_the_process_is_refused_by_name(self):
        for name, words in (('no_such_module', b'ModuleNotFoundError'), ('crashing', b'ended the process')):
            self.preload = [name]
            done = self.launch(dict(self.nursery_config(), directory=self.library))
            self.assertEqual((done.returncode, done.stderr.count(b'\n')), (1, 1), done.stderr)
            self.assertIn(b'cannot preload ' + name.encode(), done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_generator_that_a_module_seeded_differs_from_kernel_to_kernel(self):
        self.start_with('numpy', 'random')
        states = [self.value(self.spawn('k-%d' % n), 'import numpy.random, random\nnumpy.random.state, random.random()') for n in range(2)]
        self.assertNotEqual(states[0].split()[0], states[1].split()[0])
        self.assertNotEqual(states[0].split()[1], states[1].split()[1])


if __name__ == '__main__':
    unittest.main()
