#!/usr/bin/env python3
# Part of Windlass. See COPYRIGHT in the top-level directory.
"""Tests of maint/bench: its arithmetic, and the driver with peers that are scripts."""

import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("WDL_SRCDIR", os.path.join(HERE, "../.."))
sys.path.insert(0, os.path.join(TOP, "maint"))

import benchcount       # noqa: E402
import benchplan        # noqa: E402
import benchrun         # noqa: E402
import benchsim         # noqa: E402
import benchstat        # noqa: E402
import benchtable       # noqa: E402
import benchwanted      # noqa: E402


def job(title="2 ranks", np=1, **more):
    return benchplan.Job(title, "p2p", np, **more)


def row(name="put_flush", size=8, of=None, **samples):
    made = benchstat.Row(of or job(), 0, name, size)
    for peer, values in samples.items():
        made.cells[peer] = benchstat.Cell(values)
    return made


class Simulated(unittest.TestCase):
    LINES = ["=\tgm\tbcast\t8\t2\t7000\t1\t7000", "noise", "=\tgm\tbcast\t8\t4\t15400\t3\t14000",
             "=\tgm\tbcast\t64\t4\t15000\t3\t15000", "=\tgm\tbarrier\t0\t4\t14000\t8\t14000"]

    def setUp(self):
        self.rows = list(benchsim.rows_of(self.LINES))

    def test_rows(self):
        self.assertEqual([(row.operation, row.bytes, row.ranks, row.messages) for row in self.rows],
                         [("bcast", 8, 2, 1), ("bcast", 8, 4, 3), ("bcast", 64, 4, 3),
                          ("barrier", 0, 4, 8)])
        self.assertAlmostEqual(self.rows[1].ratio, 1.1)

    def test_less_that_is_slower_is_found(self):
        (less, more), = benchsim.turned(self.rows, "bytes")
        self.assertEqual((less.bytes, more.bytes), (8, 64))
        self.assertEqual(benchsim.turned(self.rows, "ranks"), [])

    def test_table(self):
        text = "\n".join(benchsim.table(self.rows))
        self.assertIn("bcast, at most 8 bytes: at most 1.100 of the least time (gm, 4 ranks)", text)
        self.assertIn("15 (1.10)", text)
        self.assertIn("slower with fewer bytes: 1 pairs", text)

    def test_plot(self):
        text = benchsim.plot_text("bcast", self.rows[:3], "x.svg")
        self.assertIn("4 15.400 14.000\n", text)
        self.assertEqual(text.count("with linespoints"), 2)

    def test_sources_are_those_of_the_build(self):
        with open(os.path.join(TOP, "src", "Makefile.mk")) as file:
            found = benchsim.library_sources(file.read())
        for name in ("base/status.c", "mpid/rma/words.c", "netmod/sim/sim_rma.c"):
            self.assertIn(name, found)
        self.assertFalse([name for name in found if "ucx" in name or "adi" in name])

    def test_program(self):
        with tempfile.TemporaryDirectory() as here, \
                unittest.mock.patch("benchsim.plots", return_value="no plots"), \
                contextlib.redirect_stdout(io.StringIO()) as printed:
            self.assertEqual(benchsim.run(TOP, here, 5), 0, printed.getvalue())
            with open(os.path.join(here, "simulated.tsv")) as file:
                rows = list(benchsim.rows_of(file))
        self.assertEqual({row.ranks for row in rows}, {2, 3, 4, 5})
        for network in ("gm", "vapi", "mpi"):
            self.assertIn(f"bcast on {network}, every number of ranks to 5: at most 1.0", printed.getvalue())


