/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of adi/asynch, the progress thread, which is compiled against a stand-in of MPICH's names
 * (standin/mpiimpl.h): it serves while there is a window or a collective that wants it, under the
 * lock that MPICH takes in its calls then, and touches nothing otherwise. What it and the program
 * do at a time is for the thread sanitizer to judge (maint/check --setup tsan): the network, the
 * process, and what its handlers change are plain memory.
 */
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "bell.h"
#include "gate.h"
#include "host/testhost.h"
#include "mpid/coll/coll.h"
#include "netmod/sim/sim.h"
#include "rma.h"
#include "support/must.h"
#include "support/suite.h"

struct wdl_adi wdl_adi;
MPID_Thread_mutex_t MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX = {.mutex = PTHREAD_MUTEX_INITIALIZER};
struct MPIR_ThreadInfo MPIR_ThreadInfo;
struct MPIR_Process MPIR_Process;
int MPIR_CVAR_WINDLASS_PROGRESS_THREAD;

enum { WINDOWS = 3, PAIR = 2 };

/* A process that talks to itself over the simulated network, with a descriptor to sleep on; or to a
 * neighbour, which has no thread, and whose calls this program makes, too. */
static struct program {
    struct test_host host;
    struct wdl_proc *neighbour;
    struct wdl_team *team[PAIR];
    char *segment[PAIR];        /* what the two share */
    struct wdl_sim *sim;
    struct wdl_nm_ops ops;
    int network;                /* eventfd: a message has been sent */
    int handled;                /* plain: by whoever makes progress, under the lock */
    int refuses;                /* the same: what comes is to wait */
    int endless;                /* the same: the network has always something more */
    int served;                 /* atomic: the same, for those who do not call MPI */
    pthread_t self, server;     /* who called the last handler */
    MPIR_Comm comm;
    MPIR_Win win[WINDOWS];
} program;

void *wdl_adi_alloc(size_t bytes)
{
    return calloc(1, bytes);
}

