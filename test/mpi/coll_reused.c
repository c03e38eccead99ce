/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A communicator is over for one of its ranks, who makes another, which gets its context id, with a
 * rank that was not in it, while the others are in its last collective and wait long enough to ask.
 * Whoever is asked must not take it for its present communicator: nobody waits for ever, and no
 * collective ends with an error.
 *
 * The old one has all ranks but the last, of which rank 1 is done first, and rank 2 comes late; the
 * new one has rank 1 and the last. Of fewer than four ranks there is nothing to do.
 */
#include <unistd.h>
#include "testing.h"

enum { LATE_US = 200000, BARRIERS = 5 };

/* How far rank 1 is in its new communicator when it is asked about the old one's third collective:
 * in its first, its second, its third; behind that; it has freed it; and has made one more. */
enum far { FIRST, SECOND, THIRD, BEHIND, FREED, ANOTHER, WAYS };
static const char *const names[WAYS] = {"first", "second", "third", "behind", "freed", "another"};

static void check(int code, int far, const char *what)
{
    t_check(code == MPI_SUCCESS, "%s: %s: %s", names[far], what, t_text(code));
}

static void last(MPI_Comm comm, int far, int reduces)
{
    int n = t_size - 1, one = t_rank + 1, *got = t_alloc((size_t) n * sizeof *got);
    if (t_rank == 2)
        usleep(LATE_US);
    if (reduces)
        check(MPI_Reduce(&one, got, 1, MPI_INT, MPI_SUM, 0, comm), far, "reduce");
    else
        check(MPI_Gather(&one, 1, MPI_INT, got, 1, MPI_INT, 0, comm), far, "gather");
    if (t_rank == 0 && reduces)
        t_check(got[0] == n * (n + 1) / 2, "%s: a sum of %d", names[far], got[0]);
    for (int i = 0; t_rank == 0 && !reduces && i < n; i++)
        t_check(got[i] == i + 1, "%s: %d from %d", names[far], got[i], i);
    free(got);
}

/* The last rank is late where rank 1 is to wait for it. */
static void barriers(MPI_Comm comm, int far)
{
    for (int i = 0; i < BARRIERS; i++) {
        if (i == far && t_rank > 1)
            usleep(LATE_US / 2);
        check(MPI_Barrier(comm), far, "barrier");
    }
}

static MPI_Comm new_one(MPI_Comm two, int far)
{
    MPI_Comm comm;
    check(MPI_Comm_dup(two, &comm), far, "dup");
    barriers(comm, far);
    if (far >= FREED)
        MPI_Comm_free(&comm);
    if (far == ANOTHER) {
        check(MPI_Comm_dup(two, &comm), far, "dup");
        barriers(comm, far);
    }
    return comm;
}

static void try(MPI_Comm two, MPI_Group but_last, int far, int reduces)
{
    MPI_Comm old, new = MPI_COMM_NULL;
    if (t_rank < t_size - 1) {
        check(MPI_Comm_create_group(MPI_COMM_WORLD, but_last, far, &old), far, "create_group");
        MPI_Comm_set_errhandler(old, MPI_ERRORS_RETURN);
        check(MPI_Barrier(old), far, "barrier");
        last(old, far, reduces);
        MPI_Comm_free(&old);
    }
    if (two != MPI_COMM_NULL)
        new = new_one(two, far);
    MPI_Barrier(MPI_COMM_WORLD);
    if (new != MPI_COMM_NULL)
        MPI_Comm_free(&new);
}

int main(int argc, char **argv)
{
    MPI_Group world, but_last;
    MPI_Comm two;
    t_begin(&argc, &argv);
    if (t_size < 4)
        return t_end();
    int last_rank = t_size - 1, color = t_rank == 1 || t_rank == last_rank ? 0 : MPI_UNDEFINED;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &last_rank, &but_last);
    MPI_Comm_split(MPI_COMM_WORLD, color, t_rank, &two);
    for (int reduces = 0; reduces < 2; reduces++)
        for (int far = 0; far < WAYS; far++)
            try(two, but_last, far, reduces);
    if (two != MPI_COMM_NULL)
        MPI_Comm_free(&two);
    MPI_Group_free(&but_last);
    MPI_Group_free(&world);
    return t_end();
}
