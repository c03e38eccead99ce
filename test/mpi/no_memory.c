/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * no_memory full|filled|refused|limited|absent|files: a window that cannot be had is MPI_ERR_NO_MEM
 * on every rank, and the program goes on.
 *
 *   full     /dev/shm is too small for it (shm_full.sh makes it so)
 *   filled   /dev/shm has not a page left, or a few (the same)
 *   refused  every single allocation of the device is refused once, on one rank alone
 *   limited  one rank alone may not have more address space
 *   absent   no machine has so much
 *   files    files may not be so long, those in memory neither
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include "testing.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { BYTES = 4096, PAGE = 4096, ALLOCATIONS_MAX = 60 };

/* Make a window of this flavour; the error code. */
static int make(enum t_flavour flavour, MPI_Aint bytes, MPI_Comm comm, char **base, MPI_Win *win)
{
    static char own[BYTES];
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "accumulate_ordering", "none");
    int code = MPI_SUCCESS;
    *base = own;
    switch (flavour) {
    case T_CREATE:
        code = MPI_Win_create(own, bytes, 1, info, comm, win);
        break;
    case T_ALLOCATE:
        code = MPI_Win_allocate(bytes, 1, info, comm, base, win);
        break;
    case T_SHARED:
        code = MPI_Win_allocate_shared(bytes, 1, info, comm, base, win);
        break;
    case T_PRIVATE:
        code = t_win_allocate_private(bytes, 1, info, comm, base, win);
        break;
    default:
        code = MPI_Win_create_dynamic(info, comm, win);
        break;
    }
    MPI_Info_free(&info);
    return code;
}

/* A window works: everyone writes to the next rank, and all of the own memory can be touched. */
static void use(enum t_flavour flavour, MPI_Aint bytes, MPI_Comm comm, char *base, MPI_Win win)
{
    int rank, size, from = -1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (flavour == T_DYNAMIC)
        return;
    MPI_Win_lock_all(0, win);
    memset(base, 1, (size_t) bytes);
    MPI_Win_sync(win);
    MPI_Barrier(comm);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    memcpy(&from, base, sizeof from);
    MPI_Win_unlock(rank, win);
    t_check(from == (rank + size - 1) % size, "%s: a window after a failure holds %d",
            t_flavour_name[flavour], from);
}

/* Try it; on all ranks it is there or on none, with this error. 1 if it is. */
static int attempt(enum t_flavour flavour, MPI_Aint bytes, MPI_Comm comm, const char *what)
{
    char *base;
    MPI_Win win = MPI_WIN_NULL;
    int code = make(flavour, bytes, comm, &base, &win), class = t_class(code), least, most;
    MPI_Allreduce(&class, &least, 1, MPI_INT, MPI_MIN, comm);
    MPI_Allreduce(&class, &most, 1, MPI_INT, MPI_MAX, comm);
    t_check(least == most, "%s, %s: classes from %d to %d", t_flavour_name[flavour], what, least,
            most);
    t_check(class == MPI_SUCCESS || class == MPI_ERR_NO_MEM, "%s, %s: %s", t_flavour_name[flavour],
            what, t_text(code));
    if (class == MPI_SUCCESS) {
        use(flavour, bytes, comm, base, win);
        MPI_Win_free(&win);
    }
    return class == MPI_SUCCESS;
}

/* A process alone on its node has private memory, which /dev/shm does not limit. */
static void full(MPI_Comm node)
{
    int together;
    MPI_Comm_size(node, &together);
    for (int f = T_ALLOCATE; f <= T_SHARED; f++) {
        enum t_flavour flavour = (enum t_flavour) f;
        MPI_Comm comm = f == T_SHARED ? node : MPI_COMM_WORLD;
        int shared = together;
        MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, comm);
        for (int k = 0; k < 3; k++) {
            if (shared > 1)
                t_check(!attempt(flavour, 1 << 28, comm, "256 MiB"), "%s: 256 MiB are there",
                        t_flavour_name[f]);
            t_check(attempt(flavour, BYTES, comm, "small"), "%s: no small window after a failure",
                    t_flavour_name[f]);
        }
        /* more than any machine has, and sums that overflow */
        t_check(!attempt(flavour, (MPI_Aint) 1 << 46, comm, "2^46"), "2^46 bytes are there");
        t_check(!attempt(flavour, INT64_MAX, comm, "all"), "all bytes there can be are there");
        t_check(attempt(flavour, BYTES, comm, "small"), "%s: no small window after a failure",
                t_flavour_name[f]);
    }
}

