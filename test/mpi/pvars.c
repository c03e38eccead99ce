/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The performance variables: they are there, bound to windows, and they count. Where operations go
 * by load and store, by copy, by the network or by message depends on the set-up; that every
 * operation is counted once does not.
 *
 * pvars direct: the network is one that can do operations by itself.
 * pvars few: each rank is a node of its own, operations go by message, and of each kind of element
 * there is one in a window and one for all windows.
 */
#include "testing.h"

static MPI_T_pvar_session session;
static int want_direct, few;            /* the argument */

/* The variable's number, or -1; checks what it says of itself. */
static int find(const char *name, int want_bind)
{
    int n = 0;
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        char text[512], found[256];
        int length = sizeof found, text_length = sizeof text, verbosity, class, bind, readonly;
        int continuous, atomic;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(i, found, &length, &verbosity, &class, &type, &values, text,
                                &text_length, &bind, &readonly, &continuous, &atomic) ||
            strcmp(found, name))
            continue;
        t_check(type == MPI_UNSIGNED_LONG_LONG && readonly && continuous && text[0],
                "%s describes itself wrongly", name);
        t_check(bind == want_bind, "%s is bound to %d, not %d", name, bind, want_bind);
        return i;
    }
    t_fault("there is no %s", name);
    return -1;
}

static unsigned long long value(const char *name, MPI_Win *win)
{
    int index = find(name, win ? MPI_T_BIND_MPI_WIN : MPI_T_BIND_NO_OBJECT), count = 0;
    unsigned long long got = 0;
    MPI_T_pvar_handle handle;
    if (index < 0 || MPI_T_pvar_handle_alloc(session, index, win, &handle, &count)) {
        t_fault("%s cannot be read", name);
        return 0;
    }
    t_check(count == 1, "%s has %d values", name, count);
    t_check(MPI_T_pvar_read(session, handle, &got) == MPI_SUCCESS, "%s is not read", name);
    MPI_T_pvar_handle_free(session, &handle);
    return got;
}

static unsigned long long operations(MPI_Win *win)
{
    return value("windlass_win_ops_mapped", win) + value("windlass_win_ops_copied", win) +
           value("windlass_win_ops_mailed", win) + value("windlass_win_ops_direct", win) +
           value("windlass_win_ops_message", win);
}

static MPI_Aint place(const struct t_win *w, int rank, int i)
{
    return w->at[rank] + 8 * i / w->unit;
}

/* Words that a node's processes share where it has all ranks; else the network's, where it reaches
 * them by itself in memory of UCX's own (a device does, too, but UCX has no atomics there), or
 * none. */
static unsigned long long locks_of(struct t_win *w)
{
    enum { MESSAGE = 0, NODE = 1, MIXED = 3 };
    const char *transports = getenv("UCX_TLS");
    int together, is_device = transports && strstr(transports, "_verbs");
    MPI_Comm node;
    MPI_Comm_split_type(w->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &together);
    MPI_Comm_free(&node);
    if (together == w->size)
        return NODE;
    int is_direct = value("windlass_win_ops_direct", &w->win) > 0;
    return w->flavour == T_ALLOCATE && is_direct && !is_device ? MIXED : MESSAGE;
}

static void window(enum t_flavour flavour)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 4096, 8), other;
    const char *name = t_flavour_name[flavour];
    enum { PUTS = 40 };
    int64_t data[PUTS] = {0}, got = 0;
    int to = (w.rank + 1) % w.size;
    t_check(value("windlass_win_bytes", &w.win) > 0, "%s: a window takes no memory", name);
    t_check(operations(&w.win) == 0, "%s: operations before the first", name);
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < PUTS; i++)
        MPI_Put(&data[i], 1, MPI_INT64_T, to, place(&w, to, i), 1, MPI_INT64_T, w.win);
    MPI_Win_flush_all(w.win);
    MPI_Get(&got, 1, MPI_INT64_T, to, place(&w, to, 0), 1, MPI_INT64_T, w.win);
    MPI_Win_flush_all(w.win);
    MPI_Accumulate(data, 1, MPI_INT64_T, to, place(&w, to, 0), 1, MPI_INT64_T, MPI_SUM, w.win);
    MPI_Win_unlock_all(w.win);
    t_check(operations(&w.win) == PUTS + 2, "%s: %llu operations, not %d", name,
            operations(&w.win), PUTS + 2);
    t_check(!want_direct || flavour != T_ALLOCATE || t_size == 1 ||
            value("windlass_win_ops_direct", &w.win) > 0, "nothing was left to the network");
    unsigned long long by_message = value("windlass_win_ops_message", &w.win);
    t_check(by_message == 0 || value("windlass_win_messages", &w.win) > 0,
            "%s: %llu operations without messages", name, by_message);
    t_check(by_message == 0 || value("windlass_win_targets_high", &w.win) > 0,
            "%s: %llu operations without a target element", name, by_message);
    t_check(by_message == 0 || value("windlass_messages", NULL) > 0, "no messages");
    t_check(value("windlass_win_locks", &w.win) == locks_of(&w), "%s: locks are %llu, not %llu",
            name, value("windlass_win_locks", &w.win), locks_of(&w));
    other = t_win_make(MPI_COMM_WORLD, flavour, 64, 8);
    t_check(operations(&other.win) == 0, "%s: another window's operations are counted", name);
    t_win_free(&other);
    t_win_free(&w);
}

