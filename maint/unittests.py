# Part of Windlass. See COPYRIGHT in the top-level directory.
"""The standalone library's `make check` in several builds, and `make distcheck`, from a copy of the source.

The copy lets the source tree itself be configured, or not have been through autogen.sh, as it likes.
"""

import filecmp
import os
import re
import shutil

import testlist

# Set-up -> arguments of configure.
SETUPS = {
    "unit": [],
    # The other compiler's build: unit and tsan are gcc's. Checks go in before what -O2 adds to -O1, which is half of what
    # compiling them takes.
    "sanitize": ["CC=clang", "--enable-sanitize=address,undefined", "CFLAGS=-g1 -O1"],
    "tsan": ["--enable-sanitize=thread"],
    "dist": [],
}

# From the tarball everything is built; of the tests, those run that read the tree they come with.
# Compilers' optimizations and what they warn of are the other builds' business.
DISTCHECK = ["distcheck", "TESTS=$(test_scripts)", "DISTCHECK_CONFIGURE_FLAGS=CFLAGS=-O0"]

# The quick part leaves out the tests of the scripts but that of tidy, which looks at the source.
QUICK = ["TESTS=test/maint/test_tidy.py $(library_tests)"]

# Set-up -> arguments of make check: scripts, which no compiler changes, are tested once, in unit; with tsan only tests that
# have threads, and nothing else is built.
TESTS = {
    "sanitize": ["TESTS=$(library_tests)"],
    "tsan": ["TESTS=$(thread_tests)", "check_PROGRAMS=$(thread_tests)"],
}

# Set-up -> what its tests find in their environment. Lies told to the worlds, which test the tests, worlds of thousands
# of ranks and two thirds of the seeds are run once, in unit (test/support/worlds.h).
SEEDS = {"WORLDS": "seeds"}
# The address sanitizer keeps what is freed from being used again until as much as this has been freed after it. Its own 256 MiB
# are always fresh pages, a third of the time of tests that hold a few MiB.
ENVIRONMENT = {"sanitize": {**SEEDS, "ASAN_OPTIONS": "quarantine_size_mb=16"}, "tsan": SEEDS}

# Built things and other people's files stay behind.
SKIPPED = re.compile(r"^(\..*|_.*|.*~|autom4te\.cache|build-aux|configure|Makefile|Makefile\.in|aclocal\.m4"
                     r"|config\.(log|status)|.*\.(o|a|log|trs)|windlass-.*)$")


def step(title, command, directory, environment, name, cores, report):
    """Run it; a failure is a failed test of its own."""
    status, output = cores.run(command, directory, environment)
    if status != 0:
        report.result(f"{name}: {title}", False, f"ended with status {status}", "\n".join(output.splitlines()[-200:]))
    return status == 0


def build_environment(work, name):
    # configure, and make after it, would rather have bash, which takes twice as long to start what they run.
    environment = {**os.environ, "CONFIG_SHELL": "/bin/sh", **ENVIRONMENT.get(name, {})}
    if os.path.isdir("/usr/lib/ccache"):
        environment["PATH"] = "/usr/lib/ccache:" + environment["PATH"]
        environment["CCACHE_BASEDIR"] = work
        environment["CCACHE_NOHASHDIR"] = "1"
    return environment


def copy_source(top, work, cores, report):
    """Copy the source, which all builds have in common; whether that went well."""
    source = os.path.join(work, "check", "source")
    mirror(top, source)
    return newer(os.path.join(source, "Makefile.in"), source) or \
        step("autogen.sh", ["./autogen.sh"], source, build_environment(work, "unit"), "source", cores, report)


def prepare(work, name, cores, report):
    """Configure; the directory of the build, or None if that failed."""
    build = os.path.join(work, "check", name)
    report.note(f"{name}: building")
    os.makedirs(build, exist_ok=True)
    configure = ["../source/configure", "--quiet"] + SETUPS[name]
    if os.path.exists(os.path.join(build, "config.status")) or \
            step("configure", configure, build, build_environment(work, name), name, cores, report):
        return build
    return None


def run(work, name, quick, cores, report):
    """A set-up, from the copy of the source."""
    build, environment = prepare(work, name, cores, report), build_environment(work, name)
    if build is None:
        return
    if name != "dist":
        make_check(name, build, environment, QUICK if quick else TESTS.get(name, []), cores, report)
    elif step("make distcheck", ["make"] + DISTCHECK, build, environment, name, cores, report):
        report.result("dist: make distcheck", True)


def make_check(name, build, environment, tests, cores, report):
    """`make check`, a result for each line of its test harness."""
    output = []
    seen = 0
    with cores.one():
        process = cores.popen(["make", "-k", "check", "AM_COLOR_TESTS=no"] + tests, build, environment)
        for line in process.stdout:
            output.append(line)
            match = re.match(r"(PASS|FAIL|XPASS|ERROR|SKIP|XFAIL): (\S+)", line)
            if match:
                # Nothing may be skipped or expected to fail, so only PASS passes.
                seen += 1
                log = os.path.join(build, match[2] + ".log")
                report.result(f"{name}: {match[2]}", match[1] == "PASS", match[1], read(log))
        status = process.wait()
        testlist.running.discard(process.pid)
    failed = any(failure[0].startswith(f"{name}: test/") for failure in report.failures)
    if seen == 0 or (status != 0 and not failed):
        report.result(f"{name}: make check", False, f"ended with status {status} after {seen} tests",
                      "".join(output[-200:]))


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def newer(made, source):
    """Whether `made` is there and newer than what autogen.sh reads."""
    inputs = ["configure.ac", "Makefile.am", "src/Makefile.mk", "test/Makefile.mk"]
    return os.path.exists(made) and all(
        os.path.getmtime(os.path.join(source, name)) <= os.path.getmtime(made) for name in inputs)


def mirror(top, source):
    """Make `source` a copy of the source in `top`, writing only what differs."""
    wanted = set()
    for directory, names, files in os.walk(top):
        names[:] = [name for name in names if not SKIPPED.match(name)]
        relative = os.path.relpath(directory, top)
        for file in files:
            if SKIPPED.match(file) and file != ".clang-format":
                continue
            path = os.path.normpath(os.path.join(relative, file))
            # Test programs built in place have no suffix.
            if path.startswith("test/") and "." not in file and os.path.exists(os.path.join(top, path + ".c")):
                continue
            wanted.add(path)
            copy(os.path.join(top, path), os.path.join(source, path))
    forget(source, wanted)


def copy(here, there):
    if os.path.exists(there) and filecmp.cmp(here, there, shallow=False):
        return
    os.makedirs(os.path.dirname(there), exist_ok=True)
    shutil.copy(here, there)


def forget(source, wanted):
    """Remove from the copy's src/ and test/ what is gone, so that it cannot be found any more."""
    for part in ("src", "test"):
        for directory, _, files in os.walk(os.path.join(source, part)):
            for file in files:
                path = os.path.relpath(os.path.join(directory, file), source)
                if path not in wanted:
                    os.remove(os.path.join(source, path))
