/* Part of Windlass. See COPYRIGHT in the top-level directory. Conformance: tagged messages.
 * Networks without them (caps->has_tag) have nothing to show. */
#include <stdlib.h>
#include <string.h>
#include "netmod/bed.h"
#include "netmod/suites.h"

#define ALL (~(uint64_t) 0)

static int tag_bed(struct bed *bed, const struct nm_way *way)
{
    bed_open(bed, way, 2);
    return bed->rank[0].nm->ops->caps(bed->rank[0].nm)->has_tag;
}

struct recv {
    struct bed_comp c;
    int done;
    struct wdl_nm_info info;
};

static void recv_begin(struct bed *bed, struct recv *r, uint64_t tag, uint64_t mask, void *buf,
                       size_t bytes)
{
    struct wdl_nm *nm = bed->rank[1].nm;
    struct wdl_nm_buf to = {buf, bytes, NULL};
    int status;
    memset(r, 0, sizeof(*r));
    r->c = bed_comp();
    BED_START(bed, status, nm->ops->tag_recv(nm, tag, mask, &to, &r->c.comp, &r->info));
    ck_assert(status == WDL_OK || status == WDL_PENDING);
    r->done = status == WDL_OK;
}

static const struct wdl_nm_info *recv_end(struct bed *bed, struct recv *r)
{
    if (!r->done) {
        BED_UNTIL(bed, r->c.called);
        r->info = r->c.info;
    }
    ck_assert_int_le(r->c.called, 1);
    return &r->info;
}

static void send(struct bed *bed, uint64_t tag, const void *buf, size_t bytes, struct bed_comp *c)
{
    struct wdl_nm *nm = bed->rank[0].nm;
    struct wdl_nm_buf from = {(void *) (uintptr_t) buf, bytes, NULL};
    int status;
    *c = bed_comp();
    BED_START(bed, status, nm->ops->tag_send(nm, 1, tag, &from, 0, &c->comp));
    ck_assert(status == WDL_OK || status == WDL_PENDING);
    c->called = status == WDL_OK; /* from here on: over */
}

static void pattern(unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (unsigned char) (i * 11 + i / 250);
}

/* Expected and unexpected, from nothing to more than any eager limit. */
START_TEST(sizes)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        unsigned char *out = malloc(1 << 20), *in = malloc(1 << 20);
        const size_t bytes[] = {0, 1, 8, 100, 1000, 8192, 70000, 1 << 20};
        pattern(out, 1 << 20);
        for (int k = 0; k < 16; k++) {
            size_t n = bytes[k / 2];
            struct recv r;
            struct bed_comp c;
            memset(in, 0, 1 << 20);
            if (k % 2)
                recv_begin(&bed, &r, 5, ALL, in, n);
            send(&bed, 5, out, n, &c);
            for (int i = 0; i < 10; i++)
                bed_poll(&bed);
            if (k % 2 == 0)
                recv_begin(&bed, &r, 5, ALL, in, 1 << 20);
            const struct wdl_nm_info *info = recv_end(&bed, &r);
            BED_UNTIL(&bed, c.called);
            ck_assert_int_eq(info->status, WDL_OK);
            ck_assert_uint_eq(info->bytes, n);
            ck_assert_uint_eq(info->tag, 5);
            ck_assert_mem_eq(in, out, n ? n : 1 * (size_t) 0);
        }
        free(out);
        free(in);
    }
    bed_close(&bed);
}
END_TEST

/* Masks choose; equal tags keep their order. */
START_TEST(matching)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        struct bed_comp c[6];
        static const int value[6] = {10, 20, 30, 40, 50, 60};
        static const uint64_t tag[6] = {0x101, 0x102, 0x101, 0x201, 0x102, 0x101};
        for (int i = 0; i < 6; i++)
            send(&bed, tag[i], &value[i], sizeof(int), &c[i]);
        static const struct {
            uint64_t tag, mask;
            int want;
        } rows[6] = {{0x201, ALL, 40}, {0x102, ALL, 20}, {0x100, ~(uint64_t) 0xff, 10},
                     {0x101, ALL, 30}, {0, 0, 50},       {0x001, 0x0ff, 60}};
        for (int i = 0; i < 6; i++) {
            struct recv r;
            int got = 0;
            recv_begin(&bed, &r, rows[i].tag, rows[i].mask, &got, sizeof(got));
            ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
            ck_assert_int_eq(got, rows[i].want);
        }
    }
    bed_close(&bed);
}
END_TEST

