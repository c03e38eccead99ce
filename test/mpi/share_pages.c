/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * share_pages: windows on private memory whose pages are shared on request (info key
 * windlass_share_pages). What is in the memory stays, others' stores are seen by plain loads, and
 * afterwards it is private memory as before, in the midst of a busy heap, too.
 */
#define _GNU_SOURCE
#include "shared.h"
#include <sys/mman.h>
#include <unistd.h>

/* --- contents --------------------------------------------------------------------------------- */

/* A window at `offset` in a block of `bytes` of the heap, of ranks' sizes that differ: a little
 * before and behind it belongs to nobody. */
static void contents(size_t bytes, size_t offset)
{
    size_t n[64] = {0}, room = bytes + offset + 100;
    for (int r = 0; r < t_size; r++)
        n[r] = r % 3 == 1 ? bytes / 2 : r % 3 == 2 ? 0 : bytes;
    char *block = t_alloc(room), *base = block + offset;
    for (size_t i = 0; i < room; i++)
        block[i] = (char) pattern(t_rank, i);
    MPI_Win win = create(n[t_rank] ? base : NULL, n[t_rank]);
    t_check(told(win), "%zu bytes at %zu: not shared", bytes, offset);
    expect_rights(base, n[t_rank], "rw-s", "window");
    size_t wrong = 0;
    for (size_t i = 0; i < room; i++)
        wrong += (unsigned char) block[i] != pattern(t_rank, i);
    t_check(wrong == 0, "%zu bytes at %zu: %zu bytes wrong after creation", bytes, offset, wrong);
    use(win, base, n);
    MPI_Win_free(&win);
    expect_rights(base, n[t_rank], "rw-p", "freed");
    size_t last = n[t_rank] >= 8 ? n[t_rank] - 8 + offset : room;
    for (size_t i = 0; i < room; i++)
        wrong += (i < last || i >= last + 8) && (unsigned char) block[i] != pattern(t_rank, i);
    t_check(wrong == 0, "%zu bytes at %zu: %zu bytes wrong after freeing", bytes, offset, wrong);
    block = realloc(block, 3 * room);
    for (size_t i = 0; i < room; i++)
        wrong += (i < last || i >= last + 8) && (unsigned char) block[i] != pattern(t_rank, i);
    memset(block + room, 1, 2 * room);
    t_check(wrong == 0, "%zu bytes at %zu: %zu bytes wrong after realloc", bytes, offset, wrong);
    free(block);
}

/* --- the heap --------------------------------------------------------------------------------- */

enum { BLOCKS = 300 };
static struct {
    unsigned char *at;
    size_t bytes;
} heap[BLOCKS];

/* Blocks come and go; what is in those that stay is what was written. */
static void heap_storm(uint64_t stream, int steps)
{
    static const size_t sizes[] = {24, 100, 1000, 5000, 40000, 100000, 300000};
    for (int k = 0; k < steps; k++) {
        int i = (int) (t_random(stream, (uint64_t) k) % BLOCKS);
        for (size_t b = 0; heap[i].at && b < heap[i].bytes; b += 97)
            if (heap[i].at[b] != pattern(i, b)) {
                t_fault("block %d of the heap has changed at %zu", i, b);
                return;
            }
        free(heap[i].at);
        heap[i].bytes = sizes[t_random(stream + 1, (uint64_t) k) % 7];
        heap[i].at = t_random(stream + 2, (uint64_t) k) % 3 ? t_alloc(heap[i].bytes) : NULL;
        for (size_t b = 0; heap[i].at && b < heap[i].bytes; b++)
            heap[i].at[b] = pattern(i, b);
    }
}

static void heap_end(void)
{
    heap_storm(900, 2 * BLOCKS);
    for (int i = 0; i < BLOCKS; i++) {
        free(heap[i].at);
        heap[i].at = NULL;
    }
}

/* Many windows in the midst of a busy heap; freed in another order than made. */
static void in_the_heap(void)
{
    enum { WINDOWS = 12 };
    static const size_t sizes[] = {8, 100, 100000, 8 << 20, 3000, 50000};
    char *block[WINDOWS];
    size_t n[64];
    MPI_Win win[WINDOWS];
    for (int k = 0; k < WINDOWS; k++) {
        size_t bytes = sizes[k % 6];
        block[k] = t_alloc(bytes);
        memset(block[k], k, bytes);
        heap_storm((uint64_t) (10 * k + 100 * t_rank), 200);
        win[k] = create(block[k], bytes);
        t_check(told(win[k]), "window %d of the heap is not shared", k);
    }
    for (int k = 0; k < WINDOWS; k++) {
        int i = k * 5 % WINDOWS;
        size_t bytes = sizes[i % 6], wrong = 0;
        heap_storm((uint64_t) (5000 + 10 * k + 100 * t_rank), 200);
        for (size_t b = 0; b < bytes; b++)
            wrong += block[i][b] != i;
        t_check(wrong == 0, "window %d of the heap has %zu wrong bytes", i, wrong);
        for (int r = 0; r < t_size; r++)
            n[r] = bytes;
        use(win[i], block[i], n);
        MPI_Win_free(&win[i]);
        if (k % 2)
            free(block[i]);
    }
    for (int k = 0; k < WINDOWS; k += 2)
        free(block[k * 5 % WINDOWS]);
    heap_end();
}

