"""The installed package: a program is built against it in an empty directory and runs cells. Nothing there refers to our folders."""

import os
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from holdfast_test.daemon import REPOSITORY, Daemon

STEP_SECONDS = 300.0


class InstalledPackageTest(unittest.TestCase):
    def setUp(self):
        self.build = Path(os.environ["EMBED_BUILD"])
        self.directory = Path(tempfile.mkdtemp(prefix="installed-"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.prefix = self.directory / "prefix"
        self.daemon = Daemon()  # its home; the program is what runs in it
        self.addCleanup(self.daemon.close)

    def must(self, *command, **options):
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=STEP_SECONDS, cwd=self.directory, **options
        )
        self.assertEqual(done.returncode, 0, f"{done.args}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_a_program_built_against_it_runs_cells_and_finds_its_kernel_again(self):
        self.must("cmake", "--install", self.build, "--prefix", self.prefix)
        source = self.directory / "source"
        source.mkdir()
        shutil.copy(REPOSITORY / "tests" / "embedding" / "installed" / "CMakeLists.txt", source)
        shutil.copy(REPOSITORY / "examples" / "embed.cpp", source)
        flags = os.environ.get("EMBED_CXX_FLAGS", "")
        self.must("cmake", "-G", "Ninja", "-S", source, "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}",
                  f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_BUILD_TYPE=Release")  # fmt: skip
        self.must("cmake", "--build", "build")
        environment = self.daemon.clean_environment()

        first = self.must(self.directory / "build" / "embed", self.daemon.home, env=environment)
        second = self.must(self.directory / "build" / "embed", self.daemon.home, env=environment)

        self.assertEqual(first, "this kernel has seen 1 runs\nok: 1\n")
        self.assertIn("the python kernel reattached", second)
        self.assertTrue(second.endswith("this kernel has seen 2 runs\nok: 2\n"), second)
        installed = {path.relative_to(self.prefix).as_posix() for path in self.prefix.rglob("*") if path.is_file()}
        self.assertEqual({path for path in installed if path.startswith("include/")}, {"include/holdfast/holdfast.hpp"})
        for path in self.prefix.rglob("*.cmake"):
            self.assertNotIn(str(REPOSITORY), path.read_text(), path)

    def test_the_public_header_needs_the_standard_library_alone(self):
        header = REPOSITORY / "include" / "holdfast" / "holdfast.hpp"
        compiler = shlex.split(os.environ.get("EMBED_CXX", "g++"))

        read = self.must(*compiler, "-std=c++20", "-x", "c++", "-M", header)

        self.assertNotIn("/caf/", read)
        self.assertNotIn("/boost/", read)


if __name__ == "__main__":
    unittest.main()