/* Take all of /dev/shm but so many pages; the file that holds them has no name. */
static int fill(unsigned long spare_pages)
{
    struct statvfs room;
    int file = open("/dev/shm", O_TMPFILE | O_RDWR, 0600);
    t_check(file >= 0 && statvfs("/dev/shm", &room) == 0, "no file in /dev/shm");
    unsigned long free_pages = room.f_bavail * room.f_bsize / PAGE;
    if (free_pages > spare_pages) {
        off_t bytes = (off_t) (free_pages - spare_pages) * PAGE;
        int code = posix_fallocate(file, 0, bytes);
        t_check(code == 0, "/dev/shm cannot be filled: %s", strerror(code));
    }
    return file;
}

/* Memory of a freed window serves the communicator's next one, which may use other pages of it: all
 * of them are there, though /dev/shm is full. Only the first process has any memory. */
static void kept(MPI_Comm node)
{
    static const MPI_Aint sizes[] = {100, 4000, 6000, 3, 8000, 2047, 2049, 6144};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    int rank;
    MPI_Comm_rank(node, &rank);
    for (int i = 0; i < SIZES * SIZES; i++) {
        MPI_Aint first = rank ? 0 : sizes[i / SIZES], then = rank ? 0 : sizes[i % SIZES];
        char *base;
        int file = -1;
        MPI_Win win;
        MPI_Comm comm;
        MPI_Comm_dup(node, &comm);
        MPI_Win_allocate(first, 1, MPI_INFO_NULL, comm, &base, &win);
        MPI_Win_free(&win);
        MPI_Barrier(MPI_COMM_WORLD); /* nobody takes pages, on whatever node */
        if (t_rank == 0)
            file = fill(0);
        MPI_Barrier(MPI_COMM_WORLD);
        int code = MPI_Win_allocate(then, 1, MPI_INFO_NULL, comm, &base, &win);
        t_check(code == MPI_SUCCESS || t_class(code) == MPI_ERR_NO_MEM, "after %ld bytes: %s",
                (long) first, t_text(code));
        if (code == MPI_SUCCESS) {
            memset(base, 1, (size_t) then);
            MPI_Win_free(&win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (t_rank == 0)
            close(file);
        MPI_Comm_free(&comm);
    }
}

/* Not a page is left, or a few: every flavour needs some where processes share a node, and there it
 * is an error or a window, the same everywhere, never a signal. */
static void filled(MPI_Comm node)
{
    enum { SPARE_MAX = 12 };
    for (unsigned long spare = 0; spare <= SPARE_MAX; spare++) {
        for (int f = 0; f < T_FLAVOURS; f++) {
            char what[64];
            int file = -1, shared;
            MPI_Comm comm; /* a new one each time: it has no memory left over */
            MPI_Comm_dup(f == T_SHARED ? node : MPI_COMM_WORLD, &comm);
            MPI_Comm_size(node, &shared);
            MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, comm);
            MPI_Barrier(MPI_COMM_WORLD); /* nobody takes pages, on whatever node */
            if (t_rank == 0)
                file = fill(spare);
            MPI_Barrier(MPI_COMM_WORLD);
            snprintf(what, sizeof what, "%lu pages left", spare);
            int there = attempt((enum t_flavour) f, BYTES, comm, what);
            t_check(!there || spare > 0 || shared == 1, "%s: a window without a page of memory",
                    t_flavour_name[f]);
            MPI_Barrier(MPI_COMM_WORLD);
            if (t_rank == 0)
                close(file);
            MPI_Barrier(MPI_COMM_WORLD);
            t_check(attempt((enum t_flavour) f, BYTES, comm, "room again"),
                    "%s: no window when there is room again", t_flavour_name[f]);
            MPI_Comm_free(&comm);
        }
    }
}

static void refuse(int n)
{
    int index, count;
    MPI_T_cvar_handle handle;
    MPI_T_cvar_get_index("MPIR_CVAR_WINDLASS_FAIL_ALLOCATION", &index);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    MPI_T_cvar_write(handle, &n);
    MPI_T_cvar_handle_free(&handle);
}

/* Some are of use, but not needed: so many on end, and no window needs more. */
enum { UNHURT = 4 };

static void refused(MPI_Comm node)
{
    for (int f = 0; f < T_FLAVOURS; f++) {
        MPI_Comm comm = f == T_SHARED ? node : MPI_COMM_WORLD;
        int rank, size, n = 1, failed = 0, refused = 0;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (; n < ALLOCATIONS_MAX; n++) {
            char what[64];
            snprintf(what, sizeof what, "allocation %d of rank %d", n, n % size);
            refuse(rank == n % size ? n : 0);
            /* sizes that differ take more steps */
            if (attempt((enum t_flavour) f, BYTES - (n % 2) * 16 * rank, comm, what))
                failed = 0;
            else
                failed++;
            refuse(0);
            int all = failed;
            MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MAX, comm);
            if (all > 0)
                refused = n;
            else if (n >= refused + UNHURT && n > 2)
                break;
        }
        t_check(refused > 2 && n < ALLOCATIONS_MAX, "%s: %d allocations were refused",
                t_flavour_name[f], refused);
    }
}

