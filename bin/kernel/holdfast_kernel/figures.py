"""Figures of matplotlib, if a cell imported it: those open at the end of a cell are displayed and closed, as by show().

Nothing opens a window: a kernel's environment names the backend `agg` unless its session names another.
"""

import io
import sys
import warnings

from .interrupts import door

BACKEND = 'agg'
_modules = sys.modules  # a cell may put something else under that name
_show = []  # what show() of this process calls


def use_show(show):
    """`show()` displays and closes what is open."""
    _show[:] = [show]


def on_pyplot(pyplot):
    """When a cell has imported it. Its own show() only warns that this backend shows nothing."""
    def show(*_arguments, **_options):
        if _show:
            _show[0]()

    show.__doc__ = pyplot.show.__doc__
    pyplot.show = show
    warnings.filterwarnings('ignore', '.*is non-interactive, and thus cannot be shown')


def is_figure(value):
    module = _modules.get('matplotlib.figure')
    kind = getattr(module, 'Figure', None)
    return kind is not None and issubclass(type(value), kind)


def may_be_open():
    return 'matplotlib.pyplot' in _modules


def open_figures():
    """Those that pyplot keeps, in the order of their making."""
    pyplot = _modules.get('matplotlib.pyplot')
    if pyplot is None:
        return []
    try:
        return [pyplot.figure(number) for number in pyplot.get_fignums()]
    except Exception:
        return []


def close(figure):
    try:
        _modules['matplotlib.pyplot'].close(figure)
    except Exception:
        pass


@door
def png(figure):
    file = io.BytesIO()
    figure.savefig(file, format='png', bbox_inches='tight')
    return file.getvalue()
