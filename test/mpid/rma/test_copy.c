/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/copy: what is moved without the target's help, and what a dynamic window exposes.
 */
#include <stdlib.h>
#include <string.h>
#include "host/testhost.h"
#include "mpid/rma/win_impl.h"
#include "netmod/sim/sim.h"
#include "support/suite.h"

enum { BYTES = 4096 };

/* Two ranks of one process; rank 1's memory is private to it. */
struct bed {
    struct test_host host[2];
    struct wdl_sim *sim;
    struct wdl_proc *proc[2];
    struct wdl_win *win[2];
    struct wdl_win_control control[2];
    char *memory[2];
    int copies;
    enum wdl_win_flavor flavor;
};

struct viewer {
    struct bed *bed;
    int rank;
};

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    struct bed *bed = ((struct viewer *) ctx)->bed;
    int dynamic = bed->flavor == WDL_WIN_DYNAMIC;
    *out = (struct wdl_win_rank) {
        .base = (uint64_t) (uintptr_t) bed->memory[rank],
        .bytes = dynamic ? UINT64_MAX : BYTES,
        .disp_unit = 1,
    };
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    struct viewer *v = ctx;
    *control_out = &v->bed->control[rank];
    return rank == v->rank ? v->bed->memory[rank] : NULL;
}

static int copy(void *ctx, int rank, int to_rank, struct wdl_piece *local, int nlocal,
                struct wdl_piece *remote, int nremote)
{
    size_t in = 0, out = 0;
    (void) rank;
    ((struct viewer *) ctx)->bed->copies++;
    for (int l = 0, r = 0; l < nlocal && r < nremote;) {
        char *from = to_rank ? local[l].base + in : remote[r].base + out;
        char *to = to_rank ? remote[r].base + out : local[l].base + in;
        *to = *from;
        if (++in == local[l].bytes) {
            l++;
            in = 0;
        }
        if (++out == remote[r].bytes) {
            r++;
            out = 0;
        }
    }
    return WDL_OK;
}

static void bed_open(struct bed *bed, enum wdl_win_flavor flavor)
{
    struct wdl_sim_params sim = {.seed = 1, .ranks = 2, .ordered = 1};
    memset(bed, 0, sizeof(*bed));
    bed->flavor = flavor;
    bed->sim = wdl_sim_create(&sim);
    for (int i = 0; i < 2; i++) {
        static struct viewer viewer[2];
        char err[64];
        test_host_init(&bed->host[i]);
        struct wdl_proc_params params = {.host = bed->host[i].host,
                                         .netmod = &wdl_nm_sim_ops,
                                         .fabric = bed->sim,
                                         .rank = i,
                                         .peers = 2};
        viewer[i] = (struct viewer) {bed, i};
        ck_assert_int_eq(wdl_proc_create(&params, &bed->proc[i], err, sizeof(err)), WDL_OK);
        ck_assert_int_eq(wdl_rma_init(bed->proc[i], &(struct wdl_rma_params) {0}), WDL_OK);
        bed->memory[i] = calloc(1, BYTES);
        struct wdl_win_params win = {.id = 3,
                                     .rank = i,
                                     .size = 2,
                                     .flavor = flavor,
                                     .base = flavor == WDL_WIN_CREATE ? bed->memory[i] : NULL,
                                     .bytes = flavor == WDL_WIN_CREATE ? BYTES : 0,
                                     .disp_unit = 1,
                                     .ctx = &viewer[i],
                                     .peer_of = peer_of,
                                     .rank_info = rank_info,
                                     .map = map,
                                     .copy = copy,
                                     .node = bed->control,
                                     .node_count = 2,
                                     .node_index = i,
                                     .node_whole = 1};
        ck_assert_int_eq(wdl_win_create(bed->proc[i], &win, &bed->win[i]), WDL_OK);
    }
}

static void bed_close(struct bed *bed)
{
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(wdl_win_free(bed->win[i]), WDL_OK);
        wdl_rma_fini(bed->proc[i]);
        wdl_proc_destroy(bed->proc[i]);
        ck_assert_int_eq(bed->host[i].live, 0);
        free(bed->memory[i]);
    }
    wdl_sim_destroy(bed->sim);
}