class Arithmetic(unittest.TestCase):
    def test_median(self):
        self.assertEqual(benchstat.median([5]), 5)
        self.assertEqual(benchstat.median([9, 1, 2]), 2)
        self.assertEqual(benchstat.median([4, 1, 2, 9]), 3)

    def test_percentile(self):
        self.assertEqual(benchstat.percentile([7], 95), 7)
        self.assertEqual(benchstat.percentile(list(range(1, 101)), 95), 95)
        self.assertEqual(benchstat.percentile(list(range(20, 0, -1)), 95), 19)
        self.assertEqual(benchstat.percentile([3, 1, 2], 95), 3)

    def test_ratio_is_to_the_best_other(self):
        one = row(windlass=[3, 1, 2], mpich=[8, 4, 4], openmpi=[9, 9, 1])
        self.assertEqual(benchstat.best(one, "windlass", benchstat.median), ("mpich", 4))
        self.assertEqual(benchstat.ratio(one, "windlass", benchstat.median), 0.5)
        self.assertEqual(benchstat.ratio(one, "windlass", min), 1)

    def test_no_ratio(self):
        self.assertIsNone(benchstat.ratio(row(windlass=[1]), "windlass", min))
        self.assertIsNone(benchstat.ratio(row(mpich=[1]), "windlass", min))

    def test_a_row_that_failed_once_is_not_believed(self):
        one = row(windlass=[2], mpich=[1], openmpi=[4])
        one.cells["mpich"].fault = "fails"
        self.assertEqual(benchstat.best(one, "windlass", min), ("openmpi", 4))
        one.cells["windlass"].fault = "late"
        self.assertIsNone(benchstat.ratio(one, "windlass", min))

    def test_floor(self):
        measured = {("memcpy", 64): [4, 3, 9], ("fence", 0): [1], ("atomic", 0): [10],
                    ("hand_over", 0): [100]}
        self.assertEqual(benchstat.floor(row("put_flush", 64), measured), 4)
        self.assertEqual(benchstat.floor(row("fetch_and_op_flush", 8), measured), 10)
        self.assertEqual(benchstat.floor(row("allreduce", 64), measured), 203)
        self.assertEqual(benchstat.floor(row("iallreduce", 64), measured), 203)
        self.assertIsNone(benchstat.floor(row("put_flush", 65), measured))
        self.assertIsNone(benchstat.floor(row("win_allocate_free", 64), measured))

    def test_ucx_alone(self):
        rows = [row("half_round_trip", 8), row("half_round_trip", 9), row("bandwidth", 64)]
        measured = {("ucx_tags", 8): [.3, .2, .4], ("ucx_tags", 64): [1]}
        self.assertEqual(benchtable.tags_line(rows, measured),
                         ["  half_round_trip by UCX alone: 8 bytes 0.300/0.200"])
        self.assertEqual(benchtable.tags_line(rows, {}), [])

    def test_no_floor_with_more_ranks_than_processors(self):
        crowd = job(np=benchplan.cores() + 1)
        self.assertIsNone(benchstat.floor(row("barrier", 0, crowd), {("hand_over", 0): [1]}))

    def test_tally(self):
        rows = [row(windlass=[1], mpich=[1]), row(windlass=[2], mpich=[1]), row(windlass=[2])]
        self.assertEqual(benchstat.tally(rows, "windlass", min), (1, 2))

    def test_settings_of_ours_are_no_peer(self):
        one = row(windlass=[4], mpich=[8], **{"windlass:off": [1]})
        self.assertEqual(benchstat.best(one, "windlass", min), ("mpich", 8))

    def test_behind_is_worst_first_by_the_better_ratio(self):
        rows = [row("a", windlass=[4, 4, 4], mpich=[2]), row("b", windlass=[1, 9, 9], mpich=[2]),
                row("c", windlass=[3, 9, 9], mpich=[1]), row("d", windlass=[1])]
        found = benchstat.behind(rows, "windlass", lambda job: min)
        self.assertEqual([(one, two, found.name) for one, two, found in found],
                         [(9, 3, "c"), (2, 2, "a")])

    def test_turned(self):
        two, four = job("window create, 2 ranks", 2), job("window create, 4 ranks", 4)
        rows = [row("a", 8, two, windlass=[4, 5]), row("a", 64, two, windlass=[3, 4]),
                row("a", 512, two, windlass=[5, 5]), row("b", 64, two, windlass=[9, 9]),
                row("b", 8, two, windlass=[9.2, 9.2]), row("c", 8, two, windlass=[9, 1]),
                row("c", 64, two, windlass=[2, 2]), row("a", 8, four, windlass=[6]),
                row("a", 64, four, windlass=[2]), row("b", 8, four, mpich=[1])]
        found = [(round(value, 3), less.name, less.bytes, more.bytes, more.job.np)
                 for value, less, more in benchstat.turned(rows, "windlass", "bytes")]
        self.assertEqual(found, [(3, "a", 8, 64, 4), (1.286, "a", 8, 64, 2)])
        found = [(round(value, 3), less.name, less.bytes, less.job.np, more.job.np)
                 for value, less, more in benchstat.turned(rows, "windlass", "ranks")]
        self.assertEqual(found, [(1.5, "a", 64, 2, 4)])

    def test_met(self):
        measured = {("memcpy", 8): [1], ("fence", 0): [1], ("memcpy", 65536): [10],
                    ("memcpy", 262144): [40]}
        away = job("away", computing=True)

        def met(size, *samples):
            return benchwanted.computing(row(size=size, of=away, windlass=list(samples)), "windlass",
                                 measured)
        self.assertEqual(met(8, 52, 52, 200), "met")
        self.assertEqual(met(8, 52, 52, 203), "95% not met")
        self.assertEqual(met(8, 53, 53, 53), "not met")
        self.assertEqual(met(65536, 61), "met")
        self.assertEqual(met(262144, 61), "")
        self.assertEqual(benchwanted.computing(row(windlass=[1]), "windlass", measured), "")
        one = row(of=away)
        self.assertEqual(benchwanted.computing(one, "windlass", measured), "")
        one.cells["windlass"] = benchstat.Cell(waited=True)
        self.assertEqual(benchwanted.computing(one, "windlass", measured), "not met")

    def test_near_the_floor(self):
        measured = {("memcpy", 8): [1], ("fence", 0): [1], ("atomic", 0): [1]}

        def near(*args, of=None):
            return benchwanted.near_the_floor(row(args[0], 8, of, windlass=[args[1]]), "windlass",
                                              measured)
        self.assertEqual(near("put_flush", 6), "met")
        self.assertEqual(near("put_flush", 6.5), "3.25")
        self.assertEqual(near("fetch_and_op_flush", 3.5), "3.50")
        self.assertEqual(near("rput_wait", 9), "")
        self.assertEqual(near("put_flush", 9, of=job(computing=True)), "")

    @unittest.mock.patch.object(benchplan, "cores", lambda: 2)
    def test_two_hand_overs(self):
        measured = {("hand_over", 0): [.1, .3], ("hand_over_near", 0): [.02], ("hand_over_far", 0): [.2, .4, .9]}

        def times(name, size, us, of=None, state="", lacking=()):
            one = row(name, size, of or job(np=2), windlass=[us])
            one.state, one.lacking = state, list(lacking)
            return benchwanted.there_and_back(one, "windlass", measured)
        self.assertEqual(times("barrier", 0, .26), "met")
        self.assertEqual(times("allreduce", 8, .3), "1.50")
        self.assertEqual(times("allreduce", 8, 1, state="far"), "met")      # the median one
        self.assertEqual(times("barrier", 0, .06, state="near"), "1.50")
        self.assertEqual(times("allreduce", 64, 9), "")
        self.assertEqual(times("iallreduce", 8, 9), "")
        self.assertEqual(times("ibarrier_overlap", 0, 9), "")
        self.assertEqual(times("barrier", 0, 9, job(np=8)), "")
        self.assertEqual(times("barrier", 0, 9, lacking=["mpich"]), "")
        self.assertEqual(benchwanted.there_and_back(row("barrier", 0, job(np=2), windlass=[9]), "windlass", {}), "")
        self.assertEqual(benchwanted.there_and_back(row("barrier", 0, job(np=2), mpich=[9]), "windlass", measured),
                         "")

    def test_fences_and_windows_of_a_crowd(self):
        def crowded(name, np=8, **samples):
            return benchwanted.crowded(row(name, 8, job(np=np), **samples), "windlass", {})
        self.assertEqual(crowded("fence", windlass=[2], mpich=[1], openmpi=[3], **{"openmpi-sm": [2]}),
                         "met")
        self.assertEqual(crowded("win_create_free", windlass=[3], openmpi=[2]), "1.50")
        self.assertEqual(crowded("put_fence", windlass=[3], openmpi=[2]), "")
        self.assertEqual(crowded("fence", np=4, windlass=[3], openmpi=[2]), "")
        self.assertEqual(crowded("fence", windlass=[3], mpich=[2]), "")

    def test_instructions(self):
        few, many = benchcount.FEW, benchcount.MANY
        self.assertEqual(benchcount.per_call(500 + 176 * few, 500 + 176 * many), 176)
        self.assertTrue(benchcount.wanted_line("windlass", 215.0).endswith("at most 215: met"))
        self.assertTrue(benchcount.wanted_line("fast", 100.5).endswith("at most 100: not met"))
        self.assertTrue(benchcount.wanted_line("fast", "late").endswith("not met"))


def shares(*batches):
    """A cell of these rounds: (samples, hand-over before, behind)."""
    cell = benchstat.Cell()
    for samples, *around in batches:
        cell.add(samples, tuple(around) or None)
    return cell


def stated(name="put_flush", size=8, of=None, **cells):
    made = benchstat.Row(of or job(), 0, name, size)
    made.cells = cells
    return made


def paced(*rounds):
    """A cell of these rounds: (samples, paces, around)."""
    cell = benchstat.Cell()
    for samples, paces, *around in rounds:
        cell.add(samples, around[0] if around else None, paces)
    return cell


N, F = .05, .25         # hand-overs of the two states
Q, S = 1.4, 2.1         # paces alone and beside something else