/* What a window keeps is counted: a value given as info, memory attached. */
static void kept(void)
{
    static const char list[] = "sum,prod,min,max,replace,no_op";
    char memory[64];
    MPI_Win win, plain;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "which_accumulate_ops", list);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &plain);
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &win);
    unsigned long long bytes = value("windlass_win_bytes", &win);
    t_check(bytes == value("windlass_win_bytes", &plain) + sizeof(list), "%llu and %llu bytes",
            bytes, value("windlass_win_bytes", &plain));
    MPI_Win_attach(win, memory, sizeof(memory));
    t_check(value("windlass_win_bytes", &win) > bytes, "attached memory takes none");
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    MPI_Win_free(&plain);
    MPI_Info_free(&info);
}

/* What pools count: how often one was dry, and how much of it was in use at most. */
static void pools(void)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, 4096, 8);
    int64_t data[8] = {0};
    MPI_Win_lock_all(0, w.win);
    for (int i = 0; i < 8; i++)
        for (int to = 0; to < w.size; to++)
            if (to != w.rank)
                MPI_Put(&data[i], 1, MPI_INT64_T, to, i, 1, MPI_INT64_T, w.win);
    MPI_Win_unlock_all(w.win);
    t_check(value("windlass_win_ops_message", &w.win) > 0, "nothing went by message");
    t_check(value("windlass_win_waits", &w.win) > 0, "nobody waited for an element");
    t_check(value("windlass_win_ops_high", &w.win) == 1, "%llu elements of a pool of one",
            value("windlass_win_ops_high", &w.win));
    t_check(value("windlass_win_targets_high", &w.win) == 2, "%llu targets in pools of two",
            value("windlass_win_targets_high", &w.win));
    t_check(value("windlass_global_ops_high", NULL) == 1, "%llu elements of the pool of one",
            value("windlass_global_ops_high", NULL));
    t_check(value("windlass_global_targets_high", NULL) == 1, "%llu targets of the pool of one",
            value("windlass_global_targets_high", NULL));
    t_win_free(&w);
}

/* A lock's message that has its operation with it is kept until the lock is free. */
static void stash(void)
{
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, 64, 8);
    int64_t one = 1;
    t_check(value("windlass_win_locks", &w.win) == 0, "locks do not go by message");
    t_check(value("windlass_stashes_high", NULL) == 0, "messages were kept before the first");
    if (w.rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
    MPI_Barrier(w.comm);
    if (w.rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win);
        MPI_Put(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, w.win);
        MPI_Win_unlock(0, w.win);
    }
    for (double end = MPI_Wtime() + 20; w.rank == 0 && MPI_Wtime() < end;) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w.comm, &flag, MPI_STATUS_IGNORE);
        if (value("windlass_stashes_high", NULL) > 0)
            break;
    }
    t_check(value("windlass_stashes_high", NULL) == (w.rank == 0), "%llu messages were kept",
            value("windlass_stashes_high", NULL));
    if (w.rank == 0)
        MPI_Win_unlock(0, w.win);
    t_win_free(&w);
}

/* More collectives at once than there are runs of: the engine's counts. */
static void collectives(void)
{
    enum { COMMS = 64, EACH = 16 };
    MPI_Comm comm[COMMS];
    MPI_Request *request = t_alloc(COMMS * EACH * sizeof *request);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[i]);
    for (int i = 0; i < COMMS * EACH; i++)
        MPI_Ibarrier(comm[i % COMMS], &request[i]);
    MPI_Waitall(COMMS * EACH, request, MPI_STATUSES_IGNORE);
    free(request);
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comm[i]);
    t_check(value("windlass_coll_running_high", NULL) > 1, "one collective at a time");
    t_check(value("windlass_coll_memory_high", NULL) > 0, "collectives without memory");
    t_check(value("windlass_coll_waits", NULL) > 0, "none of %llu waited for a run",
            value("windlass_coll_running_high", NULL));
}

int main(int argc, char **argv)
{
    int provided;
    t_begin(&argc, &argv);
    want_direct = argc > 1 && !strcmp(argv[1], "direct");
    few = argc > 1 && !strcmp(argv[1], "few");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (int flavour = 0; flavour < T_FLAVOURS; flavour++)
        window((enum t_flavour) flavour);
    kept();
    if (few) {
        pools();
        stash();
        collectives();
    }
    unsigned long long used = value("windlass_coll_memory_high", NULL);
    t_check(used <= value("windlass_coll_memory", NULL), "%llu bytes of the pools are used", used);
    /* no communicator here has more ranks than cells (test/mpid/coll/test_early.c has) */
    t_check(value("windlass_coll_early_high", NULL) == 0, "addresses are kept");
    t_check(value("windlass_coll_early_unplaced", NULL) == 0, "addresses were not kept");
    t_check(value("windlass_win_waits", &(MPI_Win){MPI_WIN_NULL}) == 0, "no window waits");
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return t_end();
}
