/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Messages apart from the usual: to oneself, to MPI_PROC_NULL, cancelled, truncated, matched after
 * a probe, persistent, and with arguments that are wrong.
 */
#include "testing.h"
#include <malloc.h>

enum { SHORT = 16, LONG = 1 << 18 };

static int out[LONG], in[LONG], next, previous;

static void fill(int n, int start)
{
    for (int i = 0; i < n; i++)
        out[i] = start + i;
    memset(in, 0xff, sizeof in);
}

static void check(int n, int start, const char *what)
{
    for (int i = 0; i < n; i++)
        if (in[i] != start + i) {
            t_fault("%s: word %d is %d instead of %d", what, i, in[i], start + i);
            return;
        }
    t_check(n == LONG || in[n] == -1, "%s: more than %d words came", what, n);
}

static void to_self(int n)
{
    MPI_Request request[2];
    MPI_Status status;
    char *attached = t_alloc(sizeof out + MPI_BSEND_OVERHEAD);
    int flag = 0, bytes;
    fill(n, 3);
    MPI_Irecv(in, n, MPI_INT, t_rank, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, n, MPI_INT, t_rank, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    check(n, 3, "to oneself");

    fill(n, 4);
    MPI_Issend(out, n, MPI_INT, 0, 1, MPI_COMM_SELF, &request[0]);
    for (int i = 0; i < 100 && !flag; i++)
        MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
    t_check(!flag, "a synchronous send to oneself is complete before it is received");
    MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status);
    t_check(status.MPI_SOURCE == 0 && status.MPI_TAG == 1, "a probe finds another message");
    MPI_Recv(in, n, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    check(n, 4, "synchronous, to oneself");

    fill(n, 5);
    MPI_Buffer_attach(attached, (int) (sizeof out + MPI_BSEND_OVERHEAD));
    MPI_Bsend(out, n, MPI_INT, t_rank, 2, MPI_COMM_WORLD);
    memset(out, 0, sizeof out);
    MPI_Recv(in, n, MPI_INT, t_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(n, 5, "buffered, to oneself");
    MPI_Buffer_detach(&attached, &bytes);
    free(attached);
}

static void nobody_sends(void)
{
    typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);
    typedef int isend_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
    static send_fn *const sends[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
    static isend_fn *const isends[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
    static isend_fn *const inits[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init,
                                      MPI_Rsend_init};
    MPI_Request request;
    for (int k = 0; k < 4; k++) {
        t_expect(MPI_SUCCESS, sends[k](out, LONG, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
        t_expect(MPI_SUCCESS,
                 isends[k](out, LONG, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        t_expect(MPI_SUCCESS,
                 inits[k](out, LONG, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request));
        for (int i = 0; i < 3; i++) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    }
}

static void expect_nobody(const MPI_Status *status, const char *what)
{
    int n = -1;
    MPI_Get_count(status, MPI_INT, &n);
    t_check(status->MPI_SOURCE == MPI_PROC_NULL && status->MPI_TAG == MPI_ANY_TAG && n == 0,
            "%s: a message from nobody has source %d, tag %d, %d words", what, status->MPI_SOURCE,
            status->MPI_TAG, n);
}

static void to_nobody(void)
{
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    int flag = 0;
    nobody_sends();
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    expect_nobody(&status, "recv");
    MPI_Irecv(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    expect_nobody(&status, "irecv");
    MPI_Recv_init(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, &status);
        expect_nobody(&status, "persistent");
    }
    MPI_Request_free(&request);
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status);
    expect_nobody(&status, "probe");
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &status);
    t_check(flag, "iprobe of nobody finds nothing");
    expect_nobody(&status, "iprobe");
    for (int k = 0; k < 4; k++) {
        flag = 1;
        if (k < 2)
            MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status);
        else
            MPI_Improbe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, &message, &status);
        t_check(flag && message == MPI_MESSAGE_NO_PROC, "mprobe %d of nobody", k);
        expect_nobody(&status, "mprobe");
        if (k % 2) {
            MPI_Mrecv(in, 1, MPI_INT, &message, &status);
        } else {
            MPI_Imrecv(in, 1, MPI_INT, &message, &request);
            MPI_Wait(&request, &status);
        }
        expect_nobody(&status, "mrecv");
        t_check(message == MPI_MESSAGE_NULL, "mrecv from nobody leaves the message");
    }
    MPI_Sendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, &status);
    expect_nobody(&status, "sendrecv");
    MPI_Sendrecv_replace(in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                         &status);
    expect_nobody(&status, "sendrecv_replace");
    MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 0, in, 1, MPI_INT, MPI_PROC_NULL, 0,
                  MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* one side nobody, the other somebody */
    fill(1, 70 + t_rank);
    MPI_Sendrecv(out, 1, MPI_INT, t_rank ? t_rank - 1 : MPI_PROC_NULL, 4, in, 1, MPI_INT,
                 t_rank < t_size - 1 ? t_rank + 1 : MPI_PROC_NULL, 4, MPI_COMM_WORLD, &status);
    t_check(in[0] == (t_rank < t_size - 1 ? 71 + t_rank : -1), "the open chain brings %d", in[0]);
}

/* A send that is cancelled is received whole, or not at all; it may not be lost by half. */
static void cancelled_send(int n)
{
    MPI_Request request;
    MPI_Status status;
    int flag, there;
    fill(n, 11);
    MPI_Isend(out, n, MPI_INT, next, 79, MPI_COMM_WORLD, &request);
    t_expect(MPI_SUCCESS, MPI_Cancel(&request));
    MPI_Sendrecv(NULL, 0, MPI_INT, next, 80, NULL, 0, MPI_INT, previous, 80, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    do { /* it may be on its way still, and is behind nothing that was received */
        MPI_Iprobe(previous, 79, MPI_COMM_WORLD, &there, &status);
    } while (!there);
    MPI_Recv(in, n, MPI_INT, previous, 79, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(n, 11, "a send that could not be cancelled");
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    t_check(!flag, "a message that came was cancelled");
}

static void cancelled(int n)
{
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Irecv(in, n, MPI_INT, previous, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    t_check(flag, "a receive nobody sends to was not cancelled");
    MPI_Barrier(MPI_COMM_WORLD);

    /* the cancelled receive takes nothing away */
    fill(n, 8);
    MPI_Isend(out, n, MPI_INT, next, 77, MPI_COMM_WORLD, &request);
    MPI_Recv(in, n, MPI_INT, previous, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(n, 8, "after a cancelled receive");
    MPI_Wait(&request, MPI_STATUS_IGNORE);

    /* too late: the message is there */
    MPI_Irecv(in, 1, MPI_INT, previous, 78, MPI_COMM_WORLD, &request);
    MPI_Send(out, 1, MPI_INT, next, 78, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    t_check(flag || in[0] == out[0], "neither cancelled nor received");
    if (flag)
        MPI_Recv(in, 1, MPI_INT, previous, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message longer than its buffer: the class, nothing behind the buffer, and the next one is
 * whole. */
/* They leave nothing: what is in use stays what it is. */
static void cancelled_often(MPI_Datatype type)
{
    enum { TIMES = 20000, SLACK = 64 << 10 };
    size_t before = 0;
    for (int i = -TIMES; i < TIMES; i++) {
        MPI_Request request;
        if (i == 0)             /* the pools are as large as they are to be */
            before = mallinfo2().uordblks;
        MPI_Irecv(in, 1, type, previous, 8, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    size_t more = mallinfo2().uordblks - before;
    t_check((ptrdiff_t) more <= SLACK, "%d cancelled receives left %td bytes", TIMES,
            (ptrdiff_t) more);
}

static void truncated(int n, int room)
{
    MPI_Request request[2];
    MPI_Status status[2];
    MPI_Message message;
    fill(n, 9);
    MPI_Isend(out, n, MPI_INT, next, 5, MPI_COMM_WORLD, &request[0]);
    t_expect(MPI_ERR_TRUNCATE, MPI_Recv(in, room, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                        MPI_COMM_WORLD, &status[0]));
    t_check(status[0].MPI_SOURCE == previous && status[0].MPI_TAG == 5,
            "a truncated message has source %d, tag %d", status[0].MPI_SOURCE, status[0].MPI_TAG);
    t_check(in[room] == -1, "%d words into %d: written behind the buffer", n, room);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);

    /* the same with the receive first, and in Waitall */
    MPI_Irecv(in, room, MPI_INT, previous, 6, MPI_COMM_WORLD, &request[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(out, n, MPI_INT, next, 6, MPI_COMM_WORLD, &request[1]);
    t_expect(MPI_ERR_IN_STATUS, MPI_Waitall(2, request, status));
    t_check(t_class(status[0].MPI_ERROR) == MPI_ERR_TRUNCATE, "the status of a truncated message");
    t_check(status[0].MPI_SOURCE == previous && status[0].MPI_TAG == 6,
            "a truncated message, early, has source %d, tag %d", status[0].MPI_SOURCE,
            status[0].MPI_TAG);
    t_check(in[room] == -1, "%d words into %d, early: written behind the buffer", n, room);

    /* and matched by a probe */
    MPI_Isend(out, n, MPI_INT, next, 8, MPI_COMM_WORLD, &request[0]);
    MPI_Mprobe(previous, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status[0]);
    t_expect(MPI_ERR_TRUNCATE, MPI_Mrecv(in, room, MPI_INT, &message, &status[0]));
    t_check(in[room] == -1, "%d words into %d, matched: written behind the buffer", n, room);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    fill(n, 10);
    MPI_Sendrecv(out, n, MPI_INT, next, 7, in, n, MPI_INT, previous, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    check(n, 10, "after a truncated message");
}

/* Matched by probes, received in the other order; a message that was matched is nobody else's. */
static void matched(int n)
{
    MPI_Request request[3];
    MPI_Message message[2];
    MPI_Status status;
    int flag, words;
    fill(n, 20);
    MPI_Isend(out, n, MPI_INT, next, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out + 1, n - 1, MPI_INT, next, 1, MPI_COMM_WORLD, &request[1]);
    MPI_Mprobe(previous, 1, MPI_COMM_WORLD, &message[0], &status);
    MPI_Get_count(&status, MPI_INT, &words);
    t_check(words == n, "the first probe finds %d words", words);
    do
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message[1], &status);
    while (!flag);
    MPI_Get_count(&status, MPI_INT, &words);
    t_check(words == n - 1, "the second probe finds %d words", words);
    MPI_Iprobe(previous, 1, MPI_COMM_WORLD, &flag, &status);
    t_check(!flag, "a matched message is found again");
    MPI_Mrecv(in, n - 1, MPI_INT, &message[1], &status);
    check(n - 1, 21, "the second matched");
    MPI_Imrecv(in, n, MPI_INT, &message[0], &request[2]);
    MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
    check(n, 20, "the first matched");
}

static void persistent(int n)
{
    MPI_Request request[5];
    char *attached = t_alloc((size_t) n * 4 + MPI_BSEND_OVERHEAD);
    int bytes;
    MPI_Buffer_attach(attached, n * 4 + MPI_BSEND_OVERHEAD);
    MPI_Recv_init(in, n, MPI_INT, previous, 30, MPI_COMM_WORLD, &request[0]);
    MPI_Send_init(out, n, MPI_INT, next, 30, MPI_COMM_WORLD, &request[1]);
    MPI_Ssend_init(out, n, MPI_INT, next, 30, MPI_COMM_WORLD, &request[2]);
    MPI_Rsend_init(out, n, MPI_INT, next, 30, MPI_COMM_WORLD, &request[3]);
    MPI_Bsend_init(out, n, MPI_INT, next, 30, MPI_COMM_WORLD, &request[4]);
    for (int k = 0; k < 12; k++) {
        int mode = 1 + k % 4;
        fill(n, 100 * k);
        MPI_Start(&request[0]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&request[mode]);
        MPI_Wait(&request[mode], MPI_STATUS_IGNORE);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        check(n, 100 * k, "persistent");
    }
    MPI_Start(&request[0]); /* started, and cancelled */
    MPI_Cancel(&request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&attached, &bytes);
    free(attached);
    for (int k = 0; k < 5; k++)
        MPI_Request_free(&request[k]);
}

static void mistakes(void)
{
    MPI_Datatype raw;
    MPI_Request request;
    MPI_Type_contiguous(2, MPI_INT, &raw);
    t_expect(MPI_ERR_RANK, MPI_Send(out, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_RANK, MPI_Send(out, 1, MPI_INT, -9, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_RANK, MPI_Send(out, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_TAG, MPI_Send(out, 1, MPI_INT, next, MPI_ANY_TAG, MPI_COMM_WORLD));
    t_expect(MPI_ERR_BUFFER, MPI_Bsend(out, 1, MPI_INT, next, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_COUNT, MPI_Bsend_init_c(out, (MPI_Count) INT32_MAX + 1, MPI_INT, next, 0,
                                             MPI_COMM_WORLD, &request));
    t_expect(MPI_ERR_RANK, MPI_Probe(-9, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    t_expect(MPI_ERR_RANK, MPI_Irecv(in, 1, MPI_INT, t_size, 0, MPI_COMM_WORLD, &request));
    t_expect(MPI_ERR_TAG, MPI_Send(out, 1, MPI_INT, next, -5, MPI_COMM_WORLD));
    t_expect(MPI_ERR_COUNT, MPI_Send(out, -1, MPI_INT, next, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_TYPE, MPI_Send(out, 1, MPI_DATATYPE_NULL, next, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_TYPE, MPI_Send(out, 1, raw, next, 0, MPI_COMM_WORLD));
    t_expect(MPI_ERR_COMM, MPI_Send(out, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    int *tag_ub, flag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
    t_check(flag && *tag_ub >= 32767, "MPI_TAG_UB");
    MPI_Sendrecv(out, 1, MPI_INT, next, *tag_ub, in, 1, MPI_INT, previous, *tag_ub, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (*tag_ub < INT32_MAX)
        t_expect(MPI_ERR_TAG, MPI_Send(out, 1, MPI_INT, next, *tag_ub + 1, MPI_COMM_WORLD));
    MPI_Type_free(&raw);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    next = (t_rank + 1) % t_size;
    previous = (t_rank + t_size - 1) % t_size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int n = SHORT; n <= LONG; n *= 1 << 7) {
        to_self(n);
        cancelled(n);
        cancelled_send(n);
        truncated(n, n / 2);
        truncated(n, n - 1);
        truncated(n, 0);
        matched(n);
        persistent(n);
    }
    MPI_Datatype rows;
    MPI_Type_vector(2, 1, 2, MPI_INT, &rows);
    MPI_Type_commit(&rows);
    cancelled_often(MPI_INT);
    cancelled_often(rows);
    MPI_Type_free(&rows);
    to_nobody();
    mistakes();
    return t_end();
}
