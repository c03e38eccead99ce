/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Random collectives, of coll_random and thread_random. Every round draws a communicator, a
 * collective, its root, operator, lengths, and whether it is waited for; up to so many are
 * outstanding, of several communicators, and each rank waits for them in an order of its own. What
 * everybody gives can be computed by all, so each checks what it got, and what is to be left alone.
 */
#ifndef RANDOM_COLLECTIVES_H_INCLUDED
#define RANDOM_COLLECTIVES_H_INCLUDED

#include "testing.h"

enum { COLL_COMMS = 4, OUTSTANDING = 12, COLL_GUARD = 3 };
enum coll_kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    GATHERV,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};
static const char *const kind_name[] = {
    "barrier",   "bcast",    "reduce",  "allreduce", "gather",     "scatter",
    "allgather", "alltoall", "gatherv", "scatterv",  "allgatherv", "alltoallv",
    "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};

static _Thread_local struct coll_comm {
    MPI_Comm comm;
    int rank, size;
} coll_comms[COLL_COMMS];

/* --- operators: on pairs, x -> a x + b, which do not commute; or on words --------------------- */

static MPI_Datatype pair;
static MPI_Op compose;

static inline void composed(void *in, void *inout, int *n, MPI_Datatype *type)
{
    uint32_t *left = in, *right = inout;
    (void) type;
    for (int i = 0; i < *n; i++, left += 2, right += 2) { /* first left, then right */
        right[1] += right[0] * left[1];
        right[0] *= left[0];
    }
}

/* The k-th element that a rank gives in a round, of a word, or two halves of one. */
static inline int64_t coll_given(uint64_t round, int rank, uint64_t k)
{
    return (int64_t) t_any(round << 36 | (uint64_t) rank << 28 | k);
}

static inline int64_t coll_folded(MPI_Op op, int64_t left, int64_t right)
{
    if (op == MPI_SUM)
        return (int64_t) ((uint64_t) left + (uint64_t) right);
    if (op == MPI_MAX)
        return left > right ? left : right;
    if (op == MPI_BXOR)
        return left ^ right;
    int one = 1;
    composed(&left, &right, &one, NULL);
    return right;
}

/* --- one collective --------------------------------------------------------------------------- */

static _Thread_local struct coll_run { /* under way */
    struct coll_comm *c;
    enum coll_kind kind;
    int root, n, in_place;
    uint64_t round;
    MPI_Op op;
    MPI_Datatype type;
    int *lengths, *places, *other_lengths, *other_places; /* of what varies */
    int64_t *src, *dst, *kept; /* kept: what dst was */
    size_t src_room, dst_room;
    MPI_Request request;
} coll_runs[OUTSTANDING];

/* Of a block that rank `from` gives to rank `to`, where they vary. */
static inline int length_of(const struct coll_run *r, int from, int to)
{
    uint64_t dice = t_any(r->round << 20 | (uint64_t) from << 10 | (uint64_t) to);
    return dice % 4 == 0 ? 0 : (int) (dice / 4 % (uint64_t) (r->n + 1));
}

static inline int varies(enum coll_kind kind)
{
    return kind >= GATHERV && kind <= REDUCE_SCATTER;
}

/* How much rank `from` gives to `to`, in elements; reductions: REDUCE_SCATTER's part of `to`. */
static inline int part_of(const struct coll_run *r, int from, int to)
{
    switch (r->kind) {
    case GATHERV:
    case ALLGATHERV:
        return length_of(r, from, 0);
    case SCATTERV:
    case REDUCE_SCATTER:
        return length_of(r, 0, to);
    case ALLTOALLV:
        return length_of(r, from, to);
    default:
        return r->n;
    }
}

/* Does rank `from` give each rank a block of its own? */
static inline int splits(enum coll_kind kind)
{
    return kind == SCATTER || kind == SCATTERV || kind == ALLTOALL || kind == ALLTOALLV;
}

/* Where what it gives to `to` begins, of all that it gives. */
static inline uint64_t begin_of(const struct coll_run *r, int from, int to)
{
    uint64_t at = 0;
    if (!splits(r->kind) && r->kind != REDUCE_SCATTER && r->kind != REDUCE_SCATTER_BLOCK)
        return 0;
    for (int i = 0; i < to; i++)
        at += (uint64_t) part_of(r, from, i);
    return at;
}

static inline int reduces(enum coll_kind kind)
{
    return kind == REDUCE || kind == ALLREDUCE || kind >= REDUCE_SCATTER;
}

static inline uint64_t gives(const struct coll_run *r, int from)
{
    int p = r->c->size;
    switch (r->kind) {
    case BARRIER:
        return 0;
    case BCAST:
        return from == r->root ? (uint64_t) r->n : 0;
    case SCATTER:
    case SCATTERV:
        return from == r->root ? begin_of(r, from, p) : 0;
    case ALLTOALL:
    case ALLTOALLV:
    case REDUCE_SCATTER:
    case REDUCE_SCATTER_BLOCK:
        return begin_of(r, from, p);
    default:
        return (uint64_t) part_of(r, from, 0);
    }
}

/* What this rank is to have in the end, at dst: so many elements. */
static inline uint64_t wanted(const struct coll_run *r, int64_t *want)
{
    int me = r->c->rank, p = r->c->size;
    uint64_t k = 0;
    switch (r->kind) {
    case BARRIER:
        return 0;
    case BCAST:
        for (; k < (uint64_t) r->n; k++)
            want[k] = coll_given(r->round, r->root, k);
        return k;
    case SCATTER:
    case SCATTERV: {
        uint64_t at = begin_of(r, r->root, me);
        for (; k < (uint64_t) part_of(r, r->root, me); k++)
            want[k] = coll_given(r->round, r->root, at + k);
        return k;
    }
    case GATHER:
    case GATHERV:
        if (me != r->root)
            return 0;
        /* fall through */
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
        for (int from = 0; from < p; from++) {
            uint64_t at = begin_of(r, from, me);
            for (int i = 0; i < part_of(r, from, me); i++)
                want[k++] = coll_given(r->round, from, at + (uint64_t) i);
        }
        return k;
    default: {
        uint64_t at = begin_of(r, me, me), n = (uint64_t) part_of(r, me, me);
        int last = r->kind == SCAN ? me : r->kind == EXSCAN ? me - 1 : p - 1;
        if ((r->kind == REDUCE && me != r->root) || last < 0)
            return 0;
        for (; k < n; k++) {
            want[k] = coll_given(r->round, 0, at + k);
            for (int i = 1; i <= last; i++)
                want[k] = coll_folded(r->op, want[k], coll_given(r->round, i, at + k));
        }
        return k;
    }
    }
}

static inline void lists_make(struct coll_run *r)
{
    int p = r->c->size, me = r->c->rank, at = 0, other = 0;
    r->lengths = t_alloc(4 * (size_t) p * sizeof(int));
    r->places = r->lengths + p;
    r->other_lengths = r->places + p;
    r->other_places = r->other_lengths + p;
    for (int i = 0; i < p; i++) {
        /* what comes from i, or of a scatter what goes to it; of alltoallv the other, too */
        r->lengths[i] = r->kind == SCATTERV || r->kind == REDUCE_SCATTER ? part_of(r, r->root, i) :
                        part_of(r, i, me);
        r->places[i] = at;
        at += r->lengths[i];
        r->other_lengths[i] = part_of(r, me, i);
        r->other_places[i] = other;
        other += r->other_lengths[i];
    }
}

/* MPI's call of that name, or the nonblocking one. */
#define CALL(name, nonblocking, ...)                                                              \
    (void) (later ? MPI_I##nonblocking(__VA_ARGS__, comm, &r->request)                            \
                  : MPI_##name(__VA_ARGS__, comm))

static inline void coll_begin(struct coll_run *r, int later)
{
    MPI_Comm comm = r->c->comm;
    MPI_Datatype t = r->type;
    int me = r->c->rank, root = r->root, n = r->n, is_root = me == root;
    const void *src = r->in_place ? MPI_IN_PLACE : r->src;
    void *dst = r->dst, *at_root = is_root && r->in_place ? MPI_IN_PLACE : dst;
    switch (r->kind) {
    case BARRIER:
        (void) (later ? MPI_Ibarrier(comm, &r->request) : MPI_Barrier(comm));
        break;
    case BCAST:
        CALL(Bcast, bcast, dst, n, t, root);
        break;
    case REDUCE:
        CALL(Reduce, reduce, is_root ? src : r->src, dst, n, t, r->op, root);
        break;
    case ALLREDUCE:
        CALL(Allreduce, allreduce, src, dst, n, t, r->op);
        break;
    case GATHER:
        CALL(Gather, gather, is_root ? src : r->src, n, t, dst, n, t, root);
        break;
    case SCATTER:
        CALL(Scatter, scatter, r->src, n, t, at_root, n, t, root);
        break;
    case ALLGATHER:
        CALL(Allgather, allgather, src, n, t, dst, n, t);
        break;
    case ALLTOALL:
        CALL(Alltoall, alltoall, src, n, t, dst, n, t);
        break;
    case GATHERV:
        CALL(Gatherv, gatherv, is_root ? src : r->src, part_of(r, me, 0), t, dst, r->lengths,
             r->places, t, root);
        break;
    case SCATTERV:
        CALL(Scatterv, scatterv, r->src, r->lengths, r->places, t, at_root, part_of(r, root, me), t,
             root);
        break;
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, src, part_of(r, me, 0), t, dst, r->lengths, r->places, t);
        break;
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, r->src, r->other_lengths, r->other_places, t, dst, r->lengths,
             r->places, t);
        break;
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, src, dst, r->lengths, t, r->op);
        break;
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, src, dst, n, t, r->op);
        break;
    case SCAN:
        CALL(Scan, scan, src, dst, n, t, r->op);
        break;
    default:
        CALL(Exscan, exscan, src, dst, n, t, r->op);
    }
}

