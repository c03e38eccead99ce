/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Members of an aggregate that are small become one collective, packed and taken apart by the
 * collective itself. Those that go the same way, from the same root or to it, are one of their
 * kind, whose blocks are theirs, one behind the other. Several ways together are an exchange in
 * which a rank gives each other one all that any member has for it: a message per destination. All
 * ranks see the same members, and judge by what all know, so they bundle alike.
 */
#include <string.h>
#include "mpid/coll/ahead.h"
#include "mpid/coll/gasnet_xfer.h"
#include "mpid/coll/nodes.h"

enum { SMALL = 4096, BUNDLE_MAX = 65536 }; /* bytes of a member's block, and of a bundle's */

/* --- one way ---------------------------------------------------------------------------------- */

/* Blocks this rank gives and gets, in a collective of this kind. */
static size_t blocks_out(const struct wdl_gas_op *op)
{
    size_t all = (size_t) op->team->size;
    int root = op->team->rank == op->args.root;
    switch (op->args.kind) {
    case WDL_COLL_BROADCAST:
        return root;
    case WDL_COLL_SCATTER:
        return root ? all : 0;
    default:
        return op->args.kind == WDL_COLL_EXCHANGE ? all : 1;
    }
}

static size_t blocks_in(const struct wdl_gas_op *op)
{
    size_t all = (size_t) op->team->size;
    switch (op->args.kind) {
    case WDL_COLL_GATHER:
        return op->team->rank == op->args.root ? all : 0;
    case WDL_COLL_BROADCAST:
    case WDL_COLL_SCATTER:
        return 1;
    default:
        return all;
    }
}

/* What may move before its other end has come does not go through a bundle's memory. */
static int goes_ahead(const struct wdl_coll_args *args)
{
    return (args->flags & WDL_COLL_IN_NOSYNC) &&
           (args->flags & (WDL_COLL_DST_KNOWN | WDL_COLL_SRC_KNOWN));
}

static int bundles(const struct wdl_gas_op *op)
{
    const struct wdl_coll_args *args = &op->args;
    return args->kind >= WDL_COLL_BROADCAST && args->kind <= WDL_COLL_EXCHANGE &&
           !args->variable && args->bytes <= SMALL && !goes_ahead(args);
}

static int same_way(const struct wdl_gas_op *a, const struct wdl_gas_op *b)
{
    return a->args.kind == b->args.kind && a->args.root == b->args.root;
}

static void pack(void *local)
{
    struct wdl_gas_op *bundle = local;
    size_t m = bundle->args.bytes, at = 0, n = blocks_out(bundle);
    for (int i = 0; i < bundle->bundled_count; i++) {
        struct wdl_coll_args *args = &bundle->bundled[i]->args;
        if (args->before)
            args->before(args->local);
        for (size_t block = 0; block < n; block++)
            memcpy((char *) (uintptr_t) bundle->args.src + block * m + at,
                   (const char *) args->src + block * args->bytes, args->bytes);
        at += args->bytes;
    }
}

static void unpack(void *local)
{
    struct wdl_gas_op *bundle = local;
    size_t m = bundle->args.bytes, at = 0, n = blocks_in(bundle);
    for (int i = 0; i < bundle->bundled_count; i++) {
        struct wdl_coll_args *args = &bundle->bundled[i]->args;
        for (size_t block = 0; block < n && args->dst && args->dst != args->src; block++)
            memcpy((char *) args->dst + block * args->bytes,
                   (const char *) bundle->args.dst + block * m + at, args->bytes);
        if (args->after)
            args->after(args->local);
        at += args->bytes;
    }
}

/* The bundle's memory: its members, what goes out, what comes in. A broadcast's root has one. */
static int bundle_start(struct wdl_gas_op *head, struct wdl_gas_op *bundle)
{
    size_t m = bundle->args.bytes, out = blocks_out(bundle) * m, in = blocks_in(bundle) * m;
    char *memory = wdl_gas_op_memory(bundle, out + in);
    if (!memory)
        return WDL_ERR_NOMEM;
    bundle->args.src = memory;
    bundle->args.dst = memory + out;
    if (bundle->args.kind == WDL_COLL_BROADCAST && out)
        bundle->args.dst = memory;
    bundle->args.before = pack;
    bundle->args.after = unpack;
    return wdl_gas_stage_start(head, &bundle->args, &bundle->req);
}

