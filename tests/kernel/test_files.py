"""Spool and journal: what is read back is what was written, whatever moment the writer died at."""

import random
import sys
import unittest

import harness  # noqa: F401
from holdfast_kernel import frames, journal, limits, output, spool


def memory(size):
    return memoryview(bytearray(size))


class SpoolTest(unittest.TestCase):
    def test_frames_are_read_back_until_all_are_acked(self):
        data = memory(4096)
        written = spool.Spool(data)
        written.append(3, b'{"type":"a"}')
        written.append(5, b'{"type":"b"}')
        written.acknowledge(3)
        self.assertEqual(spool.read(data), (3, [(3, b'{"type":"a"}'), (5, b'{"type":"b"}')]))
        written.acknowledge(5)
        self.assertEqual(spool.read(data), (5, []))
        written.append(6, b'{"type":"c"}')
        self.assertEqual(spool.read(data), (5, [(6, b'{"type":"c"}')]))

    def test_the_layout_is_the_documented_one(self):
        data = memory(256)
        spool.Spool(data).append(1, b'{}')
        self.assertEqual(bytes(data[0:8]), b'HFSPOOL1')
        self.assertEqual(int.from_bytes(data[8:16], 'big'), 64 + 16 + 2)
        self.assertEqual(bytes(data[64:82]).hex(), '00000002' '0000000000000001' + '%08x' % __import__('zlib').crc32(b'{}') + '7b7d')

    def test_a_torn_record_ends_the_reading(self):
        data = memory(4096)
        written = spool.Spool(data)
        written.append(1, b'{"type":"a"}')
        written.append(2, b'{"type":"b"}')
        data[64 + 16 + 12 + 16 + 3] ^= 1
        self.assertEqual(spool.read(data)[1], [(1, b'{"type":"a"}')])

    def test_what_does_not_fit_is_stored_with_its_longest_texts_left_out(self):
        data = memory(4096)
        written = spool.Spool(data)
        message = {'type': 'done', 'cell': 'c-1', 'stdout': {'head': '\u20ac' * 3000}, 'value': 'v' * 3500}
        self.assertTrue(written.append(1, frames.to_payload(message)))
        stored = frames.from_payload(spool.read(data)[1][0][1])
        self.assertEqual(stored['stdout']['head'], '[9000 bytes left out: the spool was full]')
        self.assertEqual((stored['value'], stored['cell']), ('v' * 3500, 'c-1'))

    def test_what_cannot_be_shrunk_enough_is_refused(self):
        written = spool.Spool(memory(100))
        self.assertFalse(written.append(1, frames.to_payload({'type': 'done', 'cell': 'c' * 30})))


