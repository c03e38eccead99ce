/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of rma/trial. */
#include "mpid/rma/trial.h"
#include "base/prng.h"
#include "support/suite.h"

/* Of so many times, how many went way 1, where the ways take so long. */
static int times(struct wdl_trial *trial, int n, uint64_t first, uint64_t second)
{
    int seconds = 0;
    for (int i = 0; i < n; i++) {
        int way = wdl_trial_way(trial);
        if (trial->clock)
            wdl_trial_took(trial, way, way ? second : first);
        seconds += way;
    }
    return seconds;
}

START_TEST(the_first_until_the_other_has_been_tried)
{
    struct wdl_trial trial = {0};
    ck_assert_int_eq(times(&trial, WDL_TRIAL_AT, 100, 10), 0);
    ck_assert_int_eq(times(&trial, WDL_TRIAL_RUN, 100, 10), WDL_TRIAL_RUN);
    int settled = WDL_TRIAL_OFTEN - WDL_TRIAL_AT - WDL_TRIAL_RUN;
    ck_assert_int_eq(times(&trial, settled, 100, 10), settled);
    struct wdl_trial silent = {0}; /* nobody says how long it took */
    for (int i = 0; i < 1024; i++) {
        int first = i >= WDL_TRIAL_AT && i < WDL_TRIAL_AT + WDL_TRIAL_RUN;
        int later = i >= WDL_TRIAL_OFTEN && i % WDL_TRIAL_OFTEN < WDL_TRIAL_RUN;
        ck_assert_int_eq(wdl_trial_way(&silent), first || later);
    }
}
END_TEST

/* The slower one is tried at multiples of distances that double from 64 to 8192, or from 128 on are
 * four times the last where it is slower by a third, and stay: six times more. */
START_TEST(then_the_faster_but_for_few)
{
    enum { ALL = 2 * 8192 + 5 * 8192 };
    static const struct {
        uint64_t first, second;
        int seconds; /* of ALL, after the first 40 */
    } cases[] = {{1000, 800, ALL - 14 * WDL_TRIAL_RUN},
                 {1000, 700, ALL - 10 * WDL_TRIAL_RUN},
                 {1000, 400, ALL - 10 * WDL_TRIAL_RUN},
                 {800, 1000, 14 * WDL_TRIAL_RUN},
                 {700, 1000, 10 * WDL_TRIAL_RUN},
                 {400, 1000, 10 * WDL_TRIAL_RUN},
                 {500, 500, 14 * WDL_TRIAL_RUN},
                 {960, 1000, 14 * WDL_TRIAL_RUN}};
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        struct wdl_trial trial = {0};
        times(&trial, 40, cases[i].first, cases[i].second);
        ck_assert_int_eq(times(&trial, ALL, cases[i].first, cases[i].second), cases[i].seconds);
    }
}
END_TEST

/* What takes longer until it has been gone some times on end is tried as often, whichever way it
 * is; at distances of four such runs at least. */
START_TEST(what_warms_up_has_longer_runs)
{
    enum { WARM = 30, LONG = 48, ALL = 40000 };
    for (int slow = 0; slow < 2; slow++)
        for (int runs = 0; runs <= LONG; runs += LONG) {
            struct wdl_trial trial = {0};
            trial.runs[slow] = (uint16_t) runs;
            int warm = 0, gone = 0, began = 0;
            for (int i = 0; i < ALL; i++) {
                int way = wdl_trial_way(&trial);
                if (way == slow && warm == 0 && i >= ALL / 2 && i - began < 4 * runs)
                    ck_abort_msg("%d and %d", began, i);
                began = way == slow && warm == 0 ? i : began;
                warm = way == slow ? warm + 1 : 0;
                if (trial.clock)
                    wdl_trial_took(&trial, way, way != slow ? 1000 : warm < WARM ? 2000 : 500);
                gone += way == slow && i >= ALL / 2;
            }
            ck_assert(runs ? gone > ALL / 2 * 9 / 10 : gone < ALL / 2 / 10);
        }
}
END_TEST

