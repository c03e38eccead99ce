/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Stopping the other threads of this process for a moment: a page that holds data of others is
 * copied and replaced while nobody can write there.
 *
 * Each thread is sent a signal, whose handler registers the thread and waits. A thread in a system
 * call gets there when the call has ended or was interrupted. Complete when a look at all threads
 * finds only those that had registered before the look began: a thread it misses would have been
 * made meanwhile, by a thread that was not stopped, which it would have found.
 */
#include "wdl_adi.h"
#include "share.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    THREADS_MAX = 1024,
    PATIENCE_MS = 1000,         /* for a thread that blocks the signal: perhaps not for long */
    STARVED_MS = 30000,         /* for others: they come when they get a processor */
    LOOK_NS = 50000,            /* between two looks at the threads */
    FRAME_BYTES = 16384,        /* around a handler's frame: the signal's, and its callees' */
    CALLER_BYTES = 1024         /* of who asks, above our own frame */
};

static struct {
    unsigned turn;              /* odd: stop */
    unsigned claimed;           /* places of threads taken, ever; each is used in turn */
    unsigned first;             /* of this stop */
    struct {
        unsigned turn;          /* written last: what it is filled in for */
        pid_t tid;
        uintptr_t frame;
    } thread[THREADS_MAX];
    sigset_t before;            /* the caller's signals */
} gate;

static void gate_wait(unsigned turn)
{
    struct timespec patience = {.tv_nsec = 10000000 };
    while (__atomic_load_n(&gate.turn, __ATOMIC_ACQUIRE) == turn)
        (void) syscall(SYS_futex, &gate.turn, FUTEX_WAIT_PRIVATE, turn, &patience, NULL, 0);
}

static void on_stop(int sig)
{
    unsigned turn = __atomic_load_n(&gate.turn, __ATOMIC_ACQUIRE);
    int before = errno;
    (void) sig;
    if (turn % 2 == 0)
        return;                 /* too late: nobody waits for us */
    unsigned i = __atomic_fetch_add(&gate.claimed, 1, __ATOMIC_RELAXED) % THREADS_MAX;
    gate.thread[i].frame = (uintptr_t) __builtin_frame_address(0);
    gate.thread[i].tid = (pid_t) syscall(SYS_gettid);
    __atomic_store_n(&gate.thread[i].turn, turn, __ATOMIC_RELEASE);     /* pairs with registered */
    gate_wait(turn);
    errno = before;
}

/* The handler is ours, or the signal was nobody's and it is ours from here on. */
static int handler_install(void)
{
    struct sigaction now, ours = {.sa_handler = on_stop,.sa_flags = SA_RESTART };
    if (sigaction(WDL_STOP_SIGNAL, NULL, &now) != 0)
        return 0;
    if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == on_stop)
        return 1;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL)
        return 0;
    sigfillset(&ours.sa_mask);
    return sigaction(WDL_STOP_SIGNAL, &ours, NULL) == 0;
}

/* How many threads have registered; 0 while one is at it. -1: too many. */
static int registered(void)
{
    unsigned n = __atomic_load_n(&gate.claimed, __ATOMIC_RELAXED) - gate.first;
    if (n > THREADS_MAX)
        return -1;
    for (unsigned i = 0; i < n; i++)    /* pairs with on_stop */
        if (__atomic_load_n(&gate.thread[(gate.first + i) % THREADS_MAX].turn, __ATOMIC_ACQUIRE) !=
            gate.turn)
            return 0;
    return (int) n;
}

static int is_registered(pid_t tid, int among)
{
    for (int i = 0; i < among; i++)
        if (gate.thread[(gate.first + (unsigned) i) % THREADS_MAX].tid == tid)
            return 1;
    return 0;
}

