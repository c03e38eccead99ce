/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Progress and waiting. One engine: the core (which polls the network and steps RMA) and MPICH's
 * hooks (schedules of nonblocking collectives). A wait is adaptive:
 *
 *     spin      spin_polls fruitless polls, only where every local process has a core of its own
 *     offer     where they have not, and memory is what is waited for: the processor is given away
 *               some times, with a look at that memory alone, for each poll (WDL_ADI_WAIT_ON_)
 *     yield     the processor is given away after each fruitless poll, or, where every local
 *               process has one of its own, after every 128th, unless one that was given away was
 *               taken lately (wanted: by another program); after every 8th where they have not,
 *               but nobody took the processor when it was given away last (alone)
 *     nap       after MPIR_CVAR_WINDLASS_YIELD_US of that: sleep on the network's descriptor, 1 ms
 *               at first, rising
 *
 * A nap is bounded since some conditions are met without an event of the network (another thread, a
 * process that stores into shared memory although nobody said so). It is short when the caller says
 * that memory may meet the condition, or if a message has come that cannot be taken yet, with which
 * the network is not to be slept on; and there is none while schedules are pending, whose steps are
 * local work.
 *
 * Alone. Where processes outnumber processors most of them may sleep all the same, and who waits
 * for a process that is there need not have the kernel look for others each time: whether there are
 * any shows in how long it takes to give the processor away. Who waits and is alone lets others
 * hand one-sided operations over to it (wdl_rma_attend). 4 ranks on 2 processors, two of them
 * asleep, compare_and_swap on memory of MPI_Win_create: 3.5 us by the system, 0.21 so.
 */
#include "attributes.h"
#include "coll.h"
#include "bell.h"
#include "wdl_adi.h"
#include "mpid/coll/coll.h"
#include "mpid/rma/win.h"
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories:
    - name        : WINDLASS
      description : settings of the windlass device

cvars:
    - name        : MPIR_CVAR_WINDLASS_SPIN_POLLS
      category    : WINDLASS
      type        : int
      default     : 300
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        How often a waiting process polls before it begins to give its processor away. With more
        processes on the node than processors it does so at once.

    - name        : MPIR_CVAR_WINDLASS_YIELD_US
      category    : WINDLASS
      type        : int
      default     : 1000
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Microseconds of fruitless waiting after which a process sleeps until the network wakes it
        up. Negative: never.

    - name        : MPIR_CVAR_WINDLASS_NAP_MS
      category    : WINDLASS
      type        : int
      default     : 10
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Longest time in milliseconds a process sleeps before it looks around by itself.

    - name        : MPIR_CVAR_WINDLASS_SLICE_US
      category    : WINDLASS
      type        : int
      default     : 100
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        With more processes on the node than processors: how many microseconds at a stretch a
        process asks the kernel for (Linux 6.12 and later), so that what it waits for is not kept
        waiting by other programs. 0: what the kernel gives everybody.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define POLLS_PER_YIELD 16      /* between two offers of the lock to other threads */
#define POLLS_PER_OFFER 128     /* of the processor, where there are enough; 16 after a nap */
#define TESTS_PER_DOUBT 64      /* fruitless MPI_Test that look who keeps others waiting */
#define HOOKS_EVERY 16          /* quick waits between two that look at everything */
#define POLLS_PER_ALONE 8       /* between two offers of the processor that nobody has wanted */
#define OFFERS_PER_POLL 64      /* of the processor, in waits by memory, for a poll in between */
#define OFFERS_PER_LOOK 16      /* ... for a look at who waits where */
#define UNARMED_BEFORE_NAP 4    /* times the network would not be slept on: then without it */

/* The progress thread reads the count without our lock, and so do those who may ring for it. */
static void count_poll(void)
{
    uint64_t polls = wdl_adi.polls + 1;
    __atomic_store_n(&wdl_adi.polls, polls, __ATOMIC_RELAXED);
    if (wdl_adi.asynch && wdl_adi.bells)
        __atomic_store_n(&wdl_adi.bells[MPIR_Process.local_rank].polls, (uint32_t) polls,
                         __ATOMIC_RELAXED);
}

