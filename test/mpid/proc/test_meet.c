/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of proc/meet.h: ranks that come
 * and look in any order, on plain memory and in threads. */
#include "mpid/proc/meet.h"
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "base/prng.h"
#include "support/must.h"
#include "support/suite.h"

enum { RANKS_MAX = 70, MEETINGS = 12, THREADS = 4, LONG = 600 };

static struct wdl_meet_word words[RANKS_MAX][WDL_MEET_ROUNDS];

static struct wdl_meet_word *words_of(const void *ctx, int rank)
{
    must(ctx == words);
    return words[rank];
}

struct rank {
    uint64_t come, left; /* meetings */
    int seen, round, sent;
};

/* One look of a rank; is its meeting over? */
static int look(struct rank *r, int rank, int size, int by_rounds)
{
    return by_rounds ? wdl_meet_rounds(words_of, words, rank, size, r->come, &r->round, &r->sent)
                     : wdl_meet_look(words_of, words, rank, size, r->come, &r->seen);
}

static void come(struct rank *r, int rank, int by_rounds)
{
    r->come++;
    r->seen = r->round = r->sent = 0;
    if (!by_rounds)
        wdl_meet_come(words[rank], r->come);
}

/* In random order; whoever leaves must have been preceded by all, and the last to come leaves. */
static void play(int size, int by_rounds, struct wdl_prng *prng)
{
    struct rank r[RANKS_MAX] = {{0}};
    memset(words, 0, sizeof(words));
    for (int over = 0, turns = 0; over < size; turns++) {
        int i = (int) wdl_prng_below(prng, (uint64_t) size);
        must_cmp(turns, <, 4000 * RANKS_MAX);
        if (r[i].come == r[i].left && r[i].left < MEETINGS)
            come(&r[i], i, by_rounds);
        if (r[i].come == r[i].left || !look(&r[i], i, size, by_rounds))
            continue;
        r[i].left++;
        over += r[i].left == MEETINGS;
        for (int k = 0; k < size; k++)
            must_cmp(r[k].come, >=, r[i].left);
    }
}

START_TEST(nobody_leaves_before_all_have_come)
{
    struct wdl_prng prng;
    wdl_prng_init(&prng, 7);
    for (int size = 1; size <= RANKS_MAX; size++)
        for (int by_rounds = 0; by_rounds < 2; by_rounds++)
            play(size, by_rounds, &prng);
}
END_TEST

/* Who has come is not needed again: the others see it, and meetings it has come to since. */
START_TEST(looks_need_nobody_twice)
{
    int seen[2] = {0, 0};
    memset(words, 0, sizeof(words));
    wdl_meet_come(words[0], 1);
    must(!wdl_meet_look(words_of, words, 0, 3, 1, &seen[0]));
    wdl_meet_come(words[1], 1);
    wdl_meet_come(words[1], 2);
    must(!wdl_meet_look(words_of, words, 0, 3, 1, &seen[0]));
    must_cmp(seen[0], ==, 1);
    wdl_meet_come(words[2], 4);
    must(wdl_meet_look(words_of, words, 0, 3, 1, &seen[0]));
    wdl_meet_come(words[0], 2);
    must(wdl_meet_look(words_of, words, 0, 3, 2, &seen[1]));
}
END_TEST

/* What was stored plainly before a meeting is loaded plainly behind it (for the thread
 * sanitizer, too). */
static int data[THREADS][8];

struct thread {
    pthread_t id;
    int rank, by_rounds;
};

static void *thread_play(void *ctx)
{
    const struct thread *t = ctx;
    struct rank r = {0};
    for (int i = 0; i < LONG; i++) {
        if (i % 2 == 0)
            data[t->rank][0] = i;
        else
            for (int k = 0; k < THREADS; k++)
                must_cmp(data[k][0], ==, i - 1);
        come(&r, t->rank, t->by_rounds);
        while (!look(&r, t->rank, THREADS, t->by_rounds))
            sched_yield();
    }
    return NULL;
}

START_TEST(what_was_done_before_is_seen)
{
    struct thread thread[THREADS];
    for (int by_rounds = 0; by_rounds < 2; by_rounds++) {
        memset(words, 0, sizeof(words));
        for (int i = 0; i < THREADS; i++) {
            thread[i] = (struct thread){.rank = i, .by_rounds = by_rounds};
            ck_assert_int_eq(pthread_create(&thread[i].id, NULL, thread_play, &thread[i]), 0);
        }
        for (int i = 0; i < THREADS; i++)
            ck_assert_int_eq(pthread_join(thread[i].id, NULL), 0);
    }
}
END_TEST

WDL_SUITE("proc/meet", nobody_leaves_before_all_have_come, looks_need_nobody_twice,
          what_was_done_before_is_seen)