/* MPICH's entry and exit of a call (include/mpid_thread.h). */
static void call_begin(void)
{
    if (MPIR_ThreadInfo.isThreaded && wdl_gate.on)
        wdl_gate_enter(&wdl_gate);
    else if (MPIR_ThreadInfo.isThreaded)
        wdl_section_enter(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static void call_end(void)
{
    if (MPIR_ThreadInfo.isThreaded && wdl_gate.on) {
        wdl_gate_leave(&wdl_gate);
    } else if (MPIR_ThreadInfo.isThreaded) {
        must_cmp(MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX.count, ==, 1);
        must(pthread_equal(MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX.owner, pthread_self()));
        wdl_section_leave(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
}

/* --- the process ------------------------------------------------------------------------------ */

static int on_message(void *module, int src, const void *data, size_t bytes)
{
    (void) module;
    (void) src;
    (void) data;
    (void) bytes;
    if (program.refuses)
        return WDL_AGAIN;
    program.handled++;
    program.server = pthread_self();
    __atomic_fetch_add(&program.served, 1, __ATOMIC_RELEASE);
    return WDL_OK;
}

static int net_poll(struct wdl_nm *nm)
{
    wdl_sim_advance(program.sim, 1000);
    return wdl_nm_sim_ops.poll(nm) + program.endless;
}

static int net_arm(struct wdl_nm *nm, int *fd_out)
{
    uint64_t rung;
    (void) nm;
    (void) !read(program.network, &rung, sizeof rung);
    *fd_out = program.network;
    /* what is on its way may be the neighbour's */
    return program.neighbour || wdl_sim_quiescent(program.sim) ? WDL_OK : WDL_AGAIN;
}

static const void *address(void *ctx, int peer, size_t *bytes_out)
{
    const void *addr = NULL;
    struct wdl_proc *proc = peer ? program.neighbour : wdl_adi.proc;
    (void) ctx;
    proc->nm->ops->address(proc->nm, &addr, bytes_out);
    return addr;
}

static void begin_among(int setting, int can_sleep, int ranks)
{
    struct wdl_sim_params sim = {.ranks = ranks,.ordered = 1,.am_bytes_max = 1024 };
    char err[128];
    memset(&program, 0, sizeof program);
    MPIR_CVAR_WINDLASS_PROGRESS_THREAD = setting;
    program.self = pthread_self();
    program.network = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    program.sim = wdl_sim_create(&sim);
    test_host_init(&program.host);
    program.host.address = address;
    struct wdl_proc_params params = {.host = program.host.host,.netmod = &wdl_nm_sim_ops,
        .fabric = program.sim,.peers = ranks
    };
    must_cmp(wdl_proc_create(&params, &wdl_adi.proc, err, sizeof err), ==, WDL_OK);
    params.rank = 1;
    if (ranks == PAIR)
        must_cmp(wdl_proc_create(&params, &program.neighbour, err, sizeof err), ==, WDL_OK);
    program.ops = wdl_nm_sim_ops;
    program.ops.poll = net_poll;
    program.ops.arm = net_arm;
    wdl_adi.proc->nm->ops = &program.ops;
    wdl_am_register(wdl_adi.proc, WDL_AM_RMA, on_message, NULL);
    wdl_adi.can_sleep = can_sleep;
    wdl_adi.spin_polls = 1;     /* a processor each */
    program.comm.local_size = 2;
    for (int i = 0; i < WINDOWS; i++)
        program.win[i] = (MPIR_Win) {.create_flavor = MPI_WIN_FLAVOR_CREATE,
            .comm_ptr = &program.comm };
}

static void begin(int setting, int can_sleep)
{
    begin_among(setting, can_sleep, 1);
}

/* MPI_Finalize: MPICH's locking ends, then the rest is the program's alone. */
static void end(void)
{
    MPIR_ThreadInfo.isThreaded = 0;
    if (wdl_adi.asynch)
        wdl_adi_asynch_stop();
    wdl_adi_asynch_end();
    must(!wdl_adi.asynch);
    while (!wdl_sim_quiescent(program.sim))
        wdl_proc_progress(wdl_adi.proc);
    wdl_proc_destroy(wdl_adi.proc);
    if (program.neighbour)
        wdl_proc_destroy(program.neighbour);
    wdl_sim_destroy(program.sim);
    close(program.network);
    wdl_adi = (struct wdl_adi) {.proc = NULL };
}

/* --- calls of the program --------------------------------------------------------------------- */

static void win_create(int i)
{
    call_begin();
    wdl_adi_asynch_hold(&program.win[i]);
    call_end();
}

static void win_free(int i)
{
    call_begin();
    wdl_adi_asynch_release(&program.win[i]);
    call_end();
}

/* Another process's operation: the network says so. */
static void message(void)
{
    uint64_t one = 1;
    call_begin();
    must_cmp(wdl_am_send(wdl_adi.proc, 0, WDL_AM_RMA, &one, sizeof one, NULL, 0, NULL), ==, WDL_OK);
    call_end();
    (void) !write(program.network, &one, sizeof one);
}

static void wait_in_mpi(int handled)
{
    for (int done = 0; !done;) {
        call_begin();
        __atomic_fetch_add(&wdl_adi.polls, 1, __ATOMIC_RELAXED);
        wdl_proc_progress(wdl_adi.proc);
        done = program.handled >= handled;
        call_end();
    }
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* Compute until so many have been served, or for this long: have they? */
static int compute(int served, double seconds)
{
    double start = now_s();
    while (__atomic_load_n(&program.served, __ATOMIC_ACQUIRE) < served) {
        if (now_s() - start > seconds)
            return 0;
        sched_yield();
    }
    return 1;
}

enum { LONG_S = 60 };

/* --- tests ------------------------------------------------------------------------------------ */

START_TEST(it_serves_while_there_is_a_window)
{
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    int n = 0;
    for (int i = 0; i < 50; i++) {
        message();
        wait_in_mpi(++n);
        must(pthread_equal(program.server, program.self));
        win_create(0);
        must_cmp(MPIR_ThreadInfo.isThreaded, ==, 1);
        message();
        ck_assert(compute(++n, LONG_S));
        if (i % 2) {            /* two windows, of which one goes */
            win_create(1);
            message();
            win_free(0);
            ck_assert(compute(++n, LONG_S));
        }
        win_free(i % 2);
        must_cmp(MPIR_ThreadInfo.isThreaded, ==, 0);
        must_cmp(program.handled, ==, n);
        must(!pthread_equal(program.server, program.self));
    }
    message();                  /* nobody is there for it */
    ck_assert(!compute(n + 1, 0.1));
    end();
}
END_TEST

/* Whoever comes first serves; what handlers change is the lock's. */
START_TEST(the_program_and_the_thread_take_turns)
{
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on, 1);
    win_create(0);
    for (int n = 1; n <= 2000; n++) {
        message();
        if (n % 50 == 0)
            ck_assert(compute(n, LONG_S));
        else if (n % 3)
            wait_in_mpi(n);
    }
    wait_in_mpi(2000);
    win_free(0);
    ck_assert_int_eq(program.handled, 2000);
    end();
}
END_TEST

/* A message that waits for something the program has to do: the thread lets it in. */
START_TEST(what_cannot_be_taken_yet_keeps_nobody_out)
{
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    win_create(0);
    for (int n = 1; n <= 20; n++) {
        call_begin();
        program.refuses = 1;
        call_end();
        message();
        ck_assert(!compute(n, 0.01));
        call_begin();
        program.refuses = 0;
        call_end();
        ck_assert(compute(n, LONG_S));
    }
    win_free(0);
    end();
}
END_TEST

/* Calls of the program while more and more comes: each is let in, the thread serves meanwhile. */
static void calls_among_messages(void)
{
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    win_create(0);
    for (int n = 1; n <= 20; n++) {
        call_begin();
        program.endless = 1;
        call_end();
        message();
        ck_assert(compute(n, LONG_S));
    }
    call_begin();
    program.endless = 0;
    call_end();
    win_free(0);
    end();
}

START_TEST(however_much_comes_the_program_is_let_in)
{
    calls_among_messages();
    wdl_gate.on = 0;
    MPIR_ThreadInfo.isThreaded = 1;     /* MPI_THREAD_MULTIPLE */
    calls_among_messages();
}
END_TEST

static void *caller(void *arg)
{
    int *mine = arg;
    for (int n = 0; n < 300; n++) {
        message();
        ++*mine;
        if (n % 7 == 0)
            wait_in_mpi(*mine / 2);
    }
    return NULL;
}

/* Under MPI_THREAD_MULTIPLE MPICH's switch is on before and after. */
START_TEST(with_a_program_of_several_threads)
{
    pthread_t thread[2];
    int sent[2] = {0, 0};
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    MPIR_ThreadInfo.isThreaded = 1;
    win_create(2);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, caller, &sent[i]), 0);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
    ck_assert(compute(600, LONG_S));
    win_free(2);
    ck_assert_int_eq(MPIR_ThreadInfo.isThreaded, 1);
    call_begin();
    ck_assert_int_eq(program.handled, 600);
    call_end();
    end();
}
END_TEST

/* How often the process's other threads have gone to sleep. */
static long others_slept(void)
{
    char path[64 + 256], line[128];
    struct dirent *entry;
    long sum = 0, n;
    DIR *tasks = opendir("/proc/self/task");
    must(tasks);
    while ((entry = readdir(tasks))) {
        if (atoi(entry->d_name) == 0 || atoi(entry->d_name) == getpid())
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/status", entry->d_name);
        FILE *status = fopen(path, "r");
        while (status && fgets(line, sizeof line, status))
            if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1)
                sum += n;
        if (status)
            fclose(status);
    }
    closedir(tasks);
    return sum;
}

/* Where processes outnumber processors: every 8 ms, not every millisecond, once the program has
 * polled for a while (oftener at times, where this test must wait for a processor); and what comes
 * when it computes is served all the same. */
START_TEST(among_many_it_looks_seldom)
{
    enum { A_SECOND = 333 };
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    wdl_adi.spin_polls = 0;
    win_create(0);
    int n = 0;
    double start = now_s(), settled = start + 0.1, seconds;
    while (now_s() < settled) {
        message();
        wait_in_mpi(++n);
    }
    start = now_s();
    long slept = others_slept();
    while ((seconds = now_s() - start) < 0.4) {
        message();
        wait_in_mpi(++n);
    }
    ck_assert_int_le(others_slept() - slept, (long) (seconds * A_SECOND));
    message();
    ck_assert(compute(n + 1, LONG_S));
    win_free(0);
    end();
}
END_TEST

/* A program that polls and turns away, again and again: who waits rings for the thread, which need
 * not look by itself. */
START_TEST(who_waits_rings)
{
    enum { RANKS = 2, AFTER = 1000, TURNS = 200 };
    struct wdl_bell bells[RANKS] = {{0}};
    struct wdl_bell_look looks[RANKS] = {{0}};
    uint64_t now = 1;
    int rung = 0;
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    wdl_adi.bells = bells;
    wdl_adi.bells_reach_all = 1;
    win_create(0);
    int n = 0;
    for (int turn = 0; turn < TURNS; turn++, now += AFTER) {
        do {
            message();
            wait_in_mpi(++n);
            bells[0].polls = wdl_adi.polls;
        } while (!__atomic_load_n(&bells[0].dozes, __ATOMIC_ACQUIRE));
        (void) wdl_bells_look(bells, RANKS, 1, looks, now, AFTER);
        message();
        rung += wdl_bells_look(bells, RANKS, 1, looks, now + AFTER, AFTER);
        ck_assert(compute(++n, LONG_S));
    }
    ck_assert_int_gt(rung, TURNS / 2); /* it may have looked by itself, between the two */
    win_free(0);
    end();
}
END_TEST

/* Windows that come one after the other do not wake it one by one; when there has been none for a
 * while it sleeps, and the next one wakes it. */
START_TEST(windows_that_come_and_go)
{
    enum { A_SECOND = 3000, BURST = 64 };       /* three times as often as it looks */
    begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
    win_create(0);
    double start = now_s(), seconds;
    long slept = others_slept(), windows = 0;
    while ((seconds = now_s() - start) < 0.2 || windows <= 2 * (long) (seconds * A_SECOND)) {
        for (int i = 0; i < BURST; i++, windows++) {
            win_free(0);
            win_create(0);
        }
        ck_assert(seconds < LONG_S);
        sched_yield();          /* which on a busy machine takes as long as many windows */
    }
    ck_assert_int_le(others_slept() - slept, (long) (seconds * A_SECOND));
    win_free(0);
    start = now_s();
    do {
        slept = others_slept();
        usleep(50000);
        ck_assert(now_s() - start < LONG_S);
    } while (others_slept() != slept);
    win_create(1);
    message();
    ck_assert(compute(1, LONG_S));
    win_free(1);
    end();
}
END_TEST

/* MPI_Finalize with a window that is still there: the thread serves nobody any more. */
START_TEST(finalize_stops_it)
{
    for (int i = 0; i < 20; i++) {
        begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 1);
        win_create(0);
        message();
        ck_assert(compute(1, LONG_S));
        MPIR_ThreadInfo.isThreaded = 0;
        wdl_adi_asynch_stop();  /* as the attributes of MPI_COMM_SELF are deleted */
        message();              /* without the lock */
        for (int polls = 0; polls < 1000; polls++)
            wdl_proc_progress(wdl_adi.proc);
        ck_assert_int_eq(program.handled, 2);
        ck_assert(pthread_equal(program.server, program.self));
        win_free(0);
        end();
    }
}
END_TEST

