/* Part of Windlass. See COPYRIGHT in the top-level directory. Patterns of rounds. */
#include "mpid/coll/pattern.h"
#include "base/assert.h"

/* (rank + distance) mod ranks, 0 <= distance < ranks */
static int ahead(int ranks, int rank, int distance)
{
    return rank < ranks - distance ? rank + distance : rank - (ranks - distance);
}

static int behind(int ranks, int rank, int distance)
{
    return rank >= distance ? rank - distance : rank + (ranks - distance);
}

/* arity^round; at least `ranks` is as good as more. */
static int64_t power(int ranks, int arity, int round)
{
    int64_t weight = 1;
    for (int i = 0; i < round && weight < ranks; i++)
        weight *= arity;
    return weight;
}

static void check_rank(int ranks, int rank)
{
    wdl_assert_cmp(rank, >=, 0);
    wdl_assert_cmp(rank, <, ranks);
}

int wdl_pattern_rounds(int ranks, int arity)
{
    int rounds = 0;
    wdl_assert_cmp(arity, >=, 2);
    for (int64_t weight = 1; weight < ranks; weight *= arity)
        rounds++;
    return rounds;
}

int wdl_pattern_halved(int ranks, int times)
{
    return (int) (((int64_t) ranks - 1) >> times) + 1;
}

int wdl_pattern_disseminate(int ranks, int arity, int rank, int round, int port,
                            struct wdl_pattern_step *step_out)
{
    check_rank(ranks, rank);
    int64_t weight = power(ranks, arity, round), distance = weight * (port + 1);
    if (port >= arity - 1 || distance >= ranks)
        return 0;
    int hop = (int) distance, from = ahead(ranks, rank, hop);
    int count = weight < ranks - distance ? (int) weight : ranks - hop;
    *step_out = (struct wdl_pattern_step) {.to = behind(ranks, rank, hop),.from = from,
        .send_first = rank,.send_count = count,.recv_first = from,.recv_count = count
    };
    return 1;
}

/* Whether a step of a plan waits a while for what is about to come, to tell of it too: as the bits
 * of `waits` say, over and over again; from step `then` on, always. */
struct policy {
    unsigned waits;
    int period, then;
    uint64_t patience;
};

static void spread_plan(int ranks, uint64_t eel, uint64_t gap, const struct policy *policy,
                        struct wdl_pattern_spread *plan)
{
    uint64_t sent[WDL_PATTERN_SPREAD_MAX];
    int64_t told[WDL_PATTERN_SPREAD_MAX], heard = 1, known = 1;
    int i = 0, after = 0;
    for (; heard < ranks && i < WDL_PATTERN_SPREAD_MAX; i++) {
        int waits = i >= policy->then || (policy->waits >> i % policy->period & 1);
        uint64_t first = i ? sent[i - 1] + gap : 0;
        uint64_t last = first + (waits ? policy->patience : 0);
        sent[i] = first;
        for (; after < i && sent[after] + eel <= last; after++) {
            uint64_t come = sent[after] + eel;
            sent[i] = come > sent[i] ? come : sent[i];
            known += told[after];
        }
        told[i] = known;
        plan->hop[i] = (int) heard;
        plan->after[i] = after;
        heard += known;
    }
    plan->steps = i;
    plan->time_ps = heard < ranks ? UINT64_MAX : i ? sent[i - 1] + eel : 0;
}

void wdl_pattern_spread(int ranks, uint64_t eel_ps, uint64_t gap_ps,
                        struct wdl_pattern_spread *spread_out)
{
    enum { PERIODS = 4, PATIENCES = 4 };
    /* with all patience it is dissemination: the fewest messages */
    struct policy policy = {.waits = 1,.period = 1,.patience = eel_ps > gap_ps ? eel_ps : gap_ps };
    struct wdl_pattern_spread plan;
    int rounds = wdl_pattern_rounds(ranks, 2);
    wdl_assert(eel_ps > 0 && gap_ps > 0);
    spread_plan(ranks, eel_ps, gap_ps, &policy, spread_out);
    for (policy.period = 1; policy.period <= PERIODS; policy.period++)
        for (policy.waits = 0; policy.waits < 1u << policy.period; policy.waits++)
            for (uint64_t part = 1; part <= PATIENCES; part++)
                for (policy.then = 1; policy.then <= 2 * rounds; policy.then++) {
                    policy.patience = gap_ps * part / PATIENCES;
                    spread_plan(ranks, eel_ps, gap_ps, &policy, &plan);
                    if (plan.time_ps < spread_out->time_ps ||
                        (plan.time_ps == spread_out->time_ps && plan.steps < spread_out->steps))
                        *spread_out = plan;
                }
}