/* A message longer than its receive, of each of a netmod's ways: whether the receive waits for the
 * message or comes after it, it says whose message that was, and what lies behind is left alone. */
START_TEST(truncation)
{
    static unsigned char out[300000], in[64];
    static const size_t lengths[] = {100, 30000, sizeof(out)};
    struct bed bed;
    pattern(out, sizeof(out));
    int has_tag = tag_bed(&bed, &nm_ways[_i]);
    for (int i = 0; has_tag && i < 6; i++) {
        struct recv r;
        struct bed_comp c;
        struct wdl_nm_info info;
        int comes_after = i % 2;
        memset(in, 0xcc, sizeof(in));
        if (!comes_after)
            recv_begin(&bed, &r, 9, 0, in, 32);
        send(&bed, 9, out, lengths[i / 2], &c);
        if (comes_after) {
            struct wdl_nm *nm = bed.rank[1].nm;
            BED_UNTIL(&bed, nm->ops->tag_probe(nm, 9, ALL, &info, NULL) == WDL_OK);
            recv_begin(&bed, &r, 9, 0, in, 32);
        }
        ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_ERR_TRUNCATE);
        ck_assert_uint_eq(recv_end(&bed, &r)->tag, 9);
        for (int k = 32; k < 64; k++)
            ck_assert_uint_eq(in[k], 0xcc);
        BED_UNTIL(&bed, c.called);
    }
    bed_close(&bed);
}
END_TEST

START_TEST(cancelling)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        struct wdl_nm *nm = bed.rank[1].nm;
        struct recv r;
        struct bed_comp c;
        int in = 0, out = 3;
        recv_begin(&bed, &r, 1, ALL, &in, sizeof(in));
        nm->ops->tag_cancel(nm, &r.c.comp);
        ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_ERR_CANCELED);
        send(&bed, 1, &out, sizeof(out), &c); /* the cancelled receive does not take it */
        recv_begin(&bed, &r, 1, ALL, &in, sizeof(in));
        ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
        ck_assert_int_eq(in, 3);
    }
    bed_close(&bed);
}
END_TEST

/* A probe sees a message without taking it, or takes it out of matching. */
START_TEST(probing)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        struct wdl_nm *nm = bed.rank[1].nm;
        struct wdl_nm_info info;
        struct wdl_nm_msg *msg = NULL;
        struct bed_comp c[2];
        int out[2] = {5, 6}, in = 0;
        ck_assert_int_eq(nm->ops->tag_probe(nm, 4, ALL, &info, NULL), WDL_AGAIN);
        send(&bed, 4, &out[0], sizeof(int), &c[0]);
        send(&bed, 4, &out[1], sizeof(int), &c[1]);
        BED_UNTIL(&bed, nm->ops->tag_probe(nm, 0, 0, &info, NULL) == WDL_OK);
        ck_assert_uint_eq(info.tag, 4);
        ck_assert_uint_eq(info.bytes, sizeof(int));
        BED_UNTIL(&bed, nm->ops->tag_probe(nm, 4, ALL, &info, &msg) == WDL_OK);
        struct recv r;
        recv_begin(&bed, &r, 4, ALL, &in, sizeof(in));
        ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
        ck_assert_int_eq(in, 6); /* the first is taken already */
        struct wdl_nm_buf to = {&in, sizeof(in), NULL};
        r.c = bed_comp();
        int status = nm->ops->tag_recv_msg(nm, msg, &to, &r.c.comp, &r.info);
        r.done = status == WDL_OK;
        ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
        ck_assert_int_eq(in, 5);
    }
    bed_close(&bed);
}
END_TEST

START_TEST(synchronous_sends)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        struct wdl_nm *nm = bed.rank[0].nm;
        int out = 8, in = 0, status;
        struct wdl_nm_buf from = {&out, sizeof(out), NULL};
        struct bed_comp c = bed_comp();
        BED_START(&bed, status, nm->ops->tag_send(nm, 1, 2, &from, WDL_NM_TAG_SYNC, &c.comp));
        ck_assert_int_eq(status, WDL_PENDING);
        for (int i = 0; i < 300; i++)
            bed_poll(&bed);
        ck_assert_int_eq(c.called, 0); /* nobody receives */
        struct recv r;
        recv_begin(&bed, &r, 2, ALL, &in, sizeof(in));
        recv_end(&bed, &r);
        BED_UNTIL(&bed, c.called);
        ck_assert_int_eq(in, 8);
    }
    bed_close(&bed);
}
END_TEST

