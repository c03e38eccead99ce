/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * coll_model CHILDREN: of a tree in which every process is a node of its own, the root has so many
 * children: one broadcast of a word costs it as many messages (coll_model.sh says by a model how
 * many are best).
 */
#include "testing.h"

int main(int argc, char **argv)
{
    enum { CALLS = 10 };
    unsigned long long least = ~0ull, want = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    int level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    t_begin(&argc, &argv);
    for (int k = 0; k < CALLS; k++) { /* the first of them find out more, some give back credit */
        int64_t word = t_rank == 0 ? k : -1;
        unsigned long long before = t_counter("windlass_messages");
        MPI_Bcast(&word, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        unsigned long long sent = t_counter("windlass_messages") - before;
        least = sent < least ? sent : least;
        t_check(word == k, "a broadcast brings %lld", (long long) word);
    }
    t_check(t_rank > 0 || least == want, "the root has %llu children, not %llu", least, want);
    MPI_T_finalize();
    return t_end();
}
