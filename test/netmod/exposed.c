/* Part of Windlass. See COPYRIGHT in the top-level directory. Exposing memory on a bed, and the
 * operations most tests need. */
#include "netmod/exposed.h"
#include <stdlib.h>
#include <string.h>

int expose(struct exposed *e, const struct nm_way *way, int n)
{
    memset(e, 0, sizeof(*e));
    bed_open(&e->bed, way, n);
    if (!e->bed.rank[0].nm->ops->caps(e->bed.rank[0].nm)->has_rma)
        return 0;
    for (int i = 0; i < n; i++) {
        struct wdl_nm *nm = e->bed.rank[i].nm;
        e->memory[i] = aligned_alloc(4096, EXPOSED_BYTES);
        memset(e->memory[i], 0, EXPOSED_BYTES);
        e->key_bytes[i] = sizeof(e->key[i]);
        ck_assert_int_eq(nm->ops->mem_attach(nm, e->memory[i], EXPOSED_BYTES, &e->mem[i]), WDL_OK);
        ck_assert_int_eq(nm->ops->mem_key(nm, e->mem[i], e->key[i], &e->key_bytes[i]), WDL_OK);
        for (int k = 0; k < n; k++) {
            struct wdl_nm *holder = e->bed.rank[k].nm;
            int status;
            BED_START(&e->bed, status,
                      holder->ops->rkey_open(holder, i, e->key[i], e->key_bytes[i],
                                             &e->rkey[k][i]));
            ck_assert_int_eq(status, WDL_OK);
        }
    }
    return 1;
}

void exposed_flush(struct exposed *e, int from, int to)
{
    struct bed_comp c;
    struct wdl_nm *nm = e->bed.rank[from].nm;
    BED_DO(&e->bed, c, nm->ops->flush(nm, to, &c.comp));
}

void exposed_abandon(struct exposed *e)
{
    bed_close(&e->bed);
    for (int i = 0; i < e->bed.n; i++)
        free(e->memory[i]);
}

void conceal(struct exposed *e)
{
    for (int i = 0; i < e->bed.n && e->mem[i]; i++)
        exposed_flush(e, i, -1);
    for (int i = 0; i < e->bed.n; i++) {
        for (int k = 0; k < e->bed.n; k++)
            if (e->rkey[i][k])
                e->bed.rank[i].nm->ops->rkey_close(e->bed.rank[i].nm, e->rkey[i][k]);
    }
    for (int i = 0; i < e->bed.n; i++)
        if (e->mem[i])
            e->bed.rank[i].nm->ops->mem_detach(e->bed.rank[i].nm, e->mem[i]);
    exposed_abandon(e);
}

uint64_t exposed_at(const struct exposed *e, int rank, size_t offset)
{
    return (uint64_t) (uintptr_t) (e->memory[rank] + offset);
}

void exposed_put(struct exposed *e, int from, int to, const void *src, size_t bytes, size_t offset)
{
    struct bed_comp c;
    struct wdl_nm *nm = e->bed.rank[from].nm;
    BED_DO(&e->bed, c,
           nm->ops->put(nm, to, src, bytes, exposed_at(e, to, offset), e->rkey[from][to],
                        &c.comp));
}

void exposed_poll_alone(struct exposed *e, int rank)
{
    struct wdl_nm *nm = e->bed.rank[rank].nm;
    nm->ops->poll(nm);
    if (e->bed.sim)
        wdl_sim_advance(e->bed.sim, 100);
}

int exposed_done_alone(struct exposed *e, int rank, const struct bed_comp *c, int status)
{
    for (int i = 0; i < 5000 && status == WDL_PENDING && !c->called; i++)
        exposed_poll_alone(e, rank);
    return status == WDL_OK || c->called;
}
