# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Running maint/bench's programs: rounds, time limits, and what a failed run leaves.

1. Peers take turns: every round runs a part of a job by all of them, one after the other, and every
   round begins with the next peer. What disturbs the machine for a while disturbs all. A part is run
   by all of them or by none, however short of time the run is. After the planned rounds come extra
   ones of the parts of which peers' samples are of different states of the machine, while there is time.
2. A row in which a program dies, hangs or finds wrong data is marked and never tried again; rows
   that were under way together all are. Where it died or hung, it is started again at the first row
   it left unfinished, or behind that. Nothing a peer does ends the run.
"""

import subprocess
import threading
import time

import benchstat
import processes

FAULTS_MAX = 30     # of a peer in a job; then the rest of its rows are given up


class Budget:
    """Seconds for all rounds. Every part of a job is done once, whatever it takes; if `strict`, only
    those that begin in time."""

    def __init__(self, seconds, now=time.monotonic, strict=False):
        self.seconds, self.now, self.began, self.strict = seconds, now, now(), strict
        self.took = {}          # (job's title, part) -> seconds of its last time

    def allows(self, job, part):
        spent = self.now() - self.began
        last = self.took.get((job.title, part))
        if last is None:
            return not self.strict or spent < self.seconds
        return spent + last <= self.seconds


def is_turn(job, number, part):
    """Whether the part is planned for this round: the first has all of them, later ones take them
    in rotation."""
    return number == 0 or (number + part) % job.every == 0


def turns(rounds, jobs, peers, budget):
    """(round, job, part, peer) in the order in which they are run; the caller runs them in
    between."""
    for number in range(rounds):
        for job in jobs:
            for part in range(len(job.parts)):
                if is_turn(job, number, part):
                    yield from part_turns(number, job, part, peers, budget)


def extra_turns(first, rounds, jobs, peers, budget, wanting):
    """Such turns once more, of rounds from number `first` on: of the parts that wanting() says when a
    round begins."""
    for number in range(first, first + rounds):
        wanted = wanting()
        for job in jobs:
            for part in range(len(job.parts)):
                if (job.title, part) in wanted:
                    yield from part_turns(number, job, part, peers, budget)


def part_turns(number, job, part, peers, budget):
    if not budget.allows(job, part):
        return
    began = budget.now()
    for step in range(len(peers)):
        yield number, job, part, peers[(number + step) % len(peers)]
    budget.took[job.title, part] = budget.now() - began


class Results:
    """What was measured."""

    def __init__(self):
        self.rows = {}          # (job's title, number) -> Row
        self.faults = {}        # (job's title, peer's name) -> why it was given up
        self.given_up = set()   # (job's title, peer's name)
        self.rounds = {}        # (job's title, part) -> rounds it was done in
        self.interrupted = False

    def row(self, job, number, name, size):
        return self.rows.setdefault((job.title, number),
                                    benchstat.Row(job, number, name, size))

    def of(self, job):
        return [row for (title, _), row in sorted(self.rows.items(), key=lambda item: item[0][1])
                if title == job.title]

    def settle(self, floors):
        """Decides of which state of the machine every row is; adds the states' hand-overs to the floors."""
        floors.update(benchstat.settle(self.rows.values(), floors))

    def wanting(self):
        """(job's title, part) of rows that are not comparable, or swayed."""
        rows = self.rows.values()
        return {(row.job.title, row.job.part_of(row.bytes))
                for row in benchstat.apart(rows) + benchstat.swayed(rows)}

    def skipped(self, job, peer):
        """Numbers of rows in which this peer failed."""
        return [row.number for row in self.of(job) if row.cell(peer).fault]