class Paces(unittest.TestCase):
    """Samples taken while nothing else ran on the cores count alone, if every peer has some."""

    def samples(self, row):
        benchstat.settle([row], {})
        return {peer: cell.samples for peer, cell in row.cells.items()}

    def test_alone(self):
        one = stated(windlass=paced(([1, 9, 2, 3], [Q, S, Q, Q])), mpich=paced(([9, 5], [S, Q]), ([6, 7], [Q, Q])))
        self.assertEqual(self.samples(one), {"windlass": [1, 2, 3], "mpich": [5, 6, 7]})
        self.assertEqual((one.alone, one.swayed), (True, False))

    def test_a_peer_with_too_few_leaves_all_to_all(self):
        one = stated(windlass=paced(([1, 9, 2, 3], [Q, S, Q, Q])), mpich=paced(([9, 5, 6], [S, Q, Q])))
        self.assertEqual(self.samples(one), {"windlass": [1, 9, 2, 3], "mpich": [9, 5, 6]})
        self.assertEqual((one.alone, one.swayed), (False, True))
        one.cell("mpich").add([4], None, [Q])
        self.assertEqual(self.samples(one), {"windlass": [1, 2, 3], "mpich": [5, 6, 4]})

    def test_what_is_never_alone_compares_with_its_like(self):
        one = stated(windlass=paced(([1, 2, 3], [S, S, S])), mpich=paced(([4, 5, 6], [S, S, S + .1])))
        self.assertEqual(self.samples(one), {"windlass": [1, 2, 3], "mpich": [4, 5, 6]})
        self.assertTrue(one.alone)

    def test_beside_a_computing_target(self):
        """More samples are wanted; who waits for its return has none to spare."""
        least = benchstat.ALONE_LEAST_SINGLE
        few, many = [1] * (least - 1) + [9], [1] * least + [9]
        alone, nearly = [Q] * least + [S], [Q] * (least - 1) + [S]
        one = stated(of=job(computing=True), windlass=paced((many, alone)), nemesis=paced(([450000], [S])),
                     mpich=paced((many, alone)))
        self.assertEqual(self.samples(one), {"windlass": [1] * least, "nemesis": [450000], "mpich": [1] * least})
        self.assertEqual((one.alone, one.swayed), (True, False))
        one = stated(of=job(computing=True), windlass=paced((many, alone)), mpich=paced((few, nearly)))
        self.assertEqual(self.samples(one), {"windlass": many, "mpich": few})
        self.assertEqual((one.alone, one.swayed), (False, True))

    def test_of_the_rows_state(self):
        one = stated(windlass=paced(([1, 2, 3, 9], [Q, Q, Q, S], (N, N)), ([8], [Q], (F, F))),
                     mpich=paced(([4, 5, 6], [Q, Q, Q], (N, N)), ([7, 7, 7], [Q, Q, Q], (N, F))))
        self.assertEqual(self.samples(one), {"windlass": [1, 2, 3], "mpich": [4, 5, 6]})
        self.assertEqual((one.state, one.alone), ("near", True))
        self.assertEqual(benchtable.state_text(one), "near alone")

    def test_without_the_rows_state_nobody_is_alone(self):
        one = stated(windlass=paced(([1, 2, 3], [Q, Q, Q], (N, N))), mpich=paced(([4, 5, 6], [Q, Q, Q], (F, F))))
        self.assertEqual(self.samples(one)["mpich"], [])
        self.assertEqual((one.lacking, benchstat.swayed([one])), (["mpich"], []))

    def test_nobody_measured(self):
        one = stated(windlass=shares(([1, 2],)), mpich=shares(([3],)))
        self.assertEqual(self.samples(one), {"windlass": [1, 2], "mpich": [3]})
        self.assertEqual((one.alone, one.swayed), (False, False))

    def test_reader(self):
        results = benchrun.Results()
        reader = benchrun.Reader(results, job(), "windlass")
        for line in (">\t0\tput\t8", "%\t0\tput\t8\t1.4\t2.1", "=\t0\tput\t8\t1\t2", "=\t0\tput\t8\t3"):
            self.assertTrue(reader.line(line + "\n"))
        cell = results.of(job())[0].cells["windlass"]
        self.assertEqual([(share.samples, share.paces) for share in cell.shares], [([1, 2], [1.4, 2.1]), ([3], None)])

    def test_swayed_rows_want_extra_rounds(self):
        results = benchrun.Results()
        results.rows = {("j", 0): stated(windlass=paced(([1, 2, 3], [Q, Q, Q])), mpich=paced(([4], [S])))}
        results.settle({})
        self.assertEqual(results.wanting(), {(job().title, 0)})