/* What each of them wants to be the same on all nodes. */
static uint32_t all_alike(struct wdl_gas_op *const *members, int n)
{
    uint32_t sum = 0;
    for (int i = 0; i < n; i++)
        sum = wdl_alike_add(sum, (const void *) (uintptr_t) members[i]->args.alike);
    return sum;
}

/* The first n of head->bundled, which are taken, as one. NULL: memory is short. */
static struct wdl_gas_op *bundle_make(struct wdl_gas_op *head, int n)
{
    struct wdl_gas_op *bundle = wdl_gas_op_alloc(head->team);
    if (!bundle)
        return NULL;
    wdl_list_push(&head->members, &bundle->link);
    bundle->args = head->bundled[0]->args;
    bundle->args.local = bundle;
    bundle->args.flags &= /* not into its memory, which others do not know */
        ~(uint32_t) (WDL_COLL_PLACED | WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN);
    bundle->bundled = head->bundled;
    bundle->bundled_count = n;
    bundle->args.alike = all_alike(bundle->bundled, n);
    head->bundled += n;
    return bundle;
}

/* The i-th member, with those behind it that go its way. */
static int group_start(struct wdl_gas_op *head, struct wdl_gas_op **members, int count, int i)
{
    struct wdl_gas_op *first = members[i], *bundle = NULL;
    int n = 0;
    size_t bytes = 0;
    if (!bundles(first))
        return wdl_gas_stage_start(head, &first->args, &first->req);
    for (int j = i; j < count; j++) {
        struct wdl_gas_op *member = members[j];
        if (!member || !bundles(member) || !same_way(first, member) ||
            bytes + member->args.bytes > BUNDLE_MAX)
            continue;
        members[j] = NULL; /* taken */
        bytes += member->args.bytes;
        head->bundled[n++] = member;
    }
    if (n == 1)
        return wdl_gas_stage_start(head, &first->args, &first->req);
    bundle = bundle_make(head, n);
    if (!bundle)
        return WDL_ERR_NOMEM;
    bundle->args.bytes = bytes;
    return bundle_start(head, bundle);
}

/* --- several ways ----------------------------------------------------------------------------- */

static void mix_pack(void *local)
{
    struct wdl_gas_op *bundle = local;
    const struct wdl_coll_blocks *blocks = &bundle->args.src_blocks;
    char *memory = (char *) (uintptr_t) bundle->args.src;
    int me = bundle->team->rank;
    for (int i = 0; i < bundle->bundled_count; i++)
        if (bundle->bundled[i]->args.before)
            bundle->bundled[i]->args.before(bundle->bundled[i]->args.local);
    for (int to = 0; to < bundle->team->size; to++) {
        char *at = memory + blocks->at[to];
        for (int i = 0; i < bundle->bundled_count && blocks->bytes[to]; i++) {
            const struct wdl_coll_args *args = &bundle->bundled[i]->args;
            if (!wdl_ahead_gives(args, me, to))
                continue;
            memcpy(at, (const char *) args->src + wdl_ahead_part(args, me, to).from, args->bytes);
            at += args->bytes;
        }
    }
}

static void mix_unpack(void *local)
{
    struct wdl_gas_op *bundle = local;
    const struct wdl_coll_blocks *blocks = &bundle->args.dst_blocks;
    const char *memory = bundle->args.dst;
    int me = bundle->team->rank;
    for (int from = 0; from < bundle->team->size; from++) {
        const char *at = memory + blocks->at[from];
        for (int i = 0; i < bundle->bundled_count && blocks->bytes[from]; i++) {
            const struct wdl_coll_args *args = &bundle->bundled[i]->args;
            if (!wdl_ahead_gives(args, from, me))
                continue;
            memcpy((char *) args->dst + wdl_ahead_part(args, from, me).to, at, args->bytes);
            at += args->bytes;
        }
    }
    for (int i = 0; i < bundle->bundled_count; i++) {
        const struct wdl_coll_args *args = &bundle->bundled[i]->args;
        wdl_ahead_keep(args, me);
        if (args->after)
            args->after(args->local);
    }
}