/* At once or not at all. */
START_TEST(sends_done_in_the_call)
{
    struct bed bed;
    if (tag_bed(&bed, &nm_ways[_i])) {
        struct wdl_nm *nm = bed.rank[0].nm;
        int sent = 0, sum = 0, want = 0;
        for (int i = 0; i < 200; i++) {
            struct wdl_nm_buf from = {&i, sizeof(i), NULL};
            int status = nm->ops->tag_send(nm, 1, 3, &from, WDL_NM_TAG_NOW, NULL);
            ck_assert(status == WDL_OK || status == WDL_AGAIN);
            if (status == WDL_OK) {
                sent++;
                want += i;
            } else {
                bed_poll(&bed);
            }
        }
        for (int i = 0; i < sent; i++) {
            struct recv r;
            int in = 0;
            recv_begin(&bed, &r, 3, ALL, &in, sizeof(in));
            ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
            sum += in;
        }
        ck_assert_int_eq(sum, want);
        struct wdl_nm_info info;
        ck_assert_int_eq(bed.rank[1].nm->ops->tag_probe(bed.rank[1].nm, 0, 0, &info, NULL),
                         WDL_AGAIN);
    }
    bed_close(&bed);
}
END_TEST

/* A layout of every other byte. */
static size_t every_other_bytes(void *ctx, const void *addr, size_t count)
{
    (void) ctx;
    (void) addr;
    return count;
}

static size_t every_other_pack(void *ctx, const void *addr, size_t count, size_t offset, void *dst,
                               size_t bytes)
{
    size_t n = bytes < count - offset ? bytes : count - offset;
    (void) ctx;
    for (size_t i = 0; i < n; i++)
        ((char *) dst)[i] = ((const char *) addr)[2 * (offset + i)];
    return n;
}

static size_t every_other_unpack(void *ctx, void *addr, size_t count, size_t offset,
                                 const void *src, size_t bytes)
{
    size_t n = bytes < count - offset ? bytes : count - offset;
    (void) ctx;
    for (size_t i = 0; i < n; i++)
        ((char *) addr)[2 * (offset + i)] = ((const char *) src)[i];
    return n;
}

START_TEST(layouts)
{
    struct bed bed;
    static const struct wdl_nm_type_ops ops = {every_other_bytes, every_other_pack,
                                               every_other_unpack};
    if (tag_bed(&bed, &nm_ways[_i])) {
        const size_t counts[] = {1, 50, 5000, 300000};
        struct wdl_nm *nm[2] = {bed.rank[0].nm, bed.rank[1].nm};
        struct wdl_nm_type *type[2];
        unsigned char *out = malloc(600000), *in = malloc(600000);
        for (int i = 0; i < 2; i++)
            ck_assert_int_eq(nm[i]->ops->type_create(nm[i], &ops, NULL, &type[i]), WDL_OK);
        pattern(out, 600000);
        for (int k = 0; k < 4; k++) {
            struct wdl_nm_buf from = {out, counts[k], type[0]}, to = {in, counts[k], type[1]};
            struct bed_comp s = bed_comp();
            struct recv r = {.c = bed_comp()};
            int status;
            memset(in, 0xbb, 600000);
            BED_START(&bed, status, nm[0]->ops->tag_send(nm[0], 1, 6, &from, 0, &s.comp));
            ck_assert(!wdl_status_is_error(status));
            s.called += status == WDL_OK;
            BED_START(&bed, status, nm[1]->ops->tag_recv(nm[1], 6, ALL, &to, &r.c.comp, &r.info));
            r.done = status == WDL_OK;
            ck_assert_int_eq(recv_end(&bed, &r)->status, WDL_OK);
            ck_assert_uint_eq(r.info.bytes, counts[k]);
            BED_UNTIL(&bed, s.called);
            for (size_t i = 0; i < counts[k]; i++) {
                ck_assert_uint_eq(in[2 * i], out[2 * i]);
                ck_assert_uint_eq(in[2 * i + 1], 0xbb);
            }
        }
        for (int i = 0; i < 2; i++)
            nm[i]->ops->type_destroy(nm[i], type[i]);
        free(out);
        free(in);
    }
    bed_close(&bed);
}
END_TEST

const TTest *const *nm_tag_tests(void)
{
    static const TTest *tests[9];
    tests[0] = sizes;
    tests[1] = matching;
    tests[2] = truncation;
    tests[3] = cancelling;
    tests[4] = probing;
    tests[5] = synchronous_sends;
    tests[6] = sends_done_in_the_call;
    tests[7] = layouts;
    return tests;
}
