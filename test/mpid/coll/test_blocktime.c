/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The time of a broadcast in blocks: against all ranks stepped through, instant by instant.
 */
#include "mpid/coll/blocktime.h"
#include <string.h>
#include "mpid/coll/pattern.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = WDL_BLOCKTIME_RANKS_MAX, BLOCKS = WDL_BLOCKTIME_BLOCKS_MAX };

/* One message on its way, or at its receiver's port, in sending order. */
struct message {
    int to, block, kind, due; /* block -1: the flag of a kind */
};

struct world {
    int ranks, n, steps, now, got, wait, gap;
    struct wdl_pattern_circulant of[RANKS];
    char has[RANKS][BLOCKS], go[RANKS][8];
    int step[RANKS], said[RANKS], send_free[RANKS], receive_free[RANKS];
    struct message messages[RANKS * (BLOCKS + 8)];
    int count;
};

static int kind_of(const struct world *w, int rank, int i)
{
    return wdl_pattern_circulant_kind(&w->of[rank], w->n, i);
}

/* Does the port take a before b? What comes first, and of what comes at one instant flags. */
static int is_before(const struct message *a, const struct message *b)
{
    int flags = (b->block < 0) - (a->block < 0);
    return a->due < b->due || (a->due == b->due && (flags < 0 || (flags == 0 && a < b)));
}

static int is_first(const struct world *w, const struct message *m)
{
    for (int i = 0; i < w->count; i++)
        if (w->messages[i].to == m->to && is_before(&w->messages[i], m))
            return 0;
    return 1;
}

static void take(struct world *w, int i)
{
    struct message m = w->messages[i];
    char *there = m.block < 0 ? &w->go[m.to][m.kind] : &w->has[m.to][m.block];
    must(!*there);
    *there = 1;
    w->got += m.block >= 0;
    w->receive_free[m.to] = w->now + (m.block < 0 ? w->gap : WDL_BLOCKTIME_TURN);
    w->count--;
    memmove(&w->messages[i], &w->messages[i + 1], sizeof(m) * (size_t) (w->count - i));
}

static void receive(struct world *w)
{
    for (int i = 0; i < w->count; i++) {
        const struct message *m = &w->messages[i];
        if (m->due <= w->now && w->receive_free[m->to] <= w->now && is_first(w, m)) {
            take(w, i);
            i = -1;
        }
    }
}

/* The next of its flags, in the order of the first steps of all kinds; 0: all have been sent. */
static int say(struct world *w, int rank)
{
    const struct wdl_pattern_circulant *of = &w->of[rank];
    while (rank > 0 && w->said[rank] < of->rounds) {
        int k = w->said[rank]++, kind = kind_of(w, rank, k), wanted = 0;
        for (int i = k; i < w->steps; i += of->rounds)
            wanted |= wdl_pattern_circulant_block(of, of->recv, w->n, i) >= 0;
        if (!wanted)
            continue;
        w->messages[w->count++] = (struct message){
            (rank - of->skip[kind] + w->ranks) % w->ranks, -1, kind, w->now + w->wait + w->gap};
        w->send_free[rank] = w->now + w->gap;
        return 1;
    }
    return 0;
}

static void send(struct world *w, int rank)
{
    const struct wdl_pattern_circulant *of = &w->of[rank];
    if (w->send_free[rank] > w->now || say(w, rank))
        return;
    for (; w->step[rank] < w->steps; w->step[rank]++) {
        int kind = kind_of(w, rank, w->step[rank]), to = (rank + of->skip[kind]) % w->ranks;
        int block = wdl_pattern_circulant_block(of, of->send, w->n, w->step[rank]);
        if (block < 0 || to == 0)
            continue;
        if (!w->has[rank][block] || !w->go[rank][kind])
            return;
        w->send_free[rank] = w->now + WDL_BLOCKTIME_TURN;
        w->messages[w->count++] =
            (struct message){to, block, kind, w->now + WDL_BLOCKTIME_TURN + w->wait};
        w->step[rank]++;
        return;
    }
}

/* By the clock, unit by unit. */
static uint32_t clocked(int ranks, int n, int wait, int gap)
{
    static struct world w;
    memset(&w, 0, sizeof(w));
    w.ranks = ranks;
    w.n = n;
    w.wait = wait;
    w.gap = gap;
    memset(w.has[0], 1, sizeof(w.has[0]));
    for (int rank = 0; rank < ranks; rank++)
        wdl_pattern_circulant(ranks, rank, &w.of[rank]);
    w.steps = n - 1 + w.of[0].rounds;
    for (;; w.now++) {
        receive(&w);
        if (w.got == (ranks - 1) * n)
            return (uint32_t) w.now;
        for (int rank = 0; rank < ranks; rank++)
            send(&w, rank);
    }
}

