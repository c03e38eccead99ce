/* Part of Windlass. See COPYRIGHT in the top-level directory. Conformance: keys and the bounds of
 * memory; whether what rkey_caps says of it holds. */
#include <stdlib.h>
#include <string.h>
#include "netmod/exposed.h"
#include "netmod/suites.h"

/* Without has_rma: said by every entry that could be asked. */
START_TEST(says_what_is_missing)
{
    struct exposed e;
    struct wdl_nm_mem *mem = (struct wdl_nm_mem *) &e;
    if (!expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[0].nm;
        struct bed_comp c = bed_comp();
        ck_assert_int_eq(nm->ops->mem_attach(nm, &c, sizeof(c), &mem), WDL_ERR_UNSUPPORTED);
        ck_assert_ptr_null(mem);
        void *base;
        ck_assert_int_eq(nm->ops->mem_alloc(nm, 64, &base, &mem), WDL_ERR_UNSUPPORTED);
        ck_assert_ptr_null(mem);
        ck_assert_int_eq(nm->ops->flush(nm, -1, &c.comp), WDL_ERR_UNSUPPORTED);
        ck_assert_uint_eq(nm->ops->caps(nm)->atomic32 | nm->ops->caps(nm)->atomic64, 0);
    }
    conceal(&e);
}
END_TEST

START_TEST(room_of_a_key)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[1].nm;
        unsigned char key[WDL_NM_KEY_BYTES_MAX + 1];
        size_t needed = 0;
        memset(key, 0xee, sizeof(key));
        ck_assert_int_eq(nm->ops->mem_key(nm, e.mem[1], key, &needed), WDL_ERR_ARG);
        ck_assert_uint_eq(needed, e.key_bytes[1]);
        ck_assert_uint_le(needed, nm->ops->caps(nm)->key_bytes_max);
        size_t bytes = needed - 1;
        ck_assert_int_eq(nm->ops->mem_key(nm, e.mem[1], key, &bytes), WDL_ERR_ARG);
        ck_assert_uint_eq(bytes, needed);
        ck_assert_int_eq(nm->ops->mem_key(nm, e.mem[1], key, &bytes), WDL_OK);
        ck_assert_mem_eq(key, e.key[1], needed);
        for (size_t i = needed; i < sizeof(key); i++)
            ck_assert_uint_eq(key[i], 0xee);
    }
    conceal(&e);
}
END_TEST

static int open_key(struct exposed *e, int peer, const void *key, size_t bytes)
{
    struct wdl_nm *nm = e->bed.rank[0].nm;
    struct wdl_nm_rkey *rkey = (struct wdl_nm_rkey *) e;
    int status;
    BED_START(&e->bed, status, nm->ops->rkey_open(nm, peer, key, bytes, &rkey));
    if (status == WDL_OK)
        nm->ops->rkey_close(nm, rkey);
    else
        ck_assert_ptr_null(rkey);
    return status;
}

/* What is no key, a piece of one, somebody else's, one with a bit turned. */
START_TEST(bad_keys)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 3)) {
        unsigned char *key = malloc(WDL_NM_KEY_BYTES_MAX + 1);
        size_t bytes = e.key_bytes[1];
        for (size_t n = 0; n < bytes; n++) {
            unsigned char *piece = malloc(n + 1); /* a checker sees who reads behind it */
            memcpy(piece, e.key[1], n);
            ck_assert_int_eq(open_key(&e, 1, piece, n), WDL_ERR_ARG);
            free(piece);
        }
        memcpy(key, e.key[1], bytes);
        key[bytes] = 0;
        ck_assert_int_eq(open_key(&e, 1, key, bytes + 1), WDL_ERR_ARG);
        ck_assert_int_eq(open_key(&e, 2, key, bytes), WDL_ERR_ARG);
        ck_assert_int_eq(open_key(&e, -1, key, bytes), WDL_ERR_ARG);
        ck_assert_int_eq(open_key(&e, 3, key, bytes), WDL_ERR_ARG);
        for (size_t bit = 0; bit < 8 * bytes; bit++) {
            key[bit / 8] ^= (unsigned char) (1 << bit % 8);
            ck_assert_int_eq(open_key(&e, 1, key, bytes), WDL_ERR_ARG);
            key[bit / 8] ^= (unsigned char) (1 << bit % 8);
        }
        memset(key, 0xff, bytes);
        ck_assert_int_eq(open_key(&e, 1, key, bytes), WDL_ERR_ARG);
        memset(key, 0, bytes);
        ck_assert_int_eq(open_key(&e, 1, key, bytes), WDL_ERR_ARG);
        ck_assert_int_eq(open_key(&e, 1, e.key[1], bytes), WDL_OK);
        free(key);
    }
    conceal(&e);
}
END_TEST

