# Part of Windlass. See COPYRIGHT in the top-level directory.
"""What maint/bench runs: the peers, and the runs of a kind (p2p, rma, coll)."""

import os
import shutil
import subprocess
from dataclasses import dataclass, field

KINDS = ("p2p", "rma", "coll")
CFLAGS = ["-std=gnu11", "-O2"]
OURS = "windlass"

# Program -> its sources in test/bench.
PROGRAMS = {
    "p2p": ["p2p.c"],
    "rma": ["rma.c", "rma_ops.c", "rma_check.c"],
    "coll": ["coll.c"],
    "gasnet": ["gasnet.c"],
    "counts": ["counts.c"],
}

ALL_BYTES = (0, 1 << 40)


def cores():
    return len(os.sched_getaffinity(0))


def compile_alone(arguments, what, wants=""):
    """Compile what needs no MPI; ends with a message where that fails."""
    if not shutil.which("cc"):
        raise SystemExit(f"bench: {what} cannot be compiled: there is no cc (Debian: gcc)")
    if subprocess.run(["cc"] + CFLAGS + arguments).returncode != 0:
        raise SystemExit(f"bench: {what} cannot be compiled{wants}")


@dataclass
class Job:
    """One way to run one program; done once in a round by every peer."""
    title: str
    program: str
    np: int
    args: list = field(default_factory=list)
    computing: bool = False     # samples are single operations: median and 95th percentile
    rows: str = ""              # regular expression, beside the user's
    every: int = 1              # each part in one of so many rounds, and all in the first
    parts: tuple = (ALL_BYTES,)  # the least and the most bytes of the rows of each
    mapped: bool = False        # computing: its operations are loads and stores of shared memory
    apart: bool = False         # every rank is a node of its own

    @property
    def crowded(self):
        return self.np > cores()

    def arguments(self, number, part):
        """What its program is told for one part in round `number`."""
        least, most = self.parts[part]
        chosen = [] if self.parts[part] == ALL_BYTES else ["--bytes", f"{least}-{most}"]
        return self.args + chosen + (["--turn", str(number)] if self.computing else [])

    def part_of(self, size):
        """The part in which rows of so many bytes are."""
        return next(part for part, (least, most) in enumerate(self.parts) if least <= size <= most)

    def part_title(self, part):
        least, most = self.parts[part]
        return self.title + ("" if len(self.parts) == 1 else f", {least} to {most} bytes")

    def slug(self):
        return "-".join(word.strip(",").lower() for word in self.title.split())


def jobs(kind, quick, ranks, tcp=False):
    """The runs of a kind. `ranks`: the numbers of ranks wanted, or None for all; by TCP, for those that
    have a processor each, since peers' waiting ranks give theirs to nobody."""
    made = {"p2p": p2p_jobs, "rma": rma_jobs, "coll": coll_jobs}[kind](quick)
    for job in made:
        job.apart, job.mapped = tcp, job.mapped and not tcp
    return [job for job in made if (job.np in ranks if ranks else not (tcp and job.crowded))]


def p2p_jobs(quick):
    few = r"^(half_round_trip|bandwidth)/(8|4096|65536|1048576)$|^(rate|barrier)/" if quick else ""
    return [Job("2 ranks", "p2p", 2, rows=few), Job("8 ranks", "p2p", 8)]


RMA_FEW = (r"^(put_flush|get_flush|accumulate_flush)/(8|65536)$"
           r"|^(fetch_and_op_flush|compare_and_swap_flush|lock_exclusive_put_unlock)/8$"
           r"|^(lock_all_unlock_all|fence)/0$|^(put_fence|pscw_put)/8$")
RMA_FEW_COMPUTING = r"^(put_flush|fetch_and_op_flush)/8$"
# Half a second for every operation in each part, whoever is measured: rma.c's CACHED divides them.
COMPUTING_PARTS = ((0, 65536), (65537, 4194304))
# Waiting ranks that yield nothing make every row of these long.
CROWDED_PARTS = ((0, 1024), (1025, 262144), (262145, 4194304))


def rma_jobs(quick):
    made = []
    windows = ("allocate", "create") if quick else ("allocate", "create", "dynamic")
    for window in windows:
        made.append(Job(f"window {window}, 2 ranks", "rma", 2, ["--window", window],
                        rows=RMA_FEW if quick else ""))
    for window in windows:
        made.append(Job(f"window {window}, target computing, 2 ranks", "rma", 2,
                        ["--window", window, "--computing"], True,
                        rows=RMA_FEW_COMPUTING if quick else "", every=2,
                        parts=(ALL_BYTES,) if quick else COMPUTING_PARTS,
                        mapped=window == "allocate"))
    made.append(Job("window creation, 2 ranks", "rma", 2, ["--creation"]))
    if quick:
        return made
    for np in (4, 8):
        for window in windows:
            made.append(Job(f"window {window}, {np} ranks", "rma", np,
                            ["--window", window, "--row", "0.5"], every=len(CROWDED_PARTS),
                            parts=CROWDED_PARTS))
        made.append(Job(f"window creation, {np} ranks", "rma", np, ["--creation"], every=3))
    return made


