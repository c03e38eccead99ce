/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Reductions of one node: in order, whatever way the operands come; the same bits on all ranks, in
 * place, of any number of elements; each part folded once; no message.
 */
#include <string.h>
#include "mpid/coll/onenode.h"
#include "support/must.h"
#include "support/suite.h"

static const size_t lengths[] = {4,
                                 64,
                                 100,
                                 ONENODE_BOARD,
                                 ONENODE_BOARD + 4,
                                 ONENODE_LONG,
                                 ONENODE_ROOM / ONENODE_MAX & ~(size_t) 3,
                                 ONENODE_ROOM};
enum { STAGING = 1 << 20 }; /* for all of it */
static struct onenode o;
static size_t folded; /* elements */

static void compose(void *ctx, const void *left, void *inout, size_t count)
{
    folded += count;
    ranks_compose(ctx, left, inout, count);
}

static void compose_apart(void *ctx, const void *left, const void *right, void *result,
                          size_t count)
{
    const char *l = left, *r = right, *to = result;
    must(to + 4 * count <= l || l + 4 * count <= to);
    must(to + 4 * count <= r || r + 4 * count <= to);
    memcpy(result, right, 4 * count);
    compose(ctx, left, result, count);
}

static int apart; /* may results lie apart from operands? */

static struct wdl_coll_op composing(void)
{
    return (struct wdl_coll_op){
        .fn = compose, .elem_bytes = 4, .apart = apart ? compose_apart : NULL};
}

/* All sources from byte `at` on, in order. */
static const char *wanted(size_t at, size_t bytes)
{
    static char out[ONENODE_ROOM];
    char *const *from = o.kept;
    memcpy(out, from[o.r.n - 1] + at, bytes);
    for (int i = o.r.n - 2; i >= 0; i--)
        ranks_compose(NULL, from[i] + at, out, bytes / 4);
    return out;
}

/* Each way of sharing memory, number of ranks and length, in place and not. */
static void everywhere(void (*one)(size_t bytes))
{
    for (int way = 0; way < 5; way++)
        for (int n = 2; n <= ONENODE_MAX; n++) {
            apart = (way + n) % 2;
            onenode_open(&o, n, way > 0, way > 3 ? STAGING : way > 1 ? 65536 : 0);
            for (int i = 0; i < n; i++) /* more ranks than processors, and not */
                o.r.one[i].shm.crowded = way == 3;
            for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
                for (o.in_place = 0; o.in_place < 2; o.in_place++)
                    if (way || lengths[l] <= ONENODE_BOARD / (size_t) n)
                        one(lengths[l]);
            onenode_close(&o);
        }
}

static uint32_t leaves; /* or 0 */

static void reduce_one(size_t bytes)
{
    for (int root = 0; root<o.r.n; root += bytes> ONENODE_LONG ? o.r.n - 1 : 1) {
        onenode_fill(&o);
        static char want[ONENODE_ROOM];
        memcpy(want, wanted(0, bytes), bytes);
        folded = 0;
        onenode_all(&o, &(struct wdl_coll_args){.kind = WDL_COLL_REDUCE,
                                                .flags = leaves,
                                                .root = root,
                                                .bytes = bytes,
                                                .op = composing()});
        must(memcmp(o.dst[root], want, bytes) == 0);
        must_cmp(folded, ==, (size_t) (o.r.n - 1) * bytes / 4);
    }
}

static void allreduce_one(size_t bytes)
{
    onenode_fill(&o);
    static char want[ONENODE_ROOM];
    memcpy(want, wanted(0, bytes), bytes);
    folded = 0;
    onenode_all(
        &o, &(struct wdl_coll_args){.kind = WDL_COLL_ALLREDUCE, .bytes = bytes, .op = composing()});
    for (int i = 0; i < o.r.n; i++)
        must(memcmp(o.dst[i], want, bytes) == 0);
    must_cmp(folded, >=, (size_t) (o.r.n - 1) * bytes / 4);
    must_cmp(folded, <=, (size_t) (o.r.n * (o.r.n - 1)) * bytes / 4);
}

static void reduce_scatter_one(size_t bytes)
{
    static char want[ONENODE_ROOM];
    if (bytes * (size_t) o.r.n > ONENODE_ROOM)
        return;
    onenode_fill(&o);
    memcpy(want, wanted(0, bytes * (size_t) o.r.n), bytes * (size_t) o.r.n);
    folded = 0;
    onenode_all(&o, &(struct wdl_coll_args){
                        .kind = WDL_COLL_REDUCE_SCATTER, .bytes = bytes, .op = composing()});
    for (int i = 0; i < o.r.n; i++)
        must(memcmp(o.dst[i], want + (size_t) i * bytes, bytes) == 0);
    must_cmp(folded, ==, (size_t) (o.r.n * (o.r.n - 1)) * bytes / 4);
}

START_TEST(reduce)
{
    everywhere(reduce_one);
}
END_TEST

START_TEST(reduce_where_who_gives_leaves)
{
    leaves = WDL_COLL_LEAVES;
    everywhere(reduce_one);
}
END_TEST

/* Several of them, one behind the other, before the root comes: what finds room is staged, what
 * does not is copied elsewhere, and their memory is the program's again. */
