/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Many attached regions: every rank has 500, and each round detaches some and attaches others, by a
 * draw that all know. In between half of the ranks put to all, and then the other half, whether it
 * is attached or not: what is attached has the value afterwards, what is not is MPI_ERR_RMA_RANGE.
 * Every other round those that do not put are not in MPI for a while.
 */
#include "testing.h"
#include <unistd.h>

enum { REGIONS = 500, CELLS = 4, APART = 6, ROUNDS = 24, PUTS = 60, AWAY_US = 5000 };

struct owner {                  /* what all know of a rank's regions */
    MPI_Aint at;
    char cells[REGIONS];        /* attached ones of each; 0: it is not attached */
};

static MPI_Win win;
static struct owner *owner;

/* Does the region change in this round; how much of it is attached, if it becomes so. */
static uint64_t draw(int rank, int round, int region)
{
    return t_random((uint64_t) rank, (uint64_t) (round * REGIONS + region));
}

/* What a rank's regions become in a round. memory: its own, to be attached, detached; or NULL. */
static void change(int rank, int round, int64_t *memory)
{
    struct owner *o = &owner[rank];
    for (int i = 0; i < REGIONS; i++) {
        uint64_t drawn = draw(rank, round, i);
        if (round > 0 && drawn % (round % 3 == 2 ? 200 : 8) != 0)
            continue;
        int cells = o->cells[i] ? 0 : 1 + (int) (drawn / 1000 % CELLS);
        if (memory && o->cells[i])
            t_expect(MPI_SUCCESS, MPI_Win_detach(win, memory + i * APART));
        else if (memory)
            t_expect(MPI_SUCCESS, MPI_Win_attach(win, memory + i * APART, cells * 8));
        o->cells[i] = (char) cells;
    }
}

/* The cell that a rank's k-th put to another goes to; each rank has every t_size-th region. */
static int place(int from, int to, int round, int k, int *region_out)
{
    int stream = 1000 + from * t_size + to;
    uint64_t drawn = t_random((uint64_t) stream, (uint64_t) (round * PUTS + k));
    int n = (REGIONS - from + t_size - 1) / t_size;
    *region_out = from + (int) (drawn % (uint64_t) n) * t_size;
    return (int) (drawn / 1000 % CELLS);
}

static void put_to(int to, int round)
{
    for (int k = 0; k < PUTS; k++) {
        int region, cell = place(t_rank, to, round, k, &region);
        int64_t value = round * 100 + t_rank;
        MPI_Aint at = owner[to].at + 8 * (region * APART + cell);
        int code = MPI_Put(&value, 1, MPI_INT64_T, to, at, 1, MPI_INT64_T, win);
        int later = MPI_Win_flush(to, win);     /* whichever can know it */
        t_expect(cell < owner[to].cells[region] ? MPI_SUCCESS : MPI_ERR_RMA_RANGE,
                 code ? code : later);
    }
}

/* Every cell is as it was, or has this round's value. */
static void see(int64_t *memory, int64_t *shadow, int round)
{
    for (int from = 0; from < t_size; from++)
        for (int k = 0; k < PUTS; k++) {
            int region, cell = place(from, t_rank, round, k, &region);
            if (cell < owner[t_rank].cells[region])
                shadow[region * APART + cell] = round * 100 + from;
        }
    for (int i = 0; i < REGIONS * APART; i++)
        t_check(memory[i] == shadow[i], "round %d: cell %d of region %d is %d, not %d", round,
                i % APART, i / APART, (int) memory[i], (int) shadow[i]);
}

int main(int argc, char **argv)
{
    const size_t bytes = REGIONS * APART * 8;
    t_begin(&argc, &argv);
    int64_t *memory = t_alloc(bytes), *shadow = t_alloc(bytes);
    MPI_Aint own, *at = t_alloc(sizeof *at * (size_t) t_size);
    owner = t_alloc(sizeof *owner * (size_t) t_size);
    memset(owner, 0, sizeof *owner * (size_t) t_size);
    memset(memory, 0, bytes);
    memset(shadow, 0, bytes);
    MPI_Get_address(memory, &own);
    MPI_Allgather(&own, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        for (int rank = 0; rank < t_size; rank++) {
            owner[rank].at = at[rank];
            change(rank, round, rank == t_rank ? memory : NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int turn = 0; turn < 2; turn++) {
            for (int i = 0; i < t_size && t_rank % 2 == turn; i++)
                put_to((t_rank + i) % t_size, round);
            if (t_rank % 2 != turn && round % 2 == 1)
                usleep(AWAY_US);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Win_sync(win);
        see(memory, shadow, round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(owner);
    free(at);
    free(memory);
    free(shadow);
    return t_end();
}
