/* Part of Windlass. See COPYRIGHT in the top-level directory. Opening, and active messages. */
#include "netmod/conformance.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "netmod/bed.h"
#include "netmod/suites.h"

const struct nm_way *nm_ways;

START_TEST(opens)
{
    struct bed bed;
    bed_open(&bed, &nm_ways[_i], 3);
    for (int i = 0; i < 3; i++) {
        struct wdl_nm *nm = bed.rank[i].nm;
        const struct wdl_nm_caps *caps = nm->ops->caps(nm);
        const void *addr = NULL, *again = NULL;
        size_t bytes = 0;
        char text[128] = "";
        ck_assert_uint_ge(caps->am_bytes_max, 1024);
        ck_assert_uint_le(caps->key_bytes_max, WDL_NM_KEY_BYTES_MAX);
        ck_assert(caps->domain != WDL_NM_DOMAIN_NONE || (caps->atomic32 | caps->atomic64) == 0);
        ck_assert_int_eq(nm->ops->get_ordering(nm), nm_ways[_i].ordered);
        ck_assert_int_eq(nm->ops->address(nm, &addr, &bytes), WDL_OK);
        ck_assert_int_eq(nm->ops->address(nm, &again, &bytes), WDL_OK);
        ck_assert(addr && addr == again && bytes > 0);
        nm->ops->describe(nm, text, sizeof(text));
        ck_assert_uint_gt(strlen(text), 0);
    }
    bed_close(&bed);
}
END_TEST

/* Rule 4: a peer's address is asked for once, on first use. */
START_TEST(connects_on_first_use)
{
    struct bed bed;
    struct bed_comp c;
    bed_open(&bed, &nm_ways[_i], 3);
    for (int i = 0; i < 50; i++)
        bed_poll(&bed);
    for (int i = 0; i < 9; i++)
        ck_assert_int_eq(bed.rank[i / 3].asked[i % 3], 0);
    for (int i = 0; i < 3; i++)
        BED_DO(&bed, c,
               bed.rank[0].nm->ops->am(bed.rank[0].nm, 1, "0123456789abcdef", 16, NULL, 0,
                                       &c.comp));
    BED_UNTIL(&bed, bed.rank[1].logged == 3);
    ck_assert_int_eq(bed.rank[0].asked[1], 1);
    ck_assert_int_eq(bed.rank[0].asked[2], 0);
    ck_assert_int_eq(bed.rank[2].asked[0] + bed.rank[2].asked[1], 0);
    bed_close(&bed);
}
END_TEST

static unsigned char byte_of(size_t message, size_t at)
{
    return (unsigned char) (message * 31 + at * 7 + at / 253);
}

/* One message of `bytes` in `pieces` pieces behind its header; the header's memory is spoiled at
 * once. */
static void send_message(struct bed *bed, int from, int to, size_t number, size_t bytes, int pieces)
{
    unsigned char header[BED_HEADER], *payload = malloc(bytes + 1);
    struct wdl_nm_iov iov[8];
    struct bed_comp c = bed_comp();
    size_t rest = bytes - BED_HEADER, at = 0;
    int status;
    for (size_t i = 0; i < bytes; i++)
        payload[i] = byte_of(number, i);
    memcpy(header, payload, BED_HEADER);
    for (int i = 0; i < pieces; i++) {
        size_t n = i == pieces - 1 ? rest - at : rest / (size_t) pieces;
        iov[i] = (struct wdl_nm_iov){payload + BED_HEADER + at, n};
        at += n;
    }
    struct wdl_nm *nm = bed->rank[from].nm;
    BED_START(bed, status, nm->ops->am(nm, to, header, BED_HEADER, iov, pieces, &c.comp));
    memset(header, 0xee, sizeof(header));
    ck_assert(status == WDL_OK || status == WDL_PENDING);
    if (status == WDL_PENDING)
        BED_UNTIL(bed, c.called);
    memset(payload, 0xdd, bytes);
    for (int i = 0; i < 5; i++)
        bed_poll(bed);
    ck_assert_int_eq(c.called, status == WDL_PENDING);
    free(payload);
}