/* Outside the memory of a key there is nothing to be had, nor at another peer with it. */
START_TEST(bounds)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 3)) {
        struct wdl_nm *nm = e.bed.rank[0].nm;
        struct wdl_nm_rkey *rkey = e.rkey[0][1];
        struct bed_comp c = bed_comp();
        unsigned char here[16] = {0};
        void *ptr = here;
        uint64_t first = exposed_at(&e, 1, 0), end = first + EXPOSED_BYTES;
        const struct {
            int peer;
            uint64_t remote;
            size_t bytes;
        } bad[] = {{1, end - 8, 9}, {1, end + 1, 0},      {1, first - 1, 8}, {1, 0, 8},
                   {2, first, 8},   {1, first, SIZE_MAX}, {1, ~(uint64_t) 7, 8}, {-1, first, 8},
                   {3, first, 8}};
        for (unsigned k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
            int p = bad[k].peer;
            uint64_t r = bad[k].remote;
            size_t n = bad[k].bytes;
            ck_assert_int_eq(nm->ops->put(nm, p, here, n, r, rkey, &c.comp), WDL_ERR_ARG);
            ck_assert_int_eq(nm->ops->get(nm, p, here, n, r, rkey, &c.comp), WDL_ERR_ARG);
        }
        ck_assert_int_eq(nm->ops->atomic(nm, 1, WDL_NM_ADD, 8, 1, 0, NULL, end, rkey, &c.comp),
                         WDL_ERR_ARG);
        ck_assert_int_eq(nm->ops->atomic(nm, 2, WDL_NM_ADD, 8, 1, 0, NULL, first, rkey, &c.comp),
                         WDL_ERR_ARG);
        ck_assert_int_eq(nm->ops->map(nm, rkey, end + 1, &ptr), WDL_ERR_ARG);
        ck_assert_ptr_null(ptr);
        ck_assert_int_eq(nm->ops->flush(nm, -2, &c.comp), WDL_ERR_ARG);
        ck_assert_int_eq(nm->ops->flush(nm, 3, &c.comp), WDL_ERR_ARG);
        for (int i = 0; i < 20; i++)
            bed_poll(&e.bed);
        ck_assert_int_eq(c.called, 0);
    }
    conceal(&e);
}
END_TEST

START_TEST(bad_atomics)
{
    static const size_t sizes[] = {0, 1, 2, 3, 5, 16};
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[0].nm;
        struct wdl_nm_rkey *rkey = e.rkey[0][1];
        struct bed_comp c = bed_comp();
        uint64_t got = 0, first = exposed_at(&e, 1, 0);
        for (int i = 0; i < 6; i++)
            ck_assert_int_eq(nm->ops->atomic(nm, 1, WDL_NM_ADD, sizes[i], 1, 0, &got, first, rkey,
                                             &c.comp),
                             WDL_ERR_ARG);
        for (size_t off = 1; off < 8; off++)
            ck_assert_int_eq(nm->ops->atomic(nm, 1, WDL_NM_ADD, off % 4 ? 4 : 8, 1, 0, &got,
                                             first + off, rkey, &c.comp),
                             WDL_ERR_ARG);
        ck_assert_int_eq(nm->ops->atomic(nm, 1, WDL_NM_CSWAP, 8, 1, 0, NULL, first, rkey, &c.comp),
                         WDL_ERR_ARG);
        ck_assert_int_eq(nm->ops->atomic(nm, 1, WDL_NM_ATOMIC_COUNT, 8, 1, 0, &got, first, rkey,
                                         &c.comp),
                         WDL_ERR_ARG);
        exposed_flush(&e, 0, 1);
        ck_assert_int_eq(e.memory[1][0], 0);
    }
    conceal(&e);
}
END_TEST

