/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Simulated worlds: N ranks in one process, each with a host, a network endpoint and windows, each
 * with a list of steps. A step repeats its call until the result is not WDL_AGAIN; the seed chooses
 * which rank runs next.
 *
 * A rank o works on the ranks t = o + 1 + k (modulo N), k < world.fan. A window's memory on a rank:
 *   region[2][fan]   one writer each: rank t - 1 - k; the half alternates by epoch
 *   cells[2]         sums by everyone, in the half of the epoch: int64, double, long double, int32
 *   misc             critical-section counter, sum, tickets, compare-and-swap counter
 */
#ifndef WDL_TEST_SYSTEM_WORLD_H_INCLUDED
#define WDL_TEST_SYSTEM_WORLD_H_INCLUDED

#include "base/prng.h"
#include "host/testhost.h"
#include "mpid/rma/win.h"
#include "netmod/sim/sim.h"

enum { FAN_MAX = 4, CELL = 16, CELLS = 4 * CELL, MISC_COUNTER = 0, MISC_SUM = CELL,
    MISC_TICKET = 2 * CELL, MISC_CAS = 3 * CELL, MISC = 4 * CELL
};

struct options {
    uint64_t seed;
    int ranks, ordered, refuse, delay, tiny, node, region, epochs, own, crowded, combine, direct,
        attended, mail, tree, levels, granularity;
    int atomics;                /* of the network: 1 coherent with the processors', 2 not */
    /* keys tell of them, and it does not; rank odd - 1 has others (sim.h) */
    int bykey, odd, odd_atomics;
    int dynamic;                /* memory is attached, in so many regions; 0: it is the window's */
    /* f fence, p pscw, l lock, a lock_all, s streams of lock_all, d two locks at a time, m f p l a
     * one after the other */
    int script;
};

enum step_kind { STEP_FENCE, STEP_POST, STEP_START, STEP_COMPLETE, STEP_WAIT, STEP_LOCK,
    STEP_UNLOCK, STEP_LOCK_ALL, STEP_UNLOCK_ALL, STEP_FLUSH, STEP_OP, STEP_ENTER, STEP_LEAVE,
    STEP_NEXT, STEP_TICKET, STEP_CAS, STEP_BARRIER, STEP_EQUAL, STEP_REQUEST, STEP_REATTACH,
    STEP_FINAL, STEP_FREE
};

struct step {
    enum step_kind kind;
    int rank;                   /* target */
    int flag;                   /* exclusive, local */
    int mode;                   /* assertion */
    int group[FAN_MAX], n;
    struct wdl_rma_args args;
    void *a, *b;                /* EQUAL, NEXT, CAS: what is compared or computed */
    size_t bytes;
};

struct memo {                   /* memory or a type given back at the end of the world */
    struct memo *next;
    struct memo *type_next;     /* of the rank's types */
    struct test_host *host;
    wdl_type type;
    int shape[4];               /* of the type */
    void *data;
};

struct rank {
    struct test_host host;
    struct wdl_proc *proc;
    struct wdl_win *win;
    char *memory, *shadow;
    struct memo *types;
    struct step *steps;
    int nsteps, room, at, call_step, arrived;
    int exclusive, shared;      /* holders of this rank's lock, as the script knows them */
    int64_t counter, sum, tickets, swaps;       /* what must be in misc at the end */
    unsigned char *ticket_seen;
    struct wait *waits;         /* fair.c: who waits for this rank's lock; how many, last time */
    int waited;
    struct lock_asked {         /* locks it holds; rank -1: all */
        int rank;
        uint64_t asked;         /* as below, of this lock */
    } held[2];
    int nheld;
    uint64_t begun;             /* `asked` of the first of them, when it held none */
    int overtook;               /* somebody since */
    uint64_t asked;             /* 1 + the event at which its step was tried first; 0: not yet */
};

struct world {
    struct options options;
    struct wdl_prng prng;
    struct wdl_sim *sim;
    struct rank *ranks;
    char *memory;               /* of all ranks, one after the other */
    struct wdl_win_control *control;    /* by rank */
    struct wdl_win_place *place;        /* by rank, from memory */
    uint64_t mailed;            /* operations by mailbox, of windows that are gone */
    uint64_t joined[2];         /* overtakings by who held a lock: by words, by messages */
    int n, fan, barriers_open;
    int64_t disp_unit;
    size_t bytes;
    uint64_t events;
    struct wait *gate_waits;    /* as waits, at the window's gate */
    struct memo *memos;
    char failure[256];
};

/* world.c: a region of the rank's memory, where it is attached: its bytes. */
size_t world_attached(const struct world *w, int rank, int region, char **base_out);
/* script.c: fill every rank's steps. */
void script_make(struct world *w);
void *world_memory(struct world *w, size_t bytes);
size_t world_region(const struct world *w, int half, int k);
size_t world_cells(const struct world *w, int half);
size_t world_misc(const struct world *w);
/* fair.c: after every event on a rank; when o has taken a lock, or all, by step s, and given it
 * back; when o has been inside t's lock: WDL_OK, or an error with w->failure. */
void fair_look(struct world *w, int o);
int fair_begin(struct world *w, int o, const struct step *s);
void fair_end(struct world *w, int o, const struct step *s);
int fair_inside(struct world *w, int o, int target);
/* run.c: 0, or 1 with w->failure. */
int world_run(struct world *w);

#endif
