/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Processes over UCX's shared memory, to which its atomics are native where the memory is the
 * network's own: they storm a counter, together with the processor that has it, which does not
 * poll; one floods another that does not poll with messages; and as ranks of a window, each on a
 * node of its own, they take locks by words there.
 * Processes agree through a page they share, and are children of the test's.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "host/testhost.h"
#include "mpid/rma/win_impl.h"
#include "netmod/atomics.h"
#include "support/must.h"
#include "support/suite.h"

enum { PROCESSES = 3, EACH = 4000, LOCKS = 300, ADDRESS = 1024 };

struct shared {
    int arrived, round;         /* everybody's meeting */
    struct {
        size_t bytes;
        char data[ADDRESS];
    } address[PROCESSES];
    struct wdl_net_offer offer[PROCESSES];
    char key[WDL_NM_KEY_BYTES_MAX];
    size_t key_bytes;
    uint64_t at;
    int left;                   /* processes that still storm, or flood */
    unsigned char seen[PROCESSES * EACH];       /* by ticket */
    uint32_t sent;              /* messages of the flood */
};

struct process {
    struct shared *s;
    int rank, step;
    struct wdl_nm *nm;          /* the storm's */
    struct test_host host;      /* the window's, and what follows */
    struct wdl_proc *proc;
    struct wdl_win *win;
    struct wdl_win_control *control;
    uint64_t *memory;
    uint32_t came;              /* messages of the flood, in order */
};

static void poll_once(struct process *p)
{
    if (p->proc)
        wdl_proc_progress(p->proc);
    else
        p->nm->ops->poll(p->nm);
}

static void meet(struct process *p)
{
    int round = __atomic_load_n(&p->s->round, __ATOMIC_ACQUIRE);
    if (__atomic_add_fetch(&p->s->arrived, 1, __ATOMIC_ACQ_REL) == PROCESSES) {
        __atomic_store_n(&p->s->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&p->s->round, round + 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&p->s->round, __ATOMIC_ACQUIRE) == round) {
        if (p->nm || p->proc)
            poll_once(p);
        sched_yield();
    }
}

static void publish(struct process *p, struct wdl_nm *nm)
{
    const void *address;
    size_t bytes;
    must_cmp(nm->ops->address(nm, &address, &bytes), ==, WDL_OK);
    must_cmp(bytes, <=, ADDRESS);
    p->s->address[p->rank].bytes = bytes;
    memcpy(p->s->address[p->rank].data, address, bytes);
    meet(p);
}

