/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Tests of rma/pull: long puts between fences that their targets copy, come late for, or refuse;
 * what comes behind them; what the judge finds; and what a target makes of a cell full of nonsense.
 */
#include <string.h>
#include "base/prng.h"
#include "mpid/rma/copybed.h"
#include "mpid/rma/mail.h"
#include "support/must.h"
#include "support/suite.h"

enum { ROOM = 1 << 18, ODD = 100 * 1024 + 123, FEW = WDL_PULL_MAPPED + 5, AT_ONCE = 0, LEFT = 1 };
enum { PRIVATE, DYNAMIC, MAPPED, KINDS };

static char mine[RANKS][ROOM];
static const struct wdl_trial known[] = {
    {.asked = 100, .next = 1 << 30, .every = 1 << 20, .ns = {3000, 9000}, .best = AT_ONCE},
    {.asked = 100, .next = 1 << 30, .every = 1 << 20, .ns = {9000, 3000}, .best = LEFT}
};
static int64_t attached;

static int fence_of(struct bed *bed, int rank, int assertion)
{
    return wdl_win_fence(bed->win[rank], assertion, &bed->w.rank[rank].step);
}

static void fence(struct bed *bed)
{
    TEST_ALL(&bed->w, fence_of(bed, r->rank, 0));
    for (int i = 0; i < RANKS; i++)
        wdl_win_check(bed->win[i]);
}

/* Between fences; long puts go that way. */
static void open(struct bed *bed, int kind, int way)
{
    bed_open_as(bed, (struct bed_kind){.mail = kind != MAPPED, .mapped = kind == MAPPED,
                                       .dynamic = kind == DYNAMIC, .bytes = ROOM});
    mover.bed = bed;
    if (kind == DYNAMIC)
        attached = attach(bed, 1, UNIT, ODD);
    struct wdl_pulls *pulls = &bed->win[0]->pulls;
    for (int i = 0; i < WDL_PULL_SIZES; i++) {
        pulls->trial[i] = known[way];
        pulls->early[i] = WDL_PULL_EARLY;
    }
    pulls->next.way = (uint8_t) way;
    for (int i = 0; i < RANKS; i++)
        bed_ring[i].filled = WDL_STREAM_BYTES;  /* used before (stream.h) */
    for (int i = 0; i < WDL_MAIL_SIZES; i++)
        bed->win[0]->rma->trial[2][WDL_RMA_PUT][i] = bed->win[0]->rma->trial[0][WDL_RMA_PUT][i] =
            (struct wdl_trial){.asked = 100, .next = 1 << 30, .every = 1 << 20,
                               .ns = {9000, 3000}, .best = WDL_MAIL_SYSTEM};
    TEST_DONE(&bed->w, wdl_win_unlock_all(bed->win[0], &bed->step));
    fence(bed);
}

static void close(struct bed *bed)
{
    TEST_ALL(&bed->w, fence_of(bed, r->rank, WDL_MODE_NOSUCCEED));
    TEST_DONE(&bed->w, wdl_win_lock_all(bed->win[0], 0, &bed->step));
    bed_end(bed);
}

static char byte_of(int rank, size_t i)
{
    return (char) (i * 7 + i / 4096 + (size_t) rank * 31);
}

/* By that rank, to the second element of another's memory. */
static int put(struct bed *bed, int rank, int target, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        mine[rank][i] = byte_of(rank, i);
    memset(bed->w.rank[target].memory, 0, bytes + 2 * UNIT);
    struct wdl_rma_args args = test_put(target, 1, mine[rank], bytes);
    if (bed->w.params.dynamic)
        args.disp = attached;
    return wdl_rma_op(bed->win[rank], &args);
}

static int has_arrived(const struct bed *bed, int rank, int target, size_t bytes)
{
    const char *at = bed->w.rank[target].memory + UNIT;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(rank, i))
            return 0;
    must(at[-1] == 0 && at[bytes] == 0);
    return 1;
}

