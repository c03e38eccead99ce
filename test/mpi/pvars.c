/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The performance variables: they are there, bound to windows, and they count. Where operations go
 * by load and store, by copy, by the network or by message depends on the set-up; that every
 * operation is counted once does not.
 */
#include "testing.h"

static MPI_T_pvar_session session;
static int want_direct;                 /* argument "direct": the network is one that can */

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
    t_check(value("windlass_win_locks", &w.win) <= 3, "%s: no such locks", name);
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

int main(int argc, char **argv)
{
    int provided;
    t_begin(&argc, &argv);
    want_direct = argc > 1 && !strcmp(argv[1], "direct");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    for (int flavour = 0; flavour < T_FLAVOURS; flavour++)
        window((enum t_flavour) flavour);
    kept();
    value("windlass_global_ops_high", NULL);
    value("windlass_global_targets_high", NULL);
    value("windlass_stashes_high", NULL);
    unsigned long long used = value("windlass_coll_memory_high", NULL);
    t_check(used <= value("windlass_coll_memory", NULL), "%llu bytes of the pools are used", used);
    value("windlass_coll_running_high", NULL);
    value("windlass_coll_waits", NULL);
    value("windlass_coll_early_high", NULL);
    value("windlass_coll_early_unplaced", NULL);
    value("windlass_win_waits", &(MPI_Win){MPI_WIN_NULL});
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return t_end();
}