/* In place: what is given lies where the result comes. */
static inline void place_in(struct coll_run *r)
{
    int me = r->c->rank;
    uint64_t n = gives(r, me), at = 0;
    if (r->kind == BCAST && me == r->root)
        memcpy(r->dst, r->src, n * 8);
    if (!r->in_place || r->kind == BCAST || r->kind == SCATTER || r->kind == SCATTERV)
        return;
    if ((r->kind == GATHER || r->kind == GATHERV || r->kind == REDUCE) && me != r->root)
        return;
    if (r->kind == GATHER || r->kind == ALLGATHER)
        at = (uint64_t) r->n * (uint64_t) me;
    if (r->kind == GATHERV || r->kind == ALLGATHERV)
        at = (uint64_t) r->places[me];
    memcpy(r->dst + at, r->src, n * 8);
}

static inline void coll_start(struct coll_run *r, uint64_t round, int later)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_BXOR};
    uint64_t dice = t_all_below(100);
    *r = (struct coll_run){.c = &coll_comms[t_all_below(COLL_COMMS)],
                           .kind = (enum coll_kind) t_all_below(KINDS),
                           .request = MPI_REQUEST_NULL};
    r->round = round;
    uint64_t most = dice < 60 ? 8 : dice < 85 ? 300 : dice < 97 ? 5000 : 60000;
    if (r->kind >= ALLGATHER && most > 20000)
        most = 20000;
    uint64_t n = t_all_below(most + 1), root = t_all_below(1 << 20), op = t_all_below(4);
    int in_place = t_all_below(3) == 0;
    if (r->c->comm == MPI_COMM_NULL)
        return;
    int p = r->c->size;
    r->n = (int) n;
    r->root = (int) (root % (uint64_t) p);
    r->op = op < 3 ? ops[op] : compose;
    r->type = op < 3 || !reduces(r->kind) ? MPI_INT64_T : pair;
    r->in_place = in_place && r->kind != ALLTOALLV && r->kind != BARRIER;
    if (varies(r->kind))
        lists_make(r);
    r->src_room = gives(r, r->c->rank);
    r->dst_room = r->src_room + (uint64_t) r->n * (uint64_t) p + COLL_GUARD;
    r->src = t_alloc(r->src_room * 8);
    r->dst = t_alloc(r->dst_room * 8);
    r->kept = t_alloc(r->dst_room * 8);
    for (size_t k = 0; k < r->src_room; k++)
        r->src[k] = coll_given(round, r->c->rank, k);
    for (size_t k = 0; k < r->dst_room; k++)
        r->dst[k] = (int64_t) (0x5555555555555555 + k);
    place_in(r);
    memcpy(r->kept, r->dst, r->dst_room * 8);
    coll_begin(r, later);
}

