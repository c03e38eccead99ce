/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What locks on windows that span nodes are, as the argument says:
 *
 *   words    words that the network's atomics change, and updates are the network's, too: where all
 *            processes reach each other's memory so. Over UCX's shared memory they do, if each
 *            believes to be on a node of its own: its window is then memory of UCX's.
 *   message  the target's work: over sockets; where memory is not UCX's; where UCX has the target
 *            do the atomics (a soft-RoCE device); where the user wants it
 *   differ   words as well, but ranks 0 and 2 of four do not reach each other's memory, which
 *            nobody has asked: their locks of each other are errors that say what to set
 *
 * Whichever it is, every rank locks every other and no update is lost. A process asks a neighbour
 * what its key says when it creates its first window, by a message, and never again.
 */
#include "testing.h"

enum { ROUNDS = 60, MESSAGE = 0, MIXED = 3 };

/* memory[0]: counted up under an exclusive lock; [1]: tickets under a shared one */
static void storm(MPI_Win win)
{
    const int64_t one = 1;
    int64_t count, ticket, last[64];
    for (int i = 0; i < t_size; i++)
        last[i] = -1;
    for (int i = 0; i < ROUNDS * t_size; i++) {
        int to = (t_rank + i) % t_size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, win);
        MPI_Get(&count, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(to, win);
        count++;
        MPI_Put(&count, 1, MPI_INT64_T, to, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(to, win);
        MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win);
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, to, 1, MPI_SUM, win);
        MPI_Win_unlock(to, win);
        t_check(ticket > last[to], "ticket %d of rank %d after %d", (int) ticket, to,
                (int) last[to]);
        last[to] = ticket;
    }
    MPI_Win_lock_all(0, win);
    for (int to = 0; to < t_size; to++)
        MPI_Accumulate(&one, 1, MPI_INT64_T, to, 2, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_unlock_all(win);
}

static void window(int first, int words)
{
    int64_t *memory;
    MPI_Win win;
    MPI_Win_allocate(3 * sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    unsigned long long messages = t_win_counter("windlass_win_messages", win);
    unsigned long long locks = t_pvar_of("windlass_win_locks", MPI_T_PVAR_CLASS_LEVEL, &win);
    t_check(messages == (first && words ? 2 : 0), "its creation took %llu messages", messages);
    t_check(locks == (words ? MIXED : MESSAGE), "its locks are %llu", locks);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t_rank, 0, win);
    memset(memory, 0, 3 * sizeof(*memory));
    MPI_Win_unlock(t_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    storm(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t_rank, 0, win);
    t_check(memory[0] == ROUNDS * t_size && memory[1] == memory[0] && memory[2] == t_size,
            "%d, %d and %d updates", (int) memory[0], (int) memory[1], (int) memory[2]);
    MPI_Win_unlock(t_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (words && !first) {      /* all keys are there */
        const int64_t one = 1;
        int64_t got, to = (t_rank + 1) % t_size;
        messages = t_win_counter("windlass_win_ops_message", win);
        unsigned long long direct = t_win_counter("windlass_win_ops_direct", win);
        MPI_Win_lock(MPI_LOCK_SHARED, (int) to, 0, win);
        MPI_Fetch_and_op(&one, &got, MPI_INT64_T, (int) to, 1, MPI_SUM, win);
        MPI_Win_unlock((int) to, win);
        t_check(t_win_counter("windlass_win_ops_message", win) == messages &&
                    t_win_counter("windlass_win_ops_direct", win) == direct + 1,
                "an update was not the network's");
    }
    MPI_Win_free(&win);
}

/* Before MPI starts: UCX's shared memory, of one kind or the other. Ranks 1 and 3 have both, and
 * their own memory is of the kind that the rank before them has. */
static void differ_begin(void)
{
    static const char *const transports[] = {"sysv,tcp,self", "sysv,posix,tcp,self",
                                             "posix,tcp,self", "sysv,posix,tcp,self"};
    static const char *const memory[] = {"md:sysv", "md:sysv", "md:posix", "md:posix"};
    const char *rank = getenv("PMI_RANK");
    int r = rank ? atoi(rank) % 4 : 0;
    setenv("UCX_TLS", transports[r], 1);
    setenv("UCX_ALLOC_PRIO", memory[r], 1);
}

static void refused(int code)
{
    t_check(t_class(code) == MPI_ERR_UNSUPPORTED_OPERATION &&
                strstr(t_text(code), "MPIR_CVAR_WINDLASS_ATOMICS=0"),
            "class %d: %s", t_class(code), t_text(code));
}

static void differ(void)
{
    int64_t *memory, got = -1;
    MPI_Win win;
    MPI_Win_allocate(sizeof(*memory), sizeof(*memory), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    unsigned long long locks = t_pvar_of("windlass_win_locks", MPI_T_PVAR_CLASS_LEVEL, &win);
    t_check(locks == MIXED, "its locks are %llu", locks);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, t_rank, 0, win);      /* an exclusive one asks rank 0 */
    *memory = t_rank;
    MPI_Win_unlock(t_rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int again = 0; again < 2 && t_rank % 2 == 0; again++) {
        int next = t_rank + 1;
        refused(MPI_Win_lock(MPI_LOCK_SHARED, 2 - t_rank, 0, win));
        if (t_rank == 2)
            refused(MPI_Win_lock_all(0, win));
        t_check(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win) == MPI_SUCCESS, "the next one's, too");
        MPI_Get(&got, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(next, win);
        t_check(got == next, "got %d of rank %d", (int) got, next);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    int provided, words, differs = argc > 1 && strcmp(argv[1], "differ") == 0;
    if (differs)
        differ_begin();
    t_begin(&argc, &argv);
    if (differs) {
        MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
        differ();
        MPI_T_finalize();
        return t_end();
    }
    words = argc > 1 && strcmp(argv[1], "words") == 0;
    t_check(words || (argc > 1 && strcmp(argv[1], "message") == 0), "words or message?");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    window(1, words);
    window(0, words);
    MPI_T_finalize();
    return t_end();
}
