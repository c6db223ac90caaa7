"""Pickles whose functions live on: they are restored from their code and see the globals of the namespace that they come into.

A value that has a name of its own is referred to by that name (persistent ids), so that what is one object stays one. Calls user code
(__reduce__, __setstate__): forked children and doors are for that.
"""

import importlib
import marshal
import pickle
import sys
import types

from . import definitions, limits, local_classes
from .forking import Skip
from .interrupts import CELL_PREFIX, door

_NAMESPACE = ('namespace',)  # the persistent id of the namespace itself


class Empty:
    """In the place of what an empty cell of a closure holds."""


class Bounded:
    """Takes the bytes of a pickle, up to the limit of one value."""

    def __init__(self):
        self._parts = []
        self._size = 0

    def write(self, data):
        size = memoryview(data).nbytes
        self._size += size
        if self._size > limits.SAVED_VALUE:
            raise Skip('it takes more than %d MiB' % (limits.SAVED_VALUE >> 20))
        self._parts.append(bytes(data))
        return size

    def content(self):
        return b''.join(self._parts)


class Pickler(pickle.Pickler):
    """Refers to nothing outside."""

    def __init__(self, file, namespace):
        pickle.Pickler.__init__(self, file, 5)
        self._namespace = namespace
        self.references = set()  # names that it refers to
        self.files = set()  # cells whose code is in it, as they are called here

    def has_met(self, named, own_names):
        """Whether the namespace, or a value of `named` (id -> name) under another name, is within what was pickled."""
        met = self.memo.copy()
        fewer, more = (met, named) if len(met) < len(named) else (named, met)
        return id(self._namespace) in met or any(one in more and named[one] not in own_names for one in fewer)

    def reducer_override(self, value):
        kind = type(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.CellType:
            try:
                content = value.cell_contents
            except ValueError:
                content = Empty
            return _make_cell, (), content, None, None, _fill_cell
        if kind is types.ModuleType:
            return importlib.import_module, (module_name(value),)
        return local_classes.reduced(value, self._namespace)

    def _function(self, value):
        if value.__globals__ is not self._namespace:
            if value.__module__ == '__main__':
                raise Skip('a function in it has globals of its own')
            return NotImplemented
        state = {'__defaults__': value.__defaults__, '__kwdefaults__': value.__kwdefaults__, '__dict__': vars(value),
                 '__qualname__': value.__qualname__, '__doc__': value.__doc__, '__annotations__': value.__annotations__,
                 '__module__': value.__module__}
        code = marshal.dumps(self._renamed(value.__code__))
        return make_function, (sys.implementation.cache_tag, code, value.__name__, value.__closure__), state, None, None, _fill_function

    def _renamed(self, code):
        """The code under the name that its source is saved under."""
        filename = code.co_filename
        if filename.startswith(CELL_PREFIX):
            try:
                filename = definitions.saved_name(definitions.source_of(filename))
                self.files.add(code.co_filename)
            except definitions.NotFound:
                pass
        constants = tuple(self._renamed(one) if type(one) is types.CodeType else one for one in code.co_consts)
        return code.replace(co_filename=filename, co_consts=constants)


class ReferringPickler(Pickler):
    """Refers by name to values that have one. Slower: it is asked about each object."""

    def __init__(self, file, namespace, named, own_names):
        """`named`: id -> name of the values that are referred to by name; `own_names`: those that this pickle is of."""
        Pickler.__init__(self, file, namespace)
        self._named = named
        self._own = own_names

    def persistent_id(self, value):
        if value is self._namespace:
            return _NAMESPACE
        name = self._named.get(id(value))
        if name is None or name in self._own:
            return None
        self.references.add(name)
        return name


def module_name(module):
    """The name that it is imported by; Skip if there is none."""
    name = module.__name__
    if sys.modules.get(name) is not module:
        raise Skip('module %.100s cannot be imported by its name' % name)
    return name


def _make_cell():
    return types.CellType()


def _fill_cell(cell, content):
    if content is not Empty:
        cell.cell_contents = content


def make_function(tag, code, name, closure):
    """Called when a pickle is loaded: a function with the globals of this process's `__main__`."""
    if tag != sys.implementation.cache_tag:
        raise Skip('its code is of %s, this is %s' % (tag, sys.implementation.cache_tag))
    return types.FunctionType(marshal.loads(code), vars(sys.modules['__main__']), name, None, closure)


def _fill_function(function, state):
    vars(function).update(state.pop('__dict__'))
    for name, value in state.items():
        setattr(function, name, value)


class Unpickler(pickle.Unpickler):
    def __init__(self, file, namespace, restored):
        """`restored`: name -> value of what can be referred to."""
        pickle.Unpickler.__init__(self, file)
        self._namespace = namespace
        self._restored = restored

    def persistent_load(self, reference):
        if reference == _NAMESPACE:
            return self._namespace
        if reference not in self._restored:
            raise Skip('it refers to %s, which is not restored' % reference)
        return self._restored[reference]


@door
def dump(pickler, value):
    pickler.dump(value)


@door
def load(unpickler):
    return unpickler.load()