static inline void coll_end(struct coll_run *r)
{
    if (!r->dst)
        return;
    int64_t *want = r->kept; /* beyond the result: as it was */
    int me = r->c->rank;
    uint64_t n = 0;
    int nowhere = ((r->kind == SCATTER || r->kind == SCATTERV) && r->in_place && me == r->root);
    if (!nowhere)
        n = wanted(r, want);
    /* in place, the rest of what was given may be anything */
    uint64_t from = r->in_place && r->src_room > n ? r->src_room : n;
    for (uint64_t k = 0; k < r->dst_room; k++) {
        if ((k >= n && k < from) || r->dst[k] == want[k])
            continue;
        t_fault("round %llu: %s of %d, %d ranks, root %d%s: word %llu is %llx, not %llx",
                (unsigned long long) r->round, kind_name[r->kind], r->n, r->c->size, r->root,
                r->in_place ? ", in place" : "", (unsigned long long) k,
                (unsigned long long) r->dst[k], (unsigned long long) want[k]);
        break;
    }
    for (uint64_t k = 0; k < r->src_room; k++)
        if (r->src[k] != coll_given(r->round, me, k)) {
            t_fault("round %llu: %s: what was given has changed", (unsigned long long) r->round,
                    kind_name[r->kind]);
            break;
        }
    free(r->lengths);
    free(r->src);
    free(r->dst);
    free(r->kept);
    r->dst = NULL;
}