/* At multiples of the distance, which doubles: of the second, of three. */
START_TEST(distances_are_exact)
{
    struct wdl_trial trial = {0};
    ck_assert_int_eq(times(&trial, WDL_TRIAL_AT, 900, 1000), 0);
    ck_assert_int_eq(times(&trial, WDL_TRIAL_RUN, 900, 1000), WDL_TRIAL_RUN);
    for (uint32_t every = 2 * WDL_TRIAL_OFTEN; every <= WDL_TRIAL_SELDOM; every *= 2) {
        ck_assert_uint_eq(trial.every, every);
        ck_assert_uint_eq(trial.next, every);
        ck_assert_int_eq(times(&trial, (int) (every - trial.asked), 900, 1000), 0);
        ck_assert_int_eq(times(&trial, WDL_TRIAL_RUN, 900, 1000), WDL_TRIAL_RUN);
    }
    ck_assert_uint_eq(trial.next, 2 * WDL_TRIAL_SELDOM);
}
END_TEST

/* Each of two does the same once: what is handed over takes long while the other one copies. noise:
 * it takes less than so many eighths more. Did both hand it over? */
static int both(struct wdl_trial *trial, struct wdl_prng *prng, uint64_t noise, int prompts)
{
    int way[2] = {wdl_trial_way(&trial[0]), wdl_trial_way(&trial[1])};
    for (int k = 0; k < 2; k++) {
        uint64_t ns = way[k] ? 3000 : way[!k] ? 3900 : 2100;
        ns += wdl_prng_below(prng, noise * ns / 8);
        if (trial[k].clock)
            wdl_trial_took(&trial[k], way[k], ns);
        if (prompts && way[!k] == 0 && trial[k].best == 1)
            wdl_trial_prompt(&trial[k]);
    }
    return !way[0] && !way[1];
}

/* Two processes that do the same: what is handed over takes long while the other one copies, and
 * the first times are cold. However it began, both come to hand over. */
START_TEST(two_that_do_the_same_agree)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct wdl_trial trial[2] = {{0}, {0}};
        struct wdl_prng prng;
        int handed = 0;
        wdl_prng_init(&prng, seed);
        for (int i = 0; i < 20000; i++) {
            int handed_both = both(trial, &prng, i < WDL_TRIAL_AT ? 160 : 1, 0);
            handed += i >= 10000 && handed_both;
        }
        ck_assert_int_ge(handed, 9500);
    }
}
END_TEST

/* One has done it alone before, to somebody who did not look, and was told by nobody; then both do
 * the same, at times of their own. Who is handed something tries that, too. */
START_TEST(who_comes_later_is_met)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct wdl_trial trial[2] = {{0}, {0}};
        struct wdl_prng prng;
        int handed = 0;
        wdl_prng_init(&prng, seed);
        times(&trial[0], 5000 + (int) wdl_prng_below(&prng, 20000), 3900, 3000);
        for (int i = 0; i < 30000; i++) {
            int handed_both = both(trial, &prng, 1, 1);
            handed += i >= 20000 && handed_both;
        }
        ck_assert_int_ge(handed, 9500);
    }
}
END_TEST

/* Not while it is tried, nor soon after that: so that it costs little where it is slower however
 * often others go that way. */
START_TEST(prompted_it_is_tried_unless_that_was_done_of_late)
{
    struct wdl_trial trial = {0}, fresh = {0};
    wdl_trial_prompt(&fresh);
    ck_assert_int_eq(times(&fresh, WDL_TRIAL_AT, 400, 1000), 0);
    times(&trial, 40000, 1000, 400);
    ck_assert_uint_eq(trial.every, WDL_TRIAL_SELDOM);
    int before = times(&trial, 2 * WDL_TRIAL_SELDOM, 1000, 400), prompted = 0;
    for (int i = 0; i < 2 * WDL_TRIAL_SELDOM; i++) {
        wdl_trial_prompt(&trial);
        prompted += times(&trial, 1, 1000, 400);
    }
    ck_assert_int_eq(2 * WDL_TRIAL_SELDOM - before, 2 * WDL_TRIAL_RUN);
    ck_assert_int_ge(2 * WDL_TRIAL_SELDOM - prompted, 4 * WDL_TRIAL_RUN);
    ck_assert_int_le(2 * WDL_TRIAL_SELDOM - prompted, 17 * WDL_TRIAL_RUN);
    ck_assert_int_eq(trial.best, 1);
    for (int is_long = 0; is_long < 2; is_long++) {
        uint32_t ns = WDL_TRIAL_LONG_NS - !is_long;
        struct wdl_trial one = {.every = WDL_TRIAL_OFTEN, .asked = 20, .next = WDL_TRIAL_OFTEN,
                                .ns = {ns + 1, ns}, .best = 1};
        wdl_trial_prompt(&one);
        ck_assert_int_eq(wdl_trial_next(&one), is_long);
    }
}
END_TEST

