/* Part of Windlass. See COPYRIGHT in the top-level directory. Flags that are put (flag.h). */
#include "mpid/coll/flag.h"
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/contact.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/fail.h"

/* --- words ------------------------------------------------------------------------------------ */

/* Of a ready flag: with room for what it offers. */
static int is_wide(const struct wdl_team *team, uint32_t role)
{
    uint32_t links = (uint32_t) team->links;
    return role >= WDL_PHASE_READY * links && role < WDL_PHASE_IN * links;
}

/* Words of the roles below this one. */
static size_t words_below(const struct wdl_team *team, uint32_t role)
{
    uint32_t links = (uint32_t) team->links, wide = 0;
    if (role > WDL_PHASE_READY * links)
        wide = role - WDL_PHASE_READY * links;
    if (wide > (WDL_PHASE_IN - WDL_PHASE_READY) * links)
        wide = (WDL_PHASE_IN - WDL_PHASE_READY) * links;
    return role + (size_t) wide * (WDL_FLAG_WORDS - 1);
}

size_t wdl_flag_bytes(const struct wdl_team *team)
{
    return words_below(team, team->cell_roles) * sizeof(uint64_t) * (size_t) team->window;
}

size_t wdl_flag_at(const struct wdl_team *team, uint32_t seq, uint32_t role)
{
    size_t slot = seq % (uint32_t) team->window;
    return (slot * words_below(team, team->cell_roles) + words_below(team, role)) *
           sizeof(uint64_t);
}

static uint64_t word_of(uint32_t seq, uint32_t lower)
{
    return (uint64_t) seq << 32 | lower;
}

void wdl_flag_empty(const struct wdl_team *team, uint64_t *words)
{
    size_t each = words_below(team, team->cell_roles);
    for (size_t i = 0; i < each * (size_t) team->window; i++)
        words[i] = word_of((uint32_t) (i / each) + 1, 0); /* never a number of this slot */
}

/* --- putting ---------------------------------------------------------------------------------- */

/* The network has read it. That it has arrived, a flush says; a lost peer is reported elsewhere. */
static void put_done(struct wdl_nm_comp *comp, const struct wdl_nm_info *info)
{
    struct wdl_flag_source *flag = wdl_container_of(comp, struct wdl_flag_source, comp);
    (void) info;
    wdl_list_push_front(&flag->coll->flags_free, &flag->link);
}

static size_t words_fill(uint64_t *words, const struct wdl_run *run, enum wdl_pkt what,
                         const struct wdl_offer *offer)
{
    uint32_t seq = run->seq;
    if (what != WDL_PKT_OFFER) {
        words[WDL_FLAG_WORD] = word_of(seq, (uint32_t) what | run->print << WDL_PKT_BITS);
        return 1;
    }
    words[WDL_FLAG_WORD] = word_of(seq, (uint32_t) what | (uint32_t) offer->region << WDL_PKT_BITS);
    words[WDL_FLAG_LOW] = word_of(seq, (uint32_t) offer->at);
    words[WDL_FLAG_HIGH] = word_of(seq, (uint32_t) (offer->at >> 32));
    words[WDL_FLAG_BYTES] = word_of(seq, (uint32_t) offer->bytes);
    return WDL_FLAG_WORDS;
}

