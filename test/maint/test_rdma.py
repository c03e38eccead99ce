#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of what `maint/check --rdma` makes of what a guest says; maint/rdma-vm is a script here."""

import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.environ.get("WDL_SRCDIR",
                                     os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
sys.path.insert(0, os.path.join(TOP, "maint"))

import mpitests     # noqa: E402
import rdmatests    # noqa: E402
import testlist     # noqa: E402
from report import Report   # noqa: E402


class Suite:
    top, ours, mpich, mpiexec = TOP, "/ours", "/mpich", "/bin/mpi exec"

    def build_programs(self, programs):
        pass


class List(unittest.TestCase):
    def setUp(self):
        self.programs = rdmatests.choose(Suite())

    def test_ours_are_there(self):
        for program in self.programs:
            if program.folder in mpitests.OUR_FOLDERS:
                source = os.path.join(TOP, mpitests.OUR_FOLDERS[program.folder], program.name + ".c")
                self.assertTrue(os.path.exists(source), source)
                self.assertEqual(program.directory, os.path.join("/ours", program.folder))
            else:
                self.assertEqual(program.directory, os.path.join("/mpich", program.folder))
                self.assertIn(program.folder, mpitests.MPICH_FOLDERS)

    def test_what_must_be_there_is(self):
        titles = [program.title() for program in self.programs]
        for np in (2, 4):
            self.assertIn(f"mpi/rma_counts np {np}", titles)
            self.assertIn(f"mpi/rma_attach np {np} direct", titles)

    def test_every_program_has_a_limit(self):
        rdmatests.build(Suite(), self.programs)
        text = rdmatests.script(self.programs, "/d", 1)
        for program in self.programs:
            self.assertIn(f"MPIEXEC_TIMEOUT={program.time_limit_s} '/bin/mpi exec' -n {program.np} ", program.command)
        self.assertEqual(text.count("timeout -k "), len(self.programs))


class Machine(unittest.TestCase):
    def setUp(self):
        path = os.path.join(TOP, "maint/rdma-vm")
        loader = importlib.machinery.SourceFileLoader("rdma_vm", path)
        self.machine = importlib.util.module_from_spec(importlib.util.spec_from_loader("rdma_vm", loader))
        loader.exec_module(self.machine)

    def test_the_newest_kernel_is_the_first(self):
        with tempfile.TemporaryDirectory() as root:
            versions = ["6.1.0-10-amd64", "6.1.0-9-amd64", "6.1.0-100-amd64", "6.12.1-amd64"]
            os.mkdir(os.path.join(root, "boot"))
            for version in versions:
                driver = os.path.join(root, "lib/modules", version, "kernel/drivers/infiniband/sw/rxe")
                os.makedirs(driver)
                for name in (os.path.join(driver, "rdma_rxe.ko"), os.path.join(root, "boot", "vmlinuz-" + version)):
                    open(name, "w").close()
            self.assertEqual(self.machine.versions(root), [versions[i] for i in (3, 2, 0, 1)])

    def test_a_blank_is_refused(self):
        with unittest.mock.patch("sys.argv", ["rdma-vm", "--share", "/a b", "true"]), \
                contextlib.redirect_stderr(io.StringIO()) as said, self.assertRaises(SystemExit):
            self.machine.options()
        self.assertIn("--share /a b: there is a blank in its name", said.getvalue())

    def test_tools_are_found_where_users_do_not_look(self):
        with unittest.mock.patch("sys.argv", ["rdma-vm", "--prepare"]), unittest.mock.patch("subprocess.run"), \
                unittest.mock.patch.object(self.machine, "prepare", return_value=("", "")), \
                unittest.mock.patch.dict(os.environ, PATH="/usr/bin:/bin"):
            self.machine.main()
            self.assertEqual(os.environ["PATH"], "/usr/bin:/bin:/usr/sbin:/sbin")


class Script(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def program(self, command, limit=60, result="AnyOutput"):
        return testlist.Program("mpi", self.directory, "p", 2, [], {}, [], limit, result, command=command)

    def run_script(self, programs, guests):
        text = rdmatests.script(programs, self.directory, guests).replace(rdmatests.COUNTERS, self.directory)
        for name, value in (("sent_pkts", 12), ("rdma_sends", 3)):
            with open(os.path.join(self.directory, name), "w") as file:
                file.write(f"{value}\n")
        done = subprocess.run(["sh", "-c", text], stdout=subprocess.PIPE, text=True, timeout=60)
        return done.stdout.splitlines()

    def test_ends_are_told_and_counters_read(self):
        programs = [self.program("echo good"), self.program("exit 3")]
        self.assertEqual(self.run_script(programs, 1), ["ended 0 0", "ended 1 3", "device 0 12 3"])
        self.assertEqual(rdmatests.read(os.path.join(self.directory, "0")), "good\n")

    def test_a_program_that_hangs_is_ended(self):
        grace, testlist.GRACE_S = testlist.GRACE_S, 0
        self.addCleanup(setattr, testlist, "GRACE_S", grace)
        self.assertEqual(self.run_script([self.program("sleep 50", 1)], 1)[0], "ended 0 124")

    def test_the_other_guest_is_asked(self):
        text = rdmatests.script([], "/d", 2)
        self.assertIn("$HYDRA_LAUNCHER_EXEC rdma1 cat", text)
        self.assertIn("HYDRA_HOST_FILE=/d/hosts", text)


class Judged(unittest.TestCase):
    """run_setup, with a guest that says SAYS."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.top = directory.name
        os.mkdir(os.path.join(self.top, "maint"))
        self.programs = [testlist.Program("mpi", "/x", name, 2, command="true") for name in ("a", "b")]

    def judged(self, setup, says):
        """`says` is shell; $d is the shared directory. Returns what was printed, and the report."""
        with open(os.path.join(self.top, "maint/rdma-vm"), "w") as file:
            file.write(f"#!/bin/sh\necho \"$*\" > {self.top}/given\n"
                       f"while [ $1 != --share ]; do shift; done; d=$2\n{says}\n")
        os.chmod(os.path.join(self.top, "maint/rdma-vm"), 0o755)
        report = Report(os.path.join(self.top, "log"))
        with contextlib.redirect_stdout(io.StringIO()) as out:
            rdmatests.run_setup(setup, self.top, self.programs, report)
        return out.getvalue(), report

    GOOD = "for i in 0 1; do echo ' No Errors' > $d/$i; echo ended $i 0; done\n"

    def test_all_well(self):
        output, report = self.judged("rdma", self.GOOD + "echo device 0 5000 7")
        self.assertEqual((report.passed, report.failures), (3, []), output)
        self.assertIn("device 0 sent 5000 packets and 7 messages", output)

    def test_one_machine_acts_as_two_nodes(self):
        self.judged("rdma", "")
        with open(os.path.join(self.top, "given")) as file:
            self.assertIn("MPIR_CVAR_ODD_EVEN_CLIQUES=1", file.read())

    def test_both_devices_must_be_used(self):
        for told in ("echo device 0 5000 7", "echo device 0 5000 7; echo device 1 30 7"):
            _, report = self.judged("rdma-pair", self.GOOD + told)
            self.assertEqual([name for name, _, _ in report.failures], ["rdma-pair: device 1 is used"])

    def test_a_failure_is_one(self):
        _, report = self.judged("rdma", "echo wrong > $d/0; echo ended 0 0; echo ' No Errors' > $d/1\n"
                                        "echo ended 1 124; echo device 0 5000 7")
        self.assertEqual([why for _, why, _ in report.failures], ["unexpected output: wrong", "out of time"])

    def test_a_guest_that_dies_fails_the_rest(self):
        _, report = self.judged("rdma", "echo ' No Errors' > $d/0; echo ended 0 0; echo the end; exit 1")
        self.assertEqual(report.passed, 1)
        self.assertEqual([why for _, why, _ in report.failures],
                         ["the guest ended before", "it sent None packets, not 1000"])

    def test_counts_are_shown(self):
        output, _ = self.judged("rdma", "echo 'counted 7 puts' > $d/0; echo ended 0 0")
        self.assertIn("rdma: counted 7 puts", output)


if __name__ == "__main__":
    unittest.main()