/* Long ones after so much time, or where it costs so little. */
START_TEST(long_ones_sooner)
{
    static const struct {
        uint32_t ns[2], every;
    } cases[] = {{{1 << 15, 1 << 16}, WDL_TRIAL_WHILE_NS >> 15},
                 {{1 << 18, 5 << 18}, 1024}, /* of 4 * COST * RUN */
                 {{1 << 21, 9 << 18}, WDL_TRIAL_OFTEN},
                 {{1 << 10, 1 << 11}, WDL_TRIAL_SELDOM},
                 {{1 << 15, 101 << 15}, WDL_TRIAL_SELDOM}};
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++) {
        struct wdl_trial trial = {0};
        times(&trial, 50000, cases[i].ns[0], cases[i].ns[1]);
        ck_assert_uint_eq(trial.every, cases[i].every);
        times(&trial, 2 * (int) cases[i].every, cases[i].ns[0], cases[i].ns[0] / 2);
        ck_assert_int_eq(trial.best, 1); /* it has become the faster one */
    }
}
END_TEST

/* What takes a little less is no better, and is looked at again soon. */
START_TEST(a_sixteenth_less_is_wanted)
{
    struct wdl_trial trial = {0};
    times(&trial, 1000, 1000, 950);
    ck_assert_int_eq(trial.best, 0);
    ck_assert_uint_eq(trial.every, WDL_TRIAL_OFTEN);
    times(&trial, 1000, 1000, 930);
    ck_assert_int_eq(trial.best, 1);
}
END_TEST

START_TEST(time_is_taken_seldom)
{
    struct wdl_trial trial = {0};
    int clocks = 0;
    times(&trial, 40, 1000, 400);
    for (int i = 0; i < 4096; i++) {
        int way = wdl_trial_way(&trial);
        clocks += trial.clock;
        if (trial.clock)
            wdl_trial_took(&trial, way, way ? 400 : 1000);
    }
    int unsure = WDL_TRIAL_SURE / WDL_TRIAL_CLOCK;
    ck_assert_int_ge(clocks, 4096 / WDL_TRIAL_CLOCK_SURE);
    ck_assert_int_le(clocks, 4096 / WDL_TRIAL_CLOCK_SURE + unsure + 8);
    struct wdl_trial slow = {0}; /* what a look at the clock adds nothing to, every time */
    times(&slow, 40, 2 * WDL_TRIAL_LONG_NS, WDL_TRIAL_LONG_NS);
    for (int i = 0; i < 1000; i++)
        if (wdl_trial_way(&slow) == 1) {
            ck_assert(slow.clock);
            wdl_trial_took(&slow, 1, WDL_TRIAL_LONG_NS);
        }
}
END_TEST

