/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of coll/pattern: every pattern is run by all ranks with sets of blocks, or with runs of
 * ranks that may only be joined in order, for every P up to 300.
 */
#include "mpid/coll/pattern.h"
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/least.h"
#include "support/must.h"
#include "support/suite.h"

#define RANKS_MAX 300

typedef unsigned char grid[RANKS_MAX][RANKS_MAX];       /* [rank][block] */

static grid has, next;

static void check_ring_step(int p, const struct wdl_pattern_step *mine,
                            const struct wdl_pattern_step *theirs, int rank)
{
    must_cmp(theirs->from, ==, rank);
    must_cmp(theirs->recv_first, ==, mine->send_first);
    must_cmp(theirs->recv_count, ==, mine->send_count);
    must(mine->to >= 0 && mine->to < p && mine->send_count >= 1 && mine->send_count <= p);
}

static void disseminate_all(int p, int arity, int rounds)
{
    memset(has, 0, sizeof(has));
    for (int rank = 0; rank < p; rank++)
        has[rank][rank] = 1;
    for (int round = 0; round < rounds; round++) {
        memcpy(next, has, sizeof(has));
        for (int rank = 0; rank < p; rank++)
            for (int port = 0; port < arity - 1; port++) {
                struct wdl_pattern_step mine, theirs;
                if (!wdl_pattern_disseminate(p, arity, rank, round, port, &mine))
                    continue;
                must(wdl_pattern_disseminate(p, arity, mine.to, round, port, &theirs));
                check_ring_step(p, &mine, &theirs, rank);
                for (int i = 0; i < mine.send_count; i++) {
                    int block = (mine.send_first + i) % p;
                    must(has[rank][block]);
                    must(!next[mine.to][block]);        /* nothing comes twice */
                    next[mine.to][block] = 1;
                }
            }
        memcpy(has, next, sizeof(has));
    }
    for (int rank = 0; rank < p; rank++)
        for (int block = 0; block < p; block++)
            must(has[rank][block]);
}

START_TEST(dissemination)
{
    for (int p = 1; p <= RANKS_MAX; p++)
        for (int arity = 2; arity <= 5; arity += 1 + p % 3) {
            int rounds = wdl_pattern_rounds(p, arity);
            int64_t reach = 1;
            struct wdl_pattern_step step;
            disseminate_all(p, arity, rounds);
            for (int i = 0; i < rounds; i++, reach *= arity)
                must_cmp(reach, <, p);
            must_cmp(reach, >=, p);
            must(!wdl_pattern_disseminate(p, arity, 0, rounds, 0, &step));
            must(!wdl_pattern_disseminate(p, arity, 0, 0, arity - 1, &step));
        }
}
END_TEST

static int whose[RANKS_MAX][RANKS_MAX], whose_next[RANKS_MAX][RANKS_MAX];     /* [rank][slot] */

START_TEST(bruck)
{
    for (int p = 1; p <= RANKS_MAX; p++) {
        int arity = 2 + p % 4;
        for (int rank = 0; rank < p; rank++)
            for (int slot = 0; slot < p; slot++)
                whose[rank][slot] = rank * p + (rank + slot) % p;       /* from, to */
        for (int round = 0; round < wdl_pattern_rounds(p, arity); round++) {
            memcpy(whose_next, whose, sizeof(whose));
            for (int rank = 0; rank < p; rank++)
                for (int port = 0; port < arity - 1; port++) {
                    struct wdl_pattern_step mine, theirs;
                    int count = wdl_pattern_bruck(p, arity, rank, round, port, &mine), slots = 0;
                    if (count == 0) {
                        int none;
                        must_cmp(wdl_pattern_bruck_run(p, arity, round, port, 0, &none), ==, 0);
                        continue;
                    }
                    must_cmp(wdl_pattern_bruck(p, arity, mine.to, round, port, &theirs), ==, count);
                    must_cmp(theirs.from, ==, rank);
                    for (int i = 0, n, s, end = 1;
                         (n = wdl_pattern_bruck_run(p, arity, round, port, i, &s)) > 0; i++) {
                        must(s >= end && s + n <= p);
                        for (end = s + n; s < end; s++, slots++)
                            whose_next[mine.to][s] = whose[rank][s];
                    }
                    must_cmp(slots, ==, count);
                    must_cmp(mine.send_count, ==, count);
                }
            memcpy(whose, whose_next, sizeof(whose));
        }
        for (int rank = 0; rank < p; rank++)
            for (int slot = 0; slot < p; slot++)
                must_cmp(whose[rank][slot], ==, (rank - slot + p) % p * p + rank);
    }
}
END_TEST