class JournalTest(unittest.TestCase):
    def test_records_are_read_back_in_order(self):
        data = memory(1024)
        ring = journal.Journal(data)
        ring.append(1, b'c-1', 0, b'one')
        ring.append(2, b'c-1', 3, b'two')
        self.assertEqual(journal.read(data), [(1, b'c-1', 0, b'one'), (2, b'c-1', 3, b'two')])

    def test_the_newest_is_kept_over_many_laps(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        data = memory(64 + 1000)
        ring = journal.Journal(data)
        written, offset = [], 0
        for _ in range(500):
            text = bytes(rng.randrange(97, 123) for _ in range(rng.randrange(1, 120)))
            ring.append(1, b'c-1', offset, text)
            written.append((1, b'c-1', offset, text))
            offset += len(text)
            kept = journal.read(data)
            self.assertEqual(kept, written[-len(kept):], 'seed %d' % seed)
            if len(kept) < len(written):
                self.assertGreater(sum(16 + len(b'c-1') + len(chunk.text) for chunk in kept), 1000 - 140 - 1000 // 64)

    def test_pull_joins_what_is_adjacent_and_of_one_kind(self):
        ring = journal.Journal(memory(4096))
        for stream, cell, offset, text in ((1, b'a', 0, b'x'), (1, b'a', 1, b'y'), (2, b'a', 2, b'z'), (2, b'b', 0, b'q'), (2, b'b', 5, b'r')):
            ring.append(stream, cell, offset, text)
        self.assertEqual([ring.pull() for _ in range(5)],
                         [(1, b'a', 0, b'xy'), (2, b'a', 2, b'z'), (2, b'b', 0, b'q'), (2, b'b', 5, b'r'), None])

    def test_pull_respects_the_limit_of_a_frame(self):
        ring = journal.Journal(memory(4096))
        for n in range(10):
            ring.append(1, b'a', n * 100, b'x' * 100)
        self.assertEqual([len(ring.pull(250).text) for _ in range(5)], [200] * 5)

    def test_a_frame_of_each_of_many_records_is_made_in_order_around_the_ring(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        ring = journal.Journal(memory(limits.JOURNAL_SIZE))
        written, offset = [], 0
        for _ in range(20000):
            stream, text = rng.randrange(1, 3), bytes(rng.randrange(97, 123) for _ in range(rng.randrange(1, 200)))
            while not ring.append(stream, b'c-1', offset, text, (0, 0, 0), True):
                chunk = ring.pull(1)
                self.assertEqual(chunk, written.pop(0), 'seed %d' % seed)
            written.append((stream, b'c-1', offset, text))
            offset += len(text)
        self.assertEqual(list(iter(lambda: ring.pull(1), None)), written, 'seed %d' % seed)

    def test_an_extended_record_is_whole_at_each_step_over_many_laps(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        data = memory(64 + 6400)
        ring = journal.Journal(data)
        everything = pulled = b''
        for _ in range(5000):
            text = bytes(rng.randrange(97, 123) for _ in range(rng.randrange(1, 20)))
            if len(text) <= ring.room:
                ring.extend(1, text, 0)
            else:
                ring.append(1, b'c-1', len(everything), text)
            everything += text
            kept = journal.read(data)
            self.assertEqual(b''.join(chunk.text for chunk in kept), everything[kept[0].offset:], 'seed %d' % seed)
            if rng.randrange(1000) == 0:
                chunk = ring.pull()
                self.assertEqual(chunk.text, everything[chunk.offset:chunk.offset + len(chunk.text)], 'seed %d' % seed)
                self.assertEqual(chunk.offset, len(pulled) + ring.dropped, 'seed %d' % seed)
                pulled += chunk.text
        self.assertGreater(ring.dropped, 0)

    def test_what_is_overwritten_unsent_is_counted(self):
        ring = journal.Journal(memory(64 + 1000))
        for n in range(20):
            ring.append(1, b'a', n * 100, b'x' * 100)
        first = ring.pull()
        self.assertEqual(first.offset, ring.dropped)
        self.assertEqual(ring.dropped + len(first.text), 2000)

    def test_what_is_pulled_what_is_dropped_and_what_is_left_is_all_that_was_written(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        ring = journal.Journal(memory(64 + 1000))
        written = pulled = 0
        for _ in range(2000):
            text = b'x' * rng.randrange(1, 120)
            ring.append(1, b'c-1', written, text)
            written += len(text)
            chunk = ring.pull(200) if rng.randrange(5) == 0 else None
            if chunk is not None:
                self.assertEqual(chunk.offset, pulled + ring.dropped, 'seed %d' % seed)
                pulled += len(chunk.text)
        for chunk in iter(ring.pull, None):
            pulled += len(chunk.text)
        self.assertEqual(pulled + ring.dropped, written, 'seed %d' % seed)
        self.assertGreater(ring.dropped, 0)

    def test_what_is_spared_is_never_dropped_though_the_ring_gives_up_more_than_a_record_at_once(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        ring = journal.Journal(memory(64 + 16000))
        offset = pulled = 0
        for _ in range(20000):
            text = b'x' * rng.randrange(1, 30)
            while not ring.append(1, b'c-1', offset, text, (0, 0, 0), True):
                chunk = ring.pull(200)
                self.assertEqual(chunk.offset, pulled, 'seed %d' % seed)
                pulled += len(chunk.text)
            offset += len(text)
        self.assertEqual(ring.dropped, 0, 'seed %d' % seed)

    def test_a_record_that_would_overwrite_what_is_unsent_is_refused_when_that_is_spared(self):
        ring = journal.Journal(memory(64 + 100))
        self.assertTrue(ring.append(1, b'c', 0, b'x' * 60, (0, 60, 0), True))
        self.assertFalse(ring.append(1, b'c', 60, b'y' * 60, (0, 120, 0), True))
        self.assertEqual(ring.pull().text, b'x' * 60)
        self.assertTrue(ring.append(1, b'c', 60, b'y' * 60, (0, 120, 0), True))
        self.assertEqual(ring.pull().text, b'y' * 60)
        self.assertEqual(ring.dropped, 0)


class OutputTest(unittest.TestCase):
    def setUp(self):
        self.data = memory(limits.JOURNAL_SIZE)
        self.output = output.Output(journal.Journal(self.data), {}, lambda: None, lambda _parted: None)
        self.cell = self.output.begin('c', 1000)

    def test_characters_split_between_reads_are_joined_and_bad_ones_replaced(self):
        for piece in (b'\xe2', b'\x82', b'\xac', b'\xff', b'a\xc3'):
            self.output.write_bytes(output.STDOUT, piece)
        done = self.output.finish(self.cell)
        self.assertEqual(done['stdout']['head'], '\u20ac\ufffda\ufffd')
        self.assertEqual(done['output_bytes'], len('\u20ac\ufffda\ufffd'.encode()))

    def test_offsets_run_through_both_streams(self):
        self.output.write(output.STDOUT, 'ab')
        self.output.write(output.STDERR, 'c')
        self.output.write(output.STDOUT, 'd')
        self.assertEqual([(c.stream, c.offset, c.text) for c in journal.read(self.data)], [(1, 0, b'ab'), (2, 2, b'c'), (1, 3, b'd')])

    def test_text_that_goes_on_is_added_to_its_record_until_a_frame_is_made_of_it(self):
        for _ in range(3):
            self.output.write(output.STDOUT, '1')
            self.output.write(output.STDOUT, '\n')
        self.assertEqual([(c.offset, c.text) for c in journal.read(self.data)], [(0, b'1\n1\n1\n')])
        self.assertEqual(self.output.pull().text, b'1\n1\n1\n')
        self.output.write(output.STDOUT, '2')
        self.assertEqual([(c.offset, c.text) for c in journal.read(self.data)], [(0, b'1\n1\n1\n'), (6, b'2')])
        self.assertEqual(self.output.pull(), (1, b'c', 6, b'2'))

    def test_offsets_are_right_behind_a_write_that_a_trace_function_ended(self):
        def trace(frame, _event, _argument):
            if frame.f_code.co_name == 'extend':
                raise ValueError
        self.output.write(output.STDOUT, 'ab')
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with self.assertRaises(ValueError):
                self.output.write(output.STDOUT, 'cd')
        finally:
            sys.settrace(before)
        self.output.write(output.STDOUT, 'ef')
        self.assertEqual([(c.offset, c.text) for c in journal.read(self.data)], [(0, b'ab'), (4, b'ef')])

    def test_from_the_limit_on_output_is_only_counted(self):
        self.output.write(output.STDOUT, 'x' * 999)
        self.output.write(output.STDOUT, '\u20ac' * 10)
        self.output.write(output.STDOUT, 'y' * 10)
        self.assertEqual(self.output.finish(self.cell)['output_bytes'], 1039)
        self.assertEqual(sum(len(c.text) for c in journal.read(self.data)), 999)

    def test_what_is_only_counted_wakes_nobody(self):
        woken = []
        of_it = output.Output(journal.Journal(memory(limits.JOURNAL_SIZE)), {}, lambda: woken.append(1), lambda _parted: None)
        of_it.begin('c', 10)
        of_it.write(output.STDOUT, 'x' * 10)
        self.assertEqual(len(woken), 1)
        of_it.pull()
        of_it.rearm()
        of_it.write(output.STDOUT, 'y')
        self.assertEqual(len(woken), 1)

    def test_lone_surrogates_are_escaped(self):
        self.output.write(output.STDOUT, '\ud800')
        self.assertEqual(self.output.finish(self.cell)['stdout']['head'], '\\ud800')


if __name__ == '__main__':
    unittest.main()
