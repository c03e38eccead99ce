/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * coll_random [SEED [ROUNDS]]: a random program of collectives (random_collectives.h).
 */
#include "random_collectives.h"

enum { ROUNDS = 150 };

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : ROUNDS;
    coll_types_make();
    coll_comms_make(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++)
        coll_round((uint64_t) round);
    colls_settle();
    coll_comms_free();
    coll_types_free();
    return t_end();
}
