"""The statements that define functions and classes, found in the sources of cells, and carried out again.

A saved source is known under a name made of its content, so that cells of the kernel that restores it are not mistaken for it.
"""

import abc
import ast
import io
import linecache
import types
import zlib

from . import magics
from .interrupts import CELL_PREFIX, door

_FLAGS = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_trees = {}  # source -> its tree; in a forked child or for one restore


class NotFound(Exception):
    """No such statement in a source that is still kept."""


def source_of(filename):
    """The source of a cell; NotFound if it is not kept any more."""
    entry = linecache.cache.get(filename) if filename.startswith(CELL_PREFIX) else None
    if entry is None or len(entry) != 4:
        raise NotFound('its source is not kept any more')
    return ''.join(entry[2])


def saved_name(source):
    return '%srestored %08x>' % (CELL_PREFIX, zlib.crc32(source.encode('utf-8', 'surrogatepass')))


def keep_source(filename, source):
    lines = io.StringIO(source).readlines()  # not splitlines(): the compiler knows no other end of a line
    linecache.cache[filename] = (len(source), None, lines, filename)


def find(name, filename=None, line=None):
    """(filename, line) of the newest statement in a cell that defines the name; in that file and at that line if they are given."""
    files = [filename] if filename else [one for one in reversed(list(linecache.cache)) if one.startswith(CELL_PREFIX)]
    for one in files:
        try:
            source = source_of(one)
            node = _last(_tree(source, one), name, line) if name in source else None
        except (NotFound, SyntaxError):  # a cell that could not be compiled is kept, too
            continue
        if node is not None:
            return one, _first_line(node)
    raise NotFound('its definition is in no source that is kept')


@door
def _run(code, namespace):
    exec(code, namespace)


def define(source, filename, name, line, namespace):
    """Carries out the statement at that line again, and returns what it defines. Calls user code."""
    tree = _tree(source, filename)
    node = _last(tree, name, line)
    if node is None:
        raise NotFound('its definition is not at line %d of its source' % line)
    features = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == '__future__']
    before = namespace.get(name, namespace)
    _run(compile(ast.Module(features + [node], []), filename, 'exec', 0, True), namespace)
    made = namespace[name]
    if before is namespace:
        del namespace[name]
    else:
        namespace[name] = before
    return made


def _tree(source, filename):
    tree = _trees.get(source)
    if tree is None:
        try:
            tree = compile(source, filename, 'exec', _FLAGS, True)
        except SyntaxError:
            tree = compile(magics.replaced(source, filename), filename, 'exec', _FLAGS, True)
        _trees[source] = tree
    return tree


def forget_trees():
    _trees.clear()


def _last(tree, name, line):
    """The last statement, not within a function or a class, that defines the name."""
    found = None
    pending = list(tree.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, _FUNCTIONS + (ast.ClassDef,)):
            fits = node.name == name
        elif isinstance(node, ast.Assign):
            fits = (isinstance(node.value, (ast.Call, ast.Lambda)) and len(node.targets) == 1
                    and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name)
        else:
            fits = False
            pending[:0] = [child for child in ast.iter_child_nodes(node)
                           if isinstance(child, (ast.stmt, ast.ExceptHandler)) or type(child).__name__ == 'match_case']
        if fits and line in (None, node.lineno, _first_line(node)):
            found = node
    return found


def _first_line(node):
    decorators = getattr(node, 'decorator_list', None)
    return decorators[0].lineno if decorators else node.lineno


def file_of_class(kind):
    """The cell that defines a class, if one of its methods tells."""
    for value in list(vars(kind).values()) if isinstance(kind, type) else ():
        value = getattr(value, '__func__', getattr(value, 'fget', value))
        if type(value) is types.FunctionType and value.__qualname__.startswith(kind.__qualname__ + '.'):
            if value.__code__.co_filename.startswith(CELL_PREFIX):
                return value.__code__.co_filename
    return None


def set_since(value):
    """The attributes that may have been set since its definition: of a function, and of a class data and functions that are not of its
    own statement."""
    if type(value) is types.FunctionType:
        return {name: content for name, content in list(vars(value).items()) if not (name.startswith('__') and name.endswith('__'))}
    if type(value) is not type and type(value) is not abc.ABCMeta:
        return {}
    return {name: content for name, content in list(vars(value).items())
            if (_is_foreign_function(value, content) if type(content) is types.FunctionType else _is_data(name, content))}


def beside_on_class(value):
    """The names of the classes, and of the properties and methods of other kinds made in cells, that a class has: they are in no file."""
    if type(value) is not type and type(value) is not abc.ABCMeta:
        return []
    return [name for name, content in list(vars(value).items()) if not (name.startswith('__') and name.endswith('__'))
            and (isinstance(content, type) or _is_of_cell(getattr(content, '__func__', getattr(content, 'fget', None)), content))]


def _is_of_cell(function, content):
    return (isinstance(content, (property, staticmethod, classmethod)) and type(function) is types.FunctionType
            and function.__code__.co_filename.startswith(CELL_PREFIX))


def bound_by(filename, name, line):
    """The names that the statement of a definition may bind: what they mean comes with it."""
    bound = set()
    for node in ast.walk(_last(_tree(source_of(filename), filename), name, line)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, _FUNCTIONS + (ast.ClassDef,)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition('.')[0])
    return bound | {'_%s%s' % (name.lstrip('_'), one) for one in bound if one.startswith('__')}


def _is_data(name, content):
    return (not (name.startswith('__') and name.endswith('__')) and not name.startswith('_abc_') and not isinstance(content, type)
            and not hasattr(type(content), '__get__'))


def _is_foreign_function(kind, function):
    """Not one that a library made, as a dataclass has them: those come with the statement."""
    return function.__code__.co_filename.startswith(CELL_PREFIX) and not function.__qualname__.startswith(kind.__qualname__ + '.')
