/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of proc/proc, over a network
 * that does what the test says. */
#include "mpid/proc/proc.h"
#include <stdio.h>
#include <string.h>
#include "host/testhost.h"
#include "support/suite.h"

enum { PEERS = 5, AM_BYTES = 1024 };

struct stub {                   /* the network of one process */
    struct wdl_nm nm;
    struct wdl_nm_params params;
    int result;                 /* of am() */
    int sends, closed, polls;
    char sent[AM_BYTES];        /* the last message */
    size_t sent_bytes;
    struct wdl_nm_comp *comp;
};

struct world {
    struct stub stub;
    struct test_host host;
    struct wdl_proc *proc;
    int open_status;
    int answer;                 /* of the handler */
    int handled, src;
    char got[AM_BYTES];
    size_t got_bytes;
};

static int stub_open(const struct wdl_nm_params *params, struct wdl_nm **nm_out, char *err,
                     size_t err_bytes)
{
    struct world *w = params->fabric;
    *nm_out = NULL;
    if (w->open_status != WDL_OK) {
        snprintf(err, err_bytes, "as the test wants");
        return w->open_status;
    }
    w->stub.params = *params;
    *nm_out = &w->stub.nm;
    return WDL_OK;
}

static void stub_close(struct wdl_nm *nm)
{
    ((struct stub *) nm)->closed++;
}

static const struct wdl_nm_caps *stub_caps(struct wdl_nm *nm)
{
    static const struct wdl_nm_caps caps = {.am_bytes_max = AM_BYTES };
    (void) nm;
    return &caps;
}

static int stub_get_ordering(struct wdl_nm *nm)
{
    (void) nm;
    return 1;
}

static int stub_poll(struct wdl_nm *nm)
{
    return ((struct stub *) nm)->polls++ == 0;
}

static int stub_am(struct wdl_nm *nm, int peer, const void *hdr, size_t hdr_bytes,
                   const struct wdl_nm_iov *iov, int niov, struct wdl_nm_comp *comp)
{
    struct stub *s = (struct stub *) nm;
    ck_assert_int_lt(peer, PEERS);
    s->sends++;
    s->sent_bytes = 0;
    memcpy(s->sent, hdr, hdr_bytes);
    s->sent_bytes = hdr_bytes;
    for (int i = 0; i < niov; i++) {
        ck_assert_uint_le(s->sent_bytes + iov[i].bytes, AM_BYTES);
        memcpy(s->sent + s->sent_bytes, iov[i].base, iov[i].bytes);
        s->sent_bytes += iov[i].bytes;
    }
    s->comp = comp;
    return s->result;
}

static const struct wdl_nm_ops stub_ops = {
    .name = "stub",.open = stub_open,.close = stub_close,.caps = stub_caps,
    .get_ordering = stub_get_ordering,.poll = stub_poll,.am = stub_am
};

static int handler(void *module, int src, const void *data, size_t bytes)
{
    struct world *w = module;
    w->handled++;
    w->src = src;
    w->got_bytes = bytes;
    memcpy(w->got, data, bytes);
    return w->answer;
}

static int create(struct world *w, int bounces, char *err, size_t err_bytes)
{
    w->stub.nm.ops = &stub_ops;
    struct wdl_proc_params params = {.host = w->host.host,.netmod = &stub_ops,.fabric = w,.rank = 2,
        .peers = PEERS,.bounce_count = bounces
    };
    return wdl_proc_create(&params, &w->proc, err, err_bytes);
}

static void open_world(struct world *w, int bounces)
{
    char err[64];
    memset(w, 0, sizeof(*w));
    test_host_init(&w->host);
    ck_assert_int_eq(create(w, bounces, err, sizeof(err)), WDL_OK);
    wdl_am_register(w->proc, WDL_AM_TEST, handler, w);
}

static void close_world(struct world *w)
{
    wdl_proc_destroy(w->proc);
    ck_assert_int_eq(w->stub.closed, 1);
    ck_assert_int_eq(w->host.live, 0);
}

static int arrive(struct world *w, const void *data, size_t bytes)
{
    return w->stub.params.on_am(w->stub.params.ctx, data, bytes);
}

