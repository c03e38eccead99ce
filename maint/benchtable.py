# Part of Windlass. See COPYRIGHT in the top-level directory.
"""What maint/bench prints and writes: tables for people, one TSV for programs, plots by gnuplot."""

import os
import shutil
import subprocess

import benchstat
import benchwanted
from benchstat import median, percentile, usable

# Rows shown as a rate, higher is better: name -> (unit, units of one operation per microsecond).
# Ratios stay those of the times.
RATES = {
    "bandwidth": ("MB/s", lambda row: row.bytes),
    "rate": ("M/s", lambda row: 1),
}


def number(value):
    """Three digits that mean something."""
    if value is None:
        return "-"
    for limit, digits in ((1, 4), (10, 3), (100, 2), (1000, 1)):
        if value < limit:
            return f"{value:.{digits}f}"
    return f"{value:.0f}"


def second(job):
    """The statistic beside the median: (its name, the function)."""
    if job.computing:
        return "95%", lambda samples: percentile(samples, 95)
    return "min", min


def shown(row, value):
    if value is None or row.name not in RATES:
        return number(value)
    return number(RATES[row.name][1](row) / max(value, 1e-9))


WAITS = "waits"         # for the target's return, in operations before this one


def cell_text(row, peer, gave_up):
    cell = row.cells.get(peer)
    if usable(cell):
        return f"{shown(row, median(cell.samples))}/{shown(row, second(row.job)[1](cell.samples))}"
    if cell is not None and cell.fault:
        return cell.fault
    if cell is not None and cell.waited:
        return WAITS
    if peer in row.lacking:
        return cell.state
    return "no" if gave_up else "-"


def row_words(row, peers, ours, floors, faults, stated):
    """`stated`: the table has a column of states."""
    floor = benchstat.floor(row, floors)
    found = benchstat.best(row, ours, median)
    mine = row.cells.get(ours)
    to_floor = median(mine.samples) / floor if floor and usable(mine) else None
    name = row.name + (f" [{RATES[row.name][0]}]" if row.name in RATES else "")
    words = [name, str(row.bytes) if row.bytes else "", shown(row, floor)]
    words += [state_text(row)] if stated else []
    words += [cell_text(row, peer, (row.job.title, peer) in faults) for peer in peers]
    words += [ratio_text(benchstat.ratio(row, ours, median)),
              ratio_text(benchstat.ratio(row, ours, second(row.job)[1])),
              found[0] if found else "-", ratio_text(to_floor)]
    return words + ([benchwanted.computing(row, ours, floors) or "-"] if row.job.computing else [])


def state_text(row):
    return " ".join([row.state] * bool(row.state) + ["alone"] * row.alone) or "-"


def ratio_text(value):
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def layout(table, left):
    """Lines of columns; `left`: those that are words, the rest are numbers."""
    widths = [max(len(words[k]) for words in table) for k in range(len(table[0]))]
    return ["  ".join(word.ljust(width) if k in left else word.rjust(width)
                      for k, (word, width) in enumerate(zip(words, widths))).rstrip()
            for words in table]


TAGS = "ucx_tags"       # the name of its rows in test/bench/floor_ucx.c


def tags_line(rows, floors):
    """What UCX alone takes for the messages of these rows, as a line, or none."""
    shares = [(row.bytes, floors[TAGS, row.bytes]) for row in rows
              if row.name == "half_round_trip" and floors.get((TAGS, row.bytes))]
    texts = [f"{size} bytes {median(samples):.3f}/{min(samples):.3f}" for size, samples in shares]
    return ["  half_round_trip by UCX alone: " + ", ".join(texts)] if texts else []


def rounds_text(job, rounds):
    """How many rounds the samples are of. `rounds`: of each part."""
    def text(count):
        return "1 round" if count == 1 else f"{count} rounds"
    if len(rounds) == 1:
        return text(rounds[0])
    return ", ".join(f"{text(count)} to {most} bytes"
                     for count, (_, most) in zip(rounds, job.parts))


