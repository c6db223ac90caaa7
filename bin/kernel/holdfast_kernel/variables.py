"""What `variables` answers: name, type, size and the beginning of the text of each of the user's names.

Sizes and texts come from a forked child: __repr__ and __sizeof__ are the user's code.
"""

import json
import sys

from . import forking, limits, namespace as names, values


def rows_of(namespace, after=0, most=limits.VARIABLES):
    """{rows[{name, type, bytes, preview}], next}: the oldest names first, those behind the first `after`, at most `most` of them.

    `next` is the `after` of the names behind these, None if there are none."""
    everything = names.users(namespace)
    end = after + min(most, limits.VARIABLES)
    found = everything[after:end]
    rows = [{'name': name[:limits.VARIABLE_NAME], 'type': names.type_name(value)[:limits.VARIABLE_NAME], 'bytes': None, 'preview': ''}
            for name, value in found]

    def work(item):
        value = found[item][1]
        return json.dumps([_size(value), _preview(value)]).encode()

    def done(item, result, reason):
        if result is None:
            rows[item]['preview'] = '<no text: %s>' % reason
        else:
            rows[item]['bytes'], rows[item]['preview'] = json.loads(result)

    forking.each(len(rows), work, done, limits.VARIABLE_SECONDS, limits.VARIABLES_SECONDS)
    return {'rows': rows, 'next': end if end < len(everything) else None}


def _size(value):
    try:
        return sys.getsizeof(value)
    except BaseException:
        return None


def _preview(value):
    text = 'None' if value is None else values.value_text(value)
    return text if len(text) <= limits.PREVIEW else text[:limits.PREVIEW - 3] + '...'
