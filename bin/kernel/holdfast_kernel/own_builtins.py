"""Gives the modules of this package builtins of their own, so that a cell may remove or replace len(), exec() or any other.

In force for the modules that are imported between `install` and `uninstall`. The standard library's keep the shared ones.
"""

import builtins
import sys
from importlib.machinery import PathFinder, SourceFileLoader

_PACKAGE = __name__.rpartition('.')[0]
_own = dict(vars(builtins))


class _Loader(SourceFileLoader):
    def exec_module(self, module):
        module.__builtins__ = _own  # the interpreter looks here first, and puts in the shared ones only if there are none
        SourceFileLoader.exec_module(self, module)


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
    sys.meta_path.insert(0, _Finder)


def uninstall():
    sys.meta_path.remove(_Finder)
