"""What the source of a cell may be, and that it is found again."""

import sys
import unittest

from harness import KernelTest


class SourceTest(KernelTest):
    def test_a_byte_order_mark_and_any_line_ends_are_taken(self):
        self.assertEqual(self.value('\ufeff1 + 1'), '2')
        self.assertEqual(self.value('\ufeffx = 1\r\nif x:\r\n    y = 2\r\nx + y\r\n'), '3')
        self.assertEqual(self.value('x = 4\rx + 1\r'), '5')
        self.assertEqual(self.value('"""a\r\nb"""'), "'a\\nb'")

    def test_lines_are_counted_as_the_compiler_counts_them(self):
        error = self.kernel.run('x = "a\x0cb\u2028c\x85d"\r\n\x0c\r\n1/0  # here')['error']

        self.assertIn('line 3', error['traceback'])
        self.assertIn('1/0  # here', error['traceback'])

    def test_an_empty_cell_and_one_of_comments_are_fine(self):
        for code in ('', '\n', '   ', '# only\n  # that', '\ufeff', 'pass;'):
            self.assertIsNone(self.value(code), code)

    def test_a_nul_is_an_error_of_that_cell(self):
        for code in ('\0', 'x = 1\n\0', '"\0"', '# \0'):
            done = self.kernel.run(code)
            self.assertEqual(done['status'], 'error', code)
            self.assertIn(done['error']['name'], ('ValueError', 'SyntaxError'))
            self.assertIn('null', done['error']['message'])
        self.assertEqual(self.value('1'), '1')

    def test_a_source_of_1_mib_runs_and_a_longer_one_is_an_error_that_says_so(self):
        size = 1 << 20
        self.assertEqual(self.value('x = "' + 'y' * (size - 20) + '"\nlen(x)'), str(size - 20))

        error = self.kernel.run('x = "' + '\u00fc' * (size // 2) + '"')['error']

        self.assertEqual((error['name'], error['message']),
                         ('SourceTooLong', 'the cell has %d bytes, at most %d; put data into a file' % (size + 6, size)))

    def test_future_imports_hold_for_their_own_cell_only(self):
        self.assertEqual(self.value('from __future__ import annotations\ndef f(x: undefined_name): pass\nf.__annotations__'), "{'x': 'undefined_name'}")
        self.assertEqual(self.kernel.run('def f(x: undefined_name): pass')['error']['name'], 'NameError')
        self.assertEqual(self.kernel.run('"""text"""\nfrom __future__ import braces')['error']['name'], 'SyntaxError')
        self.assertEqual(self.value('from __future__ import annotations\n(lambda: 1)()'), '1')

    def test_the_source_of_functions_and_classes_of_cells_is_found(self):
        self.run_ok('import inspect\n\ndef f(x):\n    return x  # twice\n\nclass C:\n    """A class."""\n    def m(self):\n        return 1\n\n'
                    'class Bare:\n    x = 1\n\nclass Outer:\n    class Inner:\n        y = 2\n')
        self.run_ok('x = 5')

        self.assertEqual(self.value('inspect.getsource(f)'), repr('def f(x):\n    return x  # twice\n'))
        self.assertEqual(self.value('inspect.getsource(C)'), repr('class C:\n    """A class."""\n    def m(self):\n        return 1\n'))
        self.assertEqual(self.value('inspect.getsource(C.m)'), repr('    def m(self):\n        return 1\n'))
        self.assertEqual(self.value('inspect.getsource(Bare)'), repr('class Bare:\n    x = 1\n'))
        self.assertEqual(self.value('inspect.getsource(Outer.Inner)'), repr('    class Inner:\n        y = 2\n'))
        self.run_ok('class Bare:\n    x = 2\n')
        self.assertEqual(self.value('inspect.getsource(Bare)'), repr('class Bare:\n    x = 2\n'))
        self.assertEqual(self.value('import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\ninspect.getsource(D)'),
                         repr('@dataclasses.dataclass\nclass D:\n    a: int = 1\n') if sys.version_info >= (3, 9) else
                         repr('class D:\n    a: int = 1\n'))

    def test_a_class_that_no_cell_wrote_has_no_source(self):
        self.assertIn(self.kernel.run('import inspect\nT = type("T", (), {})\ninspect.getsource(T)')['error']['name'], ('OSError', 'TypeError'))

    def test_a_cleared_line_cache_costs_the_lines_and_nothing_else(self):
        self.run_ok('import linecache; linecache.clearcache()')

        self.assertIn('1/0', self.kernel.run('1/0')['error']['traceback'])


    def test_a_line_cache_of_a_cell_s_own_making_is_not_asked(self):
        self.run_ok('import linecache\nclass Cache(dict):\n    def __setitem__(self, key, value):\n        while True: pass\nlinecache.cache = Cache()')

        self.assertIn('1/0', self.kernel.run('1/0', timeout_ms=5000)['error']['traceback'])


class ExceptionTest(KernelTest):
    """Whatever is raised, its cell has an error, and the next one runs."""

    def test_exotic_exceptions_are_errors_of_their_cell(self):
        for code, name in (
                ('class E(BaseException): pass\nraise E("a")', 'E'),
                ('raise GeneratorExit', 'GeneratorExit'),
                ('raise StopIteration(3)', 'StopIteration'),
                ('raise StopAsyncIteration', 'StopAsyncIteration'),
                ('class E(Exception):\n    def __str__(self): raise KeyError(1)\nraise E', 'E'),
                ('class E(Exception):\n    def __str__(self): return 5\nraise E', 'E'),
                ('class E(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise E', 'E'),
                ('class E(Exception):\n    def __repr__(self): raise KeyError(1)\nraise E(E())', 'E'),
                ('class S(str):\n    def __str__(self): raise KeyError(1)\n    def __len__(self): raise KeyError(2)\n'
                 'class E(Exception):\n    def __str__(self): return S("text")\nraise E', 'E'),
                ('class M(type):\n    @property\n    def __name__(cls): raise KeyError(1)\nclass E(Exception, metaclass=M): pass\nraise E', 'E'),
                ('class E(Exception):\n    def __getattribute__(self, name): raise KeyError(name)\nraise E("a")', 'E'),
                ('class E(Exception):\n    __module__ = 5\nraise E("a")', 'E'),
                ('class E(Exception):\n    @property\n    def __class__(self): raise KeyError(1)\nraise E("a")', 'E'),
                ('class E(Exception):\n    @property\n    def __cause__(self): raise KeyError(1)\nraise E("a")', 'E'),
                ('e = ValueError(1)\nf = KeyError(2)\ne.__cause__ = f\nf.__cause__ = e\nraise e', 'ValueError'),
                ('e = ValueError()\nfor n in range(3000):\n    f = ValueError(n); f.__cause__ = e; e = f\nraise e', 'ValueError'),
                ('raise SyntaxError("x", ("<cell 1>", 10**9, -5, None))', 'SyntaxError'),
                ('raise SyntaxError("x", (3, "a", b"", 5))', 'SyntaxError'),
                ('raise SyntaxError("x", ("a", 1, 10**9, "text", 1, 10**11)[:4 if __import__("sys").version_info < (3, 10) else 6])', 'SyntaxError'),
                ('raise UnicodeDecodeError("a", b"b", 5, 1, "c")', 'UnicodeDecodeError'),
                ('raise ValueError("\\ud800")', 'ValueError'),
                ('raise ValueError("x" * 10**6)', 'ValueError'),
                ('raise 5', 'TypeError'),
                ('raise MemoryError', 'MemoryError'),
                ('e = ValueError(1)\ne.__traceback__ = None\ndef f(): f()\ntry: f()\nexcept RecursionError as r: raise e from r', 'ValueError'),
                ('import traceback\ntraceback.TracebackException = None\n1/0', 'ZeroDivisionError'),
                ('import sys\nsys.modules["traceback"] = None\nsys.modules["linecache"] = None\n1/0', 'ZeroDivisionError')):
            done = self.kernel.run(code)
            self.assertEqual((done['status'], done['error'] and done['error']['name']), ('error', name), (code, done))
            self.assertNotIn('holdfast', done['error']['traceback'], code)
            self.assertLess(len(done['error']['traceback']), 70000)
            self.assertEqual(self.kernel.run('1+1')['value'], '2')

    @unittest.skipIf(sys.version_info < (3, 11), 'there are no groups')
    def test_an_exception_group_shows_its_parts(self):
        error = self.kernel.run('def f(): 1/0\ntry: f()\nexcept Exception as e: raise ExceptionGroup("both", [e, KeyError("k")])')['error']

        self.assertEqual(error['name'], 'ExceptionGroup')
        for part in ('both (2 sub-exceptions)', 'ZeroDivisionError', "KeyError: 'k'", 'def f(): 1/0'):
            self.assertIn(part, error['traceback'])
        self.assertNotIn('holdfast', error['traceback'])

    def test_exit_ends_the_cell_with_its_code_whatever_it_is(self):
        self.kernel.run('kept = 1')
        for code, expected in (('raise SystemExit', 0), ('raise SystemExit(None)', 0), ('exit = 3\nraise SystemExit(exit)', 3), ('raise SystemExit(10**30)', 2**31 - 1),
                               ('raise SystemExit(True)', 1), ('raise SystemExit("text")', 1), ('import sys\nsys.exit([1])', 1),
                               ('class S(SystemExit): pass\nraise S(4)', 4), ('import os, sys\ntry: sys.exit(5)\nfinally: x = 1', 5),
                               ('class S(SystemExit):\n    @property\n    def code(self): raise KeyError(1)\nraise S(4)', 4)):
            done = self.kernel.run(code)
            self.assertEqual((done['status'], done['exit_code']), ('exit', expected), (code, done))
            self.assertEqual(self.kernel.run('kept')['value'], '1')


class ValueTest(KernelTest):
    spawning = {'interrupt_grace_ms': 1500}

    def test_a_repr_that_fails_gives_a_text_that_says_so(self):
        for body, wanted in (('raise KeyError(1)', 'its repr raised KeyError'), ('return 5', 'its repr raised TypeError'), ('raise SystemExit(2)', 'its repr raised SystemExit'),
                             ('return repr(self)', 'its repr raised RecursionError')):
            done = self.kernel.run('class R:\n    def __repr__(self): %s\nR()' % body)
            self.assertEqual(done['status'], 'ok', done)
            self.assertIn(wanted, done['value'])
            self.assertIn('<R object', done['value'])
        done = self.kernel.run('class S(str):\n    def __str__(self): 1/0\n    def __len__(self): 1/0\nclass R:\n    def __repr__(self): return S("text")\nR()')
        self.assertEqual(done['value'], 'text')

    def test_a_repr_that_does_not_end_ends_at_the_deadline(self):
        done = self.kernel.run('print("kept")\nclass R:\n    def __repr__(self):\n        while True: pass\n[R()]', timeout_ms=200)

        self.assertEqual((done['status'], done['stdout']['head'], done['value']), ('timeout', 'kept\n', None))

    def test_values_are_bounded(self):
        for code, limit in (('"x" * 10**6', 4200), ('list(range(10**5))', 400), ('{n: n for n in range(10**5)}', 800), ('[["y" * 10**4] * 100] * 100', 65536),
                            ('class R:\n    def __repr__(self): return "z" * 10**6\nR()', 65536)):
            value = self.kernel.run(code)['value']
            self.assertLessEqual(len(value), limit, code)
        self.assertIn('99950 more', self.kernel.run('list(range(10**5))')['value'])


if __name__ == '__main__':
    unittest.main()
