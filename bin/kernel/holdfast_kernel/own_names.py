"""Gives the modules of this package builtins and library modules of their own, so that a cell may remove or replace len(), os.close() or
any other, or leave a mock in their place.

In force for the modules that are imported between `install` and `uninstall`. The standard library's keep the shared ones.
"""

import builtins
import sys
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader

_PACKAGE = __name__.rpartition('.')[0]
_own = dict(vars(builtins))
# Those that the kernel calls while cells run. Not those whose state cells and kernel share by their names, such as sys and linecache.
_LIBRARY = ('_signal', '_socket', 'ast', 'codecs', 'ctypes', 'fcntl', 'json', 'os', 'resource', 'select', 'signal', 'socket', 'stat',
            'struct', 'time', 'zlib')
_copies = {}  # id of a module -> its copy


class _Loader(SourceFileLoader):
    def exec_module(self, module):
        module.__builtins__ = _own  # the interpreter looks here first, and puts in the shared ones only if there are none
        SourceFileLoader.exec_module(self, module)
        for name, value in list(vars(module).items()):
            if id(value) in _copies:
                setattr(module, name, _copies[id(value)])


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith(_PACKAGE + '.'):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install():
    for name in _LIBRARY:
        module = import_module(name)
        _copies[id(module)] = copy = type(sys)(name)
        vars(copy).update(vars(module))
    sys.meta_path.insert(0, _Finder)


def uninstall():
    sys.meta_path.remove(_Finder)