static int mix_start(struct wdl_gas_op *head, struct wdl_gas_op *bundle)
{
    struct wdl_xfer xfer;
    int me = bundle->team->rank, size = bundle->team->size;
    uint32_t alike = bundle->args.alike;
    int status = wdl_xfer_init(bundle, &xfer);
    if (status != WDL_OK)
        return status;
    for (int i = 0; i < bundle->bundled_count; i++) {
        const struct wdl_coll_args *args = &bundle->bundled[i]->args;
        for (int other = 0; other < size; other++) {
            if (other != me && wdl_ahead_gives(args, me, other))
                xfer.out[other] += args->bytes;
            if (other != me && wdl_ahead_gives(args, other, me))
                xfer.in[other] += args->bytes;
        }
    }
    size_t out = wdl_xfer_places(xfer.out, xfer.out_at, size);
    char *memory = wdl_gas_op_memory(bundle, out + wdl_xfer_places(xfer.in, xfer.in_at, size));
    if (!memory)
        return WDL_ERR_NOMEM;
    wdl_xfer_args(bundle, &xfer, bundle->args.flags, &bundle->args);
    bundle->args.alike = alike;
    bundle->args.src = memory;
    bundle->args.dst = memory + out;
    bundle->args.before = mix_pack;
    bundle->args.after = mix_unpack;
    return wdl_gas_stage_start(head, &bundle->args, &bundle->req);
}

/* Bytes that a rank gives to others. */
static size_t given(const struct wdl_coll_args *args, int rank, int size)
{
    size_t others = (size_t) size - 1;
    switch (wdl_flow_of(args)) {
    case WDL_FLOW_DOWN:
        return rank == args->root ? others * args->bytes : 0;
    case WDL_FLOW_UP:
        return rank == args->root ? 0 : args->bytes;
    default:
        return others * args->bytes;
    }
}

/* Does what each rank gives fit its board? Else it would be fetched, by a call for each. */
static int fits_boards(const struct wdl_gas_op *head, struct wdl_gas_op **members, int n)
{
    const struct wdl_team *team = head->lane->engine.team;
    for (int rank = 0; rank < team->size; rank++) {
        size_t bytes = 0;
        for (int i = 0; i < n; i++)
            bytes += given(&members[i]->args, rank, team->size);
        if (bytes > team->params.board_bytes)
            return 0;
    }
    return 1;
}

/* Members that go together, or may. */
struct mix {
    struct wdl_gas_op **members;
    int n, ways, all; /* all: some of them go from all to all */
    size_t bytes;
};

/* Is it the first of those that go its way? How much they are together. */
static int begins_way(const struct mix *mix, int i, size_t *bytes_out)
{
    *bytes_out = 0;
    for (int k = 0; k < mix->n; k++) {
        if (!same_way(mix->members[k], mix->members[i]))
            continue;
        if (k < i)
            return 0;
        *bytes_out += mix->members[k]->args.bytes;
    }
    return 1;
}

/* As many as fit a bundle, of those that have a root, or of all. */
static void mix_gather(struct mix *mix, struct wdl_gas_op **members, int count, int rooted_only)
{
    mix->n = mix->ways = mix->all = 0;
    mix->bytes = 0;
    for (int i = 0; i < count; i++) {
        struct wdl_gas_op *member = members[i];
        int all = member && !wdl_coll_is_rooted(member->args.kind);
        size_t bytes;
        if (!member || !bundles(member) || mix->bytes + member->args.bytes > BUNDLE_MAX ||
            (rooted_only && all))
            continue;
        mix->all |= all;
        mix->bytes += member->args.bytes;
        mix->members[mix->n++] = member;
        mix->ways += begins_way(mix, mix->n - 1, &bytes);
    }
}

/* Messages of each way for itself, those that say that a rank is ready included; are there any? */
static double messages_apart(const struct mix *mix, const struct wdl_team *team, int *asked_out)
{
    double p = team->size, messages = 0;
    size_t bytes;
    *asked_out = 0;
    for (int i = 0; i < mix->n; i++) {
        if (!begins_way(mix, i, &bytes))
            continue;
        int asked = bytes > team->params.cell_bytes;
        int rooted = wdl_coll_is_rooted(mix->members[i]->args.kind);
        messages += (rooted ? p - 1 : p * wdl_log2_up(team->size)) * (1 + asked);
        *asked_out |= asked;
    }
    return messages;
}

