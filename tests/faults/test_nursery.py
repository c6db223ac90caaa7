"""SIGKILL of the nursery while each step is held up."""

import unittest

from fault_case import fault_case

NurseryKilledTest = fault_case("nursery")

if __name__ == "__main__":
    unittest.main()
