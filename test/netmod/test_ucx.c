/* Part of Windlass. See COPYRIGHT in the top-level directory. UCX conforms, over the transports
 * there are on every machine; or, called as `test_ucx TRANSPORTS`, over those, which are to put and
 * get without the target (maint/check --rdma does so). */
#include "netmod/bed.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

static int no_address(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    (void) ctx;
    (void) peer;
    (void) addr_out;
    (void) bytes_out;
    return WDL_ERR_PEER;
}

static int arrived;             /* messages, in this test's process */

static int on_am(void *ctx, const void *data, size_t bytes)
{
    (void) ctx;
    (void) data;
    (void) bytes;
    arrived++;
    return WDL_OK;
}

/* No transport to be had: the line says which setting did it and what to do. */
START_TEST(unusable_transports)
{
    struct wdl_nm_params params = {
        .peers = 1, .on_am = on_am, .address_of = no_address, .local_peers = 1};
    struct wdl_nm *nm = (struct wdl_nm *) &params;
    char err[300] = "";
    setenv("UCX_TLS", "nonsense", 1);
    ck_assert(wdl_status_is_error(wdl_nm_ucx_ops.open(&params, &nm, err, sizeof(err))));
    ck_assert_ptr_null(nm);
    ck_assert_msg(strstr(err, "UCX_TLS is 'nonsense'") && strstr(err, "ucx_info -d"), "%s", err);
}
END_TEST

static int own_address(void *ctx, int peer, const void **addr_out, size_t *bytes_out)
{
    struct wdl_nm **nm = ctx;
    return nm[peer]->ops->address(nm[peer], addr_out, bytes_out);
}

static void two_open(struct wdl_nm **nm, const char *tls)
{
    char err[300] = "";
    setenv("UCX_TLS", tls, 1);
    for (int i = 0; i < 2; i++) {
        struct wdl_nm_params params = {.rank = i,
                                       .peers = 2,
                                       .ctx = nm,
                                       .on_am = on_am,
                                       .address_of = own_address,
                                       .local_peers = 2};
        ck_assert_int_eq(wdl_nm_ucx_ops.open(&params, &nm[i], err, sizeof(err)), WDL_OK);
    }
}

static int lost[2];

static void on_lost(void *ctx, int peer)
{
    (void) ctx;
    lost[peer]++;
}

/* Who cannot be reached is lost: each call says so, and the next poll, once; nobody sleeps before
 * that. */
START_TEST(unreachable_peers)
{
    struct wdl_nm *nm[2];
    char err[300];
    int fd;
    setenv("UCX_TLS", "self", 1);
    for (int i = 0; i < 2; i++) {
        struct wdl_nm_params params = {.rank = i,
                                       .peers = 2,
                                       .ctx = nm,
                                       .on_am = on_am,
                                       .on_lost = on_lost,
                                       .address_of = own_address,
                                       .local_peers = 2};
        ck_assert_int_eq(wdl_nm_ucx_ops.open(&params, &nm[i], err, sizeof(err)), WDL_OK);
    }
    for (int turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(wdl_nm_ucx_ops.am(nm[0], 1, "x", 1, NULL, 0, NULL), WDL_ERR_PEER);
        ck_assert(turn > 0 || wdl_nm_ucx_ops.arm(nm[0], &fd) == WDL_AGAIN);
        ck_assert_int_eq(lost[1], turn > 0);
        for (int i = 0; i < 100; i++)
            wdl_nm_ucx_ops.poll(nm[0]);
        ck_assert_int_eq(lost[1], 1);
    }
    ck_assert_int_eq(lost[0], 0);
    bed_close_together(nm, 2);
}
END_TEST

