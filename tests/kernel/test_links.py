"""Attaching, resending, refusing; against a real kernel."""

import json
import os
import socket
import unittest

from harness import HEADER, HOME, Closed, Connection, NurseryTest


class LinkTest(NurseryTest):
    def test_hello_says_who_and_where_the_kernel_is(self):
        kernel = self.spawn()
        with open('/proc/%d/stat' % kernel.pid) as file:
            start_time = int(file.read().rpartition(')')[2].split()[19])
        hello = kernel.hello
        self.assertEqual((hello['pid'], hello['start_time'], hello['epoch'], hello['ack'], hello['first'], hello['cells']),
                         (kernel.pid, start_time, 1, 0, 1, []))
        self.assertEqual(hello['pid_namespace'], os.stat('/proc/self/ns/pid').st_ino)

    def test_a_generation_runs_once_and_is_answered_as_often_as_asked(self):
        kernel = self.spawn()
        kernel.run('n = 0')
        first = kernel.run('n += 1\nn')
        for _ in range(3):
            kernel.connection.send({'type': 'execute', 'cell': first['cell'], 'generation': first['generation'], 'code': 'n += 1\nn',
                                    'timeout_ms': 0, 'output_limit': 1000})
            again = kernel.connection.wait_for('done')
            self.assertEqual(dict(again, seq=0), dict(first, seq=0))
        self.assertEqual(kernel.run('n')['value'], '1')

    def test_only_the_last_sixteen_results_are_kept(self):
        kernel = self.spawn()
        for _ in range(17):
            kernel.run('1')
        kernel.connection.send({'type': 'execute', 'cell': 'c-1', 'generation': 1, 'code': '1', 'timeout_ms': 0, 'output_limit': 0})
        kernel.connection.send({'type': 'execute', 'cell': 'c-2', 'generation': 2, 'code': '1', 'timeout_ms': 0, 'output_limit': 0})
        self.assertEqual(kernel.connection.wait_for('done')['generation'], 2)

    def test_a_connection_lost_in_mid_cell_loses_nothing(self):
        kernel = self.spawn()
        gate = os.path.join(self.home, 'gate')
        cell = kernel.execute('import os, time\nprint("one")\nwhile not os.path.exists(%r): time.sleep(0.01)\nprint("two")\n7' % gate)
        first = kernel.connection
        first.wait_for('output', cell=cell)

        first.close()
        kernel.connect(incarnation=2)

        self.assertEqual(kernel.hello['cells'], [{'cell': cell, 'generation': 1}])
        self.assertEqual(kernel.hello['epoch'], 2)
        open(gate, 'w').close()
        done = kernel.connection.wait_for('done')
        self.assertEqual((done['value'], done['stdout']['head']), ('7', 'one\ntwo\n'))
        kernel.connection.frames += first.frames
        self.assertEqual(kernel.connection.output(cell), 'one\ntwo\n')

    def test_what_was_not_acked_is_sent_again_under_the_same_numbers(self):
        kernel = self.spawn()
        kernel.connection.auto_ack = False
        kernel.run('print(1)')
        before = [(frame['seq'], frame['type']) for frame in kernel.connection.frames[1:]]
        kernel.connection.close()
        kernel.state['received'] = 0

        kernel.connect()
        kernel.connection.wait_for('done')

        self.assertEqual([(frame['seq'], frame['type']) for frame in kernel.connection.frames[1:]], before)
        self.assertEqual(kernel.hello['first'], 1)

    def test_what_was_acked_is_not_sent_again(self):
        kernel = self.spawn()
        kernel.run('1')
        kernel.connection.close()
        kernel.connect(incarnation=2)
        self.assertEqual(kernel.hello['first'], 3)
        self.assertEqual([frame['type'] for frame in kernel.connection.frames], ['hello'])
        self.assertEqual(kernel.run('2')['value'], '2')
        self.assertEqual([frame['seq'] for frame in kernel.connection.frames], [0, 3, 4])

    def test_a_resent_execute_is_dropped_by_its_seq(self):
        kernel = self.spawn()
        kernel.run('n = 0')
        kernel.run('n += 1')
        payload = json.dumps({'type': 'execute', 'cell': 'c-9', 'generation': 9, 'code': 'n += 100', 'timeout_ms': 0, 'output_limit': 9})
        kernel.connection.send_raw(2, payload.encode())
        self.assertEqual(kernel.run('n')['value'], '1')

    def test_the_newest_attach_wins(self):
        kernel = self.spawn()
        first = kernel.connection
        kernel.connect()
        self.assertEqual(kernel.hello['epoch'], 2)
        with self.assertRaises(Closed):
            first.next()
        self.assertEqual(kernel.run('1')['value'], '1')

    def test_the_newest_attach_wins_in_mid_cell_too(self):
        kernel = self.spawn()
        kernel.execute('import time\ntime.sleep(0.3)\n5')
        kernel.connection.wait_for('started')
        kernel.connect()
        self.assertEqual(kernel.connection.wait_for('done')['value'], '5')

    def test_who_may_not_attach_changes_nothing(self):
        kernel = self.spawn()
        path = os.path.join(kernel.directory, 'kernel.sock')
        refused = []
        for options in ({'token': 'ef' * 32}, {'token': ''}, {'token': '\u20ac'}, {'home': 'another'}, {'protocol': 2},
                        {'kernel': 'k-9'}, {'ack': 99}, {'grace_ms': -1}):
            stranger = Connection(path)
            arguments = dict({'kernel': 'k-1', 'token': kernel.token, 'home': HOME}, **options)
            answer = stranger.attach(**arguments)
            refused.append(answer['reason'])
            self.assertEqual(answer.get('protocol'), 1 if answer['reason'] == 'unsupported' else None)
            with self.assertRaises(Closed):
                stranger.next()
            stranger.close()
        self.assertEqual(refused, ['wrong_token'] * 3 + ['other_home', 'unsupported'] + ['bad_attach'] * 3)
        for garbage in (b'GET / HTTP/1.0\r\n\r\n', HEADER.pack(2, 0, 0) + b'[]', HEADER.pack(5, 1, 0) + b'hello',
                        HEADER.pack(1 << 31, 0, 0), HEADER.pack(0, 0, 0)):
            stranger = socket.socket(socket.AF_UNIX)
            stranger.connect(path)
            stranger.sendall(garbage)
            stranger.shutdown(socket.SHUT_WR)
            stranger.settimeout(10)
            try:
                while stranger.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            stranger.close()

        self.assertEqual(kernel.run('3')['value'], '3')
        kernel.connect()
        self.assertEqual(kernel.hello['epoch'], 2)

    def test_a_peer_that_says_nothing_is_closed_and_many_of_them_keep_nobody_out(self):
        kernel = self.spawn()
        path = os.path.join(kernel.directory, 'kernel.sock')
        silent = [Connection(path) for _ in range(40)]
        kernel.connect()
        self.assertEqual(kernel.hello['type'], 'hello')
        for connection in silent:
            with self.assertRaises(Closed):
                connection.next(5)
            connection.close()

    def test_a_bad_frame_is_acked_and_reported_and_the_link_stays(self):
        kernel = self.spawn()
        state = kernel.state
        for payload in (b'{"type":"execute","cell":', b'\xff\xfe', b'[1]', b'{"type":"unheard of"}', b'{"type":"execute","cell":1}',
                        b'{"type":"execute"}'):
            state['sent'] += 1
            kernel.connection.send_raw(state['sent'], payload)
            self.assertEqual(kernel.connection.wait_for('bad_frame')['type'], 'bad_frame')
        self.assertEqual([frame.get('message') is not None for frame in kernel.connection.frames[1:]], [True] * 6)
        self.assertEqual(kernel.run('4')['value'], '4')

    def test_an_over_long_frame_is_skipped_and_reported(self):
        kernel = self.spawn()
        size = 9 * 1024 * 1024
        kernel.state['sent'] += 1
        kernel.connection.send_raw(kernel.state['sent'], b' ' * size)
        self.assertIn('longer', kernel.connection.wait_for('bad_frame')['message'])
        self.assertEqual(kernel.run('4')['value'], '4')

    def test_a_gap_breaks_the_connection(self):
        kernel = self.spawn()
        kernel.connection.send_raw(7, b'{"type":"interrupt"}')
        with self.assertRaises(Closed):
            kernel.connection.next()

    def test_frames_that_need_no_answer_are_acked_at_once(self):
        kernel = self.spawn()
        kernel.connection.send({'type': 'interrupt', 'cell': 'c-0', 'reason': 'interrupt'})
        self.assertEqual(kernel.connection.read_frame(), (0, 1, b''))

    def test_the_socket_is_for_its_user_only(self):
        kernel = self.spawn()
        self.assertEqual(os.stat(os.path.join(kernel.directory, 'kernel.sock')).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(os.path.join(self.nursery_directory, 'nursery.sock')).st_mode & 0o777, 0o600)

    def test_a_path_longer_than_a_socket_address_works(self):
        directory = os.path.join(self.home, 'd' * 120)
        os.makedirs(directory, 0o700)
        kernel = self.spawn('k-1', connect=False, directory=directory)
        fd = os.open(directory, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        connection = Connection('/proc/self/fd/%d/kernel.sock' % fd)
        self.addCleanup(connection.close)
        self.assertEqual(connection.attach('k-1', kernel.token)['type'], 'hello')

    def test_a_flood_is_bounded_while_nobody_takes_it_and_goes_on_when_somebody_does(self):
        kernel = self.spawn()
        kernel.connection.auto_ack = False
        before = self.memory(kernel.pid)
        kernel.execute('for n in range(40000): print("%099d" % n)')
        kernel.connection.wait_for('started')
        self.assertLess(self.memory(kernel.pid) - before, 64 << 20)
        while True:  # acks frame by frame, like a daemon
            message = kernel.connection.next()
            kernel.connection.ack()
            if message['type'] == 'done':
                break
        text = kernel.connection.output('c-1')
        self.assertEqual(message['output_bytes'], 4000000)
        self.assertEqual(len(text) + kernel.connection.frames[-1].get('dropped', 0), 4000000)
        self.assertLess(self.memory(kernel.pid) - before, 64 << 20)

    def test_output_that_nobody_took_is_the_newest_and_the_rest_is_counted(self):
        kernel = self.spawn()
        gate = os.path.join(self.home, 'gate')
        kernel.execute('import os, time\nopen(%r, "w").close()\ntime.sleep(0.2)\nfor n in range(10000): print("%%099d" %% n)\n' % (gate + '1')
                       + 'open(%r, "w").close()\nwhile not os.path.exists(%r): time.sleep(0.01)\n' % (gate + '2', gate + '3'))
        self.wait_until(lambda: os.path.exists(gate + '1'), 'the cell runs')
        kernel.connection.close()
        self.wait_until(lambda: os.path.exists(gate + '2'), 'the cell has printed')
        kernel.connect()
        open(gate + '3', 'w').close()
        done = kernel.connection.wait_for('done')
        self.assertEqual(done['output_bytes'], 1000000)
        text = kernel.connection.output('c-1')
        self.assertTrue(text.endswith('%099d\n' % 9999))
        self.assertEqual(kernel.hello['dropped'] + len(text), 1000000)

    @staticmethod
    def memory(pid):
        with open('/proc/%d/statm' % pid) as file:
            return int(file.read().split()[1]) * 4096


if __name__ == '__main__':
    unittest.main()