def job_table(job, rows, peers, ours, floors, faults, rounds):
    """The lines of one job's table. `rounds`: of each of its parts."""
    name, of = second(job)
    stated = any(row.state or row.alone for row in rows)
    head = ["operation", "bytes", "floor"] + (["state"] if stated else []) + list(peers) + \
        ["ratio", f"({name})", "best peer", "/floor"] + (["wanted"] if job.computing else [])
    lines = [f"{job.title}: microseconds, median/{name} of {rounds_text(job, rounds)}"]
    if not rows:
        lines.append("  no rows")
    else:
        lines += ["  " + line for line in
                  layout([head] + [row_words(row, peers, ours, floors, faults, stated) for row in rows],
                         [head.index(word) for word in ("operation", "state", "best peer", "wanted")
                          if word in head])]
        lines += tags_line(rows, floors)
        by_median, compared = benchstat.tally(rows, ours, median)
        by_second, _ = benchstat.tally(rows, ours, of)
        if compared:
            also = "95th percentile" if job.computing else name
            lines.append(f"  at most 1.00 of the best peer: {by_median} of {compared} rows by the "
                         f"median, {by_second} by the {also}")
        lines += apart_lines(rows, "  ")[:1]
    for peer in peers:
        if (job.title, peer) in faults:
            lines.append(f"  {peer}: {faults[job.title, peer]}")
    return lines


BEHIND_SHOWN = 30


def states_lines(floors):
    """The hand-overs of the machine's states, if it had two in this run."""
    near, far = (floors.get(benchstat.HAND_OVER_OF[state]) for state in (benchstat.NEAR, benchstat.FAR))
    if not far:
        return []
    return [f"two states of the machine: a hand-over takes {min(near):.3f} us (near) or {median(far):.3f} us "
            "(far); each row is of one"]


def apart_lines(rows, indent=""):
    """How many rows are not comparable, and which, each with its state and that of the peers that lack it."""
    found = benchstat.apart(rows)
    if not found:
        return []
    lines = [f"{indent}not comparable, a peer has no samples of the row's state: {len(found)} rows"]
    for row in found[:BEHIND_SHOWN]:
        others = "".join(f", {peer} {row.cells[peer].state}" for peer in row.lacking)
        lines.append(f"{indent}  {row.name}, {row.bytes} bytes, {row.job.title}: {row.state}{others}")
    return lines + ([f"{indent}  and {len(found) - BEHIND_SHOWN} more"] if found[BEHIND_SHOWN:] else [])


def crowds_line(rows, ours):
    """The rows at most 1.00 by whether there is a processor for every rank: of the others one round says
    little."""
    texts = []
    for crowded, what in ((False, "with a processor for every rank"), (True, "with more ranks than processors")):
        done, compared = benchstat.tally([row for row in rows if row.job.crowded == crowded], ours, median)
        texts.append(f"{what} {done} of {compared}")
    return "  " + ", ".join(texts)


def summary(results, jobs, ours, floors):
    """All rows: how many are at most 1.00, and which are not."""
    rows = [row for job in jobs for row in results.of(job)]
    done, compared = benchstat.tally(rows, ours, median)
    if not compared:
        return apart_lines(rows)
    found = benchstat.behind(rows, ours, lambda job: second(job)[1])
    lines = [f"all: at most 1.00 of the best peer by the median: {done} of {compared} rows; above "
             f"it by the median and by the minimum (95%, target computing): {len(found)}",
             crowds_line(rows, ours)]
    table = [["ratio", "(min)", "operation", "bytes", "window, ranks", "best peer"]]
    for by_median, by_second, row in found[:BEHIND_SHOWN]:
        table.append([ratio_text(by_median), ratio_text(by_second), row.name,
                      str(row.bytes) if row.bytes else "", row.job.title,
                      benchstat.best(row, ours, median)[0]])
    if found:
        lines += ["  " + line for line in layout(table, (2, 4, 5))]
    if len(found) > BEHIND_SHOWN:
        lines.append(f"  and {len(found) - BEHIND_SHOWN} more")
    lines += apart_lines(rows) + benchwanted.lines(rows, ours, floors)
    for along in ("bytes", "ranks"):
        lines += turned(benchstat.turned(rows, ours, along), along)
    return lines + [""]


def turned(found, along):
    lines = [f"{along}: {len(found)} pairs of neighbours of which the one with fewer takes longer, "
             "by the median and by the minimum, beyond noise"]
    for value, less, more in found[:BEHIND_SHOWN]:
        lines.append(f"  {value:.2f}  {less.name}: {less.bytes} bytes, {less.job.title}, against "
                     f"{more.bytes} bytes, {more.job.title}")
    return lines


TSV_HEAD = ["job", "ranks", "number", "operation", "bytes", "peer", "samples", "median_us",
            "min_us", "p95_us", "floor_us", "ratio_of_ours", "wanted", "state", "fault"]


