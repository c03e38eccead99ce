/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Two ranks over UCX, each used by several threads that take turns by a lock, as MPI's are under
 * MPI_THREAD_MULTIPLE: any thread's progress may finish what another waits for, a flush or a
 * request. Ranks share nothing, not even that lock; whether they do is for the thread sanitizer to
 * judge (maint/check --setup tsan).
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "host/testhost.h"
#include "mpid/proc/proc.h"
#include "mpid/rma/win.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 2, THREADS = 3, ROUNDS = 100, CELL = 8 };

struct world;

struct rank {
    struct world *world;
    int rank, step;
    pthread_t id;
    pthread_mutex_t lock;       /* for everything below, and for calls of the core */
    struct test_host host;
    struct wdl_proc *proc;
    struct wdl_win *win;
    struct wdl_win_control control;
    uint64_t memory[(1 + RANKS * THREADS) * CELL];      /* a counter; what each thread puts */
};

struct world {
    struct rank rank[RANKS];
    pthread_barrier_t all;      /* one thread of each rank */
    int playing;                /* threads that still need their peers' progress */
};

struct thread {
    pthread_t id;
    struct rank *r;
    int index;
};

/* The call, again and again until it is done, and progress in between, under the lock each. */
#define INSIST(r, call)                                                                        \
    do {                                                                                       \
        int insist_status_;                                                                    \
        for (;;) {                                                                             \
            pthread_mutex_lock(&(r)->lock);                                                    \
            insist_status_ = (call);                                                           \
            if (insist_status_ == WDL_AGAIN)                                                   \
                wdl_proc_progress((r)->proc);                                                  \
            pthread_mutex_unlock(&(r)->lock);                                                  \
            if (insist_status_ != WDL_AGAIN)                                                   \
                break;                                                                         \
            sched_yield();                                                                     \
        }                                                                                      \
        must_cmp(insist_status_, ==, WDL_OK);                                                  \
    } while (0)

static struct wdl_buf bytes_at(void *addr, size_t bytes)
{
    return (struct wdl_buf){.addr = addr, .count = (int64_t) bytes, .type = TEST_U8,
                            .bytes = bytes, .contig = 1, .hi = (int64_t) bytes};
}

static struct wdl_rma_args operation(enum wdl_rma_kind kind, int to, int64_t disp, void *data,
                                     size_t bytes)
{
    struct wdl_rma_args args = {.kind = kind, .target = to, .disp = disp,
                                .origin = bytes_at(data, bytes), .result = bytes_at(NULL, 0),
                                .remote = bytes_at(NULL, bytes), .op = WDL_ROP_SUM};
    if (kind == WDL_RMA_ACC)
        args.element = test_element(TEST_U64);
    return args;
}

static int request_over(const struct test_request *request)
{
    return request->done ? request->status : WDL_AGAIN;
}

/* Add one; put a cell and get it back, by flush or by request. */
static void *thread_play(void *arg)
{
    struct thread *t = arg;
    struct rank *r = t->r;
    int to = 1 - r->rank;
    int64_t mine = (1 + r->rank * THREADS + t->index) * CELL;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t one = 1, out[CELL], back[CELL] = {0};
        struct test_request request = {0};
        int step = 0;
        for (int k = 0; k < CELL; k++)
            out[k] = i * CELL + (uint64_t) k;
        struct wdl_rma_args add = operation(WDL_RMA_ACC, to, 0, &one, 8);
        struct wdl_rma_args put = operation(WDL_RMA_PUT, to, 8 * mine, out, sizeof(out));
        struct wdl_rma_args get = operation(WDL_RMA_GET, to, 8 * mine, back, sizeof(back));
        get.request = i % 2 ? &request : NULL;
        INSIST(r, wdl_rma_op(r->win, &add));
        INSIST(r, wdl_rma_op(r->win, &put));
        INSIST(r, wdl_win_flush(r->win, to, 0, &step));
        INSIST(r, wdl_rma_op(r->win, &get));
        INSIST(r, get.request ? request_over(&request) : wdl_win_flush(r->win, to, 1, &step));
        must(memcmp(out, back, sizeof(out)) == 0);
    }
    return NULL;
}

