"""The module from which cells import the session's tools: a stub for each, and nothing else."""

import sys
import types


class ToolUnavailable(RuntimeError):
    """The tool was not called: nothing ran."""


def install(module_name, names):
    """Makes the module, in the place of whatever bears its name in the workspace."""
    module = types.ModuleType(module_name, 'The tools of this session: %s.' % ', '.join(names))
    module.ToolUnavailable = ToolUnavailable
    module.__all__ = list(names)
    for name in names:
        setattr(module, name, _stub(module_name, name))
    sys.modules[module_name] = module


def _stub(module_name, name):
    def tool(*_arguments, **_named):
        raise ToolUnavailable('tool %s has no provider in this version: nothing was called' % name)

    tool.__name__ = tool.__qualname__ = name
    tool.__module__ = module_name
    tool.__doc__ = 'Calls the tool %s of the gateway.' % name
    return tool
