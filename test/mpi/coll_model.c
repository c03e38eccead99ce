/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the choice of collectives' algorithms goes by, as coll_model.sh has set it:
 *
 * coll_model children N: of a tree in which every process is a node of its own, the root has N
 *     children: one broadcast of a word costs it as many messages.
 * coll_model costs LATENCY GAP BYTE REDUCE ACROSS: these, in picoseconds, on all ranks.
 * coll_model measured ACROSS: others than by default, plausible, the same on all ranks; ACROSS 1:
 *     the node has several domains.
 * coll_model engine 0|1 CALL BYTES...: each is MPICH's or the engine's. Every process is a node.
 *
 * And collectives are right by it.
 */
#include "testing.h"

enum { COSTS = 5 };
static const char *const names[COSTS] = {"latency", "gap", "byte", "reduce", "across"};

static void costs_read(unsigned long long *costs)
{
    for (int i = 0; i < COSTS; i++) {
        char name[64];
        snprintf(name, sizeof name, "windlass_coll_%s", names[i]);
        costs[i] = t_pvar(name, MPI_T_PVAR_CLASS_LEVEL);
    }
}

static void children(unsigned long long want)
{
    enum { CALLS = 10 };
    unsigned long long least = ~0ull;
    for (int k = 0; k < CALLS; k++) { /* the first of them find out more, some give back credit */
        int64_t word = t_rank == 0 ? k : -1;
        unsigned long long before = t_counter("windlass_messages");
        MPI_Bcast(&word, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        unsigned long long sent = t_counter("windlass_messages") - before;
        least = sent < least ? sent : least;
        t_check(word == k, "a broadcast brings %lld", (long long) word);
    }
    t_check(t_rank > 0 || least == want, "the root has %llu children, not %llu", least, want);
}

static void costs_are(char **want)
{
    unsigned long long costs[COSTS];
    costs_read(costs);
    for (int i = 0; i < COSTS; i++)
        t_check(costs[i] == strtoull(want[i], NULL, 10), "%s is %llu, not %s", names[i], costs[i],
                want[i]);
}

/* A byte costs something, but not as much as a message; one message after another no more than one
 * there and one back. */
static void costs_are_measured(int across)
{
    enum { LATENCY, GAP, BYTE, REDUCE, ACROSS };
    static const unsigned long long by_default[COSTS] = {1500000, 400000, 100, 250, 0};
    unsigned long long costs[COSTS], of_0[COSTS];
    int differ = 0;
    costs_read(costs);
    memcpy(of_0, costs, sizeof of_0);
    MPI_Bcast(of_0, COSTS, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int i = 0; i < COSTS; i++) {
        t_check(costs[i] == of_0[i], "%s is %llu, rank 0's %llu", names[i], costs[i], of_0[i]);
        differ += costs[i] != by_default[i];
    }
    t_check(differ > 0, "the costs are the default's");
    t_check(costs[GAP] > 0 && costs[GAP] < 2 * costs[LATENCY], "gap %llu, latency %llu",
            costs[GAP], costs[LATENCY]);
    t_check(costs[BYTE] > 0 && costs[BYTE] < costs[LATENCY], "byte %llu, latency %llu",
            costs[BYTE], costs[LATENCY]);
    t_check(costs[REDUCE] > 0 && costs[REDUCE] < costs[LATENCY], "reduce %llu, latency %llu",
            costs[REDUCE], costs[LATENCY]);
    t_check((costs[ACROSS] > 0) == across, "across is %llu", costs[ACROSS]);
}

/* Sums, and what each has for each, of little and much. */
static void are_right(void)
{
    enum { MOST = 1 << 14 };
    int64_t *out = t_alloc(sizeof *out * MOST * (size_t) t_size);
    int64_t *in = t_alloc(sizeof *in * MOST * (size_t) t_size);
    for (int count = 1; count <= MOST; count *= 8) {
        int64_t wrong = 0, ranks = (int64_t) t_size * (t_size - 1) / 2;
        for (int i = 0; i < count * t_size; i++)
            out[i] = 1000003 * t_rank + i;
        MPI_Allreduce(out, in, count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            wrong += in[i] != 1000003 * ranks + (int64_t) t_size * i;
        MPI_Alltoall(out, count, MPI_INT64_T, in, count, MPI_INT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < count * t_size; i++)
            wrong += in[i] != 1000003 * (i / count) + (int64_t) count * t_rank + i % count;
        MPI_Bcast(out, count, MPI_INT64_T, t_size - 1, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            wrong += out[i] != 1000003 * (t_size - 1) + i;
        t_check(wrong == 0, "%lld of %d elements are wrong", (long long) wrong, count);
    }
    free(out);
    free(in);
}

/* The engine's count of collectives rises by its own alone. */
static void are_of_the_engine(int want, int calls, char **call)
{
    enum { MOST = 1 << 20 };
    char *out = t_alloc(MOST), *in = t_alloc(MOST);
    memset(out, 0, MOST);
    for (int i = 0; i + 1 < calls; i += 2) {
        int bytes = atoi(call[i + 1]);
        unsigned long long before = t_counter("windlass_coll_started");
        if (strcmp(call[i], "allreduce") == 0)
            MPI_Allreduce(out, in, bytes / 8, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        else if (strcmp(call[i], "reduce") == 0)
            MPI_Reduce(out, in, bytes / 8, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (strcmp(call[i], "bcast") == 0)
            MPI_Bcast(out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
        else if (strcmp(call[i], "barrier") == 0)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            t_fault("%s is no call", call[i]);
        unsigned long long took = t_counter("windlass_coll_started") - before;
        t_check((took > 0) == want, "%s of %d bytes: the engine began %llu", call[i], bytes, took);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    t_begin(&argc, &argv);
    if (strcmp(what, "children") == 0 && argc == 3)
        children(strtoull(argv[2], NULL, 10));
    else if (strcmp(what, "costs") == 0 && argc == 2 + COSTS)
        costs_are(argv + 2);
    else if (strcmp(what, "measured") == 0 && argc == 3)
        costs_are_measured(atoi(argv[2]));
    else if (strcmp(what, "engine") == 0 && argc > 3)
        are_of_the_engine(atoi(argv[2]), argc - 3, argv + 3);
    else
        t_fault("%s is not to be tested", what);
    are_right();
    MPI_T_finalize();
    return t_end();
}