class States(unittest.TestCase):
    """Of the machine: near and far."""

    def settled(self, *rows, measured=None):
        measured = measured or {}
        measured.update(benchstat.settle(rows, measured))
        return measured

    def test_of_samples(self):
        for around, state in (((N, N), "near"), ((N, .15), "near"), ((.16, F), "far"), ((N, F), "mixed"),
                              ((F, N), "mixed"), ((None, N), "mixed"), (None, "mixed")):
            self.assertEqual(benchstat.state_of(around, .15), state, around)

    def test_figures_are_of_the_state_most_peers_have(self):
        one = stated(windlass=shares(([1, 3], N, N), ([9], F, F)), mpich=shares(([8], F, F)),
                     openmpi=shares(([2, 4], N, N), ([6], F, F)))
        self.settled(one)
        self.assertEqual((one.state, one.lacking), ("far", []))
        self.assertEqual({peer: cell.samples for peer, cell in one.cells.items()},
                         {"windlass": [9], "mpich": [8], "openmpi": [6]})
        self.assertEqual(benchstat.best(one, "windlass", min), ("openmpi", 6))
        self.assertEqual(benchstat.ratio(one, "windlass", min), 1.5)

    def test_of_two_states_the_one_in_which_the_fewest_samples_are_more(self):
        one = stated(windlass=shares(([1] * 9, N, N), ([9] * 2, F, F)),
                     mpich=shares(([1], N, N), ([9] * 2, F, F)))
        self.settled(one)
        self.assertEqual(one.state, "far")
        one = stated(windlass=shares(([1], N, N), ([9], F, F)), mpich=shares(([1], N, N), ([9], F, F)))
        self.settled(one)
        self.assertEqual(one.state, "near")

    def test_mixed_samples_are_left_out(self):
        one = stated(windlass=shares(([1], N, N), ([50], N, F)), mpich=shares(([2], N, N), ([60], None, N)))
        self.settled(one)
        self.assertEqual([cell.samples for cell in one.cells.values()], [[1], [2]])

    def test_all_mixed_is_not_comparable(self):
        one = stated(windlass=shares(([1], N, F)), mpich=shares(([1], F, N)))
        self.settled(one)
        self.assertEqual((one.state, one.lacking), ("mixed", ["windlass", "mpich"]))
        self.assertEqual([cell.state for cell in one.cells.values()], ["mixed", "mixed"])
        self.assertIsNone(benchstat.ratio(one, "windlass", min))
        self.assertTrue(benchstat.did(one.cells["windlass"]))

    def test_one_state_changes_nothing(self):
        one = stated("barrier", 0, windlass=shares(([1], .05, .08), ([3], None, .14), ([2],)),
                     mpich=shares(([2], .06, .05)))
        measured = self.settled(one, measured={("hand_over", 0): [.07]})
        self.assertEqual((one.state, one.lacking, one.cells["windlass"].samples), ("", [], [1, 3, 2]))
        self.assertEqual(measured, {("hand_over", 0): [.07]})
        self.assertEqual(benchstat.floor(one, measured), .16)        # twice the median around ours
        self.assertEqual(benchtable.states_lines(measured), [])

    def test_what_nobody_probed_stays_as_it_is(self):
        probed = stated(windlass=shares(([1], N, N)), mpich=shares(([1], F, F)))
        other = stated(windlass=shares(([3, 4],)), mpich=shares(([5],)))
        self.settled(probed, other)
        self.assertEqual((other.state, other.lacking, other.cells["windlass"].samples), ("", [], [3, 4]))
        self.assertEqual(benchstat.ratio(other, "windlass", min), .6)

    def test_a_peer_without_the_state_makes_a_row_not_comparable(self):
        one = stated(windlass=shares(([1], N, N)), mpich=shares(([9], F, F)), openmpi=shares(([2], N, N)))
        other = stated(windlass=shares(([1], N, N)), mpich=shares(([2], N, N)))
        measured = self.settled(one, other, measured={("fence", 0): [1], ("memcpy", 8): [1]})
        self.assertEqual((one.state, one.lacking, one.cells["mpich"].state), ("near", ["mpich"], "far"))
        self.assertEqual(benchstat.apart([one, other]), [one])
        self.assertIsNone(benchstat.best(one, "windlass", min))
        self.assertIsNone(benchstat.ratio(one, "windlass", min))
        self.assertEqual(benchstat.tally([one, other], "windlass", min), (1, 1))
        self.assertEqual(benchstat.behind([one], "windlass", lambda job: min), [])
        self.assertEqual(benchwanted.near_the_floor(one, "windlass", measured), "")
        self.assertEqual(benchwanted.near_the_floor(other, "windlass", measured), "met")

    def test_a_peer_that_failed_decides_nothing(self):
        one = stated(windlass=shares(([1], N, N)), mpich=shares(([9], F, F)))
        one.cells["mpich"].fault = "fails"
        self.settled(one)
        self.assertEqual((one.state, one.lacking), ("near", []))

    def test_done_again_when_there_is_more(self):
        one = stated(windlass=shares(([1], N, N)), mpich=shares(([9], F, F)))
        self.settled(one)
        self.assertEqual(len(one.lacking), 1)
        one.cells["mpich"].add([2, 4], (N, N))
        self.settled(one)
        self.assertEqual((one.state, one.lacking), ("near", []))
        self.assertEqual((one.cells["windlass"].samples, one.cells["mpich"].samples), ([1], [2, 4]))

    def test_the_floors_smallest_hand_over_tells_near_from_far(self):
        one = stated(windlass=shares(([1], F, F)), mpich=shares(([2], F, .27)))
        self.settled(one, measured={("hand_over", 0): [.26, N]})
        self.assertEqual(one.state, "far")

    def test_a_disturbed_floor_does_not_divide_what_is_far(self):
        one = stated(windlass=shares(([1], .22, .26)), mpich=shares(([2], F, .27)))
        self.assertEqual(self.settled(one, measured={("hand_over", 0): [.07]}), {("hand_over", 0): [.07]})
        self.assertEqual(one.state, "")

    def test_all_that_was_seen_of_a_state_is_in_it(self):
        for near in ((.0205, .068), (.058, .06)):
            one = stated(windlass=shares(([1], *near), ([2], .22, .28)))
            self.settled(one)
            found = benchstat.by_state(one.cells["windlass"], benchstat.NEAR_TIMES * near[0])
            self.assertEqual((found["near"], found["far"]), ([1], [2]))

    def test_floors_are_of_what_was_measured_around_the_row(self):
        near = stated("fence", 0, windlass=shares(([1], N, .06)))
        far = stated("fence", 0, windlass=shares(([1], F, .27), ([1], .3, F)))
        other = stated("fence", 0, windlass=shares(([1],)))
        measured = self.settled(near, far, other, measured={("hand_over", 0): [.1]})
        self.assertEqual([round(benchstat.floor(one, measured), 6) for one in (near, far, other)],
                         [.11, .52, .2])

    def test_states_do_not_compare_in_what_takes_longer_with_fewer(self):
        near = stated(size=64, windlass=shares(([1], N, N)))
        far = stated(size=8, windlass=shares(([2], F, F)))
        self.assertEqual(len(benchstat.turned([near, far], "windlass", "bytes")), 1)
        self.settled(near, far)
        self.assertEqual(benchstat.turned([near, far], "windlass", "bytes"), [])

    def test_reader(self):
        results = benchrun.Results()
        reader = benchrun.Reader(results, job(), "mpich")
        for line in (">\t0\tput\t8", "@\t0\tput\t8\t0.05\t0.25", "=\t0\tput\t8\t1\t2", "=\t0\tput\t8\t3",
                     "@\t0\tput\t8\t-\t0.06", "=\t0\tput\t8\t4"):
            self.assertTrue(reader.line(line + "\n"), line)
        cell = results.rows["2 ranks", 0].cells["mpich"]
        self.assertEqual([(share.samples, share.around) for share in cell.shares],
                         [([1, 2], (.05, .25)), ([3], None), ([4], (None, .06))])
        self.assertEqual(cell.samples, [1, 2, 3, 4])

    def test_extra_rounds_are_of_the_parts_that_want_them(self):
        results = benchrun.Results()
        jobs = [job("j", parts=((0, 8), (9, 64))), job("k")]
        results.rows = {("j", 0): stated(size=8, of=jobs[0], windlass=shares(([1], N, N))),
                        ("j", 1): stated(size=9, of=jobs[0], windlass=shares(([1], N, N)),
                                         mpich=shares(([1], F, F)))}
        order = []

        def wanting():
            results.settle({})
            return results.wanting()
        for number, one, part, peer in benchrun.extra_turns(5, 3, jobs, ["a", "b"], benchrun.Budget(100), wanting):
            order.append((number, one.title, part, peer))
            if number == 6:
                results.rows["j", 1].cells["mpich"].add([1], (N, N))
        self.assertEqual(order, [(5, "j", 1, "b"), (5, "j", 1, "a"), (6, "j", 1, "a"), (6, "j", 1, "b")])

    def test_extra_rounds_end_with_the_time(self):
        now, order = [0], []
        budget = benchrun.Budget(100, lambda: now[0])
        budget.took["j", 0] = 40
        for number, *_ in benchrun.extra_turns(1, 9, [job("j")], ["a"], budget, lambda: {("j", 0)}):
            order.append(number)
            now[0] += 40
        self.assertEqual(order, [1, 2])

    def test_table(self):
        one = stated(windlass=shares(([1], N, N)), mpich=shares(([9], F, F)))
        two = stated("get_flush", windlass=shares(([3], F, F)), mpich=shares(([6], F, F), ([1], N, F)))
        measured = self.settled(one, two)
        lines = benchtable.job_table(job(), [one, two], ["windlass", "mpich"], "windlass", measured, {}, [3])
        self.assertEqual([line.split() for line in lines[1:4]],
                         [["operation", "bytes", "floor", "state", "windlass", "mpich", "ratio", "(min)", "best",
                           "peer", "/floor"],
                          ["put_flush", "8", "-", "near", "1.000/1.000", "far", "-", "-", "-", "-"],
                          ["get_flush", "8", "-", "far", "3.000/3.000", "6.000/6.000", "0.50", "0.50", "mpich", "-"]])
        self.assertIn("not comparable, a peer has no samples of the row's state: 1 rows", lines[5])
        self.assertEqual(len(lines), 6)
        self.assertIn("0.050 us (near) or 0.250 us (far)", benchtable.states_lines(measured)[0])
        results = benchrun.Results()
        results.rows = {("2 ranks", 0): one}
        self.assertEqual(benchtable.summary(results, [job()], "windlass", measured)[1],
                         "  put_flush, 8 bytes, 2 ranks: near, mpich far")
        results.rows["2 ranks", 1] = two
        lines = benchtable.summary(results, [job()], "windlass", measured)
        self.assertIn("1 of 1 rows", lines[0])
        self.assertIn("  put_flush, 8 bytes, 2 ranks: near, mpich far", lines)