START_TEST(messages_of_every_shape)
{
    struct bed bed;
    bed_open(&bed, &nm_ways[_i], 2);
    size_t max = bed.rank[0].nm->ops->caps(bed.rank[0].nm)->am_bytes_max;
    const size_t sizes[] = {BED_HEADER, 17, 63, 64, 65, 200, 1000, 1024, max / 2, max - 1, max};
    int sent = 0;
    for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        if (sizes[s] > max)
            continue;
        for (int pieces = sizes[s] > BED_HEADER; pieces <= 8; pieces += pieces < 2 ? 1 : 3) {
            send_message(&bed, 0, 1, sizes[s], sizes[s], pieces);
            BED_UNTIL(&bed, bed.rank[1].logged > sent);
            const struct bed_msg *msg = &bed.rank[1].log[sent++];
            ck_assert_uint_eq(msg->bytes, sizes[s]);
            for (size_t i = 0; i < msg->bytes; i++)
                ck_assert_uint_eq(msg->data[i], byte_of(sizes[s], i));
            if (sizes[s] == BED_HEADER)
                break;
        }
    }
    ck_assert_int_eq(bed.rank[1].logged, sent);
    bed_close(&bed);
}
END_TEST

static uint64_t number_of(const struct bed_msg *msg)
{
    uint64_t n;
    ck_assert_uint_ge(msg->bytes, BED_HEADER);
    memcpy(&n, msg->data, sizeof(n));
    return n;
}

static void send_number(struct bed *bed, int from, int to, uint64_t n)
{
    uint64_t header[2] = {n, (uint64_t) from};
    struct bed_comp c;
    BED_DO(bed, c,
           bed->rank[from].nm->ops->am(bed->rank[from].nm, to, header, sizeof(header), NULL, 0,
                                       &c.comp));
}

/* get_ordering tells the truth, and a network that promises no order has none. */
START_TEST(order)
{
    enum { N = 500 };
    struct bed bed;
    unsigned char seen[N] = {0};
    int inversions = 0;
    bed_open(&bed, &nm_ways[_i], 2);
    for (uint64_t i = 0; i < N; i++)
        send_number(&bed, 0, 1, i);
    BED_UNTIL(&bed, bed.rank[1].logged == N);
    for (int i = 0; i < N; i++) {
        uint64_t n = number_of(&bed.rank[1].log[i]);
        ck_assert_uint_lt(n, N);
        ck_assert_int_eq(seen[n]++, 0);
        inversions += i > 0 && n < number_of(&bed.rank[1].log[i - 1]);
    }
    if (nm_ways[_i].ordered)
        ck_assert_int_eq(inversions, 0);
    else
        ck_assert_int_gt(inversions, 0);
    bed_close(&bed);
}
END_TEST

/* A refused message comes again, and nothing overtakes it. */
START_TEST(refused_messages_come_again)
{
    enum { N = 40 };
    struct bed bed;
    bed_open(&bed, &nm_ways[_i], 2);
    bed.rank[1].refuse = 100;
    for (uint64_t i = 0; i < N; i++)
        send_number(&bed, 0, 1, i);
    BED_UNTIL(&bed, bed.rank[1].logged == N);
    ck_assert_int_eq(bed.rank[1].refuse, 0);
    for (int i = 0; i < N && nm_ways[_i].ordered; i++)
        ck_assert_uint_eq(number_of(&bed.rank[1].log[i]), (uint64_t) i);
    for (int i = 0; i < 200; i++)
        bed_poll(&bed);
    ck_assert_int_eq(bed.rank[1].logged, N);
    bed_close(&bed);
}
END_TEST

START_TEST(everyone_to_everyone)
{
    enum { RANKS = 5, EACH = 60 };
    struct bed bed;
    uint64_t sum[RANKS] = {0};
    bed_open(&bed, &nm_ways[_i], RANKS);
    for (int k = 0; k < EACH; k++)
        for (int from = 0; from < RANKS; from++) {
            int to = (int) wdl_prng_below(&bed.prng, RANKS); /* oneself included */
            uint64_t n = wdl_prng_below(&bed.prng, 1000000);
            send_number(&bed, from, to, n);
            sum[to] += n;
        }
    int all = 0;
    while (all < RANKS * EACH) {
        bed_poll(&bed);
        all = 0;
        for (int i = 0; i < RANKS; i++)
            all += bed.rank[i].logged;
    }
    for (int i = 0; i < RANKS; i++) {
        for (int k = 0; k < bed.rank[i].logged; k++)
            sum[i] -= number_of(&bed.rank[i].log[k]);
        ck_assert_uint_eq(sum[i], 0);
    }
    bed_close(&bed);
}
END_TEST

