"""Where a coroutine that nobody awaited was defined, in the warning about it, if the kernel happens to be what let go of it.

`warnings` names the line that was running then. For a value that the next cell's replaces, or an error's traceback, that is a line of the
kernel's, which says nothing to somebody who writes cells; and each further one from there would be held for a repetition.
"""

import sys
import warnings

from . import tracebacks

_original = warnings._warn_unawaited_coroutine


def install():
    """Once, in the nursery."""
    warnings._warn_unawaited_coroutine = _warn


def _warn(coroutine):
    if coroutine.cr_origin is not None:
        return _original(coroutine)  # which tells where it was made
    message = "coroutine '%s' was never awaited" % coroutine.__qualname__
    if not tracebacks.is_own(sys._getframe(1).f_code.co_filename):
        return warnings.warn(message, RuntimeWarning, 2, coroutine)
    code = coroutine.cr_code
    warnings.warn_explicit(message, RuntimeWarning, code.co_filename, code.co_firstlineno, '__main__', None, None, coroutine)