/* --- circulant ---------------------------------------------------------------------------------
 * skip[k] is P halved, rounded up, rounds - k times; skip[rounds] is P itself. Every rank has one
 * way from 0: the greatest skip that does not go past it, and so on; the last skip's index is the
 * rank's own block, which comes to it in the first round that reaches it. For what it gets in the
 * other rounds, it looks among the ways to the ranks it can be sent to by, for one that ends in
 * between skip[k + 1] and skip[k] below it with a block that no round before k has brought.
 */

struct ways {
    int rounds;
    int64_t skip[WDL_PATTERN_CIRCULANT_MAX + 2];
    int64_t rank, below; /* all that is found next is below */
    int next[WDL_PATTERN_CIRCULANT_MAX + 2]; /* of the skips not used yet, the next smaller; -1 */
    int found, *block;
};

static void skip_use(struct ways *w, int skip)
{
    for (int i = w->rounds + 1; i > skip; i--)
        if (w->next[i] == skip)
            w->next[i] = w->next[skip];
}

/* Those that go on from `at` by skips from `skip` on downwards. */
static void ways_look(struct ways *w, int64_t at, int skip)
{
    for (; skip >= 0 && w->found < w->rounds; skip = w->next[skip]) {
        int64_t to = at + w->skip[skip];
        if (to > w->rank - w->skip[w->found] || to >= w->below)
            continue;
        if (to <= w->rank - w->skip[w->found + 1])
            ways_look(w, to, skip);
        if (w->found == w->rounds || at > w->rank - w->skip[w->found + 1])
            return;
        w->below = to;
        w->block[w->found++] = skip;
        skip_use(w, skip);
    }
}

static int own_block(const struct ways *w, int64_t rank)
{
    int k = w->rounds;
    while (rank > 0)
        if (w->skip[--k] <= rank)
            rank -= w->skip[k];
    return k;
}

static void blocks_find(struct ways *w, int ranks, int rank, int *block)
{
    int own = own_block(w, rank);
    for (int i = 0; i <= w->rounds + 1; i++)
        w->next[i] = i - 1;
    w->rank = (int64_t) ranks + rank;
    w->below = 2 * (int64_t) ranks;
    w->block = block;
    w->found = 0;
    skip_use(w, own);
    ways_look(w, 0, w->next[w->rounds + 1]);
    for (int k = 0; k < w->rounds; k++)
        block[k] = block[k] == w->rounds ? own : block[k] - w->rounds;
}

void wdl_pattern_circulant(int ranks, int rank, struct wdl_pattern_circulant *circulant_out)
{
    struct wdl_pattern_circulant *c = circulant_out;
    struct ways w = {.rounds = wdl_pattern_rounds(ranks, 2)};
    int theirs[WDL_PATTERN_CIRCULANT_MAX];
    c->rounds = w.rounds;
    for (int k = 0; k <= w.rounds; k++)
        w.skip[k] = wdl_pattern_halved(ranks, w.rounds - k);
    for (int k = 0; k < w.rounds; k++)
        c->skip[k] = (int) w.skip[k];
    blocks_find(&w, ranks, rank, c->recv);
    for (int k = 0; k < w.rounds; k++) {
        blocks_find(&w, ranks, ahead(ranks, rank, c->skip[k]), theirs);
        c->send[k] = theirs[k];
    }
}

int wdl_pattern_circulant_hops(int ranks)
{
    int rounds = wdl_pattern_rounds(ranks, 2), most[WDL_PATTERN_CIRCULANT_MAX + 1] = {0};
    for (int k = 1; k <= rounds; k++) { /* among the first skip[k] ranks */
        int left = wdl_pattern_halved(ranks, rounds - k), hops = 0, past = 0;
        for (int i = k - 1; i >= 0; i--) {
            int skip = wdl_pattern_halved(ranks, rounds - i);
            if (left <= skip)
                continue;
            if (most[i] + past > hops)
                hops = most[i] + past;
            left -= skip;
            past++;
        }
        most[k] = past > hops ? past : hops;
    }
    return most[rounds];
}

/* One block on a graph of more ranks than there are: in round k the first senders[k] of skip[k]
 * ranks that have it send it. All but one do, if not all; that one's port is free a gap earlier. */
