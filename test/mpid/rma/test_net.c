/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/net: what the network's
 * atomics do for a window is the same on all ranks. */
#include "host/testworld.h"
#include "support/suite.h"

/* One that lacks something, all do without: here memory the network would know. */
START_TEST(all_ranks_have_the_same_kind)
{
    struct test_world w;
    struct wdl_win *win[2];
    int lacks[WDL_NET_LACKS] = {0};
    test_world_open(&w, &(struct test_world_params){.ranks = 2,.direct = 1,.atomics = 1,
                                                    .attach_max = 1});
    ck_assert_int_eq(w.rank[0].win->words, WDL_WORDS_MIXED);
    for (int i = 0; i < 2; i++) {
        struct wdl_net_offer offer;
        struct wdl_win_params params = test_win_params(&w.rank[i]);
        params.id = 8;
        ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i]), WDL_OK);
        wdl_win_net_offer(win[i], &offer);
        for (int j = 0; j < WDL_NET_LACKS; j++)
            ck_assert_int_eq(offer.lacks[j], j == WDL_NET_NO_WORDS);
        lacks[WDL_NET_NO_WORDS] |= offer.lacks[WDL_NET_NO_WORDS];
    }
    for (int i = 0; i < 2; i++) {
        wdl_win_net_begin(win[i], lacks, NULL);
        ck_assert_int_eq(win[i]->words, WDL_WORDS_NONE);
        ck_assert_int_eq(wdl_win_free(win[i]), WDL_OK);
    }
    test_world_close(&w);
    for (int i = 0; i < 3; i++) {       /* no atomics, no direct path, one node */
        test_world_open(&w, &(struct test_world_params){.ranks = 2,.direct = i != 1,
                                                        .atomics = i > 0,.node = i == 2 ? 2 : 1});
        ck_assert_int_eq(w.rank[0].win->words, i == 2 ? WDL_WORDS_NODE : WDL_WORDS_NONE);
        test_world_close(&w);
    }
}
END_TEST

WDL_SUITE("rma/net", all_ranks_have_the_same_kind)
