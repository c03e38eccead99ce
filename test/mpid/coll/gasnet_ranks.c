/* Part of Windlass. See COPYRIGHT in the top-level directory. Ranks with GASNet's collectives. */
#include "mpid/coll/gasnet_ranks.h"
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_memory.h"
#include "support/suite.h"

struct ranks r;
struct wdl_gas_team *team[RANKS_MAX];
wdl_gas_handle handle[RANKS_MAX];
size_t images[RANKS_MAX], first[RANKS_MAX + 1];
char *src[RANKS_MAX][IMAGES_MAX], *dst[RANKS_MAX][IMAGES_MAX];
static struct wdl_prng prng;

uint32_t gasnet_apply(int op, uint32_t x, uint32_t y)
{
    uint32_t a = x & 0xffff, b = x >> 16, c = y & 0xffff, d = y >> 16;
    if (op == COMPOSE)
        return ((a * c) & 0xffff) | ((a * d + b) & 0xffff) << 16;
    return op == SUM ? x + y : x * 31 + (y ^ x >> 7);
}

static void fn(void *results, size_t result_count, const void *left_operands, size_t left_count,
               const void *right_operands, size_t elem_size, int flags, int arg)
{
    uint32_t *out = results;
    const uint32_t *x = left_operands, *y = right_operands;
    ck_assert(!r.aside || flags & WDL_GAS_AMSAFE);
    ck_assert_uint_eq(result_count, left_count);
    ck_assert_uint_eq(elem_size, sizeof(*out));
    for (size_t i = 0; i < result_count; i++)
        out[i] = gasnet_apply(arg, x[i], y[i]);
}

static void fn_bytes(void *results, size_t result_count, const void *left_operands,
                     size_t left_count, const void *right_operands, size_t elem_size, int flags,
                     int arg)
{
    unsigned char *out = results;
    const unsigned char *x = left_operands, *y = right_operands;
    (void) arg;
    ck_assert(!r.aside || flags & WDL_GAS_AMSAFE);
    ck_assert_uint_eq(result_count, left_count);
    for (size_t i = 0; i < result_count * elem_size; i++)
        out[i] = (unsigned char) (x[i] + y[i]);
}

static const struct wdl_gas_fn fns[ALL_FNS] = {
    {fn, WDL_GAS_NONCOMM},
    {fn, WDL_GAS_AMSAFE},
    {fn, WDL_GAS_NONCOMM | WDL_GAS_NONASSOC},
    {fn_bytes, 0}};

/* --- the world --- */