struct one {
    int rounds;
    int64_t skip[WDL_PATTERN_CIRCULANT_MAX + 1], senders[WDL_PATTERN_CIRCULANT_MAX];
    uint64_t eel, gap;
    uint64_t passed[WDL_PATTERN_CIRCULANT_MAX]; /* round k, by the first skip[k] ranks */
};

/* When a rank's port is free for round k. */
static uint64_t one_free(const struct one *o, int k, int64_t rank)
{
    uint64_t time = 0;
    for (int i = k - 1; i >= 0; i--)
        if (rank >= o->skip[i]) {
            time += o->eel;
            rank -= o->skip[i];
        } else if (rank < o->senders[i]) {
            time += o->gap;
        }
    return time;
}

/* When the first `ranks` of skip[k] ranks have ports that are free for round k. */
static uint64_t one_all_free(const struct one *o, int k, int64_t ranks)
{
    uint64_t time = 0, latest = 0;
    for (int i = k - 1; i >= 0; i--)
        if (ranks <= o->senders[i]) {
            time += o->gap;
        } else {
            latest = time + o->passed[i] > latest ? time + o->passed[i] : latest;
            if (ranks <= o->skip[i])
                return latest;
            time += o->eel;
            ranks -= o->skip[i];
        }
    return time > latest ? time : latest;
}

uint64_t wdl_pattern_circulant_one(int ranks, int size, uint64_t eel_ps, uint64_t gap_ps)
{
    struct one o = {.rounds = wdl_pattern_rounds(size, 2),.eel = eel_ps,.gap = gap_ps };
    uint64_t latest = 0;
    wdl_assert_cmp(size, >=, ranks);
    for (int k = 0; k <= o.rounds; k++)
        o.skip[k] = wdl_pattern_halved(size, o.rounds - k);
    for (int k = 0; k < o.rounds && o.skip[k] < ranks; k++) {
        int64_t all = o.skip[k + 1] - o.skip[k], there = ranks - o.skip[k];
        uint64_t heard = one_all_free(&o, k, there < all ? there : all) + eel_ps;
        uint64_t other = all < o.skip[k] ? one_free(&o, k, all) : 0;
        latest = heard > latest ? heard : latest;
        o.senders[k] = all;
        o.passed[k] = one_all_free(&o, k, all) + gap_ps;
        o.passed[k] = other > o.passed[k] ? other : o.passed[k];
    }
    return latest;
}

/* Of sizes with as many rounds, those that lose a hop are one more than a multiple of a power of
 * two. */
int wdl_pattern_circulant_size(int ranks, uint64_t eel_ps, uint64_t gap_ps)
{
    uint64_t wait = eel_ps > gap_ps ? eel_ps - gap_ps : 0, least = UINT64_MAX;
    int rounds = wdl_pattern_rounds(ranks, 2), best = ranks;
    for (int k = -1; k <= rounds; k++) {
        int64_t size = k < 0 ? ranks : ((((int64_t) ranks - 2) >> k) + 1) * ((int64_t) 1 << k) + 1;
        if (size > INT32_MAX)
            break;
        uint64_t hops = (uint64_t) wdl_pattern_circulant_hops((int) size);
        uint64_t time = (uint64_t) wdl_pattern_rounds((int) size, 2) * gap_ps + hops * wait;
        if (time < least) {
            least = time;
            best = (int) size;
        }
    }
    return best;
}

/* The first phase begins so many kinds late that the last one ends with the last kind. */
static int late(const struct wdl_pattern_circulant *c, int n)
{
    return (c->rounds - (n - 1) % c->rounds) % c->rounds;
}

int wdl_pattern_circulant_kind(const struct wdl_pattern_circulant *circulant, int n, int i)
{
    return (i + late(circulant, n)) % circulant->rounds;
}

int wdl_pattern_circulant_block(const struct wdl_pattern_circulant *circulant, const int *first,
                                int n, int i)
{
    const struct wdl_pattern_circulant *c = circulant;
    int at = i + late(c, n), phase = at / c->rounds * c->rounds - late(c, n);
    int block = first[at % c->rounds] + phase;
    return block < 0 ? -1 : block < n ? block : n - 1;
}

int wdl_pattern_bruck(int ranks, int arity, int rank, int round, int port,
                      struct wdl_pattern_step *step_out)
{
    check_rank(ranks, rank);
    int64_t weight = power(ranks, arity, round), distance = weight * (port + 1);
    if (port >= arity - 1 || distance >= ranks)
        return 0;
    int64_t cycle = weight * arity, rest = ranks % cycle - distance;
    int64_t slots = ranks / cycle * weight + (rest < 0 ? 0 : rest < weight ? rest : weight);
    *step_out = (struct wdl_pattern_step) {.to = ahead(ranks, rank, (int) distance),
        .from = behind(ranks, rank, (int) distance),.send_count = (int) slots,
        .recv_count = (int) slots
    };
    return (int) slots;
}

