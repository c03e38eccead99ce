# Part of Windlass. See COPYRIGHT in the top-level directory.
"""maint/bench coll --simulated: collectives in simulated time, against what no algorithm can beat."""

import os
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass

import benchplan

SOURCES = ["test/bench/coll_simulated.c", "test/mpid/coll/simtime.c", "test/mpid/coll/least.c",
           "test/mpid/coll/walk.c", "test/mpid/coll/ranks.c", "test/host/testhost.c"]


@dataclass
class Row:
    network: str
    operation: str
    bytes: int
    ranks: int
    ns: int
    messages: int
    least: int

    @property
    def ratio(self):
        return self.ns / self.least


def library_sources(text):
    """The core's and the simulated network's files, of src/Makefile.mk."""
    found = []
    for name in ("windlass_core_sources", "windlass_sim_sources"):
        block = re.search(name + r" = \\\n((?:.*\\\n)*.*\n)", text).group(1)
        found += re.findall(r"%D%/(\S+\.c)", block)
    return found


def build(top, program):
    with open(os.path.join(top, "src", "Makefile.mk")) as file:
        sources = ["src/" + name for name in library_sources(file.read())] + SOURCES
    os.makedirs(os.path.dirname(program), exist_ok=True)
    benchplan.compile_alone(["-o", program, "-I", os.path.join(top, "src"), "-I", os.path.join(top, "test")] +
                            [os.path.join(top, name) for name in sources], "the simulation")


def rows_of(lines):
    for line in lines:
        fields = line.rstrip("\n").split("\t")
        if len(fields) == 8 and fields[0] == "=":
            yield Row(fields[1], fields[2], *map(int, fields[3:]))


def every_number(lines, ranks_max):
    """What the program found for all numbers of ranks, not only those of its rows, as text."""
    found, worst = [], {}
    for line in lines:
        fields = line.rstrip("\n").split("\t")
        if fields[0] == "!":
            worst[tuple(fields[1:3])] = (int(fields[3]), int(fields[4]) / 1000)
        if fields[0] == ">":
            ranks, ratio = worst[tuple(fields[1:3])]
            beyond, last = int(fields[3]), int(fields[4])
            found.append(f"{fields[2]} on {fields[1]}, every number of ranks to {ranks_max}: at most "
                         f"{ratio:.3f} of the least time ({ranks} ranks); above 1.1 with " +
                         (f"{beyond} numbers, {last} the greatest" if beyond else "none"))
    return found


def turned(rows, along):
    """Pairs of neighbours, less before more, of which the first is slower; the worst first."""
    other = {"bytes": "ranks", "ranks": "bytes"}[along]
    groups, found = {}, []
    for row in rows:
        groups.setdefault((row.network, row.operation, getattr(row, other)), []).append(row)
    for group in groups.values():
        group.sort(key=lambda row: getattr(row, along))
        found += [(less, more) for less, more in zip(group, group[1:]) if less.ns > more.ns]
    return sorted(found, key=lambda pair: pair[1].ns / pair[0].ns)


TURNED_SHOWN = 5


def table(rows):
    """The lines of the table: microseconds, and the ratio to the least time."""
    lines = []
    for network in dict.fromkeys(row.network for row in rows):
        mine = [row for row in rows if row.network == network]
        lines.append(f"{network}: simulated microseconds (times the least possible)")
        keys = dict.fromkeys((row.operation, row.bytes) for row in mine)
        ranks = sorted({row.ranks for row in mine})
        cells = {(row.operation, row.bytes, row.ranks): f"{row.ns / 1000:.0f} ({row.ratio:.2f})"
                 for row in mine}
        head = ["operation", "bytes"] + [str(p) for p in ranks]
        texts = [head] + [[name, str(size) if size else ""] +
                          [cells.get((name, size, p), "-") for p in ranks] for name, size in keys]
        widths = [max(len(words[k]) for words in texts) for k in range(len(head))]
        lines += ["  " + "  ".join(word.rjust(width) for word, width in zip(words, widths))
                  for words in texts] + [""]
    return lines + summary(rows)


def summary(rows):
    lines = []
    for name in ("barrier", "bcast"):
        small = [row for row in rows if row.operation == name and row.bytes <= 8]
        if small:
            worst = max(small, key=lambda row: row.ratio)
            lines.append(f"{name}, at most 8 bytes: at most {worst.ratio:.3f} of the least time "
                         f"({worst.network}, {worst.ranks} ranks)")
    for along in ("bytes", "ranks"):
        found = turned(rows, along)
        lines.append(f"slower with fewer {along}: {len(found)} pairs of neighbours")
        lines += [f"  {less.ns / more.ns:.2f}  {less.network} {less.operation}: {less.bytes} bytes, "
                  f"{less.ranks} ranks against {more.bytes} bytes, {more.ranks} ranks"
                  for less, more in found[:TURNED_SHOWN]]
    return lines


PLOT = """set terminal svg size 1300,480 dynamic background rgb 'white'
set output '{output}'
set multiplot layout 1,{count} title "{title}"
set logscale xy
set grid
set xlabel 'ranks'
set ylabel 'simulated microseconds'
set key top left
"""


def plot_text(operation, rows, output):
    """A plot per network: time over ranks, a curve per size; grey, the least time of each."""
    networks = list(dict.fromkeys(row.network for row in rows))
    data, plots = [], []
    for network in networks:
        curves = []
        for size in dict.fromkeys(row.bytes for row in rows if row.network == network):
            mine = [row for row in rows if (row.network, row.bytes) == (network, size)]
            name = f"$d{len(data)}"
            data.append(f"{name} << END\n" + "".join(
                f"{row.ranks} {row.ns / 1000:.3f} {row.least / 1000:.3f}\n" for row in mine) + "END")
            curves += [f"{name} using 1:2 with linespoints title '{size} bytes'",
                       f"{name} using 1:3 with lines dashtype 2 linecolor 'gray' notitle"]
        plots.append(f"set title '{network}'\nplot " + ", ".join(curves))
    return "\n".join(data) + "\n" + PLOT.format(output=output, count=len(networks),
                                                title=operation) + "\n".join(plots) + \
        "\nunset multiplot\n"


def plots(rows, out):
    if not shutil.which("gnuplot"):
        return "no plots: there is no gnuplot"
    operations = list(dict.fromkeys(row.operation for row in rows))
    for operation in operations:
        text = plot_text(operation, [row for row in rows if row.operation == operation],
                         os.path.join(out, f"simulated-{operation}.svg"))
        done = subprocess.run(["gnuplot"], input=text, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            return f"no plots: gnuplot says {done.stdout.strip()[:200]}"
    return f"{len(operations)} plots"


def run(top, out, ranks_max):
    """Everything; returns the exit status."""
    program = os.path.join(out, "programs", "coll_simulated")
    build(top, program)
    done = subprocess.run([program, str(ranks_max)], stdout=subprocess.PIPE, text=True)
    rows = list(rows_of(done.stdout.splitlines()))
    if done.returncode != 0 or not rows:
        print(f"bench: the simulation failed with status {done.returncode}")
        return 1
    lines = table(rows) + every_number(done.stdout.splitlines(), ranks_max)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines.append(f"{len(rows)} rows; the simulation took {used.ru_utime / 60:.1f} minutes of "
                 f"processor time and at most {used.ru_maxrss // 1024} MB")
    with open(os.path.join(out, "simulated.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")
    with open(os.path.join(out, "simulated.tsv"), "w") as file:
        file.write(done.stdout)
    print("\n".join(lines))
    print(plots(rows, out) + f"; all of it in {out}")
    return 0
