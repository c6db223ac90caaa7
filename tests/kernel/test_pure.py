"""The parts that are functions of bytes and values: codec, window, texts, values, failpoints."""

import random
import unittest

import harness  # noqa: F401  (puts the program on sys.path)
from holdfast_kernel import failpoints, frames, limits, texts, values
from holdfast_kernel.window import Window, WindowFull


class FrameTest(unittest.TestCase):
    def test_a_frame_is_length_seq_ack_payload_in_big_endian(self):
        self.assertEqual(frames.encode(1, 2, b'{}').hex(), '00000002' '0000000000000001' '0000000000000002' '7b7d')

    def test_frames_come_out_whole_however_the_stream_is_cut(self):
        stream = b''.join(frames.encode(n, 0, b'x' * (n % 7)) for n in range(1, 40))
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        decoder, got, at = frames.Decoder(), [], 0
        while at < len(stream):
            size = rng.randrange(1, 60)
            got += decoder.feed(stream[at:at + size])
            at += size
        self.assertEqual([(f.seq, len(f.payload)) for f in got], [(n, n % 7) for n in range(1, 40)], 'seed %d' % seed)

    def test_an_over_long_frame_is_skipped_without_being_kept(self):
        decoder = frames.Decoder(limit=10)
        got = decoder.feed(frames.HEADER.pack(1000, 5, 0) + b'a' * 400)
        self.assertEqual(got, [frames.Frame(5, 0, None)])
        self.assertEqual(len(decoder._buffer), 0)
        got = decoder.feed(b'a' * 600 + frames.encode(6, 0, b'ok'))
        self.assertEqual(got, [frames.Frame(6, 0, b'ok')])

    def test_an_over_long_frame_is_never_produced(self):
        with self.assertRaises(frames.BadFrame):
            frames.encode(1, 0, b' ' * (limits.MAX_PAYLOAD + 1))

    def test_what_is_no_object_with_a_type_is_a_bad_frame(self):
        for payload in (b'', b'[]', b'{}', b'{"type":1}', b'{"type":"a"} x', b'\xff', b'{"type":NaN}', b'{"type":"a","x":Infinity}',
                        b'{"type":"a"', None, b'[' * 100000):
            with self.assertRaises(frames.BadFrame, msg=payload and payload[:20]):
                frames.from_payload(payload)

    def test_64_levels_pass_and_65_do_not(self):
        def nested(levels):
            return b'{"type":"a","x":' + b'[' * (levels - 1) + b']' * (levels - 1) + b'}'

        self.assertEqual(frames.from_payload(nested(64))['type'], 'a')
        with self.assertRaises(frames.BadFrame):
            frames.from_payload(nested(65))
        many = b'{"type":"a","x":[' + b','.join([b'[]'] * 500) + b']}'
        self.assertEqual(len(frames.from_payload(many)['x']), 500)

    def test_lone_surrogates_are_written_as_text_and_nan_is_refused(self):
        self.assertEqual(frames.to_payload({'type': 'a\ud800', 'list': ['\udfff']}), b'{"type":"a\\\\ud800","list":["\\\\udfff"]}')
        with self.assertRaises(ValueError):
            frames.to_payload({'x': float('nan')})

    def test_an_output_is_the_same_json_whichever_way_it_is_written(self):
        every = ''.join(map(chr, range(0x100)))
        for text in ['', 'plain\n', '\t"\\\r\x1b[31m', '\u20ac\U0001f600', every] + list(every):
            payload = frames.output_payload(b'c-"1', 2, 7, text.encode())
            self.assertEqual(payload, frames.to_payload({'type': 'output', 'cell': 'c-"1', 'stream': 'stderr', 'offset': 7, 'text': text}))


