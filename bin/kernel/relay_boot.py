"""The far side's first steps, sent on standard input in front of each request: see docs/wire.md, Relay.

Finds the staged program and hands the request to it, says that the program is missing, or stages it. Knows nothing of kernels. Runs
before anything of the program is there, so it stands alone.
"""

import json
import os
import struct
import sys

_HEADER = struct.Struct('>IQQ')  # as in frames.py


def _reply(head, body):
    """The line tells the answer from whatever a login shell or a wrapper prints around it, and a whole one from one cut short."""
    sys.stdout.buffer.write(b'\nholdfast-relay %s %d\n%s' % (head['nonce'].encode(), len(body), body))
    sys.stdout.buffer.flush()


def _frame(answer):
    payload = json.dumps(answer).encode()
    return _HEADER.pack(len(payload), 0, 0) + payload


def _private_directory(path):
    os.makedirs(path, 0o700, exist_ok=True)
    found = os.stat(path)
    if found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise PermissionError('%s must belong to user %d alone (mode 0700)' % (path, os.geteuid()))


def _stage(root, digest, files):
    """Writes the program aside and renames it: who comes second finds it there."""
    import hashlib  # needed once, and each costs as much time as a cell
    import shutil
    manifest = ''.join('%s %s\n' % (path, hashlib.sha256(files[path].encode()).hexdigest()) for path in sorted(files))
    if hashlib.sha256(manifest.encode()).hexdigest() != digest:
        raise ValueError('the program that came is not %s' % digest)
    target = os.path.join(root, 'program', digest)
    aside = os.path.join(root, 'program', 'staging-' + os.urandom(8).hex())
    try:
        for path, content in files.items():
            os.makedirs(os.path.dirname(os.path.join(aside, path)), exist_ok=True)
            with open(os.path.join(aside, path), 'wb') as file:
                file.write(content.encode())
        try:
            os.rename(aside, target)
        except OSError:
            if not os.path.isdir(target):
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def main():
    os.umask(0o077)
    data = sys.stdin.buffer.read()
    length = _HEADER.unpack_from(data)[0]
    head = json.loads(data[_HEADER.size:_HEADER.size + length].decode())
    try:
        root = os.path.realpath(os.path.expanduser(head['root']))
        _private_directory(root)
        program = os.path.join(root, 'program', head['program'])
        if head['operation'] == 'stage':
            _stage(root, head['program'], head['files'])
            body = _frame({'type': 'staged'})
        elif not os.path.isdir(program):
            body = _frame({'type': 'missing'})
        else:
            sys.path.insert(0, program)
            from holdfast_kernel import relay
            body = relay.serve(head, root, data[_HEADER.size + length:])
    except Exception as error:
        body = _frame({'type': 'failed', 'message': '%s: %s' % (type(error).__name__, error)})
    _reply(head, body)


main()
