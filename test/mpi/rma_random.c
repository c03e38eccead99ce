/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_random [SEED [WORDS [EPOCHS]]]: a random program. Some windows live at a time, of random
 * flavours; every epoch draws one of them, a synchronization, and operations of random kinds,
 * layouts and lengths to random ranks.
 *
 * A rank's window is a block of WORDS words for each origin, and a few common words. What an
 * origin's block must hold is known to the origin word by word: accumulates of one origin are
 * ordered, and a flush, or the epoch's end, lies between a put or a get and what it overlaps. To
 * the common words all add.
 */
#include "testing.h"

enum { WINDOWS = 3, COMMON = 16, OPS = 40, EPOCHS = 40, WORDS = 20000, RANKS_MAX = 64 };
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, SYNCS };

static size_t words = WORDS;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* --- layouts ---------------------------------------------------------------------------------- */

/* Words at these places, in this order: `count` of a datatype that begins at the first. */
struct layout {
    size_t n, *at;
    MPI_Datatype type;
    int count;
};

static struct layout layout_new(size_t n)
{
    return (struct layout){
        .n = n, .at = t_alloc(n * sizeof(size_t)), .type = MPI_INT64_T, .count = 1};
}

static struct layout in_one_piece(size_t from, size_t room, size_t n)
{
    struct layout l = layout_new(n);
    from += t_below(room - n + 1);
    for (size_t i = 0; i < n; i++)
        l.at[i] = from + i;
    l.count = (int) n;
    if (t_below(4) == 0) {
        MPI_Type_contiguous((int) n, MPI_INT64_T, &l.type);
        l.count = 1;
    }
    return l;
}

/* Blocks evenly apart: a vector, or one block many times, or the last one first. */
static struct layout evenly_apart(size_t from, size_t room, size_t n)
{
    size_t block = 1 + t_below(t_below(2) ? least(n, 64) : n), blocks = n / block;
    size_t stride = block + (blocks > 1 ? t_below((room - n) / (blocks - 1) + 1) : 0);
    struct layout l = layout_new(blocks * block);
    int way = (int) t_below(3);
    for (size_t i = 0; i < l.n; i++)
        l.at[i] = from + (way == 0 ? blocks - 1 - i / block : i / block) * stride + i % block;
    if (way == 0) {
        MPI_Type_create_hvector((int) blocks, (int) block, -(MPI_Aint) stride * 8, MPI_INT64_T,
                                &l.type);
    } else if (way == 1) {
        MPI_Type_vector((int) blocks, (int) block, (int) stride, MPI_INT64_T, &l.type);
    } else {
        MPI_Datatype one;
        MPI_Type_contiguous((int) block, MPI_INT64_T, &one);
        MPI_Type_create_resized(one, 0, (MPI_Aint) stride * 8, &l.type);
        MPI_Type_free(&one);
        l.count = (int) blocks;
    }
    return l;
}

/* Short blocks of any length, with gaps, maybe shuffled. */
static struct layout of_any_length(size_t from, size_t room, size_t n)
{
    enum { LONGEST = 9, FARTHEST = 6 };
    struct layout l = layout_new(n);
    int *length = t_alloc(n * sizeof(int)), m = 0;
    MPI_Aint *place = t_alloc(n * sizeof(MPI_Aint));
    size_t gap = room - n, k = 0;
    for (size_t left = n; left > 0; m++) {
        size_t skip = t_below(least(gap, FARTHEST) + 1);
        length[m] = 1 + (int) t_below(least(left, LONGEST));
        place[m] = (MPI_Aint) (from + skip);
        gap -= skip;
        left -= (size_t) length[m];
        from += skip + (size_t) length[m];
    }
    for (int i = m - 1, shuffled = (int) t_below(2); i > 0 && shuffled; i--) {
        int j = (int) t_below((uint64_t) i + 1), shorter = length[i];
        MPI_Aint there = place[i];
        length[i] = length[j];
        length[j] = shorter;
        place[i] = place[j];
        place[j] = there;
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < length[i]; j++)
            l.at[k++] = (size_t) place[i] + (size_t) j;
    for (int i = 0; i < m; i++)
        place[i] = (place[i] - (MPI_Aint) l.at[0]) * 8;
    MPI_Type_create_hindexed(m, length, place, MPI_INT64_T, &l.type);
    free(length);
    free(place);
    return l;
}