/* --- collectives ------------------------------------------------------------------------------ */

static void *segment_of(void *ctx, int rank)
{
    (void) ctx;
    return program.segment[rank];
}

static int peer_of(void *ctx, int rank)
{
    (void) ctx;
    return rank;
}

static void pair_begin(int setting, int by_memory)
{
    static const struct wdl_coll_shm shm = {.segment = segment_of };
    struct wdl_team_params params = {.id = 7,.size = PAIR,.peer_of = peer_of };
    begin_among(setting, 1, PAIR);
    must_cmp(wdl_coll_init(wdl_adi.proc), ==, WDL_OK);
    must_cmp(wdl_coll_init(program.neighbour), ==, WDL_OK);
    for (int i = 0; i < PAIR && by_memory; i++) {
        size_t bytes = (wdl_coll_shm_bytes(wdl_adi.proc, &params) + 63) & ~(size_t) 63;
        program.segment[i] = aligned_alloc(64, bytes);
        must(program.segment[i]);
        memset(program.segment[i], 0, bytes);
        params.shm = &shm;
    }
    for (int i = 0; i < PAIR; i++) {
        params.rank = i;
        must_cmp(wdl_team_create(i ? program.neighbour : wdl_adi.proc, &params, &program.team[i]),
                 ==, WDL_OK);
    }
}

