/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Random one-sided operations, of rma_random and thread_random.
 *
 * A rank's window has a block of so many words for each origin, or for each thread of it, and a few
 * common words. What an origin's block must hold is known to the origin word by word: accumulates
 * of one origin are ordered, and a flush, or the epoch's end, lies between a put or a get and what
 * it overlaps. To the common words all add.
 */
#ifndef RANDOM_WINDOWS_H_INCLUDED
#define RANDOM_WINDOWS_H_INCLUDED

#include "testing.h"
#include <pthread.h>

enum { COMMON = 16, OPS = 40, RANKS_MAX = 64 };
enum sync { FENCE, PSCW, LOCK, LOCK_ALL, SYNCS };

static size_t words; /* of a block */

static inline size_t least(size_t a, size_t b)
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

static inline struct layout layout_new(size_t n)
{
    return (struct layout){
        .n = n, .at = t_alloc(n * sizeof(size_t)), .type = MPI_INT64_T, .count = 1};
}

static inline struct layout in_one_piece(size_t from, size_t room, size_t n)
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
static inline struct layout evenly_apart(size_t from, size_t room, size_t n)
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
static inline struct layout of_any_length(size_t from, size_t room, size_t n)
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
static inline struct layout layout_of(size_t from, size_t room, size_t n)
{
    static struct layout (*const make[])(size_t, size_t, size_t) = {in_one_piece, evenly_apart,
                                                                    of_any_length};
    struct layout l = make[t_below(3)](from, room, n);
    if (l.type != MPI_INT64_T)
        MPI_Type_commit(&l.type);
    return l;
}

static inline void layout_free(struct layout *l)
{
    if (l->type != MPI_INT64_T)
        MPI_Type_free(&l->type);
    free(l->at);
}

/* --- windows ---------------------------------------------------------------------------------- */

struct op { /* under way */
    int64_t *from, *to, *want; /* `to` is to hold what want does, room words */
    size_t room, given; /* given: words at `from` */
};

struct window {
    struct t_win w;
    size_t part, parts; /* which of a rank's blocks is this, of how many */
    pthread_mutex_t *turn; /* by target: what a process has to lock it alone, or NULL */
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
};

/* In words: where a rank's blocks end, and a window's end, with some words for others' use. */
static inline size_t window_blocks(const struct t_win *w, size_t parts)
{
    return (size_t) w->size * parts * words;
}

static inline struct t_win window_memory(MPI_Comm comm, enum t_flavour flavour, size_t parts,
                                         size_t others)
{
    size_t n = (size_t) t_size * parts * words + COMMON + others;
    return t_win_make(comm, flavour, n * 8, 8);
}

/* A part of it. */
static inline void window_take(struct window *v, struct t_win w, size_t part, size_t parts)
{
    size_t n = (size_t) w.size;
    *v = (struct window){.w = w, .part = part, .parts = parts};
    v->mine = t_alloc(n * sizeof(v->mine[0]));
    for (size_t i = 0; i < n; i++)
        v->mine[i] = memset(t_alloc(words * 8), 0, words * 8);
    v->added = memset(t_alloc(n * COMMON * 8), 0, n * COMMON * 8);
    v->pending = memset(t_alloc(n * sizeof(v->pending[0])), 0, n * sizeof(v->pending[0]));
}

static inline void window_leave(struct window *v)
{
    for (int i = 0; i < v->w.size; i++)
        free(v->mine[i]);
    free(v->mine);
    free(v->added);
    free(v->pending);
}

static inline void window_open(struct window *v, MPI_Comm comm)
{
    enum t_flavour flavour = (enum t_flavour) t_all_below(T_FLAVOURS);
    window_take(v, window_memory(comm, flavour, 1, 0), 0, 1);
}

static inline void window_close(struct window *v)
{
    window_leave(v);
    t_win_free(&v->w);
}