START_TEST(the_walk_is_what_a_clock_tells)
{
    static const int blocks[] = {1, 2, 3, 5, 8, 13}, waits[] = {0, 1, 8, 100, 128, 256, 700};
    static const int gaps[] = {1, 40, 64, 200};
    for (int ranks = 2; ranks <= RANKS; ranks += ranks < 20 ? 1 : 11)
        for (int b = 0; b < 6; b++)
            for (int i = 0; i < 7 * 4; i++)
                must_cmp(wdl_blocktime_walk(ranks, blocks[b], waits[i / 4], gaps[i % 4]), ==,
                         clocked(ranks, blocks[b], waits[i / 4], gaps[i % 4]));
}
END_TEST

/* At least a turn for each round, a wait, and a flag before: with a power of two of ranks, no wait
 * and flags that take nothing, no more. */
START_TEST(rounds_are_the_least)
{
    int lost = 0;
    for (int ranks = 2; ranks <= RANKS; ranks++)
        for (int i = 0; i < WDL_BLOCKTIME_NUMBERS; i++) {
            int n = wdl_blocktime_number(i);
            int least = (n - 1 + wdl_pattern_rounds(ranks, 2)) * WDL_BLOCKTIME_TURN;
            int units = (int) wdl_blocktime_walk(ranks, n, 0, 0);
            must_cmp(units, >=, least);
            must_cmp(wdl_blocktime_walk(ranks, n, 100, 50), >=, least + 250);
            if ((ranks & (ranks - 1)) == 0)
                must_cmp(units, ==, least);
            lost += units > least;
        }
    must_cmp(lost, >, 0); /* else nobody needs the walk */
}
END_TEST

START_TEST(numbers_grow)
{
    must_cmp(wdl_blocktime_number(0), ==, 1);
    for (int i = 1; i < WDL_BLOCKTIME_NUMBERS; i++)
        must_cmp(wdl_blocktime_number(i), >, wdl_blocktime_number(i - 1));
    must_cmp(wdl_blocktime_number(WDL_BLOCKTIME_NUMBERS - 1), ==, BLOCKS);
}
END_TEST

/* What has been found is not looked for again; in between there is nothing to find. */
START_TEST(a_walk_is_done_once)
{
    static struct wdl_blocktime kept;
    static const double waits[] = {0, 1. / 32, 0.1, 0.3, 1, 4, 9, 1e6}, gaps[] = {0, 0.1, 0.3, 1};
    uint64_t walks = 0;
    for (int round = 0; round < 2; round++)
        for (int ranks = 2; ranks <= RANKS; ranks += 7)
            for (int i = 0; i < WDL_BLOCKTIME_NUMBERS; i++)
                for (int k = 0; k < 8 * 4; k++) {
                    must(wdl_blocktime(&kept, ranks, i, waits[k / 4], gaps[k % 4]) >= 1);
                    walks = round ? walks : kept.walks;
                    must_cmp(kept.walks, ==, walks);
                }
    must_cmp(walks, ==, 9 * WDL_BLOCKTIME_NUMBERS * WDL_BLOCKTIME_WAITS * WDL_BLOCKTIME_GAPS);
}
END_TEST

/* At what is walked it is the walk, and between on the line. */
START_TEST(what_is_asked_for_is_between_walks)
{
    static struct wdl_blocktime kept;
    for (int ranks = 2; ranks <= RANKS; ranks += 3)
        for (int i = 0; i < WDL_BLOCKTIME_NUMBERS; i++) {
            int n = wdl_blocktime_number(i);
            double half = wdl_blocktime(&kept, ranks, i, 0.5, 0.25);
            double one = wdl_blocktime(&kept, ranks, i, 1, 0.25);
            double far = wdl_blocktime(&kept, ranks, i, 0.5, 0.5);
            must(half * WDL_BLOCKTIME_TURN == wdl_blocktime_walk(ranks, n, 128, 64));
            must(one * WDL_BLOCKTIME_TURN == wdl_blocktime_walk(ranks, n, 256, 64));
            must(far * WDL_BLOCKTIME_TURN == wdl_blocktime_walk(ranks, n, 128, 128));
            must(wdl_blocktime(&kept, ranks, i, 0.75, 0.25) == (half + one) / 2);
            must(wdl_blocktime(&kept, ranks, i, 0.5, 0.375) == (half + far) / 2);
            must(wdl_blocktime(&kept, ranks, i, 0, 0) * WDL_BLOCKTIME_TURN ==
                 wdl_blocktime_walk(ranks, n, 8, 8));
        }
}
END_TEST

WDL_SUITE("coll/blocktime", the_walk_is_what_a_clock_tells, rounds_are_the_least, numbers_grow,
          a_walk_is_done_once, what_is_asked_for_is_between_walks)