/* Each rank in a process; all must end well. */
static void run(void (*play)(struct process *p))
{
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[PROCESSES];
    ck_assert(s != MAP_FAILED);
    setenv("UCX_TLS", "posix,self", 1);
    for (int i = 0; i < PROCESSES; i++) {
        struct process p = {.s = s, .rank = i};
        child[i] = fork();
        ck_assert_int_ge(child[i], 0);
        if (child[i] == 0) {
            play(&p);
            _exit(0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
        ck_assert_int_eq(status, 0);
    }
    munmap(s, sizeof(*s));
}

/* --- a counter -------------------------------------------------------------------------------- */

static int on_am(void *ctx, const void *data, size_t bytes)
{
    (void) ctx;
    (void) data;
    (void) bytes;
    return WDL_OK;
}

static int address_of(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    const struct process *p = ctx;
    *addr_out = p->s->address[peer].data;
    *bytes_out = p->s->address[peer].bytes;
    return WDL_OK;
}

struct comp {
    struct wdl_nm_comp comp;
    int called;
};

static void called(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    must_cmp(info->status, ==, WDL_OK);
    ((struct comp *) comp)->called = 1;
}

#define DO(p, c, call)                                                                         \
    do {                                                                                       \
        int do_status_;                                                                        \
        (c) = (struct comp){.comp = {.fn = called}};                                           \
        while ((do_status_ = (call)) == WDL_AGAIN)                                             \
            poll_once(p);                                                                      \
        must(do_status_ == WDL_OK || do_status_ == WDL_PENDING);                               \
        while (do_status_ == WDL_PENDING && !(c).called)                                       \
            poll_once(p);                                                                      \
    } while (0)

static void ticket(struct process *p, uint64_t drawn)
{
    must_cmp(drawn, <, PROCESSES * EACH);
    must_cmp(__atomic_exchange_n(&p->s->seen[drawn], 1, __ATOMIC_RELAXED), ==, 0);
}

/* word[0]: tickets; word[1]: two counters of four bytes; word[2]: by compare-and-swap. */
static void storm(struct process *p, struct wdl_nm_rkey *rkey)
{
    struct wdl_nm *nm = p->nm;
    uint64_t at = p->s->at, swapped = 0, guess = 0;
    struct comp c;
    for (int i = 0; i < EACH; i++) {
        uint64_t drawn = 0;
        DO(p, c, nm->ops->atomic(nm, 0, WDL_NM_ADD, 8, 1, 0, &drawn, at, rkey, &c.comp));
        ticket(p, drawn);
        DO(p, c, nm->ops->atomic(nm, 0, WDL_NM_ADD, 4, 1, 0, NULL, at + 12, rkey, &c.comp));
        for (;;) {
            DO(p, c, nm->ops->atomic(nm, 0, WDL_NM_CSWAP, 8, guess + 1, guess, &swapped, at + 16,
                                     rkey, &c.comp));
            if (swapped == guess)
                break;
            guess = swapped;
        }
    }
    DO(p, c, nm->ops->flush(nm, 0, &c.comp));
}

/* Of a word nobody else uses: what every atomic leaves there, and of those of caps.fetches what it
 * has found. */
static void each_atomic(struct process *p, struct wdl_nm_rkey *rkey)
{
    struct wdl_nm *nm = p->nm;
    uint64_t at = p->s->at + 64 * (uint64_t) p->rank, fetches = nm->ops->caps(nm)->fetches;
    struct comp c;
    for (int k = 0; k < 4 * WDL_NM_ATOMIC_COUNT; k++) {
        enum wdl_nm_atomic op = (enum wdl_nm_atomic)(k / 4);
        size_t size = k % 2 ? 4 : 8;
        int fetch = k / 2 % 2 || op == WDL_NM_CSWAP;
        uint64_t mask = size == 4 ? 0xffffffffu : ~(uint64_t) 0;
        uint64_t old = 0xf0f1f2f3f4f5f6f7u, value = 0x123456789abcdef0u, got = 0, now = 0;
        if (fetch && !(fetches >> op & 1))
            continue;
        DO(p, c, nm->ops->put(nm, 0, &old, 8, at, rkey, &c.comp));
        DO(p, c, nm->ops->flush(nm, 0, &c.comp));
        DO(p, c, nm->ops->atomic(nm, 0, op, size, value & mask, old & mask, fetch ? &got : NULL, at,
                                 rkey, &c.comp));
        DO(p, c, nm->ops->flush(nm, 0, &c.comp));
        DO(p, c, nm->ops->get(nm, 0, &now, 8, at, rkey, &c.comp));
        DO(p, c, nm->ops->flush(nm, 0, &c.comp));
        must_cmp(now, ==, (atomics_outcome(op, old, value, old) & mask) | (old & ~mask));
        if (fetch)
            must_cmp(got, ==, old & mask);
    }
}

static void storm_here(struct process *p, uint64_t *word)
{
    uint32_t *half = (uint32_t *) (void *) &word[1];
    for (int i = 0; i < EACH; i++) {
        ticket(p, __atomic_fetch_add(&word[0], 1, __ATOMIC_RELAXED));
        __atomic_fetch_add(&half[1], 1, __ATOMIC_RELAXED);
        uint64_t guess = __atomic_load_n(&word[2], __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&word[2], &guess, guess + 1, 0, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED))
            ;
    }
    while (__atomic_load_n(&p->s->left, __ATOMIC_ACQUIRE) > 0)  /* and does not poll */
        sched_yield();
    must_cmp(word[0], ==, PROCESSES * EACH);
    must_cmp(half[0], ==, 0);
    must_cmp(half[1], ==, PROCESSES * EACH);
    must_cmp(word[2], ==, PROCESSES * EACH);
}

static void play_storm(struct process *p)
{
    const uint32_t every = (1u << WDL_NM_ATOMIC_COUNT) - 1;
    struct wdl_nm_params params = {.rank = p->rank, .peers = PROCESSES, .ctx = p, .on_am = on_am,
                                   .address_of = address_of, .local_peers = PROCESSES};
    struct wdl_nm_mem *mem;
    struct wdl_nm_rkey *rkey = NULL;
    struct wdl_nm_caps caps;
    char err[300] = "";
    void *base = NULL;
    must_cmp(wdl_nm_ucx_ops.open(&params, &p->nm, err, sizeof(err)), ==, WDL_OK);
    must_cmp(p->nm->ops->caps(p->nm)->atomics_by_key, ==, WDL_NM_OWN);
    publish(p, p->nm);
    if (p->rank == 0) {
        p->s->left = PROCESSES - 1;
        p->s->key_bytes = sizeof(p->s->key);
        must_cmp(p->nm->ops->mem_alloc(p->nm, 4096, &base, &mem), ==, WDL_OK);
        memset(base, 0, 4096);
        must_cmp(p->nm->ops->mem_key(p->nm, mem, p->s->key, &p->s->key_bytes), ==, WDL_OK);
        p->s->at = (uint64_t) (uintptr_t) base;
    }
    meet(p);
    if (p->rank > 0) {
        must_cmp(p->nm->ops->rkey_open(p->nm, 0, p->s->key, p->s->key_bytes, &rkey), ==, WDL_OK);
        p->nm->ops->rkey_caps(p->nm, rkey, &caps);
        must_cmp(caps.atomic32 & caps.atomic64, ==, every);
        must_cmp(caps.domain, ==, WDL_NM_DOMAIN_CPU);
    }
    meet(p);
    if (p->rank == 0) {
        storm_here(p, base);
    } else {
        each_atomic(p, rkey);
        storm(p, rkey);
        __atomic_sub_fetch(&p->s->left, 1, __ATOMIC_ACQ_REL);
    }
    meet(p);
    p->nm->ops->close(p->nm);
}

START_TEST(a_counter_of_the_networks_own_memory)
{
    run(play_storm);
}
END_TEST

/* --- a flood ---------------------------------------------------------------------------------- */

static int on_flood(void *ctx, const void *data, size_t bytes)
{
    struct process *p = ctx;
    must_cmp(bytes, ==, sizeof(p->came));
    must(memcmp(data, &p->came, bytes) == 0);
    p->came++;
    return WDL_OK;
}

static int send_number(struct process *p, int peer, uint32_t number)
{
    int status = p->nm->ops->am(p->nm, peer, &number, sizeof(number), NULL, 0, NULL);
    must(status == WDL_OK || status == WDL_AGAIN);
    return status;
}

/* Who does not poll is sent no more than so much; another is, and at the end nothing is lost. */
static void play_flood(struct process *p)
{
    enum { FULL = 2000, OTHERS = 10, REFUSALS = 100 };
    struct wdl_nm_params params = {.rank = p->rank, .peers = PROCESSES, .ctx = p, .on_am = on_flood,
                                   .address_of = address_of, .local_peers = PROCESSES};
    char err[300] = "";
    must_cmp(wdl_nm_ucx_ops.open(&params, &p->nm, err, sizeof(err)), ==, WDL_OK);
    if (p->rank == 0)
        p->s->left = 1;
    publish(p, p->nm);
    if (p->rank == 0) {
        while (__atomic_load_n(&p->s->left, __ATOMIC_ACQUIRE) > 0)      /* and does not poll */
            sched_yield();
    } else if (p->rank == 1) {
        uint32_t sent = 0;
        for (int refused = 0; refused < REFUSALS; poll_once(p)) {
            if (send_number(p, 0, sent) == WDL_OK)
                sent++;
            else
                refused++;
            must_cmp(sent, <, FULL);
        }
        for (uint32_t i = 0; i < OTHERS; i++)
            must_cmp(send_number(p, 2, i), ==, WDL_OK);
        p->s->sent = sent;
    } else {
        while (p->came < OTHERS)
            poll_once(p);
        __atomic_store_n(&p->s->left, 0, __ATOMIC_RELEASE);
    }
    meet(p);
    while (p->rank == 0 && p->came < p->s->sent)
        poll_once(p);
    meet(p);
    p->nm->ops->close(p->nm);
}

START_TEST(who_does_not_poll_is_sent_no_more_than_so_much)
{
    run(play_flood);
}
END_TEST

/* --- a window --------------------------------------------------------------------------------- */

#define INSIST(p, call)                                                                        \
    do {                                                                                       \
        int insist_status_;                                                                    \
        while ((insist_status_ = (call)) == WDL_AGAIN) {                                       \
            wdl_proc_progress((p)->proc);                                                      \
            sched_yield();                                                                     \
        }                                                                                      \
        must_cmp(insist_status_, ==, WDL_OK);                                                  \
    } while (0)

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    const struct process *p = ctx;
    *bytes_out = p->s->address[peer].bytes;
    return p->s->address[peer].data;
}

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void rank_info(void *ctx, int rank, struct wdl_win_rank *out)
{
    (void) ctx;
    (void) rank;
    *out = (struct wdl_win_rank){.bytes = 4096, .disp_unit = 1};
}

