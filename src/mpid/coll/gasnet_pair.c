/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * putM and getM of blocks up to 16 KiB, and get, as one graph in which each partner is served by
 * itself: who is late delays those it has something to do with.
 *
 * Who comes does not say beforehand with how many blocks. So it sends a head as long as a cell,
 * which says so; behind that the parcel, addresses and what is put there, if it fits. If not, the
 * host makes room for it and says "go on". Within a node it fetches the parcel, and says that it
 * has. Who gets knows how long the answer is; within a node it needs no head, but fetches from the
 * host, once that has begun, what it wants.
 *
 *   guest                            host
 *                 <- first           (many ranks, no cells; near get: I have begun)
 *   head          ->
 *                 <- second          (a long parcel: go on; near: I have it)
 *   parcel        ->                 (a long one)
 *                 <- answer          (get)
 *
 * All that is put is copied on its way: nobody who gives waits for its host, and who answers only
 * until it has been asked.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/board.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/gasnet_put.h"
#include "mpid/coll/nodes.h"

struct head {
    uint64_t count; /* of blocks */
    uint64_t means; /* as both must */
    uint64_t parcel; /* where it is, for a host that can look there */
};

struct wdl_put_pair {
    size_t first; /* of the own blocks, in `here` and `there` */
    size_t head_at, parcel_at, blocks_at; /* as a guest: in the run's memory */
    size_t come_at; /* as a host: the head */
    uint64_t count;
    char *parcel;
    int second_car, parcel_car, answer_car;
};

/* A message that comes for a role without a cell finds its RECV armed. */
enum role { HEAD, FIRST, SECOND, ANSWER, PARCEL };

static uint32_t role_of(const struct wdl_build *b, enum role role, int guest, int host)
{
    static const enum wdl_phase phases[] = {WDL_PHASE_DATA, WDL_PHASE_READY, WDL_PHASE_READY2};
    int d = wdl_ring_distance(b, host, guest);
    if (role <= SECOND && b->size < b->team->links)
        return wdl_role(b, phases[role], d);
    if (role == PARCEL) /* behind the flags that may come early */
        return wdl_role_bare(b, (int) wdl_roles_bare_max(b->team) + d);
    return wdl_role_bare(b, (int) role * b->size + d);
}

static struct wdl_put *put_of(const struct wdl_coll_args *args)
{
    return ((struct wdl_gas_op *) args->local)->own;
}

static size_t bytes_of(const struct wdl_coll_args *args)
{
    return ((struct wdl_gas_op *) args->local)->nbytes;
}

/* A block's share of a parcel. */
static size_t share(const struct wdl_coll_args *args)
{
    return sizeof(uint64_t) + (put_of(args)->gets ? 0 : bytes_of(args));
}

static size_t head_bytes(const struct wdl_team *team, const struct wdl_coll_args *args)
{
    size_t least = sizeof(struct head) + sizeof(uint64_t);
    return put_of(args)->many && team->params.cell_bytes > least ? team->params.cell_bytes : least;
}

/* Is the parcel in the head? */
static int fits(const struct wdl_team *team, const struct wdl_coll_args *args, uint64_t count)
{
    return count <= (head_bytes(team, args) - sizeof(struct head)) / share(args);
}

static uint64_t meant(const struct wdl_coll_args *args)
{
    return (uint64_t) bytes_of(args) << 1 | (unsigned) put_of(args)->gets;
}

/* Can either look at the other's memory? */
static int is_near(const struct wdl_build *b, int rank)
{
    const struct wdl_team *team = b->team;
    if (team->on_node)
        return team->params.shm->peek != NULL;
    return team->nodes && team->nodes->node_of[rank] == team->nodes->mine;
}

/* Nobody is to come before there is a place for a head. */
static int is_waited_for(const struct wdl_build *b)
{
    return b->size >= b->team->links && !b->armed;
}

/* --- the guest --- */

static void *place(uint64_t address)
{
    return (void *) (uintptr_t) address;
}

static int do_pack(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    const struct wdl_put_pair *pair = &p->pairs[rank];
    uint64_t count = p->to[rank];
    size_t bytes = bytes_of(&run->args), all = count * share(&run->args);
    char *parcel = run->tmp + pair->parcel_at, *to = parcel + count * sizeof(uint64_t);
    struct head head = {count, meant(&run->args), (uint64_t) (uintptr_t) parcel};
    memset(run->tmp + pair->head_at, 0, head_bytes(run->team, &run->args)); /* it goes as a whole */
    memcpy(run->tmp + pair->head_at, &head, sizeof(head));
    memcpy(parcel, p->there + pair->first, count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count && !p->gets; i++)
        memcpy(to + i * bytes, place(p->here[pair->first + i]), bytes);
    if (fits(run->team, &run->args, count))
        memcpy(run->tmp + pair->head_at + sizeof(head), parcel, all);
    return WDL_OK;
}

