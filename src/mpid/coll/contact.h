/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Who may put flags where. A rank that has a flag for another sends it, and asks where the next
 * ones may be put; the answer is the place of the other's words for this team, its key goes ahead.
 * Where the network needs the target's processor for a put, flags stay messages, and the other
 * hears that it need not look. Inside the collectives.
 *
 * Words of all teams lie in few pieces of memory, of which each is attached once, and each process
 * that asks is told its key once. They stay attached until the end.
 *
 * Invariants:
 *  1. A team has at most WDL_CONTACTS_LINK contacts for each of its links, however many ranks: the
 *     other ranks' flags are messages.
 *  2. A rank that has been told where looks at its words for whatever flag of the asker's it waits
 *     for (flag.h); from the others nothing can come there.
 *  3. A team ends when the puts of its flags are flushed: its words, here and there, may be
 *     another's then.
 */
#ifndef WDL_MPID_COLL_CONTACT_H_INCLUDED
#define WDL_MPID_COLL_CONTACT_H_INCLUDED

#include "mpid/coll/coll_impl.h"

enum { WDL_CONTACTS_LINK = 4, WDL_CONTACT_BUCKETS = 16 };

/* ASKED: the answer is on its way; OPEN: flags may be put; CLOSED: they are messages */
enum wdl_contact_phase { WDL_CONTACT_NEW, WDL_CONTACT_ASKED, WDL_CONTACT_OPEN, WDL_CONTACT_CLOSED };

/* A rank of the team that flags go to, or come from. */
struct wdl_contact {
    struct wdl_list link;
    struct wdl_nm_comp comp; /* of its flush */
    int rank, peer;
    enum wdl_contact_phase phase;
    uint32_t asked; /* the question's number */
    uint32_t region; /* OPEN: where its words begin */
    uint64_t at;
    int told; /* it knows our words */
    int dirty, flushing; /* puts have begun since the last flush did; that is under way */
};

/* What a team has for it, once there is a contact. */
struct wdl_flags {
    struct wdl_list contacts[WDL_CONTACT_BUCKETS]; /* by rank */
    int count;
    struct wdl_share *share; /* of the words; or NULL: nobody has been told */
    uint64_t *words;
};

/* NULL: there is none. */
struct wdl_contact *wdl_contact_find(const struct wdl_team *team, int rank);
/* Where flags for this rank may be put; NULL: they are messages, at least now. */
struct wdl_contact *wdl_contact_to(struct wdl_team *team, int rank);
/* Its place is of no use: its owner need not look there. Or not now, under pressure. */
void wdl_contact_close(struct wdl_team *team, struct wdl_contact *contact);
/* WHERE and THERE from `src`: WDL_OK, WDL_AGAIN, ERR_PROTO. */
int wdl_contact_asked(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt);
int wdl_contact_answered(struct wdl_team *team, int src, const struct wdl_coll_pkt *pkt);

/* All flags put so far are in their places, those for one process or all: WDL_OK; or WDL_AGAIN:
 * make progress, and ask again. */
int wdl_contact_settle(struct wdl_team *team, int peer);
int wdl_contacts_settle(struct wdl_team *team);
/* The team ends, settled. */
void wdl_contacts_free(struct wdl_team *team);
/* All teams have ended. */
void wdl_contact_fini(struct wdl_coll *coll);

#endif
