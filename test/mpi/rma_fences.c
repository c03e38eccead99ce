/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_fences [seed]: puts of 4 KiB to 1 MiB between fences, round after round of one kind, so that
 * each way they can go is tried: by one rank, by all, one or several of each, on created, attached
 * and allocated memory, read behind the fence or not, with other operations beside them, while
 * their target computes for a while or is late. What arrives is looked at byte by byte, and what
 * lies around it. All ranks draw the same numbers.
 */
#include "testing.h"

enum { GUARD = 64, SLOTS = 4, SLOT = 1 << 20, ROOM = SLOTS * (SLOT + 2 * GUARD) };
enum { WINDOWS = 3 };         /* created, dynamic, allocated */
enum { KINDS = 24, ROUNDS = 60 };

static char *local;
static struct t_win win[WINDOWS];

/* What all rounds of one kind have in common. */
static struct kind {
    int w, all, puts, apart;    /* by all ranks, or by one; of each, to that many ranks on */
    int reads, empty, adds, mood;
    long bytes;
} kind;

static long draw(long below)
{
    return (long) t_all_below((uint64_t) below);
}

static char byte_of(int from, int round, int slot, long at)
{
    return (char) (at * 13 + at / 4096 + round * 31 + slot * 57 + from * 7);
}

static void compute(long us)
{
    for (double until = MPI_Wtime() + (double) us * 1e-6; MPI_Wtime() < until;)
        ;
}

static int is_origin(int rank)
{
    return kind.all || rank == 0;
}

static long slot_at(int slot)
{
    return slot * (SLOT + 2L * GUARD) + GUARD;
}

static long bytes_of(int slot)
{
    long bytes = kind.bytes + slot * 100;
    return bytes < SLOT ? bytes : SLOT;
}

static int target_of(int origin, int slot)
{
    return (origin + 1 + (kind.apart ? slot : 0)) % t_size;
}

static void put(int round)
{
    for (int slot = 0; slot < kind.puts; slot++) {
        int target = target_of(t_rank, slot), n = (int) bytes_of(slot);
        for (long i = 0; i < n; i++)
            local[slot_at(slot) + i] = byte_of(t_rank, round, slot, i);
        MPI_Put(local + slot_at(slot), n, MPI_BYTE, target, win[kind.w].at[target] + slot_at(slot),
                n, MPI_BYTE, win[kind.w].win);
    }
    if (kind.adds) {            /* elsewhere: behind the last slot */
        static long one = 1, got;       /* until the fence */
        int target = target_of(t_rank, 0);
        MPI_Accumulate(&one, 1, MPI_LONG, target, win[kind.w].at[target] + ROOM, 1, MPI_LONG,
                       MPI_SUM, win[kind.w].win);
        MPI_Get(&got, 1, MPI_LONG, t_rank, win[kind.w].at[t_rank] + ROOM + 8, 1, MPI_LONG,
                win[kind.w].win);
    }
}

static void check(int round)
{
    const char *at = win[kind.w].base;
    for (int origin = 0; origin < t_size; origin++)
        for (int slot = 0; is_origin(origin) && slot < kind.puts; slot++) {
            long wrong = 0, first = -1;
            for (long i = 0; target_of(origin, slot) == t_rank && i < bytes_of(slot); i++)
                if (at[slot_at(slot) + i] != byte_of(origin, round, slot, i) && wrong++ == 0)
                    first = i;
            t_check(wrong == 0, "round %d, %ld bytes, slot %d of rank %d: %ld wrong, first: %ld",
                    round, bytes_of(slot), slot, origin, wrong, first);
        }
}

static void check_guards(void)
{
    const char *at = win[kind.w].base;
    long wrong = 0;
    for (int slot = 0; slot < SLOTS; slot++)
        for (long i = 0; i < GUARD; i++)
            wrong += (at[slot_at(slot) - 1 - i] != 0) + (at[slot_at(slot) + SLOT + i] != 0);
    t_check(wrong == 0, "%ld bytes around the slots have changed", wrong);
}

static void rounds(void)
{
    memset(win[kind.w].base, 0, ROOM + 16);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win[kind.w].win);
    for (int round = 0; round < ROUNDS; round++) {
        long us = draw(100);
        if (is_origin(t_rank))
            put(round);
        else if (kind.mood == 1)
            compute(us);
        MPI_Win_fence(0, win[kind.w].win);
        if (kind.reads || round == ROUNDS - 1)
            check(round);
        if (kind.mood == 2 && t_rank == round % t_size)
            compute(us);
        if (kind.reads || kind.empty)   /* nobody overwrites what is being read */
            MPI_Win_fence(0, win[kind.w].win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win[kind.w].win);
    long sum = 0, wanted = kind.adds && is_origin((t_rank + t_size - 1) % t_size) ? ROUNDS : 0;
    memcpy(&sum, win[kind.w].base + ROOM, sizeof sum);
    t_check(sum == wanted, "%ld, not %ld were added", sum, wanted);
    check_guards();
}

int main(int argc, char **argv)
{
    static const enum t_flavour flavour[WINDOWS] = {T_CREATE, T_DYNAMIC, T_ALLOCATE};
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? (uint64_t) atoll(argv[1]) : 1;
    local = malloc(ROOM);
    for (int i = 0; i < WINDOWS; i++)
        win[i] = t_win_make(MPI_COMM_WORLD, flavour[i], ROOM + 16, 1);
    for (int k = 0; k < KINDS; k++) {
        long doublings = draw(9);
        kind = (struct kind){.w = (int) draw(WINDOWS), .all = (int) draw(2)};
        kind.puts = draw(3) ? 1 : 2 + (int) draw(SLOTS - 1);
        kind.apart = (int) draw(2);
        kind.reads = (int) draw(2);
        kind.empty = (int) draw(2);
        kind.adds = draw(3) == 0;
        kind.mood = (int) draw(4);
        kind.bytes = (4096L << doublings) + draw(4096);
        rounds();
    }
    for (int i = 0; i < WINDOWS; i++)
        t_win_free(&win[i]);
    free(local);
    return t_end();
}
