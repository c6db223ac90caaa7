"""Requests beside cells: each is answered once per id, and none breaks the link."""

import json
import unittest

from harness import KernelTest
from holdfast_kernel import limits
from holdfast_kernel.requests import LATER, Refused, Requests


class RequestTest(KernelTest):
    def test_an_unknown_request_is_answered_and_the_link_stays(self):
        for what in ('surprise', '', None, 7, ['x'], {'a': {}}):
            answer = self.kernel.ask(what)
            self.assertEqual(answer['error']['kind'], 'failed', what)
            self.assertIn('unknown request', answer['error']['message'])

        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_request_without_a_usable_id_is_a_bad_frame(self):
        for request_id in (None, '', 5, 'x' * 129):
            self.kernel.connection.send({'type': 'request', 'id': request_id, 'what': 'variables'})
            self.assertIn('request: id', self.kernel.connection.wait_for('bad_frame')['message'])

        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_an_unknown_request_is_answered_while_a_cell_runs(self):
        cell = self.kernel.execute('import time\nwhile "go" not in globals(): time.sleep(0.01)')
        self.kernel.connection.wait_for('started', cell=cell)

        self.assertEqual(self.kernel.ask('surprise')['error']['kind'], 'failed')

        self.kernel.connection.send({'type': 'interrupt', 'cell': cell})
        self.kernel.connection.wait_for('done', cell=cell)


class OnceTest(unittest.TestCase):
    """The table alone."""

    def setUp(self):
        self.sent = []
        self.served = []
        self.requests = Requests(lambda payload: self.sent.append(json.loads(payload)), None)
        self.requests.serve('now', self.serve, False)
        self.requests.serve('between', self.serve, True)

    def serve(self, message):
        self.served.append(message['id'])
        if message.get('refused'):
            raise Refused('not_found', 'no such thing')
        return LATER if message.get('later') else {'n': len(self.served)}

    def ask(self, request_id, what='now', is_busy=False, **fields):
        self.requests.on_request(dict(fields, id=request_id, what=what), is_busy)

    def test_a_repeated_id_gets_the_same_answer_and_is_not_served_again(self):
        self.ask('r-1')
        self.ask('r-1')

        self.assertEqual(self.served, ['r-1'])
        self.assertEqual(self.sent, [{'type': 'answer', 'id': 'r-1', 'n': 1}] * 2)

    def test_one_that_is_answered_later_is_answered_once(self):
        self.ask('r-1', later=True)
        self.ask('r-1', later=True)
        self.assertEqual(self.sent, [])

        self.requests.answer('r-1', {'n': 5})

        self.assertEqual((self.served, self.sent), (['r-1'], [{'type': 'answer', 'id': 'r-1', 'n': 5}]))

    def test_what_needs_the_main_thread_is_refused_while_a_cell_runs_and_waits_otherwise(self):
        self.ask('r-1', 'between', is_busy=True)
        self.assertEqual(self.sent.pop()['error']['kind'], 'busy')

        for number in range(limits.REQUESTS_WAITING + 1):
            self.ask('w-%d' % number, 'between')

        self.assertEqual((self.sent.pop()['error']['kind'], self.served, self.sent), ('busy', [], []))
        request = self.requests.waiting.popleft()
        self.requests.finish(request, *self.requests.outcome(request))
        self.assertEqual(self.sent, [{'type': 'answer', 'id': 'w-0', 'n': 1}])

    def test_a_refusal_names_its_kind(self):
        self.ask('r-1', refused=True)

        self.assertEqual(self.sent[0]['error'], {'kind': 'not_found', 'message': 'no such thing'})

    def test_an_answer_that_no_frame_can_hold_is_a_failure(self):
        self.requests.answer('r-1', {'text': 'x' * limits.MAX_PAYLOAD})
        self.requests.answer('r-2', {'text': object()})

        self.assertEqual([answer['error']['kind'] for answer in self.sent], ['failed', 'failed'])

    def test_the_last_answers_only_are_kept(self):
        for number in range(limits.KEPT_ANSWERS + 1):
            self.ask('r-%d' % number)
        self.ask('r-0')

        self.assertEqual(self.served[-1], 'r-0')


if __name__ == '__main__':
    unittest.main()
