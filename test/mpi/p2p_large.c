/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * More than 2^31 bytes in one message: as a count of bytes and as a type.
 * Each process has one piece of memory of that size and no more.
 */
#include "testing.h"
#include <sys/mman.h>

#define BYTES (((MPI_Count) 1 << 31) + 4096 + 5)

enum { STEP = 4096, BLOCK = 1 << 20, BLOCKS = 2050 };

static unsigned char *memory;

/* A byte of every page, and the last. */
static void fill(MPI_Count bytes, int seed)
{
    for (MPI_Count at = 0; at < bytes; at += STEP)
        memory[at] = (unsigned char) (at / STEP * 7 + seed);
    memory[bytes - 1] = (unsigned char) (200 + seed);
}

static void check(MPI_Count bytes, int seed, const char *what)
{
    MPI_Count wrong = 0, first = -1;
    for (MPI_Count at = 0; at < bytes - 1; at += STEP)
        if (memory[at] != (unsigned char) (at / STEP * 7 + seed) && wrong++ == 0)
            first = at;
    t_check(wrong == 0, "%s: %lld wrong, the first at %lld", what, (long long) wrong,
            (long long) first);
    t_check(memory[bytes - 1] == (unsigned char) (200 + seed), "%s: the last byte is %d", what,
            memory[bytes - 1]);
}

static void counts_say(const MPI_Status *status, MPI_Count bytes)
{
    int n;
    MPI_Count c, x;
    MPI_Get_count(status, MPI_BYTE, &n);
    MPI_Get_count_c(status, MPI_BYTE, &c);
    MPI_Get_elements_x(status, MPI_BYTE, &x);
    t_check(n == MPI_UNDEFINED, "a count that no int holds is %d", n);
    t_check(c == bytes && x == bytes, "%lld and %lld bytes came", (long long) c, (long long) x);
}

static void bytes(void)
{
    MPI_Status status;
    if (t_rank == 0) {
        fill(BYTES, 1);
        MPI_Send_c(memory, BYTES, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Probe(0, 1, MPI_COMM_WORLD, &status);
        counts_say(&status, BYTES);
        MPI_Recv_c(memory, BYTES, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status);
        counts_say(&status, BYTES);
        check(BYTES, 1, "bytes");
    }
}

/* The same bytes as blocks, received early by a type that is not contiguous for MPI: two halves. */
static void blocks(void)
{
    MPI_Datatype block, halves;
    MPI_Request request;
    MPI_Status status;
    MPI_Aint half = (MPI_Aint) BLOCKS / 2 * BLOCK;
    int n;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    MPI_Type_create_hvector(2, BLOCKS / 2, half, block, &halves);
    MPI_Type_commit(&halves);
    if (t_rank == 1)
        MPI_Irecv(memory, 1, halves, 0, 2, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        fill((MPI_Count) BLOCKS * BLOCK, 2);
        MPI_Ssend(memory, BLOCKS, block, 1, 2, MPI_COMM_WORLD);
    } else {
        MPI_Wait(&request, &status);
        MPI_Get_count(&status, block, &n);
        t_check(n == BLOCKS, "%d blocks came", n);
        MPI_Get_count(&status, halves, &n);
        t_check(n == 1, "%d pairs of halves came", n);
        check((MPI_Count) BLOCKS * BLOCK, 2, "blocks");
    }
    MPI_Type_free(&halves);
    MPI_Type_free(&block);
}

/* Too long for a short buffer: an error, and nothing behind it. */
static void truncated(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (t_rank == 0) {
        MPI_Send_c(memory, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    } else {
        memset(memory, 0, 200);
        t_expect(MPI_ERR_TRUNCATE,
                 MPI_Recv(memory, 100, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        t_check(memory[100] == 0, "truncated: written behind the buffer");
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    size_t room = (size_t) BLOCKS * BLOCK > BYTES ? (size_t) BLOCKS * BLOCK : (size_t) BYTES;
    memory = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        printf("no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (t_rank < 2) {
        bytes();
        blocks();
        truncated();
    }
    munmap(memory, room);
    return t_end();
}