/* Is there a member before it that has the same root and direction? */
static int is_repeated(const struct mix *mix, int i)
{
    const struct wdl_coll_args *args = &mix->members[i]->args;
    for (int k = 0; k < i; k++)
        if (mix->members[k]->args.root == args->root &&
            wdl_flow_of(&mix->members[k]->args) == wdl_flow_of(args))
            return 1;
    return 0;
}

/* ... of one exchange: from whom anything goes to whom. */
static double messages_together(const struct mix *mix, const struct wdl_team *team, int asked)
{
    double p = team->size, pairs = mix->all ? p * (p - 1) : 0;
    for (int i = 0; i < mix->n && !mix->all; i++) {
        const struct wdl_coll_args *args = &mix->members[i]->args;
        if (is_repeated(mix, i))
            continue;
        pairs += p - 1;
        /* what goes down to a root that it is told by, too */
        for (int k = 0; k < mix->n && wdl_flow_of(args) == WDL_FLOW_DOWN; k++)
            pairs -= wdl_flow_of(&mix->members[k]->args) == WDL_FLOW_UP &&
                     mix->members[k]->args.root != args->root && !is_repeated(mix, k);
    }
    return pairs * (1 + asked);
}

/* Are these ways sooner over as one exchange, with no more messages? There a rank sends to the
 * others one after the other; apart, each way is a message that a rank sends, beside the time of a
 * tree. On a node nobody sends any. */
static int mix_pays(const struct wdl_gas_op *head, const struct mix *mix)
{
    const struct wdl_team *team = head->lane->engine.team;
    const struct wdl_coll_model *model = &team->params.model;
    const struct wdl_nodes *nodes = team->nodes;
    const struct wdl_span *span = nodes ? &nodes->span : &team->span;
    if (mix->ways < 2)
        return 0;
    if (team->on_node && !nodes)
        return fits_boards(head, mix->members, mix->n);
    int asked = team->size >= team->links || mix->bytes > team->params.cell_bytes, asked_apart;
    double most = messages_apart(mix, team, &asked_apart);
    double together = model->latency * (1 + asked) + (team->size - 2) * model->gap;
    double apart = (double) span->tree[WDL_SPAN_OPTIMAL].ps / 1000 + model->latency * asked_apart +
                   (mix->ways - 1) * model->gap;
    return together <= apart && messages_together(mix, team, asked) <= most;
}

/* All that go together, or those with a root, if they go several ways and that pays. */
static int mix_begin(struct wdl_gas_op *head, struct wdl_gas_op **members, int count)
{
    struct mix mix = {.members = head->bundled};
    mix_gather(&mix, members, count, 0);
    if (mix.all && !mix_pays(head, &mix))
        mix_gather(&mix, members, count, 1);
    if (!mix_pays(head, &mix))
        return WDL_OK;
    for (int i = 0, k = 0; k < mix.n; i++)
        if (members[i] == mix.members[k]) {
            members[i] = NULL; /* taken */
            k++;
        }
    struct wdl_gas_op *bundle = bundle_make(head, mix.n);
    return bundle ? mix_start(head, bundle) : WDL_ERR_NOMEM;
}

int wdl_gas_bundles_start(struct wdl_gas_op *head, struct wdl_list *list)
{
    int count = 0, i = 0;
    struct wdl_list *node;
    wdl_list_for (node, list)
        count++;
    struct wdl_gas_op **members = wdl_gas_op_memory(head, 2 * (size_t) count * sizeof(members[0]));
    if (!members)
        return WDL_ERR_NOMEM;
    wdl_list_for (node, list) {
        struct wdl_gas_op *member = wdl_container_of(node, struct wdl_gas_op, link);
        members[i++] = member->vacant ? NULL : member;
    }
    head->bundled = members + count;
    int status = mix_begin(head, members, count);
    for (i = 0; i < count && status == WDL_OK; i++)
        if (members[i])
            status = group_start(head, members, count, i);
    return status;
}