/* The target copies it, in its own fence, and nobody before. */
START_TEST(targets_copy)
{
    for (int kind = PRIVATE; kind < KINDS; kind++)
        for (int k = 0; k < 2; k++) {
            size_t least = kind == MAPPED ? WDL_PULL_MAPPED : WDL_PULL_LEAST;
            size_t bytes = k ? ODD : least;
            struct bed bed;
            open(&bed, kind, LEFT);
            uint64_t ops = wdl_win_ops(bed.win[0]), mailed = bed_stats(&bed).ops_mailed;
            ck_assert_int_eq(put(&bed, 0, 1, bytes), WDL_OK);
            ck_assert_int_eq(bed.win[0]->pulls.n, 1);
            wdl_win_check(bed.win[0]);
            for (int i = 0; i < WDL_MAIL_LOOKS; i++)
                ck_assert_int_eq(fence_of(&bed, 0, 0), WDL_AGAIN);
            ck_assert(bed.w.rank[1].memory[UNIT + 1] == 0 && mover.calls == 0);
            ck_assert_int_eq(fence_of(&bed, 1, 0), WDL_AGAIN);
            ck_assert(has_arrived(&bed, 0, 1, bytes));
            fence(&bed);
            ck_assert_int_eq(mover.calls, 1);
            ck_assert_uint_eq(wdl_win_ops(bed.win[0]), ops + 1);
            ck_assert_uint_eq(bed_stats(&bed).ops_mailed, mailed + (kind != MAPPED));
            ck_assert_int_eq(bed.win[0]->pulls.n, 0);
            ck_assert(put(&bed, 0, 1, least - 1) == WDL_OK && bed.win[0]->pulls.n == 0);
            close(&bed);
        }
}
END_TEST

/* Every rank has one, to each of the others. */
START_TEST(all_at_each_other)
{
    for (int kind = PRIVATE; kind < KINDS; kind += MAPPED - PRIVATE)
        for (int round = 0; round < 2; round++) {
            struct bed bed;
            open(&bed, kind, LEFT);
            for (int rank = 0; rank < RANKS; rank++) {
                ck_assert_int_eq(put(&bed, rank, (rank + 1) % RANKS, ODD - (size_t) rank), WDL_OK);
                ck_assert_int_eq(bed.win[rank]->pulls.n, 1);
            }
            fence(&bed);
            for (int rank = 0; rank < RANKS; rank++)
                ck_assert(has_arrived(&bed, rank, (rank + 1) % RANKS, ODD - (size_t) rank));
            ck_assert_int_eq(mover.calls, RANKS);
            ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && put(&bed, 0, 2, ODD) == WDL_OK);
            ck_assert_int_eq(bed.win[0]->pulls.n, 2);
            fence(&bed);
            ck_assert(has_arrived(&bed, 0, 1, ODD) && has_arrived(&bed, 0, 2, ODD));
            close(&bed);
        }
}
END_TEST

/* Who does not come soon is not waited for; the origin copies. */
START_TEST(a_target_comes_late)
{
    for (int kind = PRIVATE; kind < KINDS; kind++) {
        struct bed bed;
        int looks = 0;
        open(&bed, kind, LEFT);
        uint64_t ops = wdl_win_ops(bed.win[0]);
        ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
        while (bed.win[0]->pulls.n > 0) {
            ck_assert_int_lt(looks++, 10 * WDL_MAIL_LOOKS);
            ck_assert_int_eq(fence_of(&bed, 0, 0), WDL_AGAIN);
        }
        ck_assert_int_ge(looks, WDL_MAIL_LOOKS);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        ck_assert_int_eq(bed_cell(&bed, 1)->state, WDL_MAIL_FREE);
        ck_assert_int_eq(bed.win[0]->mailbox.past[WDL_MAIL_PULLS][1].missed, 1);
        ck_assert_int_eq(mover.calls > 0, kind != MAPPED);
        ck_assert_uint_eq(bed_stats(&bed).ops_copied, kind != MAPPED);
        ck_assert_uint_eq(wdl_win_ops(bed.win[0]), ops + 1);
        fence(&bed);
        /* it has looked: it is asked again, and comes */
        ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 1);
        fence(&bed);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        ck_assert_int_eq(bed.win[0]->mailbox.past[WDL_MAIL_PULLS][1].missed, 0);
        close(&bed);
    }
}
END_TEST