/* The transports of connections, by class of peer. */
static void describes(const char *tls, const char *want0, const char *want1, const char *atomics)
{
    struct wdl_nm *nm[2];
    char text[300];
    two_open(nm, tls);
    wdl_nm_ucx_ops.describe(nm[0], text, sizeof(text));
    ck_assert_msg(strstr(text, "no connection yet") != NULL, "%s", text);
    for (int to = 0; to < 2; to++)
        ck_assert_int_eq(wdl_nm_ucx_ops.am(nm[0], to, "x", 1, NULL, 0, NULL), WDL_OK);
    wdl_nm_ucx_ops.describe(nm[0], text, sizeof(text));
    ck_assert_msg(strstr(text, want0) != NULL, "%s", text);
    ck_assert_msg(strstr(text, want1) != NULL, "%s", text);
    ck_assert_msg(strstr(text, atomics) != NULL, "%s", text);
    for (int length = 1; length < 40; length++) { /* however little room there is */
        char little[41];
        memset(little, 'x', sizeof(little));
        wdl_nm_ucx_ops.describe(nm[0], little, (size_t) length);
        ck_assert_uint_lt(strlen(little), (size_t) length);
        ck_assert_int_eq(little[length], 'x');
    }
    /* UCX cannot be closed while it connects */
    for (int turn = 0; turn < 2000 || arrived < 2; turn++)
        for (int i = 0; i < 2; i++)
            wdl_nm_ucx_ops.poll(nm[i]);
    bed_close_together(nm, 2);
}

START_TEST(describes_the_same_node)
{
    describes("posix,self", "itself: self/memory", "same node: posix/memory",
              "; atomics: self/memory0 posix/memory");
}
END_TEST

START_TEST(describes_the_network)
{
    describes("tcp,self", "itself: self/memory", "network: tcp/", "; atomics: self/memory0");
}
END_TEST

/* Which keys are worth asking for atomics, before there is any peer. A device UCX does not use for
 * them, as it uses none here, is no reason to ask. */
START_TEST(keys_are_worth_asking)
{
    static const struct {
        const char *tls, *mode;
        int memory;
        const char *said;
    } cases[] = {{"tcp,self", "cpu", 0, "atomics: self/memory0"},
                 {"posix,self", "cpu", WDL_NM_OWN, "atomics: self/memory0 posix/memory"},
                 {"sysv,tcp,self", "cpu", WDL_NM_OWN, "atomics: self/memory0 sysv/memory"},
                 {"posix,self", "device", 0, "atomics: by the target's processor"}};
    for (unsigned k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
        struct wdl_nm *nm[2];
        char text[300];
        setenv("UCX_ATOMIC_MODE", cases[k].mode, 1);
        two_open(nm, cases[k].tls);
        ck_assert_int_eq(wdl_nm_ucx_ops.caps(nm[0])->atomics_by_key, cases[k].memory);
        wdl_nm_ucx_ops.describe(nm[0], text, sizeof(text));
        ck_assert_msg(strstr(text, cases[k].said) != NULL, "%s", text);
        bed_close_together(nm, 2);
    }
}
END_TEST

static volatile sig_atomic_t overflows;

static void overflow(int signal)
{
    (void) signal;
    overflows++;
}

/* What is not there, or is all there is, is refused before anything is written. A file may not grow
 * to it here, so that nothing is filled. */