static int poll_once(int *events_out)
{
    int made = 0;
    wdl_adi_within++;
    int mpi_errno = MPIR_Progress_hook_exec_all(&made);
    count_poll();
    int events = wdl_adi.proc ? wdl_proc_progress(wdl_adi.proc) : 0;
    wdl_adi_within--;
    *events_out = events + made;
    return mpi_errno;
}

static unsigned long long now_ns(void)
{
    return wdl_adi_host_ops.now_ns(NULL);
}

/* Who does not poll waits for its turn where processes outnumber processors: others are patient. */
enum { BELL_AFTER_NS = 20000, BELL_AFTER_CROWDED_NS = 2000000 };

void wdl_adi_bells_begin(void)
{
    struct wdl_bell *bells = wdl_arena_bells();
    if (!bells)
        return;
    wdl_adi.bell_looks = wdl_adi_alloc((size_t) MPIR_Process.local_size *
                                       sizeof wdl_adi.bell_looks[0]);
    if (!wdl_adi.bell_looks)
        return; /* nobody is rung for by us, and we look for ourselves */
    wdl_adi.bell_after_ns = wdl_adi.spin_polls > 0 ? BELL_AFTER_NS : BELL_AFTER_CROWDED_NS;
    wdl_adi.bells_reach_all = MPIR_Process.size == MPIR_Process.local_size;
    wdl_adi.bells = bells;
}

void wdl_adi_bells_end(void)
{
    wdl_adi.bells = NULL;
    MPL_free(wdl_adi.bell_looks);
    wdl_adi.bell_looks = NULL;
}

/* Does this process wait for something that another's progress thread would do? */
static int waits_for_threads(void)
{
    return wdl_rma_waits(wdl_adi.proc) ||
        (MPIR_CVAR_WINDLASS_PROGRESS_THREAD == MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on &&
         wdl_coll_live(wdl_adi.proc) > 0);
}

static void look_at_bells(void)
{
    if (wdl_adi.bells && waits_for_threads())
        (void) wdl_bells_look(wdl_adi.bells, MPIR_Process.local_size, MPIR_Process.local_rank,
                              wdl_adi.bell_looks, now_ns(), wdl_adi.bell_after_ns);
}

/* Are operations to be handed over to this process? */
static void attend(int attends)
{
    if (likely(attends == wdl_adi.attends) || !wdl_adi.proc)
        return;
    wdl_adi.attends = attends;
    wdl_rma_attend(wdl_adi.proc, attends);
}

/* If another process takes the processor it has it for longer than it takes to find nobody: the
 * kernel that makes a call in 0.1 us finds nobody in 0.5 and switches twice in 2.8; a virtual
 * machine's that needs 1 us, in 1.3 and in 12.8. */
void wdl_adi_offer_begin(void)
{
    enum { CALLS = 16, NOBODY_NS = 800, CALLS_IN_OFFER = 2 };
    unsigned long long least = UINT64_MAX;
    for (int i = 0; i < CALLS; i++) {
        unsigned long long before = now_ns();
        (void) syscall(SYS_getppid);
        least = MPL_MIN(least, now_ns() - before);
    }
    wdl_adi.nobody_ns = NOBODY_NS + CALLS_IN_OFFER * least;
}

static void offer_at_once(void)
{
    wdl_adi.given++;
    sched_yield();
}

/* Has anybody taken it? */
static int offer_timed(void)
{
    unsigned long long before = now_ns();
    offer_at_once();
    return now_ns() - before >= wdl_adi.nobody_ns;
}

