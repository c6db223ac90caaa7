"""Classes that no statement of a cell can make again, those that functions make: pickled by what is in them.

Their methods live on like functions (live_pickle.py). Refuses, by leaving it to pickle, what would not be the same when made again from
its parts: classes with another metaclass, with slots, of dataclasses.
"""

import types

_NOT_TAKEN = ('__slots__', '__dataclass_fields__')
_OWN = ('__dict__', '__weakref__', '__module__', '__doc__', '__firstlineno__', '__static_attributes__', '__classdictcell__')
# Not by the class: a metaclass, which is the user's code, would be asked.
_qualname, _module, _contents = (type.__dict__[name].__get__ for name in ('__qualname__', '__module__', '__dict__'))


def is_found(kind, namespace):
    """Whether a class is what its own name means, in the module that it is of. Asks no user's code."""
    try:
        if _module(kind) != '__main__':
            return True
        found = namespace
        for part in _qualname(kind).split('.'):
            found = found[part] if found is namespace else _contents(found)[part]
        return found is kind
    except (KeyError, TypeError, AttributeError):
        return False


def reduced(value, namespace):
    """As of __reduce_ex__, of a class and of what can be in it; NotImplemented for all else."""
    kind = type(value)
    if kind is classmethod or kind is staticmethod:
        return kind, (value.__func__,)
    if kind is property:
        return kind, (value.fget, value.fset, value.fdel, value.__doc__)
    if kind is not type or is_found(value, namespace) or any(name in vars(value) for name in _NOT_TAKEN):
        return NotImplemented
    members = {name: member for name, member in vars(value).items() if name not in _OWN}
    members.update(__qualname__=value.__qualname__, __doc__=value.__doc__)
    return _make, (value.__name__, value.__bases__), members, None, None, _fill


def _make(name, bases):
    return types.new_class(name, bases, {}, lambda contents: contents.update(__module__='__main__'))


def _fill(kind, members):
    for name, member in members.items():
        setattr(kind, name, member)
