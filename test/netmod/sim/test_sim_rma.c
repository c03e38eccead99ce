/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of netmod/sim's puts, gets,
 * atomics and flushes: when each happens, and what is refused. */
#include <string.h>
#include "netmod/bed.h"
#include "netmod/sim/sim_impl.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS = 3, BYTES = 64 };

/* Rank 0 reaches some memory of each rank. */
struct field {
    struct nm_way way;
    struct bed bed;
    struct wdl_nm *nm;          /* rank 0's */
    _Alignas(8) char memory[RANKS][BYTES];
    struct wdl_nm_mem *mem[RANKS];
    struct wdl_nm_rkey *rkey[RANKS];
};

static void field_open_with(struct field *f, uint64_t delay_ns, int refuse_permille,
                            const struct wdl_sim_params *limits)
{
    memset(f, 0, sizeof(*f));
    f->way = (struct nm_way){.name = "sim", .ops = &wdl_nm_sim_ops, .ordered = 1, .seed = 7,
                             .delay_ns = delay_ns, .refuse_permille = refuse_permille,
                             .limits = limits};
    bed_open(&f->bed, &f->way, RANKS);
    f->nm = f->bed.rank[0].nm;
    for (int i = 0; i < RANKS; i++) {
        struct wdl_nm *nm = f->bed.rank[i].nm;
        char key[64];
        size_t bytes = sizeof(key);
        ck_assert_int_eq(nm->ops->mem_attach(nm, f->memory[i], BYTES, &f->mem[i]), WDL_OK);
        ck_assert_int_eq(nm->ops->mem_key(nm, f->mem[i], key, &bytes), WDL_OK);
        ck_assert_int_eq(f->nm->ops->rkey_open(f->nm, i, key, bytes, &f->rkey[i]), WDL_OK);
    }
}

static void field_open(struct field *f, uint64_t delay_ns, int refuse_permille)
{
    field_open_with(f, delay_ns, refuse_permille, NULL);
}

static void field_close(struct field *f)
{
    for (int i = 0; i < RANKS; i++) {
        struct wdl_nm *nm = f->bed.rank[i].nm;
        f->nm->ops->rkey_close(f->nm, f->rkey[i]);
        nm->ops->mem_detach(nm, f->mem[i]);
    }
    bed_close(&f->bed);
}

static uint64_t at(const struct field *f, int rank, size_t offset)
{
    return (uint64_t) (uintptr_t) f->memory[rank] + offset;
}

static int put(struct field *f, int rank, const void *src, size_t bytes, size_t offset,
               struct bed_comp *c)
{
    *c = bed_comp();
    return f->nm->ops->put(f->nm, rank, src, bytes, at(f, rank, offset), f->rkey[rank], &c->comp);
}

static int get(struct field *f, int rank, void *dst, size_t bytes, size_t offset,
               struct bed_comp *c)
{
    *c = bed_comp();
    return f->nm->ops->get(f->nm, rank, dst, bytes, at(f, rank, offset), f->rkey[rank], &c->comp);
}

static int flush(struct field *f, int rank, struct bed_comp *c)
{
    *c = bed_comp();
    return f->nm->ops->flush(f->nm, rank, &c->comp);
}

/* A step of time, and rank 0's poll: nobody else's is needed. */
static void step(struct field *f)
{
    wdl_sim_advance(f->bed.sim, 1);
    f->nm->ops->poll(f->nm);
}

/* A put is over for its origin before it has arrived, and flush alone says that it has. */
START_TEST(a_put_arrives_after_its_completion)
{
    struct field f;
    struct bed_comp c, flushed;
    int late = 0;
    field_open(&f, 50, 0);
    for (int i = 1; i <= 100; i++) {
        int value = i, there;
        ck_assert_int_eq(put(&f, 1, &value, sizeof(value), 8, &c), WDL_PENDING);
        ck_assert_int_eq(flush(&f, 1, &flushed), WDL_PENDING);
        for (; !c.called; step(&f)) {
            memcpy(&there, f.memory[1] + 8, sizeof(there));
            must_cmp(there, ==, i - 1);
        }
        value = -1;             /* the source is the caller's again */
        for (; !flushed.called; step(&f)) {
            memcpy(&there, f.memory[1] + 8, sizeof(there));
            late += there == i - 1;
        }
        memcpy(&there, f.memory[1] + 8, sizeof(there));
        must_cmp(there, ==, i);
        must(c.called == 1 && flushed.called == 1 && c.info.status == WDL_OK);
    }
    ck_assert_int_gt(late, 100);
    ck_assert_uint_eq(wdl_sim_counts(f.bed.sim)->puts, 100);
    ck_assert_uint_eq(wdl_sim_counts(f.bed.sim)->flushes, 100);
    field_close(&f);
}
END_TEST