static void limited(MPI_Comm node)
{
    enum { BIG = 64 << 20 };
    for (int f = T_ALLOCATE; f <= T_SHARED; f++) {
        MPI_Comm comm = f == T_SHARED ? node : MPI_COMM_WORLD;
        struct rlimit before, now;
        int rank, size;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        attempt((enum t_flavour) f, BYTES, comm, "first"); /* connections are open */
        getrlimit(RLIMIT_AS, &before);
        if (rank == size - 1) {
            long pages = 0;
            FILE *statm = fopen("/proc/self/statm", "r");
            t_check(statm && fscanf(statm, "%ld", &pages) == 1, "no /proc/self/statm");
            if (statm)
                fclose(statm);
            now = before;
            now.rlim_cur = (rlim_t) pages * 4096 + BIG / 2;
            setrlimit(RLIMIT_AS, &now);
        }
        t_check(!attempt((enum t_flavour) f, BIG, comm, "limited"), "the limit was not met");
        setrlimit(RLIMIT_AS, &before);
        t_check(attempt((enum t_flavour) f, BYTES, comm, "after the limit"),
                "no small window after the limit");
    }
}

static volatile sig_atomic_t overflows;

static void overflow(int signal)
{
    (void) signal;
    overflows++;
}

/* Asked for by all, or by one alone. A process that is alone on its node finds out without filling
 * a file, which may not grow to it here. */
static void absent(MPI_Comm node)
{
    static const MPI_Aint sizes[] = {(MPI_Aint) 1 << 46, (MPI_Aint) 1 << 60, INT64_MAX};
    struct rlimit limit;
    int together;
    MPI_Comm_size(node, &together);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 64 << 20;
    signal(SIGXFSZ, overflow);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int f = T_ALLOCATE; f <= T_SHARED; f++) {
        MPI_Comm comm = f == T_SHARED ? node : MPI_COMM_WORLD;
        int rank, size;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (int i = 0; i < 6; i++) {
            MPI_Aint bytes = i % 2 && rank != size - 1 ? BYTES : sizes[i / 2];
            t_check(!attempt((enum t_flavour) f, bytes, comm, "absent"), "%s: it is there",
                    t_flavour_name[f]);
            t_check(attempt((enum t_flavour) f, BYTES, comm, "after it"),
                    "%s: no small window after a failure", t_flavour_name[f]);
        }
    }
    t_check(overflows == 0, "a file was to grow to it");
}

/* Beyond that limit the system sends a signal, which ends the process. One that is alone on its
 * node has private memory. */
static void files(MPI_Comm node)
{
    enum { LIMIT = 64 << 20, BIG = 40 << 20 };
    struct rlimit limit;
    int together;
    MPI_Comm_size(node, &together);
    getrlimit(RLIMIT_FSIZE, &limit);
    if (limit.rlim_cur > LIMIT)
        limit.rlim_cur = LIMIT;
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int f = T_ALLOCATE; f < T_FLAVOURS; f++) {
        MPI_Comm comm = f == T_SHARED ? node : MPI_COMM_WORLD;
        int shared = f == T_PRIVATE || f == T_DYNAMIC ? 1 : together;
        MPI_Allreduce(MPI_IN_PLACE, &shared, 1, MPI_INT, MPI_MAX, comm);
        for (int k = 0; k < 2; k++) {
            char *base;
            MPI_Win win = MPI_WIN_NULL;
            int code = make((enum t_flavour) f, BIG, comm, &base, &win), class = t_class(code);
            t_check(class == (shared > 1 ? MPI_ERR_NO_MEM : MPI_SUCCESS), "%s: %s",
                    t_flavour_name[f], t_text(code));
            t_check(class == MPI_SUCCESS || strstr(t_text(code), "ulimit -f"), "%s: %s",
                    t_flavour_name[f], t_text(code));
            if (class == MPI_SUCCESS) {
                use((enum t_flavour) f, BIG, comm, base, win);
                MPI_Win_free(&win);
            }
            t_check(attempt((enum t_flavour) f, BYTES, comm, "small"), "%s: no small window",
                    t_flavour_name[f]);
        }
    }
}

int main(int argc, char **argv)
{
    int provided;
    const char *way = argc > 1 ? argv[1] : "refused";
    MPI_Comm node;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    t_begin(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
    if (strcmp(way, "full") == 0)
        full(node);
    else if (strcmp(way, "kept") == 0)
        kept(node);
    else if (strcmp(way, "filled") == 0)
        filled(node);
    else if (strcmp(way, "limited") == 0)
        limited(node);
    else if (strcmp(way, "absent") == 0)
        absent(node);
    else if (strcmp(way, "files") == 0)
        files(node);
    else
        refused(node);
    MPI_Comm_free(&node);
    MPI_T_finalize();
    return t_end();
}
