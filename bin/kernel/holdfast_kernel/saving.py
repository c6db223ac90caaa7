"""Saves the namespace to a file, each value on its own: docs/state.md.

The values are pickled and written by a forked child, so that saving changes, hangs and kills nothing here. The file takes its name when
all of it is on the disk; until then, and if it fails, an older file stays what it was.
"""

import importlib
import io
import json
import os
import resource
import sys
import types
import zlib

from time import time as wall_clock

from . import definitions, forking, limits, live_pickle, local_classes, namespace as names, state_file
from .forking import Skip
from .requests import Refused

# Whose identity is nobody's concern.
_ATOMS = {type(None), bool, int, float, complex, str, bytes, types.ModuleType, types.BuiltinFunctionType, type(Ellipsis), range}


def save(namespace, path):
    """names.told() of the file that was written; Refused if none could be, then an older one stays."""
    if not os.path.isabs(path):
        raise Refused('failed', 'cannot save to %s: wanted an absolute path' % path)
    part = path + '.part'
    try:
        fd = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Refused('failed', 'cannot save to %s: %s' % (path, error.strerror))
    try:
        saved = _Saving(namespace, fd)
        forking.each(len(saved.items), saved.work, saved.done, limits.SAVED_VALUE_SECONDS, limits.SAVE_SECONDS)
        last = len(saved.items)
        forking.each(1, lambda _item: saved.work(last), lambda _item, *result: saved.done(last, *result), limits.END_SECONDS, limits.END_SECONDS)
        if not saved.is_whole:
            raise Refused('failed', 'cannot save to %s: %s' % (path, saved.failure))
        state_file.read_records(fd, part)  # a value may have written to it, too
        os.rename(part, path)
        _sync_directory(os.path.dirname(path))
    except OSError as error:
        raise Refused('failed', 'cannot save to %s: %s' % (path, error.strerror))
    except (state_file.BadState, ValueError, KeyError) as error:
        raise Refused('failed', 'cannot save to %s: what was written is not whole: %s' % (path, error))
    finally:
        os.close(fd)
        try:
            os.unlink(part)
        except OSError:
            pass
    return names.told(saved.names(), saved.skipped, saved.at)


def _sync_directory(directory):
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