/* Of up to n words among so many from there on. */
static struct layout layout_of(size_t from, size_t room, size_t n)
{
    static struct layout (*const make[])(size_t, size_t, size_t) = {in_one_piece, evenly_apart,
                                                                    of_any_length};
    struct layout l = make[t_below(3)](from, room, n);
    if (l.type != MPI_INT64_T)
        MPI_Type_commit(&l.type);
    return l;
}

static void layout_free(struct layout *l)
{
    if (l->type != MPI_INT64_T)
        MPI_Type_free(&l->type);
    free(l->at);
}

/* --- windows ---------------------------------------------------------------------------------- */

struct op { /* under way */
    int64_t *from, *to, *want; /* `to` is to hold what want does, room words */
    size_t room;
};

static struct window {
    struct t_win w;
    int64_t **mine; /* this rank's block at each target, as it should be */
    int64_t *added; /* to the common words, by target */
    struct op op[OPS];
    int ops;
    MPI_Request request[OPS];
    int requests;
    /* by target: words up to there have been put or got, or some have been accumulated */
    struct pending {
        size_t upto;
        int accumulates, locked;
    } *pending;
} window[WINDOWS];

static void window_open(struct window *v)
{
    enum t_flavour flavour = (enum t_flavour) t_all_below(T_FLAVOURS);
    *v = (struct window){
        .w = t_win_make(MPI_COMM_WORLD, flavour, ((size_t) t_size * words + COMMON) * 8, 8)};
    size_t n = (size_t) v->w.size;
    v->mine = t_alloc(n * sizeof(v->mine[0]));
    for (size_t i = 0; i < n; i++)
        v->mine[i] = memset(t_alloc(words * 8), 0, words * 8);
    v->added = memset(t_alloc(n * COMMON * 8), 0, n * COMMON * 8);
    v->pending = memset(t_alloc(n * sizeof(v->pending[0])), 0, n * sizeof(v->pending[0]));
}

static void window_close(struct window *v)
{
    for (int i = 0; i < v->w.size; i++)
        free(v->mine[i]);
    free(v->mine);
    free(v->added);
    free(v->pending);
    t_win_free(&v->w);
}

static MPI_Aint place(const struct window *v, int target, size_t word)
{
    return v->w.at[target] + (MPI_Aint) (word * (v->w.unit == 1 ? 8 : 1));
}

/* What was begun is done. */
static void done(struct window *v)
{
    for (int i = 0; i < v->ops; i++) {
        struct op *op = &v->op[i];
        size_t k = 0;
        while (k < op->room && op->to[k] == op->want[k])
            k++;
        t_check(k == op->room, "%s: word %zu of %zu: %lld instead of %lld",
                t_flavour_name[v->w.flavour], k, op->room, (long long) op->to[k],
                (long long) op->want[k]);
        free(op->from);
        free(op->to);
        free(op->want);
    }
    v->ops = 0;
    for (int i = 0; i < v->w.size; i++) {
        v->pending[i].upto = 0;
        v->pending[i].accumulates = 0;
    }
}

static void flush(struct window *v)
{
    MPI_Waitall(v->requests, v->request, MPI_STATUSES_IGNORE);
    v->requests = 0;
    int all = t_below(4) == 0;
    if (all)
        MPI_Win_flush_all(v->w.win);
    for (int i = 0; i < v->w.size && !all; i++)
        if (v->pending[i].locked)
            MPI_Win_flush(i, v->w.win);
    done(v);
}

/* --- operations ------------------------------------------------------------------------------- */

static MPI_Op any_op(void)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_MAX, MPI_BXOR, MPI_NO_OP};
    return ops[t_below(5)];
}

static int64_t folded(MPI_Op op, int64_t old, int64_t value)
{
    if (op == MPI_SUM)
        return old + value;
    if (op == MPI_REPLACE)
        return value;
    if (op == MPI_MAX)
        return old > value ? old : value;
    return op == MPI_BXOR ? old ^ value : old;
}

