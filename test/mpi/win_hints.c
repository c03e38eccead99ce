/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Windows whose flushes do not wait for the target (windlass_rma_done), and whose long operations
 * go in short pieces (windlass_pipeline): all of it is there after the unlock; buffers are the
 * program's again after a flush; gets have what they got; pieces do not cut elements.
 */
#include "testing.h"

enum { N = 3000, ROUNDS = 5 };

static int vector[2 * N], put[N], got[N];

/* From rank r to its part of everyone's memory: every other int, or side by side. */
static void round_of(MPI_Win win, int round, MPI_Datatype type, int stride)
{
    for (int target = 0; target < t_size; target++) {
        MPI_Aint at = (MPI_Aint) t_rank * 2 * N;
        MPI_Win_lock(round % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
        for (int i = 0; i < N; i++)
            put[i] = round * 100000 + t_rank * N + i;
        MPI_Put(put, N, MPI_INT, target, at, type == MPI_INT ? N : 1, type, win);
        MPI_Win_flush(target, win);
        for (int i = 0; i < N; i++)
            put[i] = 1;         /* ours again */
        MPI_Accumulate(put, N, MPI_INT, target, at, type == MPI_INT ? N : 1, type, MPI_SUM, win);
        MPI_Win_flush_all(win);
        for (int i = 0; i < N; i++)
            put[i] = -1;
        MPI_Win_unlock(target, win);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Get(vector, stride * N, MPI_INT, target, at, stride * N, MPI_INT, win);
        MPI_Get(got, N, MPI_INT, target, at, type == MPI_INT ? N : 1, type, win);
        MPI_Win_flush(target, win);
        for (int i = 0; i < N; i++) {
            int wanted = round * 100000 + t_rank * N + i + 1;
            t_check(got[i] == wanted, "round %d, %d of rank %d: %d", round, i, target, got[i]);
            t_check(vector[stride * i] == wanted, "%d of rank %d: %d", i, target, vector[i]);
        }
        MPI_Win_unlock(target, win);
    }
}

int main(int argc, char **argv)
{
    MPI_Datatype every_other;
    MPI_Info info;
    MPI_Win win;
    int *memory;
    t_begin(&argc, &argv);
    MPI_Type_vector(N, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Info_create(&info);
    MPI_Info_set(info, "windlass_rma_done", "false");
    for (int pieces = 0; pieces < 3; pieces++) {
        static const char *const bytes[] = {"0", "1", "500"};
        MPI_Info_set(info, "windlass_pipeline", bytes[pieces]);
        MPI_Aint size = (MPI_Aint) t_size * 2 * N * (MPI_Aint) sizeof(int);
        if (pieces == 1) {
            MPI_Alloc_mem(size, MPI_INFO_NULL, &memory);
            MPI_Win_create(memory, size, sizeof(int), info, MPI_COMM_WORLD, &win);
        } else {
            MPI_Win_allocate(size, sizeof(int), info, MPI_COMM_WORLD, &memory, &win);
        }
        for (int round = 0; round < ROUNDS; round++) {
            round_of(win, round, MPI_INT, 1);
            round_of(win, round, every_other, 2);
        }
        MPI_Win_free(&win);
        if (pieces == 1)
            MPI_Free_mem(memory);
    }
    MPI_Info_free(&info);
    MPI_Type_free(&every_other);
    return t_end();
}