static int do_unpack(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    const struct wdl_put_pair *pair = &p->pairs[rank];
    size_t bytes = bytes_of(&run->args);
    for (uint64_t i = 0; i < p->to[rank] && p->to[rank] > 1; i++)
        memcpy(place(p->here[pair->first + i]), run->tmp + pair->blocks_at + i * bytes, bytes);
    return WDL_OK;
}

static int do_fetch(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    size_t at = p->pairs[rank].first, end = at + p->to[rank];
    int status = WDL_OK;
    for (; at < end && status == WDL_OK; at++) /* of a put, the own blocks */
        status = p->gets ? wdl_board_fetch(run, rank, place(p->there[at]), place(p->here[at]),
                                           bytes_of(&run->args))
                         : wdl_board_give(run, rank, place(p->here[at]), place(p->there[at]),
                                          bytes_of(&run->args));
    return status;
}

static void fetch_build(struct wdl_build *b, int rank)
{
    int begun = wdl_build_recv(b, rank, role_of(b, FIRST, b->rank, rank), wdl_nowhere(), 0);
    int fetch = wdl_build_call(b, do_fetch, rank, 2);
    wdl_build_order(b, begun, fetch);
    if (b->args->flags & WDL_COLL_OUT_MYSYNC)
        wdl_build_order(b, fetch,
                        wdl_build_send(b, rank, role_of(b, HEAD, b->rank, rank), wdl_nowhere(), 0));
}

