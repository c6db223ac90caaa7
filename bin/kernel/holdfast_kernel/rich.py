"""The representations of a value by MIME type, from the methods that notebooks know: `_repr_html_` and its like.

Calls user code, which may raise or run for ever: its caller is ready for KeyboardInterrupt.
"""

import base64
import json

from . import figures, limits, tracebacks
from .interrupts import door

_METHODS = (('_repr_html_', 'text/html'), ('_repr_markdown_', 'text/markdown'), ('_repr_svg_', 'image/svg+xml'), ('_repr_png_', 'image/png'),
            ('_repr_jpeg_', 'image/jpeg'), ('_repr_latex_', 'text/latex'), ('_repr_json_', 'application/json'))
_NAMES = ('_repr_mimebundle_',) + tuple(name for name, _mime in _METHODS)
# Not by name: a metaclass may answer for its classes as it likes.
_bases_of = type.__dict__['__mro__'].__get__
_members_of = type.__dict__['__dict__'].__get__
_TEXTS = ('application/json', 'application/javascript', 'application/xml')
_PLAIN = (int, float, bool, complex, str, bytes, list, tuple, dict, set, frozenset)


def is_rich(value):
    """Whether its type has representations besides a text. Asked of the type: an instance may answer to every name."""
    kind = type(value)
    if kind in _PLAIN or issubclass(kind, type):
        return False
    return any(_has(kind, name) for name in _NAMES) or figures.is_figure(value)


def _has(kind, name):
    return any(name in _members_of(base) for base in _bases_of(kind))


@door
def _call_mimebundle(value):
    return value._repr_mimebundle_(include=None, exclude=None)


@door
def _call_named(value, name):
    return getattr(value, name)()


def bundle(value, complain):
    """({mime: text or base64}, {metadata}) of a value, without its plain text; `complain(text)` hears of methods that fail."""
    data, metadata = {}, {}
    if not is_rich(value):
        return data, metadata
    kind = type(value)
    if figures.is_figure(value):
        _add(data, metadata, 'image/png', _result(complain, 'drawing the figure', figures.png, value))
        return data, metadata
    if _has(kind, '_repr_mimebundle_'):
        made = _result(complain, '_repr_mimebundle_', _call_mimebundle, value)
        if type(made) is tuple and len(made) == 2:
            made, more = made
            if type(more) is dict:
                metadata.update(more)
        if issubclass(type(made), dict):
            for mime, content in list(dict.items(made)):
                _add(data, metadata, mime, content)
    for name, mime in _METHODS:
        if mime not in data and _has(kind, name):
            _add(data, metadata, mime, _result(complain, name, _call_named, value, name))
    return data, metadata


def raw_bundle(content):
    """The same of a table of MIME types that a cell made itself."""
    data, metadata = {}, {}
    for mime, one in list(dict.items(content)):
        _add(data, metadata, mime, one)
    return data, metadata


def _result(complain, what, function, *arguments):
    try:
        return function(*arguments)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        described = tracebacks.describe(error, None)
        complain('display: %s raised %s: %s\n' % (what, described['name'], described['message']))
        return None


def counted(mime, text, size):
    """The bytes of what a text of that type stands for: base64 of a binary type counts decoded (display_store.cpp has the same rule)."""
    if mime.startswith('text/') or mime.endswith(('+json', '+xml')) or mime in _TEXTS or len(text) % 4:
        return size
    return size // 4 * 3 - text.count('=', -2)


def _add(data, metadata, mime, content):
    """A representation as it travels; what is none of the known kinds is left out."""
    if type(content) is tuple and len(content) == 2:  # with its metadata
        content, more = content
        if type(more) is dict and more:
            metadata[mime] = more
    if not issubclass(type(mime), str) or content is None:
        return
    mime = str.__str__(mime)[:limits.MIME]
    if mime not in data and len(data) >= limits.MIMES:
        return
    kind = type(content)
    if issubclass(kind, str):
        data[mime] = str.__str__(content)
    elif kind in (bytes, bytearray, memoryview):
        try:
            data[mime] = base64.b64encode(content).decode()
        except (ValueError, BufferError):
            pass  # a view that was released, or whose bytes do not lie side by side
    elif issubclass(kind, (dict, list, tuple, int, float)):
        try:
            data[mime] = json.dumps(content, allow_nan=False, default=str)
        except (TypeError, ValueError, RecursionError):
            pass