/* Where there are processors enough for the node's processes, another program may want one all the
 * same. Then it is offered after every fruitless poll, for a while. Two programs at a time of two
 * ranks each, on two processors, 100,000 gets of 128 KiB (MPICH's manyget): 33 s without, 13 so, 6
 * each by itself. */
static void offer_spare(void)
{
    enum { WANTED = 256 };
    if (!offer_timed()) {
        wdl_adi.wanted -= wdl_adi.wanted > 0;
        return;
    }
    if (!wdl_adi.slices) {
        wdl_adi.slices = 1;
        wdl_adi_slice_ask(MPIR_CVAR_WINDLASS_SLICE_US);
    }
    wdl_adi.wanted = WANTED;
}

/* In a wait. Looking at the clock each time would be 4 percent of a barrier. */
static void offer_processor(void)
{
    enum { SELDOM = 16, OFTEN = 2 };
    if (wdl_adi.spin_polls > 0) {
        offer_spare();
        return;
    }
    if (!wdl_adi.alone && ++wdl_adi.untimed % SELDOM != 0) {
        offer_at_once();
        return;
    }
    if (offer_timed())
        wdl_adi.in_vain = 0;
    else if (wdl_adi.in_vain < OFTEN)
        wdl_adi.in_vain++;
    wdl_adi.alone = wdl_adi.in_vain >= OFTEN;
    attend(wdl_adi.alone);
}

static void give_away(void)
{
    /* Threads wait for our lock, processes for our processor. CS_YIELD gives away the lock alone,
     * as MPICH is configured by default. */
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    offer_processor();
    if (wdl_adi.spin_polls == 0 && ++wdl_adi.offers % OFFERS_PER_LOOK == 0)
        wdl_adi_spread_look();
}

/* Of what is told by memory nobody wakes us up. Who sleeps an eighth of what it has waited is late
 * by little: did it sleep long, those who wait for it would fall asleep in turn, and so on at every
 * meeting. But each time costs some 20 us: after 50 ms it is a 64th. */
static long memory_nap_us(const MPID_Progress_state * state, unsigned long long waited_ns)
{
    enum { FIRST_US = 50, DOUBLINGS = 4, LONGEST_US = 6400 };
    long waited_us = (long) (waited_ns / 1000);
    long soon = MPL_MIN(FIRST_US << MPL_MIN(state->naps, DOUBLINGS), waited_us / 8);
    return MPL_MAX(soon, MPL_MIN(LONGEST_US, waited_us / 64));
}

static void nap(MPID_Progress_state * state, unsigned long long waited_ns)
{
    struct wdl_nm *nm = wdl_adi.proc->nm;
    struct pollfd fd = {.events = POLLIN,.fd = -1 };
    if (nm->ops->arm(nm, &fd.fd) == WDL_OK) {
        state->unarmed = 0;
    } else if (++state->unarmed < UNARMED_BEFORE_NAP) {   /* it has come just now */
        give_away();
        return;
    }
    long longest_us = 1000L * MPL_MAX(MPIR_CVAR_WINDLASS_NAP_MS, 0);
    int by_memory = state->unarmed || state->by_memory || wdl_coll_by_memory(wdl_adi.proc);
    long us = by_memory ? memory_nap_us(state, waited_ns) :
        1000L << (state->naps < 4 ? state->naps : 4);
#ifdef MPICH_IS_THREADED
    if (MPIR_ThreadInfo.isThreaded)
        us = MPL_MIN(us, 1000L);        /* another thread may do what we wait for */
#endif
    us = MPL_MIN(us, longest_us);
    state->naps++;
    struct timespec time = {.tv_sec = us / 1000000,.tv_nsec = us % 1000000 * 1000 };
    wdl_adi_spread_sleep();
    attend(0);
    __atomic_store_n(&wdl_adi.naps, wdl_adi.naps + 1, __ATOMIC_RELAXED);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    (void) ppoll(&fd, 1, &time, NULL);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    __atomic_store_n(&wdl_adi.naps, wdl_adi.naps - 1, __ATOMIC_RELAXED);
}

