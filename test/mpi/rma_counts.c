/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Puts and gets are the device's own: every rank puts and gets single words of the next one, on all
 * flavours of windows that reach another node. Windlass must have left every one to the network,
 * and what a soft-RoCE device counts must show it: at least a packet for each operation of its
 * machine, and hardly any message. The device's atomics are not all that UCX wants, so UCX would
 * ask the target's processor: Windlass does that itself, by message. Needs such a device and a
 * neighbour on another node, so it is among the programs of `maint/check --rdma` alone. Prints a
 * line "counted ..." for each machine.
 */
#include "testing.h"
#include <glob.h>

enum {
    OPS = 400,          /* puts of a rank, and as many gets */
    WORDS = 64,
    FLUSH_EVERY = 16,
    PER_MESSAGE = 8     /* operations there are for each message, at least */
};

struct counts {
    unsigned long long packets, sends;
};

static unsigned long long counter(const char *name)
{
    unsigned long long sum = 0, value;
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern, "/sys/class/infiniband/*/ports/*/hw_counters/%s", name);
    if (glob(pattern, 0, NULL, &found) != 0) {
        t_fault("there is no %s", pattern);
        return 0;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        FILE *file = fopen(found.gl_pathv[i], "r");
        if (file && fscanf(file, "%llu", &value) == 1)
            sum += value;
        if (file)
            fclose(file);
    }
    globfree(&found);
    return sum;
}

static struct counts counts(void)
{
    return (struct counts) {.packets = counter("sent_pkts"), .sends = counter("rdma_sends")};
}

/* How many operations on `win` took this path. */
static unsigned long long operations(const char *path, MPI_Win win)
{
    char name[64];
    snprintf(name, sizeof name, "windlass_win_ops_%s", path);
    return t_win_counter(name, win);
}

static int64_t number(int rank, int i)
{
    return 1000 * rank + i + 1;
}

/* Puts to the next rank, each read back once it is there. */
static void operate(const struct t_win *w, int puts)
{
    int to = (w->rank + 1) % w->size;
    int64_t value[FLUSH_EVERY], got[FLUSH_EVERY];
    for (int i = 0; i < puts; i++) {
        int slot = i % FLUSH_EVERY, last = slot == FLUSH_EVERY - 1 || i == puts - 1;
        MPI_Aint place = w->at[to] + 8 * (i % WORDS) / w->unit;
        value[slot] = number(w->rank, i);
        MPI_Put(&value[slot], 1, MPI_INT64_T, to, place, 1, MPI_INT64_T, w->win);
        if (!last)
            continue;
        MPI_Win_flush(to, w->win);
        for (int k = 0; k <= slot; k++) {
            place = w->at[to] + 8 * ((i - slot + k) % WORDS) / w->unit;
            MPI_Get(&got[k], 1, MPI_INT64_T, to, place, 1, MPI_INT64_T, w->win);
        }
        MPI_Win_flush(to, w->win);
        for (int k = 0; k <= slot; k++)
            t_check(got[k] == value[k], "%s: got %d, not %d", t_flavour_name[w->flavour],
                    (int) got[k], (int) value[k]);
    }
}

/* Only the rank before it draws from a rank, once. */
static void draw(const struct t_win *w)
{
    int to = (w->rank + 1) % w->size;
    int64_t one = 1, got = -1;
    unsigned long long direct = operations("direct", w->win);
    unsigned long long by_message = operations("message", w->win);
    MPI_Aint place = w->at[to] + 8 * WORDS / w->unit;
    MPI_Fetch_and_op(&one, &got, MPI_INT64_T, to, place, MPI_SUM, w->win);
    MPI_Win_flush(to, w->win);
    const char *name = t_flavour_name[w->flavour];
    t_check(got == 0, "%s: drew %d, and nobody else did there", name, (int) got);
    t_check(operations("direct", w->win) == direct, "%s: an atomic by the network", name);
    t_check(operations("message", w->win) == by_message + 1, "%s: no atomic by message", name);
}

static void count(enum t_flavour flavour, MPI_Comm machine)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 8 * (WORDS + 1), 8);
    const char *name = t_flavour_name[flavour];
    struct counts before, after;
    unsigned long long mine, expected;
    int ranks, rank;
    MPI_Comm_size(machine, &ranks);
    MPI_Comm_rank(machine, &rank);
    expected = 2ULL * OPS * (unsigned) ranks;
    MPI_Win_lock_all(0, w.win);
    operate(&w, 1);             /* the first contact fetches keys by message */
    mine = operations("direct", w.win);
    MPI_Barrier(MPI_COMM_WORLD);
    before = counts();
    MPI_Barrier(MPI_COMM_WORLD);
    operate(&w, OPS);
    mine = operations("direct", w.win) - mine;
    MPI_Barrier(MPI_COMM_WORLD);
    after = counts();
    MPI_Barrier(MPI_COMM_WORLD);
    t_check(mine == 2 * OPS, "%s: %llu operations by the network, not %d", name, mine, 2 * OPS);
    after.packets -= before.packets;
    after.sends -= before.sends;
    t_check(after.packets >= expected, "%s: the device sent %llu packets for %llu operations",
            name, after.packets, expected);
    t_check(after.sends * PER_MESSAGE <= expected, "%s: the device sent %llu messages for %llu "
            "operations", name, after.sends, expected);
    if (rank == 0)
        printf("counted %s, the machine of rank %d: %llu puts and gets, %llu packets, %llu "
               "messages\n", name, t_rank, expected, after.packets, after.sends);
    draw(&w);
    MPI_Win_unlock_all(w.win);
    t_win_free(&w);
}

/* Those who share a device, whatever nodes they make believe to be on. */
static MPI_Comm machine_of(void)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "", all[64][MPI_MAX_PROCESSOR_NAME];
    int length, color = 0;
    MPI_Comm machine;
    if (t_size > 64)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Get_processor_name(name, &length);
    MPI_Allgather(name, sizeof name, MPI_CHAR, all, sizeof name, MPI_CHAR, MPI_COMM_WORLD);
    while (strcmp(all[color], name))
        color++;
    MPI_Comm_split(MPI_COMM_WORLD, color, t_rank, &machine);
    return machine;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm machine;
    t_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    machine = machine_of();
    count(T_ALLOCATE, machine);
    count(T_CREATE, machine);
    count(T_DYNAMIC, machine);
    MPI_Comm_free(&machine);
    MPI_T_finalize();
    return t_end();
}
