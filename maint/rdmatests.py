# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests on machines with an RDMA device: guests of rdma-vm, over UCX's rc_verbs alone.

A guest is started once for a set-up; it runs one program after the other and tells of each end.
"""

import os
import re
import shlex
import subprocess
import tempfile

import testlist
import unittests

# Set-up -> number of guests; with two, neighbouring ranks are on different machines.
SETUPS = {"rdma": 1, "rdma-pair": 2}
TRANSPORTS = "rc_verbs,ud_verbs,self"
# Of our programs and of MPICH's, those about one-sided communication that take a second or so elsewhere.
OUR_PROGRAMS = ("rma_matrix", "acc_types", "rma_types")
MPICH_PROGRAMS = ("test1", "test2", "test3", "test4", "put_base", "putfidx", "accfence2", "transpose3", "pscw_ordering",
                  "fetch_and_op_int", "compare_and_swap", "get_accumulate_int", "lockcontention", "win_flavors", "flush", "req_example")
RANKS_MAX = 5
SLOWER = 3              # than the machine it runs on
GUEST_S = 3600
PACKETS_MIN = 1000


def netmod_suite(top, work, jobs, report):
    """The command of the suite every netmod passes, built with the standalone library."""
    build, environment = unittests.prepare(top, work, "unit", report)
    program = "test/netmod/test_ucx"
    if build is None:
        return []
    made = subprocess.run(["make", f"-j{jobs}", program], cwd=build, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if made.returncode != 0:
        report.result(f"rdma: {program}", False, "could not be built", made.stdout)
        return []
    suite = testlist.Program("netmod", build, "test_ucx", 1, [TRANSPORTS], result="AnyOutput", time_limit_s=600)
    suite.command = f"CK_DEFAULT_TIMEOUT=300 {program} {TRANSPORTS}"
    return [suite]


def choose(suite):
    programs = suite.read_ours("examples")
    programs += [program for program in suite.read_ours("mpi") if program.name in OUR_PROGRAMS]
    mpich = suite.read_mpich("rma")
    missing = set(MPICH_PROGRAMS) - {program.name for program in mpich}
    if missing:
        raise ValueError(f"MPICH's rma tests have no {', '.join(sorted(missing))}")
    programs += [program for program in mpich if program.name in MPICH_PROGRAMS]
    return [program for program in programs if program.np <= RANKS_MAX]


def build(suite, programs):
    suite.build_programs(programs)
    for program in programs:
        settings = "".join(f"{name}={shlex.quote(value)} " for name, value in program.env.items())
        program.command = (f"{settings}MPIEXEC_TIMEOUT={program.time_limit_s * SLOWER} {shlex.quote(suite.mpiexec)} "
                           f"-n {program.np} {' '.join(program.mpiexec_args)} ./{program.name} {' '.join(program.args)}")


def script(programs, directory, guests):
    """What the guest runs. Outputs are files in `directory`; each end is a line on stdout."""
    lines = [f"cd {shlex.quote(directory)}"]
    if guests == 2:
        lines += ["printf 'rdma0\\nrdma1\\n' > hosts", f"export HYDRA_HOST_FILE={shlex.quote(directory)}/hosts"]
    for number, program in enumerate(programs):
        limit = program.time_limit_s * SLOWER + testlist.GRACE_S
        lines.append(f"(cd {shlex.quote(program.directory)} && timeout {limit} sh -c {shlex.quote(program.command)}) "
                     f"> {number} 2>&1; echo ended {number} $?")
    lines.append("echo packets $(cat /sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts)")
    return "\n".join(lines) + "\n"


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def run_setup(name, top, programs, report):
    guests = SETUPS[name]
    report.note(f"{name}: {len(programs)} programs")
    with tempfile.TemporaryDirectory(prefix="windlass-rdma.") as directory:
        with open(os.path.join(directory, "script"), "w") as file:
            file.write(script(programs, directory, guests))
        command = [os.path.join(top, "maint/rdma-vm"), "--guests", str(guests), "--share", directory, "--timeout",
                   str(GUEST_S), "--env", f"UCX_TLS={TRANSPORTS}", "sh", os.path.join(directory, "script")]
        guest = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, errors="replace")
        ended, packets, said = 0, None, []
        for line in guest.stdout:
            said.append(line)
            match = re.match(r"ended (\d+) (\d+)$", line)
            if match:
                number, status = int(match[1]), int(match[2])
                ended += 1
                output = read(os.path.join(directory, str(number)))
                why = "out of time" if status == 124 else testlist.judge(programs[number], status, output)
                report.result(f"{name}: {programs[number].title()}", why == "", why, output, None,
                              f"{ended}/{len(programs)}")
            match = re.match(r"packets (\d+)$", line)
            packets = int(match[1]) if match else packets
        guest.wait()
    for program in programs[ended:]:
        report.result(f"{name}: {program.title()}", False, "the guest ended before", "".join(said[-40:]))
    report.result(f"{name}: the device sent {packets} packets", packets is not None and packets >= PACKETS_MIN,
                  f"fewer than {PACKETS_MIN}")


def run(top, work, suite, option, report):
    suite.find([])
    programs = choose(suite)
    pair = [program for program in programs if program.np > 1]
    if option.list:
        print(f"rdma: test/netmod/test_ucx {TRANSPORTS}")
        for name, chosen in (("rdma", programs), ("rdma-pair", pair)):
            for program in chosen:
                print(f"{name}: {program.title()}")
        return
    build(suite, programs)
    run_setup("rdma", top, netmod_suite(top, work, option.jobs, report) + programs, report)
    run_setup("rdma-pair", top, pair, report)