/* What else comes for a target on private memory has the one before it copied from here at once;
 * one that the target is at is waited for. Then the next ones are not left. */
START_TEST(others_come_behind_it)
{
    for (int begun = 0; begun < 2; begun++) {
        struct bed bed;
        uint64_t word = 0;
        open(&bed, PRIVATE, LEFT);
        ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
        ck_assert_int_eq(operate(&bed, test_get(2, 0, &word, 8)), WDL_OK);
        ck_assert_int_eq(bed.win[0]->pulls.n, 1);       /* another's */
        struct wdl_rma_args args = test_get(1, 1, &word, 8);
        if (begun) {
            ck_assert(wdl_mail_swap(bed_cell(&bed, 1), WDL_MAIL_POSTED, WDL_MAIL_TAKEN));
            ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_AGAIN);
            ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_AGAIN);
            bed_cell(&bed, 1)->status = WDL_OK;
            wdl_mail_set(bed_cell(&bed, 1), WDL_MAIL_DONE);
        }
        ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_OK);
        ck_assert_int_eq(bed.win[0]->pulls.n, 0);
        ck_assert_int_eq(has_arrived(&bed, 0, 1, ODD), !begun);
        fence(&bed);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
            ck_assert_int_eq(bed.win[0]->pulls.n, i);
            fence(&bed);
            ck_assert(has_arrived(&bed, 0, 1, ODD));
        }
        ck_assert_int_eq(bed.win[0]->pulls.spoilt, 0);
        /* a train takes several (train.h): where the last epoch had them, from the first one on */
        ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && put(&bed, 0, 1, ODD) == WDL_OK);
        fence(&bed);
        bed.win[0]->pulls.pass = 0;
        ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 0);
        fence(&bed);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        close(&bed);
    }
}
END_TEST

/* On mapped memory nothing has to be in order between fences. A second one to the same target is
 * copied at once. */
START_TEST(others_come_behind_a_mapped_one)
{
    struct bed bed;
    char more[UNIT] = "windlas";
    open(&bed, MAPPED, LEFT);
    ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 1);
    memcpy(mine[1], mine[0], ODD);
    ck_assert_int_eq(operate(&bed, test_put(1, 1 + (ODD + UNIT) / UNIT, mine[1], ODD)), WDL_OK);
    ck_assert_mem_eq(bed.w.rank[1].memory + UNIT + (ODD + UNIT) / UNIT * UNIT, mine[1], ODD);
    ck_assert_int_eq(bed.win[0]->pulls.n, 0);
    ck_assert_mem_eq(bed.w.rank[1].memory + UNIT, mine[0], ODD);
    ck_assert(put(&bed, 0, 1, ODD) == WDL_OK);
    fence(&bed);
    ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 1);
    ck_assert_int_eq(wdl_pull_mapped(bed.win[0], 1, bed.w.rank[1].memory, mine[1], ODD), 0);
    ck_assert_int_eq(operate(&bed, test_put(2, 0, more, UNIT)), WDL_OK);
    ck_assert_int_eq(bed.win[0]->pulls.n, 1);
    fence(&bed);
    ck_assert(has_arrived(&bed, 0, 1, ODD));
    close(&bed);
}
END_TEST

/* Short ones that are held back for the same cell, before it or behind it. */
START_TEST(with_short_ones)
{
    for (int before = 0; before < 2; before++) {
        struct bed bed;
        int64_t disp = 1 + (ODD + 2 * UNIT) / UNIT;
        uint64_t one = 1;
        open(&bed, PRIVATE, LEFT);
        struct wdl_rma_args args = test_put(1, 1, mine[0], ODD);
        ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
        ck_assert_int_eq(bed.win[0]->pulls.n, 1);
        if (before) {
            fence(&bed);
            memset(bed.w.rank[1].memory, 0, ROOM);
        }
        for (int i = 0; i < 3; i++) {
            ck_assert_int_eq(operate(&bed, test_acc(1, disp + i, WDL_ROP_SUM, TEST_U64, 1, &one,
                                                    NULL)), WDL_OK);
            wdl_mailbox_serve(bed.win[1]);
        }
        ck_assert_int_gt(bed.win[0]->batched, 0);
        for (int i = 0; before && wdl_rma_op(bed.win[0], &args) == WDL_AGAIN; i++) {
            ck_assert_int_lt(i, 10);
            wdl_mailbox_serve(bed.win[1]);
        }
        fence(&bed);
        memset(bed.w.rank[1].memory + disp * UNIT, 0, UNIT);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        for (int i = 1; i < 3; i++)
            ck_assert_uint_eq(bed_word(&bed, 1, disp + i), 1);
        close(&bed);
    }
}
END_TEST