class Plan(unittest.TestCase):
    def test_peers_take_turns(self):
        order = [(number, peer) for number, _, _, peer in benchrun.turns(
            3, [job()], ["a", "b", "c"], benchrun.Budget(100))]
        self.assertEqual(order, [(0, "a"), (0, "b"), (0, "c"), (1, "b"), (1, "c"), (1, "a"),
                                 (2, "c"), (2, "a"), (2, "b")])

    def test_all_peers_of_a_job_are_neighbours(self):
        order = [(one.title, peer) for _, one, _, peer in benchrun.turns(
            1, [job("j"), job("k")], ["a", "b"], benchrun.Budget(100))]
        self.assertEqual(order, [("j", "a"), ("j", "b"), ("k", "a"), ("k", "b")])

    def test_jobs(self):
        titles = [one.title for one in benchplan.jobs("rma", False, None)]
        self.assertEqual(len(titles), len(set(titles)))
        for window in ("allocate", "create", "dynamic"):
            for rest in (", 2 ranks", ", target computing, 2 ranks", ", 4 ranks", ", 8 ranks"):
                self.assertIn(f"window {window}{rest}", titles)
        self.assertEqual([(one.np, one.program) for one in benchplan.jobs("coll", False, [8, 2])],
                         [(2, "coll"), (8, "coll"), (2, "coll"), (8, "coll"), (2, "gasnet"),
                          (8, "gasnet")])
        self.assertEqual([(one.np, one.args) for one in benchplan.jobs("coll", False, None)
                          if one.title.startswith("others")], [(2, ["--more"]), (8, ["--more"])])
        self.assertEqual([one.title for one in benchplan.jobs("coll", True, None)],
                         ["2 ranks", "8 ranks", "gasnet_coll, 2 ranks"])

    def test_jobs_of_every_third_round(self):
        jobs = [job("j"), job("k", every=3)]
        order = [(number, one.title) for number, one, _, _ in
                 benchrun.turns(5, jobs, ["a"], benchrun.Budget(100))]
        self.assertEqual(order, [(0, "j"), (0, "k"), (1, "j"), (2, "j"), (3, "j"), (3, "k"),
                                 (4, "j")])

    def test_no_time_for_a_job_leaves_it_out_for_all_peers(self):
        now = [0]
        order = []
        took = {"short": 1, "long": 20}
        for number, one, _, peer in benchrun.turns(3, [job("short"), job("long")], ["a", "b"],
                                                benchrun.Budget(50, lambda: now[0])):
            order.append((number, one.title, peer))
            now[0] += took[one.title]
        self.assertEqual(order, [(0, "short", "a"), (0, "short", "b"), (0, "long", "a"),
                                 (0, "long", "b"), (1, "short", "b"), (1, "short", "a"),
                                 (2, "short", "a"), (2, "short", "b")])

    def test_every_job_is_done_once_however_late_it_is(self):
        now = [0]
        order = []
        for _, one, _, _ in benchrun.turns(2, [job("j"), job("k")], ["a"],
                                        benchrun.Budget(1, lambda: now[0])):
            order.append(one.title)
            now[0] += 100
        self.assertEqual(order, ["j", "k"])

    def test_with_minutes_given_nothing_begins_late(self):
        now = [0]
        order = []
        for _, one, _, _ in benchrun.turns(2, [job("j"), job("k"), job("l")], ["a"],
                                           benchrun.Budget(150, lambda: now[0], strict=True)):
            order.append(one.title)
            now[0] += 100
        self.assertEqual(order, ["j", "k"])

    def test_all_parts_in_the_first_round_then_in_rotation(self):
        parts = ((0, 8), (9, 64), (65, 512))
        order = [(number, part) for number, _, part, _ in benchrun.turns(
            4, [job("j", every=3, parts=parts)], ["a"], benchrun.Budget(100))]
        self.assertEqual(order, [(0, 0), (0, 1), (0, 2), (1, 2), (2, 1), (3, 0)])

    def test_no_time_for_one_part_leaves_that_out(self):
        now = [0]
        order = []
        took = [5, 50]
        for number, _, part, _ in benchrun.turns(2, [job("j", parts=((0, 8), (9, 64)))], ["a"],
                                                 benchrun.Budget(100, lambda: now[0])):
            order.append((number, part))
            now[0] += took[part]
        self.assertEqual(order, [(0, 0), (0, 1), (1, 0)])

    def test_what_a_program_is_told(self):
        parts = ((0, 8), (9, 64))
        self.assertEqual(job(args=["-a"], parts=parts).arguments(3, 1), ["-a", "--bytes", "9-64"])
        self.assertEqual(job(args=["-a"]).arguments(3, 0), ["-a"])
        self.assertEqual(job(args=["-a"], computing=True).arguments(3, 0), ["-a", "--turn", "3"])

    def test_every_size_is_in_one_part(self):
        for one in benchplan.jobs("rma", False, None):
            self.assertEqual((one.parts[0][0], one.parts[-1][1] >= 4 << 20), (0, True), one.title)
            for (_, most), (least, _) in zip(one.parts, one.parts[1:]):
                self.assertEqual(least, most + 1, one.title)
            self.assertEqual(one.rows, "", one.title)

    def test_plan_and_programs_agree(self):
        with open(os.path.join(TOP, "test", "bench", "rma_ops.c")) as file:
            operations = re.findall(r'^    \{"(\w+)", ', file.read(), re.MULTILINE)
        self.assertEqual(len(operations), 26)
        self.assertEqual([name for name in operations if name not in benchstat.FLOORS], [])
        self.assertEqual(set(benchwanted.NEAR_THE_FLOOR) - set(operations), set())
        # Sizes that share a time of computing are not divided among programs.
        with open(os.path.join(TOP, "test", "bench", "rma.c")) as file:
            cached = int(re.search(r"CACHED = (\d+)", file.read())[1])
        self.assertIn(cached, [most for _, most in benchplan.COMPUTING_PARTS])

    def test_by_tcp_every_rank_is_a_node(self):
        with unittest.mock.patch("benchplan.cores", return_value=4):
            jobs = benchplan.jobs("rma", False, None, tcp=True)
            self.assertEqual({one.np for one in jobs}, {2, 4})
            self.assertEqual({one.np for one in benchplan.jobs("rma", False, [8], tcp=True)}, {8})
        self.assertTrue(all(one.apart and not one.mapped for one in jobs))
        self.assertFalse(any(one.apart for one in benchplan.jobs("rma", False, None)))
        for name in benchplan.default_peers("rma", tcp=True) + benchplan.default_peers("coll", tcp=True):
            made = benchplan.by_tcp(benchplan.peer(name, "/p", "/n"))
            self.assertEqual(made.settings["UCX_TLS"], "tcp,self")
            self.assertEqual(made.settings["MPIR_CVAR_NOLOCAL"], "1")
            self.assertEqual("tcp,self" in made.parameters, name == "openmpi")
        made = benchplan.by_tcp(benchplan.peer("windlass:x@UCX_TLS=sm", "/p", "/n"))
        self.assertEqual(made.settings["UCX_TLS"], "sm")

    def test_by_tcp_there_is_no_floor(self):
        measured = {("memcpy", 8): [1], ("atomic", 0): [1], ("fence", 0): [1]}
        here, apart = row(windlass=[1], mpich=[2]), row(of=job(apart=True), windlass=[1], mpich=[2])
        self.assertIsNotNone(benchstat.floor(here, measured))
        self.assertIsNone(benchstat.floor(apart, measured))
        self.assertNotEqual(benchwanted.lines([here], "windlass", measured), [])
        self.assertEqual(benchwanted.lines([apart], "windlass", measured), [])

    def test_windlass_with_settings(self):
        made = benchplan.peer("windlass:off@A=1@B=x=y", "/p", "/n")
        self.assertEqual((made.name, made.mpicc, made.settings),
                         ("windlass:off", "/p/bin/mpicc", {"A": "1", "B": "x=y"}))
        for word in ("mpich@A=1", "windlass:off@A"):
            with self.assertRaises(SystemExit):
                benchplan.peer(word, "/p", "/n")

    def test_openmpi_is_told_its_component(self):
        words = benchplan.peer("openmpi-rdma", "/p", "/n").command("/x", 2, ["-a"])
        self.assertEqual(words[0], "mpiexec.openmpi")
        self.assertIn("--mca osc rdma -n 2 /x -a", " ".join(words))

    def test_binding(self):
        ours = benchplan.peer("windlass", "/p", "/n")
        self.assertEqual(ours.command("/x", 1, []),
                         ["/p/bin/mpiexec", "-bind-to", "core", "-n", "1", "/x"])
        crowd = benchplan.cores() + 1
        self.assertEqual(ours.command("/x", crowd, []), ["/p/bin/mpiexec", "-n", str(crowd), "/x"])
        openmpi = benchplan.peer("openmpi", "/p", "/n").command("/x", crowd, [])
        self.assertIn("--oversubscribe", openmpi)

    def test_unknown_peer(self):
        with self.assertRaises(SystemExit):
            benchplan.peer("nonsense", "/p", "/n")


