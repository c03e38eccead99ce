/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Locks by words (src/mpid/rma/room.c, words.c): a room for a rank, the gate of the window, and
 * processes that, again and again, lock the rank shared, lock it for themselves, or lock all.
 * wdl_room_enter reads a word and changes it if it has not changed since: SPLIT models the two steps.
 * Otherwise they are one, since who loses the race for a word for ever is not the protocol's matter.
 *
 * FAR: words that the network changes (far.c). Whoever must wait, or has lost the race twice, draws a
 * ticket by an addition, which cannot be in vain: so nobody loses for ever.
 *
 * UNGATED: words of one node. While lock_all is not in use, who wants the rank alone and finds it free
 * goes in past the gate (wdl_words_in_ungated), and then looks again whether it is. The first to call lock_all
 * draws its ticket at the gate, and waits until nobody is inside the rank's room like that (gate_mind); when
 * it is inside the gate it looks whether its use has been forgotten since (node_lock_all). FORGET times,
 * somebody who is inside the gate for an exclusive lock forgets it (wdl_words_forget).
 * With JOIN who has gone in past the gate takes another lock meanwhile, for which it passes the gate before
 * those who wait there; with TWO_ALL two call lock_all, and nobody locks the rank shared.
 *
 * check holds safety SPLIT
 * check holds safety
 * check holds ltl one_enters
 * check holds ltl all_enter
 * check holds safety SPLIT FAR
 * check holds ltl one_enters SPLIT FAR
 * check holds ltl all_enter SPLIT FAR
 * check holds safety SPLIT UNGATED FORGET=1
 * check holds safety UNGATED FORGET=1
 * check holds safety UNGATED FORGET=2 TWO_ALL
 * check holds safety SPLIT UNGATED FORGET=1 TWO_ALL
 * check holds safety UNGATED FORGET=0 JOIN
 * check holds safety UNGATED FORGET=1 JOIN TWO_ALL
 * check holds ltl one_enters UNGATED FORGET=0
 * check holds ltl all_enter UNGATED FORGET=0
 * check holds ltl all_enter UNGATED FORGET=2 TWO_ALL
 * check holds ltl all_enter UNGATED FORGET=0 JOIN
 * check fails ltl one_enters SPLIT: the race is lost for ever
 * check fails safety SPLIT FAR BREAK_ADD: a ticket is drawn by storing the word as it was seen
 * check fails safety SPLIT BREAK_SWAP: the word is stored without a look whether it has changed
 * check fails safety BREAK_PLACE: who has the turn goes in, whoever is inside
 * check fails safety BREAK_GATE: an exclusive lock does not pass the gate
 * check fails ltl one_enters BREAK_SERVED: the next ticket is not served
 * check fails ltl all_enter BREAK_LEAVE: the gate is not left
 * check fails ltl one_enters BREAK_TICKET: whoever finds place goes in
 * check fails ltl all_enter BREAK_TICKET: the same at the gate
 * check fails safety UNGATED FORGET=0 BREAK_AGAIN: who is inside past the gate has not looked again
 * check fails safety UNGATED FORGET=0 BREAK_MIND: lock_all does not wait for who is inside past the gate
 * check fails ltl all_enter UNGATED FORGET=0 JOIN BREAK_DRAW: it waits for them inside the gate
 * check fails safety UNGATED FORGET=1 BREAK_INSIDE: who forgets it has left the gate
 * check fails safety UNGATED FORGET=1 BREAK_STILL: who has locked all has not looked whether it is forgotten
 * check fails safety UNGATED FORGET=2 TWO_ALL BREAK_TIMES: who has waited does not know that it was forgotten
 */
#define TICKETS 4               /* the field wraps around; more than there are processes */
#define RANK 0                  /* the two words */
#define GATE 1

mtype = { SHARED, OTHERS, ALONE };

typedef room {
    byte shared, others, served, next;
    bit ungated                 /* the one of others, of the rank's word */
};
room word[2];

