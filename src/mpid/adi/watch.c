/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who died? hydra ends a job as soon as one process is gone, and says its process id. The rank is
 * said here, by a small process on each node, the watch: the survivors cannot, since hydra kills
 * them within microseconds.
 *
 * 1. The node's first process starts the watch in MPID_Init, and is known to it. The others join:
 * each connects to the watch's socket and says its rank. At the end it says BYE; the first process
 * says LAST, and waits until the watch is gone. 2. The watch holds a duplicate of every process's
 * connection to hydra. So hydra learns of a death when the watch, which learns of it first, has
 * spoken and ends: nobody is killed before that, and the first death is the one to be named. 3. It
 * is in a session of its own, where hydra's signals to the job do not reach it; no signal tells
 * its parent of its end, and the program's wait() does not see it. It holds the first process's
 * stderr, no other file of the job, and gives back what it has of the program's memory, which may
 * be much, and would be kept for it as it was. 4. Nothing depends on it: where it cannot be started
 * or reached, the job runs as it would without.
 */
#include "wdl_adi.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_WATCH
      category    : WINDLASS
      type        : boolean
      default     : true
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        Keep a small process on each node that names the rank of a process that dies before
        MPI_Finalize.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* the same on all architectures */
#endif
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum word { BYE = 'b', LAST = 'l', QUIET = 'q' };

static struct {
    int sock; /* of this process to the watch; 0: none */
    pid_t pid; /* of the watch, in the process that started it */
} self;

/* --- the watch --------------------------------------------------------------------------------
 * ----------------- */

struct seat { /* one process */
    int used, greeted;
    int sock, pidfd, pmi; /* pidfd, pmi: -1 if there is none */
    int rank;
    pid_t pid;
};

struct watch {
    int listener, epoll;
    int seats, closing; /* closing: LAST was said, nobody else will join */
    struct seat *seat;
    char host[64];
};

enum source { LISTENER, SOCK, PIDFD };

/* Where that cannot be there is no watch: it would not hear the end. */
static void look_at(struct watch *w, int fd, enum source source, int i)
{
    struct epoll_event event = {.events = EPOLLIN,
                                .data.u64 = (uint64_t) source << 32 | (uint32_t) i};
    if (epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
        _exit(0);
}

static void leave(struct watch *w, struct seat *seat)
{
    close(seat->sock);
    if (seat->pidfd >= 0)
        close(seat->pidfd);
    if (seat->pmi >= 0)
        close(seat->pmi);
    seat->used = 0;
    for (int i = 0; i < w->seats; i++)
        if (w->seat[i].used)
            return;
    if (w->closing)
        _exit(0);
}

/* How a process ended: the last field of its line in /proc, until its parent has taken note of
 * it. */
static void how(pid_t pid, char *text, size_t bytes)
{
    char line[1024], *last;
    snprintf(line, sizeof line, "/proc/%d/stat", (int) pid);
    int fd = open(line, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;
    snprintf(text, bytes, "is gone");
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return;
    line[n] = '\0';
    last = strrchr(line, ' ');
    int status = last ? atoi(last) : 0;
    if (WIFSIGNALED(status))
        snprintf(text, bytes, "was killed by signal %d", WTERMSIG(status));
    else if (last)
        snprintf(text, bytes, "ended with status %d", WEXITSTATUS(status));
}

static void speak(struct watch *w, const struct seat *seat)
{
    char text[256], end[64];
    how(seat->pid, end, sizeof end);
    int n = snprintf(text, sizeof text,
                     "windlass: rank %d of MPI_COMM_WORLD (process %d on %s) %s before it called "
                     "MPI_Finalize\n",
                     seat->rank, (int) seat->pid, w->host, end);
    (void) !write(STDERR_FILENO, text, (size_t) n);
    _exit(1); /* hydra takes over */
}

static void heard(struct watch *w, struct seat *seat, char word)
{
    if (word == QUIET)
        _exit(0);
    if (word == LAST)
        w->closing = 1;
    leave(w, seat);
}

static void died(struct watch *w, struct seat *seat)
{
    char word;
    if (recv(seat->sock, &word, 1, MSG_DONTWAIT) == 1)
        heard(w, seat, word); /* it had taken its leave */
    else
        speak(w, seat);
}

static void welcome(struct watch *w)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    int i = 0, sock = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);
    if (sock < 0)
        return;
    while (i < w->seats && w->seat[i].used)
        i++;
    if (i == w->seats || getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
        peer.uid != geteuid()) {
        close(sock);
        return;
    }
    w->seat[i] =
        (struct seat){.used = 1, .sock = sock, .pidfd = -1, .pmi = -1, .rank = -1, .pid = peer.pid};
    look_at(w, sock, SOCK, i);
}