/* The faster way, at every 8th or 64th; always what is long, and where nothing is known. */
START_TEST(when_time_is_taken)
{
    static const struct {
        struct wdl_trial trial;
        int timed;
    } cases[] = {
        {{.every = WDL_TRIAL_SURE - 1, .asked = 8, .ns = {1, 1}}, 1},
        {{.every = WDL_TRIAL_SURE - 1, .asked = 9, .ns = {1, 1}}, 0},
        {{.every = WDL_TRIAL_SURE, .asked = 8, .ns = {1, 1}}, 0},
        {{.every = WDL_TRIAL_SURE, .asked = 64, .ns = {1, 1}}, 1},
        {{.every = WDL_TRIAL_SURE, .asked = 1, .ns = {WDL_TRIAL_LONG_NS, 1}}, 1},
        {{.every = WDL_TRIAL_SURE, .asked = 1, .ns = {WDL_TRIAL_LONG_NS, 1}, .best = 1}, 0},
        {{.every = WDL_TRIAL_SURE, .asked = 1, .ns = {0, 1}}, 1},
        {{.every = WDL_TRIAL_SURE, .asked = 1, .ns = {0, 1}, .best = 1}, 0},
        {{.every = 0, .asked = 1, .ns = {1, 1}}, 1}};
    for (int i = 0; i < (int) (sizeof(cases) / sizeof(cases[0])); i++)
        ck_assert_int_eq(wdl_trial_is_timed(&cases[i].trial), cases[i].timed);
}
END_TEST

START_TEST(a_change_is_noticed)
{
    struct wdl_trial trial = {0};
    times(&trial, 200, 1000, 300);
    ck_assert_int_ge(times(&trial, 300, 1000, 300), 290);
    times(&trial, 2048, 100, 300); /* the first has become faster */
    ck_assert_int_le(times(&trial, 300, 100, 300), 10);
    times(&trial, 400, 1000, 300); /* the one that is gone slower */
    ck_assert_int_ge(times(&trial, 300, 1000, 300), 290);
    times(&trial, 40000, 1000, 300); /* however sure it was, it starts anew */
    for (int i = 0; trial.best == 1; i++) {
        ck_assert_int_lt(i, 10000);
        times(&trial, 1, 100, 300);
    }
    ck_assert_uint_eq(trial.every, WDL_TRIAL_OFTEN);
}
END_TEST

/* The one that is gone has become slower than the other was: that is looked at before it is gone,
 * and times itself. */
START_TEST(who_was_better_is_looked_at_again)
{
    for (int still = 0; still < 2; still++) {
        struct wdl_trial trial = {0};
        times(&trial, 1000, 1000, 600);
        for (int i = 0; trial.next != trial.asked; i++) {
            ck_assert_int_lt(i, 10);
            wdl_trial_took(&trial, 1, 2000);
        }
        ck_assert_int_eq(trial.best, 1);
        ck_assert_int_eq(times(&trial, WDL_TRIAL_RUN, still ? 1000 : 4000, 2000), 0);
        ck_assert_int_eq(trial.best, !still);
        if (still)
            ck_assert_uint_eq(trial.every, WDL_TRIAL_OFTEN);
    }
}
END_TEST

START_TEST(one_delay_decides_nothing)
{
    struct wdl_trial trial = {0};
    times(&trial, 100, 1000, 600);
    wdl_trial_took(&trial, 1, 20000000);
    ck_assert_int_ge(times(&trial, 100, 1000, 600), 95);
    wdl_trial_took(&trial, 1, UINT64_MAX);
    ck_assert_uint_lt(trial.ns[1], 2000);
    struct wdl_trial first = {0};
    wdl_trial_took(&first, 0, UINT64_MAX); /* no overflow */
    wdl_trial_took(&first, 0, UINT64_MAX);
    ck_assert_uint_gt(first.ns[0], 1000000);
    struct wdl_trial cold = {0}; /* of the first times the least counts, then each says a quarter */
    wdl_trial_took(&cold, 0, 40000);
    wdl_trial_took(&cold, 0, 3000);
    wdl_trial_took(&cold, 0, 3500);
    ck_assert_uint_eq(cold.ns[0], 3000);
    cold.every = WDL_TRIAL_OFTEN;
    wdl_trial_took(&cold, 0, 3400);
    ck_assert_uint_eq(cold.ns[0], 3100);
}
END_TEST

/* 1 or 4 us, as it happens, and always 1.7. */
START_TEST(what_is_quick_at_times_is_not_quick)
{
    for (int lucky = 0; lucky < 2; lucky++) {
        struct wdl_trial trial = {0};
        struct wdl_prng prng;
        int unlucky = 0;
        wdl_prng_init(&prng, 3);
        for (int i = 0; i < 20000; i++) {
            int way = wdl_trial_way(&trial);
            uint64_t ns = way != lucky ? 1700 : wdl_prng_chance(&prng, 500) ? 1000 : 4000;
            if (trial.clock)
                wdl_trial_took(&trial, way, ns);
            unlucky += i >= 1000 && way == lucky;
        }
        ck_assert_int_le(unlucky, 1000);
    }
}
END_TEST

