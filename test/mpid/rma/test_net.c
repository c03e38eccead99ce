/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/net: what the network's
 * atomics do for a window is the same on all ranks. */
#include <string.h>
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
            ck_assert_int_eq(offer.lacks[j], j == WDL_NET_NO_WORDS || j == WDL_NET_NOT_APART);
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

/* --- where keys tell -------------------------------------------------------------------------- */

enum { NONE, CPU, NIC, KINDS };

static const int words_of[KINDS] = {WDL_WORDS_NONE, WDL_WORDS_MIXED, WDL_WORDS_NETWORK};

static struct test_world_params by_key(int ranks, int node, int atomics)
{
    return (struct test_world_params){.ranks = ranks,.node = node,.direct = 1,.atomics = atomics,
                                      .by_key = 1,.odd_atomics = atomics};
}

/* All ranks' windows are of this kind, and their elements the network's only where that respects
 * the processor. */
static void is_kind(struct test_world *w, int kind)
{
    for (int i = 0; i < w->n; i++) {
        const struct wdl_win *win = w->rank[i].win;
        ck_assert_int_eq(win->words, words_of[kind]);
        ck_assert_int_eq(win->net_sizes, kind == CPU ? 4 + 8 : 0);
    }
}

START_TEST(keys_say_what_the_network_cannot_promise)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int node = 1; node < 4; node++) {
            struct test_world w;
            struct test_world_params p = by_key(7, node, kind);
            p.delay_ns_max = 2000;
            p.refuse_permille = 200;
            p.unordered = node == 2;
            p.bounce_count = 1;
            test_world_open(&w, &p);
            const struct wdl_nm_caps *caps = w.rank[0].proc->nm->ops->caps(w.rank[0].proc->nm);
            ck_assert_int_eq(caps->domain, WDL_NM_DOMAIN_NONE);
            is_kind(&w, kind);
            test_world_close(&w);
        }
}
END_TEST

/* Who has been asked is on another node. */
static void nobody_near_was_asked(const struct test_world *w)
{
    for (int i = 0; i < w->n; i++) {
        const struct wdl_keys *keys = &w->rank[i].win->keys[WDL_KEYS_WORDS];
        int asked = 0;
        for (int k = 0; k < keys->count; k++)
            if (keys->at[k].phase == WDL_KEY_OPEN) {
                asked++;
                ck_assert_int_ne(keys->at[k].rank / w->params.node, i / w->params.node);
            }
        ck_assert_int_eq(asked, 1);
    }
}

/* One that has others, to whomever, is noticed by itself or by who asks it: all do without. */
START_TEST(one_that_differs)
{
    for (int kinds = 0; kinds < KINDS * KINDS; kinds++)
        for (int node = 1; node < 4; node++)
            for (int odd = 1; odd <= 5; odd++) {
                int kind = kinds % KINDS, other = kinds / KINDS;
                struct test_world w;
                struct test_world_params p = by_key(5, node, kind);
                p.odd = odd;
                p.odd_atomics = other;
                test_world_open(&w, &p);
                is_kind(&w, kind == other ? kind : NONE);
                if (kind == other && kind != NONE)
                    nobody_near_was_asked(&w);
                test_world_close(&w);
            }
}
END_TEST

/* Words that the network alone changes are changed by their own process through it, too. */
START_TEST(a_process_asks_its_own_key)
{
    for (int kind = CPU; kind < KINDS; kind++) {
        struct test_world w;
        struct test_world_params p = by_key(4, 2, kind);
        p.odd = p.odd_to = 3;
        p.odd_atomics = kind == NIC ? CPU : NIC;
        test_world_open(&w, &p);
        is_kind(&w, kind == NIC ? NONE : CPU);  /* whose own processor is used instead */
        test_world_close(&w);
    }
}
END_TEST

/* Where nothing can come of it, or nobody wants it, or nobody is elsewhere. */
START_TEST(nobody_asks_in_vain)
{
    for (int i = 0; i < 6; i++) {
        struct test_world w;
        struct test_world_params p = by_key(4, i == 0 ? 4 : 2, CPU);
        p.direct = i != 1;
        p.no_atomics = i == 2;
        p.by_key = i != 3 && i != 4;
        p.atomics = i == 3 ? NONE : CPU;
        p.no_locks = i == 5;
        test_world_open(&w, &p);
        ck_assert_int_eq(test_world_messages(&w), 0);
        ck_assert_int_eq(w.rank[1].win->words, i == 0 ? WDL_WORDS_NODE :
                         i == 4 ? WDL_WORDS_MIXED : WDL_WORDS_NONE);
        test_world_close(&w);
    }
}
END_TEST

/* What one window's keys have said holds for the next; without a message. */
START_TEST(later_windows_know)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct test_world w;
        struct wdl_win *win[5];
        struct test_world_params p = by_key(5, 2, kind);
        test_world_open(&w, &p);
        ck_assert_int_eq(test_world_messages(&w), 2 * 5);
        for (int i = 0; i < 5; i++) {
            struct wdl_win_params params = test_win_params(&w.rank[i]);
            params.id = 8;
            ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i]), WDL_OK);
        }
        test_net_agree(w.sim, win, 5);
        ck_assert_int_eq(test_world_messages(&w), 0);
        for (int i = 0; i < 5; i++) {
            ck_assert_int_eq(win[i]->words, words_of[kind]);
            ck_assert_int_eq(win[i]->net_sizes, w.rank[i].win->net_sizes);
            ck_assert_int_eq(wdl_win_free(win[i]), WDL_OK);
        }
        test_world_close(&w);
    }
}
END_TEST

