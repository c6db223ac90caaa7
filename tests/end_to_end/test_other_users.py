"""Another local user can neither connect to, nor list, nor read anything of a home."""

import json
import os
import stat
import subprocess
import sys
import unittest

from holdfast_test.cases import DaemonCase

NOBODY = 65534

# Run as nobody: what each attempt on each path given gives, as JSON. Python's own folder may be closed to nobody,
# so everything is imported before the uid is dropped.
PROBE = """
import errno, json, os, socket, sys
paths = json.load(sys.stdin)
os.setgroups([]); os.setgid({nobody}); os.setuid({nobody})
def attempt(function):
    try:
        function()
        return 'allowed'
    except TimeoutError:
        return 'allowed'  # connected, and not thrown out
    except OSError as problem:
        return errno.errorcode.get(problem.errno, str(problem))
def connect(path):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(path)
        # A door that lets one in only to throw one out again is shut, too.
        if connection.recv(1) == b'':
            raise PermissionError(errno.EACCES, 'closed')
found = {{}}
for path in paths:
    found[path] = {{'list': attempt(lambda: os.listdir(path)), 'open': attempt(lambda: open(path, 'rb').close())}}
    if path.endswith('.sock'):
        found[path]['connect'] = attempt(lambda: connect(path))
print(json.dumps(found))
"""


@unittest.skipUnless(os.geteuid() == 0, "only root can become another user")
class OtherUsersTest(DaemonCase):
    def setUp(self):
        super().setUp()
        self.daemon.run("x = 1")
        # The way to the home is opened, so that the home's own modes are what is tested.
        for directory in (self.daemon.directory, self.daemon.directory.parent):
            os.chmod(directory, 0o755)

    def everything(self):
        paths = [str(self.daemon.home)]
        for directory, folders, files in os.walk(self.daemon.home):
            paths += [os.path.join(directory, name) for name in folders + files]
        return paths

    def probe(self, paths):
        code = PROBE.format(nobody=NOBODY)
        done = subprocess.run([sys.executable, "-c", code], input=json.dumps(paths), capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_nothing_can_be_listed_opened_or_connected_to(self):
        paths = self.everything()
        names = {os.path.basename(path) for path in paths}
        self.assertLessEqual({"holdfast.sock", "kernel.sock", "nursery.sock", "spool", "journal"}, names)

        for path, attempts in self.probe(paths).items():
            for what, outcome in attempts.items():
                self.assertNotEqual(outcome, "allowed", f"{what} {path}")

    def test_every_directory_is_0700_and_every_socket_0600(self):
        for directory, _, files in os.walk(self.daemon.home):
            self.assertEqual(os.stat(directory).st_mode & 0o077, 0, directory)
            for path in (os.path.join(directory, name) for name in files):
                mode = os.stat(path).st_mode
                self.assertFalse(stat.S_ISSOCK(mode) and mode & 0o077, path)

    def test_a_socket_that_others_could_reach_still_checks_who_connects(self):
        """Modes are one wall; the peer's uid is the other."""
        sockets = [path for path in self.everything() if path.endswith(".sock")]
        for path in sockets:
            os.chmod(path, 0o666)
            while path != str(self.daemon.home.parent):
                path = os.path.dirname(path)
                os.chmod(path, 0o755)

        for path, attempts in self.probe(sockets).items():
            self.assertNotEqual(attempts["connect"], "allowed", path)
        self.assertEqual(self.daemon.run("x")["value"], "1")


if __name__ == "__main__":
    unittest.main()
