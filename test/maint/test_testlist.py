#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/testlist.py: what a line means and what passing means, as MPICH's runtests has it."""

import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.environ.get("WDL_SRCDIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(TOP, "maint"))

import testlist     # noqa: E402


class Lists(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "below"))
            path = os.path.join(directory, "testlist")
            with open(path, "w") as file:
                file.write(text)
            return testlist.read_list(path, "rma", directory, lambda name: [name.upper()])

    def test_plain(self):
        first, second = self.read("  put 4 # four\n\n#get 2\nget\n")
        self.assertEqual((first.name, first.np, first.time_limit_s), ("put", 4, 180))
        self.assertEqual((second.name, second.np), ("get", 2))

    def test_keys(self):
        (program,) = self.read("p 3 arg=-n=1 arg=2 env=A=b=c mpiexecarg=-x timeLimit=7 resultTest=TestStatus "
                               "strict=false mpiversion=2.2\n")
        self.assertEqual(program.args, ["-n=1", "2"])
        self.assertEqual(program.env, {"A": "b=c"})
        self.assertEqual(program.mpiexec_args, ["-x"])
        self.assertEqual((program.time_limit_s, program.result), (7, "TestStatus"))
        self.assertEqual(program.title(), "rma/p np 3 -n=1 2 A=b=c")

    def test_directory_and_path(self):
        below, program = self.read("below\nsub/p 2\n")
        self.assertEqual(below, "BELOW")
        self.assertEqual((program.folder, program.name), ("rma/sub", "p"))

    def test_slow_is_marked(self):
        self.assertEqual([program.slow for program in self.read("p 2 slow=yes\nq 2\n")], [True, False])

    def test_threads_are_marked(self):
        self.assertEqual([program.threads for program in self.read("p 2 threads=yes\nq 2\n")], [True, False])

    def test_set_up_is_read(self):
        self.assertEqual([program.setups for program in self.read("p 2 setup=shm,tcp\nq 2\n")], [("shm", "tcp"), ()])

    def test_xfail_is_left_out(self):
        self.assertEqual(self.read("p 2 xfail=ticket1\n"), [])

    def test_unknown_is_refused(self):
        for line in ("p 2 nonsense=1\n", "p 2 resultTest=Nonsense\n"):
            with self.assertRaises(SystemExit):
                self.read(line)


class Judgement(unittest.TestCase):
    def judge(self, status, output, result="", name="p"):
        return testlist.judge(testlist.Program("f", "d", name, 2, result=result), status, output)

    def test_passes(self):
        self.assertEqual(self.judge(0, " No Errors\n"), "")
        self.assertEqual(self.judge(0, "Test Passed\n No errors\n"), "")

    def test_fails(self):
        for status, output in ((0, ""), (1, " No Errors\n"), (0, " No Errors\nwarning\n"), (0, "x\n No Errors\n"),
                               (0, " No Errors\n No Errors\n"), (0, " No Errors\n\n"), (0, "Found 3 errors\n")):
            self.assertNotEqual(self.judge(status, output), "", (status, output))

    def test_other_results(self):
        self.assertEqual(self.judge(1, "boom\n", "TestErrFatal"), "")
        self.assertNotEqual(self.judge(0, " No Errors\n", "TestErrFatal"), "")
        self.assertEqual(self.judge(3, "", "TestStatus"), "")
        self.assertNotEqual(self.judge(0, "", "TestStatus"), "")
        self.assertEqual(self.judge(1, " No Errors\n", "TestStatusNoErrors"), "")
        self.assertNotEqual(self.judge(0, " No Errors\n", "TestStatusNoErrors"), "")
        self.assertEqual(self.judge(0, "1.5 GB/s\n", "AnyOutput"), "")
        self.assertNotEqual(self.judge(1, "1.5 GB/s\n", "AnyOutput"), "")
        self.assertEqual(self.judge(0, "anything\n", name="p.sh"), "")
        self.assertNotEqual(self.judge(1, "", name="p.sh"), "")


class Runs(unittest.TestCase):
    def run_script(self, text, **more):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "p.sh")
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + text)
            os.chmod(path, 0o755)
            program = testlist.Program("f", directory, "p.sh", 0, **more)
            return testlist.run(program, "mpiexec", {"COLOUR": "blue"})

    def test_environment_arguments_status(self):
        result = self.run_script('echo "$COLOUR $SIZE $1" >&2\n', args=["'a b'"], env={"SIZE": "9"})
        self.assertEqual((result.ok, result.output), (True, "blue 9 a b\n"))
        self.assertFalse(self.run_script("exit 3\n").ok)

    def test_a_hang_ends(self):
        grace, testlist.GRACE_S = testlist.GRACE_S, 0.2
        try:
            result = self.run_script("echo before; sleep 60\n", time_limit_s=0.2)
        finally:
            testlist.GRACE_S = grace
        self.assertTrue(result.timed_out and not result.ok)
        self.assertIn("before", result.output)
        self.assertLess(result.seconds, 30)


if __name__ == "__main__":
    unittest.main()
