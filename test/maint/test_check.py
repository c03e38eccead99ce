#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/check on a fake installation: what it chooses, how it counts, its status."""

import argparse
import concurrent.futures
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
TOP = os.path.abspath(os.environ.get("WDL_SRCDIR",
                                     os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")))
sys.path.insert(0, os.path.join(TOP, "maint"))

import cores        # noqa: E402
import models       # noqa: E402
import mpitests     # noqa: E402
import testlist     # noqa: E402
import unittests    # noqa: E402

# Stands for mpiexec: runs the program once, in its directory.
MPIEXEC = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in -n) shift 2 ;; -*) shift ;; *) break ;; esac
done
exec "$@"
"""


class Check(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.work = os.path.join(self.temporary.name, "work")
        self.prefix = os.path.join(self.temporary.name, "prefix")
        self.suite = os.path.join(self.work, "mpich/build/test/mpi")
        self.program(os.path.join(self.prefix, "bin/mpiexec"), MPIEXEC)
        self.write("Makefile", f"CC = {self.prefix}/bin/mpicc\n")
        for part in ("dtpools", "util"):
            self.write(f"{part}/Makefile", "all:\n")
        for folder in mpitests.MPICH_FOLDERS:
            self.write(f"{folder}/Makefile", "")
            self.write(f"{folder}/testlist", "")

    def write(self, name, text):
        path = os.path.join(self.suite, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def program(self, name, text):
        os.chmod(self.write(name, text), 0o755)

    def check(self, *arguments):
        environment = dict(os.environ, WORK=self.work, PREFIX=self.prefix)
        done = subprocess.run([os.path.join(TOP, "maint/check"), *arguments], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def test_all_pass(self):
        self.write("rma/testlist", "good 2\ngood 3 arg=x\n")
        self.program("rma/good", "#!/bin/sh\necho ' No Errors'\n")
        status, output = self.check("--setup", "shm", "--only", "rma")
        self.assertEqual(status, 0, output)
        self.assertEqual(output.splitlines()[-1], "2 passed, 0 failed")

    def test_failures_are_counted_and_named(self):
        self.write("rma/testlist", "good 2\nbad 2\nunbuilt 2\n")
        self.program("rma/good", "#!/bin/sh\necho ' No Errors'\n")
        self.program("rma/bad", "#!/bin/sh\necho 'put arrived late'\n")
        self.write("rma/Makefile", "good bad:\nunbuilt:\n\t@echo unbuilt.c is wrong; false\n")
        status, output = self.check("--setup", "shm", "--only", "rma")
        self.assertEqual(status, 1, output)
        self.assertEqual(output.splitlines()[-1], "1 passed, 2 failed")
        self.assertIn("put arrived late", output)
        self.assertIn("unbuilt.c is wrong", output)

    def test_set_ups_set_up(self):
        show = "#!/bin/sh\necho $UCX_TLS+$MPIR_CVAR_NUM_CLIQUES+$MPIR_CVAR_ODD_EVEN_CLIQUES" \
               "+$MPIR_CVAR_WINDLASS_PROGRESS_THREAD\n"
        self.write("rma/testlist", "show 2\n")
        self.program("rma/show", show)
        for name, seen in (("shm", "+++"), ("cliques", "+2++"), ("tcp", "tcp,self++1+"), ("thread", "+++on")):
            _, output = self.check("--setup", name, "--only", "rma")
            self.assertIn(f"unexpected output: {seen}\n", output)
        self.write("coll/testlist", "show 2\n")
        self.program("coll/show", show.replace("PROGRESS_THREAD", "COLL"))
        for name, seen in (("engine-shm", "+++engine"), ("engine-cliques", "+2++engine"),
                           ("engine-tcp", "tcp,self++1+engine")):
            _, output = self.check("--setup", name, "--only", "coll")
            self.assertIn(f"unexpected output: {seen}\n", output)

    def test_a_process_by_itself_has_no_cliques(self):
        self.write("rma/testlist", "alone 1\nboth 2\n")
        for name, listed in (("shm", ["shm: rma/alone np 1", "shm: rma/both np 2"]), ("cliques", ["cliques: rma/both np 2"]),
                             ("tcp", ["tcp: rma/alone np 1", "tcp: rma/both np 2"])):
            self.assertEqual(self.check("--setup", name, "--only", "rma", "--list")[1].splitlines(), listed)

    def test_tcp_has_twice_the_time(self):
        self.write("rma/testlist", "late 2 timeLimit=3\n")
        self.program("rma/late", "#!/bin/sh\nsleep 3.2; echo ' No Errors'\n")
        for name, last in (("shm", "0 passed, 1 failed"), ("tcp", "1 passed, 0 failed")):
            _, output = self.check("--setup", name, "--only", "rma")
            self.assertEqual(output.splitlines()[-1], last)
            self.assertEqual("still running after 3 s" in output, name == "shm")

    def test_a_set_up_begins_beside_the_last_of_the_one_before(self):
        self.write("rma/testlist", "meet 3\n")
        self.program("rma/meet", "#!/bin/sh\n[ -z \"$MPIR_CVAR_NUM_CLIQUES\" ] || touch cliques\n"
                     "for i in $(seq 100); do [ -e cliques ] && echo ' No Errors' && exit; sleep 0.1; done\n")
        status, output = self.check("--setup", "shm", "--setup", "cliques", "--only", "rma", "--jobs", "2")
        self.assertEqual(status, 0, output)

    def test_an_interrupt_ends_what_runs(self):
        self.write("rma/testlist", "long 2\nlong 3\n")
        self.program("rma/long", "#!/bin/sh\ntouch runs\nsleep 2\ntouch ran\n")
        environment = dict(os.environ, WORK=self.work, PREFIX=self.prefix)
        check = subprocess.Popen([os.path.join(TOP, "maint/check"), "--setup", "shm", "--only", "rma", "--jobs", "1"],
                                 env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(os.path.join(self.suite, "rma/runs")):
            time.sleep(0.1)
        check.terminate()
        self.assertEqual(check.wait(), 130)
        time.sleep(3)
        self.assertFalse(os.path.exists(os.path.join(self.suite, "rma/ran")))

    def test_an_interrupt_ends_the_models(self):
        runs, ran = (os.path.join(self.temporary.name, name) for name in ("runs", "ran"))
        self.program(os.path.join(self.temporary.name, "bin/spin"), f"#!/bin/sh\ntouch {runs}\nsleep 2\ntouch {ran}\n")
        environment = dict(os.environ, WORK=self.work, PREFIX=self.prefix)
        environment["PATH"] = os.path.join(self.temporary.name, "bin") + os.pathsep + environment["PATH"]
        check = subprocess.Popen([os.path.join(TOP, "maint/check"), "--setup", "model", "--jobs", "1"],
                                 env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(runs):
            time.sleep(0.1)
        check.terminate()
        self.assertEqual(check.wait(), 130)
        time.sleep(3)
        self.assertFalse(os.path.exists(ran))

    def test_what_is_left_in_tmpdir_is_gone_the_next_time(self):
        self.write("rma/testlist", "leaves 2\n")
        self.program("rma/leaves", "#!/bin/sh\nmktemp -d; [ $(ls $TMPDIR | wc -l) = 1 ] || echo more\n")
        for _ in range(2):
            _, output = self.check("--setup", "shm", "--only", "rma")
            self.assertIn(f"unexpected output: {self.work}/check/tmp/tmp.", output)
            self.assertNotIn("more", output)

    def test_logs_stay_until_programs_are_run(self):
        self.write("rma/testlist", "bad 2\n")
        self.program("rma/bad", "#!/bin/sh\necho wrong\n")
        self.check("--setup", "shm", "--only", "rma")
        log = os.path.join(self.work, "check/log/shm_rma_bad_np_2.log")
        self.assertTrue(os.path.exists(log))
        self.check("--setup", "shm", "--only", "rma", "--list")
        self.check("--setup", "rdma", "--list")
        self.check("--only", "nonsense")
        self.assertTrue(os.path.exists(log))
        self.program("rma/bad", "#!/bin/sh\necho ' No Errors'\n")
        self.check("--setup", "shm", "--only", "rma")
        self.assertFalse(os.path.exists(log))

    def test_thread_sanitizer(self):
        """Its library comes before the installed one, in programs alone; a library that cannot be had fails them."""
        self.write("threads/rma/testlist", "show 2\n")
        self.program(os.path.join(self.prefix, "bin/mpiexec"),
                     '#!/bin/sh\necho "$3 $4 $(basename "$5") $6 $7 ${8#"$WORK"}+$LD_PRELOAD"\n')
        self.program("threads/rma/show", "")
        for name in ("thread-tsan", "cliques-tsan"):
            _, output = self.check("--setup", name, "--only", "threads")
            self.assertIn("its library could not be built", output)
            self.assertEqual(output.splitlines()[-1], "0 passed, 1 failed")
        # What the step of build-mpich wants: a built library, and make.
        os.makedirs(os.path.join(self.work, "mpich/build/src/mpid/windlass"))
        self.write(os.path.join(self.work, "mpich/build/lib/.libs/libmpi.so"), "")
        self.write(os.path.join(self.work, "mpich/build/Makefile"), "lib/libmpi.la:\n\ttouch $@ lib/.libs/libmpi.so\n")
        _, output = self.check("--setup", "cliques-tsan", "--only", "threads")
        self.assertIn("unexpected output: -genv LD_PRELOAD libtsan.so -genv LD_LIBRARY_PATH "
                      "/mpich/tsan/lib/.libs+\n", output)

    def test_fast(self):
        """Programs that say so, and they find the library before the installed one."""
        suite = mpitests.Suite(TOP, self.work, self.prefix, None, argparse.Namespace(only=[], quick=False), cores.Cores(1))
        suite.find(["fast"])
        programs = suite.programs("fast")
        self.assertIn("bench/instructions.sh fast", [program.title() for program in programs])
        for program in programs:
            self.assertIn("fast", program.setups)
            self.assertEqual(suite.environment("fast", program.folder)["LD_LIBRARY_PATH"],
                             os.path.join(self.work, "mpich/fast/lib/.libs"))
        self.assertNotIn("LD_LIBRARY_PATH", suite.environment("shm", "mpi"))

    def test_errors_without_spawn_and_io(self):
        self.write("errors/testlist", "rma\nio\nspawn\n")
        for part in ("rma", "io", "spawn"):
            self.write(f"errors/{part}/testlist", f"err_{part} 2\n")
        _, output = self.check("--list", "--setup", "shm", "--only", "errors")
        self.assertEqual(output, "shm: errors/rma/err_rma np 2\n")

    def test_some_folders_of_threads(self):
        for part in ("rma", "init", "pt2pt", "spawn"):
            self.write(f"threads/{part}/testlist", f"{part}s 2\n")
        for name in ("shm", "cliques"):
            _, output = self.check("--list", "--setup", name, "--only", "threads")
            self.assertEqual(output, f"{name}: threads/rma/rmas np 2\n{name}: threads/init/inits np 2\n")
        _, output = self.check("--list", "--setup", "shm", "--only", "threads/init")
        self.assertEqual(output, "shm: threads/init/inits np 2\n")

    def test_quick_leaves_slow_ones_out(self):
        self.write("attr/testlist", "fast 2\nslow 2 slow=yes\n")
        self.assertIn("shm: attr/slow np 2\n", self.check("--list", "--setup", "shm", "--only", "attr")[1])
        _, output = self.check("--list", "--setup", "shm", "--only", "attr", "--quick")
        self.assertEqual(output, "shm: attr/fast np 2\n")

    def test_a_program_of_one_set_up(self):
        self.write("attr/testlist", "all 2\none 2 setup=shm,tcp\n")
        for name, more in (("shm", "shm: attr/one np 2\n"), ("cliques", "")):
            _, output = self.check("--list", "--setup", name, "--only", "attr")
            self.assertEqual(output, f"{name}: attr/all np 2\n{more}")

    def test_what_would_be_run_twice_is_run_once(self):
        self.write("attr/testlist", "all 2\nown 2 env=MPIR_CVAR_NUM_CLIQUES=3\nother 2 env=MPIR_CVAR_WINDLASS_COLL=engine\n")
        for name, more in (("shm", "attr/own np 2 MPIR_CVAR_NUM_CLIQUES=3\nshm: "), ("cliques", "")):
            _, output = self.check("--list", "--setup", name, "--only", "attr")
            self.assertEqual(output, f"{name}: attr/all np 2\n{name}: {more}attr/other np 2 MPIR_CVAR_WINDLASS_COLL=engine\n")

    def test_nothing_run_is_no_success(self):
        status, output = self.check("--setup", "shm", "--only", "rma")
        self.assertEqual(status, 1, output)

    def test_wrong_use_is_refused(self):
        self.assertNotEqual(self.check("--only", "nonsense")[0], 0)
        self.assertNotEqual(self.check("--setup", "nonsense")[0], 0)
        self.assertIn("error: --jobs: at least 1", self.check("--jobs", "0", "--list")[1])
        for words in (("--rdma", "--quick"), ("--setup", "rdma", "--only", "rma")):
            self.assertIn("are not of rdma and rdma-pair", self.check(*words, "--list")[1])
        os.remove(os.path.join(self.prefix, "bin/mpiexec"))
        status, output = self.check("--setup", "shm")
        self.assertNotEqual(status, 0)
        self.assertIn("run ./maint/quickstart first", output)


    def test_ranks_have_a_core_each_if_there_are_as_many(self):
        said = os.path.join(self.temporary.name, "said")
        self.program("rma/a", f"#!/bin/sh\necho $1 >>{said}; sleep 0.4; echo -$1 >>{said}; echo ' No Errors'\n")
        self.write("rma/testlist", "".join(f"a {np} arg={np}\n" for np in (2, 2, 1, 1, 3, 3)))
        status, output = self.check("--setup", "shm", "--only", "rma", "--jobs", "2")
        self.assertEqual(status, 0, output)
        running, beside = [], set()
        with open(said) as file:
            for line in file:
                if line.startswith("-"):
                    running.remove(line[1:-1])
                else:
                    beside.update((other, line[:-1]) for other in running)
                    running.append(line[:-1])
        self.assertEqual(beside & {("2", "2"), ("2", "1"), ("1", "2"), ("1", "1"), ("3", "3")}, {("1", "1"), ("3", "3")})


class Share(unittest.TestCase):
    def test_all_makes_and_all_else_share_the_cores(self):
        """Each job says when it begins and ends; two makes, all jobs of which could run at once, and one that is none."""
        with tempfile.TemporaryDirectory() as directory:
            said = os.path.join(directory, "said")
            job = f"echo + >>{said}; sleep 0.2; echo - >>{said}"
            with open(os.path.join(directory, "Makefile"), "w") as file:
                file.write(f"all: a b c d\na b c d:\n\t@{job}\n")
            for jobs in (1, 3):
                shared = cores.Cores(jobs)
                with open(said, "w"), concurrent.futures.ThreadPoolExecutor(3) as pool:
                    done = [pool.submit(shared.run, command, directory, os.environ)
                            for command in (["make"], ["make"], ["sh", "-c", job])]
                for one in done:
                    self.assertEqual(one.result(), (0, ""))
                with open(said) as file:
                    at_once = list(itertools.accumulate(1 if line == "+\n" else -1 for line in file))
                self.assertEqual(len(at_once), 2 * 9)
                self.assertEqual(max(at_once), jobs)


    def test_those_who_want_several_cores_wait_until_they_are_free(self):
        shared, held, seen = cores.Cores(3), [], []

        def hold(number):
            with shared.some(number):
                held.append(number)
                seen.append(sum(held))
                time.sleep(0.01)
                held.remove(number)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(hold, number) for number in (1, 2, 3, 2, 2, 1, 3, 3, 2, 1) * 3]:
                done.result(timeout=60)
        self.assertEqual(max(seen), 3)
        self.assertEqual(len(seen), 30)


class Threads(unittest.TestCase):
    def test_every_test_with_threads_is_run_under_their_sanitizer(self):
        with open(os.path.join(TOP, "test/Makefile.mk")) as file:
            text = file.read().replace("\\\n", " ")
        network = re.search(r"^network_tests = (.*)$", text, re.M)[1]
        listed = re.search(r"^thread_tests = (.*)$", text, re.M)[1].replace("$(network_tests)", network).split()
        found = []
        for part in ("base", "cost", "host", "mpid", "netmod", "system"):
            for directory, _, names in os.walk(os.path.join(TOP, "test", part)):
                for name in names:
                    with open(os.path.join(directory, name), errors="replace") as file:
                        if name.endswith(".c") and "pthread_create(" in file.read():
                            path = os.path.relpath(os.path.join(directory, name), TOP)
                            found.append(path[:-len(".c")])
        # what both netmods use: the real one closes with threads
        found[found.index("test/netmod/bed")] = "test/netmod/test_ucx"
        self.assertEqual(sorted(found), sorted(listed))
        self.assertIn("$(thread_tests)", " ".join(unittests.TESTS["tsan"]))

    def test_one_build_has_the_whole_of_the_worlds(self):
        whole = [name for name in unittests.SETUPS if name not in unittests.ENVIRONMENT]
        self.assertEqual(whole, ["unit", "dist"])
        self.assertNotIn("world", " ".join(unittests.DISTCHECK))

    def test_every_program_with_threads_is_run_under_their_sanitizer(self):
        folder = os.path.join(TOP, "test/mpi")
        for program in testlist.read_list(os.path.join(folder, "testlist"), "mpi", folder, None):
            if not program.is_script:
                with open(os.path.join(folder, program.name + ".c")) as file:
                    threads = "MPI_THREAD_MULTIPLE" in file.read()
                self.assertTrue(program.threads or not threads, program.name)


class Models(unittest.TestCase):
    def test_every_model_is_tested_itself(self):
        found = models.titles(TOP)
        for model in models.models(TOP):
            name = os.path.basename(model)
            for expectation in ("holds", "fails"):
                self.assertTrue(any(line.startswith(f"model: {name} {expectation} ") for line in found), name)

    def test_a_line_that_cannot_be_read_is_an_error(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "a.pml")
            for text in ("/*\n * check holds safety\n */", "/*\n * check fails safety A\n * check hold safety\n */"):
                with open(path, "w") as file:
                    file.write(text)
                self.assertRaises(ValueError, models.runs, path)

    def test_only_a_finished_search_has_a_verdict(self):
        end = "State-vector 9 byte, depth reached 9, errors: "
        self.assertEqual(models.verdict(end + "0"), "holds")
        self.assertEqual(models.verdict("pan:1: acceptance cycle (at depth 9)\nSearch not completed\n" + end + "1"), "fails")
        for text in ("", "error: max search depth too small\n" + end + "0", "Search not completed\n" + end + "0",
                     end + "1"):
            self.assertIsNone(models.verdict(text))


class Mirror(unittest.TestCase):
    def test_copy_follows_and_forgets(self):
        with tempfile.TemporaryDirectory() as directory:
            top, copy = os.path.join(directory, "top"), os.path.join(directory, "copy")
            for name in ("src/a.c", "src/a.o", "test/base/test_a.c", "test/base/test_a", "configure", "configure.ac",
                         "_build/x", ".clang-format", ".git/config"):
                path = os.path.join(top, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w") as file:
                    file.write(name)

            def files():
                return sorted(os.path.relpath(os.path.join(base, name), copy)
                              for base, _, names in os.walk(copy) for name in names)
            unittests.mirror(top, copy)
            self.assertEqual(files(), [".clang-format", "configure.ac", "src/a.c", "test/base/test_a.c"])
            os.remove(os.path.join(top, "src/a.c"))
            unittests.mirror(top, copy)
            self.assertEqual(files(), [".clang-format", "configure.ac", "test/base/test_a.c"])


if __name__ == "__main__":
    unittest.main()
