/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Locks by messages (src/mpid/rma/grant.c, lock.c, lock_all.c, bundle.c): targets with their queues
 * of requests; two origins that lock all targets, again and again, in any order; and one for each
 * target that wants it for itself, by LOCK and UNLOCK or by LOCK + operation + UNLOCK in one message
 * (WHOLE), which the target keeps until its turn (KEPT) or, short of memory, has sent again.
 *
 * A target serves one message at a time; a message that is late is one that is sent late, so
 * requests are served in the step that sends them, and only answers travel. A lock_all that
 * overtakes owes a debt, which is settled when all it has overtaken are served, and no lock_all
 * begins with a debt: so nobody is overtaken twice by the same origin.
 *
 * check holds safety
 * check holds ltl alone_enters
 * check holds ltl all_enter
 * check fails safety BREAK_EXCLUSION: a target grants whoever comes first, holders or not
 * check fails safety BREAK_RELEASE: a release grants nobody
 * check fails safety BREAK_RESEND: what was not kept is not sent again
 * check fails safety BREAK_JOIN: lock_all waits its turn everywhere
 * check fails safety BREAK_FIRST ALL=3 UNCOUNTED: the first request of a lock_all waits its turn
 * check fails safety BREAK_DEBT: who overtakes owes nothing
 * check fails ltl alone_enters BREAK_DEBT UNCOUNTED: the same, seen as starvation
 * check fails ltl all_enter BREAK_SETTLE: a debt is never settled
 */
#define TARGETS 2
#ifndef ALL
#define ALL 2                   /* origins that lock all; origin ALL + t wants target t alone */
#endif
#define N (ALL + TARGETS)

mtype = { GRANT, AGAIN, OWING, ACK, SETTLED };  /* answers */
mtype = { SHARED, JOIN, ALONE, WHOLE, KEPT };   /* kinds of request */
#define is_alone(kind) (kind == ALONE || kind == WHOLE || kind == KEPT)

chan to[N] = [2 * TARGETS] of { mtype, byte };  /* with the target */

typedef queue {
    byte rank[N];
    mtype kind[N];
    byte length, holders;
    bit alone;
    byte ahead[N]               /* by rank: waiting requests it has overtaken, still waiting */
};
queue q[TARGETS];
byte debts[ALL];
hidden byte i, j, who;

/* What an observer sees. */
byte shared[TARGETS], alone[TARGETS];
bit wants[N];
#ifndef UNCOUNTED
bit overtook[TARGETS * ALL];    /* the one waiting for target t, by whom */
#endif

inline take_out(t, at) {
    for (j : at .. N - 2) {
        q[t].rank[j] = q[t].rank[j + 1];
        q[t].kind[j] = q[t].kind[j + 1]
    }
    q[t].rank[N - 1] = 0;
    q[t].kind[N - 1] = 0;
    q[t].length--
}

/* The first request is granted: everybody who has overtaken it owes one less. */
inline settle(t) {
    for (j : 0 .. ALL - 1) {
        if
        :: q[t].ahead[j] > 0 ->
            q[t].ahead[j]--;
            if
#ifndef BREAK_SETTLE
            :: q[t].ahead[j] == 0 -> to[j]!SETTLED(t)
#endif
            :: else
            fi
        :: else
        fi
    }
}

inline grant_first(t) {
    who = q[t].rank[0];
    if
    :: q[t].kind[0] == KEPT ->          /* done here and now */
        assert(shared[t] + alone[t] == 0);
        to[who]!ACK(t)
    :: else ->
        q[t].holders++;
        q[t].alone = is_alone(q[t].kind[0]);
        to[who]!(q[t].kind[0] == WHOLE -> AGAIN : GRANT)(t)
    fi;
#ifndef UNCOUNTED
    if
    :: who == ALL + t -> for (j : 0 .. ALL - 1) { overtook[t * ALL + j] = 0 }
    :: else
    fi;
#endif
    take_out(t, 0);
    settle(t)
}

