/* Part of Windlass. See COPYRIGHT in the top-level directory. The time of a broadcast in blocks. */
#include "mpid/coll/blocktime.h"
#include <string.h>
#include "base/assert.h"
#include "mpid/coll/pattern.h"

enum { NEVER = -1, RANKS = WDL_BLOCKTIME_RANKS_MAX, BLOCKS = WDL_BLOCKTIME_BLOCKS_MAX };
enum { KINDS = 6 }; /* ceil(log2 RANKS) */
wdl_static_assert(RANKS <= 1 << KINDS);

struct walk {
    int ranks, n, steps;
    struct wdl_pattern_circulant all; /* rounds and skips */
    int recv[RANKS][KINDS];
    int32_t come[RANKS][BLOCKS]; /* when a rank has a block */
    struct port {
        int step, kind, block, to; /* the message that leaves next */
        int32_t at; /* when; NEVER: its block has not come, or there is none */
        int32_t send_free, receive_free;
        int32_t go[KINDS]; /* when who is sent to by that kind has been heard; or NEVER */
    } port[RANKS];
    struct flag {
        int to, kind;
        int32_t come;
    } flag[RANKS * KINDS]; /* in the order of their coming */
    int flags, heard;
};

/* The next step from `step` on in which something leaves. */
static void next_find(struct walk *w, int rank, int step)
{
    struct port *p = &w->port[rank];
    p->block = -1;
    for (p->step = step; p->step < w->steps; p->step++) {
        p->kind = wdl_pattern_circulant_kind(&w->all, w->n, p->step);
        p->to = (rank + w->all.skip[p->kind]) % w->ranks;
        if (p->to != 0)
            p->block = wdl_pattern_circulant_block(&w->all, w->recv[p->to], w->n, p->step);
        if (p->block >= 0)
            return;
    }
}

