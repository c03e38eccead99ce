/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The network's costs, measured as the process begins: by messages of the network's own, since
 * there are no communicators yet, between rank 0, which says what is to be done next and when it is
 * enough, and a partner, which serves it. All others are asleep where rank 0 will tell what has
 * come of it (coll_model.c).
 *
 *     rank 0    command       turns * (train messages, await one)    ...   an empty command
 *     partner           ack   turns * (await train messages, one)    ...
 *
 *   latency   half a turn of one byte there and one byte back
 *   gap       what each message of a train takes more
 *   byte      what each byte takes more in a turn of long messages
 *   reduce    what each byte of a sum of doubles takes
 *
 * Where rank 0's node has several domains (domain.c), rank 0 and the first rank of another one then
 * throw a word to each other, in the memory they share:
 *
 *   across    half a turn of a store here that is seen there and answered by one
 *
 * Each by the least of several rounds: whatever disturbs makes it longer.
 */
#include "coll.h"
#include "op.h"
#include "pt2pt.h"
#include "rma.h"
#include <sched.h>

enum { TURNS = 8, TRAIN = 64, SHORT = 16 << 10, LONG = 256 << 10 };
/* So many rounds in this time; fewer only if they take much longer. */
enum { ROUNDS_MAX = 64, ROUNDS_WANTED = 8, ENOUGH_NS = 10000000, MUCH_NS = 200000000 };

struct command {
    int32_t turns, train, bytes;        /* no turns: it is over */
};

struct exchange {               /* one message, waited for */
    struct wdl_nm_comp comp;
    int done, status;
};

static double now_ns(void)
{
    return (double) wdl_adi_host_ops.now_ns(NULL);
}

static void exchange_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct exchange *x = wdl_container_of(comp, struct exchange, comp);
    x->status = info->status;
    x->done = 1;
}

static int await(int status, const struct exchange *x)
{
    int mpi_errno = MPI_SUCCESS;
    if (status != WDL_PENDING)
        return WDL_ADI_ERROR(status);
    mpi_errno = wdl_adi_wait(&x->done);
    return mpi_errno ? mpi_errno : WDL_ADI_ERROR(x->status);
}

static int put(int peer, void *data, size_t bytes)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    struct exchange x = {.comp.fn = exchange_done };
    const struct wdl_nm_buf buf = {.addr = data,.count = bytes };
    int status;
    WDL_ADI_INSIST(status, nm->ops->tag_send(nm, peer, wdl_tag_make(WDL_TAG_CONTEXT_OWN,
                                             MPIR_Process.rank, 0), &buf, 0, &x.comp));
    return await(status, &x);
}

static int get(int peer, void *data, size_t bytes)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    struct exchange x = {.comp.fn = exchange_done };
    const struct wdl_nm_buf buf = {.addr = data,.count = bytes };
    struct wdl_nm_info info;
    int status;
    WDL_ADI_INSIST(status, nm->ops->tag_recv(nm, wdl_tag_make(WDL_TAG_CONTEXT_OWN, peer, 0),
                                             UINT64_MAX, &buf, &x.comp, &info));
    return await(status, &x);
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

struct measure {
    int partner;
    char *data;
    double turn, train, part, whole, fold;      /* the least so far; 0: none */
};

static void least(double *best, double ns)
{
    if (*best == 0 || ns < *best)
        *best = ns;
}

static int run(const struct measure *m, struct command c, double *best)
{
    int mpi_errno = put(m->partner, &c, sizeof c);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = get(m->partner, m->data, 0);
    double began = now_ns();
    for (int turn = 0; turn < c.turns; turn++) {
        for (int i = 0; i < c.train && mpi_errno == MPI_SUCCESS; i++)
            mpi_errno = put(m->partner, m->data, (size_t) c.bytes);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = get(m->partner, m->data, (size_t) c.bytes);
    }
    least(best, now_ns() - began);
    return mpi_errno;
}

static void fold(struct measure *m)
{
    const struct wdl_element *element = wdl_adi_element_of(MPI_DOUBLE);
    wdl_kernel_fn sum = wdl_kernel_typed(element, WDL_ROP_SUM);
    double began = now_ns();
    wdl_adi_op_loop(element, sum, m->data, m->data + SHORT, SHORT / sizeof(double));
    least(&m->fold, now_ns() - began);
}

static int round_of(struct measure *m)
{
    int mpi_errno = run(m, (struct command) {TURNS, 1, 1}, &m->turn);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = run(m, (struct command) {1, TRAIN, 1}, &m->train);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = run(m, (struct command) {1, 1, SHORT}, &m->part);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = run(m, (struct command) {1, 1, LONG}, &m->whole);
    fold(m);
    return mpi_errno;
}

/* The first round, which makes the connection, is not of the time that rounds may take. */
static int rounds(struct measure *m)
{
    struct command over = { 0, 0, 0 };
    int mpi_errno = round_of(m);
    double began = now_ns(), took = 0;
    for (int i = 1; mpi_errno == MPI_SUCCESS && i < ROUNDS_MAX &&
         took < (i < ROUNDS_WANTED ? MUCH_NS : ENOUGH_NS); i++) {
        mpi_errno = round_of(m);
        took = now_ns() - began;
    }
    return mpi_errno ? mpi_errno : put(m->partner, &over, sizeof over);
}

