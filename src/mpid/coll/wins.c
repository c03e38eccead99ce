/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Whether the engine carries out a call that has another way: MPI's calls have MPICH's algorithms.
 * It is asked before there is a team. The ranks of a node take the engine wherever they can look at
 * each other's data; between nodes a table says of each kind where the engine is the faster, by
 * measurement, and the file with the network's costs may say otherwise (model.c).
 *
 * Costs by the model do not decide it: the rounds and bytes of both sides are nearly the same. What
 * differs is what a message costs in the two (leave to send, copies, requests), which LogGP's
 * parameters do not know.
 */
#include "mpid/coll/coll_impl.h"

enum { KiB = 1024 };
#define ANY 0, SIZE_MAX

/* What MPICH sends in one direction without anybody's leave is faster where it is little, and where
 * it is very much it is not copied there. But the memory in which it folds very much is new each
 * time, and its pages take longer than the network. */
const struct wdl_coll_wins wdl_coll_wins_measured = {.of = {
    /* ranks a node, bytes */
    [WDL_COLL_SCATTER] = {[WDL_COLL_WAITED] = {{4, 8 * KiB, 32 * KiB}},
                          [WDL_COLL_VARIED_BEGUN] = {{2, ANY}}},
    [WDL_COLL_GATHER] = {[WDL_COLL_WAITED] = {{4, 1, 32 * KiB}},
                         [WDL_COLL_VARIED_BEGUN] = {{2, ANY}}},
    [WDL_COLL_GATHER_ALL] = {[WDL_COLL_WAITED] = {{4, 1, 512}},
                             [WDL_COLL_VARIED_BEGUN] = {{2, ANY}}},
    [WDL_COLL_EXCHANGE] = {[WDL_COLL_VARIED_BEGUN] = {{2, ANY}}},
    [WDL_COLL_REDUCE] = {[WDL_COLL_WAITED] = {{2, 8 * KiB, SIZE_MAX}, {1, 16 * KiB, SIZE_MAX}},
                         [WDL_COLL_BEGUN] = {{2, 4 * KiB, SIZE_MAX}}},
    [WDL_COLL_ALLREDUCE] = {[WDL_COLL_WAITED] = {{2, 1, 16 * KiB}, {1, 16 * KiB, 128 * KiB}}},
    [WDL_COLL_SCAN] = {[WDL_COLL_WAITED] = {{1, 1, 256}, {1, 16 * KiB, SIZE_MAX}},
                       [WDL_COLL_BEGUN] = {{2, 1, SIZE_MAX}}},
    [WDL_COLL_REDUCE_SCATTER] = {[WDL_COLL_WAITED] = {{2, 1, 512}, {1, 64 * KiB, 256 * KiB}},
                                 [WDL_COLL_BEGUN] = {{2, 64 * KiB, SIZE_MAX}}},
}};

int wdl_wins_add(struct wdl_coll_wins *wins, enum wdl_coll_kind kind, enum wdl_coll_form form,
                 const struct wdl_coll_win *win)
{
    struct wdl_coll_win *at = wins->of[kind][form];
    for (int i = 0; i < WDL_COLL_WINS_MAX; i++)
        if (at[i].a_node == 0) {
            at[i] = *win;
            return WDL_OK;
        }
    return WDL_ERR_ARG;
}

void wdl_coll_wins_set(struct wdl_proc *proc, const struct wdl_coll_wins *wins)
{
    ((struct wdl_coll *) proc->coll)->wins = wins;
}

void wdl_coll_site_set(struct wdl_proc *proc, const struct wdl_coll_site *site)
{
    ((struct wdl_coll *) proc->coll)->site = *site;
}

/* Is there a row for it? */
static int is_listed(const struct wdl_coll *coll, const struct wdl_coll_call *call, int form)
{
    const struct wdl_coll_win *win = coll->wins->of[call->kind][form];
    for (int i = 0; i < WDL_COLL_WINS_MAX && win[i].a_node > 0; i++)
        if (call->bytes >= win[i].least && call->bytes <= win[i].most &&
            call->size > (win[i].a_node - 1) * coll->site.nodes)
            return 1;
    return 0;
}

static int wins_between(const struct wdl_coll *coll, const struct wdl_coll_call *call)
{
    int form = call->variable ? WDL_COLL_VARIED : WDL_COLL_WAITED;
    return is_listed(coll, call, form) || (call->begun && is_listed(coll, call, form + 1));
}

/* Of more ranks than look at all boards little goes by domains, if there are any. */
static int wins_on_node(const struct wdl_coll *coll, const struct wdl_coll_call *call)
{
    const struct wdl_coll_site *site = &coll->site;
    int blocks = call->kind == WDL_COLL_SCATTER || call->kind == WDL_COLL_EXCHANGE;
    size_t shown = site->board_bytes / (blocks ? (size_t) call->size : 1);
    int is_little = !call->variable && call->bytes <= shown;
    if (site->board_bytes == 0)
        return 0;
    if (call->size > WDL_NODE_RANKS_MAX)
        return is_little && site->fetches && site->domains;
    return is_little || site->fetches;
}

int wdl_coll_wins(const struct wdl_proc *proc, const struct wdl_coll_call *call)
{
    const struct wdl_coll *coll = proc->coll;
    return call->on_node ? wins_on_node(coll, call) : wins_between(coll, call);
}
