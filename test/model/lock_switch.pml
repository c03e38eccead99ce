/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * lock_all on a window of messages, from the per-target to the window protocol (src/mpid/rma/
 * lock_all.c, table.c, passive.c): one origin with fewer target elements than targets accesses any
 * target at any time and closes the epoch whenever it likes; another process takes the lock of one
 * target for itself now and then. How a target's queue decides is lock_message.pml's matter.
 *
 * check holds safety
 * check holds ltl switched
 * check holds ltl closes
 * check fails safety BREAK_SKIP: a target that has an element is asked again
 * check fails safety BREAK_WAIT: the window protocol does not wait for the locks of elements
 * check fails safety BREAK_TELL: an element's grant is taken for a window answer
 * check fails safety BREAK_DUE: any number of requests is out
 * check fails safety BREAK_EVICT: an element leaves under the per-target protocol
 * check fails safety BREAK_RELEASE: only targets with elements are released
 * check fails ltl switched BREAK_WANT: an element whose lock has not been asked for is forgotten
 * check fails ltl switched BREAK_GRANT: a target forgets to answer one request
 */
#define TARGETS 3
#define ELEMENTS 1
#define DUE_MAX 1

mtype = { NONE, CALLED, ISSUED, GRANTED };
mtype = { PER_TARGET, ALL_ISSUED, ALL_GRANTED, CLOSING };

mtype element[TARGETS] = NONE;
mtype state = PER_TARGET;
bit want[TARGETS];              /* the element's lock is to be asked for */
byte elements, due, next;
chan grant = [TARGETS] of { byte };

/* the targets */
bit asked[TARGETS], has[TARGETS], alone[TARGETS];

#ifdef BREAK_WAIT
#define elements_granted 1
#else
#define elements_granted (waiting(0) + waiting(1) + waiting(2) == 0)
#endif
#define waiting(t) (element[t] == CALLED || element[t] == ISSUED)
#ifdef BREAK_SKIP
#define passes(t) 0
#else
#define passes(t) (element[t] != NONE)
#endif
#ifdef BREAK_DUE
#define may_ask 1
#else
#define may_ask (due < DUE_MAX)
#endif
#ifdef BREAK_TELL
#define is_element(t) 0
#else
#define is_element(t) (element[t] == ISSUED)
#endif

inline ask(t) {
    assert(!asked[t] && !has[t]);
    asked[t] = 1
}

inline release(t) {
    assert(has[t]);
    has[t] = 0
}

inline use(t) {
    assert(has[t] && !alone[t])
}

/* An operation on target t. */
inline operate(t) {
    if
    :: element[t] == GRANTED -> use(t)
    :: element[t] == CALLED || element[t] == ISSUED ->
        if
        :: state == ALL_GRANTED -> use(t)
        :: else -> want[t] = 1
        fi
    :: element[t] == NONE && elements < ELEMENTS && state == PER_TARGET ->
        element[t] = CALLED;
        elements++
    :: element[t] == NONE && elements < ELEMENTS && state == ALL_GRANTED ->
        element[t] = GRANTED;
        elements++;
        use(t)
    :: element[t] == NONE && elements == ELEMENTS && state == PER_TARGET ->
#ifdef BREAK_EVICT
        leave()
#else
        state = ALL_ISSUED;
#ifndef BREAK_WANT
        for (i : 0 .. TARGETS - 1) { want[i] = 1 }
#endif
#endif
    :: element[t] == NONE && elements == ELEMENTS && state == ALL_GRANTED -> leave()
    :: element[t] == NONE && state == ALL_ISSUED
    fi;
    i = 0
}

/* A victim leaves, its lock stays. */
inline leave() {
    i = 0;
    do
    :: i < TARGETS && element[i] != GRANTED -> i++
    :: i < TARGETS && element[i] == GRANTED -> element[i] = NONE; elements--; break
    :: i == TARGETS -> break
    od
}

/* One round of progress: an answer, a request for an element, a step of the window protocol. */
inline progress() {
    if
    :: nempty(grant) ->
        grant?t;
        if
        :: is_element(t) -> element[t] = GRANTED
        :: else -> assert(due > 0); due--
        fi
    :: else
    fi;
    for (t : 0 .. TARGETS - 1) {
        if
        :: element[t] == CALLED && want[t] -> ask(t); element[t] = ISSUED
        :: else
        fi
    }
    t = 0;
    if
    :: state == ALL_ISSUED && next < TARGETS && passes(next) -> next++
    :: state == ALL_ISSUED && next < TARGETS && !passes(next) && may_ask ->
        ask(next);
        due++;
        assert(due <= DUE_MAX);
        next++
    :: state == ALL_ISSUED && next == TARGETS && due == 0 && elements_granted ->
        state = ALL_GRANTED;
        next = 0
    :: else
    fi
}

inline close() {
    for (i : 0 .. TARGETS - 1) {
        if
#ifdef BREAK_RELEASE
        :: element[i] == GRANTED -> release(i)
#else
        :: element[i] == GRANTED || window -> release(i)
#endif
        :: else
        fi;
        element[i] = NONE;
        want[i] = 0
    }
    for (i : 0 .. TARGETS - 1) { assert(!has[i] && !asked[i]) }
    elements = 0;
    i = 0;
    window = 0;
    state = PER_TARGET
}

active proctype origin() {
    byte t, i;
    bit window;                 /* the epoch is closed under the window protocol */
    do
    :: atomic {
            progress();
            if
            :: state != CLOSING -> operate(0)
            :: state != CLOSING -> operate(1)
            :: state != CLOSING -> operate(2)
            :: state == PER_TARGET || state == ALL_GRANTED ->
                window = state == ALL_GRANTED;
                state = CLOSING;
                for (i : 0 .. TARGETS - 1) { want[i] = 1 }
                i = 0
            :: state == CLOSING && elements_granted -> close()
            :: state == CLOSING && !elements_granted
            fi
        }
    od
}

active [TARGETS] proctype target() {
    byte t = _pid - 1;
#ifdef BREAK_GRANT
    bit forgot;
#endif
    do
    :: atomic {
            asked[t] && !alone[t] ->
            asked[t] = 0;
#ifdef BREAK_GRANT
            if
            :: !forgot -> forgot = 1
            :: has[t] = 1; grant!t
            fi
#else
            has[t] = 1;
            grant!t
#endif
        }
    od
}

active proctype other() {
    do
    :: atomic { !has[1] && !asked[1] -> alone[1] = 1 };
        assert(!has[1]);
        alone[1] = 0
    od
}

ltl switched { [] (state == ALL_ISSUED -> <> (state != ALL_ISSUED)) }
ltl closes { [] (state == CLOSING -> <> (state == PER_TARGET)) }