/* One operation while the target does not poll, then to its end. Was it done without the target? */
#define ALONE(e, alone, call)                                                   \
    do {                                                                        \
        struct bed_comp c = bed_comp();                                         \
        int status_;                                                            \
        while ((status_ = (call)) == WDL_AGAIN)                                 \
            exposed_poll_alone((e), 0);                                         \
        ck_assert(status_ == WDL_OK || status_ == WDL_PENDING);                 \
        (alone) = exposed_done_alone(e, 0, &c, status_);                        \
        if (status_ == WDL_PENDING)                                             \
            BED_UNTIL(&(e)->bed, c.called);                                     \
    } while (0)

static void expect(enum nm_answer wanted, int found)
{
    if (wanted != NM_ANY)
        ck_assert_int_eq(found, wanted == NM_YES);
}

/* Let connections come about, which take the target. */
static void connect_all(struct exposed *e)
{
    uint64_t word = 0;
    exposed_put(e, 0, 1, &word, 8, 0);
    exposed_flush(e, 0, -1);
    for (int i = 0; i < 200; i++)
        bed_poll(&e->bed);
}

START_TEST(needs_target_is_true)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[0].nm;
        struct wdl_nm_caps caps;
        uint64_t word = 0x1234567887654321u, back = 0;
        int alone;
        connect_all(&e);
        nm->ops->rkey_caps(nm, e.rkey[0][1], &caps);
        ck_assert_uint_eq(caps.am_bytes_max, nm->ops->caps(nm)->am_bytes_max);
        ck_assert_int_le(caps.rma_needs_target, nm->ops->caps(nm)->rma_needs_target);
        expect(nm_ways[_i].expected.alone, !caps.rma_needs_target);
        exposed_put(&e, 0, 1, &word, 8, 8);
        ALONE(&e, alone, nm->ops->flush(nm, 1, &c.comp));
        if (!caps.rma_needs_target)
            ck_assert(alone);
        ck_assert_mem_eq(e.memory[1] + 8, &word, 8);
        ALONE(&e, alone,
              nm->ops->get(nm, 1, &back, 8, exposed_at(&e, 1, 8), e.rkey[0][1], &c.comp));
        ck_assert_int_eq(alone, !caps.rma_needs_target);
        ck_assert_uint_eq(back, word);
    }
    conceal(&e);
}
END_TEST

/* Every atomic of rank 0 on rank 1's memory is done alone where it is native, and only there. */
static void each_atomic(struct exposed *e, const struct wdl_nm_caps *caps, uint64_t at,
                        struct wdl_nm_rkey *rkey)
{
    struct wdl_nm *nm = e->bed.rank[0].nm;
    for (int op = 0; op < WDL_NM_ATOMIC_COUNT; op++)
        for (size_t size = 4; size <= 8; size += 4) {
            uint64_t got = 0;
            int alone, native = (size == 4 ? caps->atomic32 : caps->atomic64) >> op & 1;
            ALONE(e, alone,
                  nm->ops->atomic(nm, 1, (enum wdl_nm_atomic) op, size, 1, 0, &got, at, rkey,
                                  &c.comp));
            ck_assert_int_eq(alone, native);
        }
}

