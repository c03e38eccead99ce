/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * p2p_random [SEED [PHASES]]: a random program of messages. In each phase all draw the same list of
 * messages: from, to, length, communicator, mode; each rank begins its sends and receives in an
 * order of its own, some receives not before they have been probed, and from anybody. What is sent
 * can be computed by its receiver.
 */
#include "testing.h"

enum { PHASES = 25, MESSAGES = 60, COMMS = 2 };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, PERSISTENT, MODES };
enum way { BY_RANK, FROM_ANY, PROBED, WAYS };

static MPI_Comm comms[COMMS];

struct message {
    int from, to, n, gap; /* words, so far apart at this end */
    enum mode mode;
    enum way way;
    MPI_Comm comm;
    int64_t *at;
    MPI_Datatype type;
    MPI_Request request;
    int is_sent, due;
};

static int64_t word(int tag, int k)
{
    return (int64_t) t_any((uint64_t) tag << 32 | (uint64_t) k);
}

static int draw(struct message *m)
{
    int count = 1 + (int) t_all_below(MESSAGES);
    for (int i = 0; i < count; i++) {
        uint64_t dice = t_all_below(100);
        int most = dice < 50 ? 8 : dice < 80 ? 600 : dice < 96 ? 10000 : 200000;
        m[i] = (struct message){.from = (int) t_all_below((uint64_t) t_size),
                                .to = (int) t_all_below((uint64_t) t_size),
                                .n = (int) t_all_below((uint64_t) most + 1),
                                .mode = (enum mode) t_all_below(MODES),
                                .way = (enum way) t_all_below(WAYS),
                                .comm = comms[t_all_below(COMMS)],
                                .request = MPI_REQUEST_NULL};
    }
    return count;
}

/* The memory of one end: in one piece, or words with gaps. */
static void place(struct message *m)
{
    m->gap = t_below(3) == 0 && m->n > 0 ? 1 + (int) t_below(3) : 1;
    size_t room = (size_t) m->n * (size_t) m->gap;
    m->at = t_alloc(room * 8);
    memset(m->at, 0x77, room * 8);
    m->type = MPI_INT64_T;
    if (m->gap > 1) {
        MPI_Type_vector(m->n, 1, m->gap, MPI_INT64_T, &m->type);
        MPI_Type_commit(&m->type);
    }
}

static int count_of(const struct message *m)
{
    return m->gap > 1 ? 1 : m->n;
}

static void send(struct message *m, int tag)
{
    place(m);
    m->is_sent = 1;
    for (int k = 0; k < m->n; k++)
        m->at[(size_t) k * (size_t) m->gap] = word(tag, k);
    int n = count_of(m);
    switch (m->mode) {
    case SYNCHRONOUS:
        MPI_Issend(m->at, n, m->type, m->to, tag, m->comm, &m->request);
        break;
    case BUFFERED:
        MPI_Ibsend(m->at, n, m->type, m->to, tag, m->comm, &m->request);
        break;
    case PERSISTENT:
        MPI_Send_init(m->at, n, m->type, m->to, tag, m->comm, &m->request);
        MPI_Start(&m->request);
        break;
    default:
        MPI_Isend(m->at, n, m->type, m->to, tag, m->comm, &m->request);
    }
}

static void receive(struct message *m, int tag)
{
    int source = m->way == BY_RANK ? m->from : MPI_ANY_SOURCE;
    place(m);
    m->due = m->way == PROBED;
    if (m->due)
        return;
    if (m->mode == PERSISTENT) {
        MPI_Recv_init(m->at, count_of(m), m->type, source, tag, m->comm, &m->request);
        MPI_Start(&m->request);
    } else {
        MPI_Irecv(m->at, count_of(m), m->type, source, tag, m->comm, &m->request);
    }
}

/* Has it come? Then it is being received. */
static int probe(struct message *m, int tag)
{
    int flag, n;
    MPI_Message found;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag, m->comm, &flag, &found, &status);
    if (!flag)
        return 0;
    MPI_Get_count(&status, MPI_INT64_T, &n);
    t_check(n == m->n && status.MPI_SOURCE == m->from, "message %d: %d words from %d were probed",
            tag, n, status.MPI_SOURCE);
    MPI_Imrecv(m->at, count_of(m), m->type, &found, &m->request);
    m->due = 0;
    return 1;
}

static void finish(struct message *m, int tag)
{
    int n;
    MPI_Status status;
    MPI_Wait(&m->request, &status);
    if (m->request != MPI_REQUEST_NULL)
        MPI_Request_free(&m->request);
    MPI_Get_count(&status, MPI_INT64_T, &n);
    t_check(m->is_sent || (n == m->n && status.MPI_SOURCE == m->from && status.MPI_TAG == tag),
            "message %d: %d words from %d", tag, n, status.MPI_SOURCE);
    for (size_t k = 0; k < (size_t) m->n * (size_t) m->gap; k++) {
        int is_word = k % (size_t) m->gap == 0;
        int64_t want = is_word ? word(tag, (int) (k / (size_t) m->gap)) : 0x7777777777777777;
        if (m->at[k] == want)
            continue;
        t_fault("message %d of %d words from %d to %d: word %zu", tag, m->n, m->from, m->to, k);
        break;
    }
    if (m->type != MPI_INT64_T)
        MPI_Type_free(&m->type);
    free(m->at);
}

static void shuffle(int *order, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int) t_below((uint64_t) i + 1), at = order[i];
        order[i] = order[j];
        order[j] = at;
    }
}

/* This rank's ends of the messages, in an order of its own. */
static void run(uint64_t phase)
{
    static struct message all[MESSAGES], end[2 * MESSAGES];
    int count = draw(all), order[2 * MESSAGES], tag[2 * MESSAGES], n = 0, due = 0;
    for (int i = 0; i < 2 * count; i++) {
        const struct message *m = &all[i / 2];
        if ((i % 2 ? m->to : m->from) != t_rank)
            continue;
        end[n] = *m;
        end[n].is_sent = i % 2 == 0;
        tag[n] = (int) phase * MESSAGES + i / 2; /* another's next phase may have begun */
        order[n] = n;
        n++;
    }
    shuffle(order, n);
    for (int i = 0; i < n; i++) {
        struct message *m = &end[order[i]];
        if (m->is_sent)
            send(m, tag[order[i]]);
        else
            receive(m, tag[order[i]]);
        due += m->due;
    }
    for (int i = 0; due > 0; i = (i + 1) % n)
        if (end[i].due)
            due -= probe(&end[i], tag[i]);
    shuffle(order, n);
    for (int i = 0; i < n; i++)
        finish(&end[order[i]], tag[order[i]]);
}

int main(int argc, char **argv)
{
    enum { BUFFER = 1 << 27 };
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    int phases = argc > 2 ? atoi(argv[2]) : PHASES, size;
    void *buffer = t_alloc(BUFFER);
    MPI_Buffer_attach(buffer, BUFFER);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    for (int i = 0; i < phases; i++)
        run((uint64_t) i);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    return t_end();
}
