"""What jobs write and read: byte by byte through pipes, bounded in what is kept, exact in what is counted."""

import hashlib
import os
import unittest

from job_tests import JobTest
from holdfast_kernel import job_kept, limits


class PipeTest(JobTest):
    def test_a_pipeline_is_exact_to_the_byte(self):
        data = os.urandom(1 << 20) * 3 + b'end'
        path = os.path.join(self.home, 'data')
        with open(path, 'wb') as file:
            file.write(data)

        code, got = self.value("import hashlib\nj = run('cat', %r).pipe('cat').pipe('cat')\n"
                               "(j.wait(), hashlib.sha256(j.read_bytes()).hexdigest())" % path)

        self.assertEqual((code, got), (0, hashlib.sha256(data).hexdigest()))
        got = self.value("j = run('sha256sum', stdin=open(%r, 'rb').read())\nj.wait(); j.read().split()[0]" % path)
        self.assertEqual(got, hashlib.sha256(data).hexdigest())

    def test_a_pipe_that_is_made_late_still_gets_the_first_byte(self):
        self.assertEqual(self.value("a = run('seq', 1000)\na.wait()\nb = a.pipe('head', '-2')\nb.wait(), b.read()"), (0, '1\n2\n'))
        self.assertEqual(self.value("a = run('sh', '-c', 'echo 1; sleep 0.3; echo 2; echo 3 >&2')\nimport time; time.sleep(0.1)\n"
                                    "b = a.pipe('cat')\nb.wait(), b.read(), a.read()"), (0, '1\n2\n', '1\n2\n3\n'))

    def test_a_flood_that_is_piped_within_a_second_loses_nothing(self):
        code = ("import time\na = run('head', '-c', %d, '/dev/zero')\ntime.sleep(0.5)\nb = a.pipe('wc', '-c')\nb.wait(), int(b.read())"
                % (40 << 20))
        self.assertEqual(self.value(code), (0, 40 << 20))

    def test_one_whose_middle_is_gone_cannot_be_piped_any_more_nor_twice(self):
        self.value("a = run('head', '-c', %d, '/dev/zero'); a.wait()" % (17 << 20))
        self.assertIn('are not kept any more', self.error("a.pipe('cat')"))
        self.value("a = run('echo'); b = a.pipe('cat'); b.wait()")
        self.assertIn('goes to another job already', self.error("a.pipe('cat')"))
        self.error("c = run('echo'); c.pipe('no-such-program')")
        self.assertEqual(self.value("c.pipe('cat').wait()"), 0)

    def test_one_whose_reader_could_not_be_started_can_still_be_piped(self):
        code = ("import resource\na = run('echo', 'hi'); a.wait(); a.wait_until_gone(5)\n"
                "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
                "resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))\ntry: a.pipe('cat')\nexcept OSError: pass\n"
                "else: raise AssertionError('it was started')\nfinally: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))\n"
                "b = a.pipe('cat'); b.wait(); b.read()")
        for _attempt in range(3):  # with and without the keeper's thread
            self.assertEqual(self.value(code), 'hi\n')

    def test_a_slow_reader_holds_its_writer_back(self):
        job = self.value("a = run('cat', '/dev/zero')\nb = a.pipe('sh', '-c', 'sleep 1; head -c 100000 | wc -c')\na.id")
        # What came before it had a reader is kept, as of any job.
        before = self.kernel.ask('job_output', job=job, limit=1)['total_bytes']

        self.assertEqual(self.value('b.wait(), b.read().strip(), a.wait()'), (0, '100000', -13))

        written = self.kernel.ask('job_output', job=job, limit=1)['total_bytes'] - before
        self.assertLessEqual(written, 4 * limits.JOB_PIPE_AHEAD)

    def test_a_reader_that_ends_ends_its_writers_by_a_broken_pipe_and_the_pipeline_is_told_once(self):
        got = self.value("a = run('yes'); b = a.pipe('cat'); c = b.pipe('head', '-1')\n(c.wait(), c.read(), b.wait(), a.wait(), a.id, b.id)")

        self.assertEqual(got[:4], (0, 'y\n', -13, -13))
        for job in got[4:]:
            self.assertTrue(self.wait_frame('job_finished', job=job)['read'])
            self.assertEqual(self.frames('jobs', read=[job]), [])

    def test_no_input_is_an_empty_one(self):
        self.assertEqual(self.value("[(j.wait(), j.read()) for j in (run('cat'), run('cat', stdin=''), run('cat', stdin=b'\\xff\\n'))]"),
                         [(0, ''), (0, ''), (0, '\ufffd\n')])


