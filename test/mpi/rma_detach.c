/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Memory that goes while others operate on it: rank 0 attaches some, looks at MPI or is away,
 * detaches it and gives its pages back to the system, and so on at the same address, while all
 * others put, get and accumulate there, 8 bytes to 1 MiB, without a word about it. That is their
 * mistake: what they do is done, or MPI_ERR_RMA_RANGE at the call or at the flush behind it, and
 * never anything else, nor a fault at rank 0. It goes on until rank 0 has done its rounds, and each
 * of the others has met both often enough. With the argument "share" the window asks for its pages
 * to be shared.
 */
#define _GNU_SOURCE
#include "testing.h"
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 2 << 20, LONGEST = 1 << 20, ENOUGH = 100, MOST = 1000000 };
enum { ROUNDS = 600, ROUNDS_OF_MANY = 80 };     /* many may have to share the processors */
enum { ROW = 40, APART = 8192, BLOCK = 24, BLOCKS = 100 };

enum kind { PUT, GET, ACCUMULATE, GET_ACCUMULATE, PUTS, GET_BLOCKS, KINDS };

static MPI_Win win;
static MPI_Aint place;          /* of rank 0's memory */
static uint64_t drawn;

static int below(int n)
{
    return (int) (t_random((uint64_t) t_rank, drawn++) % (uint64_t) n);
}

/* New pages in place of the old ones; of no protection: none, but nothing else gets the place. */
static void *pages(int protection)
{
    int fixed = place ? MAP_FIXED : 0;
    void *at = mmap((void *) place, BYTES, protection,
                    MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    if (at == MAP_FAILED) {
        printf("there are no pages\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

static void look(int times)
{
    int found;
    for (int i = 0; i < times; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

/* Rank 0, until its rounds are over and all others have ended. */
static void come_and_go(void)
{
    MPI_Request request[2];
    const int rounds = t_size > 2 ? ROUNDS_OF_MANY : ROUNDS;
    for (int round = 0, over = 0; !over; round++) {
        char *memory = pages(PROT_READ | PROT_WRITE);
        if (below(4) > 0)
            memset(memory, 1, BYTES);
        t_expect(MPI_SUCCESS, MPI_Win_attach(win, memory, BYTES));
        look(below(1000));
        if (below(3) == 0)
            usleep((unsigned) below(1000));
        t_expect(MPI_SUCCESS, MPI_Win_detach(win, memory));
        pages(PROT_NONE);
        look(below(200));
        for (int i = 0; i < 2 && round == rounds; i++)
            MPI_Ibarrier(MPI_COMM_WORLD, &request[i]);
        if (round >= rounds)
            MPI_Testall(2, request, &over, MPI_STATUSES_IGNORE);
    }
}

static int operate(enum kind kind, int bytes, char *out, char *in, MPI_Datatype blocks)
{
    MPI_Aint at = place + below((BYTES - bytes) / 8 + 1) * 8;
    int code = MPI_SUCCESS, n = bytes / 8, car = bytes < APART / 2 ? bytes : APART / 2;
    switch (kind) {
    case PUT:
        return MPI_Put(out, bytes, MPI_BYTE, 0, at, bytes, MPI_BYTE, win);
    case GET:
        return MPI_Get(in, bytes, MPI_BYTE, 0, at, bytes, MPI_BYTE, win);
    case ACCUMULATE:
        return MPI_Accumulate(out, n, MPI_INT64_T, 0, at, n, MPI_INT64_T, MPI_SUM, win);
    case GET_ACCUMULATE:
        return MPI_Get_accumulate(out, n, MPI_INT64_T, in, n, MPI_INT64_T, 0, at, n, MPI_INT64_T,
                                  MPI_SUM, win);
    case PUTS:
        for (int i = 0; i < ROW && code == MPI_SUCCESS; i++)
            code = MPI_Put(out, car, MPI_BYTE, 0, place + i * APART, car, MPI_BYTE, win);
        return code;
    default:
        return MPI_Get(in, BLOCKS * BLOCK, MPI_BYTE, 0, place, 1, blocks, win);
    }
}

/* The others. */
static void operate_all(void)
{
    static const int lengths[] = {8, 64, 512, 4096, 20000, 65536, 300000, LONGEST};
    char *out = t_alloc(LONGEST), *in = t_alloc(LONGEST);
    int done = 0, refused = 0, over = 0;
    MPI_Datatype blocks;
    MPI_Request rounds, ended;
    memset(out, 0, LONGEST);
    MPI_Type_vector(BLOCKS, BLOCK, BYTES / BLOCKS, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    MPI_Ibarrier(MPI_COMM_WORLD, &rounds);
    for (int i = 0; i < MOST && (!over || done < ENOUGH || refused < ENOUGH); i++) {
        enum kind kind = (enum kind) below(KINDS);
        int bytes = lengths[below(8)], code = operate(kind, bytes, out, in, blocks);
        int later = MPI_Win_flush(0, win);
        code = code ? code : later;
        done += code == MPI_SUCCESS;
        refused += t_class(code) == MPI_ERR_RMA_RANGE;
        if (code != MPI_SUCCESS && t_class(code) != MPI_ERR_RMA_RANGE)
            t_fault("kind %d, %d bytes: class %d: %s", kind, bytes, t_class(code), t_text(code));
        if (!over)
            MPI_Test(&rounds, &over, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&rounds, MPI_STATUS_IGNORE);
    MPI_Ibarrier(MPI_COMM_WORLD, &ended);
    MPI_Wait(&ended, MPI_STATUS_IGNORE);
    t_check(done >= ENOUGH && refused >= ENOUGH, "%d done, %d refused", done, refused);
    MPI_Type_free(&blocks);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    t_begin(&argc, &argv);
    MPI_Info_create(&info);
    if (argc > 1 && strcmp(argv[1], "share") == 0)
        MPI_Info_set(info, "windlass_share_pages", "true");
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (t_rank == 0)
        MPI_Get_address(pages(PROT_NONE), &place);
    MPI_Bcast(&place, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (t_rank == 0)
        come_and_go();
    else
        operate_all();
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    if (t_rank == 0)
        munmap((void *) place, BYTES);
    return t_end();
}
