/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_few [seed]: all ranks add one to 1 to 24 neighbouring numbers of rank 0's at a time, mostly
 * to few, now and then to all, in each flavour of window, by turns, all at once, and in epochs of
 * locks. What is read before an addition is a ticket: each number's are 0, 1, 2, ... and
 * none is given twice. Additions that read nothing leave gaps, as many as there are.
 */
#include "testing.h"

enum { NUMBERS = 40, MANY = 24, OPS = 400, TICKETS = 1 << 13, PHASES = 3 };
enum { ALONE, ALL_AT_ONCE, LOCKS };

/* Of each number, by ticket: how often this rank had it; additions that had none. */
static unsigned char had[NUMBERS][TICKETS];
static long added[NUMBERS], unread[NUMBERS];

static void take(int number, int64_t ticket)
{
    t_check(ticket >= 0 && ticket < TICKETS, "number %d: ticket %lld", number, (long long) ticket);
    if (ticket >= 0 && ticket < TICKETS)
        had[number][ticket]++;
}

static void one_op(const struct t_win *w)
{
    static int64_t one[NUMBERS], was[NUMBERS];
    uint64_t kind = t_below(8);
    int n = 1 + (int) t_below(kind == 0 ? MANY : 6);
    int first = (int) t_below(NUMBERS - MANY + 1), reads = kind != 1;
    if (t_below(64) == 0) {
        first = 0;
        n = NUMBERS;
    }
    MPI_Aint disp = w->at[0] + (MPI_Aint) sizeof(int64_t) * first;
    for (int i = 0; i < n; i++)
        one[i] = 1;
    memset(was, 0xff, sizeof(was));
    if (n == 1 && reads && kind < 5)
        MPI_Fetch_and_op(one, was, MPI_INT64_T, 0, disp, MPI_SUM, w->win);
    else if (reads)
        MPI_Get_accumulate(one, n, MPI_INT64_T, was, n, MPI_INT64_T, 0, disp, n, MPI_INT64_T,
                           MPI_SUM, w->win);
    else
        MPI_Accumulate(one, n, MPI_INT64_T, 0, disp, n, MPI_INT64_T, MPI_SUM, w->win);
    MPI_Win_flush(0, w->win);
    for (int i = 0; i < n; i++) {
        added[first + i]++;
        unread[first + i] += !reads;
        if (reads)
            take(first + i, was[i]);
    }
}

static void some_ops(const struct t_win *w, int phase)
{
    for (int i = 0; i < OPS; i++) {
        if (phase == LOCKS)
            MPI_Win_lock(i % 16 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
        one_op(w);
        if (phase == LOCKS)
            MPI_Win_unlock(0, w->win);
    }
}

static void phase_of(const struct t_win *w, int phase)
{
    for (int turn = 0; turn < (phase == ALONE ? w->size : 1); turn++) {
        if (phase != LOCKS)
            MPI_Win_lock_all(0, w->win);
        if (phase != ALONE || turn == w->rank)
            some_ops(w, phase);
        if (phase != LOCKS)
            MPI_Win_unlock_all(w->win);
        MPI_Barrier(w->comm);
    }
}

static void check(struct t_win *w, const char *flavour)
{
    for (int number = 0; number < NUMBERS; number++) {
        int64_t now = -1;
        MPI_Allreduce(MPI_IN_PLACE, had[number], TICKETS, MPI_UNSIGNED_CHAR, MPI_SUM, w->comm);
        MPI_Allreduce(MPI_IN_PLACE, &added[number], 1, MPI_LONG, MPI_SUM, w->comm);
        MPI_Allreduce(MPI_IN_PLACE, &unread[number], 1, MPI_LONG, MPI_SUM, w->comm);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win);
        MPI_Get(&now, 1, MPI_INT64_T, 0, w->at[0] + (MPI_Aint) sizeof(now) * number, 1, MPI_INT64_T,
                w->win);
        MPI_Win_unlock(0, w->win);
        t_check(now == added[number], "%s, number %d: %lld of %ld", flavour, number,
                (long long) now, added[number]);
        long gaps = 0, twice = 0, beyond = 0;
        for (int ticket = 0; ticket < TICKETS; ticket++) {
            gaps += ticket < now && had[number][ticket] == 0;
            twice += had[number][ticket] > 1;
            beyond += ticket >= now && had[number][ticket] > 0;
        }
        t_check(gaps == unread[number] && twice == 0 && beyond == 0,
                "%s, number %d: %ld gaps of %ld, %ld tickets twice, %ld too high", flavour, number,
                gaps, unread[number], twice, beyond);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    for (int flavour = 0; flavour < T_FLAVOURS; flavour++) {
        struct t_win w =
            t_win_make(MPI_COMM_WORLD, (enum t_flavour) flavour, NUMBERS * sizeof(int64_t), 1);
        memset(had, 0, sizeof(had));
        memset(added, 0, sizeof(added));
        memset(unread, 0, sizeof(unread));
        for (int phase = 0; phase < PHASES; phase++)
            phase_of(&w, phase);
        check(&w, t_flavour_name[flavour]);
        t_win_free(&w);
    }
    return t_end();
}