/* Cells that ranks share are given back, whoever copies; one that is in use is left alone. */
START_TEST(shared_cells)
{
    enum { TARGET, ORIGIN, IN_USE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct bed bed;
        open(&bed, MAPPED, LEFT);
        struct wdl_mail *mail = bed_cell(&bed, 1);
        for (int i = 0; i < RANKS; i++)
            bed.win[i]->params.node_count = WDL_WIN_MAILS + 1;
        if (way == IN_USE)
            wdl_mail_set(mail, WDL_MAIL_FILLING);
        ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
        ck_assert_int_eq(bed.win[0]->pulls.n, way != IN_USE);
        for (int i = 0; i < 10 * WDL_MAIL_LOOKS && bed.win[0]->pulls.n > 0; i++) {
            ck_assert_int_eq(wdl_pulls_run(bed.win[0], -1, UINT64_MAX) == WDL_OK,
                             bed.win[0]->pulls.n == 0);
            if (way == TARGET)
                wdl_mailbox_serve(bed.win[1]);
        }
        ck_assert_int_eq(mover.calls, way == TARGET);
        ck_assert_uint_eq(mail->state, way == IN_USE ? WDL_MAIL_FILLING : WDL_MAIL_FREE);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        for (int i = 0; i < RANKS; i++)
            bed.win[i]->params.node_count = RANKS;
        close(&bed);
    }
}
END_TEST

/* What the target could not do is done from here; what cannot be done fails, and is heard of. */
START_TEST(what_goes_wrong)
{
    for (int kind = PRIVATE; kind < KINDS; kind++) {
        struct bed bed;
        open(&bed, kind, LEFT);
        mover.fail_at = 1;
        ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 1);
        fence(&bed);
        ck_assert_int_eq(mover.calls > 1, kind != MAPPED);
        ck_assert(has_arrived(&bed, 0, 1, ODD));
        if (kind != MAPPED) {
            mover.broken = bed.w.rank[1].memory + ODD - 1;
            ck_assert(put(&bed, 0, 1, ODD) == WDL_OK && bed.win[0]->pulls.n == 1);
            for (int i = 0; i < 10 * WDL_MAIL_LOOKS; i++)
                ck_assert_int_eq(fence_of(&bed, 0, 0), WDL_AGAIN);
            mover.broken = NULL;
            int status[RANKS] = {WDL_AGAIN, WDL_AGAIN, WDL_AGAIN};
            for (int left = RANKS; left > 0;)
                for (int i = 0; i < RANKS; i++)
                    if (status[i] == WDL_AGAIN)
                        left -= (status[i] = fence_of(&bed, i, 0)) != WDL_AGAIN;
            ck_assert_int_eq(status[0], WDL_ERR_RANGE);
            ck_assert(status[1] == WDL_OK && status[2] == WDL_OK);
        }
        close(&bed);
    }
}
END_TEST

/* A fence ends what was there when it began; what another thread has put since is the next's. */
START_TEST(beside_a_fence)
{
    struct bed bed;
    open(&bed, PRIVATE, LEFT);
    ck_assert_int_eq(put(&bed, 0, 1, ODD), WDL_OK);
    ck_assert_int_eq(fence_of(&bed, 0, 0), WDL_AGAIN);
    ck_assert_int_eq(put(&bed, 0, 2, ODD), WDL_OK);
    ck_assert_int_eq(bed.win[0]->pulls.n, 2);
    ck_assert_int_eq(fence_of(&bed, 1, 0), WDL_AGAIN);
    ck_assert(has_arrived(&bed, 0, 1, ODD));
    for (int i = 0; i < 10 * WDL_MAIL_LOOKS; i++)
        ck_assert_int_eq(fence_of(&bed, 0, 0), WDL_AGAIN);
    ck_assert_int_eq(bed.win[0]->pulls.n, 1);
    ck_assert_int_eq(bed.win[0]->pulls.at[0].rank, 2);
    fence(&bed);
    fence(&bed);
    ck_assert_int_eq(bed.win[0]->pulls.n, 0);
    ck_assert(has_arrived(&bed, 0, 2, ODD));
    close(&bed);
}
END_TEST

