/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The two sides of one rank's call, what it gives and what it gets, among the ranks of a node.
 *
 * Where its own block is as long on one side as it is not on the other, that rank gets
 * MPI_ERR_TRUNCATE, nothing is read or written out of its memory, which ends at a page that may not
 * be touched, nobody waits for ever, and the communicator is as good as before. Others may be told,
 * too; who is not has what it was to get, but where it gets blocks of all.
 *
 * What does not matter on a rank may be anything, MPI_IN_PLACE too.
 *
 * coll_sides nodes: among the ranks of several nodes, on the engine.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "testing.h"

enum { LONG = 9000, GUARD = 16, SPOILT = -77, ROUNDS = 40 };
enum { SCATTER, GATHER, ALLGATHER, ALLTOALL, KINDS };
enum { BLOCKING, BEGUN, PERSISTENT, FORMS };

static const char *const names[2][KINDS] = {{"scatter", "gather", "allgather", "alltoall"},
                                            {"scatterv", "gatherv", "allgatherv", "alltoallv"}};
static const int counts[] = {1, 14, 300, LONG};
enum { COUNTS = sizeof counts / sizeof counts[0] };
static MPI_Comm comm;
static int rank, size;

/* --- memory that ends where it ends --- */

struct memory {
    char *at;
    size_t bytes;
    int64_t *end;
};

static void memory_make(struct memory *m, size_t words)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    m->bytes = (words * sizeof *m->end + page - 1) / page * page;
    m->at = mmap(NULL, m->bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m->at == MAP_FAILED || mprotect(m->at + m->bytes, page, PROT_NONE) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    m->end = (int64_t *) (void *) (m->at + m->bytes);
}

static struct memory given, got;

/* --- a call --- */

struct sides {
    int kind, varies, root;
    int sends, receives;        /* words of each block */
    int own_sends, own_receives; /* ... of the own one, where they vary */
    int64_t *from, *to;
    int *send_counts, *send_at, *receive_counts, *receive_at;
};

static int gives_all(const struct sides *s)
{
    return s->kind == ALLTOALL || (s->kind == SCATTER && rank == s->root);
}

static int gets_all(const struct sides *s)
{
    return s->kind >= ALLGATHER || (s->kind == GATHER && rank == s->root);
}

static int list(int all, int each, int own, int *n, int *at)
{
    int end = 0;
    for (int i = 0; i < size; i++) {
        n[i] = i == rank ? own : each;
        at[i] = end;
        end += n[i];
    }
    return all ? end : own;
}

/* Of two forms, and blocks that vary or not, the one. */
static int plain(struct sides *s, int form, MPI_Request *r)
{
    MPI_Datatype w = MPI_INT64_T;
    int n = s->sends, m = s->receives, root = s->root;
    const int64_t *from = s->from;
    int64_t *to = s->to;
    switch (s->kind * FORMS + form) {
    case SCATTER * FORMS + BLOCKING:
        return MPI_Scatter(from, n, w, to, m, w, root, comm);
    case SCATTER * FORMS + BEGUN:
        return MPI_Iscatter(from, n, w, to, m, w, root, comm, r);
    case SCATTER * FORMS + PERSISTENT:
        return MPI_Scatter_init(from, n, w, to, m, w, root, comm, MPI_INFO_NULL, r);
    case GATHER * FORMS + BLOCKING:
        return MPI_Gather(from, n, w, to, m, w, root, comm);
    case GATHER * FORMS + BEGUN:
        return MPI_Igather(from, n, w, to, m, w, root, comm, r);
    case GATHER * FORMS + PERSISTENT:
        return MPI_Gather_init(from, n, w, to, m, w, root, comm, MPI_INFO_NULL, r);
    case ALLGATHER * FORMS + BLOCKING:
        return MPI_Allgather(from, n, w, to, m, w, comm);
    case ALLGATHER * FORMS + BEGUN:
        return MPI_Iallgather(from, n, w, to, m, w, comm, r);
    case ALLGATHER * FORMS + PERSISTENT:
        return MPI_Allgather_init(from, n, w, to, m, w, comm, MPI_INFO_NULL, r);
    case ALLTOALL * FORMS + BLOCKING:
        return MPI_Alltoall(from, n, w, to, m, w, comm);
    case ALLTOALL * FORMS + BEGUN:
        return MPI_Ialltoall(from, n, w, to, m, w, comm, r);
    default:
        return MPI_Alltoall_init(from, n, w, to, m, w, comm, MPI_INFO_NULL, r);
    }
}

