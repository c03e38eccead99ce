# Part of Windlass. See COPYRIGHT in the top-level directory.
"""MPI programs under the installed MPICH: ours, the examples, and MPICH's own test suite."""

import concurrent.futures
import dataclasses
import os
import re
import shutil
import subprocess
import threading

import testlist

# Folders of MPICH's test/mpi, in the order they are run.
MPICH_FOLDERS = ["attr", "group", "info", "init", "errhan", "datatype", "topo", "comm", "pt2pt", "rma", "errors",
                 "coll", "mpi_t", "threads/rma", "threads/init", "threads/mpi_t", "threads/comm", "threads/coll"]
# Directories below them that belong to what is not asked for here: they need MPI_Comm_spawn or MPI-IO.
NOT_ENTERED = ("spawn", "io")
# Our folders and where their sources and lists are. `install` and `bench` hold scripts about the installation and
# about maint/bench.
OUR_FOLDERS = {"install": "test/install", "bench": "test/bench", "mpi": "test/mpi", "examples": "examples",
               "memory": "test/memory"}
NOT_QUICK = ("memory",)
# Programs that start as a user's do, hwloc and all; see topology().
ASK_HWLOC = ("install", "bench", "examples", "topo", "memory")
QUICK_FOLDERS = ["attr", "group", "info", "init", "errhan", "topo"]

# Set-up -> (environment, folders).
SETUPS = {
    "shm": ({}, ["install", "bench", "mpi", "examples", "memory"] + MPICH_FOLDERS),
    "cliques": ({"MPIR_CVAR_NUM_CLIQUES": "2"}, ["mpi", "examples"] + MPICH_FOLDERS),
    "thread": ({"MPIR_CVAR_WINDLASS_PROGRESS_THREAD": "on"}, ["mpi", "rma", "threads/rma", "errors/rma"]),
    # Those with threads (threads=yes in our lists). UCX watches memory from the ends of threads, where the
    # sanitizer is gone.
    "thread-tsan": ({"MPIR_CVAR_WINDLASS_PROGRESS_THREAD": "on", "UCX_MEM_EVENTS": "no"}, ["mpi", "threads/rma"]),
    "cliques-tsan": ({"MPIR_CVAR_NUM_CLIQUES": "2", "UCX_MEM_EVENTS": "no"}, ["mpi", "threads/rma"]),
    "engine-shm": ({"MPIR_CVAR_WINDLASS_COLL": "engine"}, ["coll", "errors/coll"]),
    "engine-cliques": ({"MPIR_CVAR_WINDLASS_COLL": "engine", "MPIR_CVAR_NUM_CLIQUES": "2"}, ["coll", "errors/coll"]),
    "tcp": ({"UCX_TLS": "tcp,self", "MPIR_CVAR_ODD_EVEN_CLIQUES": "1"}, ["mpi", "examples", "pt2pt", "rma", "coll",
                                                                        "threads/rma", "errors/rma", "errors/coll"]),
    "engine-tcp": ({"MPIR_CVAR_WINDLASS_COLL": "engine", "UCX_TLS": "tcp,self", "MPIR_CVAR_ODD_EVEN_CLIQUES": "1"},
                   ["coll", "errors/coll"]),
    # Those that say so (setup=fast) with the library as who wants it fast builds it.
    "fast": ({}, ["bench", "mpi"]),
}

# MPICH's time limits are for what goes through memory. Its rma_contig moves 24 GB: over tcp, on two processors and a build
# beside it, 130 s and more of its 180 where calls of the system take a microsecond.
TIME_FACTOR = {"tcp": 2, "engine-tcp": 2}

# The set-ups whose library is build-mpich's `tsan`, the device's files under the thread sanitizer; and the one whose is
# `fast`, without checks of arguments and without assertions.
TSAN = "-tsan"
FAST = "fast"

# Five programs that ran out of time, and more than half of those run: nothing works, and every further one
# would wait as long. The rest of the set-up counts as failed. (runtests stops at the same point.)
TIMEOUTS_MAX = 5

CFLAGS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror"]