class Tables(unittest.TestCase):
    def lines(self, rows, faults=None, of=None):
        return benchtable.job_table(of or rows[0].job, rows, ["windlass", "mpich"], "windlass",
                                    {("memcpy", 8): [1], ("fence", 0): [1]}, faults or {}, [3])

    def test_columns(self):
        head, first, second = self.lines([row(windlass=[2, 4, 3], mpich=[6]),
                                          row("fence", 0, windlass=[1000.4], mpich=[1])])[1:4]
        self.assertEqual(head.split(), ["operation", "bytes", "floor", "windlass", "mpich", "ratio",
                                        "(min)", "best", "peer", "/floor"])
        self.assertEqual(first.split(), ["put_flush", "8", "2.000", "3.000/2.000", "6.000/6.000",
                                         "0.50", "0.33", "mpich", "1.50"])
        self.assertEqual(second.split(), ["fence", "-", "1000/1000", "1.000/1.000", "1000", "1000",
                                          "mpich", "-"])
        for word in ("windlass", "mpich"):
            end = head.index(word) + len(word)
            self.assertTrue(first[end - 1] != " " and first[end] == " ", first)

    def test_tally_line(self):
        self.assertEqual(self.lines([row(windlass=[2, 4, 3], mpich=[2.5])])[-1],
                         "  at most 1.00 of the best peer: 0 of 1 rows by the median, 1 by the min")

    def test_faults_are_shown(self):
        one = row(windlass=[2], mpich=[1])
        one.cells["mpich"].fault = "wrong data"
        self.assertIn("wrong data", self.lines([one])[2])
        lines = self.lines([row(windlass=[2])], {("2 ranks", "mpich"): "fails at its start"})
        self.assertEqual(lines[2].split()[4], "no")
        self.assertEqual(lines[-1], "  mpich: fails at its start")

    def test_computing_shows_the_95th_percentile(self):
        away = job("away", computing=True)
        lines = self.lines([row(of=away, windlass=list(range(1, 101)), mpich=[1])])
        self.assertIn("median/95%", lines[0])
        self.assertIn("50.50/95.00", lines[2])

    def test_rounds_of_parts(self):
        parted = job(parts=((0, 8), (9, 4096)))
        self.assertEqual(benchtable.rounds_text(job(), [1]), "1 round")
        self.assertEqual(benchtable.rounds_text(parted, [2, 1]),
                         "2 rounds to 8 bytes, 1 round to 4096 bytes")

    def test_wanted_of_a_computing_target(self):
        away = job("away", computing=True, mapped=True)
        lines = self.lines([row(of=away, windlass=[3.9], mpich=[1]),
                            row(of=away, windlass=[3.9, 3.9, 4.1], mpich=[1]),
                            row(of=away, windlass=[4.1], mpich=[1]),
                            row(size=65536, of=away, windlass=[1], mpich=[1])])
        self.assertEqual([" ".join(line.split()[9:]) for line in lines[1:6]],
                         ["/floor wanted", "met", "95% not met", "not met", "-"])

    def test_who_waited_for_the_target_in_other_operations(self):
        away = job("away", computing=True)
        one = row(of=away, windlass=[2])
        one.cells["mpich"] = benchstat.Cell(waited=True)
        self.assertIn(" waits ", self.lines([one])[2])
        one.cells["mpich"].samples = [400000]
        self.assertIn(" 400000/400000 ", self.lines([one])[2])

    def test_bandwidth_is_a_rate_and_its_ratio_one_of_times(self):
        words = self.lines([row("bandwidth", 8, windlass=[2, 4, 8], mpich=[1])])[2].split()
        self.assertEqual(words[:2], ["bandwidth", "[MB/s]"])
        self.assertEqual(words[4:7], ["2.000/4.000", "8.000/8.000", "4.00"])

    def test_summary(self):
        results = benchrun.Results()
        results.rows = {("2 ranks", 0): row("a", windlass=[4], mpich=[2]),
                        ("2 ranks", 1): row("b", windlass=[1], mpich=[2])}
        lines = benchtable.summary(results, [job()], "windlass", {})
        self.assertIn("1 of 2 rows", lines[0])
        self.assertEqual(lines[3].split(), ["2.00", "2.00", "a", "8", "2", "ranks", "mpich"])
        self.assertEqual([line.split()[:2] for line in lines[4:6]], [["bytes:", "0"], ["ranks:", "0"]])
        self.assertEqual(len(lines), 7)
        self.assertEqual(benchtable.summary(benchrun.Results(), [job()], "windlass", {}), [])

    def test_summary_of_crowds(self):
        crowd = job("crowd", np=benchplan.cores() + 1)
        results = benchrun.Results()
        results.rows = {("2 ranks", 0): row("a", windlass=[4], mpich=[2]),
                        ("2 ranks", 1): row("b", windlass=[1], mpich=[2]),
                        ("crowd", 0): row("a", of=crowd, windlass=[1], mpich=[2])}
        lines = benchtable.summary(results, [job(), crowd], "windlass", {})
        self.assertIn("2 of 3 rows", lines[0])
        self.assertEqual(lines[1], "  with a processor for every rank 1 of 2, with more ranks than processors 1 of 1")

    def test_summary_of_what_is_not_met(self):
        away = job("away", computing=True)
        results = benchrun.Results()
        results.rows = {("away", 0): row(of=away, windlass=[60], mpich=[90]),
                        ("away", 1): row("get_flush", of=away, windlass=[40], mpich=[90])}
        lines = benchtable.summary(results, [away], "windlass",
                                   {("memcpy", 8): [1], ("fence", 0): [1]})
        at = [line.startswith("wanted of target computing") for line in lines].index(True)
        self.assertIn("met by 1 of 2 rows", lines[at])
        self.assertEqual(lines[at + 1], "  not met: put_flush, 8 bytes, away")

    def test_tics(self):
        self.assertEqual(benchtable.tics({"p": [(8, 1), (1024, 1)], "q": [(2 << 20, 1), (8, 2)]}),
                         "'8' 8, '1K' 1024, '2M' 2097152")
        many = benchtable.tics({"p": [(size, 1) for size in range(1, 26)]})
        self.assertEqual([word.split()[1] for word in many.split(", ")],
                         ["1", "4", "7", "10", "13", "16", "19", "22", "25"])

    def test_plot_text(self):
        curves = benchtable.series([row(size=8, windlass=[2]), row(size=16, windlass=[4])],
                                   ["windlass", "mpich"], {})
        self.assertEqual(curves, {"windlass": [(8, 2), (16, 4)]})
        curves = benchtable.series([row("a:no,my", size=8, windlass=[2])], ["windlass"], {})
        self.assertEqual(curves, {"windlass no,my": [(8, 2)]})
        curves = {"windlass": [(8, 2), (16, 4)]}
        text = benchtable.plot_text("t", curves, "o.svg")
        self.assertIn("16 4 4", text)
        self.assertIn("title 'windlass'", text)