/* Of a put's source and a get's memory, what counts is what is there at the completion. */
START_TEST(bytes_are_read_late)
{
    struct field f;
    struct bed_comp c, flushed;
    char source[4] = "old", result[4] = "";
    field_open(&f, 50, 0);
    ck_assert_int_eq(put(&f, 2, source, 4, 0, &c), WDL_PENDING);
    memcpy(source, "new", 4);
    while (!c.called)
        step(&f);
    ck_assert_int_eq(flush(&f, 2, &flushed), WDL_PENDING);
    while (!flushed.called)
        step(&f);
    ck_assert_mem_eq(f.memory[2], "new", 4);
    ck_assert_int_eq(get(&f, 2, result, 4, 0, &c), WDL_PENDING);
    memcpy(f.memory[2], "end", 4);
    while (!c.called)
        step(&f);
    ck_assert_mem_eq(result, "end", 4);
    ck_assert_uint_eq(wdl_sim_counts(f.bed.sim)->gets, 1);
    field_close(&f);
}
END_TEST

static struct sim_op *last_op(const struct field *f)
{
    return wdl_container_of(((struct sim_nm *) f->nm)->ops.prev, struct sim_op, link);
}

static uint64_t arrival(int rank)
{
    return 100 * ((uint64_t) rank + 1);
}

/* A flush waits for what was begun to its peer before it, and for nothing else. */
START_TEST(a_flush_waits_for_its_peer)
{
    for (int peer = -1; peer < RANKS; peer++) {
        struct field f;
        struct bed_comp before[RANKS], after[RANKS], flushed;
        uint64_t one = 1;
        field_open(&f, 0, 0);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(put(&f, r, &one, 8, 0, &before[r]), WDL_PENDING);
            last_op(&f)->apply_due = arrival(r);
        }
        ck_assert_int_eq(flush(&f, peer, &flushed), WDL_PENDING);
        for (int r = 0; r < RANKS; r++) {
            ck_assert_int_eq(put(&f, r, &one, 8, 8, &after[r]), WDL_PENDING);
            last_op(&f)->apply_due = 1000;
        }
        while (!flushed.called)
            step(&f);
        int last = peer < 0 ? RANKS - 1 : peer;
        ck_assert_uint_eq(wdl_sim_now(f.bed.sim), arrival(last));
        ck_assert_int_eq(f.memory[last][0], 1);
        ck_assert_int_eq(f.memory[0][8], 0);
        while (!wdl_sim_quiescent(f.bed.sim))
            step(&f);
        ck_assert_int_eq(f.memory[0][8], 1);
        field_close(&f);
    }
}
END_TEST

START_TEST(atomics_do_what_they_say)
{
    static const struct {
        enum wdl_nm_atomic op;
        uint64_t value, compare, want;
    } rows[] = {
        {WDL_NM_ADD, 0xffffffffffffffff, 0, 0xf0f0f0f00000000f},
        {WDL_NM_AND, 0xff, 0, 0x10}, {WDL_NM_OR, 3, 0, 0xf0f0f0f000000013},
        {WDL_NM_XOR, 0x11, 0, 0xf0f0f0f000000001}, {WDL_NM_SWAP, 5, 0, 5},
        {WDL_NM_CSWAP, 6, 0xf0f0f0f000000010, 6},
        {WDL_NM_CSWAP, 6, 0xf0f0f0f000000011, 0xf0f0f0f000000010}
    };
    const uint64_t start = 0xf0f0f0f000000010, guard = 0x5a5a5a5a5a5a5a5a;
    struct field f;
    field_open(&f, 20, 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t size = 4; size <= 8; size += 4)
            for (int fetch = 0; fetch < 2; fetch++) {
                struct bed_comp c = bed_comp();
                uint64_t words[3] = {guard, start, guard}, fetched[2] = {guard, guard};
                int needs = rows[i].op == WDL_NM_CSWAP;
                memcpy(f.memory[1], words, sizeof(words));
                int status = f.nm->ops->atomic(f.nm, 1, rows[i].op, size, rows[i].value,
                                               rows[i].compare, fetch ? fetched : NULL,
                                               at(&f, 1, 8), f.rkey[1], &c.comp);
                ck_assert_int_eq(status, needs && !fetch ? WDL_ERR_ARG : WDL_PENDING);
                if (status == WDL_ERR_ARG)
                    continue;
                while (!c.called)
                    step(&f);
                memcpy(&words[1], &rows[i].want, size); /* 4: the low half alone */
                ck_assert_mem_eq(f.memory[1], words, sizeof(words));
                ck_assert_mem_eq(fetched, fetch ? &start : &guard, size);
                ck_assert_mem_eq((char *) fetched + size, &guard, 4);
            }
    struct bed_comp c = bed_comp();
    uint64_t fetched;
    const struct {
        size_t size, offset;
    } wrong[] = {{0, 0}, {1, 0}, {2, 0}, {16, 0}, {4, 2}, {8, 4}, {8, 60}, {4, 64}};
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_int_eq(f.nm->ops->atomic(f.nm, 1, WDL_NM_ADD, wrong[i].size, 1, 0, &fetched,
                                           at(&f, 1, wrong[i].offset), f.rkey[1], &c.comp),
                         WDL_ERR_ARG);
    ck_assert_uint_eq(wdl_sim_counts(f.bed.sim)->atomics, 24);
    ck_assert(wdl_sim_quiescent(f.bed.sim));
    field_close(&f);
}
END_TEST

