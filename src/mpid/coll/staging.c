/* Part of Windlass. See COPYRIGHT in the top-level directory. Staging of long data (staging.h). */
#include <string.h>
#include "base/copy.h"
#include "mpid/coll/staging.h"
#include "mpid/coll/rate.h"

enum {
    LINE = 64,
    PART = 16 << 10, /* told of at a time */
    LOOKS = 40, /* for more to come, before others get their turn */
    LOOK = 1 << 10, /* a rank is asked what it has finished, for so many bytes */
    FIRST = 256 << 10, /* of the ring are in use at first, ... */
    ROUNDS = 16 /* and twice as many after so many times round them */
};

struct wdl_staging {
    char *at; /* NULL: there is no memory for one */
    uint64_t card;
    size_t bytes;
    uint64_t head, tail; /* bytes ever taken, given back; place: % its size */
    size_t in_use, met; /* leading bytes: that are used again and again; that ever were */
    int rounds; /* of those in use */
    int first, count; /* of taken[], a ring as long as the team's window */
    struct taken {
        uint32_t seq;
        int reader; /* -1: all */
        uint64_t end;
    } taken[];
};

/* By this rank to others, where blocks vary; else what the arguments say that each does. */
static size_t given_by(const struct wdl_run *run)
{
    const struct wdl_coll_args *a = &run->args;
    int gives = a->kind == WDL_COLL_EXCHANGE ||
                (a->kind == WDL_COLL_SCATTER && run->team->rank == a->root);
    int blocks = a->kind == WDL_COLL_SCATTER || a->kind == WDL_COLL_EXCHANGE ||
                 a->kind == WDL_COLL_REDUCE_SCATTER;
    if (a->variable && gives)
        return wdl_board_for_others(run);
    return blocks ? a->bytes * (size_t) run->team->size : a->bytes;
}

int wdl_staging_is_long(const struct wdl_run *run)
{
    return given_by(run) > run->team->params.staging_bytes / 2;
}

int wdl_staging_could(const struct wdl_run *run)
{
    const struct wdl_team_params *params = &run->team->params;
    return run->team->size == 2 || !wdl_staging_is_long(run) ||
           given_by(run) <= params->staging_long_bytes / 2;
}

static struct wdl_staging *staging_make(struct wdl_team *team, size_t bytes)
{
    const struct wdl_host *host = &team->coll->host;
    const struct wdl_coll_shm *shm = team->params.shm;
    size_t taken = (size_t) team->window * sizeof(struct taken);
    struct wdl_staging *s = host->ops->alloc(host->ctx, sizeof(*s) + taken);
    if (s && shm->staging)
        s->at = shm->staging(shm->ctx, bytes, &s->card);
    if (s) {
        s->in_use = FIRST;
        s->bytes = bytes;
    }
    return s;
}

/* Operands that are not staged where they are long: of two, which go in parts (parts.h) or are
 * fetched once each. */
static int are_lone(const struct wdl_team *team, enum wdl_coll_kind kind)
{
    return wdl_coll_reduces(kind) && team->size == 2;
}

/* The ring for so many bytes at a time: the next need not wait for these, so it is twice as long,
 * and begins in the middle of a page. NULL: there is none. */
static struct wdl_staging *staging_for(struct wdl_team *team, enum wdl_coll_kind kind, size_t bytes)
{
    size_t ring = team->params.staging_bytes;
    int is_long = bytes > ring / 2;
    if (is_long)
        ring = are_lone(team, kind) ? 0 : team->params.staging_long_bytes;
    if (bytes > ring / 2)
        return NULL;
    if (!team->staging[is_long])
        team->staging[is_long] = staging_make(team, ring + WDL_COPY_PAGE);
    return team->staging[is_long] && team->staging[is_long]->at ? team->staging[is_long] : NULL;
}

/* The one that what is staged lies in. */
static struct wdl_staging *staging_at(const struct wdl_team *team, const char *staged)
{
    struct wdl_staging *few = team->staging[0];
    uintptr_t at = (uintptr_t) staged, begin = few ? (uintptr_t) few->at : 0;
    return few && at >= begin && at - begin < few->bytes ? few : team->staging[1];
}

static void give_back(struct wdl_staging *s, const struct wdl_team *team)
{
    while (s->count > 0) {
        const struct taken *t = &s->taken[s->first];
        uint32_t over = t->reader < 0 ? team->low : wdl_shm_finished_by(team, t->reader);
        if ((int32_t) (t->seq - over) >= 0)
            return;
        s->tail = t->end;
        s->first = (s->first + 1) % team->window;
        s->count--;
    }
}

static int has_room(const struct wdl_staging *s, const struct wdl_team *team, uint64_t end)
{
    return s->count < team->window && end - s->tail <= s->bytes;
}

/* Where so many bytes go: behind those taken last, or at the beginning again. Pages that were never
 * in use are slow, so few teams get to see many of them. But what was read just now is slow to be
 * written, too (64 KiB of a scan, far: 7.4 us where two places took turns, 4.4 with sixteen). */
static uint64_t place_for(struct wdl_staging *s, const struct wdl_team *team, size_t bytes)
{
    size_t all = s->bytes, at = s->head % all;
    uint64_t again = s->head + (at ? all - at : 0), next = s->head;
    int around = at >= s->in_use;
    if (s->count == 0)
        s->tail = around ? again : s->head;
    if (bytes >= WDL_COPY_PAGE) {
        next += wdl_copy_place(at) - at;
        again += wdl_copy_place(0);
    }
    return next - s->head + at + bytes > all || (around && has_room(s, team, again + bytes)) ? again
                                                                                        : next;
}

