/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * GASNet's collectives: the calls, each in its blocking and its other form. What they do is the
 * core's (mpid/coll/gasnet_*.c).
 */
#include "gas.h"

/* A client that gives the core's own flag gives an unknown one. */
static int given(int flags)
{
    return flags & WDL_GAS_BLOCKING ? flags | WDL_GAS_NONE : flags;
}

/* Parameters in parentheses; the core's arguments behind the team. */
#define CALL(name, parameters, ...) CALL_OR(0, name, parameters, __VA_ARGS__)
#define CALL_OR(went, name, parameters, ...)                                                   \
    gasnet_coll_handle_t gasnet_coll_##name##_nb parameters                                    \
    {                                                                                          \
        WDL_GAS_ENTER();                                                                       \
        struct wdl_gas_team *core = wdl_gas_core(team, #name);                                 \
        flags = given(flags);                                                                  \
        gasnet_coll_handle_t handle =                                                          \
            wdl_gas_begun(team, #name, flags, wdl_gas_##name##_nb(core, __VA_ARGS__));         \
        WDL_GAS_LEAVE();                                                                       \
        return handle;                                                                         \
    }                                                                                          \
                                                                                               \
    void gasnet_coll_##name parameters                                                         \
    {                                                                                          \
        WDL_GAS_ENTER();                                                                       \
        struct wdl_gas_team *core = wdl_gas_core(team, #name);                                 \
        if (!(went)) {                                                                         \
            flags = given(flags) | WDL_GAS_BLOCKING;                                           \
            (void) wdl_gas_finish(                                                             \
                wdl_gas_begun(team, #name, 0, wdl_gas_##name##_nb(core, __VA_ARGS__)));        \
        }                                                                                      \
        WDL_GAS_LEAVE();                                                                       \
    }

/* What may be plain; `image`: the root's. */
#define PLAIN_OR(name, KIND, image, bytes, elem_bytes, func, func_arg, parameters, ...)            \
    CALL_OR(wdl_gas_went(team, #name,                                                              \
                         &(struct wdl_gas_plain){WDL_COLL_##KIND, flags, image, dst, src, bytes,   \
                                                 elem_bytes, func, func_arg}),                     \
            name, parameters, __VA_ARGS__)
#define MOVE(name, KIND, image, parameters, ...) \
    PLAIN_OR(name, KIND, image, nbytes, 0, 0, 0, parameters, __VA_ARGS__)

MOVE(broadcast, BROADCAST, srcimage,
     (gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes,
      int flags),
     dst, srcimage, src, nbytes, flags)
CALL(broadcastM,
     (gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src,
      size_t nbytes, int flags),
     dstlist, srcimage, src, nbytes, flags)
MOVE(scatter, SCATTER, srcimage,
     (gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src, size_t nbytes,
      int flags),
     dst, srcimage, src, nbytes, flags)
CALL(scatterM,
     (gasnet_team_handle_t team, void *const dstlist[], gasnet_image_t srcimage, void *src,
      size_t nbytes, int flags),
     dstlist, srcimage, src, nbytes, flags)
MOVE(gather, GATHER, dstimage,
     (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, size_t nbytes,
      int flags),
     dstimage, dst, src, nbytes, flags)
CALL(gatherM,
     (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
      size_t nbytes, int flags),
     dstimage, dst, srclist, nbytes, flags)
MOVE(gather_all, GATHER_ALL, 0,
     (gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags), dst, src, nbytes,
     flags)
CALL(gather_allM,
     (gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes,
      int flags),
     dstlist, srclist, nbytes, flags)
MOVE(exchange, EXCHANGE, 0,
     (gasnet_team_handle_t team, void *dst, void *src, size_t nbytes, int flags), dst, src, nbytes,
     flags)
CALL(exchangeM,
     (gasnet_team_handle_t team, void *const dstlist[], void *const srclist[], size_t nbytes,
      int flags),
     dstlist, srclist, nbytes, flags)

/* --- computing: the core has one form, M where there is a list -------------------------------- */

/* Of one array. */
#define REDUCE_PARAMETERS                                                     \
    size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, \
        gasnet_coll_fn_handle_t func, int func_arg, int flags
#define ARRAY(list, src)                                                                   \
    list, (struct wdl_gas_array){src, src_blksz, src_offset}, elem_size, elem_count, func, \
        func_arg, flags
#define wdl_gas_reduce_nb wdl_gas_reduceM_nb
#define wdl_gas_reduce_all_nb wdl_gas_reduceM_nb
#define wdl_gas_reduce_allM_nb wdl_gas_reduceM_nb
#define wdl_gas_scan_nb wdl_gas_scanM_nb

/* Bytes of a vector that may be plain; 0: it is none. */
static size_t vector_bytes(size_t elem_size, size_t elem_count, size_t layout)
{
    enum { MOST = 1 << 15 };
    return elem_size <= MOST && elem_count <= MOST && layout == 0 ? elem_size * elem_count : 0;
}

#define FOLD(name, KIND, image, layout, parameters, ...)                                     \
    PLAIN_OR(name, KIND, image, vector_bytes(elem_size, elem_count, layout), elem_size, func, \
             func_arg, parameters, __VA_ARGS__)

FOLD(reduce, REDUCE, dstimage, src_blksz | src_offset,
     (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *src, REDUCE_PARAMETERS),
     dstimage, dst, ARRAY(NULL, src))
CALL(reduceM,
     (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, void *const srclist[],
      REDUCE_PARAMETERS),
     dstimage, dst, ARRAY(srclist, NULL))
FOLD(reduce_all, ALLREDUCE, 0, src_blksz | src_offset,
     (gasnet_team_handle_t team, void *dst, void *src, REDUCE_PARAMETERS),
     WDL_GAS_EVERYWHERE, dst, ARRAY(NULL, src))
CALL(reduce_allM, (gasnet_team_handle_t team, void *dst, void *const srclist[], REDUCE_PARAMETERS),
     WDL_GAS_EVERYWHERE, dst, ARRAY(srclist, NULL))
FOLD(scan, SCAN, 0, src_blksz | src_offset | dst_blksz | dst_offset,
     (gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset, void *src,
      REDUCE_PARAMETERS),
     NULL, (struct wdl_gas_array){dst, dst_blksz, dst_offset}, ARRAY(NULL, src))
CALL(scanM,
     (gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz, size_t dst_offset,
      void *const srclist[], REDUCE_PARAMETERS),
     dstlist, (struct wdl_gas_array){NULL, dst_blksz, dst_offset}, ARRAY(srclist, NULL))

#define wdl_gas_sort_nb wdl_gas_sortM_nb
#define SORT_PARAMETERS                                                       \
    size_t src_blksz, size_t src_offset, size_t elem_size, size_t elem_count, \
        int (*fn)(const void *, const void *), int flags
#define SORTED(list, src) \
    list, (struct wdl_gas_array){src, src_blksz, src_offset}, elem_size, elem_count, fn, flags

CALL(sort,
     (gasnet_team_handle_t team, void *dst, size_t dst_blksz, size_t dst_offset, void *src,
      SORT_PARAMETERS),
     NULL, (struct wdl_gas_array){dst, dst_blksz, dst_offset}, SORTED(NULL, src))
CALL(sortM,
     (gasnet_team_handle_t team, void *const dstlist[], size_t dst_blksz, size_t dst_offset,
      void *const srclist[], SORT_PARAMETERS),
     dstlist, (struct wdl_gas_array){NULL, dst_blksz, dst_offset}, SORTED(srclist, NULL))

/* --- from place to place */

#define wdl_gas_permute_nb wdl_gas_permuteM_nb
CALL(permute,
     (gasnet_team_handle_t team, void *dst, void *src, const gasnet_image_t perm[], size_t nbytes,
      int flags),
     dst, NULL, src, NULL, perm, nbytes, flags)
CALL(permuteM,
     (gasnet_team_handle_t team, void *const dstlist[], void *const srclist[],
      const gasnet_image_t perm[], size_t nbytes, int flags),
     NULL, dstlist, NULL, srclist, perm, nbytes, flags)

#define wdl_gas_get_nb wdl_gas_put_nb
#define wdl_gas_putM_nb wdl_gas_put_nb
#define wdl_gas_getM_nb wdl_gas_put_nb
#define PUT_PARAMETERS \
    const gasnet_node_t partnerlist[], size_t partnercount, size_t nbytes, int flags
#define PUT(...)                                                                                 \
    &((struct wdl_gas_put){                                                                      \
        .partners = partnerlist, .partner_count = partnercount, .nbytes = nbytes, __VA_ARGS__}), \
        flags
#define PUT_LISTS \
    .many = 1, .nodes = nodelist, .dst_list = dstlist, .src_list = srclist, .count = listlen

CALL(put, (gasnet_team_handle_t team, gasnet_node_t dstnode, void *dst, void *src, PUT_PARAMETERS),
     PUT(.node = dstnode, .dst = dst, .src = src))
CALL(get, (gasnet_team_handle_t team, void *dst, gasnet_node_t srcnode, void *src, PUT_PARAMETERS),
     PUT(.gets = 1, .node = srcnode, .dst = dst, .src = src))
CALL(putM,
     (gasnet_team_handle_t team, const gasnet_node_t nodelist[], void *const dstlist[],
      void *const srclist[], size_t listlen, PUT_PARAMETERS),
     PUT(PUT_LISTS))
CALL(getM,
     (gasnet_team_handle_t team, void *const dstlist[], const gasnet_node_t nodelist[],
      void *const srclist[], size_t listlen, PUT_PARAMETERS),
     PUT(.gets = 1, PUT_LISTS))

CALL(scatterv,
     (gasnet_team_handle_t team, void *dst, gasnet_image_t srcimage, void *src,
      const size_t src_offsets[], const size_t nbytes[], int flags),
     dst, srcimage, src, src_offsets, nbytes, flags)
CALL(gatherv,
     (gasnet_team_handle_t team, gasnet_image_t dstimage, void *dst, const size_t dst_offsets[],
      void *src, const size_t nbytes[], int flags),
     dstimage, dst, dst_offsets, src, nbytes, flags)
CALL(gather_allv,
     (gasnet_team_handle_t team, void *dst, const size_t dst_offsets[], void *src, size_t nbytes[],
      int flags),
     dst, dst_offsets, src, nbytes, flags)
CALL(exchangev,
     (gasnet_team_handle_t team, void *dst, const size_t dst_offsets[], size_t dst_nbytes[],
      void *src, const size_t src_offsets[], const size_t src_nbytes[], int flags),
     dst, dst_offsets, dst_nbytes, src, src_offsets, src_nbytes, flags)
