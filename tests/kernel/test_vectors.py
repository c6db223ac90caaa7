"""Replays the golden vectors of tests/vectors, as tests/link/vectors_test.cpp does: both sides of the wire keep to one specification."""

import json
import os
import unittest

from harness import ROOT
from holdfast_kernel import frames, journal, spool
from holdfast_kernel.window import Window, WindowFull


def load(name):
    with open(os.path.join(ROOT, 'tests', 'vectors', name), encoding='utf-8') as file:
        return json.load(file)


def unpack(pieces):
    return b''.join(bytes.fromhex(digits) * times for digits, times in pieces)


def image_of(vector):
    image = bytearray(vector['size'])
    for position, pieces in vector['parts']:
        part = unpack(pieces)
        image[position:position + len(part)] = part
    return image


class VectorTest(unittest.TestCase):
    def test_every_frame_is_written_and_read_byte_by_byte(self):
        for vector in load('frames.json')['frames']:
            with self.subTest(vector['name']):
                data = bytes.fromhex(vector['hex'])
                payload = frames.to_payload(vector['message']) if vector.get('message') is not None else b''
                self.assertEqual(payload.decode(), vector.get('payload') or '')
                self.assertEqual(frames.encode(vector['seq'], vector['ack'], payload), data)
                frame, = frames.Decoder().feed(data)
                self.assertEqual(frame, (vector['seq'], vector['ack'], payload))
                if payload:
                    self.assertEqual(frames.from_payload(payload), vector['message'])

    def test_the_frames_come_out_of_one_stream_however_it_is_cut(self):
        vectors = load('frames.json')['frames']
        stream = b''.join(bytes.fromhex(vector['hex']) for vector in vectors)
        for step in (1, 7, 4096, len(stream)):
            decoder, got = frames.Decoder(), []
            for at in range(0, len(stream), step):
                got += decoder.feed(stream[at:at + step])
            self.assertEqual([(frame.seq, frame.ack, frame.payload.decode()) for frame in got],
                             [(vector['seq'], vector['ack'], vector.get('payload') or '') for vector in vectors])

    def test_every_bad_payload_is_refused(self):
        for vector in load('bad_payloads.json')['payloads']:
            with self.subTest(vector['name']):
                with self.assertRaises(frames.BadFrame):
                    frames.from_payload(unpack(vector['pieces']))

    def test_every_spool_image_is_read_and_written(self):
        for vector in load('spool.json')['images']:
            with self.subTest(vector['name']):
                image = image_of(vector)
                wanted = [(record['seq'], record['payload'].encode()) for record in vector['records']]
                if vector.get('unreadable') or image[:8] != spool.MAGIC:
                    with self.assertRaises(ValueError):
                        spool.read(image)
                    continue
                self.assertEqual(spool.read(image), (vector['acked'], wanted))
                if vector.get('written'):
                    memory = bytearray(len(image))
                    written = spool.Spool(memoryview(memory))
                    for seq, payload in wanted:
                        self.assertTrue(written.append(seq, payload))
                    self.assertTrue(memory == image)

    def test_every_journal_image_is_read_and_written(self):
        for vector in load('journal.json')['images']:
            with self.subTest(vector['name']):
                image = image_of(vector)
                wanted = [(record['stream'], record['cell'].encode(), record['offset'], unpack(record['text']))
                          for record in vector['records']]
                if image[:8] != journal.MAGIC:
                    with self.assertRaises(ValueError):
                        journal.read(image)
                    continue
                self.assertEqual(journal.read(image), wanted)
                if vector.get('written'):
                    memory = bytearray(len(image))
                    ring = journal.Journal(memoryview(memory))
                    for record in wanted:
                        ring.append(*record)
                    self.assertTrue(memory == image)

    def test_every_window_script_goes_as_written(self):
        for vector in load('window.json')['scripts']:
            with self.subTest(vector['name']):
                window = Window(*vector['limits'])
                for step in vector['steps']:
                    self.step(window, *step)

    def step(self, window, action, *arguments):
        if action == 'push':
            text, wanted = arguments
            try:
                got = window.push(text.encode())
            except WindowFull:
                got = 'full'
            self.assertEqual(got, wanted)
        elif action == 'send':
            self.assertEqual([seq for seq, _payload in window.take_unsent()], arguments[0])
        elif action == 'frame':
            seq, ack, wanted = arguments
            self.assertEqual(window.on_frame(seq, ack), wanted)
        elif action == 'record':
            window.record(*arguments)
        elif action == 'ack':
            self.assertEqual(window.ack, arguments[0])
        elif action == 'resume':
            window.resume(*arguments)
        elif action == 'unacked':
            self.assertEqual([window.unacked_frames, window.unacked_bytes], arguments[0])
        elif action == 'unsent':
            self.assertEqual(window.has_unsent(), arguments[0])
        else:
            self.fail('unknown step %s' % action)


if __name__ == '__main__':
    unittest.main()
