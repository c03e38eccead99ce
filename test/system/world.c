/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Simulated worlds of RMA. Without arguments: many seeds, mostly small worlds, some large. A
 * failure prints the command that repeats it; --seed N and the others run that one world.
 */
#include <stdlib.h>
#include <string.h>
#include "base/assert.h"
#include "host/testworld.h"
#include "support/worlds.h"
#include "system/world.h"

/* of the networks of all worlds: the direct path, to attached memory too; locks by words */
static uint64_t puts_and_gets, to_attached, atomics, as_keys_tell, mailed, joined[2];

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

/* Callbacks get the world; the calling rank is told apart by the record below. */
struct viewer {
    struct world *w;
    int rank;
};

static void rank_info(void *ctx, int rank, struct wdl_win_rank *info)
{
    const struct viewer *v = ctx;
    int dynamic = v->w->options.dynamic;
    *info = (struct wdl_win_rank) {
        .base = dynamic ? 0 : (uint64_t) (uintptr_t) v->w->ranks[rank].memory,
        .bytes = dynamic ? UINT64_MAX : v->w->bytes,.disp_unit = v->w->disp_unit
    };
}

size_t world_attached(const struct world *w, int rank, int region, char **base_out)
{
    size_t part = w->bytes / (size_t) w->options.dynamic, at = part * (size_t) region;
    *base_out = w->ranks[rank].memory + at;
    return region == w->options.dynamic - 1 ? w->bytes - at : part;
}

static int first_of(void *ctx, int node)
{
    return node * ((const struct viewer *) ctx)->w->options.node;
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    const struct viewer *v = ctx;
    const struct options *o = &v->w->options;
    *control_out = NULL;
    if (rank / o->node != v->rank / o->node)
        return NULL;
    *control_out = &v->w->control[rank];
    return (o->own || o->dynamic) && rank != v->rank ? NULL : v->w->ranks[rank].memory;
}

/* Private memory of the same node, as the system would move it. */
static int copy(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                struct wdl_piece *remote, int nremote)
{
    size_t in = 0, out = 0;
    (void) ctx;
    (void) rank;
    for (int l = 0, r = 0; l < nlocal && r < nremote;) {
        size_t a = local[l].bytes - in, b = remote[r].bytes - out, n = a < b ? a : b;
        memcpy(to_rank ? remote[r].base + out : local[l].base + in,
               to_rank ? local[l].base + in : remote[r].base + out, n);
        in += n;
        out += n;
        if (in == local[l].bytes) {
            l++;
            in = 0;
        }
        if (out == remote[r].bytes) {
            r++;
            out = 0;
        }
    }
    return WDL_OK;
}

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    struct world *w = ctx;
    const void *addr = NULL;
    w->ranks[peer].proc->nm->ops->address(w->ranks[peer].proc->nm, &addr, bytes_out);
    return addr;
}