static void both_progress(void)
{
    wdl_proc_progress(wdl_adi.proc);
    wdl_proc_progress(program.neighbour);
}

static void pair_end(void)
{
    call_begin();
    for (int i = 0; i < PAIR; i++)
        while (wdl_team_destroy(program.team[i]) == WDL_AGAIN)
            both_progress();
    call_end();
    MPIR_ThreadInfo.isThreaded = 0;
    if (wdl_adi.asynch)
        wdl_adi_asynch_stop();
    wdl_adi_asynch_end();
    wdl_coll_fini(wdl_adi.proc);
    wdl_coll_fini(program.neighbour);
    for (int i = 0; i < PAIR; i++)
        free(program.segment[i]);
    end();
}

/* A nonblocking barrier; the neighbour's is `neighbours`. */
static void barrier_begin(struct wdl_coll_req *own, struct wdl_coll_req *neighbours)
{
    const struct wdl_coll_args barrier = {.kind = WDL_COLL_BARRIER,.flags = WDL_COLL_MPI };
    memset(own, 0, sizeof *own);
    memset(neighbours, 0, sizeof *neighbours);
    call_begin();
    must_cmp(wdl_coll_start(program.team[0], &barrier, own), ==, WDL_OK);
    wdl_adi_asynch_begun();
    call_end();
    call_begin();
    must_cmp(wdl_coll_start(program.team[1], &barrier, neighbours), ==, WDL_OK);
    call_end();
}