START_TEST(who_gives_waits_for_nobody)
{
    enum { N = 4, MANY = 6 };
    static struct wdl_coll_req reqs[N][MANY];
    static char want[MANY][ONENODE_ROOM];
    for (int staging = 0; staging < 2; staging++)
        for (size_t l = 4; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            size_t bytes = lengths[l] / MANY & ~(size_t) 3;
            bytes = bytes > ONENODE_BOARD ? bytes : lengths[l];
            onenode_open(&o, N, 1, staging ? 65536 : 0);
            for (int i = N - 1; i >= 0; i--) /* 0 is the root */
                for (int k = 0; k < MANY; k++) {
                    struct wdl_coll_args args = {.kind = WDL_COLL_REDUCE,
                                                 .flags = WDL_COLL_MPI | WDL_COLL_LEAVES,
                                                 .src = o.src[i],
                                                 .dst = o.got[k % N],
                                                 .bytes = bytes,
                                                 .op = composing()};
                    for (size_t w = 0; w < bytes; w++)
                        o.src[i][w] = (char) (wdl_prng_next(&o.r.prng) >> 7);
                    if (i == N - 1)
                        memcpy(want[k], o.src[i], bytes);
                    else
                        ranks_compose(NULL, o.src[i], want[k], bytes / 4);
                    must_cmp(wdl_coll_start(o.teams[i], &args, &reqs[i][k]), ==, WDL_OK);
                    for (int turn = 0; turn < 10 && !reqs[i][k].done; turn++)
                        onenode_settle(&o);
                    must_cmp(reqs[i][k].done, ==, 1);
                    must_cmp(reqs[i][k].status, ==, WDL_OK);
                    if (i == 0)
                        must(memcmp(o.got[k % N], want[k], bytes) == 0);
                    memset(o.src[i], 0xc3, bytes);
                }
            onenode_close(&o);
        }
}
END_TEST

/* Who gives last, and finds all there, folds what nobody has taken on; who comes before folds
 * nothing. Without a staged operand it only gives. */
START_TEST(the_last_helps)
{
    enum { N = 4, BYTES = 200000 };
    for (int root = 0; root < N; root++)
        for (int staging = 0; staging < 2; staging++) {
            struct wdl_coll_args args = {.kind = WDL_COLL_REDUCE,
                                         .flags = WDL_COLL_LEAVES,
                                         .root = root,
                                         .bytes = BYTES,
                                         .op = composing()};
            onenode_open(&o, N, 1, staging ? STAGING : 0);
            onenode_fill(&o);
            const char *want = wanted(0, BYTES);
            folded = 0;
            onenode_begin(&o, root, &args);
            for (int k = 1; k < N; k++) {
                must_cmp(folded, ==, 0);
                onenode_begin(&o, (root + k) % N, &args);
                must_cmp(o.reqs[(root + k) % N].done, ==, 1);
            }
            must_cmp(folded, ==, staging ? (N - 1) * BYTES / 4 : 0);
            must_cmp(o.reqs[root].done, ==, 0);
            onenode_settle(&o);
            must_cmp(o.reqs[root].done, ==, 1);
            must_cmp(folded, ==, (N - 1) * BYTES / 4);
            must(memcmp(o.dst[root], want, BYTES) == 0);
            onenode_close(&o);
        }
}
END_TEST

START_TEST(allreduce)
{
    everywhere(allreduce_one);
}
END_TEST

START_TEST(reduce_scatter)
{
    everywhere(reduce_scatter_one);
}
END_TEST

static void add_floats(void *ctx, const void *left, void *inout, size_t count)
{
    const float *l = left;
    float *io = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++)
        io[i] = l[i] + io[i];
}

/* A sum of floats depends on how it is grouped: here on nothing but the number of ranks. */
START_TEST(floats_have_the_same_bits_everywhere_and_again)
{
    for (int n = 2; n <= ONENODE_MAX; n++) {
        static char first[ONENODE_ROOM];
        onenode_open(&o, n, 1, 65536);
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
            for (int again = 0; again < 3; again++) {
                struct wdl_coll_args args = {.kind = WDL_COLL_ALLREDUCE, .bytes = lengths[l]};
                args.op = (struct wdl_coll_op){.fn = add_floats,
                                               .elem_bytes = 4,
                                               .commutes = WDL_COLL_COMMUTES};
                for (int i = 0; i < n; i++)
                    for (size_t k = 0; k < lengths[l] / 4; k++)
                        ((float *) (void *) o.src[i])[k] =
                            (float) ((k * 7919 + (size_t) i * 104729) % 10007) / 3.0f *
                            (i & 1 ? 1e4f : 1e-3f);
                onenode_all(&o, &args);
                if (!again)
                    memcpy(first, o.dst[0], lengths[l]);
                for (int i = 0; i < n; i++)
                    must(memcmp(o.dst[i], first, lengths[l]) == 0);
            }
        onenode_close(&o);
    }
}
END_TEST

WDL_SUITE("coll/node_fold", reduce, reduce_where_who_gives_leaves, who_gives_waits_for_nobody,
          the_last_helps, allreduce, reduce_scatter, floats_have_the_same_bits_everywhere_and_again)
