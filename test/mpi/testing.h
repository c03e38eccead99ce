/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What our MPI tests share: counting and reporting faults, repeatable random numbers, the windows
 * of all flavours. A test calls t_begin(), t_check() where it likes, and returns t_end(), which
 * prints " No Errors" if no rank found a fault. Everything is static inline, so that a test is one
 * file.
 */
#ifndef TESTING_H_INCLUDED
#define TESTING_H_INCLUDED

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* gcc 12 sees MPI_STATUSES_IGNORE, which is (MPI_Status *) 1 in MPICH's mpi.h, and warns of an
 * array of no length. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

#define T_UNUSED __attribute__((unused))
#define T_FAULTS_PRINTED 8 /* a rank says no more than this; all are counted */

static int t_rank T_UNUSED, t_size T_UNUSED, t_faults;

static inline void t_begin_at(int *argc, char ***argv, int level)
{
    int provided;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &t_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t_size);
    if (provided < level) {
        printf("thread level %d is not provided, but %d\n", level, provided);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static inline void t_begin(int *argc, char ***argv)
{
    t_begin_at(argc, argv, MPI_THREAD_SINGLE);
}

__attribute__((format(printf, 1, 2))) static inline void t_fault(const char *format, ...)
{
    va_list list;
    if (__atomic_add_fetch(&t_faults, 1, __ATOMIC_RELAXED) > T_FAULTS_PRINTED)
        return;
    char text[512];
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    printf("rank %d: %s\n", t_rank, text);
    fflush(stdout);
}

#define t_check(condition, ...)   \
    do {                          \
        if (!(condition))         \
            t_fault(__VA_ARGS__); \
    } while (0)

static inline int t_end(void)
{
    int all = 0;
    MPI_Allreduce(&t_faults, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (t_rank == 0 && all == 0)
        printf(" No Errors\n");
    else if (t_rank == 0)
        printf("%d faults\n", all);
    MPI_Finalize();
    return all != 0;
}

/* The class of an error code, with its text in a static buffer for messages. */
static inline int t_class(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static inline const char *t_text(int code)
{
    static char text[MPI_MAX_ERROR_STRING];
    int length;
    text[0] = '\0';
    MPI_Error_string(code, text, &length);
    return text;
}

/* `call` must return an error of this class. */
#define t_expect(class, call)                                                                 \
    do {                                                                                      \
        int t_code = (call);                                                                  \
        t_check(t_class(t_code) == (class), "%s: line %d: class %d instead of %s: %s", #call, \
                __LINE__, t_class(t_code), #class, t_text(t_code));                           \
    } while (0)

/* A performance variable of an object, whose handle is at `object`; MPI_T is initialized. */
static inline unsigned long long t_pvar_of(const char *name, int class, void *object)
{
    unsigned long long got = 0;
    int index, count;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index(name, class, &index) ||
        MPI_T_pvar_handle_alloc(session, index, object, &handle, &count) ||
        MPI_T_pvar_read(session, handle, &got))
        t_fault("%s cannot be read", name);
    MPI_T_pvar_session_free(&session);
    return got;
}

/* One of the process. */
static inline unsigned long long t_pvar(const char *name, int class)
{
    return t_pvar_of(name, class, NULL);
}

/* One that counts. */
static inline unsigned long long t_counter(const char *name)
{
    return t_pvar(name, MPI_T_PVAR_CLASS_COUNTER);
}

/* One that counts for a window. */
static inline unsigned long long t_win_counter(const char *name, MPI_Win win)
{
    return t_pvar_of(name, MPI_T_PVAR_CLASS_COUNTER, &win);
}

/* splitmix64: position k of stream s, so that any rank can repeat what another drew. */
static inline uint64_t t_random(uint64_t stream, uint64_t k)
{
    uint64_t x = (stream + 1) * 0x9e3779b97f4a7c15u + k * 0xd1342543de82ef95u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* A random program's: of its seed, numbers below n that are this rank's own, or the same for all
 * that have asked as often; and a stream that anybody may read anywhere. Each thread of a process
 * that calls itself other than 0 has numbers apart, `all` being the threads of that name. */
static uint64_t t_seed T_UNUSED;
static _Thread_local uint64_t t_thread T_UNUSED, t_drawn, t_drawn_by_all;
#define T_STREAM (t_seed << 16 | t_thread << 12)

static inline uint64_t t_below(uint64_t n)
{
    return t_random(T_STREAM + 2 + (uint64_t) t_rank, t_drawn++) % n;
}

static inline uint64_t t_all_below(uint64_t n)
{
    return t_random(T_STREAM, t_drawn_by_all++) % n;
}

static inline uint64_t t_any(uint64_t k)
{
    return t_random(T_STREAM + 1, k);
}

static inline void *t_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        printf("rank %d: no memory for %zu bytes\n", t_rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return p;
}

/* Kinds of windows */

/* T_PRIVATE: of MPI_Win_allocate, not shared (alloc_shm=false) */
enum t_flavour { T_CREATE, T_ALLOCATE, T_SHARED, T_DYNAMIC, T_PRIVATE, T_FLAVOURS };

static const char *const t_flavour_name[] T_UNUSED = {"create", "allocate", "allocate_shared",
                                                      "dynamic", "allocate_private"};

struct t_win {
    MPI_Win win;
    /* of the window: the node's ranks if it is shared, else a duplicate of the given */
    MPI_Comm comm;
    enum t_flavour flavour;
    int rank, size, unit;
    char *base;
    MPI_Aint *at; /* displacement of each rank's memory: 0, or its address if dynamic */
};

/* The flavour that the program's argument names; without one T_ALLOCATE. */
static inline enum t_flavour t_flavour_of(int argc, char **argv)
{
    for (int f = 0; argc > 1 && f < T_FLAVOURS; f++)
        if (strcmp(argv[1], t_flavour_name[f]) == 0)
            return (enum t_flavour) f;
    t_check(argc < 2, "%s is no flavour of windows", argv[1]);
    return T_ALLOCATE;
}

/* MPI_Win_allocate of memory that is not shared, with further keys, or MPI_INFO_NULL. */
static inline int t_win_allocate_private(MPI_Aint bytes, int unit, MPI_Info keys, MPI_Comm comm,
                                         void *base, MPI_Win *win)
{
    MPI_Info info;
    if (keys == MPI_INFO_NULL)
        MPI_Info_create(&info);
    else
        MPI_Info_dup(keys, &info);
    MPI_Info_set(info, "alloc_shm", "false");
    int code = MPI_Win_allocate(bytes, unit, info, comm, base, win);
    MPI_Info_free(&info);
    return code;
}

/* A window of `bytes` bytes a rank, all zero; displacement unit 1 where the flavour has no
 * other. Collective over comm. */
static inline struct t_win t_win_make(MPI_Comm comm, enum t_flavour flavour, size_t bytes, int unit)
{
    struct t_win w = {.flavour = flavour, .unit = flavour == T_DYNAMIC ? 1 : unit};
    MPI_Aint own = 0;
    if (flavour == T_SHARED)
        MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &w.comm);
    else
        MPI_Comm_dup(comm, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.size);
    switch (flavour) {
    case T_CREATE:
        w.base = t_alloc(bytes);
        MPI_Win_create(w.base, (MPI_Aint) bytes, unit, MPI_INFO_NULL, w.comm, &w.win);
        break;
    case T_ALLOCATE:
        MPI_Win_allocate((MPI_Aint) bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win);
        break;
    case T_SHARED:
        MPI_Win_allocate_shared((MPI_Aint) bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win);
        break;
    case T_PRIVATE:
        t_win_allocate_private((MPI_Aint) bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win);
        break;
    default:
        w.base = t_alloc(bytes);
        MPI_Win_create_dynamic(MPI_INFO_NULL, w.comm, &w.win);
        MPI_Win_attach(w.win, w.base, (MPI_Aint) bytes);
        MPI_Get_address(w.base, &own);
        break;
    }
    w.at = t_alloc(sizeof *w.at * (size_t) w.size);
    MPI_Allgather(&own, 1, MPI_AINT, w.at, 1, MPI_AINT, w.comm);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win);
    memset(w.base, 0, bytes);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    return w;
}

static inline void t_win_free(struct t_win *w)
{
    if (w->flavour == T_DYNAMIC) {
        MPI_Barrier(w->comm);
        MPI_Win_detach(w->win, w->base);
    }
    MPI_Win_free(&w->win);
    if (w->flavour == T_CREATE || w->flavour == T_DYNAMIC)
        free(w->base);
    free(w->at);
    MPI_Comm_free(&w->comm);
}

#endif /* TESTING_H_INCLUDED */