def tsv_lines(results, jobs, peers, ours, floors):
    yield TSV_HEAD
    for (name, size), samples in sorted(floors.items()):
        yield ["floor", "", "", name, str(size), "machine", str(len(samples)),
               f"{median(samples):.5f}", f"{min(samples):.5f}", f"{percentile(samples, 95):.5f}",
               "", "", "", "", ""]
    for job in jobs:
        for row in results.of(job):
            floor = benchstat.floor(row, floors)
            ratio = benchstat.ratio(row, ours, median)
            for peer in peers:
                cell = row.cells.get(peer) or benchstat.Cell()
                figures = [f"{median(cell.samples):.5f}", f"{min(cell.samples):.5f}",
                           f"{percentile(cell.samples, 95):.5f}"] if cell.samples else ["", "", ""]
                yield [job.title, str(job.np), str(row.number), row.name, str(row.bytes), peer,
                       str(len(cell.samples))] + figures + \
                    [f"{floor:.5f}" if floor else "",
                     f"{ratio:.4f}" if ratio is not None and peer == ours else "",
                     benchwanted.computing(row, ours, floors) if peer == ours else "",
                     cell.state + (" alone" if row.alone and cell.samples else ""),
                     cell.fault or results.faults.get((job.title, peer), "") or
                     (WAITS if cell.waited and not cell.samples else "")]


# --- plots --------------------------------------------------------------------------------------

PLOT = """set terminal svg size 1100,480 dynamic background rgb 'white'
set output '{output}'
set multiplot layout 1,2 title "{title}"
set logscale xy
set xtics ({tics})
set grid
set xlabel 'bytes'
set key top left
set ylabel 'microseconds, median'
plot {latency}
set ylabel 'MB/s'
plot {bandwidth}
unset multiplot
"""


def series(rows, peers, floors):
    """Curve -> [(bytes, microseconds)], of rows of one operation: a peer, or a variant of a peer's,
    where rows are named operation:variant."""
    curves = {}
    for row in rows:
        variant = row.name.partition(":")[2]
        for peer in peers:
            if usable(row.cells.get(peer)):
                curves.setdefault(f"{peer} {variant}".strip(), []).append(
                    (row.bytes, median(row.cells[peer].samples)))
        floor = benchstat.floor(row, floors)
        if floor:
            curves.setdefault("floor", []).append((row.bytes, floor))
    return curves


def size_text(size):
    for unit, name in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


TICS_MAX = 10


def tics(curves):
    """Sizes at the bottom of a plot: all of them, or every second, third..."""
    sizes = sorted({size for points in curves.values() for size, _ in points})
    return ", ".join(f"'{size_text(size)}' {size}"
                     for size in sizes[::-(-len(sizes) // TICS_MAX)])


def plot_text(title, curves, output):
    data, latency, bandwidth = [], [], []
    for index, (name, points) in enumerate(curves.items()):
        data.append(f"$d{index} << END")
        data += [f"{size} {us:.6g} {size / max(us, 1e-9):.6g}" for size, us in points]
        data.append("END")
        line = "with lines dashtype 2 linecolor 'gray'" if name == "floor" else "with linespoints"
        latency.append(f"$d{index} using 1:2 {line} title '{name}'")
        bandwidth.append(f"$d{index} using 1:3 {line} title '{name}'")
    return "\n".join(data) + "\n" + PLOT.format(
        output=output, title=title, tics=tics(curves), latency=", ".join(latency),
        bandwidth=", ".join(bandwidth))


def plots(results, jobs, peers, floors, out):
    """An SVG for each operation of each job with several sizes; returns how many, or why not."""
    if not shutil.which("gnuplot"):
        return "no plots: there is no gnuplot"
    made = 0
    for job in jobs:
        operations = {}
        for row in results.of(job):
            operations.setdefault(row.name.partition(":")[0], []).append(row)
        for name, rows in operations.items():
            curves = series(rows, peers, floors)
            if len({row.bytes for row in rows}) < 3 or not curves:
                continue
            output = os.path.join(out, f"{job.slug()}-{name}.svg")
            text = plot_text(f"{name}, {job.title}".replace("_", r"\\_"), curves, output)
            done = subprocess.run(["gnuplot"], input=text, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if done.returncode != 0:
                return f"no plots: gnuplot says {done.stdout.strip()[:200]}"
            made += 1
    return f"{made} plots"
