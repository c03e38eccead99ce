/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Every assertion of fence, post, start, lock and lock_all, where it is true, on every flavour of
 * window: an assertion may save work, never lose an update. Groups are rings: each rank is exposed
 * to the one before it and accesses the one behind it. Then many windows and many locks at once.
 */
#include "testing.h"

static struct t_win w;
static int next, previous;

static MPI_Aint slot(int rank, int i)
{
    return w.at[rank] + 8 * i;
}

/* What must be in my slots: slot 0 is put to, 1 is added to, 2 is mine to store. */
static void expect_slots(const int64_t want[3], const char *what, int assertion)
{
    const volatile int64_t *own = (const volatile int64_t *) (const void *) w.base;
    for (int i = 0; i < 3; i++)
        t_check(own[i] == want[i], "%s, %s, assertion %d: slot %d holds %lld, not %lld",
                t_flavour_name[w.flavour], what, assertion, i, (long long) own[i],
                (long long) want[i]);
}

static int64_t put_value, add_value, got;

static void access_next(int k, int updates)
{
    put_value = 100 * k + w.rank;
    add_value = 1;
    got = -1;
    if (updates) {
        MPI_Put(&put_value, 1, MPI_INT64_T, next, slot(next, 0), 1, MPI_INT64_T, w.win);
        MPI_Accumulate(&add_value, 1, MPI_INT64_T, next, slot(next, 1), 1, MPI_INT64_T, MPI_SUM,
                       w.win);
    }
    MPI_Get(&got, 1, MPI_INT64_T, next, slot(next, 2), 1, MPI_INT64_T, w.win);
}

/* Pairs of fences: the first with every assertion that fits it, the second with every one that fits
 * it. Accesses lie between, so the second may not say NOPRECEDE; behind it there are none. */
static void fences(void)
{
    volatile int64_t *own = (volatile int64_t *) (void *) w.base;
    int64_t want[3] = {own[0], own[1], own[2]};
    int k = 0;
    for (int first = 0; first < 8; first++)
        for (int second = 0; second < 8; second++) {
            int updates = !(first & 2);
            int before = MPI_MODE_NOPRECEDE | (updates ? 0 : MPI_MODE_NOPUT) |
                         (first & 1 ? MPI_MODE_NOSTORE : 0);
            /* NOPUT and NOSTORE speak of what comes after, NOSTORE of stores before */
            int after = MPI_MODE_NOSUCCEED | (second & 1 ? MPI_MODE_NOPUT : 0) |
                        (second & 2 ? MPI_MODE_NOSTORE : 0);
            if (first & 4)
                before &= ~MPI_MODE_NOPRECEDE;
            if (second & 4)
                after &= ~MPI_MODE_NOSUCCEED;
            k++;
            if (!(first & 1))
                own[2] = want[2] = 7 * k + w.rank;
            int theirs = !(first & 1);
            MPI_Win_fence(before, w.win);
            access_next(k, updates);
            MPI_Win_fence(after, w.win);
            if (updates) {
                want[0] = 100 * k + previous;
                want[1]++;
            }
            expect_slots(want, "fence", before | after);
            t_check(!theirs || got == 7 * k + next, "%s, fence, assertion %d: got %lld",
                    t_flavour_name[w.flavour], before, (long long) got);
            MPI_Barrier(w.comm); /* what is stored next is not for this epoch's gets */
        }
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, w.win);
}

