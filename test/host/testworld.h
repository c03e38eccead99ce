/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A small world for unit tests of RMA: a few ranks in one process over the simulated network, each
 * with one window, driven by the test itself: a call is repeated, and every rank makes progress in
 * between, until its result is not WDL_AGAIN. (Scripts with random faults are test/system's.)
 *
 * After every turn the windows' invariants and the network's counts are checked. Closing proves
 * that nothing is in flight and every allocation, type and bounce buffer came home.
 */
#ifndef WDL_TEST_HOST_TESTWORLD_H_INCLUDED
#define WDL_TEST_HOST_TESTWORLD_H_INCLUDED

#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/rma/win_impl.h"
#include "netmod/sim/sim.h"

/* the usual largest world, and how many ranks there is room for */
enum { TEST_RANKS_MAX = 8, TEST_RANKS_ROOM = 40, TEST_TURNS_MAX = 20000 };

struct test_world_params {      /* 0: the default, in brackets */
    int ranks;
    int absent;                 /* further ranks, which nobody may contact */
    int unordered;              /* the network keeps no order */
    int node;                   /* ranks a node; their memory is mapped among them [1] */
    int dynamic;                /* a dynamic window, nothing attached; else an allocated one */
    int own;                    /* the memory is private: nobody else maps it */
    int shared;                 /* the window is one of MPI_Win_allocate_shared */
    int no_place;               /* no table of places: the short way is closed */
    int crowded, no_locks, acc_unordered, nonoverlapping;
    int levels;                 /* their barrier knows nodes */
    int attended;               /* ranks serve messages while they compute */
    int direct;                 /* the network puts and gets by itself */
    int atomics;                /* and has atomics: 1 coherent with the processors', 2 not */
    uint32_t no_fetches;        /* as sim.h has it */
    int by_key;                 /* its keys tell of them, and it does not */
    int odd, odd_to, odd_atomics;       /* as sim.h has them; odd_atomics as atomics */
    int no_atomics;             /* the windows want none of them */
    int needs_target;           /* it says so of nothing */
    int attach_max;             /* regions a rank may have attached; 0: no limit */
    int ops_max;                /* puts and gets of a rank in flight; 0: no limit */
    enum wdl_combine combine;
    int refuse_permille, pending_permille;
    uint64_t delay_ns_max, seed;
    size_t bytes;               /* of each rank's memory [256] */
    int64_t disp_unit;          /* [1] */
    int bounce_count;           /* [8] */
    size_t am_bytes_max;        /* [1024] */
    struct wdl_rma_params rma;  /* pools [16 of each] */
};

struct test_rank {
    struct test_world *world;
    int rank;
    struct test_host host;
    struct wdl_proc *proc;
    struct wdl_win *win;
    struct wdl_rma *rma;
    char *memory;
    int step;                   /* of the synchronization call under way */
};

struct test_world {
    struct test_world_params params;
    struct wdl_sim *sim;
    int n;
    struct test_rank rank[TEST_RANKS_ROOM];
    struct wdl_win_control *control;
    struct wdl_win_place place[TEST_RANKS_ROOM];
    char *memory;
    struct wdl_prng prng;
    uint64_t sent, bytes_sent;  /* messages of the network when they were last asked for */
    uint64_t malformed;         /* messages the test knows to be malformed */
};

void test_world_open(struct test_world *w, const struct test_world_params *params);
void test_world_close(struct test_world *w);
/* What those who create a window agree about, given all ranks' windows. Where keys are asked the
 * network is made to move. */
void test_net_agree(struct wdl_sim *sim, struct wdl_win *const *win, int ranks);
/* As `atomics` has it. */
enum wdl_sim_atomics test_atomics(int atomics);
/* What wdl_win_create got on this rank, for windows of the test's own. */
struct wdl_win_params test_win_params(struct test_rank *r);
/* One round of progress on every rank; time goes on. */
void test_world_turn(struct test_world *w);
/* Turns until the network is silent and nobody finds work. */
void test_world_settle(struct test_world *w);
/* Messages since the last question, the network silent. */
int test_world_messages(struct test_world *w);
/* Bytes since then, with all headers. */
int test_world_bytes(struct test_world *w);

/* The result of expr, once it is not WDL_AGAIN. */
#define TEST_WAIT(w, expr)                                                                     \
    ({                                                                                         \
        int wait_status_, wait_turns_ = 0;                                                     \
        while ((wait_status_ = (expr)) == WDL_AGAIN) {                                         \
            wdl_assert_cmp(wait_turns_++, <, TEST_TURNS_MAX);                                  \
            test_world_turn(w);                                                                \
        }                                                                                      \
        wait_status_;                                                                          \
    })
/* The same, to be WDL_OK. */
#define TEST_DONE(w, expr) ck_assert_int_eq(TEST_WAIT(w, expr), WDL_OK)
/* A synchronization call on all ranks at once, to be WDL_OK on each: `r` is the struct test_rank,
 * &r->step the call's step. */
#define TEST_ALL(w, expr)                                                                      \
    do {                                                                                       \
        int all_left_ = (w)->n, all_turns_ = 0, all_over_[TEST_RANKS_ROOM] = { 0 };             \
        while (all_left_ > 0) {                                                                \
            for (int all_i_ = 0; all_i_ < (w)->n; all_i_++) {                                  \
                struct test_rank *r = &(w)->rank[all_i_];                                      \
                int all_status_ = all_over_[all_i_] ? WDL_AGAIN : (expr);                      \
                if (all_status_ == WDL_AGAIN)                                                  \
                    continue;                                                                  \
                ck_assert_int_eq(all_status_, WDL_OK);                                         \
                all_over_[all_i_] = 1;                                                         \
                all_left_--;                                                                   \
            }                                                                                  \
            wdl_assert_cmp(all_turns_++, <, TEST_TURNS_MAX);                                   \
            test_world_turn(w);                                                                \
        }                                                                                      \
    } while (0)

/* Buffers and operations. Displacements are the target's units. */
struct wdl_buf test_bytes(const void *addr, size_t bytes);
struct wdl_buf test_typed(struct test_host *host, const void *addr, int64_t count, wdl_type type);
struct wdl_rma_args test_put(int target, int64_t disp, const void *from, size_t bytes);
struct wdl_rma_args test_get(int target, int64_t disp, void *to, size_t bytes);
/* n elements; result NULL: accumulate, else get_accumulate. */
struct wdl_rma_args test_acc(int target, int64_t disp, enum wdl_rop op, enum test_type type, int n,
                             const void *from, void *result);
struct wdl_rma_args test_cas(int target, int64_t disp, enum test_type type, const void *compare,
                             const void *value, void *result);
/* Begin it on rank o and see it accepted (done, where the memory is mapped). */
void test_op(struct test_world *w, int o, struct wdl_rma_args args);

/* A packet as rank `from` would send it to rank `to`'s window, given to the handler at once: its
 * result, WDL_ERR_PROTO for what is malformed. */
struct wdl_pkt test_packet(struct test_world *w, int from, enum wdl_pkt_kind kind);
int test_deliver(struct test_world *w, int from, int to, const struct wdl_pkt *pkt,
                 const void *payload, size_t bytes);

#endif