enum { ARENA = 64 << 20 };

/* Memory, the first `spare` bytes of it left alone, at an address at which, elsewhere, an arena of
 * malloc may begin. */
static void at_an_arenas_place(char *more, size_t spare, const char *what)
{
    enum { BYTES = 3000 };
    char *base = more + (ARENA - (uintptr_t) more % ARENA) % ARENA + spare;
    memset(base, 6, BYTES);
    MPI_Win win = create(base, BYTES);
    t_check(told(win), "%s at a multiple of 64 MiB: not shared", what);
    expect_rights(base, BYTES, "rw-s", what);
    t_check(base[0] == 6 && base[BYTES - 1] == 6, "%s at a multiple: contents", what);
    MPI_Win_free(&win);
}

static void at_arenas_places(void)
{
    char *heap = sbrk(ARENA + PAGE);
    char *map = mmap(NULL, ARENA + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                     0);
    t_check(heap != (void *) -1 && map != MAP_FAILED, "no memory");
    at_an_arenas_place(heap, 0, "the heap");
    at_an_arenas_place(map, 16, "a mapping");
    munmap(map, ARENA + PAGE);
}

/* --- atomics ---------------------------------------------------------------------------------- */

/* Everyone on one rank's memory, a word at a time and thousands at once; 20, 40, ... rounds. */
static void storm(MPI_Win win, int target, MPI_Aint at, int64_t *own, int words, int rounds)
{
    enum { MANY = 3000 };
    static int64_t ones[MANY];
    int64_t one = 1, old = -1, last = -1;
    for (int i = 0; i < MANY; i++)
        ones[i] = 1;
    MPI_Win_lock_all(0, win);
    if (t_rank == target)
        memset(own, 0, (size_t) words * 8);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int k = 0; k < rounds; k++) {
        if (k % 20 == 0 && words >= MANY)
            MPI_Accumulate(ones, MANY, MPI_INT64_T, target, at, MANY, MPI_INT64_T, MPI_SUM, win);
        else
            MPI_Accumulate(&one, 1, MPI_INT64_T, target, at + 8 * (k % 3), 1, MPI_INT64_T, MPI_SUM,
                           win);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, target, at + 8, MPI_SUM, win);
        MPI_Win_flush(target, win);
        t_check(old > last, "a ticket of %lld after one of %lld", (long long) old,
                (long long) last);
        last = old;
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank != target)
        return;
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    int many = words >= MANY ? rounds / 20 : 0, want[3] = {many, many + rounds, many};
    for (int k = 0; k < rounds; k++)
        want[k % 3] += k % 20 != 0 || words < MANY;
    for (int i = 0; i < words; i++) {
        int64_t sum = (int64_t) t_size * (i < 3 ? want[i] : i < MANY ? many : 0);
        if (own[i] != sum) {
            t_fault("storm: word %d is %lld, not %lld", i, (long long) own[i], (long long) sum);
            break;
        }
    }
    MPI_Win_unlock(target, win);
}

static void atomics(void)
{
    enum { WORDS = 4000 };
    int64_t *own = t_alloc(WORDS * 8 + 40);
    MPI_Win win = create(own + 5, WORDS * 8);
    t_check(told(win), "atomics: not shared");
    for (int target = 0; target < t_size; target++)
        storm(win, target, 0, own + 5, WORDS, 160);
    MPI_Win_free(&win);
    win = create(own + 1, 32);
    t_check(told(win), "atomics: three words are not shared");
    storm(win, t_size - 1, 0, own + 1, 4, 160);
    MPI_Win_free(&win);
    free(own);
}

/* --- several windows on the same memory ------------------------------------------------------- */

