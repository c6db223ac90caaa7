"""Functions and classes of cells, pickled by value for processes that do not descend from this one by fork.

Such a process has no `__main__` like ours: by name it would find nothing, and a pool's worker that fails to unpickle its task dies and is
replaced for ever. What is sent is code, defaults, closure and those globals that the code names; it is rebuilt in the other process's
`__main__`. Children made by fork have it all: for them multiprocessing pickles as ever.
"""

import dis
import itertools
import marshal
import pickle
import sys
import types
from _weakref import ref

# What the other process runs to rebuild; it knows nothing of this package. Its own `__main__` gets the names.
_SOURCE = '''
import marshal, sys, types, importlib
_classes = {}
def _main():
    return vars(sys.modules['__main__'])
def make_function(code, name, closure):
    return types.FunctionType(marshal.loads(code), _main(), name, None, closure)
def fill_function(function, state):
    names, attributes = state
    for name, value in names.items():
        _main()[name] = value
    for name, value in attributes.items():
        setattr(function, name, value)
    if function.__qualname__ == function.__name__ and function.__name__.isidentifier():
        _main()[function.__name__] = function
def make_cell():
    return types.CellType()
def fill_cell(cell, state):
    if state:
        cell.cell_contents = state[0]
def make_class(token, kind, name, bases):
    if token not in _classes:
        _classes[token] = types.new_class(name, bases, {'metaclass': kind}, lambda namespace: namespace.update(__module__='__main__'))
    return _classes[token]
def fill_class(its_class, members):
    for name, value in members.items():
        setattr(its_class, name, value)
    if its_class.__qualname__ == its_class.__name__:
        _main()[its_class.__name__] = its_class
def find_module(name):
    return importlib.import_module(name)
'''
_MODULE = '_holdfast_by_value'
_FIND_MODULE = ("(lambda sys, types: sys.modules.get(%r) or (lambda module: (exec(%r, vars(module)), sys.modules.setdefault(%r, module))[1])"
                "(types.ModuleType(%r)))(__import__('sys'), __import__('types'))" % (_MODULE, _SOURCE, _MODULE, _MODULE))
_there = eval(_FIND_MODULE)  # here it only stands for what is there
del sys.modules[_MODULE]
_NAMING = ('LOAD_GLOBAL', 'STORE_GLOBAL', 'DELETE_GLOBAL', 'LOAD_NAME')
_OWN = ('__dict__', '__weakref__', '__module__', '__doc__', '__slots__', '__firstlineno__', '__static_attributes__', '__classdictcell__')
_tokens = {}  # id of a class -> (weak reference to it, its number)
_numbers = itertools.count()


def install(reduction):
    """`reduction`: the module multiprocessing.reduction, when it has been imported."""
    reduction.ForkingPickler.reducer_override = _reduce


def _is_needed():
    """Whether there is, or is about to be, a child that was not forked."""
    context = sys.modules.get('multiprocessing.context')
    process = sys.modules.get('multiprocessing.process')
    if context is not None and context.get_spawning_popen() is not None:
        return True
    for child in list(process._children):
        if getattr(getattr(child, '_popen', None), 'method', 'fork') != 'fork':
            return True
    return False


def _reduce(_pickler, value):
    kind = type(value)
    if kind is types.FunctionType:
        if value.__globals__ is vars(_there):
            return getattr, (_there, value.__name__)
        if value.__globals__ is _namespace() and _is_needed():
            return _function(value)
    elif value is _there:
        return eval, (_FIND_MODULE,)
    elif kind is types.CellType and _is_needed():
        try:
            state = (value.cell_contents,)
        except ValueError:
            state = ()
        return _there.make_cell, (), state, None, None, _there.fill_cell
    elif kind is classmethod or kind is staticmethod:
        return kind, (value.__func__,)
    elif kind is property:
        return kind, (value.fget, value.fset, value.fdel, value.__doc__)
    elif kind is types.ModuleType and _is_needed():
        return _there.find_module, (value.__name__,)
    elif isinstance(value, type) and value.__module__ == '__main__' and _is_needed():
        return _class(value)
    return NotImplemented


def _namespace():
    return vars(sys.modules['__main__'])


def _function(function):
    code = function.__code__
    namespace = _namespace()
    names = {name: namespace[name] for name in sorted(_named(code)) if name in namespace}
    attributes = {'__qualname__': function.__qualname__, '__defaults__': function.__defaults__, '__kwdefaults__': function.__kwdefaults__,
                  '__doc__': function.__doc__, '__module__': '__main__'}
    attributes.update(vars(function))
    return (_there.make_function, (marshal.dumps(code), function.__name__, function.__closure__), (names, attributes), None, None,
            _there.fill_function)


def _named(code):
    """The global names in a piece of code and in those within it."""
    names = set()
    pending = [code]
    while pending:
        code = pending.pop()
        names.update(instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in _NAMING)
        pending += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return names


def _class(its_class):
    kind = type(its_class)
    if kind is not type or '__slots__' in vars(its_class):
        raise pickle.PicklingError('cannot send class %s, defined in a cell, to a spawned process: it has a metaclass or __slots__; '
                                   'write it to a module file and import it' % its_class.__qualname__)
    members = {name: value for name, value in vars(its_class).items() if name not in _OWN}
    members.update(__qualname__=its_class.__qualname__, __doc__=its_class.__doc__)
    return _there.make_class, (_token(its_class), kind, its_class.__name__, its_class.__bases__), members, None, None, _there.fill_class


def _token(its_class):
    """A number that is that class's for as long as it lives, and never another's."""
    known = _tokens.get(id(its_class))
    if known is None or known[0]() is not its_class:
        _tokens[id(its_class)] = known = (ref(its_class), next(_numbers))
    return known[1]
