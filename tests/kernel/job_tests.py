"""What the tests of jobs share: cells that must succeed, and processes that are looked for by their group."""

import ast
import os
import signal

from harness import Closed, KernelTest

from holdfast_kernel import processes


class JobTest(KernelTest):
    def value(self, code, **options):
        """The value, itself, of a cell that ends well."""
        text = super().value(code, **options)
        return None if text is None else ast.literal_eval(text)

    def value_after_loss(self, code):
        """The same of a cell that takes the connection away: its daemon comes back."""
        cell = self.kernel.execute(code)
        while True:
            try:
                done = self.kernel.connection.wait_for('done', cell=cell)
                break
            except (Closed, OSError):
                self.wait_until(self.comes_back, 'the kernel listens again')
        self.assertEqual(done['status'], 'ok', (done['error'] or {}).get('traceback'))
        return None if done['value'] is None else ast.literal_eval(done['value'])

    def comes_back(self):
        self.kernel.connection.close()
        try:
            return self.kernel.connect(incarnation=2)
        except (Closed, OSError):
            return None

    def error(self, code):
        done = self.kernel.run(code)
        self.assertEqual(done['status'], 'error', done['value'])
        return done['error']['message']

    def frames(self, kind, **fields):
        return [frame for frame in self.kernel.connection.frames
                if frame['type'] == kind and all(frame.get(name) == value for name, value in fields.items())]

    def wait_frame(self, kind, **fields):
        """The frame, whether it has come already or not."""
        found = self.frames(kind, **fields)
        return found[0] if found else self.kernel.connection.wait_for(kind, **fields)

    @staticmethod
    def group(number):
        """The living processes of a group."""
        found = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                try:
                    with open('/proc/%s/stat' % name, 'rb') as file:
                        fields = file.read().rpartition(b')')[2].split()
                except OSError:
                    continue
                if int(fields[2]) == number and fields[0] not in (b'Z', b'X'):
                    found.append(int(name))
        return found

    def wait_gone(self, number):
        self.wait_until(lambda: not self.group(number), 'group %d is gone' % number)

    def end_group_after(self, number):
        """For a job that outlives its kernel."""
        def end():
            for pid in self.group(number):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass  # it has ended since the look
            self.wait_gone(number)
        self.addCleanup(end)

    def zombies(self):
        """Dead children that the kernel has not reaped."""
        found = []
        for child in self.children(self.kernel.pid):
            if not self.is_alive(child):
                found.append(child)
        return found

    children = staticmethod(processes.children)
