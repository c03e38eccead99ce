/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Three ranks of one node, each with private memory, and a window where bytes can be moved: what
 * the tests of the ways to such memory stand on.
 */
#ifndef WDL_TEST_COPYBED_H_INCLUDED
#define WDL_TEST_COPYBED_H_INCLUDED

#include "host/testworld.h"
#include "mpid/rma/stream.h"

enum { RANKS = 3, BYTES = 1 << 17, UNIT = 8 };

struct bed {
    struct test_world w;
    struct wdl_win *win[RANKS];
    int step;
};

struct bed_mover {              /* the system that moves the bytes */
    int calls, fail_at;         /* the call that fails, 0: none */
    int pieces;                 /* of the target's memory, in the last call */
    size_t read;                /* bytes read from targets, in all calls */
    const char *broken;         /* a byte of a target that cannot be touched, or NULL */
    uint64_t *meanwhile;        /* what changes during the next call, or NULL */
    void (*during)(struct bed *bed, int call);  /* what else happens during a call, or NULL */
    struct bed *bed;
};
extern struct bed_mover mover;

struct bed_view {               /* what is offered, mapped at another address */
    char memory[BYTES];
    int refuse, calls, rank;
    uint64_t serial;
};
extern struct bed_view view;

extern struct wdl_stream bed_ring[RANKS];        /* by rank; its id: 1 + the rank */

struct bed_kind {
    int dynamic;                /* 2: with memory that is offered, too */
    int attended;               /* somebody serves messages */
    int crowded;                /* more processes than processors */
    int mail;                   /* short operations go by mailbox */
    int mapped;                 /* the memory is not private; the system moves bytes all the same */
    enum wdl_combine combine;
    size_t bytes;               /* of a rank's memory; 0: BYTES */
};

/* Rank 0 has locked all. */
void bed_open_as(struct bed *bed, struct bed_kind kind);
/* One where nothing is held back. */
void bed_open(struct bed *bed, int dynamic);
void bed_end(struct bed *bed);
/* The same; nothing was sent. */
void bed_close(struct bed *bed);
/* One with mailboxes; rank 0's cell there. */
void bed_open_mail(struct bed *bed);
struct wdl_mail *bed_cell(struct bed *bed, int target);
/* By rank 0; by the target, which is in MPI, looks, and finds one thing to do. */
int bed_flush(struct bed *bed, int rank);
void bed_served(struct bed *bed, int target);
/* A flush of that rank, which looks once when it is called. */
void bed_done_there(struct bed *bed, int target);
/* Of rank 0's window; the word at disp of a rank's memory. */
struct wdl_win_stats bed_stats(const struct bed *bed);
uint64_t bed_word(const struct bed *bed, int rank, int64_t disp);
/* The same update four bytes on: elements that lie crooked go by message. */
struct wdl_rma_args crooked(struct wdl_rma_args args);
/* By rank 0; a put of eight bytes. */
int operate(struct bed *bed, struct wdl_rma_args args);
int put8(struct bed *bed, int target, int64_t disp);
/* Memory of a rank at that offset: its address. */
int64_t attach(struct bed *bed, int rank, int offset, int bytes);

#endif