/* After this long in vain; 0: not yet. What a caller moves when it looks at what it waits for is
 * not in vain: a collective of so much data that it takes longer moves a part at a time, and if
 * both of its sides slept each time the other's part is not there they would sleep 64 times for 32
 * MiB. */
static unsigned long long may_nap_ns(MPID_Progress_state * state)
{
    if (!wdl_adi.can_sleep || wdl_adi.proc == NULL || MPIR_CVAR_WINDLASS_YIELD_US < 0)
        return 0;
    unsigned long long now = now_ns(), moved = wdl_coll_moved(wdl_adi.proc);
    if (state->idle_since_ns == 0 || moved != state->moved) {
        state->idle_since_ns = now;
        state->moved = moved;
        state->naps = 0;
    }
    unsigned long long waited = now - state->idle_since_ns;
    if (waited <= MPIR_CVAR_WINDLASS_YIELD_US * 1000ULL)
        return 0;
    return waited;
}

/* Where there are processors enough they are offered seldom: the kernel writes down who offers one,
 * where a copy from another process to this one (process_vm_writev) reads who it is, and takes a
 * third longer for it. */
static void be_patient(MPID_Progress_state * state)
{
    unsigned polls = ++state->polls, spin = wdl_adi.wanted > 0 ? 0 : (unsigned) wdl_adi.spin_polls;
    unsigned per_offer = state->naps ? POLLS_PER_YIELD : POLLS_PER_OFFER;
    if (wdl_adi.spin_polls == 0 && wdl_adi.alone && polls % POLLS_PER_ALONE != 0)
        return;
    if (spin > 0 && polls % POLLS_PER_YIELD != 0)
        return;
    if (spin > 0 && (polls <= spin || polls % per_offer != 0)) {
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        return;
    }
    if (wdl_adi.proc)
        wdl_coll_doubt(wdl_adi.proc);
    look_at_bells();
    unsigned long long waited = may_nap_ns(state);
    if (waited)
        nap(state, waited);
    else
        give_away();
}

void MPID_Progress_start(MPID_Progress_state * state)
{
    memset(state, 0, sizeof *state);
}

void MPID_Progress_end(MPID_Progress_state * state)
{
    (void) state;
    if (wdl_adi.spin_polls == 0)
        attend(0);
    wdl_adi_outside();
}

/* Does something come by stores of other processes, too? */
static int memory_matters(void)
{
    return wdl_coll_by_memory(wdl_adi.proc) || wdl_rma_by_memory(wdl_adi.proc);
}

/* Looks at the network alone, where nobody else wants the processor: most waits end here, without a
 * look at the hooks, nor at the core's modules unless something has come for them or they watch
 * memory. Hooks are not forgotten even where every look finds something. */
static int quick_look(MPID_Progress_state * state)
{
    int looks = state->by_memory ? 1 : 4;       /* memory has its turn, too */
    if (!wdl_adi.alone || !wdl_adi.proc || ++state->looks % HOOKS_EVERY == 0)
        return 0;
    count_poll();
    int by_memory = memory_matters();
    for (int i = 0; i < looks; i++)
        if ((by_memory ? wdl_proc_progress(wdl_adi.proc) : wdl_proc_look(wdl_adi.proc)) > 0)
            return 1;
    return 0;
}

/* The same for one message: where it is all that came, nothing else has to be looked at. */
static void quick_wait(const int *done)
{
    enum { LOOKS = 32 };
    struct wdl_nm *nm = wdl_adi.proc->nm;
    count_poll();
    if (!wdl_adi.alone || wdl_adi.polls % HOOKS_EVERY == 0 || memory_matters())
        return;
    for (int i = 0; i < LOOKS && !*done; i++) {
        int events = nm->ops->poll(nm);
        if (events > *done)
            wdl_proc_progress(wdl_adi.proc);
    }
}

