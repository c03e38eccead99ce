/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Messages do not overtake: whatever their lengths and modes, and whether they are received early,
 * late, or matched by probes; wildcards take the oldest. Requests given back while active, and many
 * messages nobody waits for yet.
 */
#include "testing.h"

enum { ROUNDS = 400, LONGEST = 40000, UNEXPECTED = 3000 };

static int *out[ROUNDS], in[LONGEST], next, previous;
static MPI_Request sent[ROUNDS];

/* Lengths on both sides of every border between ways of sending, in an order anybody can repeat. */
static int length_of(int sender, int k)
{
    static const int near[] = {0, 1, 2, 25, 60, 250, 1000, 2000, 4000, 10000, 16000, LONGEST};
    return near[t_random((uint64_t) sender, (uint64_t) k) % 12];
}

static void send_all(void)
{
    for (int k = 0; k < ROUNDS; k++) {
        int n = length_of(t_rank, k);
        out[k] = t_alloc((size_t) n * sizeof(int));
        for (int i = 0; i < n; i++)
            out[k][i] = k * 7 + i;
        if (k % 5 == 3)
            MPI_Issend(out[k], n, MPI_INT, next, k % 3, MPI_COMM_WORLD, &sent[k]);
        else
            MPI_Isend(out[k], n, MPI_INT, next, k % 3, MPI_COMM_WORLD, &sent[k]);
    }
}

static void send_end(void)
{
    MPI_Waitall(ROUNDS, sent, MPI_STATUSES_IGNORE);
    for (int k = 0; k < ROUNDS; k++)
        free(out[k]);
}

static void expect(int k, const MPI_Status *status, const int *data, const char *way)
{
    int n, want = length_of(previous, k);
    MPI_Get_count(status, MPI_INT, &n);
    t_check(n == want && status->MPI_TAG == k % 3 && status->MPI_SOURCE == previous,
            "%s: message %d has %d words instead of %d, tag %d, source %d", way, k, n, want,
            status->MPI_TAG, status->MPI_SOURCE);
    for (int i = 0; data && i < n && i < want; i++)
        if (data[i] != k * 7 + i) {
            t_fault("%s: word %d of message %d is %d", way, i, k, data[i]);
            return;
        }
}

static void by_wildcards(void)
{
    MPI_Status status;
    send_all();
    for (int k = 0; k < ROUNDS; k++) {
        MPI_Recv(in, LONGEST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(k, &status, in, "any source, any tag");
    }
    send_end();
}

/* One tag after the other: within a tag the order is the senders'. */
static void by_tags(void)
{
    MPI_Status status;
    send_all();
    for (int tag = 2; tag >= 0; tag--)
        for (int k = tag; k < ROUNDS; k += 3) {
            MPI_Recv(in, LONGEST, MPI_INT, previous, tag, MPI_COMM_WORLD, &status);
            expect(k, &status, in, "by tag");
        }
    send_end();
}

/* Matched by probes of every kind, and received in the other order, a few at a time. */
static void by_probes(void)
{
    enum { FEW = 8 };
    static int data[FEW][LONGEST];
    MPI_Message message[FEW];
    MPI_Request request[FEW];
    MPI_Status status[FEW];
    send_all();
    for (int k = 0; k < ROUNDS; k += FEW) {
        for (int i = 0; i < FEW; i++) {
            int flag = 1, any = i & 1;
            int source = any ? MPI_ANY_SOURCE : previous;
            int tag = i & 2 ? MPI_ANY_TAG : (k + i) % 3;
            if (i & 4) {
                do
                    MPI_Improbe(source, tag, MPI_COMM_WORLD, &flag, &message[i], &status[i]);
                while (!flag);
            } else {
                MPI_Mprobe(source, tag, MPI_COMM_WORLD, &message[i], &status[i]);
            }
            expect(k + i, &status[i], NULL, "probe");
        }
        for (int i = FEW - 1; i >= 0; i--)
            if (i % 2)
                MPI_Imrecv(data[i], LONGEST, MPI_INT, &message[i], &request[i]);
            else
                MPI_Mrecv(data[i], LONGEST, MPI_INT, &message[i], &status[i]);
        for (int i = 1; i < FEW; i += 2)
            MPI_Wait(&request[i], &status[i]);
        for (int i = 0; i < FEW; i++)
            expect(k + i, &status[i], data[i], "matched");
    }
    send_end();
}

/* All receives first, with and without wildcards. */
static void early(void)
{
    enum { FEW = 16 };
    static int data[FEW][LONGEST];
    MPI_Request request[FEW];
    MPI_Status status[FEW];
    for (int k = 0; k < FEW; k++)
        MPI_Irecv(data[k], LONGEST, MPI_INT, k & 1 ? MPI_ANY_SOURCE : previous,
                  k & 2 ? MPI_ANY_TAG : k % 3, MPI_COMM_WORLD, &request[k]);
    MPI_Barrier(MPI_COMM_WORLD);
    send_all();
    MPI_Waitall(FEW, request, status);
    for (int k = 0; k < FEW; k++)
        expect(k, &status[k], data[k], "early");
    for (int k = FEW; k < ROUNDS; k++)
        MPI_Recv(in, LONGEST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    send_end();
}

/* A request given back while active: its message still comes, in its place. */
static void given_back(void)
{
    static int kept[ROUNDS];
    MPI_Request request;
    for (int k = 0; k < ROUNDS; k++) {
        kept[k] = 5 * k;
        MPI_Isend(&kept[k], 1, MPI_INT, next, 9, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    memset(in, 0xff, sizeof in);
    for (int k = 0; k < ROUNDS - 1; k++) {
        MPI_Irecv(&in[k], 1, MPI_INT, previous, 9, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    MPI_Recv(&in[ROUNDS - 1], 1, MPI_INT, previous, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < ROUNDS; k++)
        t_check(in[k] == 5 * k, "request given back: message %d is %d", k, in[k]);
    MPI_Barrier(MPI_COMM_WORLD); /* `kept` is read no more */
}

/* Nobody waits for them; then for the last first. */
static void unexpected(void)
{
    enum { WORDS = 600 };
    MPI_Request *request = t_alloc(UNEXPECTED * sizeof *request);
    int *words = t_alloc((size_t) UNEXPECTED * WORDS * sizeof *words);
    for (int k = 0; k < UNEXPECTED; k++) {
        int n = k % 10 ? 1 : WORDS;
        for (int i = 0; i < n; i++)
            words[k * WORDS + i] = k + i;
        MPI_Isend(&words[k * WORDS], n, MPI_INT, next, k, MPI_COMM_WORLD, &request[k]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = UNEXPECTED - 1; k >= 0; k--) {
        MPI_Status status;
        int n, want = k % 10 ? 1 : WORDS;
        MPI_Recv(in, WORDS, MPI_INT, previous, k, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &n);
        t_check(n == want && in[0] == k && in[n - 1] == k + n - 1,
                "unexpected message %d has %d words and begins with %d", k, n, in[0]);
    }
    MPI_Waitall(UNEXPECTED, request, MPI_STATUSES_IGNORE);
    free(request);
    free(words);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    next = (t_rank + 1) % t_size;
    previous = (t_rank + t_size - 1) % t_size;
    by_wildcards();
    MPI_Barrier(MPI_COMM_WORLD); /* a wildcard is not for the next part's messages */
    by_tags();
    MPI_Barrier(MPI_COMM_WORLD);
    by_probes();
    MPI_Barrier(MPI_COMM_WORLD);
    early();
    MPI_Barrier(MPI_COMM_WORLD);
    given_back();
    unexpected();
    return t_end();
}