static int varying(struct sides *s, int form, MPI_Request *r)
{
    MPI_Datatype w = MPI_INT64_T;
    int n = s->own_sends, m = s->own_receives, root = s->root;
    const int *ns = s->send_counts, *fs = s->send_at, *ms = s->receive_counts, *ts = s->receive_at;
    const int64_t *from = s->from;
    int64_t *to = s->to;
    switch (s->kind * FORMS + form) {
    case SCATTER * FORMS + BLOCKING:
        return MPI_Scatterv(from, ns, fs, w, to, m, w, root, comm);
    case SCATTER * FORMS + BEGUN:
        return MPI_Iscatterv(from, ns, fs, w, to, m, w, root, comm, r);
    case SCATTER * FORMS + PERSISTENT:
        return MPI_Scatterv_init(from, ns, fs, w, to, m, w, root, comm, MPI_INFO_NULL, r);
    case GATHER * FORMS + BLOCKING:
        return MPI_Gatherv(from, n, w, to, ms, ts, w, root, comm);
    case GATHER * FORMS + BEGUN:
        return MPI_Igatherv(from, n, w, to, ms, ts, w, root, comm, r);
    case GATHER * FORMS + PERSISTENT:
        return MPI_Gatherv_init(from, n, w, to, ms, ts, w, root, comm, MPI_INFO_NULL, r);
    case ALLGATHER * FORMS + BLOCKING:
        return MPI_Allgatherv(from, n, w, to, ms, ts, w, comm);
    case ALLGATHER * FORMS + BEGUN:
        return MPI_Iallgatherv(from, n, w, to, ms, ts, w, comm, r);
    case ALLGATHER * FORMS + PERSISTENT:
        return MPI_Allgatherv_init(from, n, w, to, ms, ts, w, comm, MPI_INFO_NULL, r);
    case ALLTOALL * FORMS + BLOCKING:
        return MPI_Alltoallv(from, ns, fs, w, to, ms, ts, w, comm);
    case ALLTOALL * FORMS + BEGUN:
        return MPI_Ialltoallv(from, ns, fs, w, to, ms, ts, w, comm, r);
    default:
        return MPI_Alltoallv_init(from, ns, fs, w, to, ms, ts, w, comm, MPI_INFO_NULL, r);
    }
}

static int call(struct sides *s, int form)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int error = s->varies ? varying(s, form, &request) : plain(s, form, &request);
    if (form == PERSISTENT && error == MPI_SUCCESS)
        error = MPI_Start(&request);
    if (form != BLOCKING && error == MPI_SUCCESS)
        error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (form == PERSISTENT)
        MPI_Request_free(&request);
    return error;
}

static void still_good(const char *after)
{
    int64_t sum = 0, mine = rank + 1;
    int error = MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, comm);
    t_check(error == MPI_SUCCESS && sum == (int64_t) size * (size + 1) / 2,
            "after %s the communicator gives %ld", after, (long) sum);
}

/* --- sides that disagree --- */

