/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Opening, polling and closing a bed.
 */
#include "netmod/bed.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int on_am(void *ctx, const void *data, size_t bytes)
{
    struct bed_rank *r = ctx;
    if (r->refuse > 0) {
        r->refuse--;
        return WDL_AGAIN;
    }
    if (r->logged == r->room) {
        r->room = r->room ? 2 * r->room : 64;
        r->log = realloc(r->log, (size_t) r->room * sizeof(r->log[0]));
    }
    struct bed_msg *msg = &r->log[r->logged++];
    msg->bytes = bytes;
    msg->data = malloc(bytes ? bytes : 1);
    memcpy(msg->data, data, bytes);
    return WDL_OK;
}

static int address_of(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct bed_rank *r = ctx;
    r->asked[peer]++;
    struct wdl_nm *nm = r->bed->rank[peer].nm;
    return nm->ops->address(nm, addr_out, bytes_out);
}

void bed_open(struct bed *bed, const struct nm_way *way, int n)
{
    char err[256] = "";
    memset(bed, 0, sizeof(*bed));
    bed->way = way;
    bed->n = n;
    wdl_prng_init(&bed->prng, way->seed + 99);
    if (way->tls)
        setenv("UCX_TLS", way->tls, 1);
    if (way->seed) {
        struct wdl_sim_params sim = {0};
        if (way->limits)
            sim = *way->limits;
        sim.seed = way->seed;
        sim.ranks = n;
        sim.ordered = way->ordered;
        sim.delay_ns_max = way->delay_ns;
        sim.refuse_permille = way->refuse_permille;
        sim.pending_permille = way->pending_permille;
        bed->sim = wdl_sim_create(&sim);
        ck_assert_ptr_nonnull(bed->sim);
    }
    for (int i = 0; i < n; i++) {
        struct bed_rank *r = &bed->rank[i];
        r->bed = bed;
        r->rank = i;
        struct wdl_nm_params params = {.rank = i,
                                       .peers = n,
                                       .ctx = r,
                                       .on_am = on_am,
                                       .address_of = address_of,
                                       .fabric = bed->sim,
                                       .local_peers = n};
        int status = way->ops->open(&params, &r->nm, err, sizeof(err));
        ck_assert_msg(status == WDL_OK, "%s: %s", wdl_status_name(status), err);
    }
}

static void *closer(void *arg)
{
    struct wdl_nm *nm = arg;
    nm->ops->close(nm);
    return NULL;
}

void bed_close_together(struct wdl_nm *const *nm, int n)
{
    pthread_t thread[BED_RANKS_MAX];
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, closer, nm[i]), 0);
    for (int i = 0; i < n; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
}

void bed_close(struct bed *bed)
{
    struct wdl_nm *nm[BED_RANKS_MAX];
    for (int i = 0; i < bed->n; i++)
        nm[i] = bed->rank[i].nm;
    if (!bed->sim)
        bed_close_together(nm, bed->n);
    for (int i = 0; i < bed->n; i++) {
        struct bed_rank *r = &bed->rank[i];
        if (bed->sim)
            nm[i]->ops->close(nm[i]);
        for (int k = 0; k < r->logged; k++)
            free(r->log[k].data);
        free(r->log);
    }
    if (bed->sim)
        wdl_sim_destroy(bed->sim);
}

void bed_poll(struct bed *bed)
{
    for (int i = 0; i < bed->n; i++)
        bed->rank[i].nm->ops->poll(bed->rank[i].nm);
    if (bed->sim) {
        wdl_sim_check(bed->sim);
        wdl_sim_advance(bed->sim, wdl_prng_below(&bed->prng, 2000));
    }
}

static void count(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct bed_comp *c = (struct bed_comp *) comp;
    c->called++;
    c->info = *info;
}

struct bed_comp bed_comp(void)
{
    return (struct bed_comp){.comp = {.fn = count}};
}