START_TEST(a_message_reaches_its_module_as_it_was_sent)
{
    struct world w;
    open_world(&w, 2);
    ck_assert_int_eq(wdl_am_send(w.proc, 3, WDL_AM_TEST, "head", 4, "payload", 7, NULL), WDL_OK);
    ck_assert_uint_eq(w.proc->stats.am_sent, 1);
    ck_assert_uint_eq(w.proc->stats.am_bytes_sent, 11);
    ck_assert_int_eq(arrive(&w, w.stub.sent, w.stub.sent_bytes), WDL_OK);
    ck_assert_int_eq(w.handled, 1);
    ck_assert_int_eq(w.src, 2);
    ck_assert_uint_eq(w.got_bytes, 11);
    ck_assert_mem_eq(w.got, "headpayload", 11);
    ck_assert_uint_eq(w.proc->stats.am_received, 1);
    /* nothing but the header is a message too */
    ck_assert_int_eq(wdl_am_send(w.proc, 3, WDL_AM_TEST, NULL, 0, NULL, 0, NULL), WDL_OK);
    ck_assert_int_eq(arrive(&w, w.stub.sent, w.stub.sent_bytes), WDL_OK);
    ck_assert_uint_eq(w.got_bytes, 0);
    ck_assert_uint_eq(w.proc->stats.malformed, 0);
    close_world(&w);
}
END_TEST

START_TEST(a_refused_message_is_not_counted_as_sent)
{
    struct world w;
    static const int results[] = { WDL_AGAIN, WDL_ERR_PEER };
    open_world(&w, 2);
    for (int i = 0; i < 2; i++) {
        w.stub.result = results[i];
        ck_assert_int_eq(wdl_am_send(w.proc, 3, WDL_AM_TEST, "x", 1, NULL, 0, NULL), results[i]);
    }
    ck_assert_uint_eq(w.proc->stats.am_sent, 0);
    ck_assert_uint_eq(w.proc->stats.am_bytes_sent, 0);
    close_world(&w);
}
END_TEST

START_TEST(malformed_bytes_are_counted_and_dropped)
{
    struct world w;
    struct wdl_am_hdr good = { WDL_AM_MAGIC, WDL_AM_TEST, 1 };
    const struct wdl_am_hdr bad[] = {
        {0, WDL_AM_TEST, 1}, {(uint16_t) ~WDL_AM_MAGIC, WDL_AM_TEST, 1},
        {WDL_AM_MAGIC, 0, 1}, {WDL_AM_MAGIC, WDL_AM_RMA, 1}, {WDL_AM_MAGIC, WDL_AM_COUNT, 1},
        {WDL_AM_MAGIC, 0xffff, 1}, {WDL_AM_MAGIC, WDL_AM_TEST, PEERS},
        {WDL_AM_MAGIC, WDL_AM_TEST, 0x80000000u}, {WDL_AM_MAGIC, WDL_AM_TEST, 0xffffffffu}
    };
    uint64_t count = 0;
    open_world(&w, 2);
    for (size_t bytes = 0; bytes < sizeof(good); bytes++) {
        ck_assert_int_eq(arrive(&w, &good, bytes), WDL_OK);
        ck_assert_uint_eq(w.proc->stats.malformed, ++count);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(arrive(&w, &bad[i], sizeof(bad[i])), WDL_OK);
        ck_assert_uint_eq(w.proc->stats.malformed, ++count);
    }
    ck_assert_int_eq(w.handled, 0);
    ck_assert_uint_eq(w.proc->stats.am_received, 0);
    ck_assert_int_eq(arrive(&w, &good, sizeof(good)), WDL_OK);
    ck_assert_int_eq(w.handled, 1);
    /* what the module calls malformed is counted with the rest */
    w.answer = WDL_ERR_PROTO;
    ck_assert_int_eq(arrive(&w, &good, sizeof(good)), WDL_OK);
    ck_assert_uint_eq(w.proc->stats.malformed, ++count);
    /* and a module that has left gets nothing */
    wdl_am_register(w.proc, WDL_AM_TEST, NULL, NULL);
    ck_assert_int_eq(arrive(&w, &good, sizeof(good)), WDL_OK);
    ck_assert_uint_eq(w.proc->stats.malformed, ++count);
    ck_assert_int_eq(w.handled, 2);
    close_world(&w);
}
END_TEST