class _Saving:
    """The state of one save. A child goes on from it as it was when it was forked; reports bring the parent's up to date."""

    def __init__(self, namespace, fd):
        self._namespace = namespace
        self._fd = fd
        self.items = names.users(namespace)  # the work on one more item ends the file
        self._named = {}  # id -> the first name of a value that others may refer to
        self._first_names = [name if _is_atom(value, namespace) else self._named.setdefault(id(value), name) for name, value in self.items]
        header = state_file.header()  # written with the last record
        self.at = len(header)  # behind the last whole record
        self._crc = zlib.crc32(header)  # of all bytes before `at`
        self._records = 0
        self._sources = set()  # names of saved sources in the file
        self._references = {}  # saved name -> names that it refers to
        self.skipped = {}  # name -> reason
        self._is_ready = False  # whether this process, a child, has its limits
        self.is_whole = False
        self.failure = None  # why the file will not be whole

    def names(self):
        return [name for name, _value in self.items if name not in self.skipped]

    # In the child.

    def work(self, item):
        """The report on an item, as JSON; what it says is in the file."""
        if not self._is_ready:
            self._is_ready = True
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        if item == len(self.items):
            report = self._end()
        else:
            name, value = self.items[item]
            try:
                report = self._save(name, self._first_names[item], value)
            except OSError as error:
                report = {'failure': str(error)} if self._is_from_writing(error) else {'skipped': {name: forking.describe(error)}}
            except BaseException as error:
                report = {'skipped': {name: forking.describe(error)}}
        self._apply(report)
        return json.dumps(report).encode()

    @staticmethod
    def _is_from_writing(error):
        tb = error.__traceback__
        while tb.tb_next is not None:
            tb = tb.tb_next
        return tb.tb_frame.f_code is state_file.write_at.__code__

    def _save(self, name, first_name, value):
        if first_name != name:
            if first_name in self.skipped:
                raise Skip('it is the same object as %s: %s' % (first_name, self.skipped[first_name]))
            return self._write([({'type': 'alias', 'name': name, 'of': first_name}, b'')], {name: {first_name}})
        kind = type(value)
        if kind is types.ModuleType:
            module = live_pickle.module_name(value)
            return self._write([({'type': 'module', 'name': name, 'module': module}, b'')])
        if kind is types.FunctionType and value.__globals__ is self._namespace:
            try:
                return self._write_pickle(name, value)
            except Exception as error:
                return self._write_definition(name, value, error)
        if isinstance(value, type) and getattr(value, '__module__', None) == '__main__':
            return self._write_class(name, value)
        if getattr(value, '__module__', None) == '__main__' and type(getattr(value, '__name__', None)) is str:
            try:  # lru_cache, TypeVar and the like: they pickle as their own name
                return self._write_definition(name, value, None)
            except definitions.NotFound:
                pass
        return self._write_pickle(name, value)

    def _write_pickle(self, name, value):
        try:
            body, pickler = self._pickle(value, {name})
        except Exception as error:
            return self._write_foreign(name, value, error)
        return self._write([({'type': 'pickle', 'name': name}, body)], {name: pickler.references}, pickler.files)

    def _write_class(self, name, value):
        """By its statement; one that its own name does not mean, such as one that a function has made, by its content if that can be."""
        if local_classes.is_found(value, self._namespace):
            is_within = '.' in value.__qualname__  # another class, whose statement makes it: it goes by its name
            return self._write_pickle(name, value) if is_within else self._write_definition(name, value, None)
        try:
            return self._write_pickle(name, value)
        except Exception as error:
            return self._write_definition(name, value, error)

    def _pickle(self, value, own_names):
        file = live_pickle.Bounded()
        pickler = live_pickle.Pickler(file, self._namespace)
        try:
            live_pickle.dump(pickler, value)
            if not pickler.has_met(self._named, own_names):
                return file.content(), pickler
        except Exception:
            pass  # perhaps because of what is referred to now
        file = live_pickle.Bounded()
        pickler = live_pickle.ReferringPickler(file, self._namespace, self._named, own_names)
        live_pickle.dump(pickler, value)
        return file.content(), pickler

    def _write_foreign(self, name, value, error):
        """With a pickler that takes more than ours, if there is one. Raises the error that ours gave otherwise."""
        if not isinstance(error, Skip) and not isinstance(value, io.IOBase):  # of a file they would make a copy
            for module, pickler in (('cloudpickle', 'CloudPickler'), ('dill', 'Pickler')):
                file = live_pickle.Bounded()
                try:
                    live_pickle.dump(getattr(importlib.import_module(module), pickler)(file), value)
                except Exception:
                    continue
                return self._write([({'type': 'pickle', 'name': name, 'by': module}, file.content())])
        raise error

    def _write_definition(self, name, value, error):
        """A statement that defines it; with what was set on it since."""
        wrapped = value if error is not None else getattr(value, '__wrapped__', None)
        defined_name = value.__name__
        try:
            if type(wrapped) is types.FunctionType:
                code = wrapped.__code__
                filename, line = definitions.find(wrapped.__name__, code.co_filename, code.co_firstlineno)
                defined_name = wrapped.__name__
            else:
                filename, line = definitions.find(defined_name, definitions.file_of_class(value))
        except definitions.NotFound:
            if error is not None:
                raise error
            raise
        source = definitions.source_of(filename)
        meta = {'type': 'definition', 'name': name, 'defines': defined_name, 'file': definitions.saved_name(source), 'line': line}
        records, references = [(meta, b'')], {name: set()}
        files = {filename}
        lost = dict.fromkeys(definitions.beside_on_class(value), 'it was set on the class after its definition')
        for attribute, content in definitions.set_since(value).items():
            try:
                body, pickler = self._pickle(content, ())
            except Exception as problem:
                lost[attribute] = forking.describe(problem)
                continue
            path = '%s.%s' % (name, attribute)
            records.append(({'type': 'attribute', 'name': path, 'of': name, 'attribute': attribute}, body))
            references[path] = pickler.references
            files |= pickler.files
        report = self._write(records, references, files)
        if lost:
            bound = definitions.bound_by(filename, defined_name, line)  # what is of those stays as the definition makes it
            report['skipped'] = {'%s.%s' % (name, one): reason for one, reason in lost.items() if one not in bound}
        return report

    def _write(self, records, references=(), files=()):
        """The report on records that are written, after the sources that they need; `references`: of each name, what it refers to."""
        sources = set()
        for file in sorted(files):
            source = definitions.source_of(file)
            saved = definitions.saved_name(source)
            if saved not in self._sources:
                sources.add(saved)
                records.insert(0, ({'type': 'source', 'file': saved}, source.encode('utf-8', 'surrogatepass')))
        data = b''.join(state_file.record(meta, body) for meta, body in records)
        if self.at + len(data) > limits.SAVED_TOTAL:
            raise Skip('the %d MiB of all values are used up' % (limits.SAVED_TOTAL >> 20))
        state_file.write_at(self._fd, data, self.at)
        return {'at': self.at + len(data), 'crc': zlib.crc32(data, self._crc), 'records': len(records), 'sources': sorted(sources),
                'references': {name: sorted(others) for name, others in dict(references).items()}}

    def _end(self):
        """Values that refer to each other in a circle together, then the last record; synced."""
        if self.failure is not None:
            raise Skip(self.failure)
        for group in _circles(self._references):
            members = {name: value for name, value in self.items if name in group}
            try:
                body, pickler = self._pickle(members, group)
                report = self._write([({'type': 'group', 'names': sorted(group)}, body)], {}, pickler.files)
            except Exception as error:
                report = {'skipped': dict.fromkeys(group, forking.describe(error))}
            self._apply(report)
        self._skip_dependents()
        end = {'type': 'end', 'records': self._records, 'crc': self._crc, 'skipped': self.skipped, 'python': sys.version.split()[0],
               'written_at': int(wall_clock() * 1000)}
        data = state_file.record(end)
        state_file.write_at(self._fd, data, self.at)
        state_file.write_at(self._fd, state_file.header(), 0)
        os.ftruncate(self._fd, self.at + len(data))
        os.fsync(self._fd)
        return {'at': self.at + len(data), 'skipped': self.skipped, 'is_whole': True}

    def _skip_dependents(self):
        """What refers to a value that is not in the file cannot be restored."""
        changed = True
        while changed:
            changed = False
            for name, references in self._references.items():
                missing = [one for one in references if one in self.skipped]
                if missing and name not in self.skipped:
                    self.skipped[name] = 'it refers to %s, which is not saved: %s' % (missing[0], self.skipped[missing[0]])
                    changed = True

    # In both.

    def done(self, item, result, reason):
        if result is not None:
            self._apply(json.loads(result))
        elif item == len(self.items):
            self.failure = self.failure or reason
        else:
            self._apply({'skipped': {self.items[item][0]: reason}})

    def _apply(self, report):
        self.at = report.get('at', self.at)
        self._crc = report.get('crc', self._crc)
        self._records += report.get('records', 0)
        self._sources.update(report.get('sources', ()))
        self._references.update(report.get('references', {}))
        self.skipped.update(report.get('skipped', {}))
        self.failure = self.failure or report.get('failure')
        self.is_whole = report.get('is_whole', False)


def _is_atom(value, namespace):
    kind = type(value)  # not isinstance(): that may be the user's code, and this is no child
    return kind in _ATOMS or issubclass(kind, type) and local_classes.is_found(value, namespace)


def _circles(references):
    """Sets of names that refer to each other, directly or not."""
    reachable = {}
    for name in references:
        seen, pending = set(), list(references[name])
        while pending:
            one = pending.pop()
            if one not in seen:
                seen.add(one)
                pending += references.get(one, ())
        reachable[name] = seen
    circles = []
    for name in references:
        if name in reachable[name] and not any(name in circle for circle in circles):
            circles.append({other for other in reachable[name] if name in reachable.get(other, ())})
    return circles
