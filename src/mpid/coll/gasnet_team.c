/* Part of Windlass. See COPYRIGHT in the top-level directory. GASNet's teams: begin and end, split,
 * barriers. */
#include <string.h>
#include "mpid/coll/gasnet_impl.h"

int wdl_gas_node_of(const struct wdl_gas_team *team, size_t image)
{
    int lo = 0, hi = team->size;
    if (image >= team->first[team->size])
        return -1;
    while (hi - lo > 1) {
        int mid = lo + (hi - lo) / 2;
        if (team->first[mid] <= image)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static int team_peer(void *ctx, int rank)
{
    return ((const struct wdl_gas_team *) ctx)->peers[rank];
}

static void team_free(struct wdl_gas_team *team)
{
    struct wdl_gas *gas = team->gas;
    const struct wdl_host *host = &gas->proc->host;
    struct wdl_list *node;
    while ((node = wdl_list_pop(&team->all)) != NULL) {
        struct wdl_gas_op *op = wdl_container_of(node, struct wdl_gas_op, known);
        wdl_gas_op_memory_free(op);
        host->ops->free(host->ctx, op);
    }
    host->ops->free(host->ctx, team->first);
    host->ops->free(host->ctx, team->peers);
    host->ops->free(host->ctx, team);
    if (--gas->teams == 0) {
        host->ops->free(host->ctx, gas->fns);
        host->ops->free(host->ctx, gas);
    }
}

/* A team with room for its lists; nothing is made in the engine yet. */
static struct wdl_gas_team *team_new(struct wdl_gas *gas, int size)
{
    const struct wdl_host *host = &gas->proc->host;
    struct wdl_gas_team *team = host->ops->alloc(host->ctx, sizeof(*team));
    if (!team)
        return NULL;
    team->gas = gas;
    team->size = size;
    gas->teams++;
    for (int i = 0; i < WDL_GAS_LANES; i++) {
        team->lanes[i].team = team;
        wdl_list_init(&team->lanes[i].queue);
    }
    wdl_list_init(&team->open);
    wdl_list_init(&team->idle);
    wdl_list_init(&team->all);
    team->first = host->ops->alloc(host->ctx, ((size_t) size + 1) * sizeof(team->first[0]));
    team->peers = host->ops->alloc(host->ctx, (size_t) size * sizeof(team->peers[0]));
    team->nomem = wdl_gas_op_alloc(team);
    if (!team->first || !team->peers || !team->nomem) {
        team_free(team);
        return NULL;
    }
    team->nomem->error = WDL_GAS_ERR_NOMEM;
    team->nomem->state = WDL_GAS_DONE;
    return team;
}

/* The call whose collectives come next, of those there are, or of the one to come. */
static uint32_t outer_upcoming(void *ctx)
{
    return ((const struct wdl_gas_team *) ctx)->calls + 1;
}

static uint32_t lane_upcoming(void *ctx)
{
    const struct wdl_gas_lane *lane = ctx;
    struct wdl_list *node;
    wdl_list_for (node, &lane->queue) {
        const struct wdl_gas_op *op = wdl_container_of(node, struct wdl_gas_op, link);
        if (!op->ending)
            return op->args.call;
    }
    return lane->team->calls + 1;
}

static int engine_open(struct wdl_gas_team *team, uint32_t id, int window,
                       struct wdl_gas_engine *engine)
{
    const struct wdl_gas_memory *memory = &team->gas->memory;
    struct wdl_team_params params = team->params;
    params.id = id;
    params.window = window;
    params.upcoming = engine == &team->outer ? outer_upcoming : lane_upcoming;
    params.upcoming_ctx = team;
    if (engine != &team->outer)
        params.upcoming_ctx = wdl_container_of(engine, struct wdl_gas_lane, engine);
    int status = memory->share ? memory->share(memory->ctx, &params, &engine->share) : WDL_OK;
    if (status != WDL_OK)
        return status;
    status = wdl_team_create(team->gas->proc, &params, &engine->team);
    if (status != WDL_OK && memory->share)
        memory->drop(memory->ctx, engine->share);
    return status;
}

/* WDL_OK or WDL_AGAIN */
static int engine_close(struct wdl_gas_team *team, struct wdl_gas_engine *engine)
{
    const struct wdl_gas_memory *memory = &team->gas->memory;
    if (!engine->team)
        return WDL_OK;
    if (wdl_team_destroy(engine->team) == WDL_AGAIN)
        return WDL_AGAIN;
    engine->team = NULL;
    if (memory->share)
        memory->leave(memory->ctx, engine->share);
    return WDL_OK;
}

/* All teams of the engine, with the lists filled. */
static int team_open(struct wdl_gas_team *team, const struct wdl_team_params *params)
{
    wdl_static_assert(WDL_GAS_IDS == 1 + WDL_GAS_LANES);
    team->params = *params;
    team->params.peer_of = team_peer;
    team->params.ctx = team;
    team->rank = params->rank;
    team->each = wdl_gas_images_of(team, 0);
    for (int i = 1; i < team->size; i++)
        if (wdl_gas_images_of(team, i) != team->each)
            team->each = 0;
    int window = params->window, narrow = WDL_GAS_LANE_WINDOW;
    int status = engine_open(team, params->id, window, &team->outer);
    for (int i = 0; i < WDL_GAS_LANES && status == WDL_OK; i++)
        status = engine_open(team, params->id + 1 + (uint32_t) i,
                             window && window < narrow ? window : narrow, &team->lanes[i].engine);
    if (status == WDL_OK && team->gas->next_id < params->id + WDL_GAS_IDS)
        team->gas->next_id = params->id + WDL_GAS_IDS;
    return status;
}

static struct wdl_gas *gas_new(struct wdl_proc *proc, const struct wdl_gas_params *params)
{
    const struct wdl_host *host = &proc->host;
    struct wdl_gas *gas = host->ops->alloc(host->ctx, sizeof(*gas));
    if (!gas)
        return NULL;
    gas->proc = proc;
    gas->memory = params->memory;
    gas->fn_count = params->fn_count;
    gas->fns = host->ops->alloc(host->ctx, (params->fn_count + 1) * sizeof(gas->fns[0]));
    if (!gas->fns) {
        host->ops->free(host->ctx, gas);
        return NULL;
    }
    if (params->fn_count)
        memcpy(gas->fns, params->fns, params->fn_count * sizeof(gas->fns[0]));
    return gas;
}

int wdl_gas_init(struct wdl_proc *proc, const struct wdl_gas_params *params,
                 struct wdl_gas_team **team_out)
{
    const struct wdl_host *host = &proc->host;
    int size = params->team.size;
    *team_out = NULL;
    for (int i = 0; i < size && params->images; i++)
        if (params->images[i] == 0)
            return WDL_ERR_ARG;
    struct wdl_gas *gas = gas_new(proc, params);
    if (!gas)
        return WDL_ERR_NOMEM;
    gas->teams = 1; /* held until the team is made, or not */
    struct wdl_gas_team *team = team_new(gas, size);
    gas->teams = 1;
    if (!team) {
        host->ops->free(host->ctx, gas->fns);
        host->ops->free(host->ctx, gas);
        return WDL_ERR_NOMEM;
    }
    for (int i = 0; i < size; i++) {
        team->first[i + 1] = team->first[i] + (params->images ? params->images[i] : 1);
        team->peers[i] = params->team.peer_of(params->team.ctx, i);
    }
    *team_out = team;
    return team_open(team, &params->team);
}

int wdl_gas_team_destroy(struct wdl_gas_team *team)
{
    for (int i = 0; i < WDL_GAS_LANES; i++)
        if (!wdl_list_empty(&team->lanes[i].queue))
            return WDL_AGAIN;
    /* with the last team all ends, and nobody needs to be told of the segment */
    if (team->gas->teams > 1 && wdl_gas_segment(team, NULL, 0) == WDL_AGAIN)
        return WDL_AGAIN;
    int status = engine_close(team, &team->outer);
    for (int i = 0; i < WDL_GAS_LANES && status == WDL_OK; i++)
        status = engine_close(team, &team->lanes[i].engine);
    if (status == WDL_AGAIN)
        return WDL_AGAIN;
    team_free(team);
    return WDL_OK;
}

int wdl_gas_team_rank(const struct wdl_gas_team *team)
{
    return team->rank;
}

int wdl_gas_team_size(const struct wdl_gas_team *team)
{
    return team->size;
}

int wdl_gas_team_peer(const struct wdl_gas_team *team, int rank)
{
    return team->peers[rank];
}

int wdl_gas_has_open(const struct wdl_gas_team *team)
{
    return !wdl_list_empty(&team->open);
}

size_t wdl_gas_images(const struct wdl_gas_team *team)
{
    return team->first[team->size];
}

const void *wdl_gas_segment_base(const struct wdl_gas_team *team)
{
    return team->segment;
}

int wdl_gas_segment(struct wdl_gas_team *team, void *base, size_t bytes)
{
    if (team->attached &&
        wdl_coll_detach(team->gas->proc, team->segment, team->segment_bytes) == WDL_AGAIN)
        return WDL_AGAIN;
    int status = bytes ? wdl_coll_attach(team->gas->proc, base, bytes) : WDL_OK;
    team->attached = bytes && status == WDL_OK;
    team->segment = base;
    team->segment_bytes = bytes;
    return status;
}

/* --- barriers: not members of an aggregate --- */

wdl_gas_handle wdl_gas_barrier_nb(struct wdl_gas_team *team)
{
    struct wdl_gas_op *op = wdl_gas_op_alloc(team);
    if (!op)
        return wdl_gas_handle_of(team->nomem);
    op->args.kind = WDL_COLL_BARRIER;
    return wdl_gas_op_begin(op);
}

struct word { /* what a barrier's ranks agree on */
    int32_t given, differ, id, pad;
};

static void words_meet(void *ctx, const void *left, void *inout, size_t count)
{
    const struct word *a = left;
    struct word *b = inout;
    (void) ctx;
    for (size_t i = 0; i < count; i++, a++, b++) {
        b->differ |= a->differ || (a->given && b->given && a->id != b->id);
        if (!b->given)
            b->id = a->id;
        b->given |= a->given;
    }
}

static void agreed(void *local)
{
    struct wdl_gas_op *op = local;
    *op->agreed_out = !((const struct word *) op->args.dst)->differ;
}

wdl_gas_handle wdl_gas_agree_nb(struct wdl_gas_team *team, enum wdl_gas_given given, int id,
                                int *agreed_out)
{
    struct wdl_gas_op *op = wdl_gas_op_alloc(team);
    struct word *words = op ? wdl_gas_op_memory(op, 2 * sizeof(*words)) : NULL;
    if (!op)
        return wdl_gas_handle_of(team->nomem);
    if (!words)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    words[0] = (struct word){given == WDL_GAS_NAMED, given == WDL_GAS_MISMATCH, id, 0};
    op->agreed_out = agreed_out;
    op->args.kind = WDL_COLL_ALLREDUCE;
    op->args.flags = WDL_COLL_MPI;
    op->args.src = &words[0];
    op->args.dst = &words[1];
    op->args.bytes = sizeof(*words);
    op->args.op = (struct wdl_coll_op){words_meet, NULL, sizeof(*words), 1, NULL};
    op->args.after = agreed;
    return wdl_gas_op_begin(op);
}

/* --- split: all ranks hear each other's color, key and next free number --- */

struct split_word {
    int32_t color, key;
    int32_t rank; /* or -1: its call is wrong */
    uint32_t id;
};

static int by_color(const void *a, const void *b)
{
    const struct split_word *x = a, *y = b;
    if (x->color != y->color)
        return x->color < y->color ? -1 : 1;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static int split_finish(struct wdl_gas_op *op)
{
    struct wdl_gas_team *team = op->team;
    struct split_word *words = op->own;
    int begin = -1, size = 0, colors = 0, before = 0;
    uint32_t id = 0;
    for (int i = 0; i < team->size && !op->error; i++)
        if (words[i].rank != i)
            op->error = op->wrong ? op->wrong : WDL_GAS_ERR_MISMATCH;
    if (op->error)
        return WDL_GAS_END;
    qsort(words, (size_t) team->size, sizeof(words[0]), by_color);
    for (int i = 0; i < team->size; i++) {
        id = words[i].id > id ? words[i].id : id;
        colors += i == 0 || words[i].color != words[i - 1].color;
        if (words[i].color != op->color)
            continue;
        if (begin < 0) {
            begin = i;
            before = colors - 1;
        }
        size++;
    }
    struct wdl_gas_team *made = team_new(team->gas, size);
    if (!made)
        return WDL_ERR_NOMEM;
    struct wdl_team_params params = team->params;
    params.id = id + WDL_GAS_IDS * (uint32_t) before;
    params.size = size;
    for (int i = 0; i < size; i++) {
        int old = words[begin + i].rank;
        if (old == team->rank)
            params.rank = i;
        made->first[i + 1] = made->first[i] + wdl_gas_images_of(team, old);
        made->peers[i] = team->peers[old];
    }
    made->segment = team->segment;
    made->segment_bytes = team->segment_bytes;
    int status = team_open(made, &params);
    team->gas->next_id = id + WDL_GAS_IDS * (uint32_t) colors;
    *op->team_out = made;
    return status == WDL_OK ? WDL_GAS_END : status;
}

static int split_next(struct wdl_gas_op *op)
{
    struct wdl_gas_team *team = op->team;
    struct split_word *words = op->own;
    if (op->stage > 0)
        return split_finish(op);
    words[team->rank] = (struct split_word){op->color, op->key, op->wrong ? -1 : team->rank,
                                            team->gas->next_id};
    struct wdl_coll_args args = {.kind = WDL_COLL_GATHER_ALL,
                                 .flags = WDL_COLL_MPI,
                                 .src = &words[team->rank],
                                 .dst = words,
                                 .bytes = sizeof(words[0])};
    op->all_begun = 1;
    return wdl_gas_stage_start(op, &args, &op->req);
}

wdl_gas_handle wdl_gas_team_split_nb(struct wdl_gas_team *team, int color, int key,
                                     enum wdl_gas_error wrong, struct wdl_gas_team **team_out)
{
    struct wdl_gas_op *op = wdl_gas_op_alloc(team);
    *team_out = NULL;
    if (!op)
        return wdl_gas_handle_of(team->nomem);
    op->staged = 1;
    op->own = wdl_gas_op_memory(op, (size_t) team->size * sizeof(struct split_word));
    if (!op->own)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    op->wrong = wrong;
    op->color = color;
    op->key = key;
    op->team_out = team_out;
    return wdl_gas_op_stages(op, 0, split_next);
}
