"""The text of a value: a repr with bounds on strings, containers, nesting and the whole.

Calls user code (__repr__), which may raise or run for ever: its caller is ready for KeyboardInterrupt.
"""

from collections import OrderedDict, defaultdict, deque

from . import limits, texts
from .interrupts import door
from .namespace import type_name

_BRACKETS = {list: ('[', ']'), tuple: ('(', ')'), set: ('{', '}'), frozenset: ('frozenset({', '})'), deque: ('deque([', '])')}
_CONTAINERS = tuple(_BRACKETS)
_DICTS = (dict, OrderedDict, defaultdict)
_SHORT_INT = 10**18  # its repr needs no bounds
_PLAIN = (int, float, bool, complex, type(None))


@door
def _call_repr(value):
    return str.__str__(repr(value))  # which may be of a subclass of str


def value_text(value):
    """The text of a cell's value, at most 64 KiB; None for None."""
    if value is None:
        return None
    if type(value) is int and -_SHORT_INT < value < _SHORT_INT:
        return repr(value)
    text = _Builder().text(value, 0)
    return texts.bounded(text, limits.VALUE)


class _Builder:
    def __init__(self):
        self._open = set()  # ids of the containers around the present value
        self._left = 2 * limits.VALUE  # characters; when it is used up no further item is written

    def text(self, value, depth):
        kind = type(value)
        if kind in _PLAIN:
            text = self._foreign(value)
        elif kind is str or kind is bytes or kind is bytearray:
            text = self._string(value)
        elif kind.__repr__ in _REPRS:
            return self._container(value, depth)
        else:
            text = self._foreign(value)
        self._left -= len(text)
        return text

    def _string(self, value):
        if len(value) <= limits.VALUE_STRING:
            return _call_repr(value)
        head = limits.VALUE_STRING * 3 // 4
        tail = limits.VALUE_STRING - head
        left_out = len(value) - head - tail
        return '%s... [%d %s left out] ...%s' % (repr(value[:head]), left_out, 'characters' if type(value) is str else 'bytes',
                                                repr(value[-tail:]))

    def _container(self, value, depth):
        kind = _REPRS[type(value).__repr__]
        try:
            size = kind.__len__(value)
            if size == 0:
                return self._foreign(value)
            if id(value) in self._open or depth >= limits.VALUE_DEPTH:
                return '{...}' if kind in _DICTS else '[...]'
            self._open.add(id(value))
            try:
                return self._mapping(value, kind, size, depth) if kind in _DICTS else self._sequence(value, kind, size, depth)
            finally:
                self._open.discard(id(value))
        except RuntimeError:  # another thread changes it
            return '<%s of %d items, changing>' % (kind.__name__, len(value))

    def _sequence(self, value, kind, size, depth):
        opening, closing = _BRACKETS[kind]
        items = []
        for item in kind.__iter__(value):
            if len(items) >= limits.VALUE_ITEMS or self._left <= 0:
                break
            items.append(self.text(item, depth + 1))
        if len(items) < size:
            items.append('... %d more' % (size - len(items)))
        elif kind is tuple and size == 1:
            closing = ',)'
        elif kind is deque and value.maxlen is not None:
            closing = '], maxlen=%d)' % value.maxlen
        return opening + ', '.join(items) + closing

    def _mapping(self, value, kind, size, depth):
        items = []
        for key, item in dict.items(value):
            if len(items) >= limits.VALUE_ITEMS or self._left <= 0:
                break
            items.append('%s: %s' % (self.text(key, depth + 1), self.text(item, depth + 1)))
        if len(items) < size:
            items.append('... %d more' % (size - len(items)))
        text = '{' + ', '.join(items) + '}'
        if kind is defaultdict:
            return 'defaultdict(%s, %s)' % (self.text(value.default_factory, depth + 1), text)
        return 'OrderedDict(%s)' % text if kind is OrderedDict else text

    def _foreign(self, value):
        """The value's own repr, whatever it does."""
        try:
            text = _call_repr(value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return '<%s object at %#x: its repr raised %s>' % (type_name(value), id(value), type_name(error))
        if len(text) > limits.VALUE:
            half = limits.VALUE // 4
            text = '%s... [%d characters left out] ...%s' % (text[:3 * half - 64], len(text) - 4 * half + 64, text[-half:])
        return text


# repr function -> the container whose items are written one by one; a subclass with a repr of its own is foreign.
_REPRS = {kind.__repr__: kind for kind in _CONTAINERS + _DICTS}
