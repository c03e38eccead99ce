/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Short and bulk updates of one rank's memory (src/mpid/rma/domain.h, domain.c): a short one
 * announces its region and looks whether it is closed, a bulk one closes it and looks whether
 * somebody announces it. Processors may keep what a short update stores from the others for as long
 * as they like, but for a fence, and for the heavy barrier of who raises the mode. A bulk update
 * looks at those alone that have said that they announce (`shorts`), and forgets them when they do
 * not any more.
 *
 * check holds safety
 * check fails safety BREAK_FENCE: a short update has no fence while there are bulk ones
 * check fails safety BREAK_BARRIER: the mode is raised without the heavy barrier
 * check fails safety BREAK_LOWER: the mode is lowered while a region is closed
 * check fails safety BREAK_NOTE: a short update notes that it announces before it does
 * check fails safety BREAK_BACK: who announces as it is forgotten is not looked at again
 * check fails safety BREAK_CLOSED: somebody is forgotten while others close regions
 * check fails safety BREAK_ONCE: the mode is looked at before the region is closed, and not behind
 */
#define REGIONS 2
#define SHORTS 1
#define BULKS 2
#define NOTHING 255             /* is kept back */

mtype = { NEVER, RAISING, MODE };
mtype mode = NEVER;
bit closed[REGIONS], shorts[SHORTS];
byte announced[SHORTS];         /* the region + 1, or 0 */
byte kept[SHORTS] = NOTHING;    /* a store of that which the others do not see yet */

/* What an observer sees. */
byte short_in[REGIONS], bulk_in[REGIONS];

inline seen(who) {
    d_step {
        if
        :: kept[who] != NOTHING -> announced[who] = kept[who]; kept[who] = NOTHING
        :: else
        fi
    }
}

inline announce(who, what) {
    seen(who);                  /* stores are seen in order */
    kept[who] = what
}

/* An atomic operation: what has been stored before is seen before. */
inline note(who) {
    if
    :: !shorts[who] -> seen(who); shorts[who] = 1; calm = (mode == NEVER)
    :: else
    fi
}

active proctype Processors() {
    byte p;
end:
    do
    :: p = 0;
       do
       :: p < SHORTS - 1 -> p++
       :: break
       od;
       seen(p)
    od
}

proctype Short(byte me) {
    byte region;
    bit calm;                   /* the mode is NEVER */
    do
    :: region = 0;
       if
       :: region = 1
       :: skip
       fi;
#ifdef BREAK_NOTE
       note(me);
#endif
       announce(me, region + 1);
       calm = (mode == NEVER);
       if
#ifndef BREAK_FENCE
       :: !calm -> seen(me)
#endif
       :: else
       fi;
#ifndef BREAK_NOTE
       note(me);
#endif
       if
       :: calm -> goto inside
       :: closed[region] && !calm -> announce(me, 0); goto over
       :: else
       fi;
inside:
       short_in[region]++;
       assert(bulk_in[region] == 0);
       short_in[region]--;
       announce(me, 0);
over:
       skip
    od
}

proctype Bulk() {
    byte region, other, p;
    bit looked[SHORTS], gone[SHORTS], mine, raised;
    do
    :: region = 0;
       if
       :: region = 1
       :: skip
       fi;
       other = 1 - region;
#ifdef BREAK_ONCE
       raised = (mode == MODE);
#endif
       atomic { !closed[region] -> closed[region] = 1 };
#ifndef BREAK_ONCE
       raised = (mode == MODE);
#endif
       if
       :: !raised -> goto leave /* not in one step; or the mode is raised: */
       :: !raised ->
          mode = RAISING;
#ifndef BREAK_BARRIER
          for (p : 0 .. SHORTS - 1) {
              seen(p)
          }
#endif
          mode = MODE
       :: else
       fi;
       d_step {
           for (p : 0 .. SHORTS - 1) {
               looked[p] = shorts[p]
           }
       }
       for (p : 0 .. SHORTS - 1) {
           if
           :: looked[p] && announced[p] == region + 1 -> goto leave
           :: else
           fi
       }
       bulk_in[region]++;
       assert(short_in[region] == 0 && bulk_in[region] == 1);
       bulk_in[region]--;
       if
       :: skip ->               /* it is time to forget */
          mine = 0;
#ifdef BREAK_CLOSED
          mine = 1;
#else
          d_step {
              if
              :: !closed[other] -> closed[other] = 1; mine = 1
              :: else
              fi
          }
#endif
          if
          :: mine ->
             for (p : 0 .. SHORTS - 1) {
                 gone[p] = (shorts[p] && announced[p] == 0)
             }
             skip;
             d_step {
                 for (p : 0 .. SHORTS - 1) {
                     shorts[p] = shorts[p] && !gone[p]
                 }
             }
#ifndef BREAK_BACK
             for (p : 0 .. SHORTS - 1) {
                 if
                 :: gone[p] && announced[p] != 0 -> shorts[p] = 1
                 :: else
                 fi
             }
#endif
#ifndef BREAK_CLOSED
             closed[other] = 0
#endif
          :: else
          fi
       :: skip
       fi;
leave:
       closed[region] = 0;
       d_step {                 /* fewer states */
           for (p : 0 .. SHORTS - 1) {
               looked[p] = 0;
               gone[p] = 0
           }
           mine = 0;
           raised = 0;
           p = 0
       }
    od
}

/* Nobody has closed a region for long. */
active proctype Lower() {
    byte taken;
end:
    do
    :: taken = 0;
       do
#ifndef BREAK_LOWER
       :: taken < REGIONS ->
          if
          :: d_step { !closed[taken] -> closed[taken] = 1; taken++ }
          :: closed[taken] -> break
          fi
#else
       :: taken < REGIONS -> taken = REGIONS
#endif
       :: taken == REGIONS ->
          if
          :: mode == MODE -> mode = NEVER
          :: else
          fi;
          break
       od;
#ifndef BREAK_LOWER
       do
       :: taken > 0 -> taken--; closed[taken] = 0
       :: else -> break
       od
#endif
    od
}

init {
    byte p;
    atomic {
        for (p : 0 .. SHORTS - 1) {
            run Short(p)
        }
        for (p : 0 .. BULKS - 1) {
            run Bulk()
        }
    }
}