static void *map(void *ctx, int rank, struct wdl_win_control **control_out)
{
    const struct process *p = ctx;
    *control_out = rank == p->rank ? p->control : NULL;
    return rank == p->rank ? p->memory : NULL;
}

/* As MPI_Allreduce would have it. */
static void agree(struct process *p, const struct wdl_net_offer *own, int *lacks)
{
    p->s->offer[p->rank] = *own;
    meet(p);
    memset(lacks, 0, WDL_NET_LACKS * sizeof(lacks[0]));
    for (int i = 0; i < PROCESSES; i++)
        for (int j = 0; j < WDL_NET_LACKS; j++)
            lacks[j] |= p->s->offer[i].lacks[j];
    meet(p);
}

static void window_open(struct process *p, struct wdl_nm_mem **mem)
{
    struct wdl_nm *nm = p->proc->nm;
    struct wdl_net_offer offer;
    int lacks[WDL_NET_LACKS];
    void *base;
    must_cmp(nm->ops->mem_alloc(nm, 4096 + sizeof(*p->control), &base, mem), ==, WDL_OK);
    memset(base, 0, 4096 + sizeof(*p->control));
    p->memory = base;
    p->control = (struct wdl_win_control *) (void *) ((char *) base + 4096);
    struct wdl_win_params win = {.id = 1, .rank = p->rank, .size = PROCESSES,
                                 .flavor = WDL_WIN_ALLOCATE, .base = base, .bytes = 4096,
                                 .disp_unit = 1, .ctx = p, .peer_of = peer_of,
                                 .rank_info = rank_info, .map = map, .direct = 1, .atomics = 1,
                                 .mem = *mem, .node = p->control, .node_count = 1,
                                 .node_mem = *mem};
    must_cmp(wdl_win_create(p->proc, &win, &p->win), ==, WDL_OK);
    wdl_win_net_offer(p->win, &offer);
    agree(p, &offer, lacks);
    must(wdl_net_asks(lacks));
    INSIST(p, wdl_win_net_ask(p->win, &offer));
    agree(p, &offer, lacks);
    wdl_win_net_begin(p->win, lacks, &p->s->offer[0]);
    must_cmp(p->win->words, ==, WDL_WORDS_MIXED);
    must_cmp(p->win->net_sizes, ==, 4 + 8);
    meet(p);
}

