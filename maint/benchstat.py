# Part of Windlass. See COPYRIGHT in the top-level directory.
"""maint/bench's arithmetic: what was measured, medians, floors, ratios.

All times are microseconds of one operation; lower is better. A row is (job, number): the number is
the program's own. A peer's samples of all rounds are taken together.
"""

from dataclasses import dataclass, field


@dataclass
class Cell:
    """One peer's results of one row."""
    samples: list = field(default_factory=list)
    fault: str = ""             # why there is nothing (more): "fails", "wrong data", "late"
    waited: bool = False        # target computing: another operation waited for its return


@dataclass(eq=False)
class Row:
    job: object                 # a benchplan.Job
    number: int
    name: str
    bytes: int
    cells: dict = field(default_factory=dict)   # name of the peer -> Cell

    def cell(self, peer):
        return self.cells.setdefault(peer, Cell())


def median(samples):
    ordered = sorted(samples)
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return (ordered[half - 1] + ordered[half]) / 2


def percentile(samples, percent):
    """The smallest sample that at least so many percent of them do not exceed."""
    ordered = sorted(samples)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def usable(cell):
    """Whether the peer did this row. Samples of a row that once failed are not believed."""
    return cell is not None and bool(cell.samples) and not cell.fault


def best(row, ours, of):
    """(name, value) of the best peer that is not `ours`, with or without settings ("ours:LABEL");
    None if nobody else did the row."""
    values = [(of(cell.samples), peer) for peer, cell in row.cells.items()
              if peer.partition(":")[0] != ours and usable(cell)]
    if not values:
        return None
    value, peer = min(values)
    return peer, value


def ratio(row, ours, of):
    """Our time over the best peer's: at most 1.0 is wanted; None where one of them has none."""
    found = best(row, ours, of)
    if not found or not usable(row.cells.get(ours)):
        return None
    return of(row.cells[ours].samples) / max(found[1], 1e-9)


# What the machine must do for an operation: name -> (hand-overs of a cache line, locked adds,
# fences, copies of its bytes). A put is its bytes and a fence; a lock is taken and released; a
# barrier of two processes is a line there and a line back. Window creation has no floor.
FLOORS = {
    "half_round_trip": (1, 0, 0, 1),
    "bandwidth": (0, 0, 0, 1),
    "barrier": (2, 0, 0, 0),
    "put_flush": (0, 0, 1, 1),
    "get_flush": (0, 0, 1, 1),
    "accumulate_flush": (0, 1, 1, 1),
    "get_accumulate_flush": (0, 1, 1, 1),
    "fetch_and_op_flush": (0, 1, 0, 0),
    "compare_and_swap_flush": (0, 1, 0, 0),
    "put_x64_flush": (0, 0, 1, 1),
    "accumulate_x64_flush": (0, 64, 1, 1),
    "vector512_put_flush": (0, 0, 1, 1),
    "vector512_get_flush": (0, 0, 1, 1),
    "vector512_accumulate_flush": (0, 0, 1, 1),
    "rput_wait": (0, 0, 0, 1),
    "lock_shared_put_unlock": (0, 2, 0, 1),
    "lock_exclusive_put_unlock": (0, 2, 0, 1),
    "lock_nocheck_put_unlock": (0, 0, 1, 1),
    "lock_all_unlock_all": (0, 2, 0, 0),
    "put_fence": (2, 0, 0, 1),
    "fence": (2, 0, 0, 0),
    "pscw_put": (2, 0, 0, 1),
    "pscw": (2, 0, 0, 0),
    "bcast": (1, 0, 0, 1),
    "reduce": (1, 0, 0, 1),
    "allreduce": (2, 0, 0, 1),
    "scan": (1, 0, 0, 1),
    "allgather": (1, 0, 0, 2),
    "alltoall": (1, 0, 0, 2),
}


def floor(row, measured):
    """The row's floor, of the smallest samples: what disturbs the machine is not of the machine.
    `measured`: (name, bytes) -> samples. None if it has none: there is no floor for more processes
    than processors."""
    name = row.name
    if name not in FLOORS and name.startswith("i"):
        name = name[1:]
    if name not in FLOORS or row.job.crowded:
        return None
    hand_overs, adds, fences, copies = FLOORS[name]
    parts = [(hand_overs, ("hand_over", 0)), (adds, ("atomic", 0)), (fences, ("fence", 0)),
             (copies, ("memcpy", row.bytes))]
    total = 0.0
    for count, key in parts:
        if count:
            if not measured.get(key):
                return None
            total += count * min(measured[key])
    return total


def behind(rows, ours, second):
    """[(ratio by the median, by second(row's job), row)] of rows above 1.0 by both, worst first: by
    the better of the two, since what disturbs the machine only makes them worse."""
    found = []
    for row in rows:
        by_median, by_second = ratio(row, ours, median), ratio(row, ours, second(row.job))
        if by_median is not None and min(by_median, by_second) > 1.0:
            found.append((by_median, by_second, row))
    return sorted(found, key=lambda item: -min(item[:2]))


NOISE = 1.05            # what two medians of the same may differ by


def turned(rows, ours, along):
    """[(ratio, less, more)] of neighbours of which the one with fewer bytes, or fewer ranks (`along`),
    takes longer, by the median and by the minimum; the worst first."""
    groups, found = {}, []
    for row in rows:
        if not usable(row.cells.get(ours)):
            continue
        alike = row.job.title if along == "bytes" else \
            (row.bytes, row.job.title.replace(f"{row.job.np} ranks", ""))
        groups.setdefault((row.name, alike), []).append(row)
    for group in groups.values():
        group.sort(key=lambda row: row.bytes if along == "bytes" else row.job.np)
        for less, more in zip(group, group[1:]):
            value = min(of(less.cells[ours].samples) / max(of(more.cells[ours].samples), 1e-9)
                        for of in (median, min))
            if value > NOISE:
                found.append((value, less, more))
    return sorted(found, key=lambda item: -item[0])


def tally(rows, ours, of):
    """(rows at most 1.0 of the best peer, rows compared)"""
    ratios = [value for value in (ratio(row, ours, of) for row in rows) if value is not None]
    return sum(value <= 1.0 for value in ratios), len(ratios)