static int64_t *operands(size_t n)
{
    int64_t *some = t_alloc(n * 8);
    for (size_t i = 0; i < n; i++)
        some[i] = (int64_t) t_below(1 << 20);
    return some;
}

static void add_to_common(struct window *v, int target)
{
    struct op *op = &v->op[v->ops++];
    size_t word = t_below(COMMON);
    MPI_Aint at = place(v, target, (size_t) v->w.size * words + word);
    *op = (struct op){.from = operands(2)};
    v->added[(size_t) target * COMMON + word] += op->from[0];
    if (t_below(2))
        MPI_Accumulate(op->from, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, v->w.win);
    else
        MPI_Fetch_and_op(op->from, op->from + 1, MPI_INT64_T, target, at, MPI_SUM, v->w.win);
}

static void one_word(struct window *v, int target)
{
    struct op *op = &v->op[v->ops++];
    size_t word = t_below(words);
    int64_t *mine = &v->mine[target][word];
    MPI_Aint at = place(v, target, (size_t) v->w.rank * words + word);
    *op = (struct op){.from = operands(2), .to = operands(1), .want = operands(1), .room = 1};
    op->want[0] = *mine;
    if (t_below(2)) {
        MPI_Op with = any_op();
        MPI_Fetch_and_op(op->from, op->to, MPI_INT64_T, target, at, with, v->w.win);
        *mine = folded(with, *mine, op->from[0]);
        return;
    }
    if (t_below(2))
        op->from[1] = *mine;
    MPI_Compare_and_swap(op->from, op->from + 1, op->to, MPI_INT64_T, target, at, v->w.win);
    if (*mine == op->from[1])
        *mine = op->from[0];
}

/* Words of a target and of a buffer, as many. */
struct ends {
    int target;
    MPI_Aint at;
    struct layout there, here;
    size_t space; /* of the buffer */
};

static struct ends ends_of(const struct window *v, int target, size_t from, size_t room)
{
    enum { SHORT = 16, MIDDLE = 600, LONG = 6000, WIDE = 4, BEHIND = 8 };
    uint64_t dice = t_below(100);
    size_t most = dice < 70 ? SHORT : dice < 90 ? MIDDLE : dice < 98 ? LONG : words;
    size_t n = 1 + t_below(least(most, room));
    struct ends e = {.target = target, .there = layout_of(from, least(room, WIDE * n), n)};
    n = e.there.n;
    e.space = n + t_below(n + 1);
    e.here = layout_of(0, e.space, n);
    if (e.here.n < n) { /* the blocks would not come out even */
        layout_free(&e.here);
        e.here = in_one_piece(0, e.space, n);
        if (e.here.type != MPI_INT64_T)
            MPI_Type_commit(&e.here.type);
    }
    e.space += BEHIND;
    e.at = place(v, target, (size_t) v->w.rank * words + e.there.at[0]);
    return e;
}

static void ends_free(struct ends *e)
{
    layout_free(&e->there);
    layout_free(&e->here);
}

static void get(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    op->to = operands(e->space);
    op->want = t_alloc(e->space * 8);
    op->room = e->space;
    memcpy(op->want, op->to, e->space * 8);
    for (size_t i = 0; i < e->there.n; i++)
        op->want[e->here.at[i]] = v->mine[e->target][e->there.at[i]];
    if (request)
        MPI_Rget(op->to + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                 e->there.count, e->there.type, v->w.win, request);
    else
        MPI_Get(op->to + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                e->there.count, e->there.type, v->w.win);
}

static void put(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    op->from = operands(e->space);
    for (size_t i = 0; i < e->there.n; i++)
        v->mine[e->target][e->there.at[i]] = op->from[e->here.at[i]];
    if (request)
        MPI_Rput(op->from + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                 e->there.count, e->there.type, v->w.win, request);
    else
        MPI_Put(op->from + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                e->there.count, e->there.type, v->w.win);
}

