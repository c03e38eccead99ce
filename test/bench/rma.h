/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The operations rma.c and counts.c time: what each does n times, and how its data are checked.
 */
#ifndef WDL_BENCH_RMA_H_INCLUDED
#define WDL_BENCH_RMA_H_INCLUDED

#include <stdint.h>
#include "bench.h"

enum { BLOCKS = 512, MANY = 64, TARGET = 1 };

struct rma_op;

struct rma_pair {               /* MPI_DOUBLE_INT */
    double number;
    int index;
};

/* A window, and memory of our own for operations. */
struct job {
    struct bench bench;
    MPI_Win win;
    char *memory;               /* what this rank exposes */
    char *local, *result;       /* of as many bytes */
    int left, right;            /* neighbours in a ring; rank 0's right one is TARGET */
    MPI_Aint at;                /* displacement of the right neighbour's memory */
    long bytes;
    int count;                  /* doubles in `bytes` */
    int turn;                   /* which of the sizes that share a computing target is first */
    int lock_type, lock_assertion;
    MPI_Datatype vector;        /* BLOCKS blocks of `bytes` / BLOCKS bytes, as much between them */
    MPI_Group from, to;         /* left; right */
    const struct rma_op *op;    /* of the row under way */
    long total;                 /* operations of the row so far */
    int last;                   /* this one is not timed; its data are new */
    long surprises;             /* of compare_and_swap: it found another value than it left */
    int64_t found;              /* what fetch_and_op or compare_and_swap found last */
};

/* What the row leaves behind if every byte went where it should. */
enum leaves {
    LEAVES_NOTHING,             /* it moves no data */
    LEAVES_PUT,                 /* the target has the origin's `local` */
    LEAVES_GET,                 /* the origin's `result` is the target's memory */
    LEAVES_SUM,                 /* the target's doubles are sums of `total` times the origin's */
    LEAVES_SUM_FETCHED,         /* and `result` is what they were before the last */
    LEAVES_COUNT,               /* the target's first int64_t is `total` */
    LEAVES_MOST,                /* the target's ints are the most there were */
    LEAVES_MOST_PAIRS,          /* the same of struct rma_pair */
    LEAVES_PUT_VECTOR, LEAVES_GET_VECTOR, LEAVES_SUM_VECTOR     /* every other block */
};

struct rma_op {
    const char *name;
    bench_fn run;
    enum leaves leaves;
    enum { ON_LOCK_ALL, ON_LOCK, ON_FENCES, ON_PSCW } how;
    enum { NO_BYTES, A_WORD, ALL_SIZES, FEW_SIZES, MANY_SIZES, VECTOR_SIZES } sizes;
    int lock_type, lock_assertion;
};

/* Ends with one without a name. */
extern const struct rma_op rma_ops[];

/* The bytes an operation's row number i moves; -1 behind its last. They grow. */
long rma_bytes(const struct rma_op *op, int i);

/* All ranks take part, each with its neighbours in the ring. */
static inline int rma_is_active(const struct rma_op *op)
{
    return op->how == ON_FENCES || op->how == ON_PSCW;
}

/* Bytes of a rank's memory that operations of so many bytes may touch. */
static inline long rma_reach(const struct rma_op *op, long bytes)
{
    return op->leaves >= LEAVES_PUT_VECTOR ? 2 * bytes : bytes;
}

/* All ranks. Before the operations: memory as they expect it; before the last: other data, where it
 * was told; after them: the check. */
void rma_prepare(struct job *j);
void rma_renew(struct job *j);
int rma_is_wrong(struct job *j);

/* What the first double of operation number i adds; the others do not change. */
static inline double rma_addend(long i)
{
    return (double) (1 + (i & 7));
}

/* The first element of operation number i of a row of maxima. */
static inline long rma_most(long i)
{
    return 1000 + i;
}

/* All ranks: kind is allocate, create or dynamic; every rank exposes so many bytes. */
void rma_window_begin(struct job *j, const char *kind, long space);
void rma_window_end(struct job *j, const char *kind);

#endif