/* The first message: the rank, and a descriptor beside it. */
static void greet(struct watch *w, int i)
{
    struct seat *seat = &w->seat[i];
    struct cmsghdr *c;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = &seat->rank, .iov_len = sizeof seat->rank};
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    if (recvmsg(seat->sock, &message, MSG_CMSG_CLOEXEC) != (ssize_t) sizeof seat->rank) {
        leave(w, seat);
        return;
    }
    c = CMSG_FIRSTHDR(&message);
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
        memcpy(&seat->pmi, CMSG_DATA(c), sizeof seat->pmi);
    seat->greeted = 1;
    seat->pidfd = (int) syscall(SYS_pidfd_open, seat->pid, 0);
    if (seat->pidfd >= 0)
        look_at(w, seat->pidfd, PIDFD, i);
}

static void listen_to(struct watch *w, int i)
{
    struct seat *seat = &w->seat[i];
    char word;
    if (!seat->greeted) {
        greet(w, i);
        return;
    }
    ssize_t n = recv(seat->sock, &word, 1, MSG_DONTWAIT);
    if (n == 1)
        heard(w, seat, word);
    else if (n == 0 && seat->pidfd < 0)
        speak(w, seat);
    else if (n == 0) /* its other descriptor will tell */
        (void) epoll_ctl(w->epoll, EPOLL_CTL_DEL, seat->sock, NULL);
}

/* One event at a time: the kernel queues them in the order they happened. */
_Noreturn static void run(struct watch *w)
{
    struct epoll_event event;
    for (;;) {
        int n = epoll_wait(w->epoll, &event, 1, -1);
        if (n < 0 && errno != EINTR)
            _exit(0);
        if (n != 1)
            continue;
        int i = (int) (uint32_t) event.data.u64;
        switch ((enum source)(event.data.u64 >> 32)) {
        case LISTENER:
            welcome(w);
            break;
        case SOCK:
            listen_to(w, i);
            break;
        case PIDFD:
            died(w, &w->seat[i]);
            break;
        }
    }
}

/* What this process has of the program that started it and does not need. */
static void strip(struct watch *w)
{
    struct rlimit files = {.rlim_cur = 1024, .rlim_max = 1024};
    for (int s = 1; s < SIGRTMIN; s++)
        signal(s, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    (void) !chdir("/");
    prctl(PR_SET_NAME, "windlass-watch");
    getrlimit(RLIMIT_NOFILE, &files);
    int *kept[] = {&w->listener, &w->seat[0].sock, &w->seat[0].pmi};
    enum { KEPT = sizeof kept / sizeof kept[0], FIRST = STDERR_FILENO + 1 };
    for (int i = 0; i < KEPT; i++) /* out of the way of the places they are to have */
        *kept[i] = fcntl(*kept[i], F_DUPFD, FIRST + KEPT);
    for (int i = 0; i < KEPT; i++)
        *kept[i] = *kept[i] < 0 ? -1 : dup2(*kept[i], FIRST + i);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    if (syscall(SYS_close_range, FIRST + KEPT, ~0u, 0) != 0)
        for (int fd = FIRST + KEPT; fd < (int) files.rlim_cur; fd++)
            close(fd);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* One mapping, by its line: no more than its ends is kept of a large one that is in no file. Behind
 * a library's data such a one begins with what the library has, and what is used here at all lies
 * near the thread's own. (The heap has things the loader needs.) */
static void forget_mapping(const char *line)
{
    enum { LARGE = 1 << 20, END = 256 << 10 };
    unsigned long from, to, offset, inode;
    char access[8];
    int path = 0;
    if (sscanf(line, "%lx-%lx %7s %lx %*s %lu%n", &from, &to, access, &offset, &inode, &path) < 5 ||
        strcmp(access, "rw-p") != 0 || inode != 0 || to - from < LARGE ||
        line[path + (int) strspn(line + path, " ")] != '\0')
        return;
    uintptr_t own = (uintptr_t) &errno & ~(uintptr_t) (END - 1);
    from += END;
    to -= END;
    if (own + 2 * END <= from || own - END >= to) {
        (void) madvise((void *) from, to - from, MADV_DONTNEED);
        return;
    }
    if (own - END > from)
        (void) madvise((void *) from, own - END - from, MADV_DONTNEED);
    if (own + 2 * END < to)
        (void) madvise((void *) (own + 2 * END), to - own - 2 * END, MADV_DONTNEED);
}

/* A sanitizer that the program runs under has what it needs in such memory, and comes into our
 * calls, too. */
extern void __asan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

static int is_sanitized(void)
{
    return __asan_init || __msan_init || __tsan_init;
}

/* The program's memory. */
static void forget(void)
{
    if (is_sanitized())
        return;
    char text[8192];
    size_t have = 0;
    ssize_t n;
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (n = read(fd, text + have, sizeof text - have)) > 0) {
        char *line = text, *end;
        have += (size_t) n;
        while ((end = memchr(line, '\n', have - (size_t) (line - text)))) {
            *end = '\0';
            forget_mapping(line);
            line = end + 1;
        }
        have -= (size_t) (line - text);
        memmove(text, line, have);
    }
    if (fd >= 0)
        close(fd);
}

/* --- the processes
 * --------------------------------------------------------------------------------------------- */

static int number(const char *variable, int standard)
{
    const char *value = getenv(variable);
    return value && *value ? atoi(value) : standard;
}

/* hydra's view of the node: MPIR_Process's may be one that settings divide. */
static int local_rank(void)
{
    return number("MPI_LOCALRANKID", MPIR_Process.local_rank);
}

static int local_size(void)
{
    return number("MPI_LOCALNRANKS", MPIR_Process.local_size);
}

static int is_wanted(void)
{
    return MPIR_CVAR_WINDLASS_WATCH && MPIR_Process.size > 1;
}

/* The job's own name in the kernel's table of socket names, which needs no file. */
static socklen_t name_of(struct sockaddr_un *at)
{
    memset(at, 0, sizeof *at);
    at->sun_family = AF_UNIX;
    int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "windlass.%u.%s",
                     (unsigned) geteuid(), MPIR_pmi_job_id());
    size_t most = sizeof at->sun_path - 2;
    return (socklen_t) (offsetof(struct sockaddr_un, sun_path) + 1 +
                        ((size_t) n < most ? (size_t) n : most));
}