/* --- which way -------------------------------------------------------------------------------- */

/* Epochs with a put of that rank's, every so many; the judge's clock goes as fast as the ways take
 * time. How many puts were left. */
static int left_of(struct bed *bed, int rank, int every, int epochs, const uint64_t *takes)
{
    int left = 0;
    for (int i = 0; i < epochs; i++) {
        uint64_t ns = 400;
        if (i % every == 0) {
            ck_assert_int_eq(put(bed, rank, 2, FEW), WDL_OK);
            int way = bed->win[rank]->pulls.n;
            left += way;
            ns = takes[way];
        }
        fence(bed);
        ck_assert(i % every != 0 || has_arrived(bed, rank, 2, FEW));
        bed->w.rank[0].host.now_ns += ns;
    }
    return left;
}

/* How many such epochs the judge has seen. */
static uint32_t seen(const struct bed *bed)
{
    uint32_t n = 0;
    for (int i = 0; i < WDL_PULL_SIZES; i++)
        n += bed->win[0]->pulls.trial[i].asked + bed->win[0]->pulls.early[i];
    return n;
}

static void forget(struct bed *bed)
{
    memset(bed->win[0]->pulls.early, 0, sizeof(bed->win[0]->pulls.early));
    memset(bed->win[0]->pulls.then, 0, sizeof(bed->win[0]->pulls.then));
    memset(bed->win[0]->pulls.trial, 0, sizeof(bed->win[0]->pulls.trial));
    bed->w.rank[0].host.now_ns = 1;
}

/* As what they are compared by: a change has its price. */
static uint64_t counted(uint64_t ns, int way)
{
    return way == LEFT ? ns + ns / 8 : ns;
}

/* {not faster by enough, reads: faster} */
START_TEST(the_faster_way)
{
    static const uint64_t takes[2][2] = {{4100, 4000}, {18300, 7200}};
    enum { SIZE = 2 };          /* of FEW bytes */
    for (int kind = PRIVATE; kind < KINDS; kind += MAPPED - PRIVATE)
        for (int rank = 0; rank < 2; rank++)
            for (int every = 1; every < 4; every++)
                for (int reads = 0; reads < 2; reads++) {
                    struct bed bed;
                    open(&bed, kind, AT_ONCE);
                    forget(&bed);
                    int left = left_of(&bed, rank, every, 400 * every, takes[reads]);
                    ck_assert(reads ? left > 320 : left >= WDL_TRIAL_RUN && left < 30);
                    ck_assert(reads || left % WDL_TRIAL_RUN == 0);
                    /* each way has its own times */
                    const struct wdl_trial *trial = &bed.win[0]->pulls.trial[SIZE];
                    for (int way = 0; way < 2; way++)
                        ck_assert_uint_eq(trial->ns[way],
                                          counted(takes[reads][way] + 400 * (every - 1U), way));
                    /* the program is another now */
                    (void) left_of(&bed, rank, every, 200 * every, takes[!reads]);
                    left = left_of(&bed, rank, every, 200 * every, takes[!reads]);
                    ck_assert(!reads ? left > 170 : left < 30);
                    close(&bed);
                }
}
END_TEST

