"""What cells display: representations by MIME type, in order with the output, bounded."""

import base64
import os
import unittest

from harness import KernelTest

RICH = '''
class Rich:
    def __repr__(self): return "<rich>"
    def _repr_html_(self): return "<b>rich</b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1]}
    def _repr_latex_(self): return None
    def _repr_svg_(self): return "<svg/>", {"width": 3}
'''
PYPLOT = '''
class _Canvas: pass
_open = {}
def figure(number=None):
    from matplotlib.figure import Figure
    if number is None:
        number = len(_open) + 1
        _open[number] = Figure()
    return _open[number]
def get_fignums(): return sorted(_open)
def close(figure):
    for number in [n for n, f in _open.items() if f is figure]: del _open[number]
def show(): print("not interactive")
'''
FIGURE = '''
class Figure:
    text = "drawn"
    def __repr__(self): return "<Figure>"
    def savefig(self, file, **options): file.write(self.text.encode())
'''


class DisplaysTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.run_ok(RICH)

    def displays(self, done):
        """Those of the cell, and that their number is in its done, and none comes after it."""
        frames = [frame for frame in self.kernel.connection.frames if frame['type'] == 'display' and frame['cell'] == done['cell']]
        self.assertEqual([frame['index'] for frame in frames], list(range(done['displays'])))
        self.assertTrue(all(frame['seq'] < done['seq'] for frame in frames))
        return frames


