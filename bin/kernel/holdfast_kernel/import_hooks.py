"""Calls a function of ours when a certain module has been imported: nothing is imported before a cell asks for it."""

import sys
from importlib.machinery import PathFinder

_hooks = {}  # name of a module -> function of the module


class _Finder:
    """First in sys.meta_path; finds only what there is a hook for, as the path says."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        hook = _hooks.get(name)
        if hook is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not hasattr(spec.loader, 'exec_module'):
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                hook(module)
            except Exception:
                pass  # another version of that library, perhaps: it works as it does elsewhere

        spec.loader.exec_module = exec_module
        return spec


def after_import(name, hook):
    """Once, in the nursery."""
    _hooks[name] = hook
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