/* The first word of this one's block. */
static inline size_t window_block(const struct window *v)
{
    return ((size_t) v->w.rank * v->parts + v->part) * words;
}

static inline MPI_Aint window_place(const struct window *v, int target, size_t word)
{
    return v->w.at[target] + (MPI_Aint) (word * (v->w.unit == 1 ? 8 : 1));
}

/* What was begun is done here: what was to come has come, what was given is the program's again. */
static inline void window_reap_here(struct window *v)
{
    for (int i = 0; i < v->ops; i++) {
        struct op *op = &v->op[i];
        size_t k = 0;
        while (k < op->room && op->to[k] == op->want[k])
            k++;
        t_check(k == op->room, "%s: word %zu of %zu: %lld instead of %lld",
                t_flavour_name[v->w.flavour], k, op->room, (long long) op->to[k],
                (long long) op->want[k]);
        if (op->from)
            memset(op->from, 0x66, op->given * 8);
        free(op->from);
        free(op->to);
        free(op->want);
    }
    v->ops = 0;
}

/* And there. */
static inline void window_reap(struct window *v)
{
    window_reap_here(v);
    for (int i = 0; i < v->w.size; i++) {
        v->pending[i].upto = 0;
        v->pending[i].accumulates = 0;
    }
}

static inline void window_wait(struct window *v)
{
    MPI_Waitall(v->requests, v->request, MPI_STATUSES_IGNORE);
    v->requests = 0;
}

static inline void window_flush(struct window *v)
{
    window_wait(v);
    int all = t_below(4) == 0, here = t_below(4) == 0;
    /* it would wait for others' locks, too, who may wait for this one's */
    for (int i = 0; i < v->w.size && v->turn; i++)
        all = all && v->pending[i].locked;
    if (all)
        (void) (here ? MPI_Win_flush_local_all(v->w.win) : MPI_Win_flush_all(v->w.win));
    for (int i = 0; i < v->w.size && !all; i++)
        if (v->pending[i].locked)
            (void) (here ? MPI_Win_flush_local(i, v->w.win) : MPI_Win_flush(i, v->w.win));
    if (here)
        window_reap_here(v);
    else
        window_reap(v);
}

/* --- operations ------------------------------------------------------------------------------- */

static inline MPI_Op any_op(void)
{
    static const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_MAX, MPI_BXOR, MPI_NO_OP};
    return ops[t_below(5)];
}

static inline int64_t window_folded(MPI_Op op, int64_t old, int64_t value)
{
    if (op == MPI_SUM)
        return old + value;
    if (op == MPI_REPLACE)
        return value;
    if (op == MPI_MAX)
        return old > value ? old : value;
    return op == MPI_BXOR ? old ^ value : old;
}

static inline int64_t *window_operands(size_t n)
{
    int64_t *some = t_alloc(n * 8);
    for (size_t i = 0; i < n; i++)
        some[i] = (int64_t) t_below(1 << 20);
    return some;
}

static inline void add_to_common(struct window *v, int target)
{
    struct op *op = &v->op[v->ops++];
    size_t word = t_below(COMMON);
    MPI_Aint at = window_place(v, target, window_blocks(&v->w, v->parts) + word);
    *op = (struct op){.from = window_operands(2), .given = 2};
    v->added[(size_t) target * COMMON + word] += op->from[0];
    if (t_below(2))
        MPI_Accumulate(op->from, 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, MPI_SUM, v->w.win);
    else
        MPI_Fetch_and_op(op->from, op->from + 1, MPI_INT64_T, target, at, MPI_SUM, v->w.win);
}