/* Post with every assertion; start with NOCHECK where a barrier makes that true. */
static void rings(void)
{
    volatile int64_t *own = (volatile int64_t *) (void *) w.base;
    int64_t want[3] = {own[0], own[1], own[2]};
    MPI_Group all, from, to;
    MPI_Comm_group(w.comm, &all);
    MPI_Group_incl(all, 1, &previous, &from);
    MPI_Group_incl(all, 1, &next, &to);
    for (int k = 1; k <= 32; k++) {
        int updates = !(k & 4);
        int assertion = (k & 1 ? MPI_MODE_NOCHECK : 0) | (k & 2 ? MPI_MODE_NOSTORE : 0) |
                        (updates ? 0 : MPI_MODE_NOPUT);
        if (!(k & 2))
            own[2] = want[2] = 9 * k + w.rank;
        MPI_Win_post(from, assertion, w.win);
        if (k & 1)
            MPI_Barrier(w.comm); /* every post is made: start and post need no check */
        MPI_Win_start(to, k & 1 ? MPI_MODE_NOCHECK : 0, w.win);
        access_next(k, updates);
        MPI_Win_complete(w.win);
        if (k & 8) {
            MPI_Win_wait(w.win);
        } else {
            for (int done = 0; !done;)
                MPI_Win_test(w.win, &done);
        }
        if (updates) {
            want[0] = 100 * k + previous;
            want[1]++;
        }
        expect_slots(want, "post and start", assertion);
        t_check((k & 2) || got == 9 * k + next, "%s, post and start, assertion %d: got %lld",
                t_flavour_name[w.flavour], assertion, (long long) got);
        MPI_Barrier(w.comm);
    }
    /* epochs without accesses, and with empty groups */
    MPI_Win_post(from, 0, w.win);
    MPI_Win_start(to, 0, w.win);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, w.win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, w.win);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    MPI_Group_free(&all);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

/* NOCHECK under a lock of one's own making: a token goes round. */
static void locks(void)
{
    enum { ROUNDS = 6 };
    int64_t sum = 0, back = -1, one = 1;
    for (int k = 0; k < ROUNDS; k++)
        for (int turn = 0; turn < w.size; turn++) {
            if (turn == w.rank) {
                if (k % 2)
                    MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win);
                else
                    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, w.win);
                MPI_Get(&sum, 1, MPI_INT64_T, 0, slot(0, 3), 1, MPI_INT64_T, w.win);
                MPI_Win_flush(0, w.win);
                sum += 1;
                MPI_Put(&sum, 1, MPI_INT64_T, 0, slot(0, 3), 1, MPI_INT64_T, w.win);
                MPI_Win_flush(0, w.win);
                MPI_Fetch_and_op(&one, &back, MPI_INT64_T, 0, slot(0, 3), MPI_NO_OP, w.win);
                if (k % 2)
                    MPI_Win_unlock_all(w.win);
                else
                    MPI_Win_unlock(0, w.win);
                t_check(back == k * w.size + turn + 1 && back == sum, "%s, nocheck: %lld",
                        t_flavour_name[w.flavour], (long long) back);
            }
            MPI_Barrier(w.comm);
        }
}

/* Locks of all ranks held at once, each by its own call, in several windows; given up in another
 * order; shared and exclusive. */
static void many(void)
{
    enum { WINDOWS = 12 };
    struct t_win many_w[WINDOWS];
    int64_t one = 1;
    for (int i = 0; i < WINDOWS; i++)
        many_w[i] = t_win_make(MPI_COMM_WORLD, (enum t_flavour) (i % T_FLAVOURS), 64, 8);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < WINDOWS; i++)
            for (int r = 0; r < many_w[i].size; r++)
                MPI_Win_lock(MPI_LOCK_SHARED, r, 0, many_w[i].win);
        for (int i = WINDOWS - 1; i >= 0; i--)
            for (int r = 0; r < many_w[i].size; r++)
                MPI_Accumulate(&one, 1, MPI_INT64_T, r,
                               many_w[i].at[r] + (many_w[i].flavour == T_DYNAMIC ? 8 : 1), 1,
                               MPI_INT64_T, MPI_SUM, many_w[i].win);
        for (int i = 0; i < WINDOWS; i++)
            for (int r = many_w[i].size - 1; r >= 0; r--)
                MPI_Win_unlock(r, many_w[i].win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, many_w[i].rank, 0, many_w[i].win);
        int64_t have = ((int64_t *) (void *) many_w[i].base)[1];
        MPI_Win_unlock(many_w[i].rank, many_w[i].win);
        t_check(have == 3 * many_w[i].size, "window %d, %s: %lld updates", i,
                t_flavour_name[many_w[i].flavour], (long long) have);
    }
    for (int i = 0; i < WINDOWS; i++)
        t_win_free(&many_w[(i * 5 + 3) % WINDOWS]);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    for (int f = 0; f < T_FLAVOURS; f++) {
        w = t_win_make(MPI_COMM_WORLD, (enum t_flavour) f, 64, 1);
        next = (w.rank + 1) % w.size;
        previous = (w.rank + w.size - 1) % w.size;
        fences();
        rings();
        locks();
        t_win_free(&w);
    }
    many();
    return t_end();
}
