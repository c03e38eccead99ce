#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/tune: what it makes of what the program says; the program is a script here."""

import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("WDL_SRCDIR", os.path.join(HERE, "../.."))
SAYS = "= overhead 200\n= latency 1500.5\nnoise\n= gap 400\n= byte 0.1\n= reduce 0.25\n"


class Tune(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, *names):
        return os.path.join(self.dir.name, *names)

    def script(self, name, text):
        os.makedirs(self.path("bin"), exist_ok=True)
        with open(self.path("bin", name), "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(self.path("bin", name), 0o755)

    def tune(self, says, *words, status=0):
        with open(self.path("says"), "w") as file:
            file.write(says)
        self.script("mpicc", "exit 0\n")
        self.script("mpiexec", f"printf '%s ' \"$@\" > {self.path('given')}\ncat {self.path('says')}\n"
                               f"exit {status}\n")
        environment = dict(os.environ, PREFIX=self.dir.name, WORK=self.path("work"))
        return subprocess.run([os.path.join(TOP, "maint", "tune")] + list(words),
                              env=environment, capture_output=True, text=True, timeout=60)

    def lines(self, path):
        with open(path) as file:
            return [line for line in file.read().splitlines() if not line.startswith("#")]

    def test_the_file_has_what_the_engine_reads(self):
        done = self.tune(SAYS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines(self.path("work", "tune", "model")),
                         ["latency 1500.5000", "gap 400.0000", "byte 0.1000", "reduce 0.2500"])

    def test_o_L_g_G_are_said(self):
        self.assertIn("# o 200.0  L 1100.5  g 400.0  G 0.1000", self.tune(SAYS).stdout)

    def test_no_faster_than_the_processor(self):
        self.tune(SAYS.replace("gap 400", "gap 150"), "--out", self.path("here"))
        self.assertIn("gap 200.0000", self.lines(self.path("here")))

    def test_mpiexec_gets_its_options(self):
        self.tune(SAYS, "--", "-hosts", "a,b")
        with open(self.path("given")) as file:
            self.assertTrue(file.read().startswith("-n 2 -hosts a,b /"))

    def test_what_is_missing_is_named(self):
        for says in (SAYS.replace("= gap 400\n", ""), SAYS.replace("gap 400", "gap 0")):
            done = self.tune(says)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("gap could not be measured", done.stderr)
            self.assertFalse(os.path.exists(self.path("work", "tune", "model")))

    def test_a_program_that_fails_writes_nothing(self):
        done = self.tune(SAYS, status=3)
        self.assertIn("status 3", done.stderr)
        self.assertFalse(os.path.exists(self.path("work", "tune", "model")))


if __name__ == "__main__":
    unittest.main()
