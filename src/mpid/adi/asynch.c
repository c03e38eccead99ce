/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The progress thread: serves what needs this process's processor (operations that come as
 * messages, operations UCX carries out by its own software, collectives that were begun and not
 * waited for) while the program computes. It lives from the first window that wants it, or with the
 * setting `on` the first such collective, to MPID_Finalize, and works while there is such a window,
 * or once there has been such a collective: what one has sent may not have left the network's
 * library when it is over.
 *
 * It sleeps on the network's descriptor, so a quiet process costs nothing. Where the program
 * itself polls, that descriptor would wake the thread for nothing: then it only looks whether the
 * program has turned away from MPI since, and dozes in between (bell.h): who waits meanwhile rings,
 * if it is on this node; for the others it looks every 2 ms and then every 4, or 8 where processes
 * outnumber processors, every 16 where there are none. A look is dear: 23 to 50 us of the program's
 * time on a virtual machine, for the timer. Where processes outnumber processors it upsets their
 * turns besides: who is given the processor next may keep it for a slice although it offers it
 * (Linux 6.18, every process in a session of its own, fence of 8 ranks on 2 processors 5.7 us
 * without threads, 14 with a look every millisecond, 7 with one every 8). For the same reason it
 * goes on looking for a while when the last window that wants it is gone: the next one need not
 * wake it.
 *
 * Collectives within a node go by stores that wake nobody: while one of them is what is waited for,
 * the thread looks by itself, less and less often. So it does while a message has come that cannot
 * be taken yet: it may be the program, in an operator of a collective, around which MPICH leaves
 * its lock, that has to go on first.
 *
 * However much comes, the program has its turn: the thread goes when it waits, and comes again a
 * while later.
 *
 * A window that wants the thread makes MPICH lock every call, as it does for MPI_THREAD_MULTIPLE;
 * with the last such window that ends, unless there has been a collective that wants it. Under
 * MPI_THREAD_MULTIPLE that is MPICH's global lock; else the gate (gate.h), which costs the program
 * next to nothing. The thread itself locks by hand, since what MPICH's macros do depends on that
 * switch.
 */
#define _GNU_SOURCE
#include "bell.h"
#include "gate.h"
#include "rma.h"
#include "share.h"
#include "mpid/coll/coll.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_PROGRESS_THREAD
      category    : WINDLASS
      type        : enum
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : |-
        Whether a thread serves one-sided operations, and nonblocking collectives that the engine
        of windlass carries out, while the program computes. Operators of such collectives may be
        called by that thread, of GASNet's functions only those that are AMSAFE. Of the three models
        of progress in GASNet's notes off is polling, on the thread that blocks until there is
        something to do, auto interrupts while there may be.
        auto - while there is a window that can receive messages
        on   - while there is a window, and from the first such collective on
        off  - never: operations wait for the target to call MPI

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum {
    LOOK_US = 1000,             /* twice that is between two looks at a program that polls, then */
    LOOK_MOST_US = 4000,        /* at most this, by doubling while it does; */
    LOOK_CROWDED_US = 8000,     /* where each costs the program its turn; */
    LOOK_RUNG_US = 16000,       /* where nobody waits for it who does not ring */
    SLEEP_US = 20000,           /* longest sleep: a peer's first message may not wake us up */
    UNHEARD_US = 100,           /* the same where nothing will wake it, at first; twice as long */
    UNHEARD_MOST_US = 8000,     /* each time nothing has come, to this, and a 64th longer from */
    UNHEARD_LAST_US = 16000,    /* there on, to this: under 1 % of a core where waking is dear */
    TURN_US = 500,              /* serving without a pause, where nobody can say that he waits */
    IDLE_LOOKS = 100,           /* without a window, before it sleeps until there is one */
    SLICE_US = 100              /* of the processor, asked for so that we get it soon */
};

struct wdl_adi_asynch {
    pthread_t thread;
    int bell;                   /* eventfd: look around */
    struct wdl_bell *own;       /* of wdl_adi.bells, where there are any */
    int asleep;                 /* only the bell wakes the thread */
    int windows;                /* that want the thread; the rest under the global lock too */
    int colls;                  /* from now on it serves collectives, too */
    int lifted;                 /* we made MPICH take its lock */
    int stopped;                /* MPI_Finalize has begun */
    int ending;
};

