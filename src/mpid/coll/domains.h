/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The domains of a node: of the ways to cut it, by what processors have in common, the one that
 * serves its ranks. Arithmetic alone: every process of the node finds the same.
 */
#ifndef WDL_MPID_COLL_DOMAINS_H_INCLUDED
#define WDL_MPID_COLL_DOMAINS_H_INCLUDED

/* By the last level of caches, by memory, by package. */
enum wdl_domain_way { WDL_DOMAIN_CACHE, WDL_DOMAIN_MEMORY, WDL_DOMAIN_PACKAGE, WDL_DOMAIN_WAYS };

/* To which part a rank keeps, by way: any number from 0 on; -1: it may leave it. */
struct wdl_domain_place {
    int part[WDL_DOMAIN_WAYS];
};

/* The domain of each rank. The way with most parts in use, if there are several, with 4 ranks or
 * more each on average: fewer gain nothing by looking at each other first. Of two the first. -1 for
 * all: none is like that, or of each some rank may leave its part. */
enum { WDL_DOMAIN_RANKS_MIN = 4 };
void wdl_domains_choose(const struct wdl_domain_place *places, int ranks, int *domain_out);
/* ... as even as can be, of ranks in a row; no more than there are ranks. */
void wdl_domains_cut(int ranks, int domains, int *domain_out);

#endif
