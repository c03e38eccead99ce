/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * dying RANK WAY WHERE: the process of this rank ends by KILL, SEGV, EXIT (with 3), ABORT
 * (MPI_Abort with 4) or, rank 0, ABORT_SLOW (the same while the watch stands still for a moment)
 * while the job is busy, or waits for it, in one of the places below. Used by rank_dies.sh; it has
 * no end of its own.
 */
#include "testing.h"
#include <signal.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WORDS = 1000 };

static struct t_win mapped, private; /* both under lock_all, but in the places with other epochs */
static int *sink, mortal, next, previous;

/* The watch is a child of the first process. What wakes it up belongs to no job. */
static void watch_stands_still(void)
{
    char line[200];
    snprintf(line, sizeof(line),
             "w=$(pgrep -P %d windlass-watch) && kill -STOP $w && {"
             " setsid sh -c \"sleep 0.3; kill -CONT $w\" < /dev/null > /dev/null 2>&1 & }",
             (int) getpid());
    t_check(system(line) == 0, "%s", line);
}

static void end(const char *way)
{
    if (strcmp(way, "ABORT_SLOW") == 0)
        watch_stands_still();
    if (strcmp(way, "KILL") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(way, "SEGV") == 0)
        raise(SIGSEGV);
    else if (strcmp(way, "EXIT") == 0)
        _exit(3);
    MPI_Abort(MPI_COMM_WORLD, 4);
}

/* --- one round of what everyone does, again and again ----------------------------------------- */

static void messages(int round)
{
    int value;
    MPI_Sendrecv(&round, 1, MPI_INT, next, 0, &value, 1, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void long_messages(int round)
{
    (void) round;
    MPI_Sendrecv(sink, BYTES / 8, MPI_INT, next, 0, sink + BYTES / 8, BYTES / 8, MPI_INT, previous,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void window(int round)
{
    (void) round;
    MPI_Put(sink, WORDS, MPI_INT, next, 0, WORDS, MPI_INT, mapped.win);
    MPI_Win_flush(next, mapped.win);
}

static void private_memory(int round)
{
    (void) round;
    MPI_Put(sink, WORDS, MPI_INT, next, 0, WORDS, MPI_INT, private.win);
    MPI_Get(sink, WORDS, MPI_INT, next, 0, WORDS, MPI_INT, private.win);
    MPI_Accumulate(sink, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_SUM, private.win);
    MPI_Win_flush(next, private.win);
}

static void collectives(int round)
{
    int value;
    MPI_Allreduce(&round, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
}

static void computing(int round)
{
    (void) round;
    usleep(100);
}

/* --- places to wait for the one who dies ------------------------------------------------------ */

static void recv_from(int round)
{
    (void) round;
    if (t_rank != mortal)
        MPI_Recv(sink, 1, MPI_INT, mortal, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void recv_any(int round)
{
    (void) round;
    if (t_rank != mortal)
        MPI_Recv(sink, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void ssend_to(int round)
{
    (void) round;
    if (t_rank != mortal)
        MPI_Ssend(sink, BYTES / 4, MPI_INT, mortal, 1, MPI_COMM_WORLD);
}

static void probe(int round)
{
    (void) round;
    if (t_rank != mortal)
        MPI_Probe(mortal, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void lock_of(struct t_win *w)
{
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win);
    MPI_Put(sink, 1, MPI_INT, 0, 0, 1, MPI_INT, w->win);
    MPI_Win_flush(0, w->win);
}

/* Who dies holds the lock; the others ask for it. */
static void lock(int round)
{
    if (round == 0 && t_rank == mortal)
        lock_of(&mapped);
    if (round == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != mortal)
        lock_of(&mapped);
}

static void private_lock(int round)
{
    if (round == 0 && t_rank == mortal)
        lock_of(&private);
    if (round == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != mortal)
        lock_of(&private);
}

static void fence(int round)
{
    (void) round;
    if (t_rank == mortal)
        return;
    MPI_Win_fence(0, mapped.win);
    MPI_Win_fence(0, mapped.win);
}

static void pscw(int round)
{
    MPI_Group all;
    (void) round;
    if (t_rank == mortal)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_post(all, 0, mapped.win);
    MPI_Win_start(all, 0, mapped.win);
    MPI_Win_complete(mapped.win);
    MPI_Win_wait(mapped.win);
}

static void window_free(int round)
{
    (void) round;
    if (t_rank != mortal)
        MPI_Win_free(&mapped.win);
}

static void finalize(int round)
{
    if (round == 0) {
        t_win_free(&mapped);
        t_win_free(&private);
    }
    if (t_rank != mortal)
        MPI_Finalize();
}

static const struct place {
    const char *name;
    void (*round)(int round);
    int locked; /* the windows are locked by lock_all */
} places[] = {
    {"messages", messages, 1},       {"long", long_messages, 1},
    {"window", window, 1},           {"private", private_memory, 1},
    {"collectives", collectives, 1}, {"computing", computing, 1},
    {"recv", recv_from, 1},          {"recv_any", recv_any, 1},
    {"ssend", ssend_to, 1},          {"probe", probe, 1},
    {"lock", lock, 0},               {"private_lock", private_lock, 0},
    {"fence", fence, 0},             {"pscw", pscw, 0},
    {"free", window_free, 0},        {"finalize", finalize, 0},
};

int main(int argc, char **argv)
{
    enum { ROUNDS = 200, PLACES = sizeof places / sizeof places[0] };
    const struct place *place = places;
    t_begin(&argc, &argv);
    mortal = atoi(argv[1]);
    next = (t_rank + 1) % t_size;
    previous = (t_rank + t_size - 1) % t_size;
    while (place < places + PLACES && strcmp(place->name, argv[3]))
        place++;
    if (place == places + PLACES)
        return 77;
    mapped = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, BYTES, 1);
    private = t_win_make(MPI_COMM_WORLD, T_CREATE, BYTES, 1);
    sink = t_alloc(BYTES);
    if (place->locked) {
        MPI_Win_lock_all(0, mapped.win);
        MPI_Win_lock_all(0, private.win);
    }
    for (int i = 0;; i++) {
        if (i == ROUNDS && t_rank == mortal) {
            usleep(100000); /* the others have come to where they wait */
            end(argv[2]);
        }
        place->round(i);
    }
}