START_TEST(ring)
{
    for (int p = 2; p <= RANKS_MAX; p++) {
        memset(has, 0, sizeof(has));
        for (int rank = 0; rank < p; rank++)
            has[rank][rank] = 1;
        for (int round = 0; round < p - 1; round++)
            for (int rank = 0; rank < p; rank++) {
                struct wdl_pattern_step mine = wdl_pattern_ring(p, rank, round);
                struct wdl_pattern_step theirs = wdl_pattern_ring(p, mine.to, round);
                check_ring_step(p, &mine, &theirs, rank);
                must(has[rank][mine.send_first]);
                must(!has[mine.to][mine.send_first]);
                has[mine.to][mine.send_first] = 1;      /* sent by it in later rounds alone */
                must(round + 2 > p - 1 ||
                     wdl_pattern_ring(p, mine.to, round + 1).send_first == mine.send_first);
            }
        for (int rank = 0; rank < p; rank++)
            must(!memchr(has[rank], 0, (size_t) p));
    }
}
END_TEST

START_TEST(pairwise)
{
    for (int p = 2; p <= RANKS_MAX; p++) {
        memset(has, 0, sizeof(has));
        for (int round = 0; round < p - 1; round++)
            for (int rank = 0; rank < p; rank++) {
                struct wdl_pattern_step mine = wdl_pattern_pairwise(p, rank, round);
                struct wdl_pattern_step theirs = wdl_pattern_pairwise(p, mine.to, round);
                must_cmp(theirs.from, ==, rank);        /* so everyone is sent to once */
                must_cmp(theirs.recv_first, ==, rank);
                must_cmp(mine.send_first, ==, mine.to);
                must(mine.to != rank && !has[rank][mine.to]);
                has[rank][mine.to] = 1;
            }
    }
}
END_TEST

/* A fold of the ranks [lo, hi), in order. */
struct run {
    int lo, hi;
};

static struct run join(struct run a, struct run b)
{
    must_cmp(a.hi, ==, b.lo);
    return (struct run) { a.lo, b.hi };
}

static void group_start(int p, struct run *runs, struct wdl_pattern_group *groups)
{
    for (int rank = 0; rank < p; rank++) {
        groups[rank] = wdl_pattern_group_of(p, rank);
        runs[rank] = (struct run) { rank, rank + 1 };
    }
    for (int rank = 0; rank < p; rank++) {
        const struct wdl_pattern_group *group = &groups[rank];
        must_cmp(group->place < 0, ==, group->taker >= 0);
        if (group->place >= 0)
            must_cmp(wdl_pattern_group_rank(p, group->place), ==, rank);
        if (group->giver >= 0)
            must_cmp(groups[group->giver].taker, ==, rank);
        if (group->taker >= 0) {
            must_cmp(groups[group->taker].giver, ==, rank);
            runs[group->taker] = join(runs[group->taker], runs[rank]);
        }
    }
}

START_TEST(doubling)
{
    for (int p = 1; p <= RANKS_MAX; p++) {
        struct run runs[RANKS_MAX], old[RANKS_MAX];
        struct wdl_pattern_group groups[RANKS_MAX];
        group_start(p, runs, groups);
        must_cmp(1 << groups[0].rounds, <=, p);
        must_cmp(2 << groups[0].rounds, >, p);
        for (int round = 0; round < groups[0].rounds; round++) {
            memcpy(old, runs, sizeof(old));
            for (int rank = 0; rank < p; rank++) {
                if (groups[rank].place < 0)
                    continue;
                struct wdl_pattern_pair pair = wdl_pattern_double(p, groups[rank].place, round);
                struct run mine = old[rank], theirs = old[pair.partner];
                must_cmp(pair.keep_first, ==, mine.lo);
                must_cmp(pair.keep_count, ==, mine.hi - mine.lo);
                must_cmp(pair.give_first, ==, theirs.lo);
                must_cmp(pair.give_count, ==, theirs.hi - theirs.lo);
                runs[rank] = pair.upper ? join(theirs, mine) : join(mine, theirs);
            }
        }
        for (int rank = 0; rank < p; rank++)
            must(groups[rank].place < 0 || (runs[rank].lo == 0 && runs[rank].hi == p));
    }
}
END_TEST