static void rank_open(struct world *w, int i)
{
    struct rank *r = &w->ranks[i];
    const struct options *o = &w->options;
    char err[128];
    test_host_init(&r->host);
    r->host.address = address;
    r->host.address_ctx = w;
    struct wdl_proc_params params = {.host = r->host.host,.netmod = &wdl_nm_sim_ops,
        .fabric = w->sim,.rank = i,.peers = w->n,.bounce_count = o->tiny ? 2 : 8
    };
    struct wdl_rma_params rma = {.global_ops = o->tiny ? 1 : 32,.global_targets = o->tiny ? 1 : 16,
        .win_ops = o->tiny ? 1 : 16,.win_targets = o->tiny ? 1 : 8,.win_slots = 4,
        .short_bytes = o->tiny ? 16 : 0,.stashes = o->tiny ? 1 : 0,
        .win_types = o->tiny ? 1 : 3,.pscw_tree = o->tree
    };
    struct viewer *v = world_memory(w, sizeof(*v));
    *v = (struct viewer) { w, i };
    int status = wdl_proc_create(&params, &r->proc, err, sizeof(err));
    wdl_assert_cmp(status, ==, WDL_OK);
    status = wdl_rma_init(r->proc, &rma);
    wdl_assert_cmp(status, ==, WDL_OK);
    int first = i / o->node * o->node, whole = o->node >= w->n;
    r->memory = w->memory + (size_t) i * w->bytes;
    w->place[i] = (struct wdl_win_place) {.offset = (uint64_t) i * w->bytes,.bytes = w->bytes,
        .disp_unit = w->disp_unit,.rank = i
    };
    r->shadow = world_memory(w, w->bytes);
    struct wdl_win_params win = {.id = 7,
                                 .rank = i,
                                 .size = w->n,
                                 .base = r->memory,
                                 .bytes = w->bytes,
                                 .disp_unit = w->disp_unit,
                                 .ctx = v,
                                 .peer_of = peer_of,
                                 .rank_info = rank_info,
                                 .map = map,.copy = o->own == 2 ? copy : NULL,
                                 .attended = o->attended,
                                 .mail = o->mail,
                                 .mapped_any = o->node > 1 && w->n > 1 && !o->own,
                                 .flavor = o->own ? WDL_WIN_CREATE : WDL_WIN_ALLOCATE,
                                 .node = &w->control[first],
                                 .node_index = i - first,
                                 .node_count = w->n - first < o->node ? w->n - first : o->node,
                                 .node_whole = whole,
                                 .nodes = o->levels ? (w->n + o->node - 1) / o->node : 0,
                                 .node_number = i / o->node,
                                 .first_of = first_of,
                                 .crowded = o->crowded,
                                 .hints = {.combine = (enum wdl_combine) o->combine,
                                           .acc_granularity = (uint64_t) o->granularity},
                                 .direct = o->direct,
                                 .atomics = 1,
                                 .place = whole && !o->own ? w->place : NULL,
                                 .place_base = w->memory};
    if (o->dynamic) {
        win.flavor = WDL_WIN_DYNAMIC;
        win.base = NULL;
        win.bytes = 0;
        win.place = NULL;
        win.mapped_any = 0;
    }
    status = wdl_win_create(r->proc, &win, &r->win);
    wdl_assert_cmp(status, ==, WDL_OK);
    for (int k = 0; k < o->dynamic; k++) {
        char *base;
        size_t bytes = world_attached(w, i, k, &base);
        status = wdl_win_attach(r->win, base, bytes);
        wdl_assert_cmp(status, ==, WDL_OK);
    }
}

/* What the network's atomics do is agreed when all have the window. */
static void agree(struct world *w)
{
    struct wdl_win **win = world_memory(w, (size_t) w->n * sizeof(win[0]));
    for (int i = 0; i < w->n; i++)
        win[i] = w->ranks[i].win;
    test_net_agree(w->sim, win, w->n);
}

static int world_close(struct world *w, int failed)
{
    for (int i = 0; i < w->n && !failed; i++) {
        wdl_rma_fini(w->ranks[i].proc);
        wdl_proc_destroy(w->ranks[i].proc);
    }
    for (struct memo *m = w->memos, *next; m; m = next) {
        next = m->next;
        if (m->type)
            test_type_end(m->host, m->type);
        free(m->data);
        free(m);
    }
    for (int i = 0; i < w->n && !failed; i++) {
        if (w->ranks[i].host.live != 0 && !failed) {
            snprintf(w->failure, sizeof(w->failure), "rank %d: %d allocations left", i,
                     w->ranks[i].host.live);
            failed = 1;
        }
        free(w->ranks[i].steps);
    }
    mailed += w->mailed;
    joined[0] += w->joined[0];
    joined[1] += w->joined[1];
    uint64_t direct = wdl_sim_counts(w->sim)->puts + wdl_sim_counts(w->sim)->gets;
    puts_and_gets += direct;
    to_attached += w->options.dynamic ? direct : 0;
    atomics += wdl_sim_counts(w->sim)->atomics;
    as_keys_tell += w->options.bykey ? wdl_sim_counts(w->sim)->atomics : 0;
    if (!failed)
        wdl_sim_destroy(w->sim);
    free(w->ranks);
    return failed;
}

