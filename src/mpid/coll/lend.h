/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Attached memory that others may write at any time, without a ready flag: who wants to asks its
 * owner, once, and gets the key. An owner answers while it does something else; it need not have
 * started a collective. Inside the collectives.
 *
 * Nobody asks by an address: who asks knows it, and SINGLE moves none. It asks for the region that
 * was attached as its own was that is meant there, by number: programs attach segments and make
 * windows alike. Where that is not the one, or is lent already, the owner lends another, the one
 * attached last first; who asks sees by where it begins and how long it is whether to ask again. So
 * a region is asked for at most once by each peer, and where all attach alike none is lent in vain.
 *
 * Invariants:
 *  1. A region ends when everybody it has been lent to has said that it is back. Then nobody writes
 *     there any more; so whoever looks for memory by its address finds what is there now.
 *  2. A process has one question to another at a time. A region that is called back before its loan
 *     has come (messages may overtake each other) is remembered there, and not taken.
 */
#ifndef WDL_MPID_COLL_LEND_H_INCLUDED
#define WDL_MPID_COLL_LEND_H_INCLUDED

#include "mpid/coll/direct.h"

/* Memory of a peer's: WDL_OK and what to put there by; WDL_PENDING: its owner has been asked;
 * WDL_AGAIN: the network refuses the question; ERR_UNSUPPORTED: never. `like`: the own memory that
 * is meant where the peer's is, or NULL. */
int wdl_lend_find(struct wdl_coll *coll, int peer, const struct wdl_stretch *wanted,
                  const char *like, struct wdl_offer *offer_out);
/* A SEND waits for the answer: it is stepped again when there is one. */
void wdl_lend_wait(struct wdl_car_run *c);

/* How many loans of a region of this process are not over? Those to lost peers are. */
int wdl_lend_count(const struct wdl_coll *coll, const struct wdl_region *region);

/* BORROW, LENT, RETURN from `src`: WDL_OK, WDL_AGAIN, ERR_PROTO. */
int wdl_lend_asked(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt,
                   const void *data, size_t bytes);
int wdl_lend_answered(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt,
                      const void *data, size_t bytes);
int wdl_lend_returned(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt);
/* FORGET of a region that is lent to us. WDL_OK or WDL_AGAIN. */
int wdl_lend_recalled(struct wdl_coll *coll, int src, uint32_t id);
void wdl_lend_fini(struct wdl_coll *coll);

#endif