class WindowTest(unittest.TestCase):
    def test_frames_are_numbered_from_one_and_kept_until_acked(self):
        window = Window()
        self.assertEqual([window.push(b'a'), window.push(b'b')], [1, 2])
        self.assertEqual(window.take_unsent(), [(1, b'a'), (2, b'b')])
        self.assertEqual(window.take_unsent(), [])
        window.on_frame(0, 1)
        self.assertEqual((window.first, window.unacked_frames, window.unacked_bytes), (2, 1, 1))

    def test_the_next_frame_is_fresh_an_older_one_a_duplicate_a_later_one_a_gap(self):
        window = Window()
        self.assertEqual([window.on_frame(seq, 0) for seq in (1, 1, 0, 2, 4, 3)], ['fresh', 'duplicate', 'duplicate', 'fresh', 'gap', 'fresh'])

    def test_an_ack_of_what_was_never_sent_is_a_gap(self):
        self.assertEqual(Window().on_frame(1, 1), 'gap')

    def test_ack_announces_only_what_is_recorded(self):
        window = Window()
        window.on_frame(1, 0)
        self.assertEqual(window.ack, 0)
        window.record(1)
        self.assertEqual(window.ack, 1)

    def test_a_new_connection_resends_what_is_not_acked_and_expects_what_is_not_recorded(self):
        window = Window()
        for payload in (b'a', b'b', b'c'):
            window.push(payload)
        window.take_unsent()
        window.on_frame(1, 0)

        self.assertTrue(window.resume(1))

        self.assertEqual(window.take_unsent(), [(2, b'b'), (3, b'c')])
        self.assertEqual(window.on_frame(1, 0), 'fresh')

    def test_an_attach_that_acks_what_was_never_sent_changes_nothing(self):
        window = Window()
        window.push(b'a')
        window.take_unsent()
        self.assertFalse(window.resume(2))
        self.assertEqual((window.first, window.has_unsent()), (1, False))

    def test_a_peer_that_begins_later_is_taken_from_there(self):
        window = Window()
        window.resume(0, 7)
        self.assertEqual((window.ack, window.on_frame(7, 0)), (6, 'fresh'))

    def test_it_is_bounded_in_frames_and_bytes_but_not_for_what_must_be_delivered(self):
        window = Window(max_frames=2, max_bytes=10)
        window.push(b'a' * 10)
        with self.assertRaises(WindowFull):
            window.push(b'b')
        self.assertEqual(window.push(b'c', must=True), 2)

    def test_batches_keep_the_order_and_always_make_progress(self):
        window = Window()
        for _ in range(4):
            window.push(b'x' * 100)
        self.assertEqual([[seq for seq, _ in window.take_unsent(150)] for _ in range(5)], [[1], [2], [3], [4], []])

    def test_every_frame_arrives_once_over_connections_that_break(self):
        seed = random.randrange(1 << 30)
        rng = random.Random(seed)
        sender, receiver, got, wire = Window(), Window(), [], []
        for number in range(300):
            sender.push(b'%d' % number)
            if rng.random() < 0.2:  # the connection breaks with all that is under way
                wire = []
                sender.resume(receiver.ack)
                receiver.resume(0)
            wire += sender.take_unsent()
            for seq, payload in wire[:rng.randrange(len(wire) + 1)]:
                if receiver.on_frame(seq, 0) == 'fresh':
                    got.append(payload)
                    receiver.record(seq)
                wire = [frame for frame in wire if frame[0] != seq]
            sender.on_frame(0, receiver.ack)
        sender.resume(receiver.ack)
        got += [payload for seq, payload in sender.take_unsent() if receiver.on_frame(seq, 0) == 'fresh']
        self.assertEqual(got, [b'%d' % number for number in range(300)], 'seed %d' % seed)


class TextTest(unittest.TestCase):
    def kept(self, pieces):
        text = texts.HeadTail()
        for piece in pieces:
            text.add(piece)
        return text.parts()

    def test_up_to_64_kib_the_head_holds_all(self):
        data = b'a' * 40000 + b'b' * 25536
        for step in (1000, 7777, 65536):
            parts = self.kept([data[at:at + step] for at in range(0, len(data), step)])
            self.assertEqual((parts['head'].encode() == data, parts['tail'], parts['bytes']), (True, '', 65536))

    def test_above_it_is_48_kib_of_head_and_16_of_tail_however_it_is_written(self):
        data = b''.join(b'%07d\n' % n for n in range(25000))
        for step in (1, 1000, 16385, 70000, 200000):
            size = 66000 if step == 1 else len(data)
            parts = self.kept([data[at:min(size, at + step)] for at in range(0, size, step)])
            self.assertEqual(parts['bytes'], size)
            self.assertEqual(parts['head'].encode(), data[:49152])
            self.assertEqual(parts['tail'].encode(), data[size - 16384:size])

    def test_both_are_cut_at_character_boundaries(self):
        for shift in range(3):
            data = b'x' * shift + '\u20ac'.encode() * 40000
            parts = self.kept([data])
            self.assertTrue(data.startswith(parts['head'].encode()) and data.endswith(parts['tail'].encode()))
            self.assertGreater(len(parts['head'].encode()), 49152 - 3)
            self.assertGreater(len(parts['tail'].encode()), 16384 - 3)