static int world(const void *options)
{
    const struct options *o = options;
    struct world w = {.options = *o,.n = o->ranks,.fan = o->ranks < FAN_MAX ? o->ranks : FAN_MAX };
    struct wdl_sim_params sim = {.seed = o->seed,.ranks = o->ranks,.ordered = o->ordered,
        .delay_ns_max = (uint64_t) o->delay,.refuse_permille = o->refuse,.pending_permille = 300,
        .am_bytes_max = 1024,.ops_max = o->tiny ? 2 : 0,
        .atomics = test_atomics(o->atomics),.by_key = o->bykey,
        .odd = o->odd,.odd_atomics = test_atomics(o->odd_atomics)
    };
    wdl_prng_init(&w.prng, o->seed);
    w.disp_unit = o->dynamic ? 1 : (int64_t) 1 << (o->seed % 4);
    w.bytes = 0;
    w.bytes = world_misc(&w) + MISC;
    w.sim = wdl_sim_create(&sim);
    w.ranks = calloc((size_t) w.n, sizeof(w.ranks[0]));
    wdl_assert(w.sim && w.ranks);
    w.memory = world_memory(&w, (size_t) w.n * w.bytes);
    w.control = world_memory(&w, (size_t) w.n * sizeof(w.control[0]));
    w.place = world_memory(&w, (size_t) w.n * sizeof(w.place[0]));
    for (int i = 0; i < w.n; i++)
        rank_open(&w, i);
    if (o->direct)
        agree(&w);
    script_make(&w);
    return world_close(&w, world_run(&w)) ? worlds_failed(w.failure) : 0;
}

/* The most ranks there are, in each kind of epoch. */
static void large(struct options *o, int which)
{
    enum { MOST = 4096, NODE = 64 };
    static const struct options kinds[10] = {
        {.script = 'f',.node = 1 }, {.script = 'f',.node = NODE,.levels = 1 },
        {.script = 'p',.node = 1 }, {.script = 'p',.node = NODE,.attended = 1,.tree = 2 },
        {.script = 'a',.node = 1 }, {.script = 'a',.node = MOST },
        {.script = 'l',.node = MOST }, {.script = 'l',.node = 1,.tiny = 1 },
        /* all of them at one gate, by the network, take minutes */
        {.script = 'l',.node = NODE,.direct = 1,.atomics = 1,.ranks = 1024 },
        {.script = 'd',.node = 1,.ranks = 512 }
    };
    struct options large = kinds[which];
    large.seed = o->seed;
    large.ranks = !worlds_once() ? 256 : large.ranks ? large.ranks : MOST;
    large.node = large.node < large.ranks ? large.node : large.ranks;
    large.ordered = o->ordered;
    large.refuse = o->refuse;
    large.delay = o->delay;
    large.region = 256;
    large.epochs = 1;
    *o = large;
}