/* Each element of the vector by itself; far halving joins what is no neighbour, so counts there. */
static void halve_all(int p, enum wdl_pattern_way way, int count)
{
    static struct run vec[RANKS_MAX][RANKS_MAX], old[RANKS_MAX][RANKS_MAX];
    static int64_t lo[RANKS_MAX], hi[RANKS_MAX];
    struct run runs[RANKS_MAX];
    struct wdl_pattern_group groups[RANKS_MAX];
    int rounds, place, owned = 0;
    group_start(p, runs, groups);
    rounds = groups[0].rounds;
    for (int rank = 0; rank < p; rank++) {
        lo[rank] = 0, hi[rank] = count;
        for (int i = 0; i < count; i++)
            vec[rank][i] = runs[rank];
    }
    for (int round = 0; round < rounds; round++) {
        memcpy(old, vec, sizeof(old));
        for (int rank = 0; rank < p; rank++) {
            if ((place = groups[rank].place) < 0)
                continue;
            struct wdl_pattern_pair pair = wdl_pattern_halve(p, place, round, way, count);
            struct wdl_pattern_pair back =
                wdl_pattern_halve(p, groups[pair.partner].place, round, way, count);
            must_cmp(back.partner, ==, rank);
            must_cmp(back.give_first, ==, pair.keep_first);
            must_cmp(back.give_count, ==, pair.keep_count);
            must_cmp(back.upper, ==, !pair.upper);
            must(llabs(pair.keep_count - pair.give_count) <= 1);
            must_cmp(pair.keep_count + pair.give_count, ==, hi[rank] - lo[rank]);
            must(pair.keep_first >= lo[rank] && pair.keep_first + pair.keep_count <= hi[rank]);
            lo[rank] = pair.keep_first, hi[rank] = pair.keep_first + pair.keep_count;
            for (int64_t i = lo[rank]; i < hi[rank]; i++) {
                struct run a = old[rank][i], b = old[pair.partner][i];
                if (way == WDL_PATTERN_FAR)
                    vec[rank][i].hi = a.hi + b.hi - b.lo;       /* a count, from lo */
                else
                    vec[rank][i] = pair.upper ? join(b, a) : join(a, b);
            }
        }
    }
    for (int rank = 0; rank < p; rank++) {
        if ((place = groups[rank].place) < 0)
            continue;
        for (int64_t i = lo[rank]; i < hi[rank]; i++, owned++)
            must_cmp(vec[rank][i].hi - vec[rank][i].lo, ==, p);
        if (way == WDL_PATTERN_FAR && place > 0)        /* parts in the order of places */
            must_cmp(lo[rank], ==, hi[wdl_pattern_group_rank(p, place - 1)]);
    }
    must_cmp(owned, ==, count);
}

START_TEST(halving)
{
    for (int p = 1; p <= RANKS_MAX; p++) {
        halve_all(p, WDL_PATTERN_NEAR, p);
        halve_all(p, WDL_PATTERN_FAR, p);
        halve_all(p, p % 2 ? WDL_PATTERN_NEAR : WDL_PATTERN_FAR, p * 7 % 31);   /* odd, few, none */
    }
}
END_TEST

/* Messages by hops: when each can be sent, and that it tells what has come by then. */
static void spread_times(int p, uint64_t eel, uint64_t gap, const struct wdl_pattern_spread *s)
{
    uint64_t sent[WDL_PATTERN_SPREAD_MAX];
    for (int i = 0; i < s->steps; i++) {
        must(s->hop[i] > (i ? s->hop[i - 1] : 0) && s->hop[i] < p);
        must(s->after[i] >= (i ? s->after[i - 1] : 0) && s->after[i] <= i);
        sent[i] = i ? sent[i - 1] + gap : 0;
        if (s->after[i] && sent[s->after[i] - 1] + eel > sent[i])
            sent[i] = sent[s->after[i] - 1] + eel;
    }
    must(s->time_ps == (s->steps ? sent[s->steps - 1] + eel : 0));
}

/* Everyone has heard of everyone at the end. Ranks are alike: what 0 hears is enough. */
static void spread_all(int p, const struct wdl_pattern_spread *s)
{
    static grid by; /* [steps done][how far below] */
    memset(by, 0, sizeof(by));
    by[0][0] = 1;
    for (int i = 0; i < s->steps; i++) {
        memcpy(by[i + 1], by[i], sizeof(by[0]));
        for (int d = 0; d < p; d++)
            if (by[s->after[i]][d])
                by[i + 1][(d + s->hop[i]) % p] = 1;
    }
    for (int d = 0; d < p; d++)
        must(by[s->steps][d]);
}