class ValueTest(unittest.TestCase):
    def test_small_values_are_their_repr(self):
        import collections
        for value in (1, 'a', b'b', (1,), [1, [2]], {'a': {1}}, set(), (), frozenset([1]), 1.5, True, collections.deque([1], 3),
                      collections.defaultdict(int, a=1), range(3), object, collections.Counter('aab')):
            self.assertEqual(values.value_text(value), repr(value))
        self.assertIsNone(values.value_text(None))

    def test_strings_are_cut_at_4000_characters_and_containers_at_50_items(self):
        self.assertLess(len(values.value_text('x' * 10**6)), 4200)
        text = values.value_text(list(range(10**6)))
        self.assertTrue(text.endswith('49, ... 999950 more]'), text[-60:])
        self.assertIn('... 10 more}', values.value_text({n: n for n in range(60)}))

    def test_the_whole_is_at_most_64_kib(self):
        deep = ['x' * 3999] * 50
        for value in ([deep] * 50, {n: deep for n in range(50)}, ['\u20ac' * 3999] * 50, type('R', (), {'__repr__': lambda s: 'y' * 10**6})()):
            self.assertLessEqual(len(values.value_text(value).encode()), 65536)

    def test_a_container_in_itself_ends(self):
        value = [1]
        value.append(value)
        self.assertEqual(values.value_text(value), '[1, [...]]')
        deep = []
        for _ in range(5000):
            deep = [deep]
        self.assertLess(len(values.value_text(deep)), 100)

    def test_a_repr_that_raises_or_returns_no_text_yields_a_fallback(self):
        class Bad:
            def __repr__(self):
                raise SystemExit('no')

        class Worse:
            def __repr__(self):
                return 3

        self.assertIn('Bad object', values.value_text(Bad()))
        self.assertIn('its repr raised SystemExit', values.value_text([Bad()]))
        self.assertIn('its repr raised TypeError', values.value_text(Worse()))


class FailpointTest(unittest.TestCase):
    def tearDown(self):
        failpoints.install('')

    def test_a_chain_is_taken_in_order_and_its_last_action_for_ever(self):
        failpoints.install('kernel.before_done_sent=2*off->error')
        for _ in range(2):
            failpoints.active.hit('kernel.before_done_sent')
        for _ in range(3):
            with self.assertRaises(failpoints.FailpointError):
                failpoints.active.hit('kernel.before_done_sent')
        failpoints.active.hit('kernel.after_done_sent')

    def test_a_counted_action_gives_way_to_the_next(self):
        failpoints.install('nursery.before_spawn=1*error->off;kernel.after_done_sent=delay(0)')
        with self.assertRaises(failpoints.FailpointError):
            failpoints.active.hit('nursery.before_spawn')
        failpoints.active.hit('nursery.before_spawn')
        failpoints.active.hit('kernel.after_done_sent')

    def test_what_is_misspelt_is_refused(self):
        for spec in ('kernel.nowhere=off', 'nursery.after_nothing=kill', 'kernel.after_done_sent', 'kernel.after_done_sent=explode', 'kernel.after_done_sent=delay',
                     'kernel.after_done_sent=kill(3)', 'kernel.after_done_sent=x*off', 'kernel.after_done_sent=0*off'):
            with self.assertRaises(ValueError, msg=spec):
                failpoints.parse(spec)

    def test_the_gateways_own_names_are_left_to_it(self):
        self.assertEqual(failpoints.parse('core.before_reply=kill;storage.boot.before_commit=off'), {})

    def test_nothing_set_costs_nothing(self):
        failpoints.install('')
        self.assertIsNone(failpoints.active)


if __name__ == '__main__':
    unittest.main()
