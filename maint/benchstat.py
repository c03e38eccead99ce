# Part of Windlass. See COPYRIGHT in the top-level directory.
"""maint/bench's arithmetic: what was measured, medians, floors, ratios.

All times are microseconds of one operation; lower is better. A row is (job, number): the number is
the program's own. A peer's samples of all rounds are taken together, but for those of another state
of the machine than the row's, and those taken while something else ran on the processors' cores:
settle().
"""

from dataclasses import dataclass, field

from benchplan import OURS


@dataclass
class Share:
    """The samples of one peer, one row and one round."""
    samples: list
    around: tuple = None        # the hand-over before and behind them, None for one that could not be
                                # measured; None where none is
    paces: list = None          # how fast the processors computed around each of them; None: not measured


@dataclass
class Cell:
    """One peer's results of one row."""
    samples: list = field(default_factory=list)     # those its figures are of
    fault: str = ""             # why there is nothing (more): "fails", "wrong data", "late"
    waited: bool = False        # target computing: another operation waited for its return
    shares: list = field(default_factory=list)      # what each round gave
    state: str = ""             # of its samples; has it none in the row's state, of those it has
    around: list = field(default_factory=list)      # the hand-overs around its samples of the row's state

    def add(self, samples, around=None, paces=None):
        self.samples = self.samples + samples
        self.shares.append(Share(samples, around, paces))


@dataclass(eq=False)
class Row:
    job: object                 # a benchplan.Job
    number: int
    name: str
    bytes: int
    cells: dict = field(default_factory=dict)   # name of the peer -> Cell
    state: str = ""             # of the machine, which its figures are of; "": it had one, or nobody looked
    lacking: list = field(default_factory=list)     # peers that did the row in other states alone
    alone: bool = False         # its figures are of samples taken while nothing else ran on the cores
    swayed: bool = False        # some peer has too few of those, and all samples count

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
    None if nobody else did the row, or the row is not comparable."""
    if row.lacking:
        return None
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


# --- states of the machine ----------------------------------------------------------------------
# A virtual machine's processors are siblings of one core for a while, then they are not: a cache line
# takes several times as long from one to the other. And each may be one of two threads of a core of
# which the other is somebody else's: while that runs, everything takes half as long again or twice.

NEAR, FAR, MIXED = "near", "far", "mixed"
NEAR_TIMES = 3.5        # the smallest hand-over: near ones were seen of 20 to 68 ns, far ones of 220 to 280
HAND_OVER = ("hand_over", 0)
HAND_OVER_OF = {NEAR: ("hand_over_near", 0), FAR: ("hand_over_far", 0)}
ALONE_TIMES = 1.25      # the smallest pace: alone 1.37 to 1.43 us were seen, else 1.65 to 2.9
ALONE_LEAST = 3         # samples of every peer
ALONE_LEAST_SINGLE = 20     # where samples are single operations, and their 95th percentile is wanted


def state_of(around, most):
    """The state in which samples with these hand-overs around them were taken; the near one's reach to
    `most`. MIXED: it changed meanwhile, or nobody knows."""
    if around is None or None in around:
        return MIXED
    before, behind = (NEAR if value <= most else FAR for value in around)
    return before if before == behind else MIXED


def smallest_near(probes, floors):
    """Microseconds. The floors' hand-overs are long averages, which other programs disturb: they count only
    where they say that all that was probed is far."""
    smallest, least = min(probes), min(floors, default=min(probes))
    return least if NEAR_TIMES * least < smallest else smallest


def settle(rows, measured):
    """Decides of which state each row's figures are, and whether of what was taken while nothing else ran
    on the cores; leaves no others in its cells' samples. Returns the hand-overs of the states, to be added
    to what was `measured`; nothing if the machine had one. May be done again when there is more."""
    probes = [value for row in rows for cell in row.cells.values() for share in cell.shares
              for value in share.around or () if value is not None]
    smallest = smallest_near(probes, measured.get(HAND_OVER, [])) if probes else 0
    far = [value for value in probes if value > NEAR_TIMES * smallest]
    for row in rows:
        shares = [share for cell in row.cells.values() for share in cell.shares]
        if far and any(share.around is not None for share in shares):
            settle_row(row, NEAR_TIMES * smallest)
        if any(share.paces for share in shares):
            settle_alone(row, NEAR_TIMES * smallest)
        for cell in row.cells.values():
            cell.around = [value for share in counted(row, cell, NEAR_TIMES * smallest)
                           for value in share.around or () if value is not None]
    return {HAND_OVER_OF[NEAR]: [smallest], HAND_OVER_OF[FAR]: far} if far else {}


def settle_row(row, most):
    """The row's state is the one in which most peers that did it have samples; of two, the one in which
    the peer with the fewest has more."""
    states = {peer: by_state(cell, most) for peer, cell in row.cells.items() if did(cell)}

    def weight(state):
        counts = [len(found[state]) for found in states.values() if found[state]]
        return len(counts), min(counts, default=0)
    row.state = max((NEAR, FAR), key=weight)        # the first of equals
    if weight(row.state) == (0, 0):
        row.state = MIXED
    row.lacking = [peer for peer, found in states.items()
                   if row.state == MIXED or not found[row.state]]
    for peer, found in states.items():
        cell = row.cells[peer]
        cell.samples = found[row.state] if peer not in row.lacking else []
        cell.state = row.state if cell.samples else \
            next((state for state in (NEAR, FAR) if found[state]), MIXED)


def by_state(cell, most):
    """State -> samples."""
    found = {NEAR: [], FAR: [], MIXED: []}
    for share in cell.shares:
        found[state_of(share.around, most)] += share.samples
    return found


def counted(row, cell, most):
    """The cell's shares of the row's state."""
    return [share for share in cell.shares if not row.state or state_of(share.around, most) == row.state]


def settle_alone(row, most):
    """Of the row's state, samples taken at the row's best pace alone, if every peer that has any has some
    such. What a peer itself does on the other thread of a core counts against it: it has none then.
    Beside a computing target a peer that waits for its return has hardly any sample, and keeps those."""
    least = ALONE_LEAST_SINGLE if row.job.computing else ALONE_LEAST
    paced = {}          # peer -> (sample, pace) of all rounds
    for peer, cell in row.cells.items():
        pairs = [pair for share in counted(row, cell, most)
                 for pair in zip(share.samples, share.paces or [0] * len(share.samples))]
        if did(cell) and pairs and peer not in row.lacking:
            paced[peer] = pairs
    best_pace = min((pace for pairs in paced.values() for _, pace in pairs if pace), default=0)
    quick = {peer: [sample for sample, pace in pairs if 0 < pace <= ALONE_TIMES * best_pace]
             for peer, pairs in paced.items() if not row.job.computing or len(pairs) >= least}
    row.alone = bool(quick) and all(len(samples) >= least for samples in quick.values())
    row.swayed = bool(quick) and not row.alone
    for peer, pairs in paced.items():
        row.cells[peer].samples = quick[peer] if row.alone and peer in quick else [sample for sample, _ in pairs]


def did(cell):
    """Whether the peer did this row, in whatever state."""
    return cell is not None and not cell.fault and \
        (bool(cell.samples) or any(share.samples for share in cell.shares))


def apart(rows):
    """The rows that are not comparable: some peer has samples of them in other states alone."""
    return [row for row in rows if row.lacking]


def swayed(rows):
    """The rows of which some peer has too few samples taken while nothing else ran on the cores."""
    return [row for row in rows if row.swayed and not row.lacking]


# --- floors -------------------------------------------------------------------------------------

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
    "accumulate_complex_flush": (0, 1, 1, 1),
    "accumulate_max_int_flush": (0, 1, 1, 1),
    "accumulate_maxloc_flush": (0, 1, 1, 1),
    "accumulate_replace_flush": (0, 1, 1, 1),
    "get_accumulate_no_op_flush": (0, 1, 1, 1),
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
    "put_fence_read": (4, 0, 0, 1),
    "fence": (2, 0, 0, 0),
    "pscw_put": (2, 0, 0, 1),
    "pscw": (2, 0, 0, 0),
    "bcast": (1, 0, 0, 1),
    "reduce": (1, 0, 0, 1),
    "allreduce": (2, 0, 0, 1),
    "scan": (1, 0, 0, 1),
    "allgather": (1, 0, 0, 2),
    "alltoall": (1, 0, 0, 2),
    "gather": (1, 0, 0, 1),
    "gatherv": (1, 0, 0, 1),
    "scatter": (1, 0, 0, 1),
    "scatterv": (1, 0, 0, 1),
    "allgatherv": (1, 0, 0, 2),
    "alltoallv": (1, 0, 0, 2),
    "reduce_scatter": (1, 0, 0, 1),
    "reduce_scatter_block": (1, 0, 0, 1),
    "exscan": (1, 0, 0, 1),
}


def measured_of(key, measured):
    """Of the smallest samples: what disturbs the machine is not of the machine; hand-overs of the far state
    are as long as the median. None: not measured."""
    samples = measured.get(key)
    return (median if key == HAND_OVER_OF[FAR] else min)(samples) if samples else None


def hand_over(row, measured):
    """Microseconds until another processor sees a line: the median of those around our samples of the row,
    since near ones differ by three times; where none are, in the row's state. None: not measured."""
    ours = row.cells.get(OURS)
    if ours is not None and ours.around:
        return median(ours.around)
    return measured_of(HAND_OVER_OF.get(row.state, HAND_OVER), measured)