/* Times of one length, and of one way, are not taken for another's. */
START_TEST(one_length_then_another)
{
    static const uint64_t takes[2][2] = {{30000, 40000}, {1500, 2000}};
    enum { PHASES = 9, LONG = 2, SHORT = 0 };
    struct bed bed;
    open(&bed, PRIVATE, AT_ONCE);
    forget(&bed);
    for (int i = 0; i < PHASES * 100; i++) {
        int phase = i / 100 % 2;
        ck_assert_int_eq(put(&bed, 0, 2, phase ? WDL_PULL_LEAST : FEW), WDL_OK);
        int way = bed.win[0]->pulls.n;
        fence(&bed);
        bed.w.rank[0].host.now_ns += takes[phase][way];
    }
    for (int way = 0; way < 2; way++) {
        ck_assert_uint_eq(bed.win[0]->pulls.trial[LONG].ns[way], counted(takes[0][way], way));
        ck_assert_uint_eq(bed.win[0]->pulls.trial[SHORT].ns[way], counted(takes[1][way], way));
    }
    close(&bed);
}
END_TEST

/* A program that does something behind every other fence, or has two lengths in turn, or both. */
START_TEST(by_turns)
{
    for (int lengths = 0; lengths < 2; lengths++)
        for (int reads = 0; reads < 2; reads++) {
            struct bed bed;
            int left = 0;
            open(&bed, PRIVATE, AT_ONCE);
            forget(&bed);
            for (int i = 0; i < 600; i++) {
                size_t bytes = lengths && i % 2 ? WDL_PULL_LEAST : FEW;
                ck_assert_int_eq(put(&bed, 0, 2, bytes), WDL_OK);
                int way = bed.win[0]->pulls.n;
                left += i >= 300 ? way : 0;
                fence(&bed);
                ck_assert(has_arrived(&bed, 0, 2, bytes));
                uint64_t *now = &bed.w.rank[0].host.now_ns;
                *now += i % 2 ? 30000 : 4000;   /* whatever it does then */
                *now += i % 2 == 0 ? 500 : !reads ? 900 * (uint64_t) way : way ? 0 : 12000;
            }
            ck_assert(reads ? left > 280 : left < 20);
            close(&bed);
        }
}
END_TEST

/* Who cannot see that there are such puts is told, and nobody else. */
START_TEST(the_judge_is_told)
{
    struct bed bed;
    open(&bed, PRIVATE, AT_ONCE);
    uint32_t *asked = &bed.w.control[0].pull_asked;
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(put(&bed, 0, 2, FEW), WDL_OK);
        ck_assert_int_eq(put(&bed, 1, 2, FEW), WDL_OK);
        fence(&bed);
        fence(&bed);
    }
    uint32_t before = *asked;
    for (int i = 0; i < 20; i++) {
        uint32_t epoch = bed.win[1]->pulls.fences;
        ck_assert_int_eq(put(&bed, 1, 2, WDL_PULL_LEAST), WDL_OK);
        ck_assert_int_eq(put(&bed, 1, 2, FEW), WDL_OK);
        if (i < WDL_PULL_TELLS)
            ck_assert_uint_eq(*asked, before);
        else if (i > WDL_PULL_TELLS + 1)        /* the first one's size */
            ck_assert_uint_eq(*asked, epoch * WDL_PULL_SIZES);
        uint32_t epochs = seen(&bed);
        fence(&bed);
        ck_assert_uint_eq(seen(&bed), epochs + (*asked != before));
    }
    ck_assert_int_eq(put(&bed, 1, 2, FEW), WDL_OK);
    fence(&bed);
    uint32_t epochs = seen(&bed);
    fence(&bed);        /* there were none */
    ck_assert_uint_eq(seen(&bed), epochs);
    close(&bed);
}
END_TEST

/* All ranks go the same way in an epoch, as the judge said before it. */
START_TEST(all_go_one_way)
{
    struct bed bed;
    int ways = 0;
    open(&bed, PRIVATE, AT_ONCE);
    forget(&bed);
    for (int i = 0; i < 100; i++) {
        for (int rank = 0; rank < RANKS; rank++)
            ck_assert_int_eq(put(&bed, rank, (rank + 1) % RANKS, FEW), WDL_OK);
        for (int rank = 1; rank < RANKS; rank++)
            ck_assert_int_eq(bed.win[rank]->pulls.n, bed.win[0]->pulls.n);
        ways |= 1 << bed.win[0]->pulls.n;
        ck_assert(i >= WDL_PULL_EARLY || ways == 1);
        fence(&bed);
        bed.w.rank[0].host.now_ns += 5000;
    }
    ck_assert_int_eq(ways, 3);
    close(&bed);
}
END_TEST