#ifdef MPICH_IS_THREADED

/* In the program's calls. */
static void enter(void)
{
    if (wdl_gate.on)
        wdl_gate_enter(&wdl_gate);
    else
        wdl_section_enter(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static void leave(void)
{
    if (wdl_gate.on)
        wdl_gate_leave(&wdl_gate);
    else
        wdl_section_leave(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* Of all calls of the program that are inside: their exits will not. */
static void leave_all(void)
{
    if (wdl_gate.on)
        wdl_gate_quit(&wdl_gate);
    else
        wdl_section_quit(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* The thread. */
static void come(void)
{
    if (wdl_gate.on)
        wdl_gate_come(&wdl_gate);
    else
        wdl_section_enter(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static void go(void)
{
    if (wdl_gate.on)
        wdl_gate_go(&wdl_gate);
    else
        wdl_section_leave(&MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

/* Whether the program has looked at the network since the last time, or sleeps on it. */
static int program_polls(uint64_t *seen)
{
    uint64_t polls = __atomic_load_n(&wdl_adi.polls, __ATOMIC_RELAXED);
    int does = polls != *seen || __atomic_load_n(&wdl_adi.naps, __ATOMIC_RELAXED) > 0;
    *seen = polls;
    return does;
}

/* Asked without the lock, too. */
static int has_work(const struct wdl_adi_asynch *asynch)
{
    return __atomic_load_n(&asynch->windows, __ATOMIC_ACQUIRE) > 0 ||
        __atomic_load_n(&asynch->colls, __ATOMIC_ACQUIRE);
}

/* The next sleep where nothing will wake it, behind one of so long. */
static long longer(long sleep_us)
{
    long next = sleep_us < UNHEARD_MOST_US ? 2 * sleep_us : sleep_us + sleep_us / 64;
    long most = sleep_us < UNHEARD_MOST_US ? UNHEARD_MOST_US : UNHEARD_LAST_US;
    return next < most ? next : most;
}

/* Is it the program's turn, since the thread has come, however much there still is to serve?
 * MPICH's mutex does not say who waits. */
static int turn_is_over(uint64_t since)
{
    return wdl_gate.on ? wdl_gate_is_awaited(&wdl_gate) : now_us() - since > TURN_US;
}

/* Serve what is there. Returns the descriptor to sleep on, or -1: only on the bell; and how long at
 * most, by how long it was the last time. */
static int serve(struct wdl_adi_asynch *asynch, long *sleep_us)
{
    int fd = -1, unheard = 0, events = 0;
    come();
    /* windows freed in MPI_Finalize go without the lock */
    if (has_work(asynch) && !asynch->stopped) {
        struct wdl_nm *nm = wdl_adi.proc->nm;
        int status, over = 0, before;
        uint64_t since = now_us();
        wdl_rma_aside(wdl_adi.proc, 1);
        wdl_coll_aside(wdl_adi.proc, 1);
        do {
            before = events;
            while (!over && wdl_proc_progress(wdl_adi.proc) > 0) {
                events++;
                over = turn_is_over(since);
            }
            status = over ? WDL_AGAIN : nm->ops->arm(nm, &fd);
        } while (!over && status == WDL_AGAIN && events > before);
        wdl_coll_aside(wdl_adi.proc, 0);
        wdl_rma_aside(wdl_adi.proc, 0);
        unheard = status == WDL_AGAIN || (asynch->colls && wdl_coll_by_memory(wdl_adi.proc));
    }
    go();
    if (!unheard)
        *sleep_us = SLEEP_US;
    else if (events > 0 || *sleep_us > UNHEARD_LAST_US)
        *sleep_us = UNHEARD_US;
    else
        *sleep_us = longer(*sleep_us);
    return fd;
}

/* Longest time between two looks at a program that polls. */
static long look_most_us(void)
{
    if (wdl_adi.bells && wdl_adi.bells_reach_all)
        return LOOK_RUNG_US;
    return wdl_adi.spin_polls == 0 ? LOOK_CROWDED_US : LOOK_MOST_US;
}

/* After so many looks without work: is the bell to wake us? */
static int falls_asleep(struct wdl_adi_asynch *asynch, int idle)
{
    int tired = idle > IDLE_LOOKS;
    /* pairs with the read in wake, which writes, too: whichever is second sees all that the other
     * has written before */
    __atomic_exchange_n(&asynch->asleep, tired, __ATOMIC_ACQ_REL);
    return tired && !has_work(asynch);
}

/* Until the network or the program rings; NULL: no longer time. */
static void sleep_on(const struct wdl_adi_asynch *asynch, int fd, const struct timespec *time)
{
    struct pollfd fds[] = { {.fd = asynch->bell,.events = POLLIN},
        {.fd = fd,.events = POLLIN}     /* -1: none */
    };
    uint64_t rung;
    if (ppoll(fds, 2, time, NULL) > 0 && fds[0].revents)
        (void) !read(asynch->bell, &rung, sizeof rung);
}

static void *serve_all(void *arg)
{
    struct wdl_adi_asynch *asynch = arg;
    uint64_t seen = 0;
    int idle = 0, rung = 0;
    long look_us = LOOK_US, sleep_us = SLEEP_US;
    wdl_adi_slice_ask(SLICE_US);
    while (!__atomic_load_n(&asynch->ending, __ATOMIC_ACQUIRE)) {
        idle = has_work(asynch) ? 0 : idle + 1;
        /* Asked without the lock: a holder without a processor keeps the program waiting. Who has
         * rung knows better. */
        int polls = program_polls(&seen) && !rung, tired = falls_asleep(asynch, idle);
        rung = 0;
        if (idle == 0 && !polls) {
            int fd = serve(asynch, &sleep_us);
            struct timespec time = {.tv_nsec = sleep_us * 1000 };
            look_us = LOOK_US;
            sleep_on(asynch, fd, &time);
            continue;
        }
        look_us = 2 * look_us < look_most_us()? 2 * look_us : look_most_us();
        if (idle == 0 && asynch->own) {
            rung = wdl_bell_doze(asynch->own, look_us, &asynch->ending);
        } else {
            struct timespec time = {.tv_nsec = look_us * 1000L };
            sleep_on(asynch, -1, tired ? NULL : &time);
        }
    }
    return NULL;
}

static void ring(const struct wdl_adi_asynch *asynch)
{
    uint64_t one = 1;
    (void) !write(asynch->bell, &one, sizeof one);
}

static struct wdl_adi_asynch *asynch_start(void)
{
    struct wdl_adi_asynch *asynch = wdl_adi_alloc(sizeof *asynch);
    sigset_t all, before;
    int err;
    if (!asynch)
        return NULL;
    asynch->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (asynch->bell < 0)
        goto fn_fail;
    asynch->own = wdl_adi.bells ? &wdl_adi.bells[MPIR_Process.local_rank] : NULL;
    if (!MPIR_ThreadInfo.isThreaded)    /* else other threads look at it, and it is off for good */
        wdl_gate.on = wdl_gate_works();
    sigfillset(&all);           /* signals are the program's, */
    sigdelset(&all, WDL_STOP_SIGNAL);   /* but we are stopped with its threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&asynch->thread, NULL, serve_all, asynch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err == 0)
        return asynch;
    close(asynch->bell);
  fn_fail:
    MPL_free(asynch);
    return NULL;
}

/* Can another process's operation need this process's processor? */
int wdl_adi_asynch_wanted(const MPIR_Win * win)
{
    int mapped = wdl_adi_is_provided(win) || win->dev.shared.base;
    if (win->comm_ptr->local_size < 2 || !wdl_adi.can_sleep)
        return 0;
    switch (MPIR_CVAR_WINDLASS_PROGRESS_THREAD) {
        case MPIR_CVAR_WINDLASS_PROGRESS_THREAD_off:
            return 0;
        case MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on:
            return 1;
        default:
            return !mapped || !win->dev.segment.whole;
    }
}

/* The thread, with MPICH's locking; NULL: there is none to be had, and what it would serve waits
 * for the program's calls. */
static struct wdl_adi_asynch *asynch_lift(void)
{
    struct wdl_adi_asynch *asynch = wdl_adi.asynch;
    if (!asynch)
        asynch = wdl_adi.asynch = asynch_start();
    if (asynch && !MPIR_ThreadInfo.isThreaded) {
        enter();                /* this call's exit leaves */
        MPIR_ThreadInfo.isThreaded = 1;
        asynch->lifted = 1;
    }
    return asynch;
}

/* There is work. */
static void wake(struct wdl_adi_asynch *asynch)
{
    /* pairs with the exchange in falls_asleep */
    if (__atomic_fetch_or(&asynch->asleep, 0, __ATOMIC_ACQ_REL))
        ring(asynch);
}

void wdl_adi_asynch_hold(MPIR_Win * win)
{
    struct wdl_adi_asynch *asynch = wdl_adi_asynch_wanted(win) ? asynch_lift() : NULL;
    if (!asynch)
        return;
    win->dev.is_served = 1;
    __atomic_store_n(&asynch->windows, asynch->windows + 1, __ATOMIC_RELEASE);
    wake(asynch);
}

void wdl_adi_asynch_begun(void)
{
    struct wdl_adi_asynch *asynch = wdl_adi.asynch;
    if (MPIR_CVAR_WINDLASS_PROGRESS_THREAD != MPIR_CVAR_WINDLASS_PROGRESS_THREAD_on ||
        !wdl_adi.can_sleep || wdl_coll_live(wdl_adi.proc) == 0 ||
        (asynch && (asynch->colls || asynch->stopped)))
        return;
    asynch = asynch_lift();
    if (!asynch)
        return;
    __atomic_store_n(&asynch->colls, 1, __ATOMIC_RELEASE);
    wake(asynch);
}

void wdl_adi_asynch_release(MPIR_Win * win)
{
    struct wdl_adi_asynch *asynch = wdl_adi.asynch;
    if (!win->dev.is_served)
        return;
    win->dev.is_served = 0;
    __atomic_store_n(&asynch->windows, asynch->windows - 1, __ATOMIC_RELEASE);
    if (asynch->windows > 0 || asynch->colls || !asynch->lifted)
        return;
    asynch->lifted = 0;
    if (MPIR_ThreadInfo.isThreaded) {   /* else MPI_Finalize has ended the locking, and this call */
        MPIR_ThreadInfo.isThreaded = 0; /* came without the lock */
        leave_all();
    }
}

void wdl_adi_asynch_stop(void)
{
    struct wdl_adi_asynch *asynch = wdl_adi.asynch;
    if (!asynch || MPIR_ThreadInfo.isThreaded || asynch->stopped ||
        (asynch->windows == 0 && !asynch->colls))
        return;
    leave_all();                /* this call may be an error handler's, within another */
    enter();                    /* the thread may be at it */
    asynch->stopped = 1;
    leave();
}

void wdl_adi_asynch_end(void)
{
    struct wdl_adi_asynch *asynch = wdl_adi.asynch;
    if (!asynch)
        return;
    __atomic_store_n(&asynch->ending, 1, __ATOMIC_SEQ_CST);
    ring(asynch);
    if (asynch->own)
        wdl_bell_ring(asynch->own);
    pthread_join(asynch->thread, NULL);
    close(asynch->bell);
    MPL_free(asynch);
    wdl_adi.asynch = NULL;
}

#else /* without threads nobody serves */

int wdl_adi_asynch_wanted(const MPIR_Win * win)
{
    (void) win;
    return 0;
}

void wdl_adi_asynch_stop(void)
{
}

void wdl_adi_asynch_hold(MPIR_Win * win)
{
    (void) win;
}

void wdl_adi_asynch_begun(void)
{
}

void wdl_adi_asynch_release(MPIR_Win * win)
{
    (void) win;
}

void wdl_adi_asynch_end(void)
{
}

#endif
