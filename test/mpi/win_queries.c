/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What a window says of itself: attributes, group, name, info keys; shared memory of ranks that
 * have none; attached and detached memory of dynamic windows; MPI_PROC_NULL as the target of
 * everything.
 */
#include "testing.h"
#include <inttypes.h>

static void attribute(MPI_Win win, int key, const void *want, size_t bytes, const char *name)
{
    void *value = NULL;
    int flag = 0;
    MPI_Win_get_attr(win, key, &value, &flag);
    t_check(flag && memcmp(value, want, bytes) == 0, "attribute %s is missing or wrong", name);
}

static void attributes(enum t_flavour flavour)
{
    static const int created[] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                  MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC,
                                  MPI_WIN_FLAVOR_ALLOCATE};
    struct t_win w = t_win_make(MPI_COMM_WORLD, flavour, 64 + 8 * (size_t) t_rank, 8);
    MPI_Aint size = flavour == T_DYNAMIC ? 0 : 64 + 8 * t_rank;
    int flag = 0, model = MPI_WIN_UNIFIED, result, length;
    char name[MPI_MAX_OBJECT_NAME];
    void *base = NULL;
    MPI_Group group, own;

    MPI_Win_get_attr(w.win, MPI_WIN_BASE, &base, &flag);
    t_check(flag && base == (flavour == T_DYNAMIC ? MPI_BOTTOM : w.base), "%s: base is %p, not %p",
            t_flavour_name[flavour], base, (void *) w.base);
    attribute(w.win, MPI_WIN_SIZE, &size, sizeof size, "size");
    attribute(w.win, MPI_WIN_DISP_UNIT, &w.unit, sizeof w.unit, "disp_unit");
    attribute(w.win, MPI_WIN_CREATE_FLAVOR, &created[flavour], sizeof created[flavour], "flavour");
    attribute(w.win, MPI_WIN_MODEL, &model, sizeof model, "model");

    MPI_Win_get_group(w.win, &group);
    MPI_Comm_group(w.comm, &own);
    MPI_Group_compare(group, own, &result);
    t_check(result == MPI_IDENT, "%s: the group is another", t_flavour_name[flavour]);
    MPI_Group_free(&group);
    MPI_Group_free(&own);

    MPI_Win_set_name(w.win, "halo");
    MPI_Win_get_name(w.win, name, &length);
    t_check(length == 4 && strcmp(name, "halo") == 0, "the name is '%s'", name);
    t_win_free(&w);
}

/* The value of a key, or "" if it has none. */
static const char *value_of(MPI_Win win, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int flag = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
    MPI_Info_free(&info);
    if (!flag)
        value[0] = '\0';
    return value;
}

static void key(MPI_Win win, const char *name, const char *want)
{
    const char *value = value_of(win, name);
    t_check(strcmp(value, want) == 0, "%s is '%s' instead of '%s'", name, value, want);
}

/* Every key MPI-4 has for windows, and ours: its default, another value given at creation, a third
 * one later; nonsense stays out. */
