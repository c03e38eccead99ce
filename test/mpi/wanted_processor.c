/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Ranks that began with a processor for each and then have one for all, as where another program
 * computes: who waits sees that its processor is wanted and gives it away, rather than poll until
 * the kernel takes it. Polls are counted, so other work on the machine changes nothing.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <sched.h>

enum { EXCHANGES = 2000, POLLS_PER_EXCHANGE = 50 };

static void all_on_one_processor(void)
{
    cpu_set_t may, one;
    if (sched_getaffinity(0, sizeof may, &may)) {
        t_fault("the processors cannot be asked for");
        return;
    }
    CPU_ZERO(&one);
    for (int p = 0; p < CPU_SETSIZE && CPU_COUNT(&one) == 0; p++)
        if (CPU_ISSET(p, &may))
            CPU_SET(p, &one);
    t_check(sched_setaffinity(0, sizeof one, &one) == 0, "the processor cannot be chosen");
}

static void messages(int i)
{
    int data = i, to = (t_rank + 1) % t_size;
    if (t_rank == 0)
        MPI_Send(&data, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    MPI_Recv(&data, 1, MPI_INT, (t_rank + t_size - 1) % t_size, 0, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (t_rank > 0)
        MPI_Send(&data, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
    t_check(data == i, "%d instead of %d", data, i);
}

static void barriers(int i)
{
    (void) i;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void count(const char *name, void (*exchange)(int i))
{
    unsigned long long before = t_counter("windlass_polls");
    for (int i = 0; i < EXCHANGES; i++)
        exchange(i);
    unsigned long long each = (t_counter("windlass_polls") - before) / EXCHANGES;
    t_check(each <= POLLS_PER_EXCHANGE, "%s: %llu polls each, %d at most are wanted", name, each,
            POLLS_PER_EXCHANGE);
}

int main(int argc, char **argv)
{
    int provided;
    t_begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    all_on_one_processor();
    count("messages", messages);
    count("barriers", barriers);
    t_check(t_counter("windlass_polls") > 0, "nothing was polled");
    MPI_T_finalize();
    return t_end();
}
