/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A test bed of the conformance suite: some endpoints of one network in one process. They are
 * polled in turn; what arrives is kept in a log by receiver.
 */
#ifndef WDL_TEST_NETMOD_BED_H_INCLUDED
#define WDL_TEST_NETMOD_BED_H_INCLUDED

#include "base/prng.h"
#include "netmod/conformance.h"
#include "netmod/sim/sim.h"
#include "support/suite.h"

enum { BED_RANKS_MAX = 8, BED_HEADER = 16 };

struct bed_msg {
    size_t bytes;
    unsigned char *data;
};

struct bed_rank {
    struct bed *bed;
    int rank;
    struct wdl_nm *nm;
    struct bed_msg *log;
    int logged, room;
    int refuse; /* answer AGAIN so often */
    int asked[BED_RANKS_MAX]; /* how often a peer's address was wanted */
};

struct bed {
    const struct nm_way *way;
    struct wdl_sim *sim; /* or NULL */
    struct bed_rank rank[BED_RANKS_MAX];
    int n;
    struct wdl_prng prng;
};

/* A completion that counts its calls. */
struct bed_comp {
    struct wdl_nm_comp comp;
    int called;
    struct wdl_nm_info info;
};

void bed_open(struct bed *bed, const struct nm_way *way, int n);
void bed_close(struct bed *bed);
/* Close endpoints as a job's end does, all at the same time, each on a thread of its own: over UCX
 * peers must answer before an orderly close is over, and are waited for at most two seconds. */
void bed_close_together(struct wdl_nm *const *nm, int n);
/* Poll every endpoint once. */
void bed_poll(struct bed *bed);
struct bed_comp bed_comp(void);

/* Poll until the condition holds; a test that waits for ever is ended by its time limit. */
#define BED_UNTIL(bed, condition) \
    do {                          \
        while (!(condition))      \
            bed_poll(bed);        \
    } while (0)
/* Call a starting entry until it is not refused; its result in status. */
#define BED_START(bed, status, call)             \
    do {                                         \
        while (((status) = (call)) == WDL_AGAIN) \
            bed_poll(bed);                       \
    } while (0)
/* Start and wait: it must succeed, by its result or by exactly one completion. */
#define BED_DO(bed, c, call)                   \
    do {                                       \
        int bed_status_;                       \
        (c) = bed_comp();                      \
        BED_START(bed, bed_status_, call);     \
        if (bed_status_ == WDL_PENDING) {      \
            BED_UNTIL(bed, (c).called);        \
            bed_status_ = (c).info.status;     \
        }                                      \
        ck_assert_int_eq(bed_status_, WDL_OK); \
    } while (0)

#endif
