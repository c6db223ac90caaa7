"""Which names of `__main__` are the user's."""

import builtins

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