/* None of those: to oneself, from what it overlaps, longer than MOST, where nobody looks at its
 * mail, under another synchronization. */
START_TEST(which_are_left)
{
    struct bed bed;
    struct wdl_win *win;
    open(&bed, MAPPED, LEFT);
    win = bed.win[0];
    char *theirs = bed.w.rank[1].memory, *own = bed.w.rank[0].memory;
    ck_assert_int_eq(wdl_pull_mapped(win, 0, own, mine[0], ODD), 0);
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, theirs + ODD - 1, ODD), 0);
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs + ODD - 1, theirs, ODD), 0);
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, mine[0], WDL_PULL_MOST + 1), 0);
    bed.w.control[1].mail_open = 0;
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, mine[0], ODD), 0);
    bed.w.control[1].mail_open = 1;
    win->mailbox.has = 0;
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, mine[0], ODD), 0);
    win->mailbox.has = 1;
    win->pulls.n = win->batched = WDL_PULLS;
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, mine[0], ODD), 0);
    win->pulls.n = win->batched = 0;
    ck_assert_int_eq(wdl_pull_mapped(win, 1, theirs, mine[0], ODD), 1);
    fence(&bed);
    close(&bed);
    open(&bed, PRIVATE, LEFT);
    struct wdl_rma_args args = test_put(1, 1, mine[0], ODD);
    TEST_ALL(&bed.w, fence_of(&bed, r->rank, WDL_MODE_NOSUCCEED));
    TEST_DONE(&bed.w, wdl_win_lock_all(bed.win[0], 0, &bed.step));
    ck_assert_int_eq(wdl_rma_op(bed.win[0], &args), WDL_OK);
    ck_assert_int_eq(bed.win[0]->pulls.n, 0);
    bed_end(&bed);
}
END_TEST

/* --- what comes from others ------------------------------------------------------------------- */

START_TEST(nonsense_in_a_cell)
{
    for (int kind = PRIVATE; kind < KINDS; kind += MAPPED - PRIVATE) {
        struct bed bed;
        struct wdl_prng prng;
        wdl_prng_init(&prng, 7);
        open(&bed, kind, LEFT);
        struct wdl_mail *mail = bed_cell(&bed, 1);
        char *theirs = bed.w.rank[1].memory;
        struct wdl_mail good = {.origin = 0, .kind = WDL_MAIL_PULL};
        good.disp = kind == MAPPED ? 0 : (int64_t) (uintptr_t) theirs;
        good.joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) mine[0], .bytes = ROOM};
        for (int k = 0; k < 1000; k++) {
            struct wdl_mail bad = good;
            uint64_t any = wdl_prng_next(&prng);
            switch (k % 4) {
                case 0:
                    bad.origin = (uint32_t) any | RANKS;
                    break;
                case 1:
                    bad.origin = 1;     /* the target itself */
                    break;
                case 2:
                    bad.disp += (int64_t) ((k % 8 < 4 ? any : any % ROOM) | 1);
                    break;
                default:
                    bad.joint.bytes = k % 8 < 4 ? 0 : ROOM + 1 + any % (k % 16 < 8 ? ROOM : any);
                    break;
            }
            bad.state = WDL_MAIL_POSTED;
            *mail = bad;
            ck_assert_int_eq(wdl_mailbox_serve(bed.win[1]), 1);
            ck_assert(mail->state == WDL_MAIL_DONE && mail->status != WDL_OK);
            ck_assert_int_eq(mover.calls, 0);
            mail->state = WDL_MAIL_FREE;
        }
        close(&bed);
    }
}
END_TEST

WDL_SUITE("rma/pull", targets_copy, all_at_each_other, a_target_comes_late, others_come_behind_it,
          others_come_behind_a_mapped_one, with_short_ones, shared_cells, what_goes_wrong,
          beside_a_fence, the_faster_way, one_length_then_another, by_turns, the_judge_is_told,
          all_go_one_way, which_are_left, nonsense_in_a_cell)