START_TEST(spread)
{
    /* eel, gap: seed 002's networks, the engine's default, and odd ones */
    static const uint64_t nets[][2] = {{7000, 6000}, {10000, 3500}, {190000, 24000}, {1500, 400},
                                       {1000, 1000}, {1000, 3000}, {1, 1}, {1000, 1}};
    for (int n = 0; n < 8; n++) {
        uint64_t eel = nets[n][0], gap = nets[n][1];
        for (int p = 1; p <= 70000; p += p < RANKS_MAX ? 1 : p < 5000 ? 101 : 7919) {
            struct wdl_pattern_spread s;
            wdl_pattern_spread(p, eel, gap, &s);
            spread_times(p, eel, gap, &s);
            if (p <= RANKS_MAX)
                spread_all(p, &s);
            uint64_t least = least_all(p, eel, gap);
            must(s.time_ps >= least);
            if (eel >= gap && eel < 1000 * gap && 1000 * s.time_ps > 1100 * least)
                ck_abort_msg("eel %d, gap %d, %d ranks: %llu ps, least %llu", (int) eel,
                             (int) gap, p, (unsigned long long) s.time_ps,
                             (unsigned long long) least);
            if (eel <= gap)
                must_cmp(s.steps, ==, wdl_pattern_rounds(p, 2));
        }
    }
}
END_TEST

/* The greatest skip that does not go past a rank, again and again. */
static void hops_are(int p, const struct wdl_pattern_circulant *c)
{
    int most = 0;
    for (int rank = 0; rank < p; rank++) {
        int hops = 0;
        for (int k = c->rounds - 1, left = rank; left > 0; k--)
            if (c->skip[k] <= left) {
                left -= c->skip[k];
                hops++;
            }
        most = hops > most ? hops : most;
    }
    must_cmp(wdl_pattern_circulant_hops(p), ==, most);
}

/* No number of as many ranks or more, up to the next power of two and one, is better. */
static void size_is_best(int p, uint64_t eel, uint64_t gap)
{
    int size = wdl_pattern_circulant_size(p, eel, gap), last = 1 << wdl_pattern_rounds(p, 2);
    uint64_t time = (uint64_t) wdl_pattern_rounds(size, 2) * gap +
                    (uint64_t) wdl_pattern_circulant_hops(size) * (eel - gap);
    must_cmp(size, >=, p);
    for (int more = p; more <= last + 1; more++)
        must_cmp(time, <=, (uint64_t) wdl_pattern_rounds(more, 2) * gap +
                               (uint64_t) wdl_pattern_circulant_hops(more) * (eel - gap));
}

/* One block among the first ranks of a graph: round after round each that has it sends it to the
 * one skip[k] above, if none has. */
static void one_takes(int ranks, int size, uint64_t eel, uint64_t gap)
{
    static uint64_t port[4 * RANKS_MAX]; /* when it is free */
    int rounds = wdl_pattern_rounds(size, 2);
    uint64_t latest = 0;
    port[0] = 0;
    for (int k = 0; k < rounds; k++) {
        int skip = wdl_pattern_halved(size, rounds - k);
        int next = wdl_pattern_halved(size, rounds - k - 1);
        for (int rank = 0; rank + skip < next && rank + skip < ranks; rank++) {
            port[rank + skip] = port[rank] + eel;
            latest = port[rank + skip] > latest ? port[rank + skip] : latest;
            port[rank] += gap;
        }
    }
    must_cmp(wdl_pattern_circulant_one(ranks, size, eel, gap), ==, latest);
}

START_TEST(one_block_takes_what_its_rounds_take)
{
    static const uint64_t nets[][2] = {{7000, 6000}, {10000, 3500}, {190000, 24000}, {1, 1},
                                       {1000, 3000}};
    for (int n = 0; n < 5; n++)
        for (int p = 1; p <= RANKS_MAX; p++)
            for (int size = p; size <= 4 * RANKS_MAX; size += size <= p + 40 ? 1 : 37)
                one_takes(p, size, nets[n][0], nets[n][1]);
}
END_TEST

