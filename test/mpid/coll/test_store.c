/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The store: who asks the host and who does not; what is used again; long blocks; memory that runs
 * out.
 */
#include <string.h>
#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/coll/store.h"
#include "support/must.h"
#include "support/suite.h"

static struct test_host host;
static struct wdl_store store;

static void open_store(void)
{
    test_host_init(&host);
    wdl_store_init(&store, &host.host);
}

static void close_store(void)
{
    wdl_store_fini(&store);
    must_cmp(host.live, ==, 0);
}

START_TEST(get_never_asks_the_host)
{
    void *block[8];
    open_store();
    must(wdl_store_get(&store, 100) == NULL);
    must_cmp(host.live, ==, 0);
    must_cmp(wdl_store_reserve(&store, 100, 5), ==, WDL_OK);
    must_cmp(wdl_store_reserve(&store, 100, 5), ==, WDL_OK); /* they are there */
    must_cmp(host.live, ==, 1);
    host.fail_after = 1;
    must(wdl_store_get(&store, 1000) == NULL); /* another size has none */
    for (int i = 0; i < 5; i++)
        must((block[i] = wdl_store_get(&store, 100)) != NULL);
    must(wdl_store_get(&store, 100) == NULL);
    must(wdl_store_make(&store, 100) == NULL);
    wdl_store_put(&store, block[3]);
    must(wdl_store_get(&store, 90) == block[3]);
    for (int i = 0; i < 5; i++)
        wdl_store_put(&store, block[i]);
    host.fail_after = 0;
    must_cmp(wdl_store_reserve(&store, 100, 8), ==, WDL_OK);
    host.fail_after = 1;
    for (int i = 0; i < 8; i++)
        must((block[i] = wdl_store_make(&store, 100)) != NULL);
    must(wdl_store_make(&store, 100) == NULL);
    for (int i = 0; i < 8; i++)
        wdl_store_put(&store, block[i]);
    close_store();
}
END_TEST

/* Blocks do not overlap, whatever is in use, and hold what they were made for. */
START_TEST(blocks_are_apart)
{
    enum { BLOCKS = 200 };
    struct wdl_prng prng;
    struct {
        unsigned char *at;
        size_t bytes;
    } block[BLOCKS];
    open_store();
    memset(block, 0, sizeof(block));
    wdl_prng_init(&prng, 3);
    for (int turn = 0; turn < 20000; turn++) {
        int i = (int) wdl_prng_below(&prng, BLOCKS);
        for (size_t k = 0; k < block[i].bytes; k++)
            must_cmp(block[i].at[k], ==, i);
        wdl_store_put(&store, block[i].at);
        block[i].bytes = (size_t) wdl_prng_below(&prng, (uint64_t) 4 << wdl_prng_below(&prng, 10));
        block[i].at = turn % 2 ? wdl_store_make(&store, block[i].bytes)
                               : wdl_store_zeroed(&store, block[i].bytes);
        must(block[i].at != NULL);
        must_cmp((uintptr_t) block[i].at % 16, ==, 0);
        for (size_t k = 0; k < block[i].bytes && turn % 2 == 0; k++)
            must_cmp(block[i].at[k], ==, 0);
        memset(block[i].at, i, block[i].bytes);
        if (turn % 100 == 0)
            wdl_store_check(&store);
    }
    must_cmp(store.held, ==, host.bytes);
    must_cmp(store.high, <=, store.held);
    for (int i = 0; i < BLOCKS; i++)
        wdl_store_put(&store, block[i].at);
    must_cmp(store.used, ==, 0);
    close_store();
}
END_TEST

START_TEST(a_third_is_unused_at_most)
{
    for (size_t bytes = 48; bytes < (size_t) 1 << 40; bytes += 1 + bytes / 7) {
        size_t block = wdl_store_block_bytes(bytes);
        must_cmp(block, >=, bytes + 16);
        must_cmp(3 * (bytes + 16), >, 2 * block);
    }
    must(wdl_store_block_bytes(SIZE_MAX) == SIZE_MAX);
    must(wdl_store_block_bytes(SIZE_MAX - 15) == SIZE_MAX);
    open_store();
    must(wdl_store_make(&store, SIZE_MAX - 8) == NULL);
    must(wdl_store_get(&store, SIZE_MAX) == NULL);
    close_store();
}
END_TEST

/* Long blocks are used again, too, but so many idle bytes of them go back to the host. */
START_TEST(long_blocks_go_home)
{
    enum { BLOCKS = 50, LONG = 1 << 20, FIT = WDL_STORE_IDLE / (3 << 19) };
    void *block[BLOCKS];
    open_store();
    for (int again = 0; again < 3; again++) {
        for (int i = 0; i < BLOCKS; i++)
            must((block[i] = wdl_store_make(&store, LONG)) != NULL);
        must_cmp(host.live, ==, BLOCKS);
        for (int i = 0; i < BLOCKS; i++)
            wdl_store_put(&store, block[i]);
        must_cmp(host.live, ==, FIT);
        must_cmp(store.held, ==, host.bytes);
        wdl_store_check(&store);
    }
    host.fail_after = 1; /* as many as that need no more memory */
    for (int i = 0; i < FIT; i++)
        must((block[i] = wdl_store_make(&store, LONG)) != NULL);
    must(wdl_store_make(&store, LONG) == NULL);
    for (int i = 0; i < FIT; i++)
        wdl_store_put(&store, block[i]);
    wdl_store_put(&store, NULL);
    close_store();
}
END_TEST

WDL_SUITE("coll/store", get_never_asks_the_host, blocks_are_apart, a_third_is_unused_at_most,
          long_blocks_go_home)