/* The blocks of all but who is wrong have `n` words, on both sides. */
static void disagree(int kind, int varies, int form, int root, int is_wrong, int n, int wrong)
{
    int lists[4][64], more = is_wrong && form % 2 == 0;
    struct sides s = {kind, varies, root, n, n, n, n, NULL, NULL, lists[0], lists[1], lists[2],
                      lists[3]};
    if (is_wrong && kind == SCATTER) /* others see the other side */
        s.receives = s.own_receives = wrong;
    else if (is_wrong && kind == GATHER)
        s.sends = s.own_sends = wrong;
    else if (is_wrong && more)
        s.sends = s.own_sends = wrong;
    else if (is_wrong)
        s.receives = s.own_receives = wrong;
    int own_sends = list(gives_all(&s), varies ? n : s.sends, gives_all(&s) && kind == SCATTER ? n :
                         s.sends, lists[0], lists[1]);
    int own_gets = list(gets_all(&s), varies ? n : s.receives, gets_all(&s) && kind == GATHER ? n :
                        s.receives, lists[2], lists[3]);
    if (kind == GATHER && rank != root)
        own_gets = 0;
    if (kind == SCATTER && rank != root)
        own_sends = 0;
    s.from = given.end - own_sends;
    s.to = got.end - own_gets;
    for (int i = 0; i < own_sends; i++)
        s.from[i] = rank * 100 + i % 7;
    for (int64_t *at = s.to - GUARD; at < got.end; at++)
        *at = SPOILT;
    const char *name = names[varies][kind];
    int class = t_class(call(&s, form));
    t_check(class == MPI_ERR_TRUNCATE || (class == MPI_SUCCESS && !is_wrong),
            "%s, form %d, %d words, root %d, wrong %d (%d): class %d", name, form, n, root,
            is_wrong, wrong, class);
    for (int i = 1; i <= GUARD; i++)
        t_check(s.to[-i] == SPOILT, "%s, form %d: written before it", name, form);
    for (int i = 0; kind == SCATTER && class == MPI_SUCCESS && i < n; i++)
        t_check(s.to[i] == root * 100 + (rank * n + i) % 7, "%s, form %d, %d words: [%d] is %ld",
                name, form, n, i, (long) s.to[i]);
    still_good(name);
}

/* One alone is wrong, the root where there is one; or all that may be. */
static void disagreements(void)
{
    for (int which = 0; which < 2 * KINDS * FORMS; which++)
        for (int i = 0; i < COUNTS * COUNTS; i++) {
            int kind = which / 2 % KINDS, n = counts[i / COUNTS], wrong = counts[i % COUNTS];
            int one = i % size, all = kind >= ALLGATHER && i % 3 == 0;
            if (n != wrong)
                disagree(kind, which % 2, which / 2 / KINDS, one, rank == one || all, n, wrong);
        }
}

/* --- what does not matter --- */

static void in_place(int form, int n)
{
    int lists[2][64], total = list(1, n, n, lists[0], lists[1]);
    struct sides s = {SCATTER, 1, 0, n, n, n, n, NULL, NULL, lists[0], lists[1], NULL, NULL};
    for (int i = 0; i < total; i++)
        given.end[i - total] = i;
    for (int round = 0; round < ROUNDS; round++) {
        s.root = round % size;
        s.varies = round / size % 2;
        s.kind = SCATTER;
        s.from = rank == s.root ? given.end - total : MPI_IN_PLACE;
        s.to = got.end - n;
        s.send_counts = rank == s.root ? lists[0] : NULL;
        s.send_at = rank == s.root ? lists[1] : NULL;
        memset(s.to, 0, (size_t) n * sizeof *s.to);
        int error = call(&s, form);
        for (int i = 0; i < n; i++)
            t_check(error == MPI_SUCCESS && s.to[i] == rank * n + i,
                    "%s in place elsewhere, form %d, round %d, %d words: [%d] is %ld",
                    names[s.varies][SCATTER], form, round, n, i, (long) s.to[i]);
        s.kind = GATHER;
        s.from = given.end - total + rank * n;
        s.to = rank == s.root ? got.end - total : MPI_IN_PLACE;
        s.receive_counts = s.send_counts;
        s.receive_at = s.send_at;
        error = call(&s, form);
        for (int i = 0; rank == s.root && i < total; i++)
            t_check(error == MPI_SUCCESS && s.to[i] == i,
                    "%s in place elsewhere, form %d, round %d, %d words: [%d] is %ld",
                    names[s.varies][GATHER], form, round, n, i, (long) s.to[i]);
    }
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "nodes") == 0)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    else
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, t_rank, MPI_INFO_NULL, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memory_make(&given, (size_t) size * LONG + GUARD);
    memory_make(&got, (size_t) size * LONG + GUARD);
    for (int i = 0; size > 1 && i < COUNTS * FORMS; i++)
        in_place(i % FORMS, counts[i / FORMS]);
    if (size > 1)
        disagreements();
    munmap(given.at, given.bytes);
    munmap(got.at, got.bytes);
    MPI_Comm_free(&comm);
    return t_end();
}