static void info_keys(void)
{
    static const struct {
        const char *name, *standard, *given, *later, *nonsense;
    } keys[] = {
        {"no_locks", "false", "true", "false", "perhaps"},
        {"accumulate_ordering", "rar,raw,war,waw", "rar,waw", "none", "rar,wow"},
        {"accumulate_ops", "same_op_no_op", "same_op", "same_op_no_op", "any"},
        {"same_size", "false", "true", "false", "1"},
        {"same_disp_unit", "false", "true", "false", ""},
        {"mpi_accumulate_granularity", "", "8", "16", "-1"},
        {"mpi_accumulate_granularity", "", "8", "16", "10000000000000000000"},
        {"which_accumulate_ops", "", "sum,no_op", "none", "sum,,no_op"},
        {"which_accumulate_ops", "", "sum,no_op", "none", "sum,plus"},
        {"windlass_aggregation", "auto", "eager", "combine", "never"},
        {"windlass_rma_done", "true", "false", "true", "1"},
        {"windlass_nonoverlapping", "false", "true", "false", "yes"},
        {"windlass_pipeline", "", "4096", "64", "4k"},
    };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    MPI_Info info;
    MPI_Win win;
    char *base;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < KEYS; k++)
        key(win, keys[k].name, keys[k].standard);
    MPI_Win_free(&win);

    MPI_Info_create(&info);
    MPI_Info_set(info, "not a key of anything", "at all");
    for (int k = 0; k < KEYS; k++)
        MPI_Info_set(info, keys[k].name, keys[k].given);
    MPI_Win_allocate(64, 1, info, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < KEYS; k++) {
        key(win, keys[k].name, keys[k].given);
        MPI_Info_set(info, keys[k].name, keys[k].nonsense[0] ? keys[k].nonsense : "?");
    }
    key(win, "not a key of anything", "");
    MPI_Win_set_info(win, info);
    for (int k = 0; k < KEYS; k++) {
        key(win, keys[k].name, keys[k].given);
        MPI_Info_set(info, keys[k].name, keys[k].later);
    }
    MPI_Win_set_info(win, info);
    for (int k = 0; k < KEYS; k++)
        key(win, keys[k].name, keys[k].later);
    MPI_Info_free(&info);
    MPI_Win_free(&win);
}

/* Keys that say how a window is to be made: whoever gives one later has it ignored. */
static void making(void)
{
    static const struct {
        const char *name, *standard, *given, *nonsense, *later;
    } keys[] = {
        {"alloc_shm", "true", "false", "no", "true"},
        {"alloc_shared_noncontig", "false", "true", "yes", "true"}, /* as by MPICH */
        {"mpi_minimum_memory_alignment", "", "8192", "8191", ""},
    };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    MPI_Info given, nonsense;
    MPI_Win win;
    char *base;
    MPI_Info_create(&given);
    MPI_Info_create(&nonsense);
    for (int k = 0; k < KEYS; k++) {
        MPI_Info_set(given, keys[k].name, keys[k].given);
        MPI_Info_set(nonsense, keys[k].name, keys[k].nonsense);
    }
    MPI_Win_allocate(64, 1, nonsense, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < KEYS; k++)
        key(win, keys[k].name, keys[k].standard);
    MPI_Win_set_info(win, given);
    for (int k = 0; k < KEYS; k++)
        key(win, keys[k].name, keys[k].later);
    MPI_Win_free(&win);
    MPI_Win_allocate(64, 1, given, MPI_COMM_WORLD, &base, &win);
    for (int k = 0; k < KEYS; k++)
        key(win, keys[k].name, keys[k].given);
    MPI_Win_free(&win);
    MPI_Info_free(&nonsense);
    MPI_Info_free(&given);
}

/* May other processes see what is at this address? */
static int is_shared(const void *at)
{
    uintptr_t from, to, wanted = (uintptr_t) at;
    char line[512], may[8] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, may) == 3 && from <= wanted &&
            wanted < to)
            break;
    t_check(maps != NULL, "no /proc/self/maps");
    if (maps)
        fclose(maps);
    return may[3] == 's';
}

/* Memory that is not shared where one rank asks for that, with its alignment, and gaps between
 * ranks' memory where one asks for those; other ranks need not have said it. */