mtype = { UNUSED, WANTED, MINDED };
mtype mode = UNUSED;            /* of the gate */
byte forgotten;                 /* so many times */

/* What an observer sees. */
byte inside_shared, inside_alone, inside_all;
bit wants_one, wants_all;

#ifdef BREAK_PLACE
#define has_place 1
#else
#define has_place \
    (kind == SHARED && now.others == 0 || \
     kind == OTHERS && now.shared == 0 || \
     kind == ALONE && now.shared == 0 && now.others == 0)
#endif
#ifdef BREAK_TICKET
#define has_turn 1
#else
#define has_turn (drawn && now.served == ticket || !drawn && (now.served == now.next || join))
#endif
#ifdef BREAK_SWAP
#define unchanged 1
#else
#define unchanged \
    (word[w].shared == now.shared && word[w].others == now.others && \
     word[w].served == now.served && word[w].next == now.next && word[w].ungated == now.ungated)
#endif

inline look(w) {
    now.shared = word[w].shared;
    now.others = word[w].others;
    now.served = word[w].served;
    now.next = word[w].next;
    now.ungated = word[w].ungated
}

#ifdef FAR
#define SWAPS_MAX 2
#define must_draw (!drawn && (tries == SWAPS_MAX || !(has_turn && has_place)))
#else
#define SWAPS_MAX 0
#define must_draw 0
#endif
#ifdef BREAK_ADD
#define before now
#else
#define before word[w]
#endif

inline act(w) {
    if
    :: must_draw ->
        ticket = before.next;
#ifdef BREAK_ADD
        word[w].shared = now.shared;
        word[w].others = now.others;
        word[w].served = now.served;
#endif
        word[w].next = (ticket + 1) % TICKETS;
        drawn = 1
    :: !must_draw ->
    if
    :: !unchanged -> if
        :: !drawn && tries < SWAPS_MAX -> tries++
        :: else
        fi
    :: unchanged && has_turn && has_place ->
        word[w].shared = now.shared + (kind == SHARED);
        word[w].others = now.others + (kind != SHARED);
#ifndef BREAK_SERVED
        word[w].served = (now.served + drawn) % TICKETS;
#endif
        drawn = 0;
        ticket = 0;
        in = 1
    :: unchanged && !(has_turn && has_place) && !drawn && !join ->
        word[w].next = (now.next + 1) % TICKETS;
        ticket = now.next;
        drawn = 1
    :: unchanged && !(has_turn && has_place) && (drawn || join)
    fi
    fi;
    now.shared = 0;
    now.others = 0;
    now.served = 0;
    now.next = 0;
    now.ungated = 0
}

/* wdl_room_enter, called until it is inside. */
inline enter(w, how) {
    kind = how;
    do
#ifdef SPLIT
    :: !in -> atomic { look(w) }; atomic { act(w) }
#else
    :: !in -> atomic { look(w); act(w) }
#endif
    :: in -> break
    od;
    in = 0;
    tries = 0
}

inline leave(w, how) {
    atomic {
        if
        :: how == SHARED -> assert(word[w].shared > 0); word[w].shared--
        :: else -> assert(word[w].others > 0); word[w].others--
        fi
    }
}

proctype lock_shared() {
    room now;
    byte ticket;
    bit drawn, in, join;
    byte tries;
    mtype kind;
    do
    :: enter(RANK, SHARED);
        inside_shared++;
        assert(inside_alone == 0);
        inside_shared--;
        leave(RANK, SHARED)
    od
}

#ifdef BREAK_AGAIN
#define is_unused 1
#else
#define is_unused (mode == UNUSED)
#endif

/* wdl_words_in_ungated: in, or nothing has changed. */
inline enter_ungated() {
    if
    :: mode == UNUSED ->
        atomic {
            if
            :: word[RANK].shared == 0 && word[RANK].others == 0 && word[RANK].served == word[RANK].next ->
                word[RANK].others = 1;
                word[RANK].ungated = 1;
                in = 1
            :: else
            fi
        }
        if
        :: in && !is_unused -> leave_ungated()
        :: else
        fi
    :: else
    fi
}