static void options_of(uint64_t seed, void *options_out)
{
    struct wdl_prng p;
    struct options o = {.seed = seed };
    wdl_prng_init(&p, seed ^ 0x5eed);
    o.ranks = 1 + (int) wdl_prng_below(&p, 7);
    if (seed % 100 == 50)
        o.ranks = 64;
    if (seed % 500 == 499)
        o.ranks = 512;
    o.script = "fplamsd"[wdl_prng_below(&p, 7)];
    o.ordered = (int) wdl_prng_below(&p, 2);
    o.refuse = (int) wdl_prng_below(&p, 2) * 200;
    o.delay = (int) wdl_prng_below(&p, 3) * 3000;
    o.tiny = wdl_prng_chance(&p, 300);
    int node = (int) wdl_prng_below(&p, 4);     /* none, pairs, one of all */
    o.node = node < 2 ? node + 1 : o.ranks;
    /* memory of one's own, reached by message; by copy */
    o.own = (int) wdl_prng_below(&p, 4) % 3;
    o.crowded = wdl_prng_chance(&p, 500);
    o.combine = (int) wdl_prng_below(&p, 3);
    o.region = wdl_prng_chance(&p, 200) && o.ranks < 8 ? 4096 : 256;
    o.direct = (int) wdl_prng_below(&p, 2);
    o.attended = (int) wdl_prng_below(&p, 2);
    o.atomics = (int) wdl_prng_below(&p, 3);
    o.epochs = o.ranks > 100 ? 1 : o.ranks > 8 ? 2 : 2 + (int) wdl_prng_below(&p, 3);
    o.mail = o.own && wdl_prng_chance(&p, 500);
    o.dynamic = wdl_prng_chance(&p, 300) ? 1 + (int) wdl_prng_below(&p, 5) : 0;
    o.tree = (int) wdl_prng_below(&p, 3);       /* groups of more than that many; 0: of none */
    o.levels = o.node > 1 && o.node < o.ranks && wdl_prng_chance(&p, 500);
    o.bykey = (int) wdl_prng_below(&p, 2);
    o.odd = o.bykey && wdl_prng_chance(&p, 200) ? 1 + (int) wdl_prng_below(&p, (uint64_t) o.ranks)
                                                : 0;
    o.odd_atomics = (int) wdl_prng_below(&p, 3);
    o.granularity = (1 << wdl_prng_below(&p, 14)) & ~1; /* bytes; 0: not said */
    if (seed % 100 == 77)
        large(&o, (int) (seed / 100 % 10));
    *(struct options *) options_out = o;
}

/* Among many worlds there must be some of the direct path, of locks by words at the network, of
 * mailboxes, and of second locks that overtake. */
static int more(uint64_t seeds)
{
    printf("%llu puts and gets of the network, %llu of them to attached memory, %llu atomics, "
           "%llu where only keys tell of them, %llu operations by mailbox; overtaken by who held a "
           "lock: %llu by words, %llu by messages\n",
           (unsigned long long) puts_and_gets, (unsigned long long) to_attached,
           (unsigned long long) atomics, (unsigned long long) as_keys_tell,
           (unsigned long long) mailed, (unsigned long long) joined[0],
           (unsigned long long) joined[1]);
    return seeds >= 100 && (puts_and_gets == 0 || to_attached == 0 || atomics == 0 ||
                            as_keys_tell == 0 || mailed == 0 || joined[0] == 0 ||
                            joined[1] == 0);
}

int main(int argc, char **argv)
{
    static const struct worlds_option table[] = {
        WORLDS_OPTION(options, ranks),  WORLDS_LETTER(options, script),
        WORLDS_OPTION(options, ordered), WORLDS_OPTION(options, refuse),
        WORLDS_OPTION(options, delay),  WORLDS_OPTION(options, tiny),
        WORLDS_OPTION(options, node),   WORLDS_OPTION(options, region),
        WORLDS_OPTION(options, epochs), WORLDS_OPTION(options, own),
        WORLDS_OPTION(options, crowded), WORLDS_OPTION(options, combine),
        WORLDS_OPTION(options, direct), WORLDS_OPTION(options, attended),
        WORLDS_OPTION(options, atomics), WORLDS_OPTION(options, mail),
        WORLDS_OPTION(options, dynamic), WORLDS_OPTION(options, tree),
        WORLDS_OPTION(options, bykey), WORLDS_OPTION(options, odd),
        WORLDS_OPTION(options, odd_atomics), WORLDS_OPTION(options, levels),
        WORLDS_OPTION(options, granularity)
    };
    static const struct worlds worlds = {.program = "test/system/world",.count = 1000,
        .options_bytes = sizeof(struct options),.options = table,
        .noptions = sizeof(table) / sizeof(table[0]),.options_of = options_of,.world = world,
        .more = more
    };
    return worlds_main(&worlds, argc, argv);
}