/* One of eight bytes; a put's and a get's memory is the network's until a flush. */
static void operate(struct process *p, enum wdl_rma_kind kind, int to, int64_t disp, uint64_t *data,
                    uint64_t *result)
{
    struct wdl_buf buf = {.count = 8, .type = TEST_U8, .bytes = 8, .contig = 1, .hi = 8};
    struct wdl_rma_args args = {.kind = kind, .target = to, .disp = disp, .origin = buf,
                                .result = buf, .remote = buf, .op = WDL_ROP_SUM};
    args.origin.addr = data;
    args.result.addr = result;
    if (kind >= WDL_RMA_ACC)
        args.element = test_element(TEST_U64);
    INSIST(p, wdl_rma_op(p->win, &args));
    INSIST(p, wdl_win_flush(p->win, to, 0, &p->step));
}

static void lock_storm(struct process *p)
{
    uint64_t one = 1, count, drawn, before = p->proc->stats.am_sent;
    for (int i = 0; i < LOCKS; i++) {
        int to = (p->rank + i) % PROCESSES, alone = i % 3 != 2;
        INSIST(p, wdl_win_lock(p->win, to, alone, 0, &p->step));
        if (alone) {            /* what only a lock makes one update */
            operate(p, WDL_RMA_GET, to, 0, &count, NULL);
            count++;
            operate(p, WDL_RMA_PUT, to, 0, &count, NULL);
        }
        operate(p, WDL_RMA_GET_ACC, to, 8, &one, &drawn);
        INSIST(p, wdl_win_unlock(p->win, to, &p->step));
        if (i % 50 == 0) {
            INSIST(p, wdl_win_lock_all(p->win, 0, &p->step));
            operate(p, WDL_RMA_ACC, to, 16, &one, NULL);
            INSIST(p, wdl_win_unlock_all(p->win, &p->step));
        }
    }
    /* keys are asked for and answered; locks, puts, gets and updates are no messages: without them
     * there would be more than one for each lock */
    must_cmp(p->proc->stats.am_sent - before, <, 10 * PROCESSES);
}

