/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * pscw_puts [flavour]: each rank puts once, or now and then twice, to the next one between start
 * and complete, window after window, and writes over what it has put as soon as complete returns.
 * In between, or behind, it looks, computes, or exchanges a message; what arrives is looked at byte
 * by byte when the wait, or the test, is over. The window is then used otherwise, or freed at once.
 */
#include "testing.h"

enum { WINDOWS = 40, EPOCHS = 40, OFFSETS = 50 };
enum { SHORT = 64, MIDDLE = 9000, LONGEST = 150000, SECOND = 160000, ROOM = 240000 };
enum { ONE, TWO, LOOKS, COMPUTES, TALKS, TESTS, MOODS };

static struct t_win w;
static char put[LONGEST];

static int draw(int below)
{
    return (int) t_all_below((uint64_t) below);
}

static char byte_of(int rank, int epoch)
{
    return (char) (1 + (epoch * 7 + rank) % 100);
}

static void compute(void)
{
    for (double until = MPI_Wtime() + 200e-6; MPI_Wtime() < until;)
        ;
}

static void put_at(int at, int bytes)
{
    MPI_Put(put, bytes, MPI_BYTE, (w.rank + 1) % w.size, w.at[(w.rank + 1) % w.size] + at, bytes,
            MPI_BYTE, w.win);
}

static void are(int at, int bytes, char wanted, const char *what)
{
    const char *memory = w.base;
    for (int i = 0; i < bytes; i++)
        if (memory[at + i] != wanted) {
            t_fault("%s: byte %d of %d is %d, not %d", what, i, bytes, memory[at + i], wanted);
            return;
        }
}

/* Half of them little, an eighth of any length. */
static int draw_bytes(void)
{
    int most = draw(2) ? SHORT : draw(4) ? MIDDLE : LONGEST;
    return 1 + draw(most);
}

/* All ranks draw the same numbers, but for who is late. */
static void epoch(MPI_Group to, MPI_Group from, int e)
{
    int at = e % OFFSETS, bytes = draw_bytes(), mood = draw(MOODS);
    int late = draw(8) == 0 && draw(w.size) == w.rank, done = 0;
    int left = (w.rank + w.size - 1) % w.size, got;
    MPI_Win_post(from, 0, w.win);
    MPI_Win_start(to, 0, w.win);
    memset(put, byte_of(w.rank, e), (size_t) bytes);
    put_at(at, bytes);
    if (mood == TWO)
        put_at(SECOND, bytes / 2);
    if (mood == LOOKS)
        MPI_Iprobe(MPI_ANY_SOURCE, 99, w.comm, &done, MPI_STATUS_IGNORE);
    if (mood == COMPUTES && late)
        compute();
    MPI_Win_complete(w.win);
    memset(put, 0, (size_t) bytes);
    if (mood == TALKS)
        MPI_Sendrecv(&e, 1, MPI_INT, (w.rank + 1) % w.size, 5, &got, 1, MPI_INT, left, 5, w.comm,
                     MPI_STATUS_IGNORE);
    if (late)
        compute();
    for (done = 0; mood == TESTS && !done;)
        MPI_Win_test(w.win, &done);
    if (mood != TESTS)
        MPI_Win_wait(w.win);
    are(at, bytes, byte_of(left, e), "the put");
    if (mood == TWO)
        are(SECOND, bytes / 2, byte_of(left, e), "the second put");
}

static void otherwise(int how)
{
    if (how == 0) {
        MPI_Win_fence(0, w.win);
        put_at(0, 8);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    } else if (how == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, (w.rank + 1) % w.size, 0, w.win);
        put_at(ROOM - 8, 8);
        MPI_Win_unlock((w.rank + 1) % w.size, w.win);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    for (int i = 0; i < WINDOWS; i++) {
        MPI_Group all, to, from;
        w = t_win_make(MPI_COMM_WORLD, t_flavour_of(argc, argv), ROOM, 1);
        int right = (w.rank + 1) % w.size, left = (w.rank + w.size - 1) % w.size;
        MPI_Comm_group(w.comm, &all);
        MPI_Group_incl(all, 1, &right, &to);
        MPI_Group_incl(all, 1, &left, &from);
        for (int e = 0, n = 1 + draw(EPOCHS); e < n; e++)
            epoch(to, from, e);
        otherwise(i % 3);
        MPI_Group_free(&from);
        MPI_Group_free(&to);
        MPI_Group_free(&all);
        t_win_free(&w);
    }
    return t_end();
}
