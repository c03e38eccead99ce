/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the device does not have yet must be a clear MPI error of the right class, on every process,
 * not a hang; what stands beside it (names, parents, disconnecting) works.
 */
#include "testing.h"
#include <sys/socket.h>
#include <unistd.h>

#define expect_text(class, words, call)                                                       \
    do {                                                                                      \
        int x_code = (call);                                                                  \
        t_check(t_class(x_code) == (class) && strstr(t_text(x_code), words),                  \
                "%s: class %d instead of %s, or no \"%s\" in: %s", #call, t_class(x_code),    \
                #class, words, t_text(x_code));                                               \
    } while (0)

static void processes(void)
{
    static const char words[] = "not supported by the windlass device";
    MPI_Comm other = MPI_COMM_NULL;
    char *commands[2] = {"./none", "./other"};
    int counts[2] = {1, 2}, codes[3], pair[2];
    MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
    char port[MPI_MAX_PORT_NAME] = "none";
    for (int k = 0; k < 2; k++) { /* the first failure leaves nothing behind */
        for (int root = 0; root < t_size; root++)
            expect_text(MPI_ERR_SPAWN, words,
                        MPI_Comm_spawn("./none", MPI_ARGV_NULL, 2, MPI_INFO_NULL, root,
                                       MPI_COMM_WORLD, &other, codes));
        expect_text(MPI_ERR_SPAWN, words,
                    MPI_Comm_spawn("./none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                   &other, MPI_ERRCODES_IGNORE));
        expect_text(MPI_ERR_SPAWN, words,
                    MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, counts, infos, 0,
                                            MPI_COMM_WORLD, &other, codes));
        expect_text(MPI_ERR_PORT, words, MPI_Open_port(MPI_INFO_NULL, port));
        expect_text(MPI_ERR_PORT, words, MPI_Close_port("none"));
        expect_text(MPI_ERR_PORT, words,
                    MPI_Comm_accept("none", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
        expect_text(MPI_ERR_PORT, words,
                    MPI_Comm_connect("none", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other));
    }
    /* between two processes of one program: over a socket to oneself is enough to be refused */
    t_check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "no socketpair");
    if (t_size == 1) {
        pid_t child = fork(); /* the other side, which only listens */
        if (child == 0) {
            char byte;
            close(pair[0]);
            while (read(pair[1], &byte, 1) > 0)
                ;
            _exit(0);
        }
        close(pair[1]);
        expect_text(MPI_ERR_PORT, words, MPI_Comm_join(pair[0], &other));
        close(pair[0]);
    } else {
        close(pair[0]);
        close(pair[1]);
    }
    MPI_Comm_get_parent(&other);
    t_check(other == MPI_COMM_NULL, "a process that nobody spawned has a parent");
}

static void partitions(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int value = 0, next = (t_rank + 1) % t_size;
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "Partitioned",
                MPI_Psend_init(&value, 1, 1, MPI_INT, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &request));
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "Partitioned",
                MPI_Precv_init(&value, 1, 1, MPI_INT, next, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &request));
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "Partitioned",
                MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                               &request));
    t_check(request == MPI_REQUEST_NULL, "a request of what was refused");
}

static void failures(void)
{
    MPI_Group group;
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "failure of a process",
                MPIX_Comm_revoke(MPI_COMM_WORLD));
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "failure of a process",
                MPIX_Comm_failure_ack(MPI_COMM_WORLD));
    expect_text(MPI_ERR_UNSUPPORTED_OPERATION, "failure of a process",
                MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &group));
}

/* All communication has to be complete before (MPI-4, 11.10.4). */
static void disconnects(void)
{
    enum { WORDS = 1 << 18 };
    static int out[WORDS], in[WORDS];
    int next = (t_rank + 1) % t_size, previous = (t_rank + t_size - 1) % t_size;
    for (int k = 0; k < 20; k++) {
        MPI_Comm comm, half, across = MPI_COMM_NULL;
        MPI_Request request[2];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        out[WORDS - 1] = k * 100 + t_rank;
        MPI_Irecv(in, WORDS, MPI_INT, previous, 0, comm, &request[0]);
        MPI_Isend(out, WORDS, MPI_INT, next, 0, comm, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        t_expect(MPI_SUCCESS, MPI_Comm_disconnect(&comm));
        t_check(comm == MPI_COMM_NULL, "a disconnected communicator is still there");
        t_check(in[WORDS - 1] == k * 100 + previous, "round %d: the message is wrong", k);

        MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, 0, &half);
        if (t_size > 1)
            MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, t_rank % 2 ? 0 : 1, 3, &across);
        if (across != MPI_COMM_NULL) {
            MPI_Barrier(across);
            t_expect(MPI_SUCCESS, MPI_Comm_disconnect(&across));
        }
        t_expect(MPI_SUCCESS, MPI_Comm_disconnect(&half));
    }
    MPI_Comm comm = MPI_COMM_NULL;
    t_expect(MPI_ERR_COMM, MPI_Comm_disconnect(&comm));
    comm = MPI_COMM_WORLD;
    t_expect(MPI_ERR_COMM, MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    processes();
    partitions();
    failures();
    disconnects();
    return t_end();
}