START_TEST(a_key_opens_its_memory_and_no_more)
{
    struct field f;
    struct bed_comp c;
    static char data[BYTES + 1];
    const struct {
        size_t offset, bytes;
        int status;
    } rows[] = {{0, BYTES, WDL_PENDING}, {BYTES, 0, WDL_PENDING}, {0, 0, WDL_PENDING},
                {BYTES - 1, 1, WDL_PENDING}, {BYTES, 1, WDL_ERR_ARG}, {0, BYTES + 1, WDL_ERR_ARG},
                {1, BYTES, WDL_ERR_ARG}, {(size_t) -1, 1, WDL_ERR_ARG},
                {(size_t) -1, 2, WDL_ERR_ARG}, {1, SIZE_MAX, WDL_ERR_ARG}};
    field_open(&f, 0, 0);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_int_eq(put(&f, 1, data, rows[i].bytes, rows[i].offset, &c), rows[i].status);
        while (rows[i].status == WDL_PENDING && !c.called)
            step(&f);
        ck_assert_int_eq(get(&f, 1, data, rows[i].bytes, rows[i].offset, &c), rows[i].status);
        while (rows[i].status == WDL_PENDING && !c.called)
            step(&f);
        void *ptr = data;
        int status = f.nm->ops->map(f.nm, f.rkey[1], at(&f, 1, rows[i].offset), &ptr);
        ck_assert_int_eq(status, rows[i].offset <= BYTES ? WDL_OK : WDL_ERR_ARG);
        ck_assert_ptr_eq(ptr, status == WDL_OK ? f.memory[1] + rows[i].offset : NULL);
    }
    /* another's key; a key cut short; room too small for one */
    uint64_t address = at(&f, 1, 0);
    char key[64];
    size_t bytes = sizeof(key), small = 1;
    ck_assert_int_eq(f.nm->ops->put(f.nm, 2, data, 1, address, f.rkey[1], &c.comp), WDL_ERR_ARG);
    struct wdl_nm *nm = f.bed.rank[1].nm;
    ck_assert_int_eq(nm->ops->mem_key(nm, f.mem[1], key, &small), WDL_ERR_ARG);
    ck_assert_int_eq(nm->ops->mem_key(nm, f.mem[1], key, &bytes), WDL_OK);
    struct wdl_nm_rkey *rkey = f.rkey[0];
    ck_assert_int_eq(f.nm->ops->rkey_open(f.nm, 1, key, bytes - 1, &rkey), WDL_ERR_ARG);
    ck_assert_ptr_null(rkey);
    ck_assert_int_eq(f.nm->ops->rkey_open(f.nm, 2, key, bytes, &rkey), WDL_ERR_ARG);
    ck_assert_ptr_null(rkey);
    field_close(&f);
}
END_TEST

