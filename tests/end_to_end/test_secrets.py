"""What the daemon knows and a cell must not."""

import unittest

from holdfast_test.cases import DaemonCase

class SecretsTest(DaemonCase):
    environment = {
        "SENTRY_DSN": "hush-1", "AWS_SECRET_ACCESS_KEY": "hush-2", "X_WEBHOOK": "hush-3", "NPM_AUTH": "hush-4", "PGPASSWD": "hush-5",
    }  # fmt: skip

    def test_secrets_of_the_daemon_are_nowhere_in_a_kernel_whatever_looks_for_them(self):
        ways = (
            "dict(os.environ)",
            "os.environb",
            "subprocess.getoutput('env; cat /proc/self/environ; cat /proc/$PPID/environ')",
            "!env",
            "run('env').wait()\nrun('sh', '-c', 'env').read()",
            "multiprocessing.get_context('spawn').Pool(1).apply(subprocess.getoutput, ('env',))",
            "ctypes.CDLL(None).getenv(b'SENTRY_DSN')",
            "open('/proc/self/environ').read()",
            "open('/proc/%d/environ' % os.getppid()).read()",
            "open('/proc/self/cmdline').read() + open('/proc/%d/cmdline' % os.getppid()).read()",
        )
        for code in ways:
            with self.subTest(code):
                result = self.daemon.run("import ctypes, multiprocessing, os, subprocess\n" + code)
                self.assert_ok(result)
                self.assertNotIn("hush-", repr((result["stdout"], result["value"])))


if __name__ == "__main__":
    unittest.main()