static void accumulate(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    MPI_Op with = any_op();
    size_t n = e->there.n;
    int gets = with == MPI_NO_OP || t_below(3) == 0;
    op->from = operands(e->space);
    const int64_t *from = op->from + e->here.at[0];
    if (gets) {
        op->to = operands(n);
        op->want = t_alloc(n * 8);
        op->room = n;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t *mine = &v->mine[e->target][e->there.at[i]];
        if (gets)
            op->want[i] = *mine;
        *mine = folded(with, *mine, op->from[e->here.at[i]]);
    }
    if (gets && request)
        MPI_Rget_accumulate(from, e->here.count, e->here.type, op->to, (int) n, MPI_INT64_T,
                            e->target, e->at, e->there.count, e->there.type, with, v->w.win,
                            request);
    else if (gets)
        MPI_Get_accumulate(from, e->here.count, e->here.type, op->to, (int) n, MPI_INT64_T,
                           e->target, e->at, e->there.count, e->there.type, with, v->w.win);
    else if (request)
        MPI_Raccumulate(from, e->here.count, e->here.type, e->target, e->at, e->there.count,
                        e->there.type, with, v->w.win, request);
    else
        MPI_Accumulate(from, e->here.count, e->here.type, e->target, e->at, e->there.count,
                       e->there.type, with, v->w.win);
}

/* One of any kind; passive: flushes and requests are allowed. */
static void operate(struct window *v, int target, int passive)
{
    struct pending *pending = &v->pending[target];
    int kind = (int) t_below(10), copies = kind < 5, common = kind == 9;
    int overlaps = common ? 0 : copies ? pending->accumulates || pending->upto == words :
                   pending->upto > 0;
    if (overlaps || v->ops == OPS) {
        if (!passive)
            return;
        flush(v);
    }
    if (common) {
        add_to_common(v, target);
        return;
    }
    if (!copies)
        pending->accumulates = 1;
    if (kind == 8) {
        one_word(v, target);
        return;
    }
    size_t from = copies ? pending->upto : 0;
    struct ends e = ends_of(v, target, from, words - from);
    struct op *op = &v->op[v->ops++];
    *op = (struct op){0};
    MPI_Request *request = passive && t_below(4) == 0 ? &v->request[v->requests++] : NULL;
    (kind < 2 ? get : copies ? put : accumulate)(v, &e, op, request);
    for (size_t i = 0; i < e.there.n && copies; i++)
        if (pending->upto <= e.there.at[i])
            pending->upto = e.there.at[i] + 1;
    ends_free(&e);
}

/* To this target, or any (-1). */
static void some(struct window *v, int target, int passive)
{
    uint64_t n = (uint64_t) v->w.size;
    for (uint64_t left = t_below(12); left > 0; left--) {
        operate(v, target >= 0 ? target : (int) t_below(n), passive);
        if (passive && t_below(9) == 0)
            flush(v);
    }
}

/* --- epochs ----------------------------------------------------------------------------------- */

static void fences(struct window *v)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, v->w.win);
    for (int more = (int) t_all_below(3); more >= 0; more--) {
        some(v, -1, 0);
        MPI_Win_fence(more == 0 ? MPI_MODE_NOSUCCEED : 0, v->w.win);
        done(v);
    }
}

/* To some ranks from a distance on, from as many. */
static void post_and_start(struct window *v)
{
    MPI_Group all, targets, origins;
    int n = v->w.size, to[RANKS_MAX], from[RANKS_MAX];
    int shift = (int) t_all_below((uint64_t) n), width = 1 + (int) t_all_below((uint64_t) n);
    for (int i = 0; i < width; i++) {
        to[i] = (v->w.rank + shift + i) % n;
        from[i] = (v->w.rank + 2 * n - shift - i) % n;
    }
    MPI_Win_get_group(v->w.win, &all);
    MPI_Group_incl(all, width, to, &targets);
    MPI_Group_incl(all, width, from, &origins);
    MPI_Win_post(origins, 0, v->w.win);
    MPI_Win_start(targets, 0, v->w.win);
    for (int i = 0; i < width; i++)
        some(v, to[t_below((uint64_t) width)], 0);
    MPI_Win_complete(v->w.win);
    MPI_Win_wait(v->w.win);
    done(v);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&all);
}