static void one_asks(void)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Comm node;
    char *base, *first;
    MPI_Aint bytes;
    int size, unit;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "16384");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
    t_check((uintptr_t) base % 16384 == 0, "%p is not aligned", (void *) base);
    t_check(is_shared(base) == (size > 1), "allocated memory: shared or not");
    MPI_Win_free(&win);

    if (t_rank == t_size - 1) {
        MPI_Info_set(info, "alloc_shm", "false");
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
    }
    MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
    t_check((uintptr_t) base % 16384 == 0, "%p is not aligned", (void *) base);
    t_check(!is_shared(base), "memory that is not to be shared is");
    key(win, "alloc_shm", "false");
    MPI_Win_free(&win);

    MPI_Info_delete(info, "mpi_minimum_memory_alignment");
    MPI_Win_allocate_shared(100, 1, info, node, &base, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
    t_check(bytes == 100 && (base == first || base - first >= 100), "%p and %p", (void *) base,
            (void *) first);
    MPI_Win_lock_all(0, win);
    memset(base, t_rank + 1, 100);
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int r = 0; r < size; r++) {
        MPI_Win_shared_query(win, r, &bytes, &unit, &first);
        t_check(first[0] == first[99], "rank %d of the node: memory of two", r);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

/* Shared memory is one piece, whatever alignment is asked for: the first rank's memory has it, and
 * with gaps everyone's. */
static void shared_alignment(MPI_Aint alignment, MPI_Aint bytes, int gaps)
{
    MPI_Info info;
    MPI_Win win;
    MPI_Comm node;
    MPI_Aint got;
    char text[32], *base, *first, *at, *end = NULL;
    int size, unit;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    MPI_Info_create(&info);
    snprintf(text, sizeof text, "%ld", (long) alignment);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", text);
    MPI_Info_set(info, "alloc_shared_noncontig", gaps ? "true" : "false");
    MPI_Win_allocate_shared(bytes, 1, info, node, &base, &win);
    MPI_Win_shared_query(win, 0, &got, &unit, &first);
    t_check((uintptr_t) first % (uintptr_t) alignment == 0, "%p is not a multiple of %ld",
            (void *) first, (long) alignment);
    for (int r = 0; r < size; r++) {
        MPI_Win_shared_query(win, r, &got, &unit, &at);
        t_check(got == bytes, "rank %d has %ld bytes", r, (long) got);
        t_check(gaps || r == 0 || at == end, "alignment %ld: rank %d begins %ld bytes late",
                (long) alignment, r, (long) (at - end));
        t_check(!gaps || (uintptr_t) at % (uintptr_t) alignment == 0, "%p of rank %d",
                (void *) at, r);
        end = at + bytes;
    }
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

/* How many nodes there are, really or by the settings that divide one. */
static void nodes(void)
{
    MPI_Comm node;
    int size, nodes_n;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &size);
    double share = 1.0 / size, all;
    MPI_Allreduce(&share, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    nodes_n = (int) (all + 0.5);
    int divided = getenv("MPIR_CVAR_NUM_CLIQUES") || getenv("MPIR_CVAR_ODD_EVEN_CLIQUES");
    int want = divided && t_size > 1 ? 2 : 1;
    t_check(nodes_n == want, "MPI_COMM_TYPE_SHARED makes %d nodes of %d", nodes_n, want);
    MPI_Comm_free(&node);
    MPI_Comm_split_type(MPI_COMM_WORLD, t_rank % 2 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                        MPI_INFO_NULL, &node);
    t_check((node == MPI_COMM_NULL) == (t_rank % 2), "MPI_UNDEFINED is not left out");
    if (node != MPI_COMM_NULL)
        MPI_Comm_free(&node);
}

/* Ranks of a node without memory of their own; the others' is found and shared, contiguous or
 * page by page. */
static void shared_empty(const char *noncontig)
{
    MPI_Comm node;
    MPI_Win win;
    MPI_Info info;
    int rank, size, unit, first_unit;
    int *own, *first = NULL, *at = NULL;
    MPI_Aint bytes, first_bytes;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", noncontig);
    int mine = rank % 2 ? 1 : 0; /* the first has none */
    MPI_Win_allocate_shared(mine * 5 * (MPI_Aint) sizeof(int), 4 + 4 * mine, info, node, &own,
                            &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; mine && i < 5; i++)
        own[i] = 100 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int r = 0; r < size; r++) {
        MPI_Win_shared_query(win, r, &bytes, &unit, &at);
        t_check(bytes == (r % 2 ? 20 : 0) && unit == (r % 2 ? 8 : 4),
                "rank %d of the node: %ld bytes, unit %d", r, (long) bytes, unit);
        for (int i = 0; r % 2 && i < 5; i++)
            t_check(at[i] == 100 * r + i, "word %d of rank %d is %d", i, r, at[i]);
    }
    MPI_Win_shared_query(win, MPI_PROC_NULL, &first_bytes, &first_unit, &first);
    if (size > 1)
        t_check(first_bytes == 20 && first[0] == 100, "MPI_PROC_NULL finds %ld bytes",
                (long) first_bytes);
    else
        t_check(first_bytes == 0, "MPI_PROC_NULL finds %ld bytes where there are none",
                (long) first_bytes);
    if (strcmp(noncontig, "false") == 0 && size > 3) {
        MPI_Win_shared_query(win, 3, &bytes, &unit, &at);
        t_check(at == first + 5, "the parts are not adjacent");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);

    /* nobody has any */
    MPI_Win_allocate_shared(0, 1, info, node, &own, &win);
    MPI_Win_fence(0, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    MPI_Comm_free(&node);
}

/* Many pieces of memory come and go; the last ones are used. */
static void dynamic(void)
{
    enum { PIECES = 40, WORDS = 16 };
    MPI_Win win;
    int *piece[PIECES], from[WORDS], next = (t_rank + 1) % t_size;
    MPI_Aint at[PIECES], theirs[PIECES];
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < PIECES; i++) {
            piece[i] = t_alloc(WORDS * sizeof(int));
            memset(piece[i], 0, WORDS * sizeof(int));
            MPI_Win_attach(win, piece[i], WORDS * sizeof(int));
            MPI_Get_address(piece[i], &at[i]);
        }
        MPI_Sendrecv(at, PIECES, MPI_AINT, (t_rank + t_size - 1) % t_size, 0, theirs, PIECES,
                     MPI_AINT, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        for (int i = 0; i < PIECES; i++) {
            for (int k = 0; k < WORDS; k++)
                from[k] = 1000 * round + 10 * i + k;
            MPI_Put(from, WORDS, MPI_INT, next, theirs[i], WORDS, MPI_INT, win);
            MPI_Win_flush_local(next, win);
        }
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = PIECES; i-- > 0;) {
            MPI_Win_detach(win, piece[i]);
            for (int k = 0; k < WORDS; k++)
                t_check(piece[i][k] == 1000 * round + 10 * i + k,
                        "dynamic: piece %d, word %d is %d", i, k, piece[i][k]);
            free(piece[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
}

/* To nobody: done at once, nothing is touched, in every kind of epoch. */
static void proc_null(void)
{
    int value = 7, old = 5, compare = 7;
    MPI_Request request[4];
    struct t_win w = t_win_make(MPI_COMM_WORLD, T_ALLOCATE, 64, 4);
    MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, w.win);
    MPI_Win_unlock(MPI_PROC_NULL, w.win);
    for (int k = 0; k < 2; k++) {
        if (k)
            MPI_Win_lock_all(0, w.win);
        else
            MPI_Win_fence(0, w.win);
        MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, w.win);
        MPI_Get(&old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win);
        MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, w.win);
        MPI_Get_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
                           MPI_SUM, w.win);
        MPI_Fetch_and_op(&value, &old, MPI_INT, MPI_PROC_NULL, 0, MPI_SUM, w.win);
        MPI_Compare_and_swap(&value, &compare, &old, MPI_INT, MPI_PROC_NULL, 0, w.win);
        if (k) {
            MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win, &request[0]);
            MPI_Rget(&old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win, &request[1]);
            MPI_Raccumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, w.win,
                            &request[2]);
            MPI_Rget_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
                                MPI_SUM, w.win, &request[3]);
            MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
            MPI_Win_flush(MPI_PROC_NULL, w.win);
            MPI_Win_flush_local(MPI_PROC_NULL, w.win);
            MPI_Win_unlock_all(w.win);
        } else {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
        }
    }
    t_check(value == 7 && old == 5, "MPI_PROC_NULL changed something: %d %d", value, old);
    t_win_free(&w);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    for (int f = 0; f < T_FLAVOURS; f++)
        attributes((enum t_flavour) f);
    nodes();
    info_keys();
    making();
    one_asks();
    for (int gaps = 0; gaps < 2; gaps++)
        for (MPI_Aint alignment = 8; alignment <= 65536; alignment *= 2) {
            shared_alignment(alignment, 100, gaps);
            shared_alignment(alignment, 4096, gaps);
        }
    shared_empty("false");
    shared_empty("true");
    dynamic();
    proc_null();
    return t_end();
}