/* The neighbour waits, and this process computes: until both are done, or for this long. */
static int only_the_neighbour_waits(const struct wdl_coll_req *own,
                                    const struct wdl_coll_req *neighbours, double seconds)
{
    uint64_t one = 1;
    double start = now_s();
    for (int done = 0; !done;) {
        call_begin();
        wdl_proc_progress(program.neighbour);
        done = own->done && neighbours->done;
        call_end();
        (void) !write(program.network, &one, sizeof one);
        if (!done && now_s() - start > seconds)
            return 0;
        sched_yield();
    }
    return 1;
}

START_TEST(collectives_go_on_while_the_program_computes)
{
    struct wdl_coll_req own, neighbours;
    for (int by_memory = 0; by_memory < 2; by_memory++) {
        pair_begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on, by_memory);
        for (int i = 0; i < 50; i++) {
            barrier_begin(&own, &neighbours);
            ck_assert(only_the_neighbour_waits(&own, &neighbours, LONG_S));
            must_cmp(MPIR_ThreadInfo.isThreaded, ==, 1);
            ck_assert_uint_eq(wdl_coll_live(wdl_adi.proc), 0);
        }
        pair_end();
    }
}
END_TEST

/* Nobody has asked for it: the calls of the program move them, and there is no thread. */
START_TEST(collectives_alone_want_no_thread)
{
    struct wdl_coll_req own, neighbours;
    pair_begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto, 0);
    barrier_begin(&own, &neighbours);
    ck_assert(!only_the_neighbour_waits(&own, &neighbours, 0.1));
    ck_assert(!wdl_adi.asynch);
    ck_assert_uint_eq(wdl_coll_live(wdl_adi.proc), 1);
    while (!own.done || !neighbours.done)
        both_progress();
    pair_end();
}
END_TEST

