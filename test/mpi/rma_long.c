/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_long [seed]: puts and gets of 60 KiB to 2 MiB on created, attached and allocated memory, one
 * to three at a time, at any address, in one piece or in blocks on either side, while their target
 * waits in MPI, computes for a while, or comes late. What arrives is looked at byte by byte, and
 * what lies around it. All ranks draw the same numbers.
 */
#include "testing.h"

enum { ROOM = 6 << 20, LEAST = 60 << 10, MOST = 2 << 20, GUARD = 64, ROUNDS = 300, OPS = 3 };
enum { LOCKS, LOCK_ALL, PSCW, FENCE, SYNCS };
enum { WAITS, COMPUTES, COMES_LATE, MOODS };

enum { WINDOWS = 3 };         /* created, dynamic, allocated */

static char *local;
static struct t_win win[WINDOWS];

static long draw(long below)
{
    return (long) t_all_below((uint64_t) below);
}

static char byte_of(int round, int op, long at)
{
    return (char) (at * 13 + at / 4096 + round * 31 + op * 57);
}

/* Operations of a round, each between the round's origin and another rank. */
struct op {
    int target, gets, asks;     /* asks: with a request */
    long at, from, bytes;       /* in the target's memory, in the origin's */
    long block, gap;            /* blocks so long, so far apart, where they are apart: */
    int apart[2];               /* at the origin, at the target */
};

/* Where the i-th byte is, on that side. */
static long place_of(const struct op *op, int side, long i)
{
    return op->apart[side] ? i / op->block * (op->block + op->gap) + i % op->block : i;
}

static void fill(char *at, const struct op *op, int side, int round, int number)
{
    for (long i = 0; i < op->bytes; i++)
        at[place_of(op, side, i)] = byte_of(round, number, i);
}

/* The bytes, and nothing between them or beside them; what is right is erased. */
static void check(char *at, const struct op *op, int side, int round, int number)
{
    long wrong = 0, first = -1, end = place_of(op, side, op->bytes - 1) + 1;
    for (long i = 0; i < op->bytes; i++) {
        char *here = at + place_of(op, side, i);
        if (*here != byte_of(round, number, i) && wrong++ == 0)
            first = i;
        *here = 0;
    }
    for (long i = -GUARD; i < end + GUARD; i++)
        wrong += at[i] != 0;
    t_check(wrong == 0, "round %d, %s %d of %ld bytes: %ld wrong, the first at %ld", round,
            op->gets ? "get" : "put", number, op->bytes, wrong, first);
}

static void compute(long us)
{
    for (double until = MPI_Wtime() + (double) us * 1e-6; MPI_Wtime() < until;)
        ;
}

static MPI_Datatype type_of(const struct op *op, int side, int *count)
{
    MPI_Datatype type = MPI_BYTE;
    *count = op->apart[side] ? 1 : (int) op->bytes;
    if (op->apart[side]) {
        MPI_Type_vector((int) (op->bytes / op->block), (int) op->block,
                        (int) (op->block + op->gap), MPI_BYTE, &type);
        MPI_Type_commit(&type);
    }
    return type;
}

static void begin(const struct op *op, int w, MPI_Request *request)
{
    MPI_Aint disp = win[w].at[op->target] + op->at;
    int n, m;
    MPI_Datatype ours = type_of(op, 0, &n), theirs = type_of(op, 1, &m);
    *request = MPI_REQUEST_NULL;
    if (op->gets && op->asks)
        MPI_Rget(local + op->from, n, ours, op->target, disp, m, theirs, win[w].win, request);
    else if (op->gets)
        MPI_Get(local + op->from, n, ours, op->target, disp, m, theirs, win[w].win);
    else if (op->asks)
        MPI_Rput(local + op->from, n, ours, op->target, disp, m, theirs, win[w].win, request);
    else
        MPI_Put(local + op->from, n, ours, op->target, disp, m, theirs, win[w].win);
    if (op->apart[0])
        MPI_Type_free(&ours);
    if (op->apart[1])
        MPI_Type_free(&theirs);
}