static void took(struct wdl_staging *s, uint64_t begin)
{
    int is_again = s->head == 0 || begin / s->bytes != (s->head - 1) / s->bytes;
    if (is_again && ++s->rounds % ROUNDS == 0 && s->in_use < s->bytes)
        s->in_use *= 2;
}

char *wdl_staging_take(struct wdl_run *run, size_t bytes, uint64_t *card_out)
{
    return wdl_staging_take_for(run, bytes, -1, card_out);
}

char *wdl_staging_take_for(struct wdl_run *run, size_t bytes, int reader, uint64_t *card_out)
{
    struct wdl_team *team = run->team;
    run->staged = NULL;
    *card_out = 0;
    if (!team->on_node || run->nodes || bytes == 0)
        return NULL;
    struct wdl_staging *s = staging_for(team, run->args.kind, bytes);
    if (!s)
        return NULL;
    size_t all = s->bytes;
    bytes = (bytes + LINE - 1) & ~(size_t) (LINE - 1);
    uint64_t begin = place_for(s, team, bytes);
    int beyond = begin % all >= s->in_use && (size_t) team->size * LOOK <= bytes;
    if (beyond || !has_room(s, team, begin + bytes)) {
        wdl_team_look_low(team);
        give_back(s, team);
        begin = place_for(s, team, bytes);
    }
    if (!has_room(s, team, begin + bytes))
        return NULL;
    took(s, begin);
    int last = (s->first + s->count++) % team->window;
    s->head = begin + bytes;
    s->taken[last] = (struct taken){run->seq, reader, s->head};
    *card_out = s->card + begin % all;
    run->staged = s->at + begin % all;
    return run->staged;
}

void wdl_staging_fill(struct wdl_run *run, struct wdl_sheet *sheet, const char *from, size_t bytes,
                      size_t hole, size_t hole_end)
{
    struct wdl_team *team = run->team;
    struct wdl_staging *s = staging_at(team, run->staged);
    size_t end = (size_t) (run->staged - s->at) + bytes;
    int fresh = end > s->met;
    uint64_t since_ns = wdl_rate_now(team);
    size_t copied = 0;
    s->met = fresh ? end : s->met;
    sheet->fresh = fresh; /* seen with any of the bytes */
    for (size_t at = 0; at < bytes;) {
        if (at == hole && hole_end > hole) {
            at = hole_end;
            continue;
        }
        size_t n = (at < hole && hole < bytes ? hole : bytes) - at;
        n = n < PART ? n : PART;
        wdl_bypass_copy(&team->bypass, run->staged + at, from + at, n);
        copied += n;
        at += n;
        /* pairs with the load in wdl_staging_read */
        __atomic_store_n(&sheet->filled, at, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&sheet->filled, bytes, __ATOMIC_RELEASE);
    team->coll->stats.copied_bytes += copied;
    if (!fresh)
        wdl_rate_took(team, wdl_rate_use(run), WDL_RATE_FILLED, copied,
                      wdl_rate_now(team) - since_ns);
}

void wdl_staging_fill_part(struct wdl_run *run, struct wdl_sheet *sheet, size_t all, size_t at,
                           const char *from, size_t bytes)
{
    struct wdl_team *team = run->team;
    struct wdl_staging *s = staging_at(team, run->staged);
    size_t end = (size_t) (run->staged - s->at) + all;
    uint64_t since_ns = bytes < WDL_RATE_LEAST ? 0 : wdl_rate_now(team);
    if (at == 0 && end > s->met) { /* seen with any of the bytes */
        sheet->fresh = 1;
        s->met = end;
    }
    if (bytes)
        wdl_bypass_copy(&team->bypass, run->staged + at, from, bytes);
    team->coll->stats.copied_bytes += bytes;
    /* pairs with the load in wdl_staging_read */
    __atomic_store_n(&sheet->filled, at + bytes, __ATOMIC_RELEASE);
    if (since_ns && !sheet->fresh)
        wdl_rate_took(team, wdl_rate_use(run), WDL_RATE_FILLED, bytes,
                      wdl_rate_now(team) - since_ns);
}

char *wdl_staging_of(const struct wdl_run *run, int rank, const struct wdl_sheet *sheet,
                     size_t bytes)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    return shm->staging_of ? shm->staging_of(shm->ctx, rank, sheet->staged, bytes) : NULL;
}

int wdl_staging_read(struct wdl_run *run, int rank, const struct wdl_sheet *sheet, size_t at,
                     char *here, size_t bytes)
{
    const char *there = wdl_staging_of(run, rank, sheet, at + bytes);
    if (!there)
        return WDL_ERR_PROTO;
    for (int looks = LOOKS; run->taken < bytes;) {
        /* pairs with the stores in wdl_staging_fill */
        size_t filled = __atomic_load_n(&sheet->filled, __ATOMIC_ACQUIRE), done = at + run->taken;
        if (filled <= done && looks-- > 0)
            continue;
        if (filled <= done)
            return WDL_AGAIN;
        size_t n = filled - done < bytes - run->taken ? filled - done : bytes - run->taken;
        uint64_t since_ns = n < WDL_RATE_LEAST || sheet->fresh ? 0 : wdl_rate_now(run->team);
        wdl_copy(here + run->taken, there + done, n);
        if (since_ns)
            wdl_rate_took(run->team, wdl_rate_use(run), WDL_RATE_READ, n,
                          wdl_rate_now(run->team) - since_ns);
        run->team->coll->stats.copied_bytes += n;
        run->taken += n;
    }
    run->taken = 0;
    return WDL_OK;
}

void wdl_staging_free(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    for (int i = 0; i < WDL_STAGINGS; i++)
        host->ops->free(host->ctx, team->staging[i]);
}