/* Directory entries as the system gives them: the C library's reading of directories allocates. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

/* Does the thread block the signal, or is that not to be known? Again without the C library. */
static int is_blocking(int tasks, const char *tid)
{
    char path[32], text[4096];
    snprintf(path, sizeof path, "%s/status", tid);
    int fd = (int) syscall(SYS_openat, tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno != ENOENT; /* it has ended */
    long n = syscall(SYS_read, fd, text, sizeof text - 1);
    (void) syscall(SYS_close, fd);
    text[n > 0 ? n : 0] = '\0';
    const char *mask = strstr(text, "SigBlk:");
    return !mask || (strtoull(mask + 7, NULL, 16) >> (WDL_STOP_SIGNAL - 1) & 1);
}

/* Are all stopped? -1: cannot be known. ask: send those that are not the signal. blocked, if not
 * NULL: does one of them block it? */
static int all_stopped(int tasks, pid_t self, int ask, int *blocked)
{
    _Alignas(8) char names[2048];
    int before = registered(), all = 1; /* before the look begins */
    long n;
    if (before < 0)
        return -1;
    (void) syscall(SYS_lseek, tasks, 0L, SEEK_SET);
    while ((n = syscall(SYS_getdents64, tasks, names, sizeof names)) > 0) {
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *) (const void *) (names + at);
            pid_t tid = (pid_t) strtol(e->name, NULL, 10);
            at += e->bytes;
            if (tid <= 0 || tid == self || is_registered(tid, before))
                continue;
            all = 0;
            if (ask && blocked)
                *blocked |= is_blocking(tasks, e->name);
            if (ask)
                (void) syscall(SYS_tgkill, getpid(), tid, WDL_STOP_SIGNAL);
        }
    }
    return n < 0 ? -1 : all;
}

static int frames_avoid(uintptr_t from, uintptr_t to)
{
    for (int i = registered() - 1; i >= 0; i--) {
        uintptr_t frame = gate.thread[(gate.first + (unsigned) i) % THREADS_MAX].frame;
        if (frame + FRAME_BYTES > from && frame < to + FRAME_BYTES)
            return 0;
    }
    return 1;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t) t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int wdl_share_runs_on(const char *from, size_t bytes)
{
    uintptr_t frame = (uintptr_t) __builtin_frame_address(0), at = (uintptr_t) from;
    return frame + CALLER_BYTES > at && frame < at + bytes + FRAME_BYTES;
}

int wdl_share_stop(const char *from, size_t bytes)
{
    pid_t self = (pid_t) syscall(SYS_gettid);
    sigset_t all;
    int64_t begin = now_ms(), willing = begin;  /* when nobody was known to block the signal */
    int tasks, stopped = 0;
    if (wdl_share_runs_on(from, bytes))
        return 0;
    tasks = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (tasks < 0)
        return 0;
    if (!handler_install()) {
        close(tasks);
        return 0;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &gate.before);
    gate.first = __atomic_load_n(&gate.claimed, __ATOMIC_RELAXED);
    __atomic_store_n(&gate.turn, gate.turn + 1, __ATOMIC_RELEASE);
    /* Ask again now and then: threads may have been made. A signal that is pending is not sent
     * twice, and a second handler's run comes too late. */
    for (int look = 0; stopped == 0; look++) {
        struct timespec pause = {.tv_nsec = LOOK_NS };
        int blocked = 0, ask = look % 64 == 0;
        if (look > 0)
            (void) syscall(SYS_nanosleep, &pause, NULL);
        stopped = all_stopped(tasks, self, ask, look > 0 ? &blocked : NULL);
        if (look > 0 && ask && !blocked)
            willing = now_ms();
        if (now_ms() - willing >= PATIENCE_MS || now_ms() - begin >= STARVED_MS)
            break;
    }
    close(tasks);
    if (stopped == 1 && frames_avoid((uintptr_t) from, (uintptr_t) from + bytes))
        return 1;
    wdl_share_resume();
    return 0;
}

void wdl_share_resume(void)
{
    __atomic_store_n(&gate.turn, gate.turn + 1, __ATOMIC_RELEASE);
    (void) syscall(SYS_futex, &gate.turn, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
    pthread_sigmask(SIG_SETMASK, &gate.before, NULL);
}
