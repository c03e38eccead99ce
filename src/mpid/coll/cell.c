/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cells: where a message waits that comes before its RECV is armed. A team has W slots of cells,
 * one per role: the first roles have room for data, the others are flags. A role has one writer
 * per collective, which its graph knows, and a cell's value is the number of its collective, so
 * that nothing is reset but what was taken and messages of different collectives never meet.
 *
 * Roles behind these have no cell: among many ranks there may be one for every other (early.h).
 *
 * What comes for a team that is not made here yet is a stray, and waits in memory that is used
 * again. A rank is sent strays by the teams it is about to make, a few from each: there are fewer
 * teams than a process may have communicators, so the limit on strays is met by none that means
 * well. Beyond it they are refused, and what is behind them waits until teams have been made.
 *
 * An operator that is called in a step may wait for what is behind such messages in the network (a
 * get's answer). So what comes meanwhile is kept, and handled before the step ends, each rank's in
 * its order.
 */
#include <string.h>
#include "mpid/coll/contact.h"
#include "mpid/coll/direct.h"
#include "mpid/coll/early.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/lend.h"

static enum wdl_pkt kind_of(const struct wdl_coll_pkt *pkt)
{
    return (enum wdl_pkt)(pkt->what & ((1u << WDL_PKT_BITS) - 1));
}

static struct wdl_cell *cell_of(const struct wdl_team *team, uint32_t seq, uint32_t role)
{
    size_t flags = team->cell_roles - team->data_roles;
    size_t slot_bytes = team->data_roles * team->cell_stride + flags * sizeof(struct wdl_cell);
    char *slot = team->cells + (seq % (uint32_t) team->window) * slot_bytes;
    if (role < team->data_roles)
        return (struct wdl_cell *) (void *) (slot + role * team->cell_stride);
    return (struct wdl_cell *) (void *) (slot + team->data_roles * team->cell_stride +
                                         (role - team->data_roles) * sizeof(struct wdl_cell));
}

int wdl_cells_make(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    size_t flags = team->cell_roles - team->data_roles;
    team->cell_stride = (sizeof(struct wdl_cell) + team->params.cell_bytes + 15) & ~(size_t) 15;
    size_t slot_bytes = team->data_roles * team->cell_stride + flags * sizeof(struct wdl_cell);
    team->cells = host->ops->alloc(host->ctx, slot_bytes * (size_t) team->window);
    if (!team->cells)
        return WDL_ERR_NOMEM;
    for (uint32_t slot = 0; slot < (uint32_t) team->window; slot++)
        for (uint32_t role = 0; role < team->cell_roles; role++)
            cell_of(team, slot, role)->seq = slot + 1; /* never a number of this slot */
    return wdl_early_make(team);
}

void wdl_cells_free(struct wdl_team *team)
{
    const struct wdl_host *host = &team->coll->host;
    wdl_early_free(team);
    host->ops->free(host->ctx, team->cells);
}

/* It tells how much there is where it tells of. */
static int has_length(const struct wdl_coll_pkt *pkt)
{
    return kind_of(pkt) == WDL_PKT_OFFER || kind_of(pkt) == WDL_PKT_PLACED;
}

/* May it come before its RECV is armed? Data from its beginning; a ready flag that says where, and
 * how much; that all has been put in its place (ahead.h), where there are cells. */
static int may_be_early(const struct wdl_team *team, const struct wdl_coll_pkt *pkt, size_t bytes)
{
    if (kind_of(pkt) == WDL_PKT_DATA)
        return pkt->offset == 0;
    if (kind_of(pkt) == WDL_PKT_PLACED && (pkt->offset || pkt->role >= team->data_roles))
        return 0;
    return has_length(pkt) && bytes == sizeof(uint64_t);
}

static uint64_t length_of(const struct wdl_coll_pkt *pkt, const void *data)
{
    uint64_t offered = 0;
    if (has_length(pkt))
        memcpy(&offered, data, sizeof(offered));
    return offered;
}

static int cell_fill(struct wdl_team *team, const struct wdl_coll_pkt *pkt, int src,
                     const void *data, size_t bytes)
{
    size_t room = pkt->role < team->data_roles ? team->params.cell_bytes : 0;
    if (!may_be_early(team, pkt, bytes))
        return WDL_ERR_PROTO;
    uint64_t offered = length_of(pkt, data);
    if (has_length(pkt))
        bytes = 0;
    if (bytes > (pkt->role < team->cell_roles ? room : 0))
        return WDL_ERR_PROTO;
    if (pkt->role >= team->cell_roles)
        return wdl_early_keep(team, pkt, src, offered);
    struct wdl_cell *cell = cell_of(team, pkt->seq, pkt->role);
    if (cell->seq == pkt->seq)
        return WDL_ERR_PROTO;
    cell->seq = pkt->seq;
    cell->bytes = (uint32_t) bytes;
    cell->src = src;
    cell->what = pkt->what;
    cell->offset = pkt->offset;
    cell->offered = offered;
    team->coll->stats.copied_bytes += bytes;
    if (bytes)
        memcpy(cell->data, data, bytes);
    team->coll->stats.early++;
    return WDL_OK;
}

static int peer_of(const struct wdl_run *run, int i)
{
    const struct wdl_team *team = run->team;
    return team->params.peer_of(team->params.ctx, run->graph->cars[i].peer);
}

static int comes_from(const struct wdl_run *run, int i, int src)
{
    return peer_of(run, i) == src;
}

static int deliver(struct wdl_run *run, int i, const struct wdl_coll_pkt *pkt, const void *data,
                   size_t bytes)
{
    uint64_t placed;
    switch (kind_of(pkt)) {
    case WDL_PKT_DATA:
        return wdl_run_deliver(run, i, pkt->offset, data, bytes);
    case WDL_PKT_OFFER:
        if (run->graph->cars[i].bytes || bytes != sizeof(uint64_t))
            return WDL_ERR_PROTO;
        run->cars[i].offer = (struct wdl_offer){pkt->offset, pkt->what >> WDL_PKT_BITS,
                                                length_of(pkt, data)};
        return wdl_run_deliver(run, i, 0, NULL, 0);
    case WDL_PKT_PLACED:
        if (bytes != sizeof(placed))
            return WDL_ERR_PROTO;
        memcpy(&placed, data, sizeof(placed));
        return wdl_run_placed(run, i, pkt->offset, placed);
    default:
        return WDL_ERR_PROTO;
    }
}

/* A ready flag's length is compared by who sends by it. */
static int means_the_same(const struct wdl_run *run, const struct wdl_coll_pkt *pkt)
{
    return kind_of(pkt) == WDL_PKT_OFFER || pkt->what >> WDL_PKT_BITS == run->print;
}

/* What nobody here awaits like that. Where two ranks alone know a length, it may be that they do
 * not agree; else the bytes are no packet, or too late. */
static int refuse(struct wdl_run *run)
{
    if (!run->graph->kept)
        wdl_run_fail(run);
    return run->doom ? WDL_OK : WDL_ERR_PROTO;
}

/* What has come early: WDL_OK, or it is as if nothing had come. */
static int take(struct wdl_run *run, int i, const struct wdl_coll_pkt *pkt, int src,
                const void *data, size_t bytes)
{
    int status = WDL_ERR_PROTO;
    if (!means_the_same(run, pkt))
        wdl_run_fail(run);
    else if (comes_from(run, i, src))
        status = deliver(run, i, pkt, data, bytes);
    if (status != WDL_OK && refuse(run) != WDL_OK)
        run->team->coll->proc->stats.malformed++;
    return status;
}

int wdl_cell_give(struct wdl_run *run, int i, const struct wdl_coll_pkt *pkt, const void *data,
                  size_t bytes)
{
    const struct wdl_team *team = run->team;
    int peer = team->params.peer_of(team->params.ctx, run->graph->cars[i].peer);
    return take(run, i, pkt, peer, data, bytes);
}

static int early_take(struct wdl_run *run, int i)
{
    struct wdl_team *team = run->team;
    struct wdl_early_flag flag;
    if (!wdl_early_take(team, run->seq, run->graph->cars[i].role, &flag))
        return 0;
    if (flag.src >= 0)
        return take(run, i, &flag.pkt, flag.src, &flag.offered, sizeof(flag.offered)) == WDL_OK;
    flag.pkt.what = WDL_PKT_DATA | run->print << WDL_PKT_BITS;
    if (!wdl_early_means(team, run->seq, run->print))
        flag.pkt.what = WDL_PKT_DATA;
    return take(run, i, &flag.pkt, peer_of(run, i), NULL, 0) == WDL_OK;
}

int wdl_cell_take(struct wdl_run *run, int i)
{
    struct wdl_team *team = run->team;
    uint32_t role = run->graph->cars[i].role;
    if (role >= team->cell_roles)
        return early_take(run, i);
    struct wdl_cell *cell = cell_of(team, run->seq, role);
    if (cell->seq != run->seq)
        return 0;
    cell->seq = run->seq + 1;
    struct wdl_coll_pkt pkt = {.what = cell->what, .offset = cell->offset};
    int offers = has_length(&pkt);
    int status = take(run, i, &pkt, cell->src, offers ? (void *) &cell->offered : cell->data,
                      offers ? sizeof(cell->offered) : cell->bytes);
    if (team->params.poison && role < team->data_roles)
        memset(cell->data, 0xdb, team->params.cell_bytes);
    return status == WDL_OK;
}

static struct wdl_team *team_by_id(const struct wdl_coll *coll, uint32_t id)
{
    const struct wdl_list *bucket = &coll->teams[id % WDL_COLL_BUCKETS];
    struct wdl_list *node;
    wdl_list_for (node, bucket) {
        struct wdl_team *team = wdl_container_of(node, struct wdl_team, link);
        if (team->params.id == id)
            return team;
    }
    return NULL;
}

static int team_handle(struct wdl_team *team, const struct wdl_coll_pkt *pkt, int src,
                       const void *data, size_t bytes)
{
    uint32_t slot = pkt->seq % (uint32_t) team->window;
    struct wdl_run *run = team->slots[slot];
    if (pkt->seq - team->done >= (uint32_t) team->window || (!run && team->finished[slot]))
        return WDL_ERR_PROTO;
    if (!run || run->seq != pkt->seq)
        return cell_fill(team, pkt, src, data, bytes);
    if (!run->graph || !means_the_same(run, pkt)) {
        wdl_run_fail(run);
        return WDL_OK;
    }
    int i = pkt->role < run->graph->nroles ? run->graph->car_of_role[pkt->role] : WDL_CAR_NONE;
    if (i == WDL_CAR_NONE || !comes_from(run, i, src) || run->cars[i].state == WDL_CAR_COMPLETE)
        return refuse(run);
    if (run->cars[i].state == WDL_CAR_WAITING)
        return cell_fill(team, pkt, src, data, bytes);
    int status = deliver(run, i, pkt, data, bytes);
    return status == WDL_OK ? WDL_OK : refuse(run);
}

static void stray_fill(struct wdl_coll_stray *stray, const struct wdl_coll_pkt *pkt, int src,
                       const void *data, size_t bytes)
{
    stray->pkt = *pkt;
    stray->src = src;
    stray->bytes = bytes;
    if (bytes)
        memcpy(stray->data, data, bytes);
}

/* Only the first collective of a team, which is empty or carries cards, is heard of before the team
 * is made here. */
static int stray_keep(struct wdl_coll *coll, const struct wdl_coll_pkt *pkt, int src,
                      const void *data, size_t bytes)
{
    if (bytes > coll->chunk_bytes || bytes % sizeof(uint64_t) || pkt->offset)
        return WDL_ERR_PROTO;
    if (coll->nstrays == coll->limits.strays)
        return WDL_AGAIN;
    struct wdl_coll_stray *stray = wdl_store_make(&coll->store, sizeof(*stray) + bytes);
    if (!stray)
        return WDL_AGAIN;
    stray_fill(stray, pkt, src, data, bytes);
    wdl_list_push(&coll->strays, &stray->link);
    coll->nstrays++;
    return WDL_OK;
}

void wdl_coll_strays_give(struct wdl_team *team)
{
    struct wdl_coll *coll = team->coll;
    struct wdl_list *node, *after;
    wdl_list_for_safe (node, after, &coll->strays) {
        struct wdl_coll_stray *stray = wdl_container_of(node, struct wdl_coll_stray, link);
        if (stray->pkt.team != team->params.id)
            continue;
        wdl_list_remove(node);
        coll->nstrays--;
        if (team_handle(team, &stray->pkt, stray->src, stray->data, stray->bytes) != WDL_OK)
            coll->proc->stats.malformed++;
        wdl_store_put(&coll->store, stray);
    }
}

static int handle(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt, const void *data,
                  size_t bytes)
{
    enum wdl_pkt what = kind_of(pkt);
    if (what == WDL_PKT_KEY)
        return wdl_direct_key(coll, src, pkt, data, bytes);
    if (what == WDL_PKT_FORGET)
        return wdl_direct_forget(coll, src, pkt);
    if (what == WDL_PKT_BORROW)
        return wdl_lend_asked(coll, src, pkt, data, bytes);
    if (what == WDL_PKT_LENT)
        return wdl_lend_answered(coll, src, pkt, data, bytes);
    if (what == WDL_PKT_RETURN)
        return wdl_lend_returned(coll, src, pkt);
    struct wdl_team *team = team_by_id(coll, pkt->team);
    if (what == WDL_PKT_WHERE || what == WDL_PKT_THERE) {
        if (bytes || !team) /* that has ended */
            return bytes ? WDL_ERR_PROTO : WDL_OK;
        return what == WDL_PKT_WHERE ? wdl_contact_asked(team, src, pkt)
                                     : wdl_contact_answered(team, src, pkt);
    }
    if (what >= WDL_PKT_ASK)
        return wdl_fail_handle(coll, team, src, pkt, data, bytes);
    /* a team that has left its first collective behind is an old one: this is for the next with
     * its name */
    if (!team || (team->open && pkt->seq == team->params.first_seq &&
                  pkt->seq - team->done >= (uint32_t) team->window))
        return stray_keep(coll, pkt, src, data, bytes);
    coll->busy++;
    int status = team_handle(team, pkt, src, data, bytes);
    coll->busy--;
    return status;
}

/* --- while an operator runs --- */

static int late_keep(struct wdl_coll *coll, int src, const struct wdl_coll_pkt *pkt,
                     const void *data, size_t bytes)
{
    struct wdl_coll_stray *late = NULL;
    if (bytes > coll->chunk_bytes)
        return WDL_ERR_PROTO;
    if (coll->late_bytes + sizeof(*late) + bytes <= coll->limits.late_bytes)
        late = coll->host.ops->alloc(coll->host.ctx, sizeof(*late) + bytes);
    if (!late)
        return WDL_AGAIN;
    stray_fill(late, pkt, src, data, bytes);
    wdl_list_push(&coll->late, &late->link);
    coll->late_bytes += sizeof(*late) + bytes;
    return WDL_OK;
}

/* Does something of that rank's wait that came before `end`? */
static int is_behind(const struct wdl_coll *coll, int src, const struct wdl_list *end)
{
    for (const struct wdl_list *node = coll->late.next; node != end; node = node->next)
        if (wdl_container_of(node, struct wdl_coll_stray, link)->src == src)
            return 1;
    return 0;
}

int wdl_coll_late_give(struct wdl_coll *coll)
{
    struct wdl_list *node, *after;
    int n = 0;
    wdl_list_for_safe (node, after, &coll->late) {
        struct wdl_coll_stray *late = wdl_container_of(node, struct wdl_coll_stray, link);
        if (is_behind(coll, late->src, node))
            continue;
        int status = handle(coll, late->src, &late->pkt, late->data, late->bytes);
        if (status == WDL_AGAIN)
            continue;
        if (status != WDL_OK)
            coll->proc->stats.malformed++;
        wdl_list_remove(node);
        coll->late_bytes -= sizeof(*late) + late->bytes;
        coll->host.ops->free(coll->host.ctx, late);
        n++;
    }
    return n;
}

int wdl_coll_handle(void *arg, int src, const void *data, size_t bytes)
{
    struct wdl_coll *coll = arg;
    struct wdl_coll_pkt pkt;
    if (bytes < sizeof(pkt))
        return WDL_ERR_PROTO;
    memcpy(&pkt, data, sizeof(pkt));
    bytes -= sizeof(pkt);
    data = (const char *) data + sizeof(pkt);
    if (coll->busy || is_behind(coll, src, &coll->late))
        return late_keep(coll, src, &pkt, data, bytes);
    return handle(coll, src, &pkt, data, bytes);
}