int wdl_pattern_bruck_run(int ranks, int arity, int round, int port, int i, int *first_out)
{
    int64_t weight = power(ranks, arity, round), first = weight * (port + 1 + (int64_t) i * arity);
    if (first >= ranks)
        return 0;
    *first_out = (int) first;
    return weight < ranks - first ? (int) weight : (int) (ranks - first);
}

struct wdl_pattern_step wdl_pattern_ring(int ranks, int rank, int round)
{
    check_rank(ranks, rank);
    wdl_assert(round >= 0 && round < ranks - 1);
    int left = behind(ranks, rank, 1);
    return (struct wdl_pattern_step) {.to = ahead(ranks, rank, 1),.from = left,
        .send_first = behind(ranks, rank, round),.send_count = 1,
        .recv_first = behind(ranks, left, round),.recv_count = 1
    };
}

struct wdl_pattern_step wdl_pattern_pairwise(int ranks, int rank, int round)
{
    check_rank(ranks, rank);
    wdl_assert(round >= 0 && round < ranks - 1);
    int to = ahead(ranks, rank, round + 1), from = behind(ranks, rank, round + 1);
    return (struct wdl_pattern_step) {.to = to,.from = from,.send_first = to,.send_count = 1,
        .recv_first = from,.recv_count = 1
    };
}

static int log2_floor(int ranks)
{
    wdl_assert_cmp(ranks, >=, 1);
    return 31 - __builtin_clz((unsigned) ranks);
}

struct wdl_pattern_group wdl_pattern_group_of(int ranks, int rank)
{
    check_rank(ranks, rank);
    int rounds = log2_floor(ranks), extra = ranks - (1 << rounds);
    struct wdl_pattern_group group = {.rounds = rounds,.giver = -1,.taker = -1 };
    if (rank >= 2 * extra) {
        group.place = rank - extra;
    } else if (rank % 2 == 0) {
        group.place = rank / 2;
        group.giver = rank + 1;
    } else {
        group.place = -1;
        group.taker = rank - 1;
    }
    return group;
}

int wdl_pattern_group_rank(int ranks, int place)
{
    int extra = ranks - (1 << log2_floor(ranks));
    wdl_assert(place >= 0 && place <= ranks - extra);
    return place < extra ? 2 * place : place + extra;
}

struct wdl_pattern_pair wdl_pattern_double(int ranks, int place, int round)
{
    wdl_assert(round >= 0 && round < log2_floor(ranks));
    int bit = 1 << round, lo = place & -bit, other = lo ^ bit;
    struct wdl_pattern_pair pair = {.partner = wdl_pattern_group_rank(ranks, place ^ bit),
        .upper = (place & bit) != 0,
        .keep_first = wdl_pattern_group_rank(ranks, lo),
        .give_first = wdl_pattern_group_rank(ranks, other)
    };
    pair.keep_count = wdl_pattern_group_rank(ranks, lo + bit) - pair.keep_first;
    pair.give_count = wdl_pattern_group_rank(ranks, other + bit) - pair.give_first;
    return pair;
}

struct wdl_pattern_pair wdl_pattern_halve(int ranks, int place, int round, enum wdl_pattern_way way,
                                          int64_t count)
{
    int rounds = log2_floor(ranks), upper = 0, bit = 0;
    int64_t lo = 0, mid = 0, hi = count;
    wdl_assert(round >= 0 && round < rounds);
    wdl_assert(place >= 0 && place < 1 << rounds);
    for (int r = 0; r <= round; r++) {
        if (r > 0) {
            lo = upper ? mid : lo;
            hi = upper ? hi : mid;
        }
        bit = 1 << (way == WDL_PATTERN_NEAR ? r : rounds - 1 - r);
        upper = (place & bit) != 0;
        mid = lo + (hi - lo) / 2;
    }
    struct wdl_pattern_pair pair = {.partner = wdl_pattern_group_rank(ranks, place ^ bit),
        .upper = upper,
        .keep_first = upper ? mid : lo,.keep_count = upper ? hi - mid : mid - lo,
        .give_first = upper ? lo : mid,.give_count = upper ? mid - lo : hi - mid
    };
    return pair;
}
