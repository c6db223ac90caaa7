"""SIGKILL of the daemon at every failpoint between accepting a cell and delivering it."""

import unittest

from fault_case import fault_case

DaemonKilledTest = fault_case("daemon")

if __name__ == "__main__":
    unittest.main()