int wdl_flag_put(struct wdl_car_run *c, enum wdl_pkt what, const struct wdl_offer *offer)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_team *team = c->run->team;
    struct wdl_coll *coll = team->coll;
    if (car->role >= team->cell_roles ||
        (what == WDL_PKT_OFFER && (!is_wide(team, car->role) || offer->bytes > UINT32_MAX)))
        return WDL_ERR_UNSUPPORTED;
    struct wdl_contact *to = wdl_contact_to(team, car->peer);
    if (!to)
        return WDL_ERR_UNSUPPORTED;
    struct wdl_list *node = wdl_list_pop(&coll->flags_free);
    if (!node)
        return WDL_AGAIN;
    struct wdl_flag_source *flag = wdl_container_of(node, struct wdl_flag_source, link);
    size_t bytes = words_fill(flag->words, c->run, what, offer) * sizeof(uint64_t);
    struct wdl_offer place = {to->at + wdl_flag_at(team, c->run->seq, car->role), to->region,
                              bytes};
    flag->comp.fn = put_done;
    flag->coll = coll;
    int status = wdl_direct_put(coll, to->peer, &place, flag->words, &flag->comp);
    if (status != WDL_PENDING)
        wdl_list_push_front(&coll->flags_free, node);
    if (status == WDL_OK || status == WDL_PENDING) {
        to->dirty = 1;
        coll->stats.sent++;
        coll->stats.put++;
        return WDL_OK;
    }
    /* of no use: the network needs the target, or that is no place of its */
    if (status == WDL_ERR_OP || status == WDL_ERR_ARG) {
        wdl_contact_close(team, to);
        return WDL_ERR_UNSUPPORTED;
    }
    return status;
}

/* --- looking ---------------------------------------------------------------------------------- */

int wdl_flag_is_awaited(const struct wdl_run *run, const struct wdl_car *car)
{
    const struct wdl_team *team = run->team;
    if (!team->flags || !team->flags->words || car->kind != WDL_CAR_RECV || car->shm ||
        car->role >= team->cell_roles ||
        (car->bytes && car->bytes <= team->coll->chunk_bytes && !car->ahead))
        return 0;
    const struct wdl_contact *from = wdl_contact_find(team, car->peer);
    return from && from->told;
}

static uint64_t *words_of(const struct wdl_run *run, const struct wdl_car *car)
{
    return run->team->flags->words + wdl_flag_at(run->team, run->seq, car->role) / sizeof(uint64_t);
}

/* What stores of the network before it have written is seen, too: that has been flushed. */
static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static int is_wide_flag(const struct wdl_run *run, const struct wdl_car *car, uint64_t word)
{
    return (word & ((1u << WDL_PKT_BITS) - 1)) == WDL_PKT_OFFER && is_wide(run->team, car->role);
}

int wdl_flag_has_come(const struct wdl_run *run, const struct wdl_car *car)
{
    const uint64_t *words = words_of(run, car);
    uint64_t first = load(words);
    if (first >> 32 != run->seq)
        return 0;
    for (int i = 1; i < WDL_FLAG_WORDS && is_wide_flag(run, car, first); i++)
        if (load(&words[i]) >> 32 != run->seq)
            return 0;
    return 1;
}

void wdl_flag_take(struct wdl_car_run *c)
{
    const struct wdl_car *car = wdl_car_of(c);
    struct wdl_run *run = c->run;
    uint64_t *words = words_of(run, car), offered = 0;
    uint64_t first = load(words);
    struct wdl_coll_pkt pkt = {.what = (uint32_t) first};
    size_t bytes = 0;
    if (is_wide_flag(run, car, first)) {
        pkt.offset = (words[WDL_FLAG_HIGH] & UINT32_MAX) << 32 | (uint32_t) words[WDL_FLAG_LOW];
        offered = (uint32_t) words[WDL_FLAG_BYTES];
        bytes = sizeof(offered);
        for (int i = 1; i < WDL_FLAG_WORDS; i++)
            words[i] = word_of(run->seq + 1, 0);
    } else if ((pkt.what & ((1u << WDL_PKT_BITS) - 1)) == WDL_PKT_PLACED) {
        offered = car->bytes;
        bytes = sizeof(offered);
    }
    words[WDL_FLAG_WORD] = word_of(run->seq + 1, 0);
    int status = wdl_cell_give(run, (int) (c - run->cars), &pkt, &offered, bytes);
    if (status != WDL_OK) /* it is as if nothing had come */
        wdl_list_push(&run->team->coll->polled, &c->link);
}