START_TEST(a_deferred_message_is_handed_back_to_the_network)
{
    struct world w;
    struct wdl_am_hdr good = { WDL_AM_MAGIC, WDL_AM_TEST, 1 };
    open_world(&w, 2);
    w.answer = WDL_AGAIN;
    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(arrive(&w, &good, sizeof(good)), WDL_AGAIN);
        ck_assert_uint_eq(w.proc->stats.am_deferred, (uint64_t) i);
        ck_assert_uint_eq(w.proc->stats.am_received, 0);
    }
    w.answer = WDL_OK;
    ck_assert_int_eq(arrive(&w, &good, sizeof(good)), WDL_OK);
    ck_assert_uint_eq(w.proc->stats.am_received, 1);
    ck_assert_uint_eq(w.proc->stats.malformed, 0);
    close_world(&w);
}
END_TEST

START_TEST(bounce_buffers_are_as_many_as_said_and_do_not_overlap)
{
    enum { COUNT = 7 };
    struct wdl_bounce *bounce[COUNT];
    struct world w;
    open_world(&w, COUNT);
    ck_assert_uint_eq(w.proc->am_payload_max, AM_BYTES - sizeof(struct wdl_am_hdr));
    for (int i = 0; i < COUNT; i++) {
        bounce[i] = wdl_bounce_get(w.proc);
        ck_assert_ptr_nonnull(bounce[i]);
        memset(bounce[i]->data, i + 1, w.proc->am_payload_max);
    }
    ck_assert_ptr_null(wdl_bounce_get(w.proc));
    ck_assert_int_eq(w.proc->bounce_out, COUNT);
    for (int i = 0; i < COUNT; i++) {
        for (size_t k = 0; k < w.proc->am_payload_max; k++)
            ck_assert_int_eq(bounce[i]->data[k], i + 1);
        wdl_bounce_put(bounce[i]);
    }
    ck_assert_int_eq(w.proc->bounce_out, 0);
    close_world(&w);
}
END_TEST

START_TEST(a_sent_bounce_buffer_comes_home_when_the_network_is_done)
{
    struct world w;
    struct wdl_nm_info info = { WDL_OK, 0, 0 };
    open_world(&w, 1);
    struct wdl_bounce *bounce = wdl_bounce_get(w.proc);
    memcpy(bounce->data, "bytes", 5);
    /* refused: still the caller's */
    w.stub.result = WDL_AGAIN;
    ck_assert_int_eq(wdl_bounce_send(bounce, 1, WDL_AM_TEST, "h", 1, 5), WDL_AGAIN);
    w.stub.result = WDL_ERR_PEER;
    ck_assert_int_eq(wdl_bounce_send(bounce, 1, WDL_AM_TEST, "h", 1, 5), WDL_ERR_PEER);
    ck_assert_int_eq(w.proc->bounce_out, 1);
    /* taken in the call: home at once */
    w.stub.result = WDL_OK;
    ck_assert_int_eq(wdl_bounce_send(bounce, 1, WDL_AM_TEST, "h", 1, 5), WDL_OK);
    ck_assert_int_eq(w.proc->bounce_out, 0);
    ck_assert_int_eq(arrive(&w, w.stub.sent, w.stub.sent_bytes), WDL_OK);
    ck_assert_mem_eq(w.got, "hbytes", 6);
    /* pending: home with the completion, whatever its result */
    bounce = wdl_bounce_get(w.proc);
    w.stub.result = WDL_PENDING;
    ck_assert_int_eq(wdl_bounce_send(bounce, 1, WDL_AM_TEST, "h", 1, 5), WDL_OK);
    ck_assert_ptr_null(wdl_bounce_get(w.proc));
    info.status = WDL_ERR_PEER;
    w.stub.comp->fn(w.stub.comp, &info);
    ck_assert_ptr_eq(wdl_bounce_get(w.proc), bounce);
    wdl_bounce_put(bounce);
    close_world(&w);
}
END_TEST

static void destroy(void *proc)
{
    wdl_proc_destroy(proc);
}

