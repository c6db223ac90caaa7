"""The daemon's requests: which handler serves which, when, and that an id is served once.

Collaborators: handlers, registered by serving.py and Jobs; Kernel, which runs on the main thread what is `waiting`. Called by the owner
of the link only. Refuses what it does not know, what is malformed and what must wait for a cell, always with an answer: a request never
breaks the link.
"""

from collections import OrderedDict, deque

from . import frames, limits

LATER = object()  # returned by a handler that answers by `answer` or `refuse` later on


class Refused(Exception):
    """A request that is not done: `kind` is busy, not_found or failed, the text is for people."""

    def __init__(self, kind, message):
        Exception.__init__(self, message)
        self.kind = kind


class Unwinding(BaseException):
    """No failure of a request: this process goes on as something else, above all handlers."""


class Request:
    """A request that was received and is not answered."""

    __slots__ = ('id', 'message', 'handler')

    def __init__(self, request_id, message, handler):
        self.id = request_id
        self.message = message
        self.handler = handler


class Requests:
    def __init__(self, push, log):
        """`push(payload)` numbers a frame that is never shed."""
        self._push = push
        self._log = log
        self._handlers = {}  # what -> (handler, whether it needs the main thread between cells)
        self._answers = OrderedDict()  # id -> payload of its answer, the last KEPT_ANSWERS
        self._open = set()  # ids that are not answered yet
        self.waiting = deque()  # Requests for the main thread, in order, at most REQUESTS_WAITING

    def serve(self, what, handler, between_cells):
        """From now on `handler(message)` serves these: the answer's fields, or LATER; Refused says why not.

        With `between_cells` it runs on the main thread, where no cell runs or waits; else at any time, on the owner's thread: it
        must not wait there, and finds values of the namespace in any state."""
        self._handlers[what] = (handler, between_cells)

    def on_request(self, message, is_busy):
        """Takes a request frame; `is_busy`: a cell runs or waits. BadFrame if there is no id that could be answered."""
        request_id = message.get('id')
        if type(request_id) is not str or not 0 < len(request_id) <= limits.REQUEST_ID:
            raise frames.BadFrame('request: id is no text of 1 to %d characters' % limits.REQUEST_ID)
        if request_id in self._answers:
            self._push(self._answers[request_id])
            return
        if request_id in self._open:
            return  # its answer comes
        what = message.get('what')
        handler, between_cells = self._handlers.get(what, (None, False)) if type(what) is str else (None, False)
        if handler is None:
            return self.refuse(request_id, 'failed', 'unknown request %.40s, known: %s' % (what, ' '.join(sorted(self._handlers))))
        request = Request(request_id, message, handler)
        if not between_cells:
            self._open.add(request_id)
            self.finish(request, *self.outcome(request))
        elif is_busy:
            self.refuse(request_id, 'busy', 'cannot do %s: a cell runs or waits; ask again when it is done' % what)
        elif len(self.waiting) >= limits.REQUESTS_WAITING:
            self.refuse(request_id, 'busy', 'cannot do %s: %d requests wait' % (what, len(self.waiting)))
        else:
            self._open.add(request_id)
            self.waiting.append(request)

    def finish(self, request, fields, refusal):
        """Answers with what `outcome` gave, unless the handler will."""
        if refusal is not None:
            self.refuse(request.id, *refusal)
        elif fields is not LATER:
            self.answer(request.id, fields)

    def outcome(self, request):
        """(fields, None) of the handler, or (None, (kind, message)). Never raises, sends nothing."""
        try:
            return request.handler(request.message), None
        except Unwinding:
            raise
        except Refused as refusal:
            return None, (refusal.kind, str(refusal))
        except BaseException as error:
            what = request.message.get('what')
            self._log.write('request-failed %.40s: %s: %.500s' % (what, type(error).__name__, error))
            if isinstance(error, KeyboardInterrupt):
                return None, ('failed', '%.40s did not end in time and was interrupted' % what)
            return None, ('failed', '%.40s failed: %s: %.500s' % (what, type(error).__name__, error))

    def answer(self, request_id, fields):
        try:
            payload = frames.to_payload(dict({'type': 'answer', 'id': request_id}, **fields))
        except (TypeError, ValueError, RecursionError) as error:
            return self.refuse(request_id, 'failed', 'the answer cannot be written: %.200s' % error)
        if len(payload) > limits.MAX_PAYLOAD:
            return self.refuse(request_id, 'failed', 'the answer has %d bytes, at most %d' % (len(payload), limits.MAX_PAYLOAD))
        self._open.discard(request_id)
        self._answers[request_id] = payload
        if len(self._answers) > limits.KEPT_ANSWERS:
            self._answers.popitem(False)
        self._push(payload)

    def refuse(self, request_id, kind, message):
        self.answer(request_id, {'error': {'kind': kind, 'message': message}})


def text_field(message, name, longest=4096):
    """A field that has to be a text; Refused otherwise."""
    value = message.get(name)
    if type(value) is not str or not value or len(value) > longest or '\0' in value:
        raise Refused('failed', 'request: %s is no text of 1 to %d characters' % (name, longest))
    return value


def whole_number_field(message, name, fallback):
    """A field that has to be a whole number from 0 on, if it is there; Refused otherwise."""
    value = message.get(name, fallback)
    if type(value) is not int or value < 0:
        raise Refused('failed', 'request: %s is no whole number' % name)
    return value