class DisplayTest(DisplaysTest):
    def test_keys_of_metadata_that_are_no_texts_cost_no_display(self):
        done = self.run_ok('display("a", metadata={1: 2, None: 3})')

        self.assertEqual(self.displays(done)[0]['metadata'], {'1': 2, 'null': 3})

    def test_more_types_and_metadata_than_the_daemon_reads_are_left_out(self):
        done = self.run_ok('display({"text/x-%d" % n: "y" for n in range(20000)}, raw=True)\ndisplay("a", metadata={"n": list(range(5000))})\n'
                           'display("b", metadata={"n": list(range(100))})')

        many, without, within = self.displays(done)
        self.assertEqual(len(many['data']), 65)  # with its text
        self.assertEqual((without['data'], without['metadata']), ({'text/plain': "'a'"}, {}))
        self.assertEqual(len(within['metadata']['n']), 100)

    def test_bytes_that_cannot_be_read_cost_only_their_type(self):
        done = self.run_ok('gone = memoryview(b"abc"); gone.release()\n'
                           'display({"image/png": memoryview(b"abc")[::2], "image/jpeg": gone, "text/html": "here"}, raw=True)')

        self.assertEqual(sorted(self.displays(done)[0]['data']), ['text/html', 'text/plain'])

    def test_a_rich_last_value_is_displayed_with_its_text(self):
        done = self.run_ok('Rich()')

        shown, = self.displays(done)
        self.assertEqual(done['value'], '<rich>')
        self.assertEqual((shown['main'], shown['offset'], shown['metadata'], shown['omitted']), (True, 0, {'image/svg+xml': {'width': 3}}, []))
        self.assertEqual(shown['data'], {'text/plain': '<rich>', 'text/html': '<b>rich</b>', 'image/svg+xml': '<svg/>',
                                         'image/png': base64.b64encode(b'\x89PNG').decode(), 'application/json': '{"a": [1]}'})

    def test_a_representation_that_fails_is_said_and_the_others_are_shown(self):
        done = self.run_ok('class F(Rich):\n    def _repr_markdown_(self): raise KeyError("m")\nF()')

        self.assertIn('text/html', self.displays(done)[0]['data'])
        self.assertEqual(done['stderr']['head'], "display: _repr_markdown_ raised KeyError: 'm'\n")

    def test_a_last_value_whose_methods_give_nothing_is_told_as_its_text_alone(self):
        for body in ('return None', 'raise KeyError("m")', 'return object()'):
            done = self.run_ok('class N:\n    def __repr__(self): return "text"\n    def _repr_html_(self): %s\nN()' % body)
            self.assertEqual((done['value'], done['displays']), ('text', 0), body)

        shown, = self.displays(self.run_ok('display(N())'))

        self.assertEqual(shown['data'], {'text/plain': 'text'})

    def test_display_shows_anything_at_its_place_in_the_output(self):
        done = self.run_ok('import os\nprint("one")\ndisplay(5, Rich())\nos.write(1, b"two\\n")\ndisplay([1])\nprint("three")')

        self.assertEqual([(frame['data']['text/plain'], frame['offset'], frame['main']) for frame in self.displays(done)],
                         [('5', 4, False), ('<rich>', 4, False), ('[1]', 8, False)])

    def test_plain_values_classes_and_mocks_are_not_displayed(self):
        for code in ('5', '"<b>"', 'Rich', 'from unittest.mock import MagicMock\nMagicMock()', 'class A:\n    def __getattr__(self, name): return 5\nA()',
                     'class M(type):\n    def __getattr__(cls, name): raise KeyError(name)\nclass B(metaclass=M): pass\nB()', 'None'):
            self.assertEqual(self.run_ok(code)['displays'], 0, code)

    def test_a_mimebundle_goes_before_the_single_representations(self):
        done = self.run_ok('class B(Rich):\n    def _repr_mimebundle_(self, include=None, exclude=None):\n'
                           '        return {"text/html": "bundle", "text/plain": "plain", "x/y": b"\\0", 5: 6, "n/n": None}, {"m": 1}\nB()')

        data = self.displays(done)[0]['data']
        self.assertEqual((data['text/html'], data['text/plain'], data['x/y']), ('bundle', 'plain', 'AA=='))
        self.assertIn('image/png', data)

    def test_a_table_of_types_is_displayed_raw(self):
        shown, = self.displays(self.run_ok('display({"text/html": "<i>"}, raw=True, metadata={"k": 2})'))

        self.assertEqual((shown['data']['text/html'], shown['metadata']), ('<i>', {'k': 2}))

    def test_a_display_over_4_mib_goes_without_its_largest_data(self):
        shown, = self.displays(self.run_ok('class Big:\n    def __repr__(self): return "big"\n    def _repr_html_(self): return "x" * (5 << 20)\n'
                                           '    def _repr_svg_(self): return "s"\ndisplay(Big())'))

        self.assertEqual((sorted(shown['data']), shown['omitted']), (['image/svg+xml', 'text/plain'], [{'mime': 'text/html', 'bytes': 5 << 20}]))

    def test_a_picture_that_is_left_out_is_counted_as_its_own_bytes(self):
        shown, = self.displays(self.run_ok('class Big:\n    def _repr_png_(self): return b"p" * (4 << 20)\ndisplay(Big())'))

        self.assertEqual(shown['omitted'], [{'mime': 'image/png', 'bytes': 4 << 20}])

    def test_what_escapes_to_more_than_a_frame_holds_is_left_out(self):
        shown, = self.displays(self.run_ok('display({"text/html": "\\x01" * (3 << 20)}, raw=True)'))

        self.assertEqual(shown['omitted'], [{'mime': 'text/html', 'bytes': 3 << 20}])

    def test_many_displays_are_bounded_and_the_next_cell_runs(self):
        done = self.run_ok('for n in range(259): display(n)')
        self.assertEqual((done['displays'], done['stdout']['head']), (256, '256\n257\n258\n'))
        self.displays(done)
        done = self.run_ok('for n in range(60): display({"a/b": "x" * (3 << 20)}, raw=True)')
        self.assertEqual(done['displays'], 60)
        self.displays(done)
        self.assertEqual(self.run_ok('1')['value'], '1')

    def test_threads_that_display_at_once_lose_none(self):
        code = ('import sys, threading\nsys.setswitchinterval(1e-6)\n'
                'threads = [threading.Thread(target=display, args=(n,)) for n in range(100)]\n'
                'for thread in threads: thread.start()\nfor thread in threads: thread.join()')
        for _ in range(3):
            shown = self.displays(self.run_ok(code))
            self.assertEqual([frame['index'] for frame in shown], list(range(100)))
            self.assertEqual(sorted(int(frame['data']['text/plain']) for frame in shown), list(range(100)))

    def test_what_was_displayed_goes_before_what_ends_the_process_or_keeps_the_interpreter(self):
        hog = 'import re\nre.match("(a+)+$", "a" * 28 + "b")'
        for number, code in enumerate(('import os\nos._exit(3)', 'import time\ntime.sleep(0.05)\ndisplay("late")\nimport os\nos._exit(3)', hog)):
            with self.subTest(code):
                kernel = self.spawn('k-%d' % (number + 2))
                kernel.execute('display("first")\n' + code)
                shown = [kernel.connection.wait_for('display', 2)['data']['text/plain'] for _ in range(1 + code.count('late'))]
                self.assertEqual(shown, ["'first'", "'late'"][:len(shown)])
                self.assertFalse([frame for frame in kernel.connection.frames if frame['type'] == 'done'])

    def test_what_was_displayed_before_an_error_a_deadline_or_an_exit_is_there(self):
        for code, status in (('display(1)\n1/0', 'error'), ('display(1)\nwhile True: pass', 'timeout'), ('display(1)\nraise SystemExit', 'exit')):
            done = self.kernel.run(code, timeout_ms=300)
            self.assertEqual((done['status'], done['displays']), (status, 1))
            self.displays(done)

    def test_a_representation_that_does_not_end_ends_at_the_deadline(self):
        done = self.kernel.run('class L:\n    def _repr_html_(self):\n        while True: pass\nL()', timeout_ms=200)
        self.assertEqual(done['status'], 'timeout')

    def test_exotic_representations_harm_nothing(self):
        for body in ('return 5', 'return object()', 'raise SystemExit(3)', 'return "\\ud800"', 'return "a", 5', 'return "a", {5: object()}',
                     'return "a", {"x": float("nan")}', 'd = {}; e = d\n        for n in range(100): e["x"] = {}; e = e["x"]\n        return "a", d', 'return ()'):
            done = self.run_ok('class X:\n    def _repr_html_(self):\n        %s\nX()' % body)
            self.assertLessEqual(len(self.displays(done)), 1, body)
            self.assertEqual(self.run_ok('2')['value'], '2')

    def test_display_is_there_again_in_a_forked_child_as_text(self):
        done = self.run_ok('import os\npid = os.fork()\nif pid == 0: display(Rich())\nelse: os.waitpid(pid, 0)\nNone')
        self.assertEqual((done['displays'], done['stdout']['head']), (0, '<rich>\n'))