static void lock(struct window *v, int target)
{
    MPI_Win_lock(t_below(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, v->w.win);
    v->pending[target].locked = 1;
}

static void unlock(struct window *v, int target)
{
    MPI_Waitall(v->requests, v->request, MPI_STATUSES_IGNORE);
    v->requests = 0;
    MPI_Win_unlock(target, v->w.win);
    v->pending[target].locked = 0;
}

/* One, or two at a time: the lower rank's first, so that no two wait for each other. */
static void locks(struct window *v)
{
    for (uint64_t left = 1 + t_below(4); left > 0; left--) {
        int first = (int) t_below((uint64_t) v->w.size);
        int second = (int) t_below((uint64_t) v->w.size);
        lock(v, first);
        some(v, first, 1);
        if (second > first) {
            lock(v, second);
            some(v, second, 1);
            some(v, first, 1);
            unlock(v, second);
        }
        unlock(v, first);
        done(v);
    }
}

static void locks_all(struct window *v)
{
    MPI_Win_lock_all(0, v->w.win);
    for (int i = 0; i < v->w.size; i++)
        v->pending[i].locked = 1;
    for (uint64_t left = 1 + t_below(3); left > 0; left--)
        some(v, -1, 1);
    MPI_Waitall(v->requests, v->request, MPI_STATUSES_IGNORE);
    v->requests = 0;
    MPI_Win_unlock_all(v->w.win);
    for (int i = 0; i < v->w.size; i++)
        v->pending[i].locked = 0;
    done(v);
}

/* Each block is what its origin takes it to be, the common words are what all have added. */
static void check(struct window *v)
{
    int n = v->w.size;
    int64_t *should = t_alloc(words * 8), sum[COMMON];
    MPI_Win_lock(MPI_LOCK_SHARED, v->w.rank, 0, v->w.win);
    const int64_t *base = (const int64_t *) (const void *) v->w.base;
    for (int i = 0; i < n; i++) {
        int to = (v->w.rank + i) % n, from = (v->w.rank + n - i) % n;
        const int64_t *block = base + (size_t) from * words;
        size_t k = 0;
        MPI_Sendrecv(v->mine[to], (int) words, MPI_INT64_T, to, 0, should, (int) words, MPI_INT64_T,
                     from, 0, v->w.comm, MPI_STATUS_IGNORE);
        while (k < words && block[k] == should[k])
            k++;
        t_check(k == words, "%s: word %zu of rank %d's block: %lld instead of %lld",
                t_flavour_name[v->w.flavour], k, from, (long long) block[k],
                (long long) should[k]);
    }
    MPI_Reduce_scatter_block(v->added, sum, COMMON, MPI_INT64_T, MPI_SUM, v->w.comm);
    const int64_t *common = base + (size_t) n * words;
    for (int i = 0; i < COMMON; i++)
        t_check(common[i] == sum[i], "%s: common word %d: %lld instead of %lld",
                t_flavour_name[v->w.flavour], i, (long long) common[i], (long long) sum[i]);
    MPI_Win_unlock(v->w.rank, v->w.win);
    MPI_Barrier(v->w.comm);
    free(should);
}

int main(int argc, char **argv)
{
    static void (*const epoch[SYNCS])(struct window *) = {fences, post_and_start, locks, locks_all};
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    words = argc > 2 ? strtoul(argv[2], NULL, 0) : WORDS;
    int epochs = argc > 3 ? atoi(argv[3]) : EPOCHS;
    if (t_size > RANKS_MAX) {
        t_fault("at most %d ranks can be had", RANKS_MAX);
        return t_end();
    }
    for (int i = 0; i < WINDOWS; i++)
        window_open(&window[i]);
    for (int k = 0; k < epochs; k++) {
        struct window *v = &window[t_all_below(WINDOWS)];
        epoch[t_all_below(SYNCS)](v);
        MPI_Barrier(v->w.comm); /* no lock while another is exposed (MPI-4.0, 12.5.4) */
        int ends = t_all_below(12) == 0;
        if (ends || t_all_below(6) == 0)
            check(v);
        if (ends) {
            window_close(v);
            window_open(v);
        }
    }
    for (int i = 0; i < WINDOWS; i++) {
        check(&window[i]);
        window_close(&window[i]);
    }
    return t_end();
}
