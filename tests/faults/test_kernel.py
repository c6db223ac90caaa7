"""SIGKILL of the kernel while each step is held up."""

import unittest

from fault_case import fault_case

KernelKilledTest = fault_case("kernel")

if __name__ == "__main__":
    unittest.main()
