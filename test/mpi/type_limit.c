/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * type_limit BYTES: MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX is BYTES, and each rank is a node of its own.
 * A derived target type whose description is not longer goes to its target; with a longer one the
 * operation fails and moves nothing, it is said why, and the window works afterwards.
 */
#include "testing.h"

enum { SHORT = 4, LONG = 512, WORDS = 4 * LONG };

static struct t_win w;
static int to;

/* So many single ints, unevenly apart: each has its own place in the description. */
static MPI_Datatype scattered(int blocks)
{
    int at[LONG];
    MPI_Datatype type;
    for (int i = 0; i < blocks; i++)
        at[i] = 3 * i + i % 2;
    MPI_Type_create_indexed_block(blocks, 1, at, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/* Put as many ints; the error of the put or of what completes it. Each int is there if there is
 * none, and else none of them. */
static int put(int blocks)
{
    int data[LONG], code;
    MPI_Datatype type = scattered(blocks);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    memset(w.base, 0, sizeof(int) * WORDS);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    for (int i = 0; i < blocks; i++)
        data[i] = 1 + i;
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w.win);
    int begun = MPI_Put(data, blocks, MPI_INT, to, w.at[to], 1, type, w.win);
    code = MPI_Win_unlock(to, w.win);
    MPI_Type_free(&type);
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    for (int i = 0; i < blocks; i++) {
        int word = ((int *) (void *) w.base)[3 * i + i % 2];
        t_check(word == (begun || code ? 0 : 1 + i), "%s, %d blocks: word %d is %d after: %s",
                t_flavour_name[w.flavour], blocks, i, word, t_text(begun ? begun : code));
    }
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    return begun ? begun : code;
}

/* The same of a get with a request, into memory that stays as it is. */
static void get(int limit)
{
    int data[LONG];
    MPI_Request request;
    MPI_Datatype type = scattered(LONG);
    memset(data, -1, sizeof data);
    MPI_Win_lock(MPI_LOCK_SHARED, to, 0, w.win);
    MPI_Rget(data, LONG, MPI_INT, to, w.at[to], 1, type, w.win, &request);
    int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(to, w.win);
    MPI_Type_free(&type);
    if (limit >= (int) sizeof(int) * LONG) {
        t_check(code == MPI_SUCCESS, "%s: MPI_Rget: %s", t_flavour_name[w.flavour], t_text(code));
        return;
    }
    t_check(t_class(code) == MPI_ERR_TYPE &&
                strstr(t_text(code), "MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX"),
            "%s: MPI_Rget: %s", t_flavour_name[w.flavour], t_text(code));
    for (int i = 0; i < LONG; i++)
        t_check(data[i] == -1, "%s: word %d is %d", t_flavour_name[w.flavour], i, data[i]);
}

int main(int argc, char **argv)
{
    int limit = argc > 1 ? atoi(argv[1]) : 0;
    t_begin(&argc, &argv);
    t_check(limit > 0, "the argument says no limit");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* a request's */
    for (int f = 0; f < T_FLAVOURS; f++) {
        if (f == T_SHARED)      /* its windows have a rank each here */
            continue;
        w = t_win_make(MPI_COMM_WORLD, (enum t_flavour) f, sizeof(int) * WORDS, 1);
        to = (w.rank + 1) % w.size;
        MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
        for (int round = 0; round < 2; round++) {
            int few = put(SHORT), many = put(LONG);
            t_check(few == MPI_SUCCESS, "%s: a short description: %s", t_flavour_name[f],
                    t_text(few));
            t_check(many == MPI_SUCCESS ||
                        (t_class(many) == MPI_ERR_TYPE &&
                         strstr(t_text(many), "MPIR_CVAR_WINDLASS_TYPE_BYTES_MAX")),
                    "%s: a description that is too long: %s", t_flavour_name[f], t_text(many));
            t_check((many != MPI_SUCCESS) == (limit < (int) sizeof(int) * LONG),
                    "%s: a description of more than %zu bytes, with a limit of %d: %s",
                    t_flavour_name[f], sizeof(int) * LONG, limit, t_text(many));
            get(limit);
        }
        t_win_free(&w);
    }
    return t_end();
}