static void overlapping(void)
{
    enum { BYTES = 20 * PAGE };
    char *block = t_alloc(BYTES + PAGE), *inner = block + 5 * PAGE + 700;
    size_t all[64], part[64];
    for (int r = 0; r < t_size; r++) {
        all[r] = BYTES;
        part[r] = 6 * PAGE + 11;
    }
    for (size_t i = 0; i < BYTES; i++)
        block[i] = (char) pattern(t_rank, i);
    for (int order = 0; order < 4; order++) {
        MPI_Win a = create(block, all[0]), b = create(inner, part[0]), c = create(inner + 80, 100);
        t_check(told(a) && told(b) && told(c), "overlapping windows are not shared");
        use(a, block, all);
        use(b, inner, part);
        MPI_Win *freed[] = {order % 2 ? &a : &b, order % 2 ? &b : &a};
        MPI_Win_free(freed[0]);
        expect_rights(inner + 80, 100, "rw-s", "in use by others");
        if (order % 2)
            expect_rights(block, 4 * PAGE, "rw-p", "the rest of it");
        use(order % 2 ? b : a, order % 2 ? inner : block, order % 2 ? part : all);
        if (order < 2)
            MPI_Win_free(&c);
        MPI_Win_free(freed[1]);
        if (order >= 2)
            MPI_Win_free(&c);
        expect_rights(block, BYTES, "rw-p", "all freed");
    }
    size_t wrong = 0, first = (size_t) (inner - block) + part[0] - 8;
    for (size_t i = 0; i < BYTES - 8; i++)
        wrong += (i < first || i >= first + 8) && (unsigned char) block[i] != pattern(t_rank, i);
    t_check(wrong == 0, "overlapping: %zu bytes are wrong", wrong);
    free(block);
}

/* --- dynamic windows -------------------------------------------------------------------------- */

static MPI_Aint address(const void *at)
{
    MPI_Aint a;
    MPI_Get_address(at, &a);
    return a;
}

