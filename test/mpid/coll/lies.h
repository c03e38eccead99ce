/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The test of the test: the engine is told of a weaker synchronization than the oracle of a world
 * checks, which is as good as an engine that lacks one. IN_MYSYNC and IN_NOSYNC are one to an
 * engine, but where all know a rank's memory, and it is in a segment.
 */
#ifndef WDL_TEST_MPID_COLL_LIES_H_INCLUDED
#define WDL_TEST_MPID_COLL_LIES_H_INCLUDED

#include "mpid/coll/coll.h"

enum lie {
    LIE_NONE,
    LIE_ALL_IN_NO, /* all wait for all: nobody waits */
    LIE_ALL_IN_MY,
    LIE_ALL_OUT_MY,
    LIE_ALL_OUT_NO,
    LIE_MY_OUT_NO,
    LIES_OF_ALL,
    LIE_MY_IN_NO = LIES_OF_ALL, /* in segments: who has begun waits for who has not */
    LIES
};
enum {
    LIE_KNOWN = (1 << LIES_OF_ALL) - 2,
    LIE_NOT_OWN = LIE_KNOWN & ~(1 << LIE_MY_OUT_NO),
    LIE_AHEAD = LIE_KNOWN | 1 << LIE_MY_IN_NO
};

struct lie_modes { /* what is checked, and what is told of it */
    int in, told_in, out, told_out;
};

static inline struct lie_modes lie_modes(int lie)
{
    static const struct lie_modes modes[LIES] = {
        [LIE_ALL_IN_NO] = {WDL_COLL_IN_ALLSYNC, WDL_COLL_IN_NOSYNC, WDL_COLL_OUT_MYSYNC,
                           WDL_COLL_OUT_MYSYNC},
        [LIE_ALL_IN_MY] = {WDL_COLL_IN_ALLSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_OUT_MYSYNC,
                           WDL_COLL_OUT_MYSYNC},
        [LIE_ALL_OUT_MY] = {WDL_COLL_IN_MYSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_OUT_ALLSYNC,
                            WDL_COLL_OUT_MYSYNC},
        [LIE_ALL_OUT_NO] = {WDL_COLL_IN_MYSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_OUT_ALLSYNC,
                            WDL_COLL_OUT_NOSYNC},
        [LIE_MY_OUT_NO] = {WDL_COLL_IN_MYSYNC, WDL_COLL_IN_MYSYNC, WDL_COLL_OUT_MYSYNC,
                           WDL_COLL_OUT_NOSYNC},
        [LIE_MY_IN_NO] = {WDL_COLL_IN_MYSYNC, WDL_COLL_IN_NOSYNC, WDL_COLL_OUT_MYSYNC,
                          WDL_COLL_OUT_MYSYNC}};
    return modes[lie];
}

/* The flags that the engine gets in place of these. */
static inline int lie_told(int lie, int flags)
{
    struct lie_modes modes = lie_modes(lie);
    return lie ? (flags & ~(WDL_COLL_IN | WDL_COLL_OUT)) | modes.told_in | modes.told_out : flags;
}

/* A world's options --in and --out: which of the three that is checked. */
static inline int lie_in(int lie)
{
    return lie_modes(lie).in == WDL_COLL_IN_ALLSYNC ? 2 : 1;
}

static inline int lie_out(int lie)
{
    return lie_modes(lie).out == WDL_COLL_OUT_ALLSYNC ? 2 : 1;
}

#endif