static inline void one_word(struct window *v, int target)
{
    struct op *op = &v->op[v->ops++];
    size_t word = t_below(words);
    int64_t *mine = &v->mine[target][word];
    MPI_Aint at = window_place(v, target, window_block(v) + word);
    *op = (struct op){.from = window_operands(2), .given = 2, .to = window_operands(1),
                      .want = window_operands(1), .room = 1};
    op->want[0] = *mine;
    if (t_below(2)) {
        MPI_Op with = any_op();
        MPI_Fetch_and_op(op->from, op->to, MPI_INT64_T, target, at, with, v->w.win);
        *mine = window_folded(with, *mine, op->from[0]);
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

static inline struct ends ends_of(const struct window *v, int target, size_t from, size_t room)
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
    e.at = window_place(v, target, window_block(v) + e.there.at[0]);
    return e;
}

static inline void ends_free(struct ends *e)
{
    layout_free(&e->there);
    layout_free(&e->here);
}

static inline void get(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    op->to = window_operands(e->space);
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

static inline void put(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    op->from = window_operands(e->space);
    op->given = e->space;
    for (size_t i = 0; i < e->there.n; i++)
        v->mine[e->target][e->there.at[i]] = op->from[e->here.at[i]];
    if (request)
        MPI_Rput(op->from + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                 e->there.count, e->there.type, v->w.win, request);
    else
        MPI_Put(op->from + e->here.at[0], e->here.count, e->here.type, e->target, e->at,
                e->there.count, e->there.type, v->w.win);
}

static inline void accumulate(struct window *v, struct ends *e, struct op *op, MPI_Request *request)
{
    MPI_Op with = any_op();
    size_t n = e->there.n;
    int gets = with == MPI_NO_OP || t_below(3) == 0;
    op->from = window_operands(e->space);
    op->given = e->space;
    const int64_t *from = op->from + e->here.at[0];
    if (gets) {
        op->to = window_operands(n);
        op->want = t_alloc(n * 8);
        op->room = n;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t *mine = &v->mine[e->target][e->there.at[i]];
        if (gets)
            op->want[i] = *mine;
        *mine = window_folded(with, *mine, op->from[e->here.at[i]]);
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
static inline void operate(struct window *v, int target, int passive)
{
    struct pending *pending = &v->pending[target];
    int kind = (int) t_below(10), copies = kind < 5, common = kind == 9;
    int overlaps = common ? 0 : copies ? pending->accumulates || pending->upto == words :
                   pending->upto > 0;
    if (overlaps || v->ops == OPS) {
        if (!passive)
            return;
        while (v->ops == OPS || pending->upto > 0 || pending->accumulates)
            window_flush(v);
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
static inline void some(struct window *v, int target, int passive)
{
    uint64_t n = (uint64_t) v->w.size;
    for (uint64_t left = t_below(12); left > 0; left--) {
        operate(v, target >= 0 ? target : (int) t_below(n), passive);
        if (passive && t_below(9) == 0)
            window_flush(v);
    }
}

/* --- epochs ----------------------------------------------------------------------------------- */

static inline void fences(struct window *v)
{
    MPI_Win_fence(MPI_MODE_NOPRECEDE, v->w.win);
    for (int more = (int) t_all_below(3); more >= 0; more--) {
        some(v, -1, 0);
        MPI_Win_fence(more == 0 ? MPI_MODE_NOSUCCEED : 0, v->w.win);
        window_reap(v);
    }
}

/* To some ranks from a distance on, from as many. */
static inline void post_and_start(struct window *v)
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
    window_reap(v);
    MPI_Group_free(&targets);
    MPI_Group_free(&origins);
    MPI_Group_free(&all);
}

static inline void window_lock(struct window *v, int target)
{
    MPI_Win_lock(t_below(2) ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, v->w.win);
    v->pending[target].locked = 1;
}

static inline void window_unlock(struct window *v, int target)
{
    window_wait(v);
    MPI_Win_unlock(target, v->w.win);
    v->pending[target].locked = 0;
}

/* One, or two at a time: the lower rank's first, so that no two wait for each other. Turns before
 * locks: MPI_Win_lock may return before it has the lock, which another thread may have that waits
 * for the turn. */
static inline void locks(struct window *v)
{
    for (uint64_t left = 1 + t_below(4); left > 0; left--) {
        int first = (int) t_below((uint64_t) v->w.size);
        int second = (int) t_below((uint64_t) v->w.size);
        if (v->turn)
            pthread_mutex_lock(&v->turn[first]);
        if (v->turn && second > first)
            pthread_mutex_lock(&v->turn[second]);
        window_lock(v, first);
        some(v, first, 1);
        if (second > first) {
            window_lock(v, second);
            some(v, second, 1);
            some(v, first, 1);
            window_unlock(v, second);
        }
        window_unlock(v, first);
        window_reap(v);
        if (v->turn && second > first)
            pthread_mutex_unlock(&v->turn[second]);
        if (v->turn)
            pthread_mutex_unlock(&v->turn[first]);
    }
}

static inline void locks_all(struct window *v)
{
    MPI_Win_lock_all(0, v->w.win);
    for (int i = 0; i < v->w.size; i++)
        v->pending[i].locked = 1;
    for (uint64_t left = 1 + t_below(3); left > 0; left--)
        some(v, -1, 1);
    window_wait(v);
    MPI_Win_unlock_all(v->w.win);
    for (int i = 0; i < v->w.size; i++)
        v->pending[i].locked = 0;
    window_reap(v);
}

/* Each block is what its origin takes it to be, the common words are what all have added. All parts
 * of this process's, one behind the other; no epoch is open elsewhere but of MPI_Win_lock_all, in
 * which all has been flushed. */
static inline void window_check_locked(struct window *part)
{
    const struct t_win *w = &part->w;
    int n = w->size;
    size_t parts = part->parts;
    int64_t *should = t_alloc(words * 8), sum[COMMON];
    int64_t *added = memset(t_alloc((size_t) n * COMMON * 8), 0, (size_t) n * COMMON * 8);
    const int64_t *base = (const int64_t *) (const void *) w->base;
    for (size_t i = 0; i < (size_t) n * parts; i++) {
        int to = (w->rank + (int) (i / parts)) % n, from = (w->rank + n - (int) (i / parts)) % n;
        size_t at = (size_t) from * parts + i % parts, k = 0;
        MPI_Sendrecv(part[i % parts].mine[to], (int) words, MPI_INT64_T, to, 0, should, (int) words,
                     MPI_INT64_T, from, 0, w->comm, MPI_STATUS_IGNORE);
        while (k < words && base[at * words + k] == should[k])
            k++;
        t_check(k == words, "%s: word %zu of rank %d's block %zu: %lld instead of %lld",
                t_flavour_name[w->flavour], k, from, i % parts,
                (long long) base[at * words + k], (long long) should[k]);
    }
    for (size_t i = 0; i < (size_t) n * COMMON * parts; i++)
        added[i / parts] += part[i % parts].added[i / parts];
    MPI_Reduce_scatter_block(added, sum, COMMON, MPI_INT64_T, MPI_SUM, w->comm);
    const int64_t *common = base + window_blocks(w, parts);
    for (int i = 0; i < COMMON; i++)
        t_check(common[i] == sum[i], "%s: common word %d: %lld instead of %lld",
                t_flavour_name[w->flavour], i, (long long) common[i], (long long) sum[i]);
    free(should);
    free(added);
}

static inline void window_check(struct window *part)
{
    MPI_Win_lock(MPI_LOCK_SHARED, part->w.rank, 0, part->w.win);
    window_check_locked(part);
    MPI_Win_unlock(part->w.rank, part->w.win);
    MPI_Barrier(part->w.comm);
}

/* One epoch of any synchronization. */
static inline void window_epoch(struct window *v)
{
    static void (*const epoch[SYNCS])(struct window *) = {fences, post_and_start, locks, locks_all};
    epoch[t_all_below(SYNCS)](v);
    MPI_Barrier(v->w.comm); /* no lock while another is exposed (MPI-4.0, 12.5.4) */
}

#endif /* RANDOM_WINDOWS_H_INCLUDED */
