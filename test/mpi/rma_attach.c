/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory that comes and goes within one passive epoch: every rank attaches a buffer, all put and
 * get there, the buffer is detached and its pages are given back to the system, and the next one is
 * attached at the same address, of another length. Nobody is told but by ordinary messages. With
 * the argument "direct" the network must have done some of it by itself.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <sys/mman.h>

enum { CELLS = 4096, BYTES = CELLS * 8, ROUNDS = 12, PUTS = 6 };

static int cells_in(int round)
{
    return round % 3 == 2 ? CELLS / 2 : CELLS;
}

/* New pages, of zeros, at the place of the old ones. */
static int64_t *pages(int64_t *old)
{
    int fixed = old ? MAP_FIXED : 0;
    void *at = mmap(old, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (at == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return at;
}

static void operate(MPI_Win win, int to, MPI_Aint at, int round)
{
    int64_t value[PUTS], got[PUTS], one = 1, far = 0;
    int cells = cells_in(round), slice = cells / t_size / PUTS;
    for (int i = 0; i < PUTS; i++) {
        MPI_Aint place = at + 8 * ((t_rank * PUTS + i) * slice + 1);
        value[i] = round * 1000 + t_rank * 10 + i;
        MPI_Put(&value[i], 1, MPI_INT64_T, to, place, 1, MPI_INT64_T, win);
        MPI_Win_flush(to, win);
        MPI_Get(&got[i], 1, MPI_INT64_T, to, place, 1, MPI_INT64_T, win);
    }
    MPI_Accumulate(&one, 1, MPI_INT64_T, to, at, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_flush(to, win);
    for (int i = 0; i < PUTS; i++)
        t_check(got[i] == value[i], "round %d, rank %d: %d, not %d", round, to, (int) got[i],
                (int) value[i]);
    if (cells < CELLS && to != t_rank) {        /* what is not attached any more */
        int code = MPI_Get(&far, 1, MPI_INT64_T, to, at + 8 * cells, 1, MPI_INT64_T, win);
        int later = MPI_Win_flush(to, win);     /* whichever can know it */
        t_expect(MPI_ERR_RMA_RANGE, code ? code : later);
    }
}

static void look(const int64_t *memory, int round)
{
    int slice = cells_in(round) / t_size / PUTS;
    t_check(memory[0] == t_size, "round %d: %d accumulates", round, (int) memory[0]);
    for (int r = 0; r < t_size; r++)
        for (int i = 0; i < PUTS; i++) {
            int64_t found = memory[(r * PUTS + i) * slice + 1];
            t_check(found == round * 1000 + r * 10 + i, "round %d: %d from rank %d", round,
                    (int) found, r);
        }
}

static unsigned long long direct(MPI_Win win)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    unsigned long long value = t_win_counter("windlass_win_ops_direct", win);
    MPI_T_finalize();
    return value;
}

int main(int argc, char **argv)
{
    int64_t *memory;
    MPI_Aint own, *at;
    MPI_Win win;
    t_begin(&argc, &argv);
    at = t_alloc(sizeof *at * (size_t) t_size);
    memory = pages(NULL);
    MPI_Get_address(memory, &own);
    MPI_Allgather(&own, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Win_attach(win, memory, 8 * cells_in(round));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < t_size; i++)
            operate(win, (t_rank + i) % t_size, at[(t_rank + i) % t_size], round);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        look(memory, round);
        t_expect(MPI_SUCCESS, MPI_Win_detach(win, memory));
        t_expect(MPI_SUCCESS, MPI_Win_detach(win, memory)); /* of zero bytes, for all it knows */
        memory = pages(memory);
    }
    if (argc > 1 && !strcmp(argv[1], "direct"))
        t_check(direct(win) > ROUNDS * PUTS, "the network did %d operations", (int) direct(win));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    munmap(memory, BYTES);
    free(at);
    return t_end();
}
