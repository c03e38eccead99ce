/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Members of an aggregate that go the same way, from the same root or to it, and are small, become
 * one collective: its blocks are theirs, one behind the other, packed and taken apart by the
 * collective itself. All ranks see the same members, so they bundle alike.
 */
#include <string.h>
#include "mpid/coll/gasnet_impl.h"

enum { SMALL = 4096, BUNDLE_MAX = 65536 }; /* bytes of a member's block, and of a bundle's */

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
    bundle = wdl_gas_op_alloc(head->team);
    if (!bundle)
        return WDL_ERR_NOMEM;
    wdl_list_push(&head->members, &bundle->link);
    bundle->args = first->args;
    bundle->args.local = bundle;
    bundle->args.bytes = bytes;
    bundle->bundled = head->bundled;
    bundle->bundled_count = n;
    head->bundled += n;
    return bundle_start(head, bundle);
}

int wdl_gas_bundles_start(struct wdl_gas_op *head, struct wdl_list *list)
{
    int count = 0, i = 0, status = WDL_OK;
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
    for (i = 0; i < count && status == WDL_OK; i++)
        if (members[i])
            status = group_start(head, members, count, i);
    return status;
}