START_TEST(no_such_peer)
{
    struct bed bed;
    struct bed_comp c = bed_comp();
    bed_open(&bed, &nm_ways[_i], 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    const int nobody[] = {-1, 2, 1 << 30};
    for (int i = 0; i < 3; i++) {
        int status;
        BED_START(&bed, status,
                  nm->ops->am(nm, nobody[i], "0123456789abcdef", 16, NULL, 0, &c.comp));
        ck_assert(wdl_status_is_error(status));
    }
    for (int i = 0; i < 20; i++)
        bed_poll(&bed);
    ck_assert_int_eq(c.called, 0);
    ck_assert_int_eq(bed.rank[1].logged, 0);
    bed_close(&bed);
}
END_TEST

/* arm: a descriptor, the same every time, that the next event makes readable. */
START_TEST(wakes_a_sleeper)
{
    struct bed bed;
    int fd = -1, first = -1;
    bed_open(&bed, &nm_ways[_i], 2);
    struct wdl_nm *nm = bed.rank[1].nm;
    for (int k = 0; k < 3 && nm->ops->caps(nm)->has_wakeup; k++) {
        int armed;
        send_number(&bed, 1, 0, 1);
        send_number(&bed, 0, 1, 1); /* the connection is there, both ways */
        BED_UNTIL(&bed, bed.rank[0].logged == k + 1);
        BED_UNTIL(&bed, bed.rank[1].logged == 2 * k + 1);
        while ((armed = nm->ops->arm(nm, &fd)) == WDL_AGAIN)
            nm->ops->poll(nm);
        ck_assert_int_eq(armed, WDL_OK);
        ck_assert(k == 0 || fd == first);
        first = fd;
        uint64_t header[2] = {7, 0};
        int status;
        struct bed_comp c = bed_comp();
        while ((status = bed.rank[0].nm->ops->am(bed.rank[0].nm, 1, header, 16, NULL, 0,
                                                 &c.comp)) == WDL_AGAIN)
            bed.rank[0].nm->ops->poll(bed.rank[0].nm);
        ck_assert(!wdl_status_is_error(status));
        struct pollfd sleeper = {.fd = fd, .events = POLLIN};
        for (int tries = 0; tries < 500 && poll(&sleeper, 1, 10) == 0; tries++)
            bed.rank[0].nm->ops->poll(bed.rank[0].nm);
        ck_assert_int_eq(sleeper.revents & POLLIN, POLLIN);
        BED_UNTIL(&bed, bed.rank[1].logged == 2 * k + 2);
    }
    bed_close(&bed);
}
END_TEST

/* What is pending at close is dropped without completion; leak checkers see the rest. */
START_TEST(closes_with_things_pending)
{
    struct bed bed;
    static unsigned char payload[1000];
    struct bed_comp c[20];
    struct wdl_nm_iov iov = {payload, sizeof(payload)};
    bed_open(&bed, &nm_ways[_i], 2);
    struct wdl_nm *nm = bed.rank[0].nm;
    send_number(&bed, 0, 1, 1);
    send_number(&bed, 1, 0, 1);
    BED_UNTIL(&bed, bed.rank[0].logged == 1 && bed.rank[1].logged == 1);
    bed.rank[1].refuse = 1 << 20;
    int before = 0;
    for (int i = 0; i < 20; i++) {
        c[i] = bed_comp();
        (void) nm->ops->am(nm, 1, "0123456789abcdef", 16, &iov, 1, &c[i].comp);
    }
    for (int i = 0; i < 5; i++)
        bed_poll(&bed);
    for (int i = 0; i < 20; i++)
        before += c[i].called;
    bed_close(&bed);
    for (int i = 0; i < 20; i++)
        before -= c[i].called;
    ck_assert_int_eq(before, 0);
}
END_TEST

int conformance_run(const char *name, const struct nm_way *ways, int count, const TTest *const *own)
{
    const TTest *const messages[] = {opens,
                                     connects_on_first_use,
                                     messages_of_every_shape,
                                     order,
                                     refused_messages_come_again,
                                     everyone_to_everyone,
                                     no_such_peer,
                                     wakes_a_sleeper,
                                     closes_with_things_pending,
                                     NULL};
    const TTest *const *const suites[] = {messages,         nm_rma_tests(), nm_caps_tests(),
                                          nm_close_tests(), nm_tag_tests(), own};
    Suite *suite = suite_create(name);
    nm_ways = ways;
    for (unsigned s = 0; s < sizeof(suites) / sizeof(suites[0]); s++) {
        TCase *tcase = tcase_create(name);
        tcase_set_timeout(tcase, 120);
        for (int i = 0; suites[s][i]; i++)
            tcase_add_loop_test(tcase, suites[s][i], 0, suites[s] == own ? 1 : count);
        suite_add_tcase(suite, tcase);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner), ran = srunner_ntests_run(runner);
    srunner_free(runner);
    return failed == 0 && ran > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
