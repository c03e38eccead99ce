/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who has posted its window may lock those of others that are not posted: one rank posts to the
 * next, puts to the one behind that under a lock of it, and waits for what was put to itself,
 * before it unlocks or after. Itself, and all, it may not lock meanwhile. Each rank in turn,
 * windows of all flavours, all kinds of locks.
 */
#include "testing.h"

enum { EACH = 1000, BYTES = EACH * (int) sizeof(int) };

static struct t_win w;

static void expect_posted(const char *what, int code)
{
    t_check(t_class(code) == MPI_ERR_RMA_SYNC && strstr(t_text(code), "MPI_Win_post's"),
            "%s, %s: %s", t_flavour_name[w.flavour], what, t_text(code));
}

static void fill(int *values, int first)
{
    for (int i = 0; i < EACH; i++)
        values[i] = first + i;
}

/* What one's own window holds: all `first`, or nothing but zero (-1). */
static void look(int first, const char *what)
{
    const int *found = (const int *) (const void *) w.base;
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    for (int i = 0; i < EACH; i++)
        if (found[i] != (first < 0 ? 0 : first + i)) {
            t_fault("%s: %s: %d at %d instead of %d", t_flavour_name[w.flavour], what, found[i], i,
                    first < 0 ? 0 : first + i);
            break;
        }
    MPI_Win_unlock(w.rank, w.win);
}

/* `exposed` posts to the next rank and locks the one behind that, or the next one, of two. */
static void turn(int exposed, int type, int assertion, int count, int inside)
{
    int origin = (exposed + 1) % w.size, other = (exposed + 2) % w.size;
    int put[EACH], one = 1, sum = 0;
    MPI_Group all, group;
    other = other == exposed ? origin : other;
    memset(w.base, 0, BYTES);
    MPI_Win_sync(w.win);
    MPI_Barrier(w.comm);
    MPI_Comm_group(w.comm, &all);
    MPI_Group_incl(all, 1, w.rank == exposed ? &origin : &exposed, &group);
    fill(put, w.rank == exposed ? 1000000 : 2000000);
    if (w.rank == exposed) {
        MPI_Win_post(group, 0, w.win);
        expect_posted("lock of oneself", MPI_Win_lock(type, w.rank, assertion, w.win));
        expect_posted("lock_all", MPI_Win_lock_all(assertion, w.win));
        t_expect(MPI_SUCCESS, MPI_Win_lock(type, other, assertion, w.win));
        MPI_Put(put, count, MPI_INT, other, w.at[other], count, MPI_INT, w.win);
        if (count < EACH) {
            MPI_Fetch_and_op(&one, &sum, MPI_INT, other, w.at[other] + BYTES, MPI_SUM, w.win);
            MPI_Put(put + count, EACH - count, MPI_INT, other,
                    w.at[other] + count * (int) sizeof(int), EACH - count, MPI_INT, w.win);
        }
        if (!inside)
            t_expect(MPI_SUCCESS, MPI_Win_unlock(other, w.win));
        MPI_Win_wait(w.win);
        if (inside)
            t_expect(MPI_SUCCESS, MPI_Win_unlock(other, w.win));
    }
    if (w.rank == origin) {
        MPI_Win_start(group, 0, w.win);
        MPI_Put(put, EACH, MPI_INT, exposed, w.at[exposed], EACH, MPI_INT, w.win);
        MPI_Win_complete(w.win);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    MPI_Barrier(w.comm);
    look(w.rank == exposed ? 2000000 : w.rank == other ? 1000000 : -1, "after the turn");
    MPI_Barrier(w.comm);
}

/* Alone: it may not lock itself, and after wait it may. */
static void alone(int type)
{
    MPI_Group self;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Win_post(self, 0, w.win);
    expect_posted("lock of oneself", MPI_Win_lock(type, w.rank, 0, w.win));
    expect_posted("lock_all", MPI_Win_lock_all(0, w.win));
    MPI_Win_start(self, 0, w.win);
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    t_expect(MPI_SUCCESS, MPI_Win_lock(type, w.rank, 0, w.win));
    t_expect(MPI_SUCCESS, MPI_Win_unlock(w.rank, w.win));
    MPI_Group_free(&self);
}

int main(int argc, char **argv)
{
    static const int types[] = {MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE};
    t_begin(&argc, &argv);
    for (int f = 0; f < T_FLAVOURS; f++) {
        w = t_win_make(MPI_COMM_WORLD, (enum t_flavour) f, BYTES + sizeof(int), 1);
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        for (int k = 0; k < 2; k++) {
            alone(types[k]);
            for (int way = 0; w.size > 1 && way < 8; way++)
                for (int r = 0; r < w.size; r++)
                    turn(r, types[k], way & 1 ? MPI_MODE_NOCHECK : 0, way & 2 ? EACH : 1, way & 4);
        }
        t_win_free(&w);
    }
    return t_end();
}