static _Thread_local int coll_count; /* under way */

/* Waits for all that is under way, in an order of this rank's own. */
static inline void colls_settle(void)
{
    for (; coll_count > 0; coll_count--) {
        int at = (int) t_below((uint64_t) coll_count), done = 0;
        struct coll_run *r = &coll_runs[at], last = coll_runs[coll_count - 1];
        if (t_below(2))
            while (!done)
                MPI_Test(&r->request, &done, MPI_STATUS_IGNORE);
        else
            MPI_Wait(&r->request, MPI_STATUS_IGNORE);
        coll_end(r);
        *r = last;
    }
}

static inline void coll_round(uint64_t round)
{
    int later = t_all_below(3) > 0;
    struct coll_run *r = &coll_runs[coll_count];
    coll_start(r, round, later);
    if (later)
        coll_count++;
    else /* others go on meanwhile */
        coll_end(r);
    if (coll_count == OUTSTANDING || t_all_below(6) == 0)
        colls_settle();
}

/* Of the process, before its threads have communicators. */
static inline void coll_types_make(void)
{
    MPI_Type_contiguous(2, MPI_UINT32_T, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(composed, 0, &compose);
}

static inline void coll_types_free(void)
{
    MPI_Op_free(&compose);
    MPI_Type_free(&pair);
}

/* Of this thread, from a communicator that no other thread uses meanwhile. */
static inline void coll_comms_make(MPI_Comm all)
{
    MPI_Comm_dup(all, &coll_comms[0].comm);
    MPI_Comm_split(all, 0, -t_rank, &coll_comms[1].comm);
    MPI_Comm_split(all, t_rank % 2, t_rank, &coll_comms[2].comm);
    MPI_Comm_split(all, t_rank == 0 ? MPI_UNDEFINED : 1, (t_rank * 5) % 7, &coll_comms[3].comm);
    for (int i = 0; i < COLL_COMMS; i++)
        if (coll_comms[i].comm != MPI_COMM_NULL) {
            MPI_Comm_rank(coll_comms[i].comm, &coll_comms[i].rank);
            MPI_Comm_size(coll_comms[i].comm, &coll_comms[i].size);
        }
}

static inline void coll_comms_free(void)
{
    for (int i = 0; i < COLL_COMMS; i++)
        if (coll_comms[i].comm != MPI_COMM_NULL)
            MPI_Comm_free(&coll_comms[i].comm);
}

#endif /* RANDOM_COLLECTIVES_H_INCLUDED */
