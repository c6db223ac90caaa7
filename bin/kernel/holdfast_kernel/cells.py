"""Runs the code of one cell in the namespace of `__main__` and says how it ended.

Knows nothing of links, spools and streams. Never raises.
"""

import __future__
import ast
import builtins
import functools
import operator

from . import tracebacks, values
from .interrupts import CELL_PREFIX, door

_FUTURE = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
_SHORT = 200  # characters of a cell that is tried as an expression first


class Outcome:
    """How a cell's code ended: status `ok error exit timeout interrupted`, and what goes with it."""

    __slots__ = ('status', 'value', 'error', 'exit_code')

    def __init__(self, status, value=None, error=None, exit_code=None):
        self.status = status
        self.value = value
        self.error = error
        self.exit_code = exit_code


@door
def _execute(code, namespace):
    exec(code, namespace)


@door
def _evaluate(code, namespace):
    return eval(code, namespace)


class Runner:
    __slots__ = ('_namespace', '_interrupts', '_flags', '_sources')

    def __init__(self, namespace, interrupts):
        self._namespace = namespace
        self._interrupts = interrupts
        self._flags = 0  # of the `from __future__` imports of all cells so far
        self._sources = tracebacks.Sources()

    def run(self, number, source):
        """Runs the source as cell `number`; its Outcome."""
        filename = '%s%d>' % (CELL_PREFIX, number)
        try:
            self._sources.add(filename, source)
            statements, expression = self._compile(source, filename)
        except BaseException as error:
            return self._failed(error, None)
        try:
            self._interrupts.leave_kernel()
            value = None
            if statements is not None:
                _execute(statements, self._namespace)
            if expression is not None:
                value = _evaluate(expression, self._namespace)
                if value is not None:
                    builtins._ = value
                    value = values.value_text(value)
            return Outcome('ok', value)
        except BaseException as error:
            return self._failed(error, error.__traceback__)

    def _compile(self, source, filename):
        """(code of the statements, code of the last expression); each None if there is none."""
        if len(source) <= _SHORT and '\n' not in source and source[:1] not in ' \t':
            try:  # a lone expression needs no tree: a third of the time
                return None, compile(source, filename, 'eval', self._flags, True)
            except SyntaxError:
                pass  # a statement, or an error that is shown as it is found in a whole cell
        tree = compile(source, filename, 'exec', ast.PyCF_ONLY_AST | self._flags, True)
        body = tree.body
        last = None
        if body and type(body[-1]) is ast.Expr:
            last = body.pop().value
        statements = None
        if body:
            statements = compile(tree, filename, 'exec', self._flags, True)
            self._flags |= statements.co_flags & _FUTURE
        if last is not None:
            last = compile(ast.Expression(last), filename, 'eval', self._flags, True)
        return statements, last

    def _failed(self, error, tb):
        for _attempt in range(3):  # a describing __str__ may itself be interrupted
            try:
                return self._describe(error, tb)
            except BaseException as failure:
                failure.__cause__ = failure.__context__ = None  # what could not be described is not tried again
                error, tb = failure, None
        return Outcome('error', error={'name': 'Exception', 'message': 'the error cannot be described', 'traceback': ''})

    def _describe(self, error, tb):
        interrupts = self._interrupts
        if isinstance(error, SystemExit) and not interrupts.delivered:
            return self._exited(error, tb)
        if interrupts.delivered:
            status = 'timeout' if interrupts.requested == 'timeout' else 'interrupted'
            description = tracebacks.describe(error, tb)
            if isinstance(error, KeyboardInterrupt):
                description['message'] = ('the cell ran longer than its timeout' if status == 'timeout'
                                          else 'the cell was interrupted')
            return Outcome(status, error=description)
        return Outcome('interrupted' if isinstance(error, KeyboardInterrupt) else 'error', error=tracebacks.describe(error, tb))

    @staticmethod
    def _exited(error, tb):
        """As the interpreter does: None is 0, a number is itself, all else is printed and means 1."""
        code = error.code
        if code is None:
            return Outcome('exit', exit_code=0)
        if isinstance(code, int):
            return Outcome('exit', exit_code=max(-2**31, min(2**31 - 1, int(code))))
        return Outcome('exit', error=tracebacks.describe(error, tb), exit_code=1)
