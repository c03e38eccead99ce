# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Lists of MPI test programs in the format of MPICH's runtests, and what passing means there.

A line is `program np key=value...`, `directory`, or a comment. MPICH's test/mpi/runtests is the
definition; differences are named here:

1. A program whose name ends in .sh or .py is run as it is, not through mpiexec (our lists only).
2. resultTest=AnyOutput asks for status 0 and looks at no output (our lists only).
3. resultTest=TestStatus asks for a non-zero status and nothing more. runtests means to look at the
   output as well but its pattern accepts every line.
4. slow=yes marks what is left out where only the quick part is wanted (our lists only).
5. threads=yes marks programs with threads, the ones to be run under the thread sanitizer (our lists only).
6. setup=NAME[,NAME...]: run in these set-ups of `check` alone: it takes so many processes, or so much time, and the others
   change nothing that it looks at (our lists only).
"""

import os
import re
import shlex
import subprocess
import signal
import time
from dataclasses import dataclass, field

TIME_LIMIT_S = 180      # of a program without timeLimit=; runtests' own
RESULTS = ("TestStatus", "TestErrFatal", "TestStatusNoErrors", "AnyOutput")
GRACE_S = 20            # mpiexec gets this much beyond the limit to end by itself


@dataclass
class Program:
    """One line of a list: one run of one program."""
    folder: str                 # relative to the top of the suite, such as errors/rma
    directory: str              # where it is built and run
    name: str
    np: int
    args: list = field(default_factory=list)
    env: dict = field(default_factory=dict)
    mpiexec_args: list = field(default_factory=list)
    time_limit_s: int = TIME_LIMIT_S
    result: str = ""            # resultTest=
    slow: bool = False
    threads: bool = False
    setups: tuple = ()          # setup=; (): every one of the folder's
    command: str = ""           # where it is run otherwise than by run()

    @property
    def is_script(self):
        return self.name.endswith((".sh", ".py"))

    def title(self):
        words = [f"{self.folder}/{self.name}"]
        if not self.is_script:
            words.append(f"np {self.np}")
        words += self.args + [f"{k}={v}" for k, v in self.env.items()]
        return " ".join(words)


@dataclass
class Result:
    ok: bool
    why: str                    # "" if ok
    output: str
    seconds: float
    timed_out: bool = False


def read_list(path, folder, directory, enter):
    """Programs of the list at `path`; enter(name) is called for each line that is a directory."""
    programs = []
    with open(path) as lines:
        for line in lines:
            words = line.split("#")[0].split()
            if not words:
                continue
            if os.path.isdir(os.path.join(directory, words[0])):
                programs += enter(words[0])
                continue
            program = parse_line(words, folder, directory, path)
            if program:
                programs.append(program)
    return programs


def parse_line(words, folder, directory, path):
    """A Program, or None for a line marked xfail=, which runtests leaves out unless told otherwise."""
    name, np = words[0], int(words[1]) if len(words) > 1 else 2
    if "/" in name:
        sub, name = os.path.split(name)
        folder, directory = os.path.join(folder, sub), os.path.join(directory, sub)
    program = Program(folder, directory, name, np)
    for word in words[2:]:
        key, equals, value = word.partition("=")
        if not equals:
            continue            # as runtests does
        if key == "xfail":
            return None
        if key == "arg":
            program.args.append(value)
        elif key == "env":
            variable, _, text = value.partition("=")
            program.env[variable] = text
        elif key == "mpiexecarg":
            program.mpiexec_args.append(value)
        elif key == "timeLimit":
            program.time_limit_s = int(value)
        elif key == "resultTest":
            if value not in RESULTS:
                raise SystemExit(f"{path}: unknown resultTest={value}")
            program.result = value
        elif key == "slow":
            program.slow = True
        elif key == "threads":
            program.threads = True
        elif key == "setup":
            program.setups = tuple(value.split(","))
        elif key not in ("strict", "mpix", "mpiversion", "lock", "mem", "init"):
            raise SystemExit(f"{path}: unknown key {key} in the line of {name}")
    return program


def judge(program, status, output):
    """Why this run is a failure; "" if it is none."""
    if program.result in ("TestStatus", "TestErrFatal"):
        return "" if status != 0 else "ended with status 0 where another is wanted"
    if program.is_script or program.result == "AnyOutput":
        return "" if status == 0 else f"ended with status {status}"
    seen = False
    for line in output.splitlines():
        if "FORTRAN STOP" in line:
            continue
        if re.match(r"\s*No [Ee]rrors\s*$", line) and not seen:
            seen = True
        elif not re.match(r"\s*Test Passed\s*$", line):
            return f"unexpected output: {line.strip()[:160] or '(an empty line)'}"
    if not seen:
        return "ended without saying No Errors"
    if program.result == "TestStatusNoErrors":
        return "" if status != 0 else "ended with status 0 where another is wanted"
    return "" if status == 0 else f"ended with status {status}"


running = set()         # process groups, so that an interrupt can end them


def stop_running():
    for group in list(running):
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            pass


def leftover(process):
    """What a killed program printed. Its children may have left its group and hold the pipe open."""
    try:
        return process.communicate(timeout=GRACE_S)[0]
    except subprocess.TimeoutExpired as expired:
        return expired.output or b""


def run(program, mpiexec, environment, mpiexec_args=()):
    """Run it once in its directory, mpiexec with more arguments than the list says; returns a Result."""
    env = dict(os.environ)
    env.update(environment)
    env.update(program.env)
    env["MPIEXEC_TIMEOUT"] = str(program.time_limit_s)
    if program.is_script:
        command = f"./{program.name} {' '.join(program.args)}"
    else:
        # The shell sees the arguments, as under runtests: lists may quote.
        command = (f"{shlex.quote(mpiexec)} -n {program.np} {' '.join([*mpiexec_args, *program.mpiexec_args])} "
                   f"./{program.name} {' '.join(program.args)}")
    start = time.monotonic()
    process = subprocess.Popen(command, shell=True, cwd=program.directory, env=env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    running.add(process.pid)
    late = False
    try:
        output, _ = process.communicate(timeout=program.time_limit_s + GRACE_S)
    except subprocess.TimeoutExpired:
        late = True
        os.killpg(process.pid, signal.SIGKILL)
        output = leftover(process)
    running.discard(process.pid)
    seconds = time.monotonic() - start
    output = output.decode(errors="replace")
    timed_out = late or (program.result == "" and seconds >= program.time_limit_s)
    why = f"still running after {program.time_limit_s} s" if timed_out else \
        judge(program, process.returncode, output)
    return Result(why == "", why, output, seconds, timed_out)