def coll_jobs(quick):
    few = r"^i?(bcast|allreduce|alltoall)/(8|65536)$|^i?barrier/" if quick else ""
    made = [Job(f"{np} ranks", "coll", np, rows=few) for np in ((2, 8) if quick else (2, 4, 8))]
    if not quick:
        made += [Job(f"others, {np} ranks", "coll", np, ["--more"], every=3) for np in (2, 8)]
    modes = r"^(broadcast|gather_all):(no,no|my,my|all,all|mpi)/8$" if quick else ""
    return made + [Job(f"gasnet_coll, {np} ranks", "gasnet", np, rows=modes, every=3)
                   for np in ((2,) if quick else (2, 8))]


# --- peers --------------------------------------------------------------------------------------


class Peer:
    """An MPI: its compiler, its mpiexec, and what its mpiexec must be told."""

    def __init__(self, name, mpicc, mpiexec, style, parameters=(), packages=()):
        self.name, self.mpicc, self.mpiexec = name, mpicc, mpiexec
        self.style = style              # "hydra" or "orte": whose options mpiexec has
        self.parameters = list(parameters)
        self.packages = list(packages)  # Debian's, that hold it
        self.settings = {}              # environment variables of its own
        self.absent = ""                # why it cannot be used

    def find(self):
        """Is it there? Sets `absent`."""
        for tool in (self.mpicc, self.mpiexec):
            if not shutil.which(tool):
                self.absent = f"there is no {tool}"
                return

    def compile(self, source, build, name):
        """The program `name`; sets `absent` if that fails."""
        os.makedirs(os.path.dirname(self.path(build, name)), exist_ok=True)
        sources = [os.path.join(source, file) for file in PROGRAMS[name]]
        done = subprocess.run([self.mpicc] + CFLAGS + ["-o", self.path(build, name)] + sources,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0:
            self.absent = f"{self.mpicc} fails: " + done.stdout.strip().split("\n")[0]

    def path(self, build, name):
        return os.path.join(build, self.name.replace(":", "-"), name)

    def prefix(self, np):
        """mpiexec with its options; with a core for every rank, every rank is bound to one."""
        bound = np <= cores()
        if self.style == "hydra":
            return [self.mpiexec] + (["-bind-to", "core"] if bound else [])
        command = [self.mpiexec]
        if os.geteuid() == 0:
            command.append("--allow-run-as-root")
        command += ["--bind-to", "core", "--map-by", "core"] if bound else \
            ["--bind-to", "none", "--oversubscribe"]
        return command + self.parameters

    def command(self, program, np, args):
        return self.prefix(np) + ["-n", str(np), program] + args


def mca(*pairs):
    return [word for name, value in pairs for word in ("--mca", name, value)]


# UCX without InfiniBand is refused unless asked for.
ANY_UCX = (("pml", "ucx"), ("opal_common_ucx_tls", "any"), ("opal_common_ucx_devices", "any"))


def openmpi(name, *parameters):
    # By their full names: plain mpicc and mpiexec are whichever package came last.
    return Peer(name, "mpicc.openmpi", "mpiexec.openmpi", "orte", mca(*parameters),
                ["openmpi-bin", "libopenmpi-dev"])


def hydra_at(name, prefix):
    return Peer(name, os.path.join(prefix, "bin", "mpicc"), os.path.join(prefix, "bin", "mpiexec"),
                "hydra")


def with_settings(word, prefix):
    """windlass:LABEL@NAME=VALUE[@NAME=VALUE...]"""
    name, *settings = word.split("@")
    if not name.startswith(OURS + ":") or any("=" not in setting for setting in settings):
        raise SystemExit(f"bench: {word} is not {OURS}:LABEL@NAME=VALUE")
    made = hydra_at(name, prefix)
    made.settings = dict(setting.split("=", 1) for setting in settings)
    return made


# What has every rank of an MPI be a node of its own, and talk by TCP.
BY_TCP = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}


def by_tcp(made):
    """The same peer by TCP."""
    made.settings = {**BY_TCP, **made.settings}
    if made.style == "orte" and "ucx" not in made.name:
        made.parameters += mca(("pml", "ob1"), ("btl", "tcp,self"))
    return made


def default_peers(kind, tcp=False):
    if kind == "rma" and tcp:
        return [OURS, "mpich", "nemesis", "openmpi", "openmpi-ucx"]
    if kind == "rma":
        return [OURS, "mpich", "nemesis", "openmpi-sm", "openmpi-rdma", "openmpi-ucx"]
    return [OURS, "mpich", "openmpi"]


def peer(word, prefix, nemesis):
    """The peer a word of --peers means. `nemesis`: the directory given to build-nemesis."""
    if "@" in word:
        return with_settings(word, prefix)
    name, equals, where = word.partition("=")
    if equals:
        return hydra_at(name, os.path.abspath(where))
    known = {
        OURS: lambda: hydra_at(OURS, prefix),
        "mpich": lambda: Peer("mpich", "mpicc.mpich", "mpiexec.mpich", "hydra", (),
                              ["mpich", "libmpich-dev"]),
        "nemesis": lambda: hydra_at("nemesis", os.path.join(nemesis, "install")),
        "openmpi": lambda: openmpi("openmpi"),
        "openmpi-sm": lambda: openmpi("openmpi-sm", ("osc", "sm")),
        "openmpi-rdma": lambda: openmpi("openmpi-rdma", ("osc", "rdma")),
        "openmpi-ucx": lambda: openmpi("openmpi-ucx", ("osc", "ucx"), *ANY_UCX),
    }
    if name not in known:
        raise SystemExit(f"bench: no peer {name}; there are: {' '.join(known)}, NAME=PREFIX, "
                         f"{OURS}:LABEL@NAME=VALUE")
    return known[name]()