def floor(row, measured):
    """The row's floor. `measured`: (name, bytes) -> samples. None if it has none: there is no floor for more
    processes than processors, or between nodes."""
    name = row.name
    if name not in FLOORS and name.startswith("i"):
        name = name[1:]
    if name not in FLOORS or row.job.crowded or row.job.apart:
        return None
    hand_overs, adds, fences, copies = FLOORS[name]
    parts = [(hand_overs, hand_over(row, measured)), (adds, measured_of(("atomic", 0), measured)),
             (fences, measured_of(("fence", 0), measured)), (copies, measured_of(("memcpy", row.bytes), measured))]
    if any(count and each is None for count, each in parts):
        return None
    return sum((count * each for count, each in parts if count), 0.0)


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
    takes longer, by the median and by the minimum; the worst first. Two states do not compare."""
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
            if less.state and more.state and less.state != more.state:
                continue
            value = min(of(less.cells[ours].samples) / max(of(more.cells[ours].samples), 1e-9)
                        for of in (median, min))
            if value > NOISE:
                found.append((value, less, more))
    return sorted(found, key=lambda item: -item[0])


def tally(rows, ours, of):
    """(rows at most 1.0 of the best peer, rows compared)"""
    ratios = [value for value in (ratio(row, ours, of) for row in rows) if value is not None]
    return sum(value <= 1.0 for value in ratios), len(ratios)