# What the program of the floors does, and a peer's program: they are shell scripts.
FLOORS = r"printf '=\t0\thand_over\t0\t1.5\t2\n'"
PROGRAMS = {
    "windlass": r"""printf '>\t0\tbarrier\t0\n=\t0\tbarrier\t0\t2\t4\n'
                    printf '>\t1\trate\t8\n=\t1\trate\t8\t1\n.\n'""",
    "slow": r"""printf '>\t0\tbarrier\t0\n=\t0\tbarrier\t0\t5\t9\n'
                printf '>\t1\trate\t8\n=\t1\trate\t8\t4\n.\n'""",
    "dies": r"""case "$*" in
                *--first*) printf '>\t1\trate\t8\n=\t1\trate\t8\t0.5\n.\n' ;;
                *--skip\ 0,*) printf '>\t1\trate\t8\n=\t1\trate\t8\t0.5\n.\n' ;;
                *) printf '>\t0\tbarrier\t0\n'; kill -9 $$ ;;
                esac""",
    "hangs": r"""case "$*" in
                *--first*) echo . ;;
                *--skip*) echo . ;;
                *) printf '>\t0\tbarrier\t0\n'; sleep 100 ;;
                esac""",
    "wrong": r"""printf '>\t0\tbarrier\t0\n=\t0\tbarrier\t0\t1\n!\t0\tbarrier\t0\n.\n'; exit 3""",
    "shows": """printf ">\\t0\\tbarrier\\t0\\n=\\t0\\tbarrier\\t0\\t${GIVEN:-1}\\n.\\n" """,
    # Rows 0 and 1 are under way together when it dies.
    "dies_of_two": r"""case "$*" in
                *--first\ 2*) printf '>\t2\trate\t64\n=\t2\trate\t64\t3\n.\n' ;;
                *) printf '>\t0\tbarrier\t0\n>\t1\trate\t8\n'
                   printf '&\t0\tbarrier\t0\n&\t1\trate\t8\n'; kill -9 $$ ;;
                esac""",
    # It dies when row 1 begins, behind which row 0 is still to have its samples.
    "dies_between": r"""case "$*" in
                *--first*) echo . ;;
                *--skip\ 1,*) printf '>\t0\tbarrier\t0\n&\t0\tbarrier\t0\n=\t0\tbarrier\t0\t6\n.\n' ;;
                *) printf '>\t0\tbarrier\t0\n>\t1\trate\t8\n'; kill -9 $$ ;;
                esac""",
    "waits": r"""printf '>\t0\tbarrier\t0\n>\t1\trate\t8\n&\t0\tbarrier\t0\n&\t1\trate\t8\n'
                 printf '=\t0\tbarrier\t0\t400000\n~\t1\trate\t8\n=\t1\trate\t8\n.\n'""",
    # The machine's state changes behind its first run, and it is as fast as windlass's two samples' mean.
    "moves": r"""at=$(dirname "$0")/moved; state=0.05; us=6; [ -e "$at" ] || { state=0.25; us=30; }; : > "$at"
                 printf '>\t0\tbarrier\t0\n@\t0\tbarrier\t0\t%s\t%s\n=\t0\tbarrier\t0\t%s\n.\n' $state $state $us""",
    "stays": r"""printf '>\t0\tbarrier\t0\n@\t0\tbarrier\t0\t0.05\t0.05\n=\t0\tbarrier\t0\t3\n.\n'""",
    "refuses": "echo 'an error occurred: unsupported'; exit 1",
}


