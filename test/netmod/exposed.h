/* Part of Windlass. See COPYRIGHT in the top-level directory. A bed where every rank exposes
 * EXPOSED_BYTES of memory to every other. */
#ifndef WDL_TEST_NETMOD_EXPOSED_H_INCLUDED
#define WDL_TEST_NETMOD_EXPOSED_H_INCLUDED

#include "netmod/bed.h"

enum { EXPOSED_BYTES = 1 << 20 };

struct exposed {
    struct bed bed;
    unsigned char *memory[BED_RANKS_MAX];
    struct wdl_nm_mem *mem[BED_RANKS_MAX];
    struct wdl_nm_rkey *rkey[BED_RANKS_MAX][BED_RANKS_MAX]; /* [holder][owner] */
    unsigned char key[BED_RANKS_MAX][WDL_NM_KEY_BYTES_MAX];
    size_t key_bytes[BED_RANKS_MAX];
};

/* 0: this network has no such thing; the bed is open, and conceal() closes it. */
int expose(struct exposed *e, const struct nm_way *way, int n);
/* After a flush of everything: close wants what matters flushed, connections in the making too. */
void conceal(struct exposed *e);
/* Close with keys and memory still there, and whatever is pending. */
void exposed_abandon(struct exposed *e);
uint64_t exposed_at(const struct exposed *e, int rank, size_t offset);
void exposed_flush(struct exposed *e, int from, int to);
void exposed_put(struct exposed *e, int from, int to, const void *src, size_t bytes,
                 size_t offset);
/* Poll one rank alone; and until its operation is done, or for a while: is it done? */
void exposed_poll_alone(struct exposed *e, int rank);
int exposed_done_alone(struct exposed *e, int rank, const struct bed_comp *c, int status);

#endif