class Suite:
    def __init__(self, top, work, prefix, report, option, cores):
        self.top, self.prefix, self.report, self.option, self.cores = top, prefix, report, option, cores
        self.work = work
        self.mpich = os.path.join(work, "mpich", "build", "test", "mpi")
        self.mpich_source = os.path.join(work, "mpich", "source", "test", "mpi")
        self.ours = os.path.join(work, "check")     # where ours are built, a directory per folder
        self.mpiexec = os.path.join(prefix, "bin", "mpiexec")
        self.mpicc = os.path.join(prefix, "bin", "mpicc")
        self.lists = {}         # folder -> programs
        self.described = None   # the machine, to hwloc
        self.unbuilt = {}       # (directory, name) -> output of the build
        self.library_failed = {}    # TSAN or FAST -> output of the build of that library, if it failed

    def folders(self, setup):
        folders = SETUPS[setup][1]
        if self.option.only:
            known = [folder.split("/")[0] for folder in list(OUR_FOLDERS) + MPICH_FOLDERS]
            for folder in self.option.only:
                if folder.split("/")[0] not in known:
                    raise SystemExit(f"check: no folder {folder}; there are: {' '.join(dict.fromkeys(known))}")
            return [folder for folder in folders
                    if any(only.split("/")[0] == folder.split("/")[0] for only in self.option.only)]
        if self.option.quick:
            return [folder for folder in folders
                    if folder in QUICK_FOLDERS or (folder in OUR_FOLDERS and folder not in NOT_QUICK)]
        return folders

    def programs(self, setup):
        programs = [program for folder in self.folders(setup) for program in self.lists[folder]
                    if not (self.option.quick and program.slow)]
        programs = [program for program in programs if not program.setups or setup in program.setups]
        if setup != "shm":          # there a program that says for itself what this set-up says is run as it would be here
            variables = SETUPS[setup][0].keys()
            programs = [program for program in programs if program.setups or not variables <= program.env.keys()]
        if setup == "cliques":      # in which a process by itself does what it does in shm
            programs = [program for program in programs if program.is_script or program.np > 1 or program.setups]
        if setup == FAST:
            programs = [program for program in programs if program.setups]
        if setup.endswith(TSAN):
            programs = [program for program in programs if program.threads or program.folder not in OUR_FOLDERS]
        if self.option.only:
            programs = [program for program in programs
                        if any((program.folder + "/").startswith(only + "/") for only in self.option.only)]
        factor = TIME_FACTOR.get(setup, 1)
        return [dataclasses.replace(program, time_limit_s=factor * program.time_limit_s) for program in programs]

    def find(self, setups):
        """Read the lists of all folders the set-ups use."""
        if not os.access(self.mpiexec, os.X_OK):
            raise SystemExit(f"check: there is no {self.mpiexec}; run ./maint/quickstart first "
                             "(with the same PREFIX and WORK)")
        makefile = os.path.join(self.mpich, "Makefile")
        if not os.path.exists(makefile):
            raise SystemExit(f"check: there is no {makefile}; run ./maint/quickstart first")
        with open(makefile) as text:
            if f"CC = {self.mpicc}\n" not in text.read():
                raise SystemExit(f"check: {self.mpich} is not configured for {self.mpicc}; is PREFIX right?")
        for folder in dict.fromkeys(folder for setup in setups for folder in self.folders(setup)):
            if folder in OUR_FOLDERS:
                self.lists[folder] = self.read_ours(folder)
            else:
                self.lists[folder] = self.read_mpich(folder)
        multiplier = float(os.environ.get("MPITEST_TIMEOUT_MULTIPLIER", "1"))
        for programs in self.lists.values():
            for program in programs:
                program.time_limit_s = int(program.time_limit_s * multiplier)

    def read_ours(self, folder):
        """Our programs are built in a directory of their own, as the standalone tests are."""
        source = os.path.join(self.top, OUR_FOLDERS[folder])
        build = os.path.join(self.ours, folder)
        path = os.path.join(source, "testlist")
        programs = testlist.read_list(path, folder, build, None) if os.path.exists(path) else []
        for program in programs:
            for setup in program.setups:
                if folder not in SETUPS.get(setup, ({}, []))[1]:
                    raise SystemExit(f"{path}: {program.name} is in no set-up {setup}")
        return programs

    def read_mpich(self, folder):
        directory = os.path.join(self.mpich, folder)
        path = os.path.join(directory, "testlist")
        if not os.path.exists(path):
            path = os.path.join(self.mpich_source, folder, "testlist")

        def enter(name):
            return [] if name in NOT_ENTERED else self.read_mpich(os.path.join(folder, name))
        return testlist.read_list(path, folder, directory, enter)

    # Building

    def build(self, setups):
        if any(setup.endswith(TSAN) for setup in setups):
            self.build_library(TSAN, "the device under the thread sanitizer")
        if FAST in setups:
            self.build_library(FAST, "without checks of arguments and assertions")
        self.build_programs([program for setup in setups for program in self.programs(setup)])

    def build_library(self, suffix, what):
        self.report.note(f"building the library, {what}")
        environment = dict(os.environ, WORK=self.work, PREFIX=self.prefix, JOBS=str((self.cores.jobs + 1) // 2))
        step = [os.path.join(self.top, "maint", "build-mpich"), suffix.lstrip("-")]
        status, output = self.cores.run(step, None, environment)
        if status != 0:
            self.library_failed[suffix] = output

    def library(self, which):
        return os.path.join(self.work, "mpich", which.lstrip("-"), "lib", ".libs")

    def build_programs(self, wanted):
        programs = {}           # directory -> names, in order
        folder_of = {}
        for program in wanted:
            programs.setdefault(program.directory, {})[program.name] = None
            folder_of[program.directory] = program.folder
        environment = dict(os.environ)
        if os.path.isdir("/usr/lib/ccache"):
            environment["PATH"] = "/usr/lib/ccache:" + environment["PATH"]
            environment["CCACHE_BASEDIR"] = os.path.dirname(os.path.dirname(self.mpich))
            environment["CCACHE_NOHASHDIR"] = "1"
        if any(directory.startswith(self.mpich) for directory in programs):
            self.report.note("building the libraries of MPICH's test suite")
            for part in ("dtpools", "util"):
                self.make(os.path.join(self.mpich, part), [], environment)

        def one(directory, names):
            self.report.note(f"building {folder_of[directory]}, {len(names)} programs")
            if directory.startswith(self.mpich):
                output = self.make(directory, list(names), environment)
            else:
                output = self.build_ours(folder_of[directory], directory, names, environment)
            for name in names:
                if not os.access(os.path.join(directory, name), os.X_OK):
                    self.unbuilt[directory, name] = output
        with concurrent.futures.ThreadPoolExecutor(self.cores.jobs) as pool:
            for done in [pool.submit(one, *item) for item in programs.items()]:
                done.result()

    def make(self, directory, names, environment):
        status, output = self.cores.run(["make", "-k", "SHELL=/bin/sh"] + names, directory, environment)
        if status != 0:
            self.report.log("build-" + os.path.relpath(directory, self.mpich), output)
        return output

    def build_ours(self, folder, build, names, environment):
        source = os.path.join(self.top, OUR_FOLDERS[folder])
        os.makedirs(build, exist_ok=True)
        headers = [os.path.join(source, file) for file in os.listdir(source) if file.endswith(".h")]
        headers.append(os.path.join(self.prefix, "include", "mpi.h"))

        def one(name):
            made = os.path.join(build, name)
            if name.endswith((".sh", ".py")):
                shutil.copy(os.path.join(source, name), made)
                return ""
            code = os.path.join(source, name + ".c")
            if not os.path.exists(code):
                return f"{code} is not there\n"
            if is_newer(made, [code] + headers):
                return ""
            if os.path.exists(made):
                os.remove(made)
            command = [self.mpicc] + CFLAGS + [f"-I{source}", "-o", made, code, "-lpthread", "-lm"]
            return self.cores.run(command, None, environment)[1]
        with concurrent.futures.ThreadPoolExecutor(self.cores.jobs) as pool:
            return "".join(pool.map(one, names))

    # Running

    def topology(self):
        """What hwloc finds on this machine, and a place without plugins of hwloc's, which it would load all the same: a
        third and more of what a process takes to start, else. Programs of ASK_HWLOC look for themselves, in the first set-up."""
        if self.described is None:
            self.described = {}
            name, tool = os.path.join(self.ours, "topology.xml"), shutil.which("lstopo-no-graphics")
            os.makedirs(self.ours, exist_ok=True)
            if tool and subprocess.run([tool, "--force", "--of", "xml", name], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL).returncode == 0:
                self.described = {"HWLOC_XMLFILE": name, "HWLOC_THISSYSTEM": "1", "HWLOC_PLUGINS_PATH": self.ours}
        return self.described

    def environment(self, setup, folder):
        environment = dict(SETUPS[setup][0])
        if setup != "shm" or folder not in ASK_HWLOC:
            environment.update(self.topology())
        if setup == FAST:       # mpiexec needs none of it
            environment["LD_LIBRARY_PATH"] = self.library(FAST)
        # For scripts: where things are.
        environment.update({
            "WDL_TOP": self.top, "WDL_WORK": self.work, "MPICC": self.mpicc, "MPIEXEC": self.mpiexec,
            "PATH": os.path.join(self.prefix, "bin") + os.pathsep + os.environ["PATH"],
        })
        return environment

    def tsan_arguments(self):
        """Of mpiexec, which is not to be sanitized itself. The sanitizer has to come before libc."""
        name = subprocess.run(["gcc", "-print-file-name=libtsan.so"], stdout=subprocess.PIPE, text=True).stdout.strip()
        return ["-genv", "LD_PRELOAD", name, "-genv", "LD_LIBRARY_PATH", self.library(TSAN)]

    def cores_of(self, program):
        """One for each rank if there are as many: with two programs of two ranks at a time on two cores, ranks that wait for
        each other seldom run together, and MPICH's rma took 109 s instead of 77 (cliques), 200 instead of 129 (tcp). More
        ranks than cores share them in any case, and with two programs' fewer cores are idle."""
        return program.np if not program.is_script and program.np <= self.cores.jobs else 1

    def run(self, setups):
        """One set-up after the other; the first programs of one run beside the last of the one before."""
        with concurrent.futures.ThreadPoolExecutor(self.cores.jobs) as pool:
            futures = [future for setup in setups for future in self.submit(setup, pool)]
            for future in futures:
                future.result()

    def submit(self, setup, pool):
        programs = self.programs(setup)
        environments = {folder: self.environment(setup, folder) for folder in {program.folder for program in programs}}
        arguments = self.tsan_arguments() if setup.endswith(TSAN) else []
        state = {"begun": 0, "ended": 0, "late": 0}
        lock = threading.Lock()

        def run(program):
            unbuilt = self.unbuilt.get((program.directory, program.name))
            if unbuilt is not None:
                return testlist.Result(False, "could not be built", lines_about(program.name, unbuilt), 0.0)
            for suffix, output in self.library_failed.items():
                if setup.endswith(suffix):
                    return testlist.Result(False, "its library could not be built", "\n".join(output.splitlines()[-60:]), 0.0)
            if state["late"] >= TIMEOUTS_MAX and state["late"] * 2 > state["ended"]:
                return testlist.Result(False, "not run: too many programs of this set-up ran out of time", "", 0.0)
            with self.cores.some(self.cores_of(program)):
                return testlist.run(program, self.mpiexec, environments[program.folder], arguments)

        def one(program):
            with lock:
                if state["begun"] == 0:
                    self.report.note(f"{setup}: {len(programs)} programs")
                state["begun"] += 1
            result = run(program)
            with lock:
                state["ended"] += 1
                state["late"] += result.timed_out
                self.report.result(f"{setup}: {program.title()}", result.ok, result.why, result.output, result.seconds,
                                   f"{state['ended']}/{len(programs)}")
        return [pool.submit(one, program) for program in programs]


def is_newer(made, inputs):
    return os.path.exists(made) and all(os.path.getmtime(path) <= os.path.getmtime(made) for path in inputs)


def lines_about(name, output):
    """The part of a build's output that speaks of one program."""
    lines = output.splitlines()
    about = [line for line in lines if re.search(rf"\b{re.escape(name)}\b", line) or "error" in line]
    return "\n".join((about or lines)[-60:])
