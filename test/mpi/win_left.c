/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * win_left all|self|EPOCH: windows that MPI_Finalize finds, as windows_left.sh has it.
 *
 *   all    one of each flavour, that were used
 *   self   one on MPI_COMM_SELF
 *   EPOCH  one within an epoch: fence, start, post, lock or lock_all
 */
#include "testing.h"

static void used(MPI_Win win, MPI_Aint at)
{
    int to = (t_rank + 1) % t_size;
    MPI_Win_fence(0, win);
    MPI_Put(&t_rank, 1, MPI_INT, to, at, 1, MPI_INT, win);
    MPI_Win_fence(0, win); /* and another epoch may begin */
}

static void all(void)
{
    static int memory[2];
    MPI_Aint own, *at = malloc((size_t) t_size * sizeof *at);
    int *base;
    MPI_Win win;
    MPI_Comm dup, node;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    used(win, 1);
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, dup, &base, &win);
    MPI_Comm_free(&dup);
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(&t_rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &base, &win);
    *base = 1;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, &memory[0], sizeof(int));
    MPI_Get_address(&memory[0], &own);
    MPI_Allgather(&own, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    used(win, at[(t_rank + 1) % t_size]);
    int from = (t_rank + t_size - 1) % t_size;
    t_check(memory[0] == from && memory[1] == from, "%d and %d were put", memory[0], memory[1]);
    free(at);
}

static void within(const char *epoch)
{
    static int memory;
    MPI_Win win;
    MPI_Group everybody;
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    MPI_Win_create(&memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (strcmp(epoch, "fence") == 0) {
        MPI_Win_fence(0, win);
        MPI_Put(&t_rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    } else if (strcmp(epoch, "start") == 0) {
        MPI_Win_post(everybody, 0, win);
        MPI_Win_start(everybody, 0, win);
    } else if (strcmp(epoch, "post") == 0) {
        MPI_Win_post(everybody, 0, win);
    } else if (strcmp(epoch, "lock") == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, t_size - 1, 0, win);
    } else {
        MPI_Win_lock_all(0, win);
    }
    MPI_Group_free(&everybody);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    const char *way = argc > 1 ? argv[1] : "all";
    if (strcmp(way, "all") == 0) {
        all();
    } else if (strcmp(way, "self") == 0) {
        int *base;
        MPI_Win win;
        MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_SELF, &base, &win);
        *base = t_rank;
    } else {
        within(way);
    }
    return t_end();
}