static int pmi_fd(void)
{
    int fd = number("PMI_FD", -1);
    return fd >= 0 && fcntl(fd, F_GETFD) >= 0 ? fd : -1;
}

/* The watch's life; the process that started it has the first seat. */
_Noreturn static void watch(struct watch *w, int sock, pid_t parent)
{
    w->seat[0] = (struct seat){.used = 1,
                               .greeted = 1,
                               .sock = sock,
                               .pmi = pmi_fd(),
                               .rank = MPIR_Process.rank,
                               .pid = parent};
    strip(w);
    forget();
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (w->epoll < 0)
        _exit(0);
    w->seat[0].pidfd = (int) syscall(SYS_pidfd_open, parent, 0);
    look_at(w, w->listener, LISTENER, 0);
    look_at(w, w->seat[0].sock, SOCK, 0);
    if (w->seat[0].pidfd >= 0)
        look_at(w, w->seat[0].pidfd, PIDFD, 0);
    run(w);
}

static int listener_make(int backlog)
{
    struct sockaddr_un at;
    socklen_t bytes = name_of(&at);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && (bind(fd, (struct sockaddr *) &at, bytes) != 0 || listen(fd, backlog) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void wdl_adi_watch_begin(void)
{
    int pair[2] = {-1, -1};
    struct watch w = {.seats = local_size()};
    pid_t parent = getpid();
    if (!is_wanted() || local_rank() != 0 || w.seats < 1)
        return;
    gethostname(w.host, sizeof w.host - 1);
    w.seat = MPL_calloc((size_t) w.seats, sizeof *w.seat, MPL_MEM_OTHER);
    w.listener = listener_make(w.seats);
    if (w.seat && w.listener >= 0 &&
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0) {
        /* a fork without a signal at its end, and without what the program has hooked into
         * fork() */
        self.pid = (pid_t) syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
        if (self.pid == 0)
            watch(&w, pair[1], parent);
        close(pair[1]);
        if (self.pid > 0)
            self.sock = pair[0];
        else
            close(pair[0]);
    }
    if (w.listener >= 0)
        close(w.listener);
    MPL_free(w.seat);
}

/* Say who this is; the connection to hydra goes along. */
static int introduce(int sock)
{
    int pmi = pmi_fd(), rank = MPIR_Process.rank;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec iov = {.iov_base = &rank, .iov_len = sizeof rank};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (pmi >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof pmi);
        memcpy(CMSG_DATA(c), &pmi, sizeof pmi);
    }
    return sendmsg(sock, &message, MSG_NOSIGNAL) == (ssize_t) sizeof rank;
}

void wdl_adi_watch_join(void)
{
    struct sockaddr_un at;
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (!is_wanted() || self.sock > 0)
        return;
    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return;
    if (connect(sock, (struct sockaddr *) &at, name_of(&at)) == 0 &&
        getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 && peer.uid == geteuid() &&
        introduce(sock))
        self.sock = sock;
    else
        close(sock);
}

static void say(enum word word)
{
    char byte = (char) word;
    if (self.sock > 0)
        (void) !send(self.sock, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Its end of the socket is closed when it ends. Who aborts waits for that, a while: hydra would
 * not, and the watch would be there still when mpiexec is not. */
void wdl_adi_watch_quiet(void)
{
    enum { PATIENCE_MS = 2000 };
    struct pollfd end = {.fd = self.sock, .events = POLLIN};
    say(QUIET);
    if (self.sock > 0)
        while (poll(&end, 1, PATIENCE_MS) < 0 && errno == EINTR)
            ;
}

void wdl_adi_watch_end(void)
{
    say(self.pid > 0 ? LAST : BYE);
    if (self.sock > 0)
        close(self.sock);
    if (self.pid > 0) /* it ends when all have said BYE */
        (void) waitpid(self.pid, NULL, __WCLONE);
    memset(&self, 0, sizeof self);
}
