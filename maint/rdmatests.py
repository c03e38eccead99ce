# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests on machines with an RDMA device: guests of rdma-vm, over UCX's rc_verbs alone.

A guest is started once for a set-up; it runs one program after the other, those of test/mpi/rdmalist, and tells of
each end. The guests count what their devices sent; test/mpi/rma_counts.c compares such counts with puts and gets.
"""

import os
import re
import shlex
import subprocess
import tempfile
from dataclasses import dataclass, field

import mpitests
import testlist
import unittests

TRANSPORTS = "rc_verbs,ud_verbs,self"
COUNTERS = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
LIST = "test/mpi/rdmalist"
GUEST_S = 3600
PACKETS_MIN = 1000


@dataclass
class Setup:
    guests: int
    env: dict = field(default_factory=dict)


# Neighbouring ranks are on different nodes: on one machine because they are told so, on two because mpiexec deals
# ranks out in turns.
SETUPS = {"rdma": Setup(1, {"MPIR_CVAR_ODD_EVEN_CLIQUES": "1"}), "rdma-pair": Setup(2)}


def netmod_suite(top, work, cores, report):
    """The command of the suite every netmod passes, built with the standalone library."""
    build = unittests.copy_source(top, work, cores, report) and unittests.prepare(work, "unit", cores, report)
    program = "test/netmod/test_ucx"
    if not build:
        return []
    status, output = cores.run(["make", program], build, unittests.build_environment(work, "unit"))
    if status != 0:
        report.result(f"rdma: {program}", False, "could not be built", output)
        return []
    suite = testlist.Program("netmod", build, "test_ucx", 1, [TRANSPORTS], result="AnyOutput", time_limit_s=600)
    suite.command = f"CK_DEFAULT_TIMEOUT=300 {program} {TRANSPORTS}"
    return [suite]


def choose(suite):
    programs = testlist.read_list(os.path.join(suite.top, LIST), "", suite.ours, None)
    multiplier = float(os.environ.get("MPITEST_TIMEOUT_MULTIPLIER", "1"))
    for program in programs:
        if program.folder not in mpitests.OUR_FOLDERS:
            program.directory = os.path.join(suite.mpich, program.folder)
        program.time_limit_s = int(program.time_limit_s * multiplier)
    return programs


def build(suite, programs):
    suite.build_programs(programs)
    for program in programs:
        settings = "".join(f"{name}={shlex.quote(value)} " for name, value in program.env.items())
        program.command = (f"{settings}MPIEXEC_TIMEOUT={program.time_limit_s} {shlex.quote(suite.mpiexec)} "
                           f"-n {program.np} {' '.join(program.mpiexec_args)} ./{program.name} {' '.join(program.args)}")


def script(programs, directory, guests):
    """What the first guest runs. Outputs are files in `directory`; each end is a line on stdout."""
    lines = [f"cd {shlex.quote(directory)}"]
    if guests == 2:
        lines += ["printf 'rdma0\\nrdma1\\n' > hosts", f"export HYDRA_HOST_FILE={shlex.quote(directory)}/hosts"]
    for number, program in enumerate(programs):
        limit = program.time_limit_s + testlist.GRACE_S
        lines.append(f"(cd {shlex.quote(program.directory)} && timeout -k 5 {limit} sh -c {shlex.quote(program.command)}) "
                     f"> {number} 2>&1; echo ended {number} $?")
    for guest in range(guests):
        remote = f"$HYDRA_LAUNCHER_EXEC rdma{guest} " if guest else ""
        lines.append(f"echo device {guest} $({remote}cat {COUNTERS}/sent_pkts {COUNTERS}/rdma_sends)")
    return "\n".join(lines) + "\n"


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Guest:
    """Reads what the guest says, and reports it."""

    def __init__(self, name, programs, directory, report):
        self.name, self.programs, self.directory, self.report = name, programs, directory, report
        self.ended, self.packets, self.said = 0, {}, []

    def hear(self, line):
        self.said.append(line)
        if match := re.match(r"ended (\d+) (\d+)$", line):
            self.end(int(match[1]), int(match[2]))
        elif match := re.match(r"device (\d+) (\d+) (\d+)$", line):
            self.packets[int(match[1])] = int(match[2])
            self.report.note(f"{self.name}: device {match[1]} sent {match[2]} packets and {match[3]} messages")

    def end(self, number, status):
        program, output = self.programs[number], read(os.path.join(self.directory, str(number)))
        self.ended += 1
        why = "out of time" if status == 124 else testlist.judge(program, status, output)
        self.report.result(f"{self.name}: {program.title()}", why == "", why, output, None,
                           f"{self.ended}/{len(self.programs)}")
        for line in re.findall(r"^counted .*", output, re.M):
            self.report.note(f"{self.name}: {line}")

    def finish(self):
        for program in self.programs[self.ended:]:
            self.report.result(f"{self.name}: {program.title()}", False, "the guest ended before",
                               "".join(self.said[-40:]))
        for device in range(SETUPS[self.name].guests):
            packets = self.packets.get(device)
            self.report.result(f"{self.name}: device {device} is used", packets is not None and packets >= PACKETS_MIN,
                               f"it sent {packets} packets, not {PACKETS_MIN}")


def run_setup(name, top, programs, report):
    setup = SETUPS[name]
    report.note(f"{name}: {len(programs)} programs")
    with tempfile.TemporaryDirectory(prefix="windlass-rdma.") as directory:
        with open(os.path.join(directory, "script"), "w") as file:
            file.write(script(programs, directory, setup.guests))
        command = [os.path.join(top, "maint/rdma-vm"), "--guests", str(setup.guests), "--share", directory, "--timeout",
                   str(GUEST_S)]
        for variable, value in {"UCX_TLS": TRANSPORTS, **setup.env}.items():
            command += ["--env", f"{variable}={value}"]
        guest = Guest(name, programs, directory, report)
        with subprocess.Popen(command + ["sh", os.path.join(directory, "script")], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              start_new_session=True) as machine:
            testlist.running.add(machine.pid)   # an interrupt must not leave QEMU behind
            try:
                for line in machine.stdout:
                    guest.hear(line)
            finally:
                machine.terminate()
        testlist.running.discard(machine.pid)
    guest.finish()


def find(suite, setups):
    """Set-up -> programs."""
    suite.find([])
    return {name: [program for program in choose(suite) if program.np >= SETUPS[name].guests] for name in setups}


def show(programs):
    if "rdma" in programs:
        print(f"rdma: test/netmod/test_ucx {TRANSPORTS}")
    for name, chosen in programs.items():
        for program in chosen:
            print(f"{name}: {program.title()}")


def run(top, work, suite, programs, report):
    """These set-ups; the suite of the netmod runs on one guest."""
    for name, chosen in programs.items():
        build(suite, chosen)
        more = netmod_suite(top, work, suite.cores, report) if name == "rdma" else []
        run_setup(name, top, more + chosen, report)