def state(pid):
    """A process's state as the kernel names it; empty if there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


class Driver(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.dir = self.directory.name
        for name, program in PROGRAMS.items():
            self.peer(name, program)
        os.mkdir(os.path.join(self.dir, "bin"))
        self.tool(os.path.join(self.dir, "bin", "cc"),
                  'while [ "$1" != -o ]; do shift; done; cp "$(dirname "$0")/floor" "$2"')
        self.tool(os.path.join(self.dir, "bin", "floor"), FLOORS)

    def peer(self, name, program):
        """An installation whose compiler makes `program` of any source."""
        binaries = os.path.join(self.dir, name, "bin")
        os.makedirs(binaries, exist_ok=True)
        self.tool(os.path.join(binaries, "program"), program)
        self.tool(os.path.join(binaries, "mpicc"),
                  'while [ "$1" != -o ]; do shift; done; cp "$(dirname "$0")/program" "$2"')
        self.tool(os.path.join(binaries, "mpiexec"),
                  f'echo {name} >> {self.dir}/calls\n'
                  'while [ "$1" != -n ]; do shift; done; shift 2; exec "$@"')

    @staticmethod
    def tool(path, text):
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, 0o755)

    def bench(self, peers, *args):
        words = [name if name.startswith("windlass") else f"{name}={self.dir}/{name}"
                 for name in peers]
        environment = dict(os.environ, PREFIX=os.path.join(self.dir, "windlass"))
        environment.pop("GIVEN", None)
        environment["PATH"] = os.path.join(self.dir, "bin") + os.pathsep + environment["PATH"]
        done = subprocess.run([os.path.join(TOP, "maint", "bench"), "p2p", "--np", "2",
                               "--no-packages", "--out", os.path.join(self.dir, "out"),
                               "--peers", ",".join(words)] + list(args),
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=100)
        return done.returncode, done.stdout

    def cells(self):
        """(operation, peer) -> (median, fault)"""
        with open(os.path.join(self.dir, "out", "rows.tsv")) as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        at = {name: index for index, name in enumerate(lines[0])}
        return {(line[at["operation"]], line[at["peer"]]):
                (line[at["median_us"]], line[at["fault"]]) for line in lines[1:]}

    def test_every_kind_of_peer(self):
        status, output = self.bench(["windlass", "slow", "dies", "hangs", "wrong", "refuses",
                                     "absent"], "--rounds", "2", "--limit", "1")
        self.assertEqual(status, 0, output)
        cells = self.cells()
        self.assertEqual(cells["barrier", "windlass"], ("3.00000", ""))
        self.assertEqual(cells["barrier", "slow"], ("7.00000", ""))
        self.assertEqual(cells["barrier", "dies"], ("", "fails"))
        self.assertEqual(cells["rate", "dies"], ("0.50000", ""))
        self.assertEqual(cells["barrier", "hangs"], ("", "late"))
        self.assertEqual(cells["barrier", "wrong"][1], "wrong data")
        self.assertIn("unsupported", cells["barrier", "refuses"][1])
        self.assertIn("absent: not here", output)
        # Its floor is two hand-overs.
        self.assertRegex(output, r"barrier +3\.000 .* 0\.43 .* slow +1\.00")
        self.assertRegex(output, r"rate .* 2\.00 .* dies")

    def test_settings_reach_the_programs_of_their_column_alone(self):
        self.peer("windlass", PROGRAMS["shows"])
        self.bench(["windlass", "windlass:seven@GIVEN=7", "slow"], "--rounds", "1")
        cells = self.cells()
        self.assertEqual(cells["barrier", "windlass"], ("1.00000", ""))
        self.assertEqual(cells["barrier", "windlass:seven"], ("7.00000", ""))

    def test_minutes_that_are_over(self):
        status, output = self.bench(["windlass", "slow"], "--minutes", "0")
        self.assertEqual(status, 1, output)
        self.assertIn("2 ranks: microseconds, median/min of 0 rounds", output)

    def test_what_peers_did_in_two_states_is_done_again(self):
        self.peer("windlass", PROGRAMS["stays"])
        status, output = self.bench(["windlass", "moves"], "--rounds", "1", "--jobs", "^2 ranks$")
        self.assertEqual(status, 0, output)
        with open(os.path.join(self.dir, "calls")) as file:
            self.assertEqual(file.read().split(), ["windlass", "moves", "moves", "windlass"])
        self.assertRegex(output, r"2 ranks: .* of 2 rounds")
        # Two hand-overs of the near state are its floor.
        self.assertRegex(output, r"barrier +0\.1000 +near +3\.000/3\.000 +6\.000/6\.000 +0\.50")
        self.assertNotIn("not comparable", output)

    def test_what_stays_in_two_states_is_said(self):
        self.peer("windlass", PROGRAMS["stays"])
        status, output = self.bench(["windlass", "moves"], "--rounds", "1", "--jobs", "^2 ranks$", "--extra", "0")
        self.assertEqual(status, 0, output)
        self.assertIn("0.050 us (near) or 0.250 us (far)", output)
        self.assertIn("\n  barrier, 0 bytes, 2 ranks: near, moves far\n", output)
        self.assertEqual(self.cells()["barrier", "moves"], ("", ""))
        with open(os.path.join(self.dir, "out", "rows.tsv")) as file:
            lines = [line.split("\t") for line in file]
        at = lines[0].index("state")
        self.assertEqual([line[at] for line in lines if line[3] == "barrier"], ["near", "far"])

    def test_a_row_that_ours_did_in_another_state_is_done(self):
        self.peer("windlass", PROGRAMS["moves"])
        status, output = self.bench(["windlass", "stays"], "--rounds", "1", "--jobs", "^2 ranks$", "--extra", "0")
        self.assertIn("barrier, 0 bytes, 2 ranks: near, windlass far", output)
        self.assertEqual(status, 0, output)

    def test_only_some_jobs(self):
        status, output = self.bench(["windlass", "slow"], "--rounds", "1", "--jobs", "^2 ranks$")
        self.assertEqual(status, 0, output)
        self.assertEqual(self.bench(["windlass"], "--rounds", "1", "--jobs", "^nothing$")[0], 1)

    def test_interleaved(self):
        self.bench(["windlass", "slow"], "--rounds", "3")
        with open(os.path.join(self.dir, "calls")) as file:
            self.assertEqual(file.read().split(),
                             ["windlass", "slow", "slow", "windlass", "windlass", "slow"])

    def test_a_row_that_failed_is_not_tried_again(self):
        self.bench(["windlass", "dies"], "--rounds", "2")
        with open(os.path.join(self.dir, "calls")) as file:
            # Its second start goes on behind the row; its third leaves the row out.
            self.assertEqual(file.read().split().count("dies"), 3)

    def test_rows_that_are_together_fail_together(self):
        self.bench(["windlass", "dies_of_two"], "--rounds", "1")
        with open(os.path.join(self.dir, "out", "rows.tsv")) as file:
            lines = [line.split("\t") for line in file if "dies_of_two" in line]
        self.assertEqual([(line[3], line[4], line[7], line[-1].strip()) for line in lines],
                         [("barrier", "0", "", "fails"), ("rate", "8", "", "fails"),
                          ("rate", "64", "3.00000", "")])

    def test_a_row_that_fails_leaves_those_beside_it_to_be_done(self):
        self.bench(["windlass", "dies_between"], "--rounds", "1")
        cells = self.cells()
        self.assertEqual(cells["barrier", "dies_between"], ("6.00000", ""))
        self.assertEqual(cells["rate", "dies_between"], ("", "fails"))

    def test_a_row_that_never_had_its_turn(self):
        status, _ = self.bench(["windlass", "waits"], "--rounds", "1")
        self.assertEqual((status, self.cells()["rate", "waits"]), (0, ("", "waits")))
        self.peer("windlass", PROGRAMS["waits"])
        self.assertEqual(self.bench(["windlass", "slow"], "--rounds", "1")[0], 0)

    def test_our_own_faults_are_failures(self):
        for program, said in (("wrong", "barrier 0: wrong data"), ("dies", "barrier 0: fails"),
                              ("refuses", "fails at its start")):
            self.peer("windlass", PROGRAMS[program])
            status, output = self.bench(["windlass", "slow"], "--rounds", "1")
            self.assertEqual(status, 1, output)
            self.assertRegex(output, f"windlass FAILED .*{said}")

    def test_nothing_is_left_running(self):
        self.peer("hangs", r"printf '>\t0\tbarrier\t0\n'; trap '' TERM; "
                  f"sleep 100 & echo $! > {self.dir}/pid; wait; wait")
        self.bench(["windlass", "hangs"], "--rounds", "1", "--limit", "1")
        with open(os.path.join(self.dir, "pid")) as file:
            self.assertIn(state(file.read().strip()), ("", "Z"))

    def test_a_signal_ends_the_build_of_a_peer(self):
        source = os.path.join(self.dir, "source")
        os.makedirs(os.path.join(source, "maint"))
        with open(os.path.join(source, "maint", "version.m4"), "w") as file:
            file.write("m4_define([MPICH_VERSION_m4],[4.0.2])dnl\n")
        self.tool(os.path.join(source, "configure"),
                  f"printf 'all:\\n\\techo $$$$ > {self.dir}/pid.new; mv {self.dir}/pid.new {self.dir}/pid; sleep 100\\n' "
                  "> Makefile")
        self.tool(os.path.join(self.dir, "bin", "dpkg-query"), "echo install ok installed")
        environment = dict(os.environ, MPICH_SRC=source)
        environment["PATH"] = os.path.join(self.dir, "bin") + os.pathsep + environment["PATH"]
        bench = subprocess.Popen([os.path.join(TOP, "maint", "bench"), "p2p", "--peers", "nemesis", "--cache",
                                  os.path.join(self.dir, "nemesis"), "--out", os.path.join(self.dir, "out")],
                                 env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not os.path.exists(os.path.join(self.dir, "pid")):
            self.assertIsNone(bench.poll())
            time.sleep(0.1)
        bench.terminate()
        self.assertEqual(bench.communicate()[1], "")
        self.assertEqual(bench.returncode, 130)
        with open(os.path.join(self.dir, "pid")) as file:
            self.assertIn(state(file.read().strip()), ("", "Z"))

    def test_what_is_missing_is_said(self):
        self.tool(os.path.join(self.dir, "bin", "cc"), "exit 1")
        status, output = self.bench(["windlass"], "--rounds", "1")
        self.assertEqual(status, 1)
        self.assertTrue(output.endswith("bench: the floors' program cannot be compiled; it wants UCX (Debian: libucx-dev)\n"),
                        output)
        with unittest.mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(SystemExit, r"there is no cc \(Debian: gcc\)"):
                benchplan.compile_alone([], "it")
            self.assertEqual(benchcount.count(None, "", "put", ""), "no valgrind")

    def test_refused_options(self):
        status, output = self.bench(["windlass"], "--np", "x")
        self.assertEqual((status, output.splitlines()[-1]), (2, "bench: error: --np x: a list of numbers is wanted"))
        status, output = self.bench(["windlass"], "--jobs", "(")
        self.assertEqual(status, 2, output)
        self.assertIn("error: --jobs (: ", output)
        for args in (["p3p"], ["p2p", "--instructions"], ["p2p", "--fast", "/x"],
                     ["p2p", "--peers", "nonsense"]):
            done = subprocess.run([os.path.join(TOP, "maint", "bench")] + args,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertNotEqual(done.returncode, 0, args)


if __name__ == "__main__":
    unittest.main()
