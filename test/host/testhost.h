/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The test host (host/host.h): counted memory, a small datatype engine, recorded requests. One per
 * rank.
 *
 * A type is a list of blocks in one extent. The predefined types are numbers of enum test_type; a
 * made type is named by a larger number.
 */
#ifndef WDL_TEST_HOST_TESTHOST_H_INCLUDED
#define WDL_TEST_HOST_TESTHOST_H_INCLUDED

#include "host/host.h"

enum test_type { TEST_I8 = 1, TEST_U8, TEST_I16, TEST_U16, TEST_I32, TEST_U32, TEST_I64, TEST_U64,
    TEST_F32, TEST_F64, TEST_LD, TEST_DOUBLE_INT, TEST_TYPE_COUNT
};

struct test_double_int {
    double value;
    int32_t index;
};

struct test_block {
    int64_t offset, bytes;
};

struct test_host {
    struct wdl_host host;       /* give this to the core */
    int live;                   /* allocations and types not given back */
    uint64_t allocations;       /* in all */
    size_t bytes;               /* of the allocations */
    int holds;                  /* type_hold without type_drop */
    int completed;              /* requests */
    int last_status;
    int lost;
    int fail_after;             /* > 0: so many allocations succeed, then none */
    uint64_t now_ns;
    const void *(*address) (void *ctx, int peer, size_t *bytes_out);
    void *address_ctx;
};

/* A request of the test host; host->request_complete fills it. */
struct test_request {
    int done, status;
};

void test_host_init(struct test_host *host);
/* A made type: `count` blocks of `block` elements of a predefined type, `stride` elements apart. */
wdl_type test_type_vector(struct test_host *host, enum test_type element, int count, int block,
                          int stride);
wdl_type test_type_indexed(struct test_host *host, enum test_type element, int count,
                           const int *blocks, const int *displs);
/* No more used here; it lives on while it is held. */
void test_type_end(struct test_host *host, wdl_type type);
struct wdl_element test_element(enum test_type type);

#endif
