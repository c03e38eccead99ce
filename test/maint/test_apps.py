#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/apps: what it reads in outputs, what it compares, what it calls a failure. No program is run: what
each job prints is given here."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import signal
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.environ.get("WDL_SRCDIR",
                                     os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
loader = importlib.machinery.SourceFileLoader("apps", os.path.join(TOP, "maint/apps"))
apps = importlib.util.module_from_spec(importlib.util.spec_from_loader("apps", loader))
loader.exec_module(apps)

NWCHEM = """
   iter      energy          gnorm     gmax       time
     9      -75.9839981238  9.6D-11  5.0D-11      0.1
       Final RHF  results
         Total SCF energy =    -75.000000000000
         Total SCF energy =  {}
      One-electron energy =   -123.147412098274
"""


def ended(output, status=0):
    return apps.Ended(status, output, 1.0)


def water(energy, status=0):
    return ended(NWCHEM.format(energy), status)


class Parsed(unittest.TestCase):
    def test_the_last_energy_counts(self):
        self.assertEqual(apps.energy(water("-75.983998123757")), -75.983998123757)
        self.assertEqual(apps.energy(water("  0.5")), 0.5)

    def test_no_energy_without_success(self):
        self.assertIsNone(apps.energy(water("-75.983998123757", 1)))
        self.assertIsNone(apps.energy(ended("One-electron energy = -1.5\n")))
        self.assertIsNone(apps.energy(ended("Total SCF energy = NaN\n")))

    def test_verified(self):
        for output in ("Test passed.\n", " TEST PASSED\n", "x\n   test passed on image 1\n"):
            self.assertEqual(apps.verified(ended(output)), "")
        self.assertIn("status 2", apps.verified(ended("Test passed.\n", 2)))
        for output in ("", "Test failed.\n", "tests passed\n", "passed\n"):
            self.assertIn("does not say", apps.verified(ended(output)))


class Run(unittest.TestCase):
    """apps.run(), with a script for mpiexec."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def run_script(self, text, **more):
        mpiexec = os.path.join(self.directory, "mpiexec")
        with open(mpiexec, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(mpiexec, 0o755)
        return apps.run(apps.Way("w", mpiexec, {"WAY": "its"}), 3, ["prog", "arg"], os.path.join(self.directory, "run"),
                        {"MORE": "settings"}, **more)

    def test_what_it_is_given_and_gives(self):
        ended = self.run_script('echo "$* $WAY $MORE $MPIEXEC_TIMEOUT"; echo oh >&2; exit 7\n', limit_s=9)
        self.assertEqual((ended.status, ended.output), (7, "-n 3 prog arg its settings 9\noh\n"))

    def test_an_interrupt_ends_the_job(self):
        def interrupt(_signal, _frame):
            raise KeyboardInterrupt
        self.addCleanup(signal.signal, signal.SIGALRM, signal.signal(signal.SIGALRM, interrupt))
        signal.setitimer(signal.ITIMER_REAL, 1)
        with self.assertRaises(KeyboardInterrupt):
            self.run_script(f"trap 'echo ended > {self.directory}/said; exit 1' TERM\n"
                            "i=0; while [ $i -lt 300 ]; do sleep 0.1; i=$((i + 1)); done\n")
        with open(os.path.join(self.directory, "said")) as file:
            self.assertEqual(file.read(), "ended\n")


class Judged(unittest.TestCase):
    """Apps with a run() that gives what self.say(way, ranks, command, settings) says."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.ran = []
        for name, replacement in (("run", self.run_fake), ("Apps.is_ours", lambda *_: True)):
            patch = mock.patch.object(*((apps.Apps, "is_ours") if "." in name else (apps, name)), replacement)
            patch.start()
            self.addCleanup(patch.stop)

    def run_fake(self, way, ranks, command, directory, more=None, limit_s=None):
        self.ran.append((way.name, ranks, os.path.basename(command[0]), more))
        return self.say(way, ranks, command, more)

    def judge(self, part, rounds=1):
        """Returns the report and what was printed."""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            report = apps.Report(os.path.join(self.directory, "log"))
            getattr(apps.Apps(self.directory, "/prefix", rounds, report), part)()
        return report, out.getvalue()

    def failures(self, report):
        return [name for name, _, _ in report.failures]

    def test_links_with_their_names_to_our_libraries(self):
        apps.Apps(self.directory, "/prefix", 1, None)
        for name, ours in apps.LIBRARIES.items():
            self.assertEqual(os.readlink(os.path.join(self.directory, "apps/lib", name)), "/prefix/lib/" + ours)

    def test_energies_that_agree(self):
        self.say = lambda way, ranks, command, more: \
            water("-75.983998132757" if way.name == "cliques" else "-75.983998123757")      # 9e-9 apart
        report, output = self.judge("nwchem")
        self.assertEqual((report.passed, report.failures), (6, []), output)
        self.assertIn("energy under Debian's MPICH -75.983998123757", output)
        self.assertIn("ours differs by at most 9.0e-09", output)
        self.assertIn(("shm", 4, "nwchem.mpich", apps.CREATED), self.ran)

    def test_what_debians_finds_on_more_ranks_is_not_our_difference(self):
        self.say = lambda way, ranks, command, more: \
            water("-70.0" if way.name == "Debian's" and ranks == 4 else "-75.983998123757")
        report, output = self.judge("nwchem")
        self.assertEqual((report.passed, report.failures), (6, []), output)
        self.assertIn("ours differs by at most 0.0e+00", output)

    def test_an_energy_that_differs(self):
        self.say = lambda way, ranks, command, more: \
            water("-75.983998138757" if way.name == "cliques" and ranks == 4 else "-75.983998123757")   # 1.5e-8
        report, _ = self.judge("nwchem")
        self.assertEqual(self.failures(report), ["cliques: nwchem np 4"])
        self.assertIn("-75.983998138757 is not -75.983998123757", report.failures[0][1])

    def test_no_energy_is_a_failure(self):
        self.say = lambda way, ranks, command, more: water("-75.9", 9 if more else 0)
        report, _ = self.judge("nwchem")
        self.assertEqual(self.failures(report), ["shm created: nwchem np 2", "shm created: nwchem np 4"])

    def test_nothing_to_compare_with_is_a_failure(self):
        self.say = lambda way, ranks, command, more: ended("killed", 9 if way.name == "Debian's" else 0)
        report, _ = self.judge("nwchem")
        self.assertEqual((report.passed, self.failures(report)), (0, ["nwchem: Debian's MPICH, 1 rank"]))

    def test_what_fails_is_not_tried_again_and_not_timed(self):
        self.say = lambda way, ranks, command, more: water("-75.9", way.name == "cliques")
        report, output = self.judge("nwchem", rounds=3)
        self.assertEqual(self.ran.count(("cliques", 2, "nwchem.mpich", None)), 1)
        self.assertEqual(self.ran.count(("shm", 2, "nwchem.mpich", None)), 3)
        self.assertIn("shm 1.00 s, shm created 1.00 s, cliques -, Debian's 1.00 s", output)

    def test_failures_of_debians_are_no_failures_of_ours(self):
        self.say = lambda way, ranks, command, more: water("-75.9", way.name == "Debian's" and ranks == 4)
        report, output = self.judge("nwchem")
        self.assertEqual((report.passed, report.failures), (6, []))
        self.assertIn("nwchem np 4: under Debian's MPICH: no energy", output)

    def suite(self):
        with mock.patch.object(apps, "SUITE", self.directory), \
                mock.patch.object(apps, "SUITE_TESTS", {2: "a b", 8: "c"}):
            return self.judge("suite")

    def test_suite_in_both_ways(self):
        self.say = lambda way, ranks, command, more: ended("Test passed.\n")
        report, output = self.suite()
        self.assertEqual((report.passed, report.failures), (6, []), output)
        self.assertEqual([ran[:3] for ran in self.ran], [(way, n, name) for name, n in (("a", 2), ("b", 2), ("c", 8))
                                                         for way in ("shm", "cliques")])

    def test_suite_what_fails_within_a_node_is_ours(self):
        self.say = lambda way, ranks, command, more: ended("" if way.name != "cliques" else "Test passed.\n")
        self.assertEqual(self.failures(self.suite()[0]), [f"shm: suite {name}" for name in ("a np 2", "b np 2", "c np 8")])

    def test_suite_what_fails_in_cliques_is_ours_if_debians_passes(self):
        self.say = lambda way, ranks, command, more: \
            ended("" if way.name == "cliques" and ranks == 8 else "Test passed.\n")
        self.assertEqual(self.failures(self.suite()[0]), ["cliques: suite c np 8"])

    def test_suite_what_fails_in_cliques_and_under_debians_is_told(self):
        self.say = lambda way, ranks, command, more: ended("" if way.name != "shm" else "Test passed.\n")
        report, output = self.suite()
        self.assertEqual((report.passed, report.failures), (3, []))
        self.assertEqual(output.count("not judged: does not say that the test passed; under Debian's MPICH:"), 3)

    def test_no_suite_is_a_failure(self):
        with mock.patch.object(apps, "SUITE", self.directory + "/none"):
            self.assertEqual(self.failures(self.judge("suite")[0]), ["suite"])


if __name__ == "__main__":
    unittest.main()
