/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * coll_looks [few]: who has but short collectives to do, which are over at once, looks at the
 * network all the same now and then: what others have sent to it, or wait for from it, goes on.
 * Rank 0 gives to all, and waits for nobody meanwhile. few: all are on one node, and not each of
 * its calls looks.
 */
#include <gasnet_coll.h>
#include "testing.h"

enum { CALLS = 100, WAYS = 4 };

static double word;

static void give(int way, MPI_Request *kept)
{
    const int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    double got;
    MPI_Request request;
    switch (way) {
        case 0:
            MPI_Bcast(&word, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
            break;
        case 1:
            MPI_Ibcast(&word, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Start(kept);
            MPI_Wait(kept, MPI_STATUS_IGNORE);
            break;
        default:
            gasnet_coll_broadcast(GASNET_TEAM_ALL, &got, 0, &word, sizeof got, flags);
            word = got;
    }
}

static void looks_while_it_gives(int way, int few)
{
    MPI_Request kept;
    MPI_Bcast_init(&word, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &kept);
    for (int i = 0; i < 20; i++) /* the first ones make a team */
        give(way, &kept);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before = t_counter("windlass_polls");
    for (int i = 0; i < CALLS; i++) {
        word = t_rank ? -1 : i;
        give(way, &kept);
        t_check(word == i, "way %d: %g for %d", way, word, i);
    }
    unsigned long long polls = t_counter("windlass_polls") - before;
    t_check(t_rank > 0 || polls > 0, "way %d: %d calls, and no look", way, CALLS);
    t_check(t_rank > 0 || !few || polls < CALLS / 4, "way %d: %llu looks", way, polls);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request_free(&kept);
}

/* A message that its sender has to take part in arrives while both have but collectives to do. */
static void a_message_arrives(void)
{
    enum { BYTES = 1 << 20, MOST = 10000 };
    char *data = t_alloc(BYTES);
    MPI_Request request = MPI_REQUEST_NULL;
    int has = t_rank != 1, all = 0, calls = 0;
    memset(data, t_rank == 0, BYTES);
    if (t_rank == 0)
        MPI_Isend(data, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    if (t_rank == 1)
        MPI_Irecv(data, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    for (; !all && calls < MOST; calls++) {
        if (!has)
            MPI_Test(&request, &has, MPI_STATUS_IGNORE);
        MPI_Allreduce(&has, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    t_check(all, "it has not arrived after %d calls", calls);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    t_check(t_rank > 1 || data[BYTES - 1] == 1, "another message");
    free(data);
}

int main(int argc, char **argv)
{
    int level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    t_begin(&argc, &argv);
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    for (int way = 0; way < WAYS; way++)
        looks_while_it_gives(way, argc > 1 && strcmp(argv[1], "few") == 0);
    for (int i = 0; i < 10; i++)
        a_message_arrives();
    MPI_T_finalize();
    return t_end();
}
