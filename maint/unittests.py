# Part of Windlass. See COPYRIGHT in the top-level directory.
"""The standalone library's `make check` in several builds, and `make distcheck`, from a copy of the source.

The copy lets the source tree itself be configured, or not have been through autogen.sh, as it likes.
"""

import filecmp
import os
import re
import shutil
import subprocess

# Set-up -> arguments of configure.
SETUPS = {
    "unit": [],
    "clang": ["CC=clang"],
    "sanitize": ["--enable-sanitize=address,undefined"],
    "tsan": ["--enable-sanitize=thread"],
    "dist": [],
}

# From the tarball everything is built; of the tests, those run that read the tree they come with.
DISTCHECK = ["distcheck", "TESTS=$(test_scripts)"]

# The quick part leaves out the tests of the scripts but that of tidy, which looks at the source.
QUICK = ["TESTS=test/maint/test_tidy.py $(library_tests)"]

# Set-up -> arguments of make check: scripts, which no compiler changes, are tested once, in unit; with tsan only tests that
# have threads, and nothing else is built.
TESTS = {
    "clang": ["TESTS=$(library_tests)"],
    "sanitize": ["TESTS=$(library_tests)"],
    "tsan": ["TESTS=$(thread_tests)", "check_PROGRAMS=$(thread_tests)"],
}

# Set-up -> what its tests find in their environment. Lies told to the worlds, which test the tests, and worlds of
# thousands of ranks are run once, in unit (test/support/worlds.h).
SEEDS = {"WORLDS": "seeds"}
ENVIRONMENT = {"clang": SEEDS, "sanitize": SEEDS, "tsan": SEEDS}

# Built things and other people's files stay behind.
SKIPPED = re.compile(r"^(\..*|_.*|.*~|autom4te\.cache|build-aux|configure|Makefile|Makefile\.in|aclocal\.m4"
                     r"|config\.(log|status)|.*\.(o|a|log|trs)|windlass-.*)$")


def step(title, command, directory, environment, name, report):
    """Run it; a failure is a failed test of its own."""
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode != 0:
        report.result(f"{name}: {title}", False, f"ended with status {done.returncode}",
                      "\n".join(done.stdout.splitlines()[-200:]))
    return done.returncode == 0


def prepare(top, work, name, report):
    """Copy and configure; (directory of the build, environment), or (None, None) if that failed."""
    source = os.path.join(work, "check", "source")
    build = os.path.join(work, "check", name)
    environment = {**os.environ, **ENVIRONMENT.get(name, {})}
    if os.path.isdir("/usr/lib/ccache"):
        environment["PATH"] = "/usr/lib/ccache:" + environment["PATH"]
        environment["CCACHE_BASEDIR"] = work
        environment["CCACHE_NOHASHDIR"] = "1"

    report.note(f"{name}: building")
    mirror(top, source)
    if not newer(os.path.join(source, "Makefile.in"), source):
        if not step("autogen.sh", ["./autogen.sh"], source, environment, name, report):
            return None, None
    os.makedirs(build, exist_ok=True)
    if not os.path.exists(os.path.join(build, "config.status")):
        configure = ["../source/configure", "--quiet"] + SETUPS[name]
        if not step("configure", configure, build, environment, name, report):
            return None, None
    return build, environment


def run(top, work, name, option, report):
    jobs = option.jobs
    build, environment = prepare(top, work, name, report)
    if build is None:
        return
    if name != "dist":
        make_check(name, build, environment, jobs, QUICK if option.quick else TESTS.get(name, []), report)
    elif step("make distcheck", ["make", f"-j{jobs}"] + DISTCHECK, build, environment, name, report):
        report.result("dist: make distcheck", True)


def make_check(name, build, environment, jobs, tests, report):
    """`make check`, a result for each line of its test harness."""
    process = subprocess.Popen(["make", "-k", f"-j{jobs}", "check", "AM_COLOR_TESTS=no"] + tests,
                               cwd=build, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
    output = []
    seen = 0
    for line in process.stdout:
        output.append(line)
        match = re.match(r"(PASS|FAIL|XPASS|ERROR|SKIP|XFAIL): (\S+)", line)
        if match:
            # Nothing may be skipped or expected to fail, so only PASS passes.
            seen += 1
            log = os.path.join(build, match[2] + ".log")
            report.result(f"{name}: {match[2]}", match[1] == "PASS", match[1], read(log))
    status = process.wait()
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