int wdl_adi_wait(const int *done)
{
    int mpi_errno = MPI_SUCCESS;
    MPID_Progress_state state;
    quick_wait(done);
    if (*done) {
        wdl_adi_outside();
        return MPI_SUCCESS;
    }
    MPID_Progress_start(&state);
    while (!*done && mpi_errno == MPI_SUCCESS)
        mpi_errno = MPID_Progress_wait(&state);
    MPID_Progress_end(&state);
    return mpi_errno;
}

int MPID_Progress_wait(MPID_Progress_state * state)
{
    int events;
    if (quick_look(state)) {
        state->polls = state->naps = 0;
        state->idle_since_ns = 0;
        return MPI_SUCCESS;
    }
    int mpi_errno = poll_once(&events);
    if (events > 0) {
        state->polls = state->naps = 0;
        state->idle_since_ns = 0;
    } else {
        be_patient(state);
    }
    return mpi_errno;
}

/* Who waits for others meeting after meeting may never wait longer than its offers: the network has
 * its turn all the same, and the progress thread sees that it has. */
void wdl_adi_offer(void)
{
    offer_processor();
    unsigned offers = ++wdl_adi.offers;
    if (offers % OFFERS_PER_POLL == 0 && wdl_adi.proc) {
        count_poll();
        wdl_proc_progress(wdl_adi.proc);
    }
    if (offers % OFFERS_PER_LOOK == 0)
        wdl_adi_spread_look();
}

int wdl_adi_look(int *events_out)
{
    int mpi_errno = poll_once(events_out);
    wdl_adi_outside();
    return mpi_errno;
}

/* Beside a short collective that meets all others there a poll costs a part of it; but while others
 * send something each call is to take some. */
int wdl_adi_look_at_last(void)
{
    enum { PATIENCE = 64 };
    int events, mpi_errno = wdl_adi_look(&events);
    wdl_adi.unlooked = events > 0 ? 1 : PATIENCE;
    return mpi_errno;
}

/* Is the processor to be offered then? A program that loops over MPI_Test must not starve the
 * others on it. */
static int test(int *offers_out)
{
    int events, mpi_errno = poll_once(&events);
    if (events == 0 && wdl_adi.polls % TESTS_PER_DOUBT == 0 && wdl_adi.proc) {
        wdl_coll_doubt(wdl_adi.proc);
        look_at_bells();
    }
    *offers_out = events == 0 && wdl_adi.spin_polls == 0;
    wdl_adi_outside();
    return mpi_errno;
}

int MPID_Progress_test(MPID_Progress_state * state)
{
    int offers;
    if (state && state->waits)
        return MPID_Progress_wait(state);
    int mpi_errno = test(&offers);
    if (offers)
        offer_at_once();
    return mpi_errno;
}

/* MPICH's loops of these two only ever test. */
int MPID_Waitany(int count, MPIR_Request * requests[], int *index_out, MPI_Status * status)
{
    MPID_Progress_state state;
    MPID_Progress_start(&state);
    state.waits = 1;
    int mpi_errno = MPIR_Waitany_state(count, requests, index_out, status, &state);
    MPID_Progress_end(&state);
    return mpi_errno;
}

int MPID_Waitsome(int count, MPIR_Request * requests[], int *done_out, int indices[],
                  MPI_Status statuses[])
{
    MPID_Progress_state state;
    MPID_Progress_start(&state);
    state.waits = 1;
    int mpi_errno = MPIR_Waitsome_state(count, requests, done_out, indices, statuses, &state);
    MPID_Progress_end(&state);
    return mpi_errno;
}

int wdl_adi_look_and_offer(void)
{
    int offers, mpi_errno = test(&offers);
    if (offers)
        wdl_adi.refused = offer_timed() ? 0 : wdl_adi.refused + 1;
    return mpi_errno;
}

int MPID_Progress_poke(void)
{
    return MPID_Progress_test(NULL);
}
