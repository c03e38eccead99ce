/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's data movement: broadcast, scatter, gather, gather_all, exchange; with an address per
 * node, or (M) per image. Blocks of a node's images travel together; where a node has several, they
 * are packed and taken apart by the collective itself, when its entry synchronization lets it.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/gasnet_impl.h"

/* All blocks that a node may have, in the M form. */
static int is_too_long(const struct wdl_gas_team *team, enum wdl_coll_kind kind, size_t nbytes)
{
    size_t images = kind == WDL_COLL_BROADCAST ? 1 : wdl_gas_images(team);
    size_t own = kind == WDL_COLL_EXCHANGE ? wdl_gas_images_of(team, team->rank) : 1;
    return wdl_gas_is_too_long(images, nbytes) || wdl_gas_is_too_long(own, images * nbytes);
}

/* An operation with what all have in common; NULL: return *handle_out. */
static struct wdl_gas_op *move_new(struct wdl_gas_team *team, enum wdl_coll_kind kind, int root,
                                   size_t nbytes, int flags, wdl_gas_handle *handle_out)
{
    struct wdl_gas_op *op = wdl_gas_op_new(team, flags, 0, 0, handle_out);
    if (!op)
        return NULL;
    enum wdl_gas_error error = root < 0 ? WDL_GAS_ERR_ROOT : WDL_GAS_FINE;
    if (nbytes == 0 || is_too_long(team, kind, nbytes))
        error = WDL_GAS_ERR_SIZE;
    if (error) {
        *handle_out = wdl_gas_op_fail(op, error);
        return NULL;
    }
    op->nbytes = nbytes;
    op->args.kind = kind;
    op->args.root = root;
    op->args.bytes = nbytes;
    return op;
}

/* Addresses by node, of SINGLE; NULL: there are none. */
struct lists {
    void *const *dst, *const *src;
};

enum { BOTH_GIVEN = WDL_COLL_SRC_GIVEN | WDL_COLL_DST_GIVEN };

/* What all know of each other's memory, and whether data may move before all have come. WDL_OK or
 * ERR_NOMEM. */
static int know(struct wdl_gas_op *op, struct lists lists, int flags)
{
    struct wdl_coll_args *args = &op->args;
    if (!(flags & WDL_COLL_SINGLE))
        return WDL_OK;
    int ahead = flags & WDL_COLL_IN_NOSYNC;
    if (ahead && (flags & WDL_GAS_DST_IN_SEGMENT)) {
        args->flags |= WDL_COLL_DST_KNOWN;
        if (lists.dst && !(args->dst_of = wdl_gas_by_node(op, lists.dst, WDL_GAS_FIRST_IMAGE)))
            return WDL_ERR_NOMEM;
    }
    if (ahead && (flags & WDL_GAS_SRC_IN_SEGMENT)) {
        args->flags |= WDL_COLL_SRC_KNOWN;
        if (lists.src && !(args->src_of = wdl_gas_by_node(op, lists.src, WDL_GAS_FIRST_IMAGE)))
            return WDL_ERR_NOMEM;
    }
    if (wdl_flow_of(args) != WDL_FLOW_DOWN || (args->flags & WDL_COLL_SRC_KNOWN))
        wdl_gas_alike(op, lists.src, args->src);
    if (wdl_flow_of(args) != WDL_FLOW_UP || (args->flags & WDL_COLL_DST_KNOWN))
        wdl_gas_alike(op, lists.dst, args->dst);
    return wdl_gas_give(op, lists.src, lists.dst, WDL_GAS_FIRST_IMAGE, BOTH_GIVEN);
}

static wdl_gas_handle move_listed(struct wdl_gas_team *team, enum wdl_coll_kind kind, int root,
                                  void *dst, const void *src, struct lists lists, size_t nbytes,
                                  int flags)
{
    wdl_gas_handle handle;
    struct wdl_gas_op *op = move_new(team, kind, root, nbytes, flags, &handle);
    if (!op)
        return handle;
    int is_root = team->rank == root, down = kind == WDL_COLL_BROADCAST || kind == WDL_COLL_SCATTER;
    size_t all = (size_t) team->size * nbytes;
    size_t src_bytes = kind == WDL_COLL_EXCHANGE ? all : nbytes, dst_bytes = all;
    if (down) {
        src_bytes = !is_root ? 0 : kind == WDL_COLL_SCATTER ? all : nbytes;
        dst_bytes = nbytes;
    } else if (kind == WDL_COLL_GATHER && !is_root) {
        dst_bytes = 0;
    }
    enum wdl_gas_error error = wdl_gas_segment_error(team, flags, src, src_bytes, dst, dst_bytes);
    if (error)
        return wdl_gas_op_fail(op, error);
    op->args.src = src;
    op->args.dst = dst;
    if (know(op, lists, flags) != WDL_OK)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    return wdl_gas_op_start(op, flags);
}

