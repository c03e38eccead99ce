/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Random messages, of p2p_random and thread_random. In each phase all draw the same list of
 * messages: from, to, length, communicator, mode; each rank begins its sends and receives in an
 * order of its own, some receives not before they have been probed, and from anybody. What is sent
 * can be computed by its receiver. The communicators are duplicates of the world; a buffer is
 * attached.
 */
#ifndef RANDOM_MESSAGES_H_INCLUDED
#define RANDOM_MESSAGES_H_INCLUDED

#include "testing.h"

enum { MESSAGES = 60, MESSAGE_COMMS = 2, MESSAGE_TAGS = 1 << 20 };
enum mode { STANDARD, SYNCHRONOUS, BUFFERED, PERSISTENT, MODES };
enum way { BY_RANK, FROM_ANY, PROBED, WAYS };

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

static inline int64_t message_word(int tag, int k)
{
    return (int64_t) t_any((uint64_t) tag << 32 | (uint64_t) k);
}

static inline int message_draw(struct message *m, const MPI_Comm *comms, int most_messages)
{
    int count = 1 + (int) t_all_below((uint64_t) most_messages);
    for (int i = 0; i < count; i++) {
        uint64_t dice = t_all_below(100);
        int most = dice < 50 ? 8 : dice < 80 ? 600 : dice < 96 ? 10000 : 200000;
        m[i] = (struct message){.from = (int) t_all_below((uint64_t) t_size),
                                .to = (int) t_all_below((uint64_t) t_size),
                                .n = (int) t_all_below((uint64_t) most + 1),
                                .mode = (enum mode) t_all_below(MODES),
                                .way = (enum way) t_all_below(WAYS),
                                .comm = comms[t_all_below(MESSAGE_COMMS)],
                                .request = MPI_REQUEST_NULL};
    }
    return count;
}

/* The memory of one end: in one piece, or words with gaps. */
static inline void message_place(struct message *m)
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

static inline int message_count(const struct message *m)
{
    return m->gap > 1 ? 1 : m->n;
}

static inline void message_send(struct message *m, int tag)
{
    message_place(m);
    m->is_sent = 1;
    for (int k = 0; k < m->n; k++)
        m->at[(size_t) k * (size_t) m->gap] = message_word(tag, k);
    int n = message_count(m);
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

static inline void message_receive(struct message *m, int tag)
{
    int source = m->way == BY_RANK ? m->from : MPI_ANY_SOURCE;
    message_place(m);
    m->due = m->way == PROBED;
    if (m->due)
        return;
    if (m->mode == PERSISTENT) {
        MPI_Recv_init(m->at, message_count(m), m->type, source, tag, m->comm, &m->request);
        MPI_Start(&m->request);
    } else {
        MPI_Irecv(m->at, message_count(m), m->type, source, tag, m->comm, &m->request);
    }
}

/* Has it come? Then it is being received. */
static inline int message_probe(struct message *m, int tag)
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
    MPI_Imrecv(m->at, message_count(m), m->type, &found, &m->request);
    m->due = 0;
    return 1;
}

static inline void message_finish(struct message *m, int tag)
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
        int64_t want = 0x7777777777777777;
        if (is_word)
            want = message_word(tag, (int) (k / (size_t) m->gap));
        if (m->at[k] == want)
            continue;
        t_fault("message %d of %d words from %d to %d: word %zu", tag, m->n, m->from, m->to, k);
        break;
    }
    if (m->type != MPI_INT64_T)
        MPI_Type_free(&m->type);
    free(m->at);
}

static inline void shuffle(int *order, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int) t_below((uint64_t) i + 1), at = order[i];
        order[i] = order[j];
        order[j] = at;
    }
}

/* This rank's ends of up to so many messages, in an order of its own. The threads of a process have
 * tags of their own, so that they may have communicators in common. */
static inline void messages_run(const MPI_Comm *comms, uint64_t phase, int most_messages)
{
    static _Thread_local struct message all[MESSAGES], end[2 * MESSAGES];
    int count = message_draw(all, comms, most_messages), n = 0, due = 0;
    int order[2 * MESSAGES], tag[2 * MESSAGES];
    for (int i = 0; i < 2 * count; i++) {
        const struct message *m = &all[i / 2];
        if ((i % 2 ? m->to : m->from) != t_rank)
            continue;
        end[n] = *m;
        end[n].is_sent = i % 2 == 0;
        /* another's next phase may have begun */
        tag[n] = (int) t_thread * MESSAGE_TAGS + (int) phase * MESSAGES + i / 2;
        order[n] = n;
        n++;
    }
    shuffle(order, n);
    for (int i = 0; i < n; i++) {
        struct message *m = &end[order[i]];
        if (m->is_sent)
            message_send(m, tag[order[i]]);
        else
            message_receive(m, tag[order[i]]);
        due += m->due;
    }
    for (int i = 0; due > 0; i = (i + 1) % n)
        if (end[i].due)
            due -= message_probe(&end[i], tag[i]);
    shuffle(order, n);
    for (int i = 0; i < n; i++)
        message_finish(&end[order[i]], tag[order[i]]);
}

#endif /* RANDOM_MESSAGES_H_INCLUDED */