class Reader:
    """Takes a program's lines as they come."""

    def __init__(self, results, job, peer):
        self.results, self.job, self.peer = results, job, peer
        self.open = []          # the rows under way: one, or those that are together
        self.unfinished = []    # rows that began and have no samples
        self.around = {}        # row's number -> the hand-overs around its samples, which come next
        self.paces = {}         # the same of the paces
        self.ended = False
        self.wrong = False

    def line(self, text):
        fields = text.rstrip("\n").split("\t")
        if fields == ["."]:
            self.ended, self.open = True, []
            return True
        if fields[0] not in (">", "&", "~", "@", "%", "=", "!") or len(fields) < 4:
            return False
        row = self.results.row(self.job, int(fields[1]), fields[2], int(fields[3]))
        if fields[0] == ">":
            self.open = [row]
            self.unfinished.append(row)
        elif fields[0] == "&":
            self.open = [one for one in self.open if one is not row] + [row]
        elif fields[0] == "~":
            row.cell(self.peer).waited = True
        elif fields[0] == "@":
            self.around[row.number] = tuple(None if field == "-" else float(field) for field in fields[4:6])
        elif fields[0] == "%":
            self.paces[row.number] = [float(field) for field in fields[4:]]
        elif fields[0] == "=":
            row.cell(self.peer).add([float(field) for field in fields[4:]],
                                    self.around.pop(row.number, None), self.paces.pop(row.number, None))
            self.unfinished = [one for one in self.unfinished if one is not row]
        else:
            row.cell(self.peer).fault = "wrong data"
            self.wrong = True
        return True


class Runner:
    def __init__(self, results, log, limit_s, environment):
        self.results, self.log = results, log
        self.limit_s = limit_s          # for a row; a whole program gets ten times that
        self.environment = environment
        self.process = None

    def stop(self):
        """Ends the running program."""
        process = self.process
        if process:
            processes.stop(process)

    def program(self, command, settings, reader):
        """Run it to its end; returns (status, late, last lines that were no rows)."""
        other = []
        started = touched = time.monotonic()
        late = threading.Event()
        done = threading.Event()
        self.process = subprocess.Popen(command, env={**self.environment, **settings},
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, errors="replace",
                                        start_new_session=True)

        def watch():
            while not done.wait(0.2):
                now = time.monotonic()
                if now - touched > self.limit_s or now - started > 10 * self.limit_s:
                    late.set()
                    self.stop()
                    return
        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            for text in self.process.stdout:
                if reader.line(text):
                    touched = time.monotonic()
                else:
                    other.append(text)
            status = self.process.wait()
        finally:
            done.set()
            watcher.join()
            self.process.stdout.close()
            self.process = None
        return status, late.is_set(), other

    def run(self, job, peer, path, args):
        """One turn: the job by this peer, again after each row it fails in."""
        key = (job.title, peer.name)
        if key in self.results.given_up:
            return
        first = 0
        while True:
            skip = "".join(f"{number}," for number in self.results.skipped(job, peer.name))
            more = (["--first", str(first)] if first else []) + (["--skip", skip] if skip else [])
            command = peer.command(path, job.np, args + more)
            reader = Reader(self.results, job, peer.name)
            status, late, other = self.program(command, peer.settings, reader)
            fault = "late" if late else "fails"
            if reader.ended and (status == 0 or reader.wrong):
                return
            self.write(command, status, late, other)
            if not reader.open:
                # Before its first row, or behind its last: no row's fault.
                where = " at its end" if reader.ended else " at its start"
                self.results.given_up.add(key)
                self.results.faults[key] = fault + where + reason(other)
                return
            failed = reader.open
            stuck = any(row.number < first or row.cell(peer.name).fault for row in failed)
            for row in failed:
                row.cell(peer.name).fault = fault
            first = min([row.number for row in reader.unfinished if row not in failed],
                        default=max(row.number for row in failed) + 1)
            count = len(self.results.skipped(job, peer.name))
            if stuck or count >= FAULTS_MAX:
                self.results.given_up.add(key)
                self.results.faults[key] = f"given up after {count} failures"
                return

    def write(self, command, status, late, other):
        with open(self.log, "a") as file:
            file.write(f"=== {' '.join(command)}\n")
            file.writelines(other[-40:])
            file.write(f"=== status {status}{', stopped: out of time' if late else ''}\n\n")


def reason(lines):
    """The first line that says something about an error, for people."""
    for text in lines:
        if "rror" in text or "MPI_ERR" in text or "cannot" in text:
            return ": " + text.strip()[:110]
    return ""