static wdl_gas_handle move_basic(struct wdl_gas_team *team, enum wdl_coll_kind kind, int root,
                                 void *dst, const void *src, size_t nbytes, int flags)
{
    return move_listed(team, kind, root, dst, src, (struct lists){NULL, NULL}, nbytes, flags);
}

wdl_gas_handle wdl_gas_broadcast_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                    const void *src, size_t nbytes, int flags)
{
    return move_basic(team, WDL_COLL_BROADCAST, wdl_gas_node_of(team, srcimage), dst, src, nbytes,
                      flags);
}

wdl_gas_handle wdl_gas_scatter_nb(struct wdl_gas_team *team, void *dst, size_t srcimage,
                                  const void *src, size_t nbytes, int flags)
{
    return move_basic(team, WDL_COLL_SCATTER, wdl_gas_node_of(team, srcimage), dst, src, nbytes,
                      flags);
}

wdl_gas_handle wdl_gas_gather_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                 const void *src, size_t nbytes, int flags)
{
    return move_basic(team, WDL_COLL_GATHER, wdl_gas_node_of(team, dstimage), dst, src, nbytes,
                      flags);
}

wdl_gas_handle wdl_gas_gather_all_nb(struct wdl_gas_team *team, void *dst, const void *src,
                                     size_t nbytes, int flags)
{
    return move_basic(team, WDL_COLL_GATHER_ALL, 0, dst, src, nbytes, flags);
}

wdl_gas_handle wdl_gas_exchange_nb(struct wdl_gas_team *team, void *dst, const void *src,
                                   size_t nbytes, int flags)
{
    return move_basic(team, WDL_COLL_EXCHANGE, 0, dst, src, nbytes, flags);
}

/* --- an address per image --- */

/* The own images' part of a list. */
static size_t own_at(const struct wdl_gas_team *team, int flags)
{
    return flags & WDL_COLL_SINGLE ? team->first[team->rank] : 0;
}

/* Blocks of all nodes: `each` blocks an image. Four lists of P numbers at `room` if they differ. */
static void blocks_set(struct wdl_gas_op *op, size_t each, size_t *room)
{
    const struct wdl_gas_team *team = op->team;
    size_t one = each * op->nbytes, n = (size_t) team->size;
    op->args.bytes = wdl_gas_images_of(team, team->rank) * one;
    op->args.variable = team->each == 0;
    for (size_t i = 0; i < n && op->args.variable; i++) {
        room[i] = wdl_gas_images_of(team, (int) i) * one;
        room[n + i] = team->first[i] * one;
    }
    op->args.src_blocks = op->args.dst_blocks = (struct wdl_coll_blocks){room, room + n};
}

static size_t lists_bytes(const struct wdl_gas_team *team)
{
    return ((2 * (size_t) team->size * sizeof(size_t)) + 63) & ~(size_t) 63;
}

/* Memory: block lists, then `out` bytes for what is packed, then `in` bytes for what comes. */
static char *move_memory(struct wdl_gas_op *op, size_t out, size_t in)
{
    return wdl_gas_op_memory(op, lists_bytes(op->team) + out + in);
}

/* Start, if what the own lists name is where the flags say: so many bytes at args.src, at each of
 * op->src and of op->dst. `given`: what SINGLE says of the memory of all. */
static wdl_gas_handle move_lists(struct wdl_gas_op *op, int flags, uint32_t given,
                                 size_t root_bytes, size_t src_bytes, size_t dst_bytes)
{
    struct wdl_gas_team *team = op->team;
    size_t own = wdl_gas_images_of(team, team->rank);
    void *const *dstlist = given & WDL_COLL_DST_GIVEN && op->dst ? op->dst - own_at(team, flags)
                                                                 : NULL;
    enum wdl_gas_error error =
        wdl_gas_segment_error(team, flags, op->args.src, root_bytes, NULL, 0);
    if (!error)
        error = wdl_gas_lists_error(team, flags, own, op->src, src_bytes, op->dst, dst_bytes);
    if (!error && (flags & WDL_COLL_SINGLE) &&
        wdl_gas_give(op, NULL, dstlist, WDL_GAS_FIRST_IMAGE, given) != WDL_OK)
        error = WDL_GAS_ERR_NOMEM;
    return error ? wdl_gas_op_fail(op, error) : wdl_gas_op_start(op, flags);
}