static void one_by_one(const struct op *ops, int n, int w, int sync)
{
    MPI_Request request;
    if (sync == LOCK_ALL)
        MPI_Win_lock_all(0, win[w].win);
    for (int i = 0; i < n; i++) {
        if (sync == LOCKS)
            MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, ops[i].target, 0,
                         win[w].win);
        begin(&ops[i], w, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (sync == LOCKS)
            MPI_Win_unlock(ops[i].target, win[w].win);
        else if (i % 2)
            MPI_Win_flush(ops[i].target, win[w].win);
    }
    if (sync == LOCK_ALL)
        MPI_Win_unlock_all(win[w].win);
}

static void all_at_once(const struct op *ops, int n, int w)
{
    MPI_Request request;
    for (int i = 0; i < n; i++)
        begin(&ops[i], w, &request);
}

static MPI_Group group_of(const int *ranks, int n)
{
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n, ranks, &group);
    MPI_Group_free(&all);
    return group;
}

/* The origin starts for all others, who have posted. */
static void pscw(const struct op *ops, int n, int w, int origin)
{
    int others[16], m = 0;
    for (int i = 0; i < t_size; i++)
        if (i != origin)
            others[m++] = i;
    MPI_Group group = t_rank == origin ? group_of(others, m) : group_of(&origin, 1);
    if (t_rank == origin) {
        MPI_Win_start(group, 0, win[w].win);
        all_at_once(ops, n, w);
        MPI_Win_complete(win[w].win);
    } else {
        MPI_Win_post(group, 0, win[w].win);
        MPI_Win_wait(win[w].win);
    }
    MPI_Group_free(&group);
}

static void round_of(int round)
{
    struct op ops[OPS];
    int w = (int) draw(WINDOWS), sync = (int) draw(SYNCS), mood = (int) draw(MOODS);
    int origin = (int) draw(t_size), n = 1 + (int) draw(OPS);
    long us = draw(300), at = GUARD, from = GUARD;
    for (int i = 0; i < n; i++) {
        struct op *op = &ops[i];
        *op = (struct op){.target = (origin + 1 + (int) draw(t_size - 1)) % t_size,
                          .gets = (int) draw(2), .asks = sync < PSCW && draw(3) == 0};
        op->bytes = LEAST + draw((draw(2) ? MOST : 4 * LEAST) - LEAST) / (n > 2 ? 2 : 1);
        if (draw(2)) {
            int ways = 1 + (int) draw(3);
            op->apart[0] = ways & 1;
            op->apart[1] = ways >> 1;
            op->block = 600 + draw(8000);
            op->gap = draw(200);
            op->bytes -= op->bytes % op->block;
        }
        at += draw(4096);
        from += draw(4096);
        op->at = at;
        op->from = from;
        at += place_of(op, 1, op->bytes - 1) + 2 * GUARD;
        from += place_of(op, 0, op->bytes - 1) + 2 * GUARD;
    }
    memset(win[w].base, 0, ROOM);
    memset(local, 0, ROOM);
    for (int i = 0; i < n; i++) {
        if (t_rank == (ops[i].gets ? ops[i].target : origin))
            fill(ops[i].gets ? win[w].base + ops[i].at : local + ops[i].from, &ops[i], ops[i].gets,
                 round, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (mood == COMES_LATE && t_rank != origin)
        compute(us);
    if (sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win[w].win);
    if (sync == PSCW)
        pscw(ops, n, w, origin);
    else if (t_rank == origin && sync == FENCE)
        all_at_once(ops, n, w);
    else if (t_rank == origin)
        one_by_one(ops, n, w, sync);
    else if (mood == COMPUTES)
        compute(us);
    if (sync == FENCE)
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win[w].win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        if (ops[i].gets ? t_rank == origin : t_rank == ops[i].target)
            check(ops[i].gets ? local + ops[i].from : win[w].base + ops[i].at, &ops[i],
                  !ops[i].gets, round, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const enum t_flavour flavour[WINDOWS] = {T_CREATE, T_DYNAMIC, T_ALLOCATE};
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? (uint64_t) atoll(argv[1]) : 1;
    local = malloc(ROOM);
    for (int i = 0; i < WINDOWS; i++)
        win[i] = t_win_make(MPI_COMM_WORLD, flavour[i], ROOM, 1);
    for (int round = 0; round < ROUNDS; round++)
        round_of(round);
    for (int i = 0; i < WINDOWS; i++)
        t_win_free(&win[i]);
    free(local);
    return t_end();
}
