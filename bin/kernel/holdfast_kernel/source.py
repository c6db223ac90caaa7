"""What the source of a cell becomes: the code of its statements and the code of its last expression.

A byte order mark is dropped, line ends are made one kind, lines of `!` and `%` become calls; a source that is too long or cannot be
compiled raises what its cell shall fail with. Each cell stands for itself: a `from __future__` import holds for its own cell only.
"""

import __future__
import ast
import inspect

from . import limits, magics

_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_SHORT = 200  # characters of a cell that is tried as an expression first
_COROUTINE = inspect.CO_COROUTINE


class SourceTooLong(ValueError):
    """The source of a cell over the limit."""


def normalized(source):
    """The source as it is compiled, and as linecache shows it."""
    if len(source) * 4 > limits.SOURCE:
        size = len(source.encode('utf-8', 'surrogatepass'))
        if size > limits.SOURCE:
            raise SourceTooLong('the cell has %d bytes, at most %d; put data into a file' % (size, limits.SOURCE))
    if source[:1] == '\ufeff':
        source = source[1:]
    return source.replace('\r\n', '\n').replace('\r', '\n') if '\r' in source else source


def compiled(source, filename):
    """(code of the statements, code of the last expression) of a normalized source; each None if there is none."""
    if len(source) <= _SHORT and '\n' not in source and source[:1] not in ' \t':
        try:  # a lone expression needs no tree: a third of the time
            return None, compile(source, filename, 'eval', _FLAGS, True)
        except SyntaxError:
            pass  # a statement, or an error that is shown as it is found in a whole cell
    if magics.may_have(source):
        source = magics.replaced(source, filename)
    tree = compile(source, filename, 'exec', ast.PyCF_ONLY_AST | _FLAGS, True)
    flags = _FLAGS | _future(tree)
    body = tree.body
    last = None
    if body and type(body[-1]) is ast.Expr:
        last = body.pop().value
    statements = compile(tree, filename, 'exec', flags, True) if body else None
    if last is not None:
        last = compile(ast.Expression(last), filename, 'eval', flags, True)
    return statements, last


def awaits(code):
    return code is not None and bool(code.co_flags & _COROUTINE)


def _future(tree):
    """The flags of the tree's own `from __future__` imports, for its last expression."""
    flags = 0
    for node in tree.body:
        if type(node) is ast.ImportFrom and node.module == '__future__':
            for alias in node.names:
                feature = getattr(__future__, alias.name, None)
                flags |= getattr(feature, 'compiler_flag', 0)
    return flags