static int same_peer(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static struct gasnet_memory memory;
static int domain;
static const char *always;

void gasnet_domains(int each)
{
    domain = each;
}

void gasnet_prefer_always(const char *rows)
{
    always = rows;
}

void gasnet_look(void (*fn)(const char *at, size_t bytes))
{
    gasnet_memory_look(&memory, fn);
}

/* Nobody looks for its own memory at another but by an address that all have alike. */
static const char *alike(void *ctx, int own, int peer, const char *there)
{
    (void) ctx;
    for (int k = 0; k < IMAGES_MAX; k++) {
        if (there >= src[own][k] && there < src[own][k] + ROOM)
            return src[peer][k] + (there - src[own][k]);
        if (there >= dst[own][k] && there < dst[own][k] + ROOM)
            return dst[peer][k] + (there - dst[own][k]);
    }
    return there;
}

/* What is at the same place of their memory is at one address. */
static const void *stands_for(void *ctx, const void *at)
{
    for (int i = 0; i < r.n; i++) {
        const char *first_one = alike(ctx, i, 0, at);
        if (first_one != at)
            return first_one;
    }
    return at;
}

void gasnet_open_nodes(const struct wdl_sim_params *sim, size_t images_each, int each)
{
    ranks_open(&r, sim);
    wdl_prng_init(&prng, sim->seed);
    if (always)
        gasnet_prefer(always);
    memory = (struct gasnet_memory){
        .alike = alike, .proc = r.one[0].proc, .each = each, .domain = domain};
    for (int i = 0; i < r.n; i++) {
        images[i] = images_each ? images_each : 1 + (size_t) i % IMAGES_MAX;
        first[i + 1] = first[i] + images[i];
    }
    for (int i = 0; i < r.n; i++) {
        struct wdl_gas_params params = {.team = {.id = 100, .rank = i, .size = r.n},
                                        .images = images,
                                        .fns = fns,
                                        .fn_count = ALL_FNS};
        params.team.peer_of = same_peer;
        params.team.cell_bytes = 64;
        params.team.poison = 1;
        params.team.stands_for = stands_for;
        params.team.model = (struct wdl_coll_model){1000, 1000, 0.1, 0.25, 0};
        if (each)
            params.memory = gasnet_memory(&memory);
        ck_assert_int_eq(wdl_gas_init(r.one[i].proc, &params, &team[i]), WDL_OK);
        for (int k = 0; k < IMAGES_MAX; k++) {
            src[i][k] = calloc(1, ROOM);
            dst[i][k] = calloc(1, ROOM);
        }
    }
}

void gasnet_open(const struct wdl_sim_params *sim, size_t images_each)
{
    gasnet_open_nodes(sim, images_each, sim->seed & 1 ? sim->seed & 2 ? 2 : RANKS_MAX : 0);
}

void gasnet_prefer(const char *rows)
{
    char err[128];
    for (int i = 0; i < r.n; i++)
        ck_assert_int_eq(wdl_coll_prefer(r.one[i].proc, rows, err, sizeof(err)), WDL_OK);
}

void gasnet_open_place(const struct wdl_sim_params *sim, size_t images_each,
                       enum gasnet_place place)
{
    int levels = place == AT_DOMAINS || place == AT_LEVELS;
    gasnet_domains(place == AT_DOMAINS ? 2 : 0);
    gasnet_prefer_always(levels ? "broadcast:levels,scatter:levels,gather:levels,gather_all:levels,"
                                  "exchange:levels,reduce:levels,allreduce:levels,scan:levels"
                                : NULL);
    gasnet_open_nodes(sim, images_each,
                      place == AT_MESSAGES                       ? 0
                      : place == AT_ONE_NODE || place == AT_DOMAINS ? RANKS_MAX
                                                              : 2);
}

void gasnet_close(void)
{
    for (int i = r.n; i-- > 0;) {
        while (wdl_gas_team_destroy(team[i]) == WDL_AGAIN)
            ranks_step(&r);
        for (int k = 0; k < IMAGES_MAX; k++) {
            free(src[i][k]);
            free(dst[i][k]);
        }
    }
    ranks_close(&r);
    ck_assert_ptr_null(memory.all);
}

size_t draw(size_t below)
{
    return wdl_prng_below(&prng, below);
}

/* All handles synchronized, each as soon as it can be. */
void gasnet_finish(void)
{
    int left = r.n;
    for (long steps = 0; left > 0; steps++) {
        ck_assert_int_lt(steps, 3000000);
        int i = ranks_step(&r);
        enum wdl_gas_error error;
        if (handle[i] && wdl_gas_try_sync(handle[i], &error)) {
            ck_assert_int_eq(error, WDL_GAS_FINE);
            handle[i] = NULL;
            left--;
        }
    }
}

int draw_flags(int scope)
{
    int flags = WDL_COLL_IN_NOSYNC << draw(3) | WDL_COLL_OUT_NOSYNC << draw(3);
    return flags | (scope ? scope : draw(2) ? WDL_COLL_SINGLE : WDL_COLL_LOCAL);
}

/* The lists of each rank's units: of its own, or of all. */
void *src_list[RANKS_MAX][UNITS_MAX], *dst_list[RANKS_MAX][UNITS_MAX];

void gasnet_lists(int m, int flags)
{
    int all = m && (flags & WDL_COLL_SINGLE);
    for (int i = 0; i < r.n; i++)
        for (int node = all ? 0 : i; node < (all ? r.n : i + 1); node++)
            for (size_t k = 0; k < (m ? images[node] : 1); k++) {
                src_list[i][(all ? first[node] : 0) + k] = src[node][k];
                dst_list[i][(all ? first[node] : 0) + k] = dst[node][k];
            }
}

char *unit_memory(char *memory[][IMAGES_MAX], int m, size_t unit)
{
    int node = 0;
    if (!m)
        return memory[unit][0];
    while (first[node + 1] <= unit)
        node++;
    return memory[node][unit - first[node]];
}

/* Start on the ranks in any order, with progress in between. */
static int order[RANKS_MAX];

static void shuffle(void)
{
    for (int i = 0; i < r.n; i++)
        order[i] = i;
    for (int i = r.n - 1; i > 0; i--) {
        int j = (int) draw((size_t) i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

/* The ranks begin in any order, with progress in between. */
void gasnet_all(void (*start)(int i))
{
    shuffle();
    for (int k = 0; k < r.n; k++) {
        start(order[k]);
        for (size_t steps = draw(20); steps > 0; steps--)
            ranks_step(&r);
    }
    gasnet_finish();
}

static void worlds(void (*call)(void), uint64_t seeds, const int *sizes, int count)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct wdl_sim_params sim = {.seed = seed,
                                     .ranks = sizes[seed % (uint64_t) count],
                                     .ordered = seed % 2 != 0,
                                     .delay_ns_max = seed % 3 * 2000,
                                     .refuse_permille = seed % 4 == 0 ? 100 : 0,
                                     .pending_permille = 300,
                                     .am_bytes_max = 1024};
        gasnet_open(&sim, seed % 3);
        for (int k = 0; k < 6; k++)
            call();
        gasnet_close();
    }
}

void gasnet_few(void (*call)(void))
{
    worlds(call, 12, (int[]){1, 2, 3, 4, 5, 7}, 6);
}

void gasnet_many(void (*call)(void))
{
    worlds(call, 4, (int[]){16, 19, 24, 33}, 4);
}

struct layout gasnet_layout(size_t units)
{
    struct layout l = {draw(4), 0, units};
    l.off = draw(l.blk ? 2 * l.blk * units : units);
    return l;
}

char *gasnet_element_of(char *memory[][IMAGES_MAX], int m, const struct layout *l, size_t g,
                        size_t bytes)
{
    size_t index = g + l->off, block = l->blk ? index / l->blk : 0;
    size_t unit = l->blk ? block % l->units : l->off;
    size_t place = l->blk ? block / l->units * l->blk + index % l->blk : g;
    return unit_memory(memory, m, unit) + place * bytes;
}

uint32_t *gasnet_element(char *memory[][IMAGES_MAX], int m, const struct layout *l, size_t g)
{
    return (uint32_t *) (void *) gasnet_element_of(memory, m, l, g, sizeof(uint32_t));
}