/* With an image a node M forms are the others, and SINGLE ones know more. */
static wdl_gas_handle move_one(struct wdl_gas_team *team, enum wdl_coll_kind kind, int root,
                               struct lists to_from, void *dst, const void *src, size_t nbytes,
                               int flags)
{
    size_t at = own_at(team, flags);
    void *to = to_from.dst ? to_from.dst[at] : dst;
    const void *from = to_from.src ? to_from.src[at] : src;
    return move_listed(team, kind, root, to, from, to_from, nbytes, flags);
}

static void broadcast_copy(void *local)
{
    const struct wdl_gas_op *op = local;
    for (size_t i = 1; i < wdl_gas_images_of(op->team, op->team->rank); i++)
        memcpy(op->dst[i], op->args.dst, op->args.bytes);
}

wdl_gas_handle wdl_gas_broadcastM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                     size_t srcimage, const void *src, size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    int root = wdl_gas_node_of(team, srcimage);
    if (team->each == 1)
        return move_one(team, WDL_COLL_BROADCAST, root, (struct lists){dstlist, NULL}, NULL, src,
                        nbytes, flags);
    struct wdl_gas_op *op = move_new(team, WDL_COLL_BROADCAST, root, nbytes, flags, &handle);
    if (!op)
        return handle;
    op->dst = dstlist + own_at(team, flags);
    op->args.src = src;
    op->args.dst = op->dst[0];
    op->args.after = broadcast_copy;
    wdl_gas_alike(op, dstlist, NULL);
    return move_lists(op, flags, BOTH_GIVEN, team->rank == root ? nbytes : 0, 0, nbytes);
}

static void own_unpack(void *local)
{
    const struct wdl_gas_op *op = local;
    for (size_t i = 0; i < wdl_gas_images_of(op->team, op->team->rank); i++)
        memcpy(op->dst[i], (char *) op->args.dst + i * op->nbytes, op->nbytes);
}

static void own_pack(void *local)
{
    struct wdl_gas_op *op = local;
    char *to = (char *) (uintptr_t) op->args.src;
    for (size_t i = 0; i < wdl_gas_images_of(op->team, op->team->rank); i++)
        memcpy(to + i * op->nbytes, op->src[i], op->nbytes);
}

wdl_gas_handle wdl_gas_scatterM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                   size_t srcimage, const void *src, size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    int root = wdl_gas_node_of(team, srcimage);
    if (team->each == 1)
        return move_one(team, WDL_COLL_SCATTER, root, (struct lists){dstlist, NULL}, NULL, src,
                        nbytes, flags);
    struct wdl_gas_op *op = move_new(team, WDL_COLL_SCATTER, root, nbytes, flags, &handle);
    if (!op)
        return handle;
    char *memory = move_memory(op, 0, wdl_gas_images_of(team, team->rank) * nbytes);
    if (!memory)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    blocks_set(op, 1, (size_t *) (void *) memory);
    op->dst = dstlist + own_at(team, flags);
    op->args.src = src;
    op->args.dst = memory + lists_bytes(team);
    op->args.after = own_unpack;
    wdl_gas_alike(op, dstlist, NULL);
    size_t all = wdl_gas_images(team) * nbytes;
    return move_lists(op, flags, WDL_COLL_SRC_GIVEN, team->rank == root ? all : 0, 0, nbytes);
}

wdl_gas_handle wdl_gas_gatherM_nb(struct wdl_gas_team *team, size_t dstimage, void *dst,
                                  void *const srclist[], size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    int root = wdl_gas_node_of(team, dstimage);
    if (team->each == 1)
        return move_one(team, WDL_COLL_GATHER, root, (struct lists){NULL, srclist}, dst, NULL,
                        nbytes, flags);
    struct wdl_gas_op *op = move_new(team, WDL_COLL_GATHER, root, nbytes, flags, &handle);
    if (!op)
        return handle;
    /* who only gives may be done, and the client's list gone, before it is read */
    size_t own = wdl_gas_images_of(team, team->rank);
    void **list = wdl_gas_op_memory(op, own * sizeof(*list));
    char *memory = list ? move_memory(op, own * nbytes, 0) : NULL;
    if (!memory)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    memcpy(list, srclist + own_at(team, flags), own * sizeof(*list));
    blocks_set(op, 1, (size_t *) (void *) memory);
    op->src = list;
    op->args.src = memory + lists_bytes(team);
    op->args.dst = dst;
    op->args.before = own_pack;
    wdl_gas_alike(op, srclist, NULL);
    enum wdl_gas_error error =
        wdl_gas_segment_error(team, flags, NULL, 0, dst,
                              team->rank == root ? wdl_gas_images(team) * nbytes : 0);
    return error ? wdl_gas_op_fail(op, error)
                 : move_lists(op, flags, WDL_COLL_DST_GIVEN, 0, nbytes, 0);
}

