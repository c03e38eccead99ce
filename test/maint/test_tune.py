#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/tune: what it makes of what the programs say; these are scripts here."""

import argparse
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("WDL_SRCDIR", os.path.join(HERE, "../.."))
TUNE = os.path.abspath(os.path.join(TOP, "maint", "tune"))
SAYS = "= latency 1500.5\nnoise\n= gap 400\n= byte 0.1\n= reduce 0.25\n= nodes 1\n"
LENGTHS = (8, 64, 1024, 8192)


def rows(name, times):
    """What test/bench/coll.c says of a row; times: microseconds by length."""
    return "".join(f"=\t0\t{name}\t{length}\t{took}\t{took}\n" for length, took in times)


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

    def says(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)

    def tune(self, says, *words, status=0, error="", last=None, engine="", mpich=""):
        """`says`: loggp, the last time `last`; `engine`, `mpich`: coll by that setting."""
        for name, text in (("loggp", says), ("last", last or says), ("engine", engine), ("mpich", mpich), ("runs", "")):
            self.says(name, text)
        self.script("mpicc", "exit 0\n")
        self.script("mpiexec", f"""
printf '%s ' "$@" > {self.path('given')}
case "$*" in
*/coll\\ *) cat {self.dir.name}/$MPIR_CVAR_WINDLASS_COLL; exit 0 ;;
esac
[ "$MPIR_CVAR_WINDLASS_COLL_MODEL" = measure ] || exit 9
echo >> {self.path('runs')}
printf '%s' '{error}' >&2
if [ $(wc -l < {self.path('runs')}) -eq 10 ]; then cat {self.path('last')}; else cat {self.path('loggp')}; fi
exit {status}
""")
        environment = dict(os.environ, PREFIX=self.dir.name, WORK=self.path("work"))
        return subprocess.run([TUNE] + list(words),
                              env=environment, capture_output=True, text=True, timeout=60)

    def lines(self, *names):
        with open(self.path(*names)) as file:
            return [line for line in file.read().splitlines() if line and not line.startswith("#")]

    def test_the_file_has_what_the_engine_reads(self):
        done = self.tune(SAYS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.lines("work", "tune", "model"),
                         ["latency 1500.5000", "gap 400.0000", "byte 0.1000", "reduce 0.2500"])

    def test_the_least_of_ten_runs_counts(self):
        self.tune(SAYS, "--out", self.path("here"), last=SAYS.replace("gap 400", "gap 150"))
        self.assertEqual(self.lines("here"),
                         ["latency 1500.5000", "gap 150.0000", "byte 0.1000", "reduce 0.2500"])

    def test_what_a_store_takes_across_is_written_where_it_is_known(self):
        self.tune(SAYS + "= across 260\n", last=SAYS + "= across 250\n")
        self.assertEqual(self.lines("work", "tune", "model")[4:], ["across 250.0000"])
        self.tune(SAYS + "= across 0\n")
        self.assertEqual(self.lines("work", "tune", "model")[4:], [])
        self.tune(SAYS + "= across 0\n", last=SAYS + "= across 250\n")
        self.assertEqual(self.lines("work", "tune", "model")[4:], ["across 250.0000"])

    def test_mpiexec_gets_its_options(self):
        self.tune(SAYS, "--", "-hosts", "a,b")
        with open(self.path("given")) as file:
            self.assertTrue(file.read().startswith("-n 2 -hosts a,b /"))

    def test_what_is_missing_is_named(self):
        for says in (SAYS.replace("= gap 400\n", ""), SAYS.replace("gap 400", "gap 0")):
            for done in (self.tune(says), self.tune(SAYS, last=says)):
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("gap could not be measured", done.stderr)
                self.assertFalse(os.path.exists(self.path("work", "tune", "model")))

    def test_costs_that_are_not_measured_are_not_written(self):
        done = self.tune(SAYS, error="windlass: MPIR_CVAR_WINDLASS_COLL_MODEL: measure: gap cannot be 0 ns")
        self.assertIn("could not be measured", done.stderr)
        self.assertFalse(os.path.exists(self.path("work", "tune", "model")))

    def test_a_program_that_fails_writes_nothing(self):
        done = self.tune(SAYS, status=3)
        self.assertIn("status 3", done.stderr)
        self.assertFalse(os.path.exists(self.path("work", "tune", "model")))

    def test_what_cannot_be_done_is_said(self):
        environment = dict(os.environ, PREFIX=self.path("nothing"), WORK=self.path("work"))
        done = subprocess.run([TUNE], env=environment, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"tune: there is no {self.path('nothing')}/bin/mpicc; run ./maint/quickstart first "
                          "(with the same PREFIX)\n"))
        self.script("mpicc", "exit 1\n")
        done = subprocess.run([TUNE], env=dict(environment, PREFIX=self.dir.name), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"tune: {os.path.abspath(TOP)}/test/bench/loggp.c could not be compiled\n"))
        self.assertIn("--ranks: at least 2", self.tune(SAYS, "--ranks", "1").stderr)

    def hangs(self):
        self.script("mpicc", "exit 0\n")
        new = self.path("pid.new")
        self.script("mpiexec", f"sleep 100 & echo $! > {new}; mv {new} {self.path('pid')}; wait\n")

    def ended(self):
        with open(self.path("pid")) as file:
            path = f"/proc/{file.read().strip()}/stat"
        if not os.path.exists(path):
            return True
        with open(path) as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"

    def test_a_signal_ends_what_runs(self):
        self.hangs()
        environment = dict(os.environ, PREFIX=self.dir.name, WORK=self.path("work"))
        tune = subprocess.Popen([TUNE], env=environment, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(self.path("pid")):
            time.sleep(0.1)
        tune.terminate()
        self.assertEqual(tune.communicate()[1], "")
        self.assertEqual(tune.returncode, 130)
        self.assertTrue(self.ended())

    def test_no_program_runs_for_ever(self):
        self.hangs()
        loader = importlib.machinery.SourceFileLoader("tune", TUNE)
        tune = importlib.util.module_from_spec(importlib.util.spec_from_loader("tune", loader))
        loader.exec_module(tune)
        option = argparse.Namespace(prefix=self.dir.name, ranks=2, mpiexec=[])
        with self.assertRaisesRegex(SystemExit, "tune: the program was still running after 1 s"):
            tune.run(option, ["program"], 1)
        self.assertTrue(self.ended())

    def wins(self, engine, mpich, nodes=2, ranks=8):
        done = self.tune(SAYS.replace("nodes 1", f"nodes {nodes}"), "--ranks", str(ranks), engine=engine, mpich=mpich)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.lines("work", "tune", "model")[4:]

    def test_where_the_engine_is_faster_is_written(self):
        engine = rows("allreduce", zip(LENGTHS, (9, 5, 5, 20))) + rows("bcast", zip(LENGTHS, (9, 9, 9, 9))) + \
            rows("iscan", zip(LENGTHS, (1, 9, 9, 5))) + rows("barrier", [(0, 1)])
        mpich = rows("allreduce", zip(LENGTHS, (9, 9, 9, 9))) + rows("bcast", zip(LENGTHS, (9, 9, 9, 9))) + \
            rows("iscan", zip(LENGTHS, (9, 9, 9, 9))) + rows("barrier", [(0, 2)])
        self.assertEqual(self.wins(engine, mpich),
                         ["wins barrier 4 0", "wins broadcast 0", "wins allreduce 4 23 2896",
                          "wins_begun scan 4 1 22", "wins_begun scan 4 2897"])

    def test_ranks_a_node_are_rounded_up(self):
        engine, mpich = rows("barrier", [(0, 1)]), rows("barrier", [(0, 2)])
        self.assertEqual(self.wins(engine, mpich, nodes=2, ranks=5), ["wins barrier 3 0"])

    def test_a_little_faster_is_noise(self):
        self.assertEqual(self.wins(rows("barrier", [(0, 98)]), rows("barrier", [(0, 100)])), ["wins barrier 0"])

    def test_on_one_node_the_engine_decides_by_itself(self):
        self.assertEqual(self.wins(rows("barrier", [(0, 1)]), rows("barrier", [(0, 2)]), nodes=1), [])


if __name__ == "__main__":
    unittest.main()
