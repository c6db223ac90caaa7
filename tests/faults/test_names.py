"""Every failpoint that the code registers has its place in the table, and the table names no other."""

import re
import unittest

from holdfast_test.daemon import REPOSITORY
from table import GATEWAY, KERNEL, NURSERY

GATEWAY_NAMES = REPOSITORY / "actors" / "base" / "failpoint_names.hpp"
PROGRAM_NAMES = REPOSITORY / "bin" / "kernel" / "holdfast_kernel" / "failpoints.py"


def registered(path, begin, end, quote):
    """The names in the part of a file that registers them."""
    text = path.read_text()
    start = text.index(begin)
    return set(re.findall(quote + r"([a-z]+\.[a-z_]+)" + quote, text[start : text.index(end, start)]))


class NamesTest(unittest.TestCase):
    def test_the_table_has_every_name_of_the_gateway(self):
        self.assertEqual(set(GATEWAY), registered(GATEWAY_NAMES, "#define HOLDFAST_FAILPOINT_NAMES", "// clang-format on", '"'))

    def test_the_table_has_every_name_of_kernel_and_nursery(self):
        self.assertEqual(set(KERNEL) | set(NURSERY), registered(PROGRAM_NAMES, "NAMES = ", "))", "'"))


if __name__ == "__main__":
    unittest.main()