int wdl_adi_measure(int partner, struct wdl_coll_model *model_out)
{
    struct measure m = {.partner = partner,.data = MPL_calloc(LONG, 1, MPL_MEM_COLL) };
    if (!m.data)
        return WDL_ADI_ERROR(WDL_ERR_NOMEM);
    int mpi_errno = rounds(&m);
    MPL_free(m.data);
    double latency = m.turn / TURNS / 2;
    *model_out = (struct wdl_coll_model) {
        .latency = latency,
        .gap = (m.train - 2 * latency) / (TRAIN - 1),
        .byte = (m.whole - m.part) / 2 / (LONG - SHORT),
        .reduce = m.fold / SHORT
    };
    return mpi_errno;
}

/* --- its partner ------------------------------------------------------------------------------ */

int wdl_adi_measure_partner(void)
{
    for (int peer = 1; peer < MPIR_Process.size; peer++)
        if (MPIR_Process.node_map[peer] != MPIR_Process.node_map[0])
            return peer;
    return MPIR_Process.size - 1;
}

static int serve_turn(const struct command *c, char *data)
{
    int mpi_errno = MPI_SUCCESS;
    for (int i = 0; i < c->train && mpi_errno == MPI_SUCCESS; i++)
        mpi_errno = get(0, data, (size_t) c->bytes);
    return mpi_errno ? mpi_errno : put(0, data, (size_t) c->bytes);
}

int wdl_adi_measure_serve(void)
{
    struct command c;
    char *data = MPL_calloc(LONG, 1, MPL_MEM_COLL);
    int mpi_errno = data ? get(0, &c, sizeof c) : WDL_ADI_ERROR(WDL_ERR_NOMEM);
    while (mpi_errno == MPI_SUCCESS && c.turns > 0) {
        mpi_errno = put(0, data, 0);
        for (int turn = 0; turn < c.turns && mpi_errno == MPI_SUCCESS; turn++)
            mpi_errno = serve_turn(&c, data);
        if (mpi_errno == MPI_SUCCESS)
            mpi_errno = get(0, &c, sizeof c);
    }
    MPL_free(data);
    return mpi_errno;
}

/* --- between two domains of a node ------------------------------------------------------------ */

enum { BALLS = 64, BALL_ROUNDS = 16, LOOKS = 1000, GIVEN_UP_NS = 1000000000 };

struct court {                  /* in the arena, on pages of its own; numbers begin at 1 */
    struct wdl_meet_word there, back;
};

#define BALL_LAST UINT64_MAX    /* there will be no other */

/* Has it come, or one behind it? 0: for a second nobody has thrown it. */
static int caught(const struct wdl_meet_word *word, uint64_t number)
{
    double began = now_ns();
    do {
        for (int i = 0; i < LOOKS; i++)
            /* pairs with the store in wdl_meet_come */
            if (__atomic_load_n(&word->number, __ATOMIC_ACQUIRE) >= number)
                return 1;
        sched_yield();          /* it may be this processor that the other one waits for */
    } while (now_ns() - began < GIVEN_UP_NS);
    return 0;
}

static int throw_round(struct court *court, uint64_t *number, double *best)
{
    double began = now_ns();
    for (int i = 0; i < BALLS; i++) {
        wdl_meet_come(&court->there, ++*number);
        if (!caught(&court->back, *number))
            return 0;
    }
    least(best, now_ns() - began);
    return 1;
}

int wdl_adi_measure_far(void)
{
    int near = wdl_domain_of(0);
    for (int i = 0; i < MPIR_Process.local_size && near >= 0; i++)
        if (wdl_domain_of(MPIR_Process.node_local_map[i]) != near)
            return MPIR_Process.node_local_map[i];
    return -1;
}

int wdl_adi_measure_across(int far, double *across_out)
{
    uint64_t card, number = 0;
    double best = 0;
    int ok = wdl_arena_take(sizeof(struct court), 2, &card) != NULL;
    int mpi_errno = put(far, &card, sizeof card);
    *across_out = 0;
    if (!ok)
        return mpi_errno;
    char *block = wdl_arena_at(0, card);
    struct court *court = (struct court *) (void *) block;
    for (int i = 0; i < BALL_ROUNDS && ok && mpi_errno == MPI_SUCCESS; i++)
        ok = throw_round(court, &number, &best);
    wdl_meet_come(&court->there, BALL_LAST);
    wdl_arena_leave(block, 0, 0);
    if (ok)
        *across_out = best / BALLS / 2;
    return mpi_errno;
}

int wdl_adi_measure_return(void)
{
    uint64_t card = 0;
    int mpi_errno = get(0, &card, sizeof card);
    char *block = mpi_errno ? NULL : wdl_arena_at(0, card);
    if (!block)
        return mpi_errno;
    struct court *court = (struct court *) (void *) block;
    for (uint64_t number = 1; caught(&court->there, number); number++) {
        if (__atomic_load_n(&court->there.number, __ATOMIC_RELAXED) == BALL_LAST)
            break;
        wdl_meet_come(&court->back, number);
    }
    wdl_arena_leave(block, 0, 0);
    return mpi_errno;
}
