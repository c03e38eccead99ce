/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * p2p_random [SEED [PHASES]]: a random program of messages (random_messages.h).
 */
#include "random_messages.h"

enum { PHASES = 25 };

int main(int argc, char **argv)
{
    enum { BUFFER = 1 << 27 };
    MPI_Comm comms[MESSAGE_COMMS];
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    int phases = argc > 2 ? atoi(argv[2]) : PHASES, size;
    void *buffer = t_alloc(BUFFER);
    MPI_Buffer_attach(buffer, BUFFER);
    for (int i = 0; i < MESSAGE_COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < phases; i++)
        messages_run(comms, (uint64_t) i, MESSAGES);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    for (int i = 0; i < MESSAGE_COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return t_end();
}
