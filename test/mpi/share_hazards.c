/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * share_hazards: what sharing a window's pages in place (info key windlass_share_pages) must not
 * harm: memory that is not plain, processes out of descriptors, children, threads beside it. Where
 * it is refused, the window works all the same.
 */
#define _GNU_SOURCE
#include "shared.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static int node_size;

/* --- memory that is refused ------------------------------------------------------------------- */

/* A window of whose ranks one has such memory: not shared anywhere, and correct. */
static void refused(const char *what, char *odd)
{
    enum { BYTES = 3 * PAGE };
    size_t n[64];
    char *plain = t_alloc(BYTES), *base = t_rank == t_size - 1 ? odd : plain;
    for (int r = 0; r < t_size; r++)
        n[r] = BYTES;
    memset(plain, 5, BYTES);
    char before[8];
    strcpy(before, rights(base));
    MPI_Win win = create(base, BYTES);
    t_check(!told(win), "%s is shared", what);
    t_check(strcmp(rights(base), before) == 0, "%s: rights were %s and are %s", what, before,
            rights(base));
    use(win, base, n);
    MPI_Win_free(&win);
    t_check(plain[0] == 5 && plain[BYTES - 9] == 5, "%s: contents", what);
    free(plain);
}

static void *mapping(int flags, int fd)
{
    void *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (at == MAP_FAILED) {
        printf("no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* --- memory of malloc's arenas ---------------------------------------------------------------- */

enum { ARENA = 64 << 20, ARENAS = 8 };
static pthread_barrier_t all_have;

static void *first_of_arena(void *arg)
{
    char **block = arg;
    *block = malloc(3 * PAGE);
    pthread_barrier_wait(&all_have);    /* the arena is not free for the next thread */
    pthread_barrier_wait(&all_have);
    free(*block);
    return NULL;
}

/* The page that begins with an arena's own data. */
static void arena_head(void)
{
    pthread_t thread[ARENAS];
    char *block[ARENAS], *found = NULL;
    pthread_barrier_init(&all_have, NULL, ARENAS + 1);
    for (int i = 0; i < ARENAS; i++)
        pthread_create(&thread[i], NULL, first_of_arena, &block[i]);
    pthread_barrier_wait(&all_have);
    for (int i = 0; i < ARENAS; i++)
        if (block[i] && (uintptr_t) block[i] % ARENA < PAGE)
            found = block[i];
    t_check(found, "no arena begins with a block");
    if (found) {
        memset(found, 2, 3 * PAGE);
        refused("the head of an arena", found);
    }
    pthread_barrier_wait(&all_have);
    for (int i = 0; i < ARENAS; i++)
        pthread_join(thread[i], NULL);
}

/* Of static data, what is not in a page of the program's file is plain. */
static void static_data(void)
{
    static char given[3 * PAGE] = {1}, zero[5 * PAGE];
    char *base = zero + PAGE;
    refused("data that the program's file has", given);
    memset(base, 4, 3 * PAGE);
    MPI_Win win = create(base, 3 * PAGE);
    t_check(told(win), "data that begin as zeros are not shared");
    expect_rights(base, 3 * PAGE, "rw-s", "static data");
    MPI_Win_free(&win);
    expect_rights(base, 3 * PAGE, "rw-p", "static data freed");
    for (int i = 0; i < 3 * PAGE; i++)
        t_check(base[i] == 4, "byte %d of static data is %d", i, base[i]);
}

static void odd_memory(void)
{
    char stack[3 * PAGE], *at;
    memset(stack, 1, sizeof stack);
    refused("the stack", stack);
    arena_head();

    FILE *file = tmpfile();
    t_check(file && ftruncate(fileno(file), 3 * PAGE) == 0, "no file to map");
    at = mapping(MAP_SHARED, fileno(file));
    refused("a file", at);
    munmap(at, 3 * PAGE);
    at = mapping(MAP_PRIVATE, fileno(file));
    refused("a file mapped privately", at);
    munmap(at, 3 * PAGE);
    fclose(file);

    at = mapping(MAP_SHARED | MAP_ANONYMOUS, -1);
    refused("shared memory", at);
    munmap(at, 3 * PAGE);

    at = mapping(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    madvise(at, 3 * PAGE, MADV_DONTFORK);
    refused("memory that children do not have", at);
    munmap(at, 3 * PAGE);

    at = mapping(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    t_check(mlock(at + PAGE, PAGE) == 0, "a page cannot be locked");
    refused("locked memory", at);
    munmap(at, 3 * PAGE);
}

/* One rank is out of descriptors: for its own pages, or for the others'. The window's other shared
 * memory takes one, if there is another rank on the node. */
static void denied(int spare)
{
    enum { BYTES = 2 * PAGE };
    MPI_Comm fresh; /* has no memory left over from another window */
    struct rlimit before, less;
    size_t n[64];
    char *base = mapping(MAP_PRIVATE | MAP_ANONYMOUS, -1);
    for (int r = 0; r < t_size; r++)
        n[r] = BYTES;
    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    getrlimit(RLIMIT_NOFILE, &before);
    less = before;
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    less.rlim_cur = (rlim_t) (fd + spare + (node_size > 1));
    memset(base, 3, BYTES);
    if (t_rank == t_size - 1)
        setrlimit(RLIMIT_NOFILE, &less);
    MPI_Win win;
    t_expect(MPI_SUCCESS, MPI_Win_create(base, BYTES, 1, wish, fresh, &win));
    setrlimit(RLIMIT_NOFILE, &before);
    t_check(!told(win), "shared with %d descriptors", spare);
    expect_rights(base, BYTES, "rw-p", "denied");
    use(win, base, n);
    MPI_Win_free(&win);
    t_check(base[0] == 3 && base[BYTES - 9] == 3, "denied: contents");
    MPI_Comm_free(&fresh);
    munmap(base, 3 * PAGE);
}

/* --- stacks of the program's own -------------------------------------------------------------- */

enum { STACK = 256 * PAGE };

static struct {
    ucontext_t caller, own;
    char *stack, *window;
    MPI_Win win;
} fiber;

/* A stack that ends so many bytes before the end of its last page. */
static void run_on_fiber(void (*body) (void), size_t spare)
{
    getcontext(&fiber.own);
    fiber.own.uc_stack.ss_sp = fiber.stack;
    fiber.own.uc_stack.ss_size = STACK - spare;
    fiber.own.uc_link = &fiber.caller;
    makecontext(&fiber.own, body, 0);
    swapcontext(&fiber.caller, &fiber.own);
}

/* Far below an array, and in another of the system's mappings. */
__attribute__((noinline)) static void deep_down(char *array)
{
    volatile char between[40 * PAGE];
    char *page = (char *) (uintptr_t) between + 30 * PAGE;
    between[0] = between[sizeof between - 1] = 1;
    refused("the far end of a stack", array);
    page -= (uintptr_t) page % PAGE;
    t_check(madvise(page, PAGE, MADV_DONTDUMP) == 0, "a page cannot be kept from dumps");
    refused("the far end of a stack in parts", array);
    t_check(madvise(page, PAGE, MADV_DODUMP) == 0, "a page cannot be dumped again");
}

static void on_own_stack(void)
{
    char array[3 * PAGE];
    memset(array, 1, sizeof array);
    refused("a stack of the program's own", array);
    deep_down(array);
}

static void beside_stack(void)
{
    fiber.win = create(fiber.window, 3 * PAGE);
    t_check(told(fiber.win), "memory behind a stack's guard is not shared");
    MPI_Win_free(&fiber.win);
}

static void free_on_fiber(void)
{
    MPI_Win_free(&fiber.win);
}

/* Arrays on it are refused, other memory is not; and a window that begins on its last page may be
 * freed by who runs there. */
static void own_stacks(void)
{
    static const size_t spare[] = {0, 1000, 3000, 4000};
    char *guard;
    fiber.stack = mmap(NULL, STACK + 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    if (fiber.stack == MAP_FAILED)
        t_fault("no memory");
    for (int i = 0; i < 4; i++) {
        run_on_fiber(on_own_stack, spare[i]);
        fiber.window = fiber.stack + STACK - spare[i];
        memset(fiber.window, 8, 3 * PAGE);
        fiber.win = create(fiber.window, 3 * PAGE);
        t_check(told(fiber.win), "memory beside a stack is not shared");
        run_on_fiber(free_on_fiber, spare[i]);
        expect_rights(fiber.window, 3 * PAGE, "rw-p", "freed on a stack");
        for (int k = 0; k < 3 * PAGE; k++)
            t_check(fiber.window[k] == 8, "byte %d beside a stack is %d", k, fiber.window[k]);
    }
    guard = fiber.stack + STACK;
    mprotect(guard, PAGE, PROT_NONE);
    fiber.window = guard + PAGE;
    run_on_fiber(beside_stack, 0);
    munmap(fiber.stack, STACK + 4 * PAGE);
}

/* --- children --------------------------------------------------------------------------------- */

/* A child has memory of its own, and so has its parent: the window's whole pages from the child's
 * first stores on, what is beside it from the beginning. */
static void children(void)
{
    enum { BYTES = 5 * PAGE };
    volatile char *before = t_alloc(64), *base = t_alloc(BYTES), *behind = t_alloc(64);
    int go[2], stored[2], status = -1;
    char byte = 'x';
    before[3] = behind[3] = 1;
    memset((void *) (uintptr_t) base, 2, BYTES);
    MPI_Win win = create((void *) (uintptr_t) base, BYTES);
    t_check(told(win), "children: not shared");
    if (pipe(go) != 0 || pipe(stored) != 0)
        t_fault("no pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        usleep(1000);
        int good = before[3] == 1 && behind[3] == 1;
        for (int i = 0; i < BYTES; i++)
            good &= base[i] == 2;
        for (int i = 0; i < BYTES; i += 100)
            base[i] = 77;
        before[3] = behind[3] = 77;
        void *more = malloc(3000);
        good &= more != NULL && strcmp(rights((void *) (uintptr_t) base), "rw-p") == 0;
        free(more);
        good &= write(stored[1], &byte, 1) == 1;
        good &= read(go[0], &byte, 1) == 1; /* the parent has written meanwhile */
        for (int i = 0; i < BYTES; i += 100)
            good &= base[i] == 77;
        good &= before[3] == 77 && behind[3] == 77;
        _exit(good ? 0 : 9);
    }
    before[3] = behind[3] = 4;
    t_check(read(stored[0], &byte, 1) == 1, "the child does not store");
    for (int i = 0; i < BYTES; i += 100)
        base[i] = 5;
    t_check(write(go[1], &byte, 1) == 1, "no child listens");
    t_check(waitpid(child, &status, 0) == child && status == 0, "the child ends with %d", status);
    for (int i = 0; i < BYTES; i++)
        t_check(base[i] == (i % 100 ? 2 : 5), "byte %d is %d after a child", i, base[i]);
    t_check(before[3] == 4 && behind[3] == 4, "neighbours after a child: %d %d", before[3],
            behind[3]);
    expect_rights((void *) (uintptr_t) base, BYTES, "rw-s", "after a child");
    MPI_Win_free(&win);
    for (int i = 0; i < 2; i++) {
        close(go[i]);
        close(stored[i]);
    }
    free((void *) (uintptr_t) before);
    free((void *) (uintptr_t) base);
    free((void *) (uintptr_t) behind);
}

/* What neither parent nor child changes stays what it was at the fork: when windows that were there
 * are freed, a part of the memory after the rest of it, and it is used and shared again. */
static void outlived(void)
{
    enum { BYTES = 8 * PAGE + 100 };
    char *block = t_alloc(BYTES), byte = 'x';
    size_t n[64];
    int go[2], status = -1;
    for (int r = 0; r < t_size; r++)
        n[r] = BYTES;
    for (size_t i = 0; i < BYTES; i++)
        block[i] = (char) pattern(t_rank, i);
    MPI_Win win = create(block, BYTES), part = create(block + 3 * PAGE, 2 * PAGE);
    t_check(told(win) && told(part), "windows to be outlived are not shared");
    if (pipe(go) != 0)
        t_fault("no pipe");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int good = read(go[0], &byte, 1) == 1;
        for (size_t i = 0; i < BYTES; i++)
            good &= (unsigned char) block[i] == pattern(t_rank, i);
        _exit(good ? 0 : 9);
    }
    MPI_Win_free(&win);
    MPI_Win_free(&part);
    expect_rights(block, BYTES, "rw-p", "outlived");
    memset(block, 5, BYTES);
    win = create(block, BYTES);
    t_check(told(win), "a window on memory of one that was outlived is not shared");
    use(win, block, n);
    memset(block, 6, BYTES);
    MPI_Win_free(&win);
    t_check(write(go[1], &byte, 1) == 1, "no child listens");
    t_check(waitpid(child, &status, 0) == child && status == 0, "who outlives ends with %d",
            status);
    for (int i = 0; i < BYTES; i++)
        t_check(block[i] == 6, "byte %d is %d after one who outlives", i, block[i]);
    close(go[0]);
    close(go[1]);
    free(block);
}

/* --- threads ---------------------------------------------------------------------------------- */

enum { FORKED = 30 * PAGE + 100 };

static struct {
    volatile uint64_t *left, *right; /* on the window's first and last page */
    volatile uint64_t ended[2];
    volatile int stop;
} busy;

static void *count(void *arg)
{
    int i = arg != NULL;
    volatile uint64_t *at = i ? busy.right : busy.left;
    uint64_t n = 0;
    for (; !busy.stop; n++) {
        if (*at != n) {
            busy.ended[i] = 1;
            return NULL;
        }
        *at = n + 1;
    }
    return NULL;
}

static void *idle(void *arg)
{
    while (!busy.stop)
        usleep(1000);
    return arg;
}

/* A thread that blocks all signals from its first moment on. */
static void deaf_begin(pthread_t *thread)
{
    sigset_t all, before;
    sigfillset(&all);
    busy.stop = 0;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_create(thread, NULL, idle, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Threads that count beside the window, on its pages, lose nothing. */
static void threads(void)
{
    enum { BYTES = 2 * PAGE + 500 };
    pthread_t thread[2], deaf;
    char *block = NULL;
    if (posix_memalign((void **) &block, PAGE, 4 * PAGE) != 0)
        t_fault("no memory");
    memset(block, 0, 4 * PAGE);
    busy.left = (uint64_t *) (void *) block;
    busy.right = (uint64_t *) (void *) (block + 4 * PAGE - 8 - PAGE);
    char *base = block + 100;
    busy.stop = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, count, i ? &busy : NULL);
    for (int k = 0; k < 30; k++) {
        MPI_Win win = create(base, BYTES);
        t_check(told(win), "beside threads: not shared");
        memset(base + 400, k, 100);
        MPI_Win_free(&win);
        expect_rights(base, BYTES, "rw-p", "beside threads");
        t_check(base[400] == k && base[499] == k, "beside threads: contents");
    }
    busy.stop = 1;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    t_check(!busy.ended[0] && !busy.ended[1], "a thread's store is lost: %d %d",
            (int) busy.ended[0], (int) busy.ended[1]);

    /* a thread that cannot be stopped: pages with others' data are refused, whole ones are not */
    deaf_begin(&deaf);
    MPI_Win win = create(base, BYTES);
    t_check(!told(win), "beside a thread that blocks all signals: shared");
    MPI_Win_free(&win);
    win = create(block, 2 * PAGE);
    t_check(told(win), "whole pages beside a thread that blocks all signals: not shared");
    MPI_Win_free(&win);
    busy.stop = 1;
    pthread_join(deaf, NULL);

    /* made while there was no such thread, freed beside one: private all the same */
    win = create(base, BYTES);
    t_check(told(win), "not shared");
    memset(base, 9, BYTES);
    deaf_begin(&deaf);
    MPI_Win_free(&win);
    busy.stop = 1;
    pthread_join(deaf, NULL);
    expect_rights(base, BYTES, "rw-p", "freed beside a thread that blocks all signals");
    t_check(base[0] == 9 && base[BYTES - 1] == 9, "freed beside a thread: contents");
    win = create(base, BYTES);
    t_check(told(win), "a second time: not shared");
    t_check(base[0] == 9 && base[BYTES - 1] == 9, "a second time: contents");
    MPI_Win_free(&win);
    free(block);
}

static void *fork_on(void *block)
{
    const unsigned char *at = block;
    while (!busy.stop) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            int good = 1;
            for (size_t i = 0; i < FORKED; i++)
                good &= at[i] == pattern(t_rank, i);
            _exit(good ? 0 : 9);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            busy.ended[0] = 1;
    }
    return NULL;
}

/* Children that another thread makes while windows come and go have the memory, wherever it is. */
static void forks(void)
{
    pthread_t thread;
    char *block = t_alloc(FORKED);
    for (size_t i = 0; i < FORKED; i++)
        block[i] = (char) pattern(t_rank, i);
    busy.stop = 0;
    busy.ended[0] = 0;
    pthread_create(&thread, NULL, fork_on, block);
    for (int k = 0; k < 100; k++) {
        MPI_Win win = create(block, FORKED);
        t_check(told(win), "beside a thread that forks: not shared");
        MPI_Win_free(&win);
    }
    busy.stop = 1;
    pthread_join(thread, NULL);
    t_check(!busy.ended[0], "a child of another thread has lost memory");
    free(block);
}

static void *named(void *tid)
{
    __atomic_store_n((pid_t *) tid, (pid_t) syscall(SYS_gettid), __ATOMIC_RELEASE);
    return idle(tid);
}

/* A thread that gets no processor for two seconds is waited for; a child holds it. */
static void starved(void)
{
    enum { BYTES = 500 };
    pthread_t thread;
    pid_t tid = 0, child;
    int told_us[2];
    char *base = t_alloc(BYTES), answer = 'n';
    memset(base, 3, BYTES);
    busy.stop = 0;
    pthread_create(&thread, NULL, named, &tid);
    while (__atomic_load_n(&tid, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);
    (void) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    if (pipe(told_us) != 0)
        t_fault("no pipe");
    if ((child = fork()) == 0) {
        int held = ptrace(PTRACE_ATTACH, tid, 0, 0) == 0 && waitpid(tid, NULL, __WALL) == tid;
        (void) !write(told_us[1], held ? "y" : "n", 1);
        sleep(2); /* the end of who holds it lets it go */
        _exit(0);
    }
    t_check(read(told_us[0], &answer, 1) == 1 && answer == 'y', "a thread cannot be held");
    MPI_Win win = create(base, BYTES);
    t_check(told(win), "beside a thread that gets no processor: not shared");
    t_check(base[0] == 3 && base[BYTES - 1] == 3, "beside a thread held: contents");
    MPI_Win_free(&win);
    waitpid(child, NULL, 0);
    busy.stop = 1;
    pthread_join(thread, NULL);
    close(told_us[0]);
    close(told_us[1]);
    free(base);
}

int main(int argc, char **argv)
{
    MPI_Comm node;
    begin(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &node_size);
    MPI_Comm_free(&node);
    odd_memory();
    static_data();
    own_stacks();
    denied(0);
    denied(1);
    children();
    outlived();
    threads();
    forks();
    starved();
    MPI_Info_free(&wish);
    return t_end();
}