START_TEST(destroying_proves_that_bounce_buffers_came_home)
{
    struct world w;
    open_world(&w, 2);
    struct wdl_bounce *bounce = wdl_bounce_get(w.proc);
    ck_assert(wdl_suite_aborts(destroy, w.proc));
    wdl_bounce_put(bounce);
    ck_assert(!wdl_suite_aborts(destroy, w.proc));
    close_world(&w);
}
END_TEST

START_TEST(a_lost_peer_is_reported_once)
{
    struct world w;
    open_world(&w, 2);
    for (int round = 0; round < 3; round++)
        for (int peer = 0; peer < PEERS; peer += 2)
            w.stub.params.on_lost(w.stub.params.ctx, peer);
    ck_assert_int_eq(w.host.lost, 3);
    ck_assert_int_eq(w.proc->lost_peers, 3);
    close_world(&w);
}
END_TEST

static int step(void *module)
{
    int *calls = module;
    return ++*calls;
}

START_TEST(progress_polls_and_steps_each_module)
{
    struct world w;
    int calls = 0;
    open_world(&w, 2);
    wdl_step_register(w.proc, WDL_AM_TEST, step, &calls);
    ck_assert_int_eq(wdl_proc_progress(w.proc), 2);     /* an event of the network, and a step */
    ck_assert_int_eq(wdl_proc_progress(w.proc), 2);     /* no event; the second step returns 2 */
    ck_assert(wdl_suite_aborts(destroy, w.proc));       /* a module is still there */
    wdl_step_register(w.proc, WDL_AM_TEST, NULL, NULL);
    ck_assert_int_eq(wdl_proc_progress(w.proc), 0);
    ck_assert_int_eq(calls, 2);
    close_world(&w);
}
END_TEST

START_TEST(a_look_steps_modules_where_something_came)
{
    struct world w;
    int calls = 0;
    open_world(&w, 2);
    wdl_step_register(w.proc, WDL_AM_TEST, step, &calls);
    ck_assert_int_eq(wdl_proc_look(w.proc), 2);         /* an event of the network, and a step */
    ck_assert_int_eq(wdl_proc_look(w.proc), 0);
    ck_assert_int_eq(calls, 1);
    wdl_step_register(w.proc, WDL_AM_TEST, NULL, NULL);
    close_world(&w);
}
END_TEST

START_TEST(a_process_that_cannot_open_leaves_nothing)
{
    struct world w;
    char err[64] = "";
    memset(&w, 0, sizeof(w));
    test_host_init(&w.host);
    w.open_status = WDL_ERR_ARG;
    ck_assert_int_eq(create(&w, 2, err, sizeof(err)), WDL_ERR_ARG);
    ck_assert_ptr_null(w.proc);
    ck_assert_str_eq(err, "as the test wants");
    ck_assert_int_eq(w.host.live, 0);
    w.open_status = WDL_OK;
    int short_of = 0;
    for (int allocations = 1;; allocations++) {
        err[0] = 0;
        w.host.fail_after = allocations;
        int status = create(&w, 2, err, sizeof(err));
        if (status == WDL_OK)
            break;
        ck_assert_int_eq(status, WDL_ERR_NOMEM);
        ck_assert_ptr_null(w.proc);
        ck_assert_ptr_nonnull(strstr(err, "out of memory"));
        ck_assert_int_eq(w.host.live, 0);
        short_of++;
        ck_assert_int_eq(w.stub.closed, short_of - 1);  /* the network is closed if it was open */
    }
    ck_assert_int_eq(short_of, 2);
    wdl_proc_destroy(w.proc);
    ck_assert_int_eq(w.host.live, 0);
}
END_TEST

WDL_SUITE("proc/proc", a_message_reaches_its_module_as_it_was_sent,
          a_refused_message_is_not_counted_as_sent, malformed_bytes_are_counted_and_dropped,
          a_deferred_message_is_handed_back_to_the_network,
          bounce_buffers_are_as_many_as_said_and_do_not_overlap,
          a_sent_bounce_buffer_comes_home_when_the_network_is_done,
          destroying_proves_that_bounce_buffers_came_home, a_lost_peer_is_reported_once,
          progress_polls_and_steps_each_module, a_look_steps_modules_where_something_came,
          a_process_that_cannot_open_leaves_nothing)
