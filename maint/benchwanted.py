# Part of Windlass. See COPYRIGHT in the top-level directory.
"""What is wanted of Windlass in a run of maint/bench beside ratios of at most 1.00, and which rows
keep it: a target that computes delays nobody, short operations are near the machine's floor, and waiting
ranks do not hold up fences and window creation. Of collectives: two ranks hear of each other in little more
than it takes the machine."""

import benchstat
from benchstat import median, percentile, usable

# Target computing: microseconds by the median and by the 95th percentile, beside the row's floor, and the
# bytes up to which that is asked. Of a longer operation, what copying takes beyond the floor (whose copies
# are in the caches) would decide.
MAPPED, MAPPED_BYTES = (2.0, 2.0), 8192
OTHER, OTHER_BYTES = (50.0, 200.0), 65536

FLOORS_MAX = 3.0
NEAR_THE_FLOOR = ("put_flush", "get_flush", "fetch_and_op_flush", "compare_and_swap_flush")

HAND_OVERS_MAX = 1.3    # times two hand-overs, of ...
THERE_AND_BACK = (("barrier", 0), ("allreduce", 8))

CROWD = 8               # ranks whose fences and windows are to take no longer than Open MPI's
SHOWN = 30


def computing_limits(job):
    """((microseconds by the median, by the 95th percentile), most bytes) of a computing target."""
    return (MAPPED, MAPPED_BYTES) if job.mapped else (OTHER, OTHER_BYTES)


def computing(row, ours, measured):
    """Whether ours keeps the limits of a computing target: "met", "95% not met", "not met"; "" where they
    are not asked for, or we have nothing."""
    limits, most = computing_limits(row.job)
    floor = benchstat.floor(row, measured)
    cell = row.cells.get(ours)
    if not row.job.computing or row.bytes > most or floor is None or cell is None or cell.fault:
        return ""
    if not cell.samples:
        return "not met" if cell.waited else ""
    if median(cell.samples) > limits[0] + floor:
        return "not met"
    return "met" if percentile(cell.samples, 95) <= limits[1] + floor else "95% not met"


def near_the_floor(row, ours, measured):
    floor = benchstat.floor(row, measured)
    if row.name not in NEAR_THE_FLOOR or row.job.computing or not floor or row.lacking or \
            not usable(row.cells.get(ours)):
        return ""
    times = median(row.cells[ours].samples) / floor
    return "met" if times <= FLOORS_MAX else f"{times:.2f}"


def there_and_back(row, ours, measured):
    one = benchstat.hand_over(row, measured)
    if (row.name, row.bytes) not in THERE_AND_BACK or row.job.np != 2 or row.job.crowded or not one or \
            row.lacking or not usable(row.cells.get(ours)):
        return ""
    times = median(row.cells[ours].samples) / (2 * one)
    return "met" if times <= HAND_OVERS_MAX else f"{times:.2f}"


def crowded(row, ours, _measured):
    theirs = [median(cell.samples) for peer, cell in row.cells.items()
              if peer.startswith("openmpi") and usable(cell)]
    if row.job.np != CROWD or not (row.name == "fence" or row.name.startswith("win_")) or \
            not theirs or not usable(row.cells.get(ours)):
        return ""
    ratio = median(row.cells[ours].samples) / max(min(theirs), 1e-9)
    return "met" if ratio <= 1 else f"{ratio:.2f}"


# What is wanted, in words, and the function that tells of a row: "met", what it is instead, or "".
WANTED = (
    (f"target computing, beside the floor: on mapped windows {MAPPED[0]:g} us to {MAPPED_BYTES} bytes, on "
     f"others {OTHER[0]:g} us by the median and {OTHER[1]:g} us by the 95th percentile to {OTHER_BYTES} "
     "bytes", computing),
    (f"put, get, fetch_and_op, compare_and_swap and flush: at most {FLOORS_MAX:g} times the floor",
     near_the_floor),
    (f"barrier and allreduce of 8 bytes, 2 ranks: at most {HAND_OVERS_MAX:g} times two hand-overs of a cache "
     "line", there_and_back),
    (f"{CROWD} ranks: fence and window creation at most what Open MPI takes", crowded),
)


def lines(rows, ours, measured):
    """What is wanted, how many rows keep it, and those that do not."""
    made = []
    rows = [row for row in rows if not row.job.apart]
    for words, of in WANTED:
        found = [(row, text) for row in rows if (text := of(row, ours, measured))]
        missed = [(row, text) for row, text in found if text != "met"]
        if found:
            made.append(f"wanted of {words}: met by {len(found) - len(missed)} of {len(found)} rows")
        for row, text in missed[:SHOWN]:
            made.append(f"  {text}: {row.name}, {row.bytes} bytes, {row.job.title}")
        if missed[SHOWN:]:
            made.append(f"  and {len(missed) - SHOWN} more")
    return made