/* Regions that touch, a region that is refused, and an accumulate across them: order and sums. */
static void dynamic(void)
{
    enum { WORDS = 4000, HALF = WORDS / 2 };
    static int64_t in[WORDS];
    int64_t *own = t_alloc(WORDS * 8 + 8), one = 1;
    MPI_Aint at[64], mine = address(own + 1);
    MPI_Win win;
    t_expect(MPI_SUCCESS, MPI_Win_create_dynamic(wish, MPI_COMM_WORLD, &win));
    t_check(told(win), "a dynamic window is not shared");
    MPI_Allgather(&mine, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < WORDS; i++)
            own[i] = 10 * i + t_rank;
        own[WORDS] = 10 * WORDS + t_rank;
        t_expect(MPI_SUCCESS, MPI_Win_attach(win, own + 1, HALF * 8));
        t_expect(MPI_SUCCESS, MPI_Win_attach(win, own + 1 + HALF, HALF * 8));
        t_check(told(win), "attached memory is not shared");
        expect_rights(own + 1, WORDS * 8, "rw-s", "attached");
        for (int i = 0; i <= WORDS; i++)
            t_check(own[i] == 10 * i + t_rank, "attached: word %d is %lld", i, (long long) own[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Get(in, WORDS, MPI_INT64_T, next, at[next], WORDS, MPI_INT64_T, win);
        MPI_Win_unlock(next, win);
        for (int i = 0; i < WORDS; i++)
            t_check(in[i] == 10 * (i + 1) + next, "got: word %d is %lld", i, (long long) in[i]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int target = 0; target < t_size; target++)
            storm(win, target, at[target], own + 1, round == 1 ? WORDS : 100, 100);
        /* across the border, then on one side of it: in order */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        for (int k = 0; k < 60; k++) {
            int64_t value[2] = {k, k}, old = -1;
            MPI_Accumulate(value, 2, MPI_INT64_T, next, at[next] + 8 * (HALF - 1), 2, MPI_INT64_T,
                           MPI_REPLACE, win);
            MPI_Fetch_and_op(&one, &old, MPI_INT64_T, next, at[next] + 8 * (HALF - 1), MPI_SUM,
                             win);
            MPI_Win_flush(next, win);
            t_check(old == k, "order: %lld instead of %d", (long long) old, k);
        }
        MPI_Win_unlock(next, win);
        MPI_Barrier(MPI_COMM_WORLD);
        t_check(own[HALF] == 60 && own[HALF + 1] == 59, "order: %lld, %lld",
                (long long) own[HALF], (long long) own[HALF + 1]);
        t_expect(MPI_SUCCESS, MPI_Win_detach(win, own + 1));
        expect_rights(own + 1, (HALF - 600) * 8, "rw-p", "detached");
        if (round < 2)
            t_expect(MPI_SUCCESS, MPI_Win_detach(win, own + 1 + HALF));
    }
    int64_t stack[64];
    memset(stack, 0, sizeof stack);
    t_expect(MPI_SUCCESS, MPI_Win_attach(win, stack, sizeof stack));
    t_check(!told(win), "the stack is attached, and shared");
    mine = address(stack);
    MPI_Allgather(&mine, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int target = 0; target < t_size; target++)
        storm(win, target, at[target], stack, 64, 40);
    MPI_Barrier(MPI_COMM_WORLD);
    t_expect(MPI_SUCCESS, MPI_Win_detach(win, stack));
    t_check(told(win), "what is attached is shared, and it is not said");
    MPI_Win_free(&win); /* one half is still attached */
    expect_rights(own + 1, WORDS * 8, "rw-p", "a freed dynamic window");
    free(own);
}

/* How often memory others have attached has been mapped here. */
static unsigned long long views(MPI_Win win)
{
    return t_win_counter("windlass_win_views", win);
}

/* Mappings of shared pages, our own and others'. */
static int shared_mappings(void)
{
    char line[512];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        n += strstr(line, "windlass-pages") != NULL;
    if (maps)
        fclose(maps);
    return n;
}

/* Is the next rank another process of this node? */
static int next_is_near(void)
{
    MPI_Group all, near;
    MPI_Comm node;
    int place;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Comm_group(node, &near);
    MPI_Group_translate_ranks(all, 1, &next, near, &place);
    MPI_Group_free(&all);
    MPI_Group_free(&near);
    MPI_Comm_free(&node);
    return next != t_rank && place != MPI_UNDEFINED;
}

enum { REGIONS = 200, APART = 2 * PAGE };

/* Into all of the next rank's regions. */
static void put_all(MPI_Win win, MPI_Aint there, const char *own, int64_t value)
{
    int64_t sent[REGIONS], found;
    for (int i = 0; i < REGIONS; i++) {
        sent[i] = value + i;
        MPI_Put(&sent[i], 1, MPI_INT64_T, next, there + i * APART, 1, MPI_INT64_T, win);
    }
    MPI_Win_flush(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < REGIONS; i++) {
        memcpy(&found, own + i * APART, 8);
        t_check(found == value + i, "region %d has %lld instead of %lld", i, (long long) found,
                (long long) (value + i));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each of many regions is mapped once; and what has been detached does not stay mapped. */
static void many_regions(void)
{
    enum { ROUNDS = 4, TIMES = 30 };
    unsigned long long made;
    char *block = mmap(NULL, REGIONS * APART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    MPI_Aint at[64], mine = address(block);
    int near = next_is_near(), mappings;
    MPI_Win win;
    t_check(block != MAP_FAILED, "no memory");
    t_expect(MPI_SUCCESS, MPI_Win_create_dynamic(wish, MPI_COMM_WORLD, &win));
    MPI_Allgather(&mine, 1, MPI_AINT, at, 1, MPI_AINT, MPI_COMM_WORLD);
    for (int i = 0; i < REGIONS; i++)
        t_expect(MPI_SUCCESS, MPI_Win_attach(win, block + i * APART, PAGE));
    t_check(told(win), "%d regions are not shared", REGIONS);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++)
        put_all(win, at[next], block, 1000 * round);
    made = views(win);
    t_check(made == (near ? REGIONS : 0), "%llu mappings were made of %d regions", made, REGIONS);
    for (int k = 0; k < TIMES; k++) {
        t_expect(MPI_SUCCESS, MPI_Win_detach(win, block));
        t_expect(MPI_SUCCESS, MPI_Win_attach(win, block, PAGE));
        MPI_Barrier(MPI_COMM_WORLD);
        put_all(win, at[next], block, 1000 * k + 7);
    }
    made = views(win) - made;
    t_check(made == (near ? TIMES : 0), "%llu mappings were made of %d regions attached", made,
            TIMES);
    mappings = shared_mappings();
    t_check(mappings <= (near ? 2 : 1) * REGIONS, "there are %d mappings of %d regions", mappings,
            REGIONS);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    t_check(shared_mappings() == 0, "%d mappings are left", shared_mappings());
    munmap(block, REGIONS * APART);
}

/* --- not asked for ---------------------------------------------------------------------------- */

static void unasked(void)
{
    char *base = t_alloc(5000);
    MPI_Win win;
    MPI_Win_create(base, 5000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    t_check(!told(win), "shared without being asked");
    expect_rights(base, 5000, "rw-p", "not asked for");
    MPI_Win_set_info(win, wish);
    t_check(!told(win), "a wish that comes too late is said to be fulfilled");
    MPI_Win_free(&win);
    free(base);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 1, 8, 100, 4097, 100000, 8 << 20};
    int provided;
    begin(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    unasked();
    for (int i = 0; i < 7; i++)
        contents(sizes[i], i % 2 ? 0 : 13);
    contents(4096, 0);
    in_the_heap();
    at_arenas_places();
    atomics();
    overlapping();
    dynamic();
    many_regions();
    MPI_Info_free(&wish);
    MPI_T_finalize();
    return t_end();
}