/* Everybody gets every block once, from one who had it before the round. */
static void circulant_all(int p, int n, const struct wdl_pattern_circulant *of)
{
    for (int rank = 0; rank < p; rank++)
        memset(has[rank], rank == 0, (size_t) n);
    for (int i = 0; i < n - 1 + of->rounds; i++) {
        int k = wdl_pattern_circulant_kind(of, n, i);
        memcpy(next, has, sizeof(has[0]) * (size_t) p);
        for (int rank = 0; rank < p; rank++) {
            int to = (rank + of->skip[k]) % p;
            int block = wdl_pattern_circulant_block(of, of[rank].send, n, i);
            must_cmp(block, ==, wdl_pattern_circulant_block(of, of[to].recv, n, i));
            must_cmp(of[rank].skip[k], ==, of->skip[k]);
            if (to == 0 || block < 0)
                continue;
            must(block < n && has[rank][block]);
            must(!next[to][block]);
            next[to][block] = 1;
        }
        memcpy(has, next, sizeof(has[0]) * (size_t) p);
    }
    for (int rank = 0; rank < p; rank++)
        for (int block = 0; block < n; block++)
            must(has[rank][block]);
}

START_TEST(circulant)
{
    static const int blocks[] = {1, 2, 3, 7, 8, 9, 30, 64};
    static struct wdl_pattern_circulant of[RANKS_MAX];
    for (int p = 2; p <= RANKS_MAX; p++) {
        for (int rank = 0; rank < p; rank++)
            wdl_pattern_circulant(p, rank, &of[rank]);
        must_cmp(of->rounds, ==, wdl_pattern_rounds(p, 2));
        must_cmp(of->skip[0], ==, 1);
        hops_are(p, of);
        size_is_best(p, 10000, 3500);
        size_is_best(p, 190000, 24000);
        size_is_best(p, 7000, 6000);
        for (unsigned i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
            circulant_all(p, blocks[i], of);
    }
}
END_TEST

/* The same of as many ranks as can be: one gets what the other sends, each block once. */
START_TEST(circulant_of_many)
{
    static const int sizes[] = {65535, 65536, 65537, 1000003, 1 << 30, (1 << 30) + 1, 2147483647};
    for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (int i = 0; i < 1000; i++) {
            struct wdl_pattern_circulant mine, theirs;
            int p = sizes[s], rank = (int) ((int64_t) i * 2147483 % p), brought = 0;
            wdl_pattern_circulant(p, rank, &mine);
            for (int k = 0; k < mine.rounds; k++) {
                int block = mine.recv[k], to = (int) (((int64_t) rank + mine.skip[k]) % p);
                must(block >= -mine.rounds && block < mine.rounds);
                brought |= 1 << (block < 0 ? block + mine.rounds : block);
                wdl_pattern_circulant(p, to, &theirs);
                must_cmp(theirs.recv[k], ==, mine.send[k]);
                must(k > 0 || rank == 0 || mine.send[k] < 0);
            }
            must_cmp(brought, ==, (int) ((1u << mine.rounds) - 1));
        }
}
END_TEST

/* Every plan in which all ranks do the same, as far as it may be the fastest: a step is done at
 * once, or when the next message has come, or the one behind it. */
struct plans {
    int64_t ranks;
    uint64_t eel, gap, best;
    uint64_t sent[WDL_PATTERN_SPREAD_MAX];
    int64_t told[WDL_PATTERN_SPREAD_MAX];
};

static void plans_from(struct plans *p, int step, int64_t heard, int64_t known, int come)
{
    uint64_t at = step ? p->sent[step - 1] + p->gap : 0;
    if (heard >= p->ranks) {
        p->best = p->sent[step - 1] + p->eel;
        return;
    }
    for (; come < step && p->sent[come] + p->eel <= at; come++)
        known += p->told[come];
    while (at + p->eel < p->best) {
        p->sent[step] = at;
        p->told[step] = known;
        plans_from(p, step + 1, heard + known, known, come);
        if (come == step)
            return;
        at = p->sent[come] + p->eel;
        known += p->told[come++];
    }
}

START_TEST(no_plan_for_all_alike_is_faster)
{
    static const uint64_t nets[][2] = {{7000, 6000}, {10000, 3500}};
    static const int many[] = {129, 255, 256, 257, 513, 1024, 1025, 2049};
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 8; i++) {
            struct plans p = {.ranks = many[i], .eel = nets[n][0], .gap = nets[n][1]};
            struct wdl_pattern_spread s;
            wdl_pattern_spread(many[i], p.eel, p.gap, &s);
            p.best = s.time_ps + 1;
            plans_from(&p, 0, 1, 1, 0);
            must_cmp(p.best, ==, s.time_ps);
        }
}
END_TEST

WDL_SUITE("coll/pattern", dissemination, spread, one_block_takes_what_its_rounds_take, circulant,
          circulant_of_many, no_plan_for_all_alike_is_faster, bruck, ring, pairwise, doubling,
          halving)