/* --- a rank ----------------------------------------------------------------------------------- */

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    const struct world *w = ctx;
    const void *addr = NULL;
    struct wdl_nm *nm = w->rank[peer].proc->nm;
    nm->ops->address(nm, &addr, bytes_out);
    return addr;
}

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    const struct rank *r = ctx;
    (void) rank;
    *out = (struct wdl_win_rank){.bytes = sizeof(r->memory), .disp_unit = 1};
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    struct rank *r = ctx;
    *control_out = rank == r->rank ? &r->control : NULL;
    return rank == r->rank ? r->memory : NULL;
}

static void rank_open(struct rank *r)
{
    char err[300] = "";
    const struct wdl_rma_params pools = {.win_ops = 4, .global_ops = 4};
    test_host_init(&r->host);
    r->host.address = address;
    r->host.address_ctx = r->world;
    struct wdl_proc_params proc = {.host = r->host.host, .netmod = &wdl_nm_ucx_ops,
                                   .rank = r->rank, .peers = RANKS, .bounce_count = 4};
    int status = wdl_proc_create(&proc, &r->proc, err, sizeof(err));
    if (status != WDL_OK)
        ck_abort_msg("%s: %s", wdl_status_name(status), err);
    must_cmp(wdl_rma_init(r->proc, &pools), ==, WDL_OK);
    struct wdl_win_params win = {.id = 1, .rank = r->rank, .size = RANKS,
                                 .flavor = WDL_WIN_CREATE, .base = r->memory,
                                 .bytes = sizeof(r->memory), .disp_unit = 1, .ctx = r,
                                 .peer_of = peer_of, .rank_info = rank_info, .map = map,
                                 .direct = 1, .atomics = 1, .node = &r->control, .node_count = 1};
    must_cmp(wdl_win_create(r->proc, &win, &r->win), ==, WDL_OK);
}

static int all_have_played(struct world *w)
{
    return __atomic_load_n(&w->playing, __ATOMIC_ACQUIRE) == 0 ? WDL_OK : WDL_AGAIN;
}

static void *rank_play(void *arg)
{
    struct rank *r = arg;
    struct world *w = r->world;
    struct thread thread[THREADS];
    rank_open(r);
    pthread_barrier_wait(&w->all);
    INSIST(r, wdl_win_lock_all(r->win, 0, &r->step));
    for (int i = 0; i < THREADS; i++) {
        thread[i] = (struct thread){.r = r, .index = i};
        must_cmp(pthread_create(&thread[i].id, NULL, thread_play, &thread[i]), ==, 0);
    }
    for (int i = 0; i < THREADS; i++)
        must_cmp(pthread_join(thread[i].id, NULL), ==, 0);
    INSIST(r, wdl_win_unlock_all(r->win, &r->step));
    __atomic_sub_fetch(&w->playing, 1, __ATOMIC_ACQ_REL);
    INSIST(r, all_have_played(w));
    must_cmp(r->memory[0], ==, THREADS * ROUNDS);
    INSIST(r, wdl_win_barrier(r->win, &r->step));
    INSIST(r, wdl_win_free(r->win));
    pthread_barrier_wait(&w->all);
    wdl_rma_fini(r->proc);
    wdl_proc_destroy(r->proc);
    must_cmp(r->host.live, ==, 0);
    return NULL;
}

static void run(const char *transports)
{
    struct world *w = calloc(1, sizeof(*w));
    setenv("UCX_TLS", transports, 1);
    w->playing = RANKS;
    ck_assert_int_eq(pthread_barrier_init(&w->all, NULL, RANKS), 0);
    for (int i = 0; i < RANKS; i++) {
        w->rank[i].world = w;
        w->rank[i].rank = i;
        ck_assert_int_eq(pthread_mutex_init(&w->rank[i].lock, NULL), 0);
    }
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_create(&w->rank[i].id, NULL, rank_play, &w->rank[i]), 0);
    for (int i = 0; i < RANKS; i++)
        ck_assert_int_eq(pthread_join(w->rank[i].id, NULL), 0);
    for (int i = 0; i < RANKS; i++)
        pthread_mutex_destroy(&w->rank[i].lock);
    pthread_barrier_destroy(&w->all);
    free(w);
}

START_TEST(through_memory)
{
    run("posix,self");
}
END_TEST

START_TEST(through_sockets)
{
    run("tcp,self");
}
END_TEST

WDL_SUITE("netmod/ucx, threads", through_memory, through_sockets)