/* A window's end does not end what it does for collectives, nor does their own: what they have
 * sent may still be on its way. */
START_TEST(after_collectives_it_goes_on)
{
    struct wdl_coll_req own, neighbours;
    pair_begin(MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on, 1);
    win_create(0);
    for (int n = 1; n <= 20; n++) {
        barrier_begin(&own, &neighbours);
        ck_assert(only_the_neighbour_waits(&own, &neighbours, LONG_S));
        if (n == 1)
            win_free(0);
        must_cmp(MPIR_ThreadInfo.isThreaded, ==, 1);
        ck_assert_uint_eq(wdl_coll_live(wdl_adi.proc), 0);
        message();
        ck_assert(compute(n, LONG_S));
    }
    pair_end();
}
END_TEST

START_TEST(who_wants_it)
{
    enum { AUTO = MPIR_CVAR_WINDLASS_PROGRESS_THREAD_auto };
    static const struct { int setting, can_sleep, size, flavor, whole, wanted; } cases[] = {
        {AUTO, 1, 2, MPI_WIN_FLAVOR_CREATE, 1, 1}, {AUTO, 1, 2, MPI_WIN_FLAVOR_DYNAMIC, 1, 1},
        {AUTO, 1, 2, MPI_WIN_FLAVOR_ALLOCATE, 1, 0}, {AUTO, 1, 2, MPI_WIN_FLAVOR_ALLOCATE, 0, 1},
        {AUTO, 1, 2, MPI_WIN_FLAVOR_SHARED, 1, 0}, {AUTO, 1, 1, MPI_WIN_FLAVOR_CREATE, 1, 0},
        {AUTO, 0, 2, MPI_WIN_FLAVOR_CREATE, 1, 0},
        {MPIR_CVAR_WINDLASS_PROGRESS_THREAD_off, 1, 2, MPI_WIN_FLAVOR_CREATE, 0, 0},
        {MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on, 1, 2, MPI_WIN_FLAVOR_ALLOCATE, 1, 1}
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin(cases[i].setting, cases[i].can_sleep);
        program.comm.local_size = cases[i].size;
        program.win[0].create_flavor = cases[i].flavor;
        program.win[0].dev.segment.whole = cases[i].whole;
        win_create(0);
        ck_assert_int_eq(program.win[0].dev.is_served, cases[i].wanted);
        ck_assert_int_eq(wdl_adi.asynch != NULL, cases[i].wanted);
        ck_assert_int_eq(MPIR_ThreadInfo.isThreaded, cases[i].wanted);
        win_free(0);
        end();
    }
}
END_TEST

WDL_SUITE("adi/asynch", it_serves_while_there_is_a_window, the_program_and_the_thread_take_turns,
          what_cannot_be_taken_yet_keeps_nobody_out,
          however_much_comes_the_program_is_let_in, with_a_program_of_several_threads,
          among_many_it_looks_seldom, who_waits_rings,
          windows_that_come_and_go, finalize_stops_it, collectives_go_on_while_the_program_computes,
          collectives_alone_want_no_thread, after_collectives_it_goes_on, who_wants_it)