static void gather_all_copy(void *local)
{
    const struct wdl_gas_op *op = local;
    size_t all = wdl_gas_images(op->team) * op->nbytes;
    for (size_t i = 1; i < wdl_gas_images_of(op->team, op->team->rank); i++)
        memcpy(op->dst[i], op->args.dst, all);
}

wdl_gas_handle wdl_gas_gather_allM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                      void *const srclist[], size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    if (team->each == 1)
        return move_one(team, WDL_COLL_GATHER_ALL, 0, (struct lists){dstlist, srclist}, NULL, NULL,
                        nbytes, flags);
    struct wdl_gas_op *op = move_new(team, WDL_COLL_GATHER_ALL, 0, nbytes, flags, &handle);
    if (!op)
        return handle;
    char *memory = move_memory(op, wdl_gas_images_of(team, team->rank) * nbytes, 0);
    if (!memory)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    blocks_set(op, 1, (size_t *) (void *) memory);
    op->src = srclist + own_at(team, flags);
    op->dst = dstlist + own_at(team, flags);
    op->args.src = memory + lists_bytes(team);
    op->args.dst = op->dst[0];
    op->args.before = own_pack;
    op->args.after = gather_all_copy;
    wdl_gas_alike(op, srclist, NULL);
    wdl_gas_alike(op, dstlist, NULL);
    return move_lists(op, flags, WDL_COLL_DST_GIVEN, 0, nbytes, wdl_gas_images(team) * nbytes);
}

/* Between two nodes: for each image of the sender, a block for each of the receiver. */
static void exchange_pack(void *local)
{
    struct wdl_gas_op *op = local;
    const struct wdl_gas_team *team = op->team;
    size_t own = wdl_gas_images_of(team, team->rank), m = op->nbytes;
    char *to = (char *) (uintptr_t) op->args.src;
    for (int node = 0; node < team->size; node++)
        for (size_t i = 0; i < own; i++, to += wdl_gas_images_of(team, node) * m)
            memcpy(to, (const char *) op->src[i] + team->first[node] * m,
                   wdl_gas_images_of(team, node) * m);
}

static void exchange_unpack(void *local)
{
    struct wdl_gas_op *op = local;
    const struct wdl_gas_team *team = op->team;
    size_t own = wdl_gas_images_of(team, team->rank), m = op->nbytes;
    const char *from = op->args.dst;
    for (size_t image = 0; image < wdl_gas_images(team); image++)
        for (size_t i = 0; i < own; i++, from += m)
            memcpy((char *) op->dst[i] + image * m, from, m);
}

wdl_gas_handle wdl_gas_exchangeM_nb(struct wdl_gas_team *team, void *const dstlist[],
                                    void *const srclist[], size_t nbytes, int flags)
{
    wdl_gas_handle handle;
    if (team->each == 1)
        return move_one(team, WDL_COLL_EXCHANGE, 0, (struct lists){dstlist, srclist}, NULL, NULL,
                        nbytes, flags);
    struct wdl_gas_op *op = move_new(team, WDL_COLL_EXCHANGE, 0, nbytes, flags, &handle);
    if (!op)
        return handle;
    size_t own = wdl_gas_images_of(team, team->rank), all = own * wdl_gas_images(team) * nbytes;
    char *memory = move_memory(op, all, all);
    if (!memory)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    blocks_set(op, own, (size_t *) (void *) memory);
    op->src = srclist + own_at(team, flags);
    op->dst = dstlist + own_at(team, flags);
    op->args.src = memory + lists_bytes(team);
    op->args.dst = memory + lists_bytes(team) + all;
    op->args.before = exchange_pack;
    op->args.after = exchange_unpack;
    wdl_gas_alike(op, srclist, NULL);
    wdl_gas_alike(op, dstlist, NULL);
    return move_lists(op, flags, 0, 0, all / own, all / own);
}