static void play_window(struct process *p)
{
    struct wdl_proc_params params = {.netmod = &wdl_nm_ucx_ops, .rank = p->rank,
                                     .peers = PROCESSES, .bounce_count = 4};
    const struct wdl_rma_params pools = {.win_ops = 8};
    struct wdl_nm_mem *mem;
    char err[300] = "";
    test_host_init(&p->host);
    p->host.address = address;
    p->host.address_ctx = p;
    params.host = p->host.host;
    must_cmp(wdl_proc_create(&params, &p->proc, err, sizeof(err)), ==, WDL_OK);
    must_cmp(wdl_rma_init(p->proc, &pools), ==, WDL_OK);
    publish(p, p->proc->nm);
    window_open(p, &mem);
    lock_storm(p);
    meet(p);
    uint64_t sum[3] = {0};
    for (int q = 0; q < PROCESSES; q++)         /* what was meant for this rank */
        for (int i = 0; i < LOCKS; i++)
            if ((q + i) % PROCESSES == p->rank) {
                sum[0] += i % 3 != 2;
                sum[1]++;
                sum[2] += i % 50 == 0;
            }
    for (int k = 0; k < 3; k++)
        must_cmp(p->memory[k], ==, sum[k]);
    must_cmp((p->control->lock | p->control->gate) & 0xffffffff, ==, 0);
    INSIST(p, wdl_win_barrier(p->win, &p->step));
    INSIST(p, wdl_win_free(p->win));
    meet(p);
    p->proc->nm->ops->mem_detach(p->proc->nm, mem);
    wdl_rma_fini(p->proc);
    wdl_proc_destroy(p->proc);
    must_cmp(p->host.live, ==, 0);
}

START_TEST(locks_by_words_of_the_networks_own_memory)
{
    run(play_window);
}
END_TEST

WDL_SUITE("netmod/ucx, processes", a_counter_of_the_networks_own_memory,
          who_does_not_poll_is_sent_no_more_than_so_much,
          locks_by_words_of_the_networks_own_memory)
