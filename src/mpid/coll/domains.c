/* Part of Windlass. See COPYRIGHT in the top-level directory. How a node is cut (domains.h). */
#include "mpid/coll/domains.h"

/* Parts in use; 0: a rank may leave its own. */
static int parts_of(const struct wdl_domain_place *places, int ranks, int way)
{
    int parts = 0;
    for (int i = 0; i < ranks; i++) {
        int other = 0, part = places[i].part[way];
        if (part < 0)
            return 0;
        while (places[other].part[way] != part)
            other++;
        parts += other == i;
    }
    return parts;
}

void wdl_domains_choose(const struct wdl_domain_place *places, int ranks, int *domain_out)
{
    int chosen = -1, most = 1;
    for (int way = 0; way < WDL_DOMAIN_WAYS; way++) {
        int parts = parts_of(places, ranks, way);
        if (parts > most && ranks >= parts * WDL_DOMAIN_RANKS_MIN) {
            chosen = way;
            most = parts;
        }
    }
    for (int i = 0; i < ranks; i++)
        domain_out[i] = chosen < 0 ? -1 : places[i].part[chosen];
}

void wdl_domains_cut(int ranks, int domains, int *domain_out)
{
    if (domains > ranks)
        domains = ranks;
    for (int i = 0; i < ranks; i++)
        domain_out[i] = (int) ((long long) i * domains / ranks);
}