/* Memory of the network's own is another kind: asked once, too, and by what its own key says. */
START_TEST(the_networks_own_memory_is_asked_apart)
{
    struct test_world w;
    struct wdl_win *win[3];
    struct wdl_win_control *control[3];
    struct wdl_nm_mem *mem[3];
    struct test_world_params p = by_key(3, 1, CPU);
    test_world_open(&w, &p);
    test_world_messages(&w);
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 3; i++) {
            struct wdl_nm *nm = w.rank[i].proc->nm;
            struct wdl_win_params params = test_win_params(&w.rank[i]);
            void *base;
            ck_assert_int_eq(nm->ops->mem_alloc(nm, sizeof(*control[i]) + 64, &base, &mem[i]),
                             WDL_OK);
            control[i] = (struct wdl_win_control *) (((uintptr_t) base + 63) & ~(uintptr_t) 63);
            memset(control[i], 0, sizeof(*control[i]));
            params.id = 9;
            params.node = control[i];
            params.node_mem = mem[i];
            ck_assert_int_eq(wdl_win_create(w.rank[i].proc, &params, &win[i]), WDL_OK);
        }
        test_net_agree(w.sim, win, 3);
        ck_assert_int_eq(test_world_messages(&w), again ? 0 : 2 * 3);
        for (int i = 0; i < 3; i++) {
            struct wdl_nm *nm = w.rank[i].proc->nm;
            ck_assert_int_eq(win[i]->words, WDL_WORDS_MIXED);
            ck_assert_ptr_null(win[i]->keys[WDL_KEYS_WORDS].mem);       /* attached by nobody */
            ck_assert_int_eq(wdl_win_free(win[i]), WDL_OK);
            nm->ops->mem_detach(nm, mem[i]);
        }
    }
    test_world_close(&w);
}
END_TEST

/* --- a promise that does not hold ------------------------------------------------------------- */

static int lock(struct test_world *w, int o, int t)
{
    struct test_rank *r = &w->rank[o];
    return TEST_WAIT(w, wdl_win_lock(r->win, t, 1, 0, &r->step));
}

/* Between two ranks, of whom neither has asked the other: their locks of each other fail, others'
 * do not; nothing is taken, and it can be tried again. */
START_TEST(a_pair_nobody_has_asked)
{
    for (int i = 0; i < KINDS * KINDS; i++) {
        int kind = i % KINDS, other = i / KINDS;
        struct test_world w;
        struct test_world_params p = by_key(5, 1, kind);
        p.odd = 1 + 1;
        p.odd_to = 1 + 3;
        p.odd_atomics = other;
        if (kind == NONE || kind == other)
            continue;
        test_world_open(&w, &p);
        is_kind(&w, kind);
        for (int again = 0; again < 2; again++) {
            ck_assert_int_eq(lock(&w, 1, 3), WDL_ERR_ATOMICS);
            ck_assert_int_eq(lock(&w, 3, 1), WDL_ERR_ATOMICS);
            ck_assert_int_eq(w.rank[1].win->epoch.access_state, WDL_ACCESS_NONE);
            ck_assert_int_eq(lock(&w, 2, 3), WDL_OK);
            ck_assert_int_eq(lock(&w, 0, 1), WDL_OK);
            TEST_DONE(&w, wdl_win_unlock(w.rank[2].win, 3, &w.rank[2].step));
            TEST_DONE(&w, wdl_win_unlock(w.rank[0].win, 1, &w.rank[0].step));
        }
        for (int k = 0; k < 5; k++)
            ck_assert_uint_eq((w.control[k].lock | w.control[k].gate) & 0xffffffff, 0);
        test_world_close(&w);
    }
}
END_TEST

/* The gate is rank 0's, whose key all have got. */
START_TEST(a_gate_nobody_has_asked)
{
    struct test_world w;
    struct test_world_params p = by_key(5, 1, NIC);
    p.odd = 1 + 0;
    p.odd_to = 1 + 2;
    p.odd_atomics = CPU;
    test_world_open(&w, &p);
    is_kind(&w, NIC);
    struct test_rank *r = &w.rank[2];
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(TEST_WAIT(&w, wdl_win_lock_all(r->win, 0, &r->step)), WDL_ERR_ATOMICS);
        ck_assert_int_eq(lock(&w, 2, 4), WDL_ERR_ATOMICS);
        ck_assert_int_eq(r->win->gate_users + r->win->gate_in, 0);
        ck_assert_int_eq(r->win->epoch.access_state, WDL_ACCESS_NONE);
    }
    ck_assert_int_eq(lock(&w, 3, 2), WDL_OK);
    TEST_DONE(&w, wdl_win_unlock(w.rank[3].win, 2, &w.rank[3].step));
    ck_assert_uint_eq(w.control[0].gate & 0xffffffff, 0);
    test_world_close(&w);
}
END_TEST

WDL_SUITE("rma/net", all_ranks_have_the_same_kind, keys_say_what_the_network_cannot_promise,
          one_that_differs, a_process_asks_its_own_key, nobody_asks_in_vain, later_windows_know,
          the_networks_own_memory_is_asked_apart, a_pair_nobody_has_asked, a_gate_nobody_has_asked)