/* Refused: nothing has happened, nothing is under way. */
START_TEST(a_refusal_leaves_nothing)
{
    struct field f;
    struct bed_comp c;
    uint64_t value = 9;
    field_open(&f, 0, 1000);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(put(&f, 1, &value, 8, 0, &c), WDL_AGAIN);
        ck_assert_int_eq(get(&f, 1, &value, 8, 0, &c), WDL_AGAIN);
        ck_assert_int_eq(flush(&f, i % 2 ? -1 : 1, &c), WDL_AGAIN);
        ck_assert_int_eq(f.nm->ops->atomic(f.nm, 1, WDL_NM_ADD, 8, 1, 0, NULL, at(&f, 1, 0),
                                           f.rkey[1], &c.comp), WDL_AGAIN);
        step(&f);
    }
    const struct wdl_sim_counts *counts = wdl_sim_counts(f.bed.sim);
    ck_assert_uint_eq(counts->refused, 80);
    ck_assert_uint_eq(counts->puts + counts->gets + counts->atomics + counts->flushes, 0);
    ck_assert(wdl_sim_quiescent(f.bed.sim) && value == 9 && f.memory[1][0] == 0);
    wdl_sim_heal(f.bed.sim);
    ck_assert_int_eq(put(&f, 1, &value, 8, 0, &c), WDL_PENDING);
    bed_close(&f.bed);          /* with a put under way: it never arrives */
    ck_assert(c.called == 0 && f.memory[1][0] == 0);
}
END_TEST

/* What a key says is what is done: between two ranks that are odd by their NICs, elsewhere by the
 * processor, of which caps() says nothing. */
START_TEST(a_key_tells_between_whom)
{
    static const struct wdl_sim_params limits = {.by_key = 1,.odd = 1 + 0,.odd_to = 1 + 2,
                                                 .odd_atomics = WDL_SIM_ATOMICS_NIC};
    for (int rank = 0; rank < RANKS; rank++) {
        struct field f;
        struct wdl_nm_caps caps;
        uint64_t word = 0, got = 7;
        field_open_with(&f, 0, 0, &limits);
        ck_assert_int_eq(f.nm->ops->caps(f.nm)->domain, WDL_NM_DOMAIN_NONE);
        ck_assert_int_eq(f.nm->ops->caps(f.nm)->atomics_by_key, WDL_NM_ATTACHED | WDL_NM_OWN);
        f.nm->ops->rkey_caps(f.nm, f.rkey[rank], &caps);
        ck_assert_int_eq(caps.domain, rank == 2 ? WDL_NM_DOMAIN_NIC : WDL_NM_DOMAIN_CPU);
        ck_assert_int_eq(caps.atomics_by_key + caps.rma_needs_target, 0);
        struct bed_comp c = bed_comp();
        memcpy(f.memory[rank], &word, 8);
        ck_assert_int_eq(f.nm->ops->atomic(f.nm, rank, WDL_NM_ADD, 8, 1, 0, &got, at(&f, rank, 0),
                                           f.rkey[rank], &c.comp), WDL_PENDING);
        while (!c.called)
            step(&f);
        ck_assert_uint_eq(got, 0);
        field_close(&f);
    }
}
END_TEST

/* Words come whole, and in any order. */
START_TEST(a_put_may_be_torn_into_words)
{
    enum { WORDS = 4 };
    struct field f;
    struct bed_comp c, flushed;
    int first = 0; /* bits: which have come first */
    field_open(&f, 0, 0);
    f.bed.sim->params.torn = 1;
    for (uint64_t i = 1; i <= 60; i++) {
        uint64_t words[WORDS] = {i, i, i, i}, there[WORDS];
        int before = 0;
        ck_assert_int_eq(put(&f, 1, words, sizeof(words), 8, &c), WDL_PENDING);
        ck_assert_int_eq(flush(&f, 1, &flushed), WDL_PENDING);
        for (int come = 0; !flushed.called; before = come) {
            step(&f);
            memcpy(there, f.memory[1] + 8, sizeof(there));
            come = 0;
            for (int k = 0; k < WORDS; k++) {
                must(there[k] == i || there[k] == i - 1);
                come += there[k] == i;
                first |= before == 0 && there[k] == i ? 1 << k : 0;
            }
            must(come == before + 1 || before == WORDS);
        }
        must_cmp(before, ==, WORDS);
    }
    ck_assert_int_eq(first, (1 << WORDS) - 1);
    field_close(&f);
}
END_TEST

WDL_SUITE("netmod/sim/sim_rma", a_put_arrives_after_its_completion, bytes_are_read_late,
          a_put_may_be_torn_into_words,
          a_flush_waits_for_its_peer, atomics_do_what_they_say, a_key_opens_its_memory_and_no_more,
          a_refusal_leaves_nothing, a_key_tells_between_whom)