/* Where the other way cannot be gone now nothing is tried; where it can again, soon. */
START_TEST(what_cannot_be_tried_is_deferred)
{
    struct wdl_trial trial = {0};
    times(&trial, 5000, 1000, 400);
    int tried = 0, waited = 0;
    for (int i = 0; i < 10000; i++)
        if (wdl_trial_next(&trial) == 0) {
            wdl_trial_defer(&trial);
            tried++;
        } else {
            (void) wdl_trial_way(&trial);
        }
    ck_assert_int_ge(tried, 1);
    ck_assert_int_le(tried, 10000 / WDL_TRIAL_OFTEN);
    for (; wdl_trial_way(&trial) == 1; waited++)
        ;
    ck_assert_int_le(waited, WDL_TRIAL_OFTEN);
    times(&trial, 100, 1000, 400);
    struct wdl_trial asked = trial;     /* what is not due comes no later for it */
    for (int i = 0; wdl_trial_next(&trial) == 1; wdl_trial_defer(&trial)) {
        ck_assert_int_lt(i++, WDL_TRIAL_SELDOM);
        (void) wdl_trial_way(&asked);
    }
    ck_assert_int_eq(wdl_trial_next(&asked), 0);
    ck_assert_uint_eq(asked.asked, trial.asked);
    struct wdl_trial fresh = {0};       /* nothing is known: the first try keeps its time */
    for (int i = 0; i < 100; i++)
        wdl_trial_defer(&fresh);
    ck_assert_int_eq(times(&fresh, WDL_TRIAL_AT, 100, 10), 0);
    ck_assert_int_eq(times(&fresh, WDL_TRIAL_RUN, 100, 10), WDL_TRIAL_RUN);
}
END_TEST

START_TEST(the_next_answer_is_known)
{
    struct wdl_trial trial = {0};
    for (int i = 0; i < 3000; i++) {
        int next = wdl_trial_next(&trial), way = wdl_trial_way(&trial);
        ck_assert_int_eq(next, way);
        if (trial.clock)
            wdl_trial_took(&trial, way, way ? 10 : 100);
    }
}
END_TEST

/* Asked this way or that, the same is tried and timed at the same times. */
START_TEST(what_is_settled_is_not_asked)
{
    struct wdl_trial asked = {0}, settled = {0};
    int quick = 0;
    for (int i = 0; i < 3000; i++) {
        int way = wdl_trial_way(&asked);
        ck_assert_int_eq(wdl_trial_is_settled(&settled, 0), 0);
        if (wdl_trial_is_settled(&settled, 1)) {
            ck_assert(way == 1 && !asked.clock);
            quick++;
        } else {
            ck_assert_int_eq(wdl_trial_way(&settled), way);
            ck_assert_int_eq(settled.clock, asked.clock);
            if (settled.clock)
                wdl_trial_took(&settled, way, way ? 10 : 100);
        }
        if (asked.clock)
            wdl_trial_took(&asked, way, way ? 10 : 100);
    }
    ck_assert_int_ge(quick, 3000 * 3 / 4);
}
END_TEST

WDL_SUITE("mpid/rma/trial", the_first_until_the_other_has_been_tried, then_the_faster_but_for_few,
          what_warms_up_has_longer_runs, distances_are_exact, two_that_do_the_same_agree,
          who_comes_later_is_met,
          prompted_it_is_tried_unless_that_was_done_of_late, long_ones_sooner,
          a_sixteenth_less_is_wanted, time_is_taken_seldom, when_time_is_taken,
          a_change_is_noticed, who_was_better_is_looked_at_again, one_delay_decides_nothing,
          what_is_quick_at_times_is_not_quick, what_cannot_be_tried_is_deferred,
          the_next_answer_is_known, what_is_settled_is_not_asked)