class OutputTest(JobTest):
    def test_totals_are_exact_and_head_and_tail_are_kept(self):
        size = 40 << 20
        program = "import sys\nfor n in range(%d): sys.stdout.write('%%015d\\n' %% n)" % (size // 16)
        job = self.value("import sys\nj = run(sys.executable, '-c', %r)\nj.wait()\nj.id" % program)

        page = self.kernel.ask('job_output', job=job, offset=limits.JOB_HEAD - 16, limit=64)

        self.assertEqual((page['total_bytes'], page['final']), (size, True))
        gap = {'from': limits.JOB_HEAD, 'to': size - limits.JOB_TAIL}
        self.assertEqual(page['dropped'], [gap])
        first, second = page['chunks']
        self.assertEqual(first, {'stream': 'stdout', 'offset': limits.JOB_HEAD - 16, 'bytes': 16,
                                 'text': '%015d\n' % (limits.JOB_HEAD // 16 - 1)})
        self.assertEqual((second['offset'], second['text'][:16]), (gap['to'], '%015d\n' % (gap['to'] // 16)))
        self.assertEqual(page['next_offset'], gap['to'] + 48)
        self.assertEqual(self.value('j.tail(1), j.head(1), len(j.read_bytes())'), ('%015d\n' % (size // 16 - 1), '%015d\n' % 0, 16 << 20))
        self.assertEqual(self.value("'[... %d bytes left out ...]' in j.read()" % (gap['to'] - gap['from'])), True)
        self.assertLessEqual(os.path.getsize(os.path.join(self.kernel.directory, 'jobs', job + '.out')), 2 * (16 << 20))

    def test_pages_go_on_while_the_job_runs_and_streams_are_told_apart(self):
        job = self.value("j = run('sh', '-c', 'printf a; sleep 0.2; printf b >&2; sleep 0.2; printf c; cat', stdin=run('sleep', 300))\nj.id")
        text, streams, offset = '', [], 0

        def read_on():
            nonlocal text, offset
            page = self.kernel.ask('job_output', job=job, offset=offset)
            self.assertFalse(page['final'])
            for chunk in page['chunks']:
                text += chunk['text']
                streams.append(chunk['stream'])
            offset = page['next_offset']
            return text == 'abc'
        self.wait_until(read_on, 'all was written')

        self.assertEqual(streams, ['stdout', 'stderr', 'stdout'])
        self.value('j.stop()')
        self.wait_until(lambda: self.kernel.ask('job_output', job=job)['final'], 'the output is final')

    def test_a_job_that_is_not_there_and_bad_pages_are_refused(self):
        self.assertEqual(self.kernel.ask('job_output', job='j-1')['error']['kind'], 'not_found')
        self.assertEqual(self.kernel.ask('job_stop', job='j-1')['error']['kind'], 'not_found')
        self.assertEqual(self.kernel.ask('job_stop')['error']['kind'], 'failed')
        job = self.value("j = run('true'); j.wait(); j.id")
        for fields in ({'offset': -1}, {'offset': '0'}, {'limit': 0}, {'limit': 1 << 30}, {'limit': None}):
            self.assertEqual(self.kernel.ask('job_output', job=job, **fields)['error']['kind'], 'failed', fields)
        page = self.kernel.ask('job_output', job=job, offset=99)
        self.assertEqual((page['chunks'], page['next_offset'], page['final']), ([], 0, True))


class KeptTest(unittest.TestCase):
    """The store alone, small."""

    def setUp(self):
        self.sizes = job_kept.HEAD, job_kept.TAIL, job_kept.SIZE
        job_kept.HEAD, job_kept.TAIL, job_kept.SIZE = 8, 8, 16
        self.addCleanup(self.put_back)
        self.fd = os.memfd_create('kept') if hasattr(os, 'memfd_create') else self.skipTest('no memfd')
        self.addCleanup(os.close, self.fd)
        self.is_full = False
        self.kept = job_kept.Kept(self.open, 'x')

    def put_back(self):
        job_kept.HEAD, job_kept.TAIL, job_kept.SIZE = self.sizes

    def open(self, _name, _flags):
        if self.is_full:
            raise OSError(28, 'no space')
        return os.dup(self.fd)

    def bytes(self, offset=0, limit=99):
        return b''.join(data for _stream, _at, data in self.kept.read(offset, limit))

    def test_any_splitting_into_writes_keeps_the_same(self):
        data = bytes(range(97, 123)) * 2
        for step in range(1, 53):
            os.ftruncate(self.fd, 0)
            self.kept = job_kept.Kept(self.open, 'x')
            for at in range(0, len(data), step):
                self.kept.add(at // step % 2, data[at:at + step])
                size = min(at + step, len(data))
                whole = data[:size]
                self.assertEqual(self.bytes(), whole if size <= 16 else whole[:8] + whole[-8:], (step, at))
                self.assertEqual(self.kept.dropped(), [(8, size - 8)] if size > 16 else [])
                for stream, offset, piece in self.kept.read(0, 99):
                    self.assertEqual(piece, data[offset:offset + len(piece)])
                    self.assertEqual({position // step % 2 for position in range(offset, offset + len(piece))}, {stream})

    def test_what_could_not_be_written_is_named(self):
        self.kept.add(0, b'abc')
        self.is_full = True
        self.kept.add(0, b'de')
        self.is_full = False
        self.kept.add(1, b'f')

        self.assertEqual((self.kept.total, self.kept.dropped()), (6, [(3, 5)]))
        self.assertEqual(job_kept.page_of(self.kept, 0, 99, True)[0], [{'stream': 'stdout', 'offset': 0, 'bytes': 3, 'text': 'abc'},
                                                                         {'stream': 'stderr', 'offset': 5, 'bytes': 1, 'text': 'f'}])
        self.assertEqual(job_kept.text_of(self.kept, 0, 6, True), 'abc\n[... 2 bytes left out ...]\nf')

    def test_pages_of_any_size_never_split_a_character_and_always_go_on(self):
        data = 'a\u00fc\u20ac\U0001f600z'.encode() + b'\xff\xc3'
        self.kept.add(0, data)
        for limit in range(1, 14):
            for final in (True, False):
                text, offset = '', 0
                while True:
                    chunks, following = job_kept.page_of(self.kept, offset, limit, final)
                    if following == offset:
                        break
                    text += ''.join(chunk['text'] for chunk in chunks)
                    offset = following
                if limit >= 4:
                    self.assertEqual(text, data.decode('utf-8', 'replace') if final else data[:-1].decode('utf-8', 'replace'), (limit, final))
                self.assertGreaterEqual(offset, len(data) - 1)

    def test_a_character_split_by_the_other_stream_is_whole(self):
        self.kept.add(0, b'\xe2\x82')
        self.kept.add(1, b'x')
        self.kept.add(0, b'\xac')

        self.assertEqual([chunk['text'] for chunk in job_kept.page_of(self.kept, 0, 99, True)[0]], ['', 'x', '\u20ac'])


if __name__ == '__main__':
    unittest.main()