/* wdl_words_forget, now or not yet. */
inline forget() {
    if
    :: atomic { mode == MINDED && forgotten < FORGET -> mode = UNUSED; forgotten++ }
    :: skip
    fi
}

inline leave_ungated() {
    atomic {
        assert(word[RANK].others == 1 && word[RANK].ungated);
        word[RANK].others = 0;
        word[RANK].ungated = 0;
        in = 0
    }
}

inline be_inside_alone() {
    wants_one = wants_one & !watched;
    inside_alone++;
    assert(inside_alone == 1 && inside_shared == 0 && inside_all == 0);
    inside_alone--
}

proctype lock_alone(bit watched) {
    room now;
    byte ticket;
    bit drawn, in, join;
    byte tries;
    mtype kind;
    do
    :: wants_one = watched | wants_one;
#ifdef UNGATED
        enter_ungated();
        if
        :: in ->
            be_inside_alone();
#ifdef JOIN
            in = 0;
            join = 1;
            enter(GATE, OTHERS);
            join = 0;
            leave(GATE, OTHERS);
            in = 1;
#endif
            leave_ungated();
            goto again
        :: else
        fi;
#endif
#ifndef BREAK_GATE
        enter(GATE, OTHERS);
#endif
        enter(RANK, ALONE);
#if defined(UNGATED) && !defined(BREAK_INSIDE)
        forget();
#endif
        be_inside_alone();
        leave(RANK, ALONE);
#if !defined(BREAK_GATE) && !defined(BREAK_LEAVE)
        leave(GATE, OTHERS);
#endif
#ifdef BREAK_INSIDE
        forget();
#endif
again:  skip
    od
}

#ifdef BREAK_TIMES
#define is_seen 1
#else
#define is_seen (forgotten == seen)
#endif

/* gate_mind. */
inline mind() {
    do
    :: mode == MINDED -> break
    :: atomic { mode == UNUSED -> mode = WANTED }
    :: mode == WANTED ->
        atomic {
            seen = forgotten;
            if
            :: mode != WANTED -> goto over      /* another has been faster */
            :: else
            fi
        }
#ifdef BREAK_DRAW
        enter(GATE, SHARED);
#else
        if
        :: !drawn -> atomic {
                ticket = word[GATE].next;
                word[GATE].next = (ticket + 1) % TICKETS;
                drawn = 1
            }
        :: else
        fi;
#endif
#ifndef BREAK_MIND
        !word[RANK].ungated || mode != WANTED || forgotten != seen;
#endif
        atomic {
            if
            :: mode == WANTED && is_seen -> mode = MINDED
            :: else
            fi
        }
over:   skip
    od;
    seen = 0
}

proctype lock_all(bit watched) {
    room now;
    byte ticket, seen;
    bit drawn, in, join;
    byte tries;
    mtype kind;
    do
    :: wants_all = watched | wants_all;
more:
#ifdef UNGATED
        if
        :: mode != MINDED -> mind()
        :: else
        fi;
#endif
#ifdef BREAK_DRAW
        if
        :: mode == MINDED && word[GATE].shared > 0
        :: else -> enter(GATE, SHARED)
        fi;
#else
        enter(GATE, SHARED);
#endif
#if defined(UNGATED) && !defined(BREAK_STILL)
        if
        :: mode != MINDED -> leave(GATE, SHARED); goto more
        :: else
        fi;
#endif
        wants_all = wants_all & !watched;
        inside_all++;
        assert(inside_alone == 0);
        inside_all--;
        leave(GATE, SHARED)
    od
}

init {
    atomic {
        run lock_alone(1);
#ifdef TWO_ALL
        run lock_all(0);
#else
        run lock_shared();
#ifndef SPLIT
        run lock_alone(0);
#endif
#endif
        run lock_all(1)
    }
}

ltl one_enters { [] (wants_one -> <> !wants_one) }
ltl all_enter { [] (wants_all -> <> !wants_all) }