inline grant_join(t) {
    i = 0;
    do
    :: i < q[t].length && q[t].holders > 0 && !q[t].alone ->
        if
        :: q[t].kind[i] == JOIN ->
            who = q[t].rank[i];
            q[t].holders++;
            to[who]!(i > 0 -> OWING : GRANT)(t);
#ifndef UNCOUNTED
            assert(q[t].ahead[who] == 0);
            if
            :: i > 0 -> assert(!overtook[t * ALL + who]); overtook[t * ALL + who] = 1
            :: else
            fi;
#endif
#ifndef BREAK_DEBT
            q[t].ahead[who] = i;
#endif
            take_out(t, i)
        :: else -> i++
        fi
    :: else -> break
    od
}

#ifdef BREAK_EXCLUSION
#define may_enter(t) 1
#else
#define may_enter(t) (!q[t].alone && (q[t].holders == 0 || !is_alone(q[t].kind[0])))
#endif

inline step(t) {
    do
    :: q[t].length > 0 && may_enter(t) -> grant_first(t)
    :: else -> break
    od;
    grant_join(t);
    i = 0
}

inline request(t, origin, lock) {
    d_step {
        q[t].rank[q[t].length] = origin;
        q[t].kind[q[t].length] = lock;
        q[t].length++;
        step(t)
    }
}

inline release(t) {
    d_step {
        assert(q[t].holders > 0);
        q[t].holders--;
        q[t].alone = 0;
#ifndef BREAK_RELEASE
        step(t)
#else
        skip
#endif
    }
}

/* An answer has come to a lock_all. */
inline take_answer() {
    atomic {
        to[me]?what(t);
        if
        :: what == SETTLED -> debts[me]--
        :: else ->
            granted++;
#ifndef BREAK_DEBT
            debts[me] = debts[me] + (what == OWING);
#endif
            shared[t]++;
            assert(alone[t] == 0)
        fi;
        what = 0;
        t = 0
    }
}

proctype lock_all(byte me) {
    byte granted, first, t, n;
    mtype what;
    do
    :: wants[me] = 1;
        do
        :: debts[me] > 0 -> take_answer()
        :: else -> break
        od;
        if
        :: first = 0
        :: first = 1
        fi;
        do
#if defined(BREAK_JOIN)
        :: n < TARGETS -> request((first + n) % TARGETS, me, SHARED); n++
#elif defined(BREAK_FIRST)
        :: n < TARGETS -> request((first + n) % TARGETS, me, (n > 0 -> JOIN : SHARED)); n++
#else
        :: n < TARGETS -> request((first + n) % TARGETS, me, JOIN); n++
#endif
        :: nempty(to[me]) -> take_answer()
        :: n == TARGETS && granted == TARGETS -> break
        od;
        atomic {
            wants[me] = 0;
            granted = 0;
            first = 0;
            n = 0
        }
        do
        :: n < TARGETS -> atomic { shared[n]--; release(n); n++ }
        :: else -> break
        od;
        n = 0
    od
}

proctype lock_alone(byte t) {
    mtype what;
    do
    :: atomic {
            wants[ALL + t] = 1;
            if
            :: request(t, ALL + t, ALONE)
            :: request(t, ALL + t, WHOLE)
            :: request(t, ALL + t, KEPT)
            fi
        }
        atomic {
            to[ALL + t]?what(_);
            wants[ALL + t] = 0;
            if
            :: what == ACK
            :: else -> alone[t]++; assert(alone[t] == 1 && shared[t] == 0)
            fi
        }
        atomic {
            if
            :: what == ACK
#ifdef BREAK_RESEND
            :: what == AGAIN -> alone[t]--; to[ALL + t]?ACK(_)
#endif
            :: else -> alone[t]--; release(t)
            fi;
            what = 0
        }
    od
}

init {
    atomic {
        for (i : 0 .. TARGETS - 1) { run lock_alone(i) }
        for (i : 0 .. ALL - 1) { run lock_all(i) }
        i = 0
    }
}

ltl alone_enters { [] (wants[ALL] -> <> !wants[ALL]) }
ltl all_enter { [] (wants[0] -> <> !wants[0]) }