static int32_t later(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static void next_time(struct walk *w, int rank)
{
    struct port *p = &w->port[rank];
    int32_t come = p->block < 0 ? NEVER : w->come[rank][p->block], go = p->go[p->kind];
    p->at = come == NEVER || go == NEVER ? NEVER : later(later(come, p->send_free), go);
}

static int first_to_send(const struct walk *w)
{
    int first = -1;
    for (int rank = 0; rank < w->ranks; rank++)
        if (w->port[rank].at != NEVER && (first < 0 || w->port[rank].at < w->port[first].at))
            first = rank;
    return first;
}

/* Is anything to come by the kind of step k? */
static int comes(const struct walk *w, int rank, int k)
{
    for (int i = k; i < w->steps && rank > 0; i += w->all.rounds)
        if (wdl_pattern_circulant_block(&w->all, w->recv[rank], w->n, i) >= 0)
            return 1;
    return 0;
}

/* All say at once whom they are ready for, in the order of their steps. */
static void flags_send(struct walk *w, int32_t wait, int32_t gap)
{
    int next[RANKS] = {0}, rounds = w->all.rounds;
    for (int turn = 0; turn < rounds; turn++)
        for (int rank = 1; rank < w->ranks; rank++) {
            int k = next[rank];
            while (k < rounds && !comes(w, rank, k))
                k++;
            next[rank] = k + 1;
            if (k >= rounds)
                continue;
            int kind = wdl_pattern_circulant_kind(&w->all, w->n, k);
            int to = (rank - w->all.skip[kind] + w->ranks) % w->ranks;
            int32_t sent = w->port[rank].send_free;
            w->flag[w->flags++] = (struct flag){to, kind, sent + wait + gap};
            w->port[rank].send_free = sent + gap;
        }
}

/* A port takes what comes, one behind the other; returns when. */
static int32_t receive(struct port *port, int32_t come, int32_t busy)
{
    int32_t there = later(come, port->receive_free);
    port->receive_free = there + busy;
    return there;
}

/* Those that come before what is sent from now on. */
static void flags_hear(struct walk *w, int32_t before, int32_t gap)
{
    for (; w->heard < w->flags && w->flag[w->heard].come <= before; w->heard++) {
        const struct flag *f = &w->flag[w->heard];
        w->port[f->to].go[f->kind] = receive(&w->port[f->to], f->come, gap);
        if (w->port[f->to].at == NEVER)
            next_time(w, f->to);
    }
}

static void walk_begin(struct walk *w, int ranks, int n)
{
    memset(w->port, 0, sizeof(w->port));
    memset(w->come, 0xff, sizeof(w->come)); /* NEVER */
    memset(w->come[0], 0, sizeof(w->come[0]));
    w->ranks = ranks;
    w->n = n;
    w->flags = w->heard = 0;
    for (int rank = ranks - 1; rank >= 0; rank--) {
        wdl_pattern_circulant(ranks, rank, &w->all);
        memcpy(w->recv[rank], w->all.recv, sizeof(w->recv[rank]));
        memset(w->port[rank].go, 0xff, sizeof(w->port[rank].go));
        w->port[rank].at = NEVER;
    }
    w->steps = n - 1 + w->all.rounds;
    for (int rank = 0; rank < ranks; rank++)
        next_find(w, rank, 0);
}

/* What is sent first comes first, but flags, which are faster on their way. */
uint32_t wdl_blocktime_walk(int ranks, int n, int32_t wait, int32_t gap)
{
    enum { TURN = WDL_BLOCKTIME_TURN };
    struct walk w;
    int32_t last = 0;
    wdl_assert(ranks > 1 && ranks <= RANKS && n > 0 && n <= BLOCKS);
    walk_begin(&w, ranks, n);
    flags_send(&w, wait, gap);
    for (;;) {
        int rank = first_to_send(&w);
        int32_t come = rank < 0 ? INT32_MAX : w.port[rank].at + TURN + wait;
        if (w.heard < w.flags && w.flag[w.heard].come <= come) {
            flags_hear(&w, w.flag[w.heard].come, gap);
            continue;
        }
        if (rank < 0)
            return (uint32_t) last;
        struct port *from = &w.port[rank], *to = &w.port[from->to];
        int32_t there = receive(to, come, TURN);
        last = later(last, there);
        from->send_free = from->at + TURN;
        w.come[from->to][from->block] = there;
        if (to->at == NEVER)
            next_time(&w, from->to);
        next_find(&w, rank, from->step + 1);
        next_time(&w, rank);
    }
}

int wdl_blocktime_number(int i)
{
    static const int numbers[WDL_BLOCKTIME_NUMBERS] = {1,  2,  3,  4,  6,  8,
                                                       11, 16, 22, 32, 45, BLOCKS};
    wdl_assert(i >= 0 && i < WDL_BLOCKTIME_NUMBERS);
    return numbers[i];
}

/* In units. */
static const int32_t waits[WDL_BLOCKTIME_WAITS] = {8, 32, 64, 128, 256, 512, 1024};
static const int32_t gaps[WDL_BLOCKTIME_GAPS] = {8, 64, 128};

static double known(struct wdl_blocktime *kept, int ranks, int i, int k, int g)
{
    uint16_t *units = &kept->units[ranks][i][k][g];
    if (*units == 0) {
        uint32_t found = wdl_blocktime_walk(ranks, wdl_blocktime_number(i), waits[k], gaps[g]);
        wdl_assert_cmp(found, <=, UINT16_MAX);
        *units = (uint16_t) found;
        kept->walks++;
    }
    return *units;
}

/* Between which of `count` units is on the line; returns how far behind the first of the two: less
 * than the least counts as that, more than the greatest goes on as it began. */
static double line(const int32_t *of, int count, double units, int *first_out)
{
    int k = 0;
    while (k < count - 2 && of[k + 1] < units)
        k++;
    *first_out = k;
    return units <= of[0] ? 0 : (units - of[k]) / (of[k + 1] - of[k]);
}

static double known_by_wait(struct wdl_blocktime *kept, int ranks, int i, double wait, int g)
{
    int k;
    double part = line(waits, WDL_BLOCKTIME_WAITS, wait * WDL_BLOCKTIME_TURN, &k);
    double less = known(kept, ranks, i, k, g);
    return part > 0 ? less + part * (known(kept, ranks, i, k + 1, g) - less) : less;
}

double wdl_blocktime(struct wdl_blocktime *kept, int ranks, int i, double wait, double gap)
{
    int g;
    double part = line(gaps, WDL_BLOCKTIME_GAPS, gap * WDL_BLOCKTIME_TURN, &g);
    wdl_assert_cmp(ranks, <=, WDL_BLOCKTIME_RANKS_MAX);
    double units = known_by_wait(kept, ranks, i, wait, g);
    if (part > 0)
        units += part * (known_by_wait(kept, ranks, i, wait, g + 1) - units);
    return units / WDL_BLOCKTIME_TURN;
}
