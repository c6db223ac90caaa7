"""Restores a saved namespace into this kernel: docs/state.md.

Nothing is touched before the whole file was found good. Each value is tried in a forked child first: one that hangs, kills or fails there
is left out here. What needs another value is tried again when that is there.
"""

import io
import pickle
import importlib
import os

from . import definitions, forking, limits, live_pickle, namespace as names, state_file
from .forking import Skip
from .interrupts import door
from .requests import Refused

from time import monotonic


def restore(namespace, path):
    """names.told(); Refused if the file is not a whole one of this format, then nothing was changed."""
    if not os.path.isabs(path):
        raise Refused('failed', 'cannot restore from %s: wanted an absolute path' % path)
    try:
        fd = state_file.open_state(path)
    except state_file.BadState as error:
        raise Refused('failed' if os.path.lexists(path) else 'not_found', str(error))
    try:
        records, end = state_file.read_records(fd, path)
        restoring = _Restoring(namespace, fd, end['skipped'])
        restoring.run(records)
        return names.told(restoring.names, restoring.skipped, os.fstat(fd).st_size)
    except (state_file.BadState, ValueError, KeyError, OSError) as error:
        raise Refused('failed', str(error))
    finally:
        definitions.forget_trees()
        os.close(fd)


class _Restoring:
    def __init__(self, namespace, fd, skipped):
        self._namespace = namespace
        self._fd = fd
        self.skipped = dict(skipped)  # name -> reason, of those that are not saved, too
        self._restored = {}  # name -> value, what references mean
        self._sources = {}  # saved name -> source
        self.names = []  # restored, in this order

    def run(self, records):
        grouped = {name for record in records if record.meta['type'] == 'group' for name in record.meta['names']}
        pending = []
        for record in records:
            kind = record.meta['type']
            if kind == 'source':
                source = state_file.body_of(self._fd, record).decode('utf-8', 'surrogatepass')
                self._sources[record.meta['file']] = source
                definitions.keep_source(record.meta['file'], source)
            elif kind == 'module':
                self._restore(record)  # not tried in a child: it would be imported twice, and each value that needs it once more
            elif kind == 'group' or record.meta['name'] not in grouped:
                if not any(name in self.skipped for name in _names_of(record)):
                    pending.append(record)
        until = monotonic() + limits.SAVE_SECONDS
        while pending:
            left = self._pass(pending, until - monotonic())
            if len(left) == len(pending):
                break
            pending = left

    def _pass(self, records, seconds):
        """Restores what can be now; the records that are left."""
        reasons = {}

        def work(item):
            self._make(records[item])
            return b''

        def done(item, _result, reason):
            reasons[item] = reason

        forking.each(len(records), work, done, limits.SAVED_VALUE_SECONDS, seconds)
        left = []
        for item, record in enumerate(records):
            if reasons[item] is None:
                self._restore(record)
            else:
                left.append(record)
                self._skip(record, reasons[item])
        return left

    def _restore(self, record):
        try:
            self._make(record)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._skip(record, forking.describe(error))
            return
        for name in _names_of(record):
            self.skipped.pop(name, None)
            if record.meta['type'] != 'attribute':
                self.names.append(name)

    def _skip(self, record, reason):
        for name in _names_of(record):
            self.skipped[name] = reason

    def _make(self, record):
        """Puts the values of one record into the namespace."""
        meta = record.meta
        kind = meta['type']
        if kind == 'group':
            values = self._load(state_file.body_of(self._fd, record))
        elif kind == 'module':
            values = {meta['name']: _import(meta['module'])}
        elif kind == 'alias':
            if meta['of'] not in self._restored:
                raise Skip('it is the same object as %s, which is not restored' % meta['of'])
            values = {meta['name']: self._restored[meta['of']]}
        elif kind == 'definition':
            values = {meta['name']: self._define(meta)}
        elif kind == 'attribute':
            if meta['of'] not in self._restored:
                raise Skip('%s is not restored' % meta['of'])
            _set(self._restored[meta['of']], meta['attribute'], self._load(state_file.body_of(self._fd, record)))
            return
        elif 'by' in meta:
            values = {meta['name']: self._load_foreign(meta['by'], state_file.body_of(self._fd, record))}
        else:
            values = {meta['name']: self._load(state_file.body_of(self._fd, record))}
        self._restored.update(values)
        self._namespace.update(values)

    def _load(self, body):
        return live_pickle.load(live_pickle.Unpickler(io.BytesIO(body), self._namespace, self._restored))

    @staticmethod
    def _load_foreign(by, body):
        try:
            _import(by)
        except ImportError:
            raise Skip('it was saved with %s, which cannot be imported here' % by)
        return live_pickle.load(pickle.Unpickler(io.BytesIO(body)))

    def _define(self, meta):
        return definitions.define(self._sources[meta['file']], meta['file'], meta['defines'], meta['line'], self._namespace)


@door
def _set(value, attribute, content):
    setattr(value, attribute, content)


@door
def _import(name):
    return importlib.import_module(name)


def _names_of(record):
    return record.meta['names'] if record.meta['type'] == 'group' else [record.meta['name']]
