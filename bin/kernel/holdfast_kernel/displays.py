"""`display(...)`, rich last values and figures: numbered per cell, bounded, made into frames for the link's owner to send.

A display that is too large, or for which there is no room, goes without its data: what was left out is named with its size.
"""

import builtins
from _thread import RLock  # bound here: a cell may replace those of the module
from collections import deque

from . import figures, frames, limits, rich, values
from .execution import current
from .output import STDERR, STDOUT
from .window import WindowFull


class Displays:
    def __init__(self, output, interrupts, send):
        """`send()` has what is queued sent at once if that can be: it shall not go with the process, or wait for a call that keeps the
        interpreter to itself."""
        self._output = output
        self._interrupts = interrupts
        self._send = send
        self._lock = RLock()  # of whoever numbers a display and queues it: the daemon takes those of a cell in ascending order
        self._pending = deque()  # (payload, payload without data) not sent yet, in order
        self._queued_bytes = 0  # ever, changed with the lock held
        self._taken_bytes = 0  # of those, changed by the link's owner
        self._shown = []  # open figures that this cell displayed already
        figures.use_show(self.show_figures)

    def install(self):
        builtins.display = self.display

    def display(self, *objects, raw=False, metadata=None, **_options):
        """Displays objects: rich representations by MIME type, and always a plain text. `raw`: they are such tables already."""
        for value in objects:
            self._display(value, False, raw, metadata)
        self._interrupts.leave_kernel()

    def value_text(self, value):
        """The text of a cell's last value, which is displayed if it is rich."""
        text = values.value_text(value)
        if rich.is_rich(value):
            self._display(value, True, False, None, text)
        return text

    def show_figures(self):
        """Displays and closes the open figures; at the end of each cell, too."""
        for figure in figures.open_figures():
            if not any(figure is one for one in self._shown):
                self._display(figure, False, False, None)
            figures.close(figure)
        self._shown = []

    def _display(self, value, is_main, raw, metadata, text=None):
        execution = current.get() or self._interrupts.foreground
        if raw and issubclass(type(value), dict):
            data, more = rich.raw_bundle(value)
        else:
            data, more = rich.bundle(value, self._complain)
            if figures.is_figure(value):
                self._shown.append(value)
        if is_main and not data:
            return  # its methods gave nothing: the value's text says all
        if 'text/plain' not in data:
            data['text/plain'] = text if text is not None else values.value_text(value) or 'None'
        if type(metadata) is dict:
            more = {**more, **metadata}
        if execution is not None and self._output.is_here[0] and self._number(execution, is_main, data, more):
            return self._send()
        # Nobody expects a display of that cell any more.
        self._output.write(STDOUT, data['text/plain'] + '\n')

    def _number(self, execution, is_main, data, more):
        """Queues a display under the next number of its cell; False if the cell takes none."""
        if self._lock._is_owned():
            return False  # a signal handler, in the midst of another one
        with self._lock:
            if execution.is_done or execution.display_count >= limits.DISPLAYS:
                return False
            self._queue({'type': 'display', 'cell': execution.cell, 'index': execution.display_count, 'main': is_main,
                         'offset': self._output.position(execution.output), 'data': data, 'metadata': more, 'omitted': []})
            execution.display_count += 1
        return True

    def _complain(self, text):
        self._output.write(STDERR, text)

    def _queue(self, message):
        data, omitted = message['data'], message['omitted']
        sizes = {mime: len(text.encode('utf-8', 'backslashreplace')) for mime, text in data.items()}
        counted = {mime: rich.counted(mime, text, sizes[mime]) for mime, text in data.items()}
        while True:
            if sum(sizes[mime] for mime in data) <= limits.DISPLAY:
                payload = _payload(message)
                if len(payload) <= limits.MAX_PAYLOAD:
                    break
            largest = max(data, key=sizes.get)
            del data[largest]
            omitted.append({'mime': largest, 'bytes': counted[largest]})
        left_out = omitted + [{'mime': mime, 'bytes': counted[mime]} for mime in data]
        nameplate = frames.to_payload(dict(message, data={}, metadata={}, omitted=left_out))
        if self._queued_bytes - self._taken_bytes + len(payload) > limits.DISPLAYS_PENDING:
            payload = nameplate
        self._queued_bytes += len(payload)
        self._pending.append((payload, nameplate))

    # For the link's owner.

    def has_pending(self):
        return bool(self._pending)

    def push(self, window, limit):
        """Gives frames to the window, up to that many unacked bytes in it; whether it gave any."""
        made = False
        while self._pending and window.unacked_bytes < limit:
            payload, nameplate = self._pending.popleft()
            self._taken_bytes += len(payload)
            made = True
            for one in (payload, nameplate):
                try:
                    window.push(one)
                    break
                except WindowFull:
                    continue
            else:
                window.push(nameplate, must=True)  # so that the daemon knows of it
        return made


def _payload(message):
    try:
        payload = frames.to_payload(message)
        if len(payload) <= limits.MAX_PAYLOAD:
            parsed = frames.from_payload(payload)  # not nested too deep
            if _count(parsed['metadata']) > limits.METADATA_VALUES:
                raise ValueError('too many values')
        return payload
    except (TypeError, ValueError, RecursionError, frames.BadFrame):
        message['metadata'] = {}  # all else is text
        return frames.to_payload(message)


def _count(value):
    """How many values a JSON value has, with itself."""
    count, left = 0, [value]
    while left:
        count += 1
        one = left.pop()
        if type(one) is dict:
            left += one.values()
        elif type(one) is list:
            left += one
    return count
