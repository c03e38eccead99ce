# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Instructions of a call, counted by valgrind's callgrind: `maint/bench rma --instructions`.

Rank 0 runs under callgrind, which collects inside the called function alone. Two runs with
different numbers of calls; their difference, divided, is the cost of one call: what the first call
does more falls out.
"""

import os
import re
import shutil
import subprocess

import processes

FEW, MANY = 200, 1200
TIME_LIMIT_S = 300

# What counts.c calls it -> the function, and what else is to be said of it.
CALLS = {
    "put": "MPI_Put",
    "get": "MPI_Get",
    "accumulate": "MPI_Accumulate",
    "accumulate_64": "MPI_Accumulate of 64 bytes",
    "fetch_and_op": "MPI_Fetch_and_op",
    "flush": "MPI_Win_flush",
    "lock": "MPI_Win_lock",
    "unlock": "MPI_Win_unlock",
    "lock_shared": "MPI_Win_lock shared",
    "unlock_shared": "MPI_Win_unlock shared",
    "lock_exclusive": "MPI_Win_lock exclusive",
    "unlock_exclusive": "MPI_Win_unlock exclusive",
    "send": "MPI_Send",
    "recv": "MPI_Recv",
}

# Instructions MPI_Put may have: of ours, and of ours that checks no arguments (--fast).
PUT_MOST = {"windlass": 215, "fast": 100}


def per_call(few, many):
    """Instructions of one call from the totals of FEW and MANY."""
    return (many - few) / (MANY - FEW)


def command(peer, program, call, times, output):
    args = ["-n", "1", "valgrind", "--tool=callgrind", f"--callgrind-out-file={output}",
            f"--toggle-collect=*{CALLS[call].split()[0]}", program, "--call", call, "--times", str(times)]
    rest = [":", "-n", "1", program, "--call", call, "--times", str(times)]
    return peer.prefix(2) + args + rest


def total(path):
    with open(path) as file:
        found = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.MULTILINE)
    return int(found[1]) if found else 0


def count(peer, build, call, out):
    """Instructions of one call, or why there are none."""
    if not shutil.which("valgrind"):
        return "no valgrind"
    totals = []
    for times in (FEW, MANY):
        output = os.path.join(out, f"callgrind.{peer.name}.{call}.{times}")
        try:
            done = processes.run(command(peer, peer.path(build, "counts"), call, times, output), TIME_LIMIT_S,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired:
            return "late"
        if done.returncode != 0 or not os.path.exists(output):
            return "crash"
        totals.append(total(output))
    return per_call(*totals) if totals[1] > totals[0] else "not counted"


def text(value):
    return value if isinstance(value, str) else f"{value:.1f}"


def wanted_line(name, value):
    most = PUT_MOST[name]
    kept = not isinstance(value, str) and value <= most
    return f"  wanted of {name}: MPI_Put in at most {most}: {'met' if kept else 'not met'}"


def table(peers, build, out):
    """(lines of the table, whether every call was counted)"""
    counts = {}
    for peer in peers:
        for call in CALLS:
            counts[peer.name, call] = count(peer, build, call, out)
    lines = ["instructions of a call, 8 bytes, window allocate, 2 ranks; locks NOCHECK or as they say",
             "  " + "call".ljust(28) + "".join(peer.name.rjust(14) for peer in peers)]
    for call, name in CALLS.items():
        lines.append("  " + name.ljust(28) +
                     "".join(text(counts[peer.name, call]).rjust(14) for peer in peers))
    lines += [wanted_line(peer.name, counts[peer.name, "put"]) for peer in peers
              if peer.name in PUT_MOST]
    with open(os.path.join(out, "instructions.tsv"), "w") as file:
        file.write("call\tpeer\tinstructions\n")
        for (peer, call), value in counts.items():
            file.write(f"{CALLS[call]}\t{peer}\t{text(value)}\n")
    return lines, not any(isinstance(value, str) for value in counts.values())