class FigureTest(DisplaysTest):
    """With a stand-in for matplotlib in the working directory."""

    def setUp(self):
        super().setUp()
        package = os.path.join(self.home, 'matplotlib')
        os.mkdir(package)
        for name, text in (('__init__', ''), ('pyplot', PYPLOT), ('figure', FIGURE)):
            with open(os.path.join(package, name + '.py'), 'w') as file:
                file.write(text)
        self.run_ok('import matplotlib.pyplot as plt')

    def test_open_figures_are_displayed_and_closed_at_the_end_of_the_cell(self):
        done = self.run_ok('plt.figure(); plt.figure()\nprint("x")')
        shown = self.displays(done)
        self.assertEqual([(frame['data']['image/png'], frame['data']['text/plain'], frame['offset'], frame['main']) for frame in shown],
                         [(base64.b64encode(b'drawn').decode(), '<Figure>', 2, False)] * 2)
        self.assertEqual(self.run_ok('plt.get_fignums()')['value'], '[]')

    def test_show_displays_at_its_place(self):
        done = self.run_ok('for n in range(2):\n    plt.figure()\n    plt.show()\n    print(n)')
        self.assertEqual([frame['offset'] for frame in self.displays(done)], [0, 2])
        self.assertEqual(done['stdout']['head'], '0\n1\n')

    def test_a_figure_as_last_value_is_displayed_once(self):
        shown, = self.displays(self.run_ok('plt.figure()'))
        self.assertTrue(shown['main'])
        self.assertEqual(len(self.displays(self.run_ok('display(plt.figure())\n'))), 1)

    def test_figures_of_a_cell_that_fails_are_displayed(self):
        for code in ('plt.figure()\n1/0', 'plt.figure()\nwhile True: pass'):
            done = self.kernel.run(code, timeout_ms=300)
            self.assertEqual((done['status'] in ('error', 'timeout'), len(self.displays(done))), (True, 1))

    def test_a_figure_that_cannot_be_drawn_is_said(self):
        done = self.run_ok('plt.figure().savefig = None\n')
        self.assertIn('display: drawing the figure raised TypeError', done['stderr']['head'])
        self.assertEqual(self.run_ok('1')['displays'], 0)

    def test_nothing_opens_a_window(self):
        self.assertEqual(self.run_ok('import os; os.environ["MPLBACKEND"]')['value'], "'agg'")


if __name__ == '__main__':
    unittest.main()