static struct wdl_buf bytes_at(void *addr, size_t bytes)
{
    return (struct wdl_buf) {
        .addr = addr, .count = (int64_t) bytes, .bytes = bytes, .contig = 1, .hi = (int64_t) bytes};
}

static int operate(struct bed *bed, enum wdl_rma_kind kind, int64_t disp, char *local, size_t bytes)
{
    struct wdl_rma_args args = {.kind = kind,
                                .target = 1,
                                .disp = disp,
                                .origin = bytes_at(local, bytes),
                                .result = bytes_at(NULL, 0),
                                .remote = bytes_at(NULL, bytes)};
    return wdl_rma_op(bed->win[0], &args);
}

static void lock(struct bed *bed)
{
    int step = 0;
    ck_assert_int_eq(wdl_win_lock_all(bed->win[0], 0, &step), WDL_OK);
}

static void unlock(struct bed *bed)
{
    int step = 0;
    ck_assert_int_eq(wdl_win_unlock_all(bed->win[0], &step), WDL_OK);
}

/* Without a message, and without anything of rank 1 being called. */
START_TEST(needs_no_target)
{
    struct bed bed;
    char out[64], in[64] = {0};
    struct wdl_win_stats stats;
    bed_open(&bed, WDL_WIN_CREATE);
    for (int i = 0; i < 64; i++)
        out[i] = (char) (i + 1);
    lock(&bed);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, 100, out, 64), WDL_OK);
    ck_assert_mem_eq(bed.memory[1] + 100, out, 64);
    ck_assert_int_eq(operate(&bed, WDL_RMA_GET, 100, in, 64), WDL_OK);
    ck_assert_mem_eq(in, out, 64);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, BYTES - 63, out, 64), WDL_ERR_RANGE);
    unlock(&bed);
    wdl_win_stats_get(bed.win[0], &stats);
    ck_assert_uint_eq(stats.ops_copied, 2);
    ck_assert_uint_eq(stats.messages, 0);
    ck_assert_int_eq(bed.copies, 2);
    bed_close(&bed);
}
END_TEST

/* A dynamic window's memory is what is attached now; its list is read once while it does not
 * change. */
START_TEST(dynamic_memory)
{
    struct bed bed;
    char word[8] = "windlas";
    bed_open(&bed, WDL_WIN_DYNAMIC);
    int64_t at = (int64_t) (uintptr_t) bed.memory[1];
    lock(&bed);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at, word, 8), WDL_ERR_RANGE);
    for (int i = 40; i > 0; i--) /* more than one reading of the list, touching neighbours */
        ck_assert_int_eq(wdl_win_attach(bed.win[1], bed.memory[1] + i * 64, 64), WDL_OK);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at, word, 8), WDL_ERR_RANGE);
    bed.copies = 0;
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at + 40 * 64, word, 8), WDL_OK);
    ck_assert_int_eq(bed.copies, 3); /* two parts of the list, and the bytes */
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at + 40 * 64 + 8, word, 8), WDL_OK);
    ck_assert_int_eq(bed.copies, 4);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at + 40 * 64 - 4, word, 8), WDL_OK);
    ck_assert_mem_eq(bed.memory[1] + 40 * 64 - 4, word, 8);
    ck_assert_int_eq(wdl_win_detach(bed.win[1], bed.memory[1] + 40 * 64), WDL_OK);
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at + 40 * 64, word, 8), WDL_ERR_RANGE);
    unlock(&bed);
    bed_close(&bed);
}
END_TEST

/* A list that is being changed is not believed. */
START_TEST(changing_list)
{
    struct bed bed;
    char word[8] = {0};
    bed_open(&bed, WDL_WIN_DYNAMIC);
    int64_t at = (int64_t) (uintptr_t) bed.memory[1];
    ck_assert_int_eq(wdl_win_attach(bed.win[1], bed.memory[1], BYTES), WDL_OK);
    lock(&bed);
    bed.control[1].regions_version++;
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at, word, 8), WDL_AGAIN);
    bed.control[1].regions_version++;
    ck_assert_int_eq(operate(&bed, WDL_RMA_PUT, at, word, 8), WDL_OK);
    unlock(&bed);
    bed_close(&bed);
}
END_TEST

WDL_SUITE("rma/copy", needs_no_target, dynamic_memory, changing_list)