/* A native atomic is done without the target; another is not, or it would be called native. */
START_TEST(native_is_true)
{
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[0].nm;
        struct wdl_nm_caps caps;
        const uint32_t every = (1u << WDL_NM_ATOMIC_COUNT) - 1;
        connect_all(&e);
        nm->ops->rkey_caps(nm, e.rkey[0][1], &caps);
        ck_assert_uint_eq(caps.atomic32 & nm->ops->caps(nm)->atomic32, nm->ops->caps(nm)->atomic32);
        ck_assert_uint_eq(caps.atomic64 & nm->ops->caps(nm)->atomic64, nm->ops->caps(nm)->atomic64);
        ck_assert_int_eq((caps.atomic32 | caps.atomic64) != 0, caps.domain != WDL_NM_DOMAIN_NONE);
        expect(nm_ways[_i].expected.native, caps.atomic32 == every && caps.atomic64 == every);
        if (!(nm->ops->caps(nm)->atomics_by_key & WDL_NM_ATTACHED))
            ck_assert_int_eq(caps.domain, nm->ops->caps(nm)->domain);
        if (nm_ways[_i].expected.native == NM_YES)
            ck_assert_int_eq(caps.domain, nm_ways[_i].expected.domain);
        each_atomic(&e, &caps, exposed_at(&e, 1, 64), e.rkey[0][1]);
    }
    conceal(&e);
}
END_TEST

/* Memory of the network's own is reached as natively as its key says. */
START_TEST(memory_of_its_own)
{
    enum { BYTES = 200000 };
    struct exposed e;
    if (expose(&e, &nm_ways[_i], 2)) {
        struct wdl_nm *nm = e.bed.rank[0].nm, *owner = e.bed.rank[1].nm;
        struct wdl_nm_mem *mem;
        struct wdl_nm_rkey *rkey;
        struct wdl_nm_caps caps;
        unsigned char key[WDL_NM_KEY_BYTES_MAX], *mine = calloc(2, BYTES), *back = mine + BYTES;
        size_t key_bytes = sizeof(key);
        void *base;
        int status, alone;
        connect_all(&e);
        ck_assert_int_eq(owner->ops->mem_alloc(owner, BYTES, &base, &mem), WDL_OK);
        memset(base, 0, BYTES);
        ck_assert_int_eq(owner->ops->mem_key(owner, mem, key, &key_bytes), WDL_OK);
        BED_START(&e.bed, status, nm->ops->rkey_open(nm, 1, key, key_bytes, &rkey));
        ck_assert_int_eq(status, WDL_OK);
        nm->ops->rkey_caps(nm, rkey, &caps);
        expect(nm_ways[_i].expected.own, !caps.rma_needs_target);
        expect(nm_ways[_i].expected.own_native, caps.domain != WDL_NM_DOMAIN_NONE);
        if (!(nm->ops->caps(nm)->atomics_by_key & WDL_NM_OWN))
            ck_assert_int_eq(caps.domain, nm->ops->caps(nm)->domain);
        uint64_t at = (uint64_t) (uintptr_t) base;
        each_atomic(&e, &caps, at, rkey);
        for (size_t n = 8; n < BYTES; n *= 20) {
            memset(mine, (int) n + 1, n);
            ALONE(&e, alone, nm->ops->put(nm, 1, mine, n, at, rkey, &c.comp));
            ALONE(&e, alone, nm->ops->flush(nm, 1, &c.comp));
            ck_assert(alone || caps.rma_needs_target);
            ck_assert_mem_eq(base, mine, n);
            ALONE(&e, alone, nm->ops->get(nm, 1, back, n, at, rkey, &c.comp));
            ck_assert(alone || caps.rma_needs_target);
            ck_assert_mem_eq(back, mine, n);
        }
        nm->ops->rkey_close(nm, rkey);
        owner->ops->mem_detach(owner, mem);
        free(mine);
    }
    conceal(&e);
}
END_TEST

const TTest *const *nm_caps_tests(void)
{
    static const TTest *tests[9];
    tests[0] = says_what_is_missing;
    tests[1] = room_of_a_key;
    tests[2] = bad_keys;
    tests[3] = bounds;
    tests[4] = bad_atomics;
    tests[5] = needs_target_is_true;
    tests[6] = native_is_true;
    tests[7] = memory_of_its_own;
    return tests;
}