/* The head says that there is a place for an answer. */
static void guest_build(struct wdl_build *b, int rank)
{
    const struct wdl_put *p = put_of(b->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    size_t head = head_bytes(b->team, b->args), parcel = p->to[rank] * share(b->args);
    size_t blocks = p->to[rank] * bytes_of(b->args);
    pair->head_at = wdl_build_tmp(b, head);
    pair->parcel_at = wdl_build_tmp(b, parcel);
    if (p->gets) {
        pair->blocks_at = p->to[rank] > 1 ? wdl_build_tmp(b, blocks) : 0;
        struct wdl_loc to =
            p->to[rank] > 1 ? wdl_tmp(pair->blocks_at) : wdl_at(place(p->here[pair->first]));
        int come = wdl_build_recv(b, rank, role_of(b, ANSWER, b->rank, rank), to, blocks);
        wdl_build_order(b, come, wdl_build_call(b, do_unpack, rank, 2));
    }
    int pack = wdl_build_call(b, do_pack, rank, 1);
    int goes =
        wdl_build_send(b, rank, role_of(b, HEAD, b->rank, rank), wdl_tmp(pair->head_at), head);
    wdl_build_order(b, pack, goes);
    if (is_waited_for(b))
        wdl_build_order(b,
                        wdl_build_recv(b, rank, role_of(b, FIRST, b->rank, rank), wdl_nowhere(), 0),
                        goes);
    if (fits(b->team, b->args, p->to[rank]))
        return;
    int second = wdl_build_recv(b, rank, role_of(b, SECOND, b->rank, rank), wdl_nowhere(), 0);
    if (!is_near(b, rank))
        wdl_build_order(b, second,
                        wdl_build_send(b, rank, role_of(b, PARCEL, b->rank, rank),
                                       wdl_tmp(pair->parcel_at), parcel));
}

/* --- the host --- */

static void drop(struct wdl_run *run, int car)
{
    if (car != WDL_CAR_NONE && run->cars[car].state == WDL_CAR_WAITING)
        wdl_car_drop(run, car);
}

static int host_fails(struct wdl_run *run, const struct wdl_put_pair *pair)
{
    drop(run, pair->second_car);
    drop(run, pair->parcel_car);
    drop(run, pair->answer_car);
    wdl_run_fail(run);
    return WDL_ERR_TRUNCATE;
}

static int parcel_come(struct wdl_run *run, int rank, uint64_t there, size_t bytes)
{
    struct wdl_put_pair *pair = &put_of(&run->args)->pairs[rank];
    size_t map = wdl_car_map_words(run->team, bytes);
    size_t at = (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    uint64_t *memory = wdl_gas_op_memory(run->args.local, (at + map) * sizeof(*memory));
    if (!memory)
        return host_fails(run, pair);
    pair->parcel = (char *) memory;
    if (pair->parcel_car == WDL_CAR_NONE)
        return wdl_board_fetch(run, rank, place(there), pair->parcel, bytes);
    wdl_car_size(run, pair->parcel_car, pair->parcel, bytes, memory + at);
    return WDL_OK;
}

static int do_come(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *args = &run->args;
    struct wdl_put_pair *pair = &put_of(args)->pairs[rank];
    char *at = run->tmp + pair->come_at;
    struct head head;
    memcpy(&head, at, sizeof(head));
    if (head.means != meant(args) || head.count == 0 ||
        head.count > PTRDIFF_MAX / (sizeof(uint64_t) + bytes_of(args)) - 1)
        return host_fails(run, pair);
    pair->count = head.count;
    if (!fits(run->team, args, head.count))
        return parcel_come(run, rank, head.parcel, head.count * share(args));
    pair->parcel = at + sizeof(head);
    drop(run, pair->second_car);
    drop(run, pair->parcel_car);
    return WDL_OK;
}

static uint64_t address_of(const struct wdl_put_pair *pair, uint64_t i)
{
    uint64_t address;
    memcpy(&address, pair->parcel + i * sizeof(address), sizeof(address));
    return address;
}

static int do_serve(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    size_t bytes = bytes_of(&run->args);
    if (!pair->parcel) /* it has failed */
        return WDL_OK;
    const char *from = pair->parcel + pair->count * sizeof(uint64_t);
    char *answer = p->gets ? wdl_gas_op_memory(run->args.local, pair->count * bytes) : NULL;
    if (p->gets && !answer)
        return host_fails(run, pair);
    for (uint64_t i = 0; i < pair->count; i++) {
        char *at = place(address_of(pair, i));
        memcpy(p->gets ? answer + i * bytes : at, p->gets ? at : from + i * bytes, bytes);
    }
    if (p->gets)
        wdl_car_size(run, pair->answer_car, answer, pair->count * bytes, NULL);
    return WDL_OK;
}

static void fetched_build(struct wdl_build *b, int rank)
{
    (void) wdl_build_send(b, rank, role_of(b, FIRST, rank, b->rank), wdl_nowhere(), 0);
    if (b->args->flags & WDL_COLL_OUT_MYSYNC)
        wdl_build_user(b,
                       wdl_build_recv(b, rank, role_of(b, HEAD, rank, b->rank), wdl_nowhere(), 0));
}

static void host_build(struct wdl_build *b, int rank)
{
    const struct wdl_put *p = put_of(b->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    size_t bytes = head_bytes(b->team, b->args);
    pair->come_at = wdl_build_tmp(b, bytes);
    pair->parcel_car = pair->answer_car = WDL_CAR_NONE;
    int head =
        wdl_build_recv(b, rank, role_of(b, HEAD, rank, b->rank), wdl_tmp(pair->come_at), bytes);
    int come = wdl_build_call(b, do_come, rank, 0);
    int serve = wdl_build_call(b, do_serve, rank, p->gets ? 1 : 2);
    wdl_build_order(b, head, come);
    wdl_build_order(b, come, serve);
    if (!is_near(b, rank)) {
        pair->parcel_car = wdl_build_recv_late(b, rank, role_of(b, PARCEL, rank, b->rank));
        wdl_build_order(b, come, pair->parcel_car);
        wdl_build_order(b, pair->parcel_car, serve);
    }
    pair->second_car = wdl_build_send(b, rank, role_of(b, SECOND, rank, b->rank), wdl_nowhere(), 0);
    wdl_build_order(b, come, pair->second_car);
    if (p->gets) {
        pair->answer_car = wdl_build_send_late(b, rank, role_of(b, ANSWER, rank, b->rank));
        wdl_build_order(b, serve, pair->answer_car);
    }
    if (is_waited_for(b))
        (void) wdl_build_send(b, rank, role_of(b, FIRST, rank, b->rank), wdl_nowhere(), 0);
}

/* --- both --- */

static void pairs_build(struct wdl_build *b)
{
    const struct wdl_put *p = put_of(b->args);
    if (p->to[b->rank])
        (void) wdl_build_call(b, do_fetch, b->rank, 3);
    for (int d = 1; d < b->size; d++) {
        int host = (b->rank + d) % b->size, guest = (b->rank - d + b->size) % b->size;
        if (p->to[host])
            (p->gets && is_near(b, host) ? fetch_build : guest_build)(b, host);
        if (p->from[guest])
            (p->gets && is_near(b, guest) ? fetched_build : host_build)(b, guest);
    }
}

wdl_gas_handle wdl_put_pairs_start(struct wdl_gas_op *op, int flags)
{
    struct wdl_put *p = op->own;
    size_t size = (size_t) op->team->size, sum = 0;
    p->here = wdl_gas_op_memory(op, 2 * p->count * sizeof(*p->here));
    p->pairs = wdl_gas_op_memory(op, size * sizeof(*p->pairs));
    if (!p->here || !p->pairs)
        return wdl_gas_op_fail(op, WDL_GAS_ERR_NOMEM);
    p->there = p->here + p->count;
    wdl_put_addresses(op, p->gets ? op->dst : op->src, p->here);
    wdl_put_addresses(op, p->gets ? op->src : op->dst, p->there);
    for (size_t i = 0; i < size; i++) {
        p->pairs[i].first = sum;
        sum += p->to[i];
    }
    op->args.kind = WDL_COLL_CUSTOM;
    op->args.build = pairs_build;
    op->args.flow = WDL_FLOW_ALL;
    return wdl_gas_op_start(op, flags);
}
