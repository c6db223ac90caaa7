"""The check of the tree's shape finds what it is there for."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_includes.py")


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        self.write("storage/ids.hpp", "#include <string>\n")
        self.write("actors/base/log.hpp", '#include "storage/ids.hpp"\n#include <caf/actor.hpp>\n')
        self.write("actors/front/rpc.cpp", '#include "actors/base/log.hpp"\n#include <holdfast/holdfast.hpp>\n')
        self.write("bin/holdfast/main.cpp", '#include "actors/front/rpc.hpp"\n')
        self.write("tests/base/log_test.cpp", '#include "actors/base/log.hpp"\n#include "tests/support/x.hpp"\n')

    def write(self, path, text):
        full = os.path.join(self.root.name, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as out:
            out.write(text)

    def check(self):
        done = subprocess.run([sys.executable, CHECK, self.root.name], capture_output=True, text=True)
        return done.returncode, done.stdout

    def assert_fault(self, *words):
        code, text = self.check()
        self.assertEqual(code, 1, text)
        for word in words:
            self.assertIn(word, text)
        self.assertIn(" 1 faults", text)

    def test_a_sound_tree_passes(self):
        self.assertEqual(self.check(), (0, "5 files, 0 faults\n"))

    def test_an_include_of_a_layer_above_is_found(self):
        self.write("actors/link/window.cpp", '#include "actors/base/log.hpp"\n  #  include "actors/core/kernel.hpp"\n')
        self.assert_fault("actors/link/window.cpp:2", "actors/core/kernel.hpp")

    def test_an_upward_include_in_angle_brackets_is_found(self):
        self.write("storage/stores.cpp", "#include <actors/base/log.hpp>\n")
        self.assert_fault("storage/stores.cpp:1")

    def test_the_public_header_is_above_core(self):
        self.write("actors/core/kernel.cpp", "#include <holdfast/holdfast.hpp>\n")
        self.assert_fault("actors/core/kernel.cpp:1")

    def test_caf_in_storage_or_in_the_public_header_is_found(self):
        self.write("include/holdfast/holdfast.hpp", "#include <caf/actor.hpp>\n")
        self.assert_fault("include/holdfast/holdfast.hpp:1", "CAF")

    def test_a_layer_that_uses_the_tests_is_found(self):
        self.write("storage/stores.cpp", '#include "tests/support/x.hpp"\n')
        self.assert_fault("storage/stores.cpp:1")

    def test_an_include_that_is_no_path_from_the_root_is_found(self):
        self.write("storage/stores.cpp", '#include "ids.hpp"\n')
        self.assert_fault("storage/stores.cpp:1", "path from the root")

    def test_a_file_of_401_lines_is_found_and_one_of_400_is_not(self):
        self.write("bin/kernel/holdfast_kernel/loop.py", "x\n" * 401)
        self.write("storage/stores.cpp", "\n" * 400)
        self.assert_fault("loop.py: 401 lines")

    def test_build_directories_are_left_out(self):
        self.write("build-x/storage/a.cpp", '#include "actors/core/kernel.hpp"\n')
        self.assertEqual(self.check()[0], 0)

    def test_an_empty_tree_is_a_fault_and_no_success(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assertEqual(subprocess.run([sys.executable, CHECK, empty], capture_output=True).returncode, 1)


if __name__ == "__main__":
    unittest.main()
