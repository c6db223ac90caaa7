"""Saved namespaces: what comes back, what is named as lost, and that a bad file or a bad value harms nothing."""

import os
import unittest
import zlib

from harness import KernelTest
from holdfast_kernel import limits, state_file


class SavingTest(KernelTest):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.home, 'state')
        self.fresh = 1

    def save(self, code=None):
        if code is not None:
            self.run_ok(code)
        answer = self.kernel.ask('snapshot', path=self.path)
        self.assertNotIn('error', answer)
        self.assertEqual(answer['bytes'], os.stat(self.path).st_size)
        return answer

    def restore(self):
        """A fresh kernel with the saved namespace, and the answer of that."""
        self.fresh += 1
        kernel = self.spawn('k-%d' % self.fresh)
        answer = kernel.ask('restore', path=self.path)
        self.assertNotIn('error', answer)
        return kernel, answer

    def carry(self, code):
        saved = self.save(code)
        self.assertEqual(saved['skipped'], [])
        kernel, answer = self.restore()
        self.assertEqual(answer['skipped'], [])
        self.assertEqual(sorted(answer['names']), sorted(saved['names']))
        return kernel

    def test_values_come_back(self):
        kernel = self.carry('import math, collections as c\nfrom os import path\nfrom math import sqrt as root\n'
                            'x = [1, {"a": (2, None)}]\ns = "\\ud800é"\nb = b"1" * 1000000\nd = c.OrderedDict(k=c.deque([1], 5))\nf = 1.5\n'
                            '_own = 3\nnothing = None')

        self.assertEqual(kernel.run('math.pi > 3, c.Counter("aa"), path.join("a", "b"), root(4), x, s == "\\ud800é", len(b), list(d.items()), f, _own, nothing')['value'],
                         "(True, Counter({'a': 2}), 'a/b', 2.0, [1, {'a': (2, None)}], True, 1000000, [('k', deque([1], maxlen=5))], 1.5, 3, None)")

    def test_a_restored_function_sees_live_globals_and_has_its_source(self):
        kernel = self.carry('rate = 2\ndef price(n, *, extra=[1]):\n    """What it costs."""\n    return n * rate + extra[0]\nprice.mark = 7')

        self.assertEqual(kernel.run('rate = 10\nprice(3), price.__doc__, price.mark')['value'], "(31, 'What it costs.', 7)")
        self.assertIn('return n * rate', kernel.run('import inspect\ninspect.getsource(price)')['value'])
        done = kernel.run('price(None, extra=["a"])')
        self.assertIn('return n * rate + extra[0]', done['error']['traceback'])

    def test_a_class_is_saved_though_a_later_cell_that_names_it_could_not_be_compiled(self):
        self.kernel.run('class A:\n    size = 1')
        self.assertEqual(self.kernel.run('class A:\n    size =')['status'], 'error')

        kernel = self.carry('a = A()')

        self.assertEqual(kernel.run('a.size, type(a) is A')['value'], '(1, True)')

    def test_what_cells_with_commands_define_comes_back_and_runs_them(self):
        kernel = self.carry('import functools\nnames = !echo 1\nclass A:\n    size = 1\na = A()\n'
                            '@functools.lru_cache(None)\ndef told(n):\n    out = !echo $((2 + 1))\n    return out')

        self.assertEqual(kernel.run('a.size, names, told(1)')['value'], "(1, ['1'], ['3'])")

    def test_lines_of_a_restored_source_are_those_of_the_compiler(self):
        kernel = self.carry('text = """a\x0cb\u2028c"""\ndef fails():\n    return 1 / 0')

        self.assertIn('    return 1 / 0\n', kernel.run('fails()')['error']['traceback'])

    def test_restored_classes_have_their_source_with_and_without_functions_of_their_own(self):
        kernel = self.carry('from dataclasses import dataclass\n@dataclass\nclass Point:\n    x: int = 3\nclass Line:\n    def get(self): return 1')

        for name, line in (('Point', 'x: int = 3'), ('Line', 'def get(self)')):
            self.assertIn(line, kernel.run('import inspect\ninspect.getsource(%s)' % name)['value'] or '', name)

    def test_what_was_restored_can_be_saved_again(self):
        kernel = self.carry('rate = 2\ndef price(n): return n * rate\nclass A:\n    def get(self): return price(self.n)\na = A(); a.n = 4')
        self.kernel = kernel
        kernel = self.carry('rate = 3')

        self.assertEqual(kernel.run('rate = 5\na.get()')['value'], '20')
        self.assertIn('def get', kernel.run('import inspect\ninspect.getsource(A.get)')['value'])

    def test_classes_come_back_with_their_instances_in_any_order(self):
        kernel = self.carry('x = None\ny = None\nfrom dataclasses import dataclass, field\nimport enum, abc\nBASE = 10\n'
                            'class A(abc.ABC):\n    size = BASE\n    seen = []\n    @property\n    def double(self): return self.n * 2\n'
                            '@dataclass\nclass Point:\n    x: int\n    y: "Point" = None\n    tags: list = field(default_factory=list)\n'
                            'class Colour(enum.Enum):\n    RED = 1\n'
                            'if True:\n    class B(A):\n        def __init__(self, n): self.n = n\n'
                            'x = B(4)\nA.seen.append(x)\nA.later = {"k": 1}\ny = Point(1, Point(2), ["t"])\nc = {Colour.RED: B}')

        self.assertEqual(kernel.run('x.double, isinstance(x, B), isinstance(x, A), A.seen[0] is x, A.later, y, c[Colour.RED] is B, A.size')['value'],
                         "(8, True, True, True, {'k': 1}, Point(x=1, y=Point(x=2, y=None, tags=[]), tags=['t']), True, 10)")

    def test_classes_that_functions_made_come_back_with_their_instances(self):
        kernel = self.carry('rate = 2\ndef make(n):\n    class Made:\n        """of it"""\n        size = n\n        def get(self): return rate * self.v\n'
                            '        @property\n        def double(self): return self.v * 2\n        @classmethod\n        def kind(cls): return cls\n'
                            '        def up(self): return super().__hash__() is not None\n    return Made\n'
                            'A, B = make(1), make(2)\na, b = A(), B()\na.v = 4\nmany = [b, a]\nclass Outer:\n    class Inner: pass\ninner, I = Outer.Inner(), Outer.Inner\n'
                            'class C:\n    def which(self): return 1\nOld, old = C, C()\nclass C:\n    def which(self): return 2\nnew = C()')

        self.assertEqual(kernel.run('rate = 3\na.get(), a.double, a.kind() is A, a.up(), type(b) is B, B.size, A.__doc__, many[0] is b, type(many[1]) is A')['value'],
                         "(12, 8, True, True, True, 2, 'of it', True, True)")
        self.assertEqual(kernel.run('type(inner) is I is Outer.Inner, type(old) is Old, old.which(), type(new) is C, new.which()')['value'], '(True, True, 1, True, 2)')

    def test_a_class_that_cannot_be_made_again_is_skipped_with_its_instances(self):
        answer = self.save('import threading\ndef make():\n    lock = threading.Lock()\n    class Made:\n        def get(self): return lock\n    return Made\n'
                           'A = make()\na, many = A(), [A()]')

        reasons = {row['name']: row['reason'] for row in answer['skipped']}
        self.assertEqual(set(reasons), {'A', 'a', 'many'})
        self.assertIn('lock', reasons['A'])
        self.assertIn('it refers to A, which is not saved', reasons['a'])

    def test_what_was_set_on_a_class_and_cannot_be_saved_is_named(self):
        answer = self.save('import threading\nclass A:\n    own = threading.Lock()\n    __private = threading.Lock()\n'
                           '    @property\n    def one(self): return 1\n    @staticmethod\n    def two(): return 2\n    class Within: pass\n'
                           'class B: pass\nB.size = 3\nB.lock = threading.Lock()\nB.one = A.one\nB.two = staticmethod(A.two)\nB.Within = A')

        self.assertEqual(sorted(one['name'] for one in answer['skipped']), ['B.Within', 'B.lock', 'B.one', 'B.two'])
        self.assertIn('cannot pickle', [one['reason'] for one in answer['skipped'] if one['name'] == 'B.lock'][0])
        kernel, restored = self.restore()
        self.assertEqual(restored['skipped'], answer['skipped'])
        self.assertEqual(kernel.run('B.size, A.own.locked(), A().one, A.two()')['value'], '(3, False, 1, 2)')

    def test_what_was_set_on_a_function_comes_back_or_is_named(self):
        answer = self.save('import threading\ndef f(): return f.calls\nf.calls, f.lock = 41, threading.Lock()')

        self.assertEqual([one['name'] for one in answer['skipped']], ['f.lock'])
        kernel, restored = self.restore()
        self.assertEqual(restored['skipped'], answer['skipped'])
        self.assertEqual(kernel.run('f(), hasattr(f, "lock")')['value'], '(41, False)')

    def test_functions_that_were_set_on_a_class_come_back(self):
        self.kernel.run('import dataclasses\nclass A:\n    def get(self): return 1\n    def keep(self): return super().__hash__() and 4\na = A()\n'
                        '@dataclasses.dataclass\nclass D:\n    n: int = 1')
        kernel = self.carry('rate = 2\ndef doubled(self): return rate * 2\nA.get = doubled\nA.more = lambda self: rate\n'
                            'A.__repr__ = lambda self: "an A"\nD.shown = doubled\nd = D(5)')

        done = kernel.run('rate = 10\na.get(), a.more(), a, a.keep(), A.get is doubled, d, d.shown()')
        self.assertEqual(done['value'], '(20, 10, an A, 4, True, D(n=5), 20)')

    def test_closures_lambdas_and_decorated_functions_come_back(self):
        kernel = self.carry('import functools, collections, typing\nbase = 1\ndef counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += base\n        return n\n'
                            '    def get(): return n\n    return up, get\nup, get = counter()\nup()\ntable = {"inc": lambda v: v + base}\n'
                            '@functools.lru_cache(None)\ndef cached(n): return n + base\ncached(1)\n'
                            'def twice(f):\n    @functools.wraps(f)\n    def inner(*a): return f(*a) * 2\n    return inner\n'
                            '@twice\ndef add(a, b): return a + b + base\ndef fact(n): return 1 if n < 2 else n * fact(n - 1)\n'
                            'def outer():\n    def rec(n): return 0 if not n else 1 + rec(n - 1)\n    return rec\nrec = outer()\n'
                            'P = collections.namedtuple("P", "a b")\np = P(1, 2)\nT = typing.TypeVar("T")\nsquare = lambda v: v * v\n'
                            'part = functools.partial(add, 1)\nasync def later(): return base\ndef gen():\n    yield base')

        self.assertEqual(kernel.run('base = 10\nup(), get(), table["inc"](1), cached(1), add(1, 2), fact(5), rec(7), p.b, square(3), part(1), list(gen())')['value'],
                         '(11, 1, 11, 11, 26, 120, 7, 2, 9, 24, [10])')

    def test_one_object_under_two_names_stays_one(self):
        kernel = self.carry('a = [1]\nb = a\nholder = {"a": a, "f": None}\ndef f(): return a\nholder["f"] = f\nme = []\nme.append(me)\n'
                            'left = {}\nright = {"l": left}\nleft["r"] = right\nspace = globals()')

        self.assertEqual(kernel.run('a is b, holder["a"] is a, holder["f"] is f, me[0] is me, left["r"] is right, right["l"] is left, space is globals(), f() is b')['value'],
                         repr((True,) * 8))

    def test_what_cannot_be_saved_is_named_with_its_reason_and_the_rest_is_there(self):
        answer = self.save('import threading, ctypes, os, time\nlock = threading.Lock()\nfile = open("/dev/null")\ngood = 1\n'
                           'class Hangs:\n    def __reduce__(self):\n        while True:\n            try: time.sleep(60)\n            except BaseException: pass\n'
                           'class Kills:\n    def __reduce__(self): ctypes.string_at(0)\n'
                           'class Raises:\n    def __reduce__(self): raise ValueError("not me")\n'
                           'class Changes:\n    def __reduce__(self): touched.append(1); print("printed"); return (Changes, ())\n'
                           'touched = []\nhangs, kills, raises, changes = Hangs(), Kills(), Raises(), Changes()\nbig = b"x" * (9 << 20)\n'
                           'needs = [lock]\nother = lock\ngen = (n for n in [])\ndeep = []\nfor n in range(10**5): deep = [deep]\nlast = 2')

        reasons = {row['name']: row['reason'] for row in answer['skipped']}
        self.assertEqual(set(reasons), {'lock', 'file', 'hangs', 'kills', 'raises', 'big', 'needs', 'other', 'gen', 'deep'})
        self.assertIn('longer than 2 s', reasons['hangs'])
        self.assertIn('SIGSEGV', reasons['kills'])
        self.assertEqual(reasons['raises'], 'ValueError: not me')
        self.assertIn('more than 8 MiB', reasons['big'])
        self.assertIn('refers to lock', reasons['needs'])
        self.assertIn('same object as lock', reasons['other'])
        self.assertIn('pickle', reasons['lock'])
        done = self.kernel.run('touched, good')
        self.assertEqual((done['value'], done['stdout']['head']), ('([], 1)', ''))
        kernel, restored = self.restore()
        self.assertEqual({row['name']: row['reason'] for row in restored['skipped']}, reasons)
        self.assertEqual(kernel.run('good, last, type(changes) is Changes')['value'], '(1, 2, True)')

    def test_a_value_that_cannot_be_restored_does_not_stop_others(self):
        os.mkdir(os.path.join(self.home, 'lib'))
        with open(os.path.join(self.home, 'lib', 'gone.py'), 'w') as file:
            file.write('class Thing: pass\n')
        self.save('import sys, os, time\nsys.path.insert(0, "lib")\nimport gone\nthing = gone.Thing()\nfirst = 1\nmain = os.getpid()\n'
                  'class Hangs:\n    def __setstate__(self, state):\n        while True: time.sleep(60)\n'
                  'class Kills:\n    def __setstate__(self, state): os.abort()\n'
                  'class Raises:\n    def __setstate__(self, state): raise ValueError("not me")\n'
                  'hangs, kills, raises = Hangs(), Kills(), Raises()\nfor one in (hangs, kills, raises): one.state = 1\ndel one\nlast = [first]')

        kernel, answer = self.restore()

        reasons = {row['name']: row['reason'] for row in answer['skipped']}
        self.assertEqual(set(reasons), {'gone', 'thing', 'hangs', 'kills', 'raises'})
        self.assertIn('SIGABRT', reasons['kills'])
        self.assertIn('not me', reasons['raises'])
        self.assertIn('ModuleNotFoundError', reasons['thing'])
        self.assertEqual(kernel.run('first, last, "thing" in globals()')['value'], '(1, [1], False)')
        self.assertEqual(kernel.run('gone')['error']['name'], 'NameError')

    def test_all_values_together_are_bounded(self):
        answer = self.save('for n in range(10): globals()["v%d" % n] = os_bytes if n < 0 else bytes([n]) * (7 << 20)\ndel n\nsmall = 1')

        self.assertEqual({row['name'] for row in answer['skipped']}, {'v9'})
        self.assertIn('64 MiB of all', answer['skipped'][0]['reason'])
        self.assertLess(answer['bytes'], limits.SAVED_TOTAL + 65536)
        kernel, restored = self.restore()
        self.assertEqual(kernel.run('small, v8[0], len(v8)')['value'], '(1, 8, %d)' % (7 << 20))

    def test_a_failed_save_leaves_the_older_file(self):
        self.save('x = 1')
        before = self.kernel_file()
        self.kernel.run('x = 2\nimport resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))\nlong = b"1" * 100000')

        answer = self.kernel.ask('snapshot', path=self.path)

        self.assertEqual(answer['error']['kind'], 'failed')
        self.assertEqual((self.kernel_file(), sorted(os.listdir(self.home))), (before, ['nursery', 'run', 'state']))
        self.assertEqual(self.kernel.run('x')['value'], '2')

    def kernel_file(self):
        with open(self.path, 'rb') as file:
            return file.read()

    def test_a_place_that_cannot_be_written_or_read_is_refused(self):
        for path in ('relative', os.path.join(self.home, 'none', 'state'), self.home, '/dev/null/x', '/proc/1/x'):
            for what in ('snapshot', 'restore'):
                self.assertIn('cannot', self.kernel.ask(what, path=path)['error']['message'], path)
        for path in (None, 5, '', 'a\0b', ['x']):
            self.assertEqual(self.kernel.ask('snapshot', path=path)['error']['kind'], 'failed')
        self.assertEqual(self.kernel.ask('restore', path=os.path.join(self.home, 'none'))['error']['kind'], 'not_found')
        self.assertEqual(self.kernel.run('1+1')['value'], '2')

    def test_a_truncated_file_is_refused_at_every_length_and_nothing_is_restored(self):
        self.save('x = [1]\ny = 2')
        whole = self.kernel_file()
        kernel = self.spawn('k-9')
        for length in list(range(0, len(whole), 7)) + [len(whole) - 1]:
            self.put(whole[:length])
            self.assertEqual(kernel.ask('restore', path=self.path)['error']['kind'], 'failed', length)
        self.put(whole + b'x')
        self.assertIn('records are missing, moved or added', kernel.ask('restore', path=self.path)['error']['message'])

        self.assertEqual(kernel.ask('variables')['rows'], [])
        self.put(whole)
        self.assertEqual(kernel.ask('restore', path=self.path)['names'], ['x', 'y'])

    def put(self, content):
        with open(self.path, 'wb') as file:
            file.write(content)

    def test_a_scribbled_file_is_refused_at_every_place_and_nothing_is_restored(self):
        self.save('x = [1]\ny = 2')
        whole = self.kernel_file()
        kernel = self.spawn('k-9')
        for at in range(0, len(whole), 5):
            self.put(whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:])
            answer = kernel.ask('restore', path=self.path)
            self.assertEqual(answer['error']['kind'], 'failed', at)
            self.assertIn('cannot restore from %s' % self.path, answer['error']['message'])

        self.assertEqual(kernel.ask('variables')['rows'], [])

    def test_a_newer_and_a_foreign_file_are_told_apart(self):
        newer = state_file.MAGIC + (2).to_bytes(4, 'big')
        self.put(newer + zlib.crc32(newer).to_bytes(4, 'big'))
        self.assertIn('format 2, this program reads 1', self.kernel.ask('restore', path=self.path)['error']['message'])
        self.put(b'PK\x03\x04' + bytes(100))
        self.assertIn('it is no saved namespace', self.kernel.ask('restore', path=self.path)['error']['message'])
        os.unlink(self.path)
        os.mkfifo(self.path)
        self.assertIn('it is no file', self.kernel.ask('restore', path=self.path)['error']['message'])

    def test_a_value_of_just_eight_mebibytes_is_saved(self):
        kernel = self.carry('big = bytes(8 << 20)\nnumbers = list(range(10**6))\nshared = [big, numbers]')

        self.assertEqual(kernel.run('len(big), sum(numbers), shared[1] is numbers')['value'], '(8388608, 499999500000, True)')

    def test_many_values_that_hang_or_kill_cost_themselves_only(self):
        code = ('import os, time\nclass Hangs:\n    def __reduce__(self): time.sleep(60)\nclass Kills:\n    def __reduce__(self): os._exit(3)\n'
                'first = 1\nfor n in range(3): globals()["h%d" % n] = Hangs()\nfor n in range(20): globals()["k%d" % n] = Kills()\nafter = 2')
        answer = self.save(code)

        reasons = {row['name']: row['reason'] for row in answer['skipped']}
        self.assertEqual(set(reasons), {'h%d' % n for n in range(3)} | {'k%d' % n for n in range(20)})
        self.assertTrue(all('longer than' in reasons['h%d' % n] for n in range(3)), reasons)
        self.assertTrue(all('exited 3' in reasons['k%d' % n] for n in range(20)), reasons)
        self.assertEqual(self.restore()[0].run('first, after')['value'], '(1, 2)')

    def test_a_value_that_forks_while_it_is_saved_costs_itself_only(self):
        answer = self.save('import os\nclass Forks:\n    def __reduce__(self): os.fork(); return Forks, ()\na = 1; forks = Forks(); b = 2; c = [3]')

        self.assertLessEqual({'a', 'b', 'c'}, set(answer['names']))
        self.assertEqual(self.restore()[0].run('a, b, c')['value'], '(1, 2, [3])')

    def test_a_value_that_forks_while_it_is_restored_leaves_no_second_kernel(self):
        self.save('import os\nclass Forks:\n    def __getstate__(self): return 1\n    def __setstate__(self, state): self.child = os.fork()\n'
                  'a = 1; forks = Forks(); b = 2')

        kernel = self.restore()[0]

        # Ended by the kernel's own look at its children, or to be waited for here; one that goes on costs this kernel its life.
        done = kernel.run('import signal\nsignal.alarm(10)\ntry: os.waitpid(forks.child, 0)\nexcept ChildProcessError: pass\n'
                          'signal.alarm(0)\na, b')
        self.assertEqual(done['value'], '(1, 2)', done)

    def test_a_value_that_writes_to_the_file_makes_the_save_fail_and_the_older_one_stays(self):
        self.save('a = 1')
        done = self.kernel.run('import os\nclass Writes:\n    def __reduce__(self):\n        for fd in range(3, 2000):\n            try:\n'
                               '                if os.readlink("/proc/self/fd/%d" % fd).endswith(".part"): os.ftruncate(fd, 0)\n'
                               '            except OSError: pass\n        return Writes, ()\nwrites = Writes()')
        self.assertEqual(done['status'], 'ok', done)

        answer = self.kernel.ask('snapshot', path=self.path)

        self.assertIn('not whole', answer['error']['message'])
        self.assertEqual(self.restore()[0].run('a')['value'], '1')
        self.assertFalse(os.path.exists(self.path + '.part'))

    def test_of_many_names_the_first_are_told_and_the_others_counted(self):
        told = limits.NAMES_TOLD
        answer = self.save('from threading import Lock\nfor n in range(%d): globals()["v%%d" %% n] = n; globals()["l%%d" %% n] = Lock()' % (told + 100))

        for each in (answer, self.restore()[1]):
            self.assertEqual((len(each['names']), each['more_names']), (told, 102), each['names'][:5])
            self.assertEqual((len(each['skipped']), each['more_skipped']), (told, 100))

    def test_cells_may_have_removed_the_builtins(self):
        self.kernel.run('x = [1]\ndef f(): return x\nheld = vars(__import__("builtins")); saved = dict(held)')
        self.kernel.run('for name in list(held): del held[name]')

        answer = self.save()

        self.assertLessEqual({'x', 'f'}, set(answer['names']))
        self.assertIn('x', [row['name'] for row in self.kernel.ask('variables')['rows']])

    def test_a_thousand_small_values_and_an_empty_namespace(self):
        self.assertEqual(self.save()['names'], [])
        self.assertEqual(self.restore()[1]['names'], [])
        kernel = self.carry('for n in range(999): globals()["v%d" % n] = [n]')

        self.assertEqual(kernel.run('v998, n')['value'], '([998], 998)')

    def test_annotations_of_the_future_are_those_of_the_defining_cell(self):
        kernel = self.carry('from __future__ import annotations\nclass A:\n    other: Missing\n    def f(self, a: Missing): return 1')

        self.assertEqual(kernel.run('A().f(0), A.__annotations__')['value'], "(1, {'other': 'Missing'})")


if __name__ == '__main__':
    unittest.main()