START_TEST(memory_that_is_not_there_is_refused)
{
    static const char *const tls[] = {"posix,self", "sysv,posix,self"};
    const struct wdl_nm_ops *ops = &wdl_nm_ucx_ops;
    struct statvfs fs;
    struct rlimit before, limit;
    ck_assert_int_eq(statvfs("/dev/shm", &fs), 0);
    size_t shared = (size_t) fs.f_bavail * fs.f_frsize;
    signal(SIGXFSZ, overflow);
    for (int k = 0; k < 2; k++) {
        struct wdl_nm *nm[2];
        struct wdl_nm_mem *mem;
        void *base;
        size_t sizes[] = {shared + 1, shared + 4096, (size_t) 1 << 46, (size_t) 1 << 60, SIZE_MAX};
        two_open(nm, tls[k]);
        getrlimit(RLIMIT_FSIZE, &before);
        limit = before;
        limit.rlim_cur = 8 << 20;
        setrlimit(RLIMIT_FSIZE, &limit);
        for (int i = 0; i < 5; i++) {
            mem = (struct wdl_nm_mem *) &base;
            int status = ops->mem_alloc(nm[0], sizes[i], &base, &mem);
            ck_assert_int_eq(overflows, 0);
            ck_assert_int_eq(status, WDL_ERR_NOMEM);
            ck_assert_ptr_null(mem);
        }
        ck_assert_int_eq(ops->mem_alloc(nm[0], 1 << 20, &base, &mem), WDL_OK);
        ops->mem_detach(nm[0], mem);
        setrlimit(RLIMIT_FSIZE, &before);
        bed_close_together(nm, 2);
    }
}
END_TEST

/* One's own memory is reached by CPU instructions, whatever there is for others. */
START_TEST(oneself_needs_nobody)
{
    struct wdl_nm *nm[2];
    struct wdl_nm_mem *mem;
    struct wdl_nm_rkey *rkey;
    struct wdl_nm_caps caps;
    static uint64_t memory[8];
    unsigned char key[WDL_NM_KEY_BYTES_MAX];
    size_t bytes = sizeof(key);
    const struct wdl_nm_ops *ops = &wdl_nm_ucx_ops;
    two_open(nm, "tcp,self");
    ck_assert_int_eq(ops->mem_attach(nm[0], memory, sizeof(memory), &mem), WDL_OK);
    ck_assert_int_eq(ops->mem_key(nm[0], mem, key, &bytes), WDL_OK);
    ck_assert_int_eq(ops->rkey_open(nm[0], 0, key, bytes, &rkey), WDL_OK);
    ops->rkey_caps(nm[0], rkey, &caps);
    ck_assert_int_eq(caps.rma_needs_target, 0);
    ck_assert_uint_eq(caps.atomic32 & caps.atomic64, (1u << WDL_NM_ATOMIC_COUNT) - 1);
    ck_assert_int_eq(caps.domain, WDL_NM_DOMAIN_CPU);
    bed_close_together(nm, 2);
}
END_TEST

static int run_over(const char *tls)
{
    const struct nm_way way = {.name = tls,
                               .ops = &wdl_nm_ucx_ops,
                               .tls = tls,
                               .ordered = 1,
                               .expected = {.alone = NM_YES, .own = NM_YES, .native = NM_NO}};
    const TTest *const own[] = {NULL};
    return conformance_run("netmod/ucx", &way, 1, own);
}

int main(int argc, char **argv)
{
    const struct nm_expected by_target = {.alone = NM_NO, .own = NM_NO, .native = NM_NO};
    const struct nm_expected own_only = {
        .alone = NM_NO, .own = NM_YES, .native = NM_NO, .own_native = NM_YES};
    const struct nm_way ways[] = {
        {.name = "all transports",
         .ops = &wdl_nm_ucx_ops,
         .ordered = 1,
         .expected = {.alone = NM_ANY, .own = NM_YES, .native = NM_ANY, .own_native = NM_ANY}},
        {.name = "posix,self",
         .ops = &wdl_nm_ucx_ops,
         .tls = "posix,self",
         .ordered = 1,
         .expected = own_only},
        {.name = "tcp,self",
         .ops = &wdl_nm_ucx_ops,
         .tls = "tcp,self",
         .ordered = 1,
         .expected = by_target},
    };
    if (argc > 1)
        return run_over(argv[1]);
    const TTest *const own[] = {unusable_transports, unreachable_peers,
                                describes_the_same_node, describes_the_network,
                                keys_are_worth_asking, memory_that_is_not_there_is_refused,
                                oneself_needs_nobody, NULL};
    return conformance_run("netmod/ucx", ways, sizeof(ways) / sizeof(ways[0]), own);
}
