# Part of Windlass. See COPYRIGHT in the top-level directory.
"""The Promela models of test/model, checked with spin, and the tests of these tests.

Each model lists in its head what is to be found, a line a run:

  check holds safety [NAME[=VALUE] ...]             no assertion fails, no process is stuck
  check holds ltl PROPERTY [NAME[=VALUE] ...]       the property, where no process is forgotten for ever
  check fails ... BREAK_STEP [...]: what is left out

The names are defined for the preprocessor. A `fails` run leaves a step of the protocol out, and passes when spin finds
that out: a model that would hold without the step says nothing about it. Every run is exhaustive or a failure.
"""

import concurrent.futures
import glob
import os
import re
import resource
import shutil
import subprocess
import tempfile

import testlist

SETUP = "model"
RUN = re.compile(r"^ \* check (holds|fails) (safety|ltl \w+)((?: \w+(?:=\w+)?)*)(?::.*)?$", re.M)
ANY = re.compile(r"^ \* check .*$", re.M)
MEMORY_MB = 800
SECONDS = 30    # of a processor, for each step


def models(top):
    return sorted(glob.glob(os.path.join(top, "test", "model", "*.pml")))


def runs(model):
    """(expectation, what is looked for, names defined) of each run in the model's head"""
    with open(model) as file:
        text = file.read()
    found = [(match[1], match[2], match[3].split()) for match in RUN.finditer(text)]
    if len(found) != len(ANY.findall(text)) or not any(run[0] == "fails" for run in found):
        raise ValueError(f"{model}: the head's lines of runs cannot be read")
    return found


def title(model, expectation, what, names):
    return f"{SETUP}: {os.path.basename(model)} {' '.join([expectation, what] + names)}"


def titles(top):
    return [title(model, *run) for model in models(top) for run in runs(model)]


def verdict(output):
    """holds, fails, or None where the search did not come to its end."""
    errors = re.search(r"errors: (\d+)", output)
    if not errors:
        return None
    if int(errors[1]) > 0:
        found = re.search(r"pan:\d+: (assertion violated|invalid end state|acceptance cycle)", output)
        return "fails" if found else None
    unfinished = re.search(r"Search not completed|max search depth too small|out of memory", output)
    return None if unfinished else "holds"


def check(model, what, names):
    """The verdict and all that was printed."""
    liveness = what != "safety"
    directory = tempfile.mkdtemp(prefix="wdl_model_")
    output = []

    def step(command):
        process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)))
        testlist.running.add(process.pid)
        output.append(process.communicate()[0])
        testlist.running.discard(process.pid)
        return process.returncode == 0

    try:
        compile_names = [f"-DMEMLIM={MEMORY_MB}"] + (["-DNFAIR=3"] if liveness else ["-DSAFETY", "-DNOCLAIM"])
        search = ["-a", "-f", "-N", what.split()[1]] if liveness else []
        done = step(["spin", "-a"] + ["-D" + name for name in names] + [model]) and \
            step(["gcc", "-O1", "-w", "-o", "pan", "pan.c"] + compile_names)
        if done:
            step(["./pan", "-m2000000"] + search)
        return (verdict(output[-1]) if done else None), "\n".join(output)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run(top, cores, report):
    if not shutil.which("spin"):
        report.result(f"{SETUP}: spin", False, "is missing (Debian: apt-get install spin)")
        return

    def one(model, expectation, what, names):
        with cores.one():
            found, output = check(model, what, names)
        report.result(title(model, expectation, what, names), found == expectation, f"spin's verdict: {found or 'none'}",
                      output)
    with concurrent.futures.ThreadPoolExecutor(cores.jobs) as pool:
        for done in [pool.submit(one, model, *run) for model in models(top) for run in runs(model)]:
            done.result()
