"""Which names of `__main__` are the user's, and how they are told."""

import builtins

from . import limits

_CLASS_NAME = type.__dict__['__name__'].__get__  # not type.__name__: a metaclass may have one of its own
_shared = dict(vars(builtins))


def users(namespace):
    """[(name, value)] of the user's names, in the order of their first assignment."""
    return [(name, value) for name, value in list(dict.items(namespace)) if is_users(name, value)]


def is_users(name, value):
    """Not those that each module has, nor a builtin under its own name."""
    if type(name) is not str or (name.startswith('__') and name.endswith('__')):
        return False
    return name not in _shared or _shared[name] is not value


def told(names, skipped, size):
    """The answer about a saved namespace: the first names, the first of `skipped` (name -> reason), how many more there are, its bytes."""
    most = limits.NAMES_TOLD
    return {'names': [name[:limits.VARIABLE_NAME] for name in names[:most]], 'more_names': max(0, len(names) - most),
            'skipped': [{'name': name[:limits.VARIABLE_NAME], 'reason': reason} for name, reason in list(skipped.items())[:most]],
            'more_skipped': max(0, len(skipped) - most), 'bytes': size}


def with_builtins(act):
    """Calls it with the builtins as they were at the start, which the library needs; those of the cells are put back."""
    held = vars(builtins)
    changed = {name: held.get(name, _shared) for name, value in _shared.items() if held.get(name) is not value and name != 'input'}
    for name in changed:
        held[name] = _shared[name]
    try:
        return act()
    finally:
        for name, value in changed.items():
            if value is _shared:
                del held[name]
            else:
                held[name] = value


def type_name(value):
    """The name of its type, without calling anything of the user's."""
    return _CLASS_NAME(type(value))
