/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * put and get, and their M forms, as one graph in which each partner is served by itself: who is
 * late delays those it has something to do with.
 *
 * Who comes does not say beforehand with how many blocks. So it sends a head as long as a cell,
 * which says so; behind that the parcel, addresses and what is put there, if it fits. If not, the
 * host makes room for it and says "go on". Within a node it fetches the parcel, and says that it
 * has. A put is of one block: its parcel alone is the head. Who gets knows how long the answer is;
 * within a node it needs no head, but fetches from the host, once that has begun, what it wants.
 *
 *   guest                            host
 *                 <- first           (many ranks, no cells; a put longer than one; near get: begun)
 *   head          ->
 *                 <- second          (a long parcel: go on; near: I have it)
 *   parcel        ->                 (a long one)
 *                 <- blocks          (get)
 *
 * What is put that way is copied: nobody who gives waits for its host, and who answers only until
 * it has been asked. Long blocks are not in the parcel, but where they are and belong. Between
 * nodes they follow when who gets them has said where they may go: one alone from its place to its
 * place, several through memory in between. Within a node the host fetches them, too.
 *
 *   place         ->                 (long get)
 *                 <- place           (long put)
 *   blocks        ->                 (long put)
 *
 * Where a host has not asked for its guests (permute) and has no cell for each, a guest says first
 * that it comes, by a flag. A host has seats for so many as can come, CARs that are a guest's as
 * soon as its flag is there; "first" tells the guest that it has one.
 */
#include <string.h>
#include "mpid/coll/algo.h"
#include "mpid/coll/board.h"
#include "mpid/coll/fail.h"
#include "mpid/coll/gasnet_put.h"
#include "mpid/coll/nodes.h"

struct head {
    uint64_t count; /* of blocks */
    uint64_t parcel; /* where it is, for a host that can look there */
};

/* What a host has for a guest. */
struct hosting {
    size_t come_at; /* the head, in the run's memory */
    int head_car, first_car, second_car, parcel_car, place_car, blocks_car;
};

struct wdl_put_pair {
    size_t first, next; /* of the own blocks, in `here` and `there` */
    size_t head_at, parcel_at, blocks_at; /* as a guest: in the run's memory */
    struct hosting host; /* as a host */
    uint64_t count;
    size_t filled; /* units that have a block of its */
    char *parcel, *blocks; /* blocks: several long ones that are put */
    int comes_car; /* whether it comes; the head, where that says so */
    int is_absent, has_come; /* nothing comes from it; it has a seat */
};

/* For a guest that is not known before it comes: the CARs behind `gate`, to `end`. */
struct wdl_put_seat {
    struct hosting host;
    int gate, end;
};

/* A message that comes for a role without a cell finds its RECV armed; flags may come early. COMES
 * is such a flag of a guest that nobody has asked for; the head follows when it has a seat. */
enum role { HEAD, FIRST, SECOND, PLACE, PARCEL, BLOCKS, HEAD_OF_SEAT, COMES = HEAD };

static uint32_t role_of(const struct wdl_build *b, enum role role, int guest, int host)
{
    /* where each has a cell only one of FIRST and SECOND is wanted */
    static const enum wdl_phase phases[] = {WDL_PHASE_DATA, WDL_PHASE_READY, WDL_PHASE_READY,
                                            WDL_PHASE_READY2};
    int known = guest != WDL_PEER_LATER && host != WDL_PEER_LATER;
    int d = known ? wdl_ring_distance(b, host, guest) : 0;
    if (role <= PLACE && b->size < b->team->links)
        return wdl_role(b, phases[role], d);
    if (role > PLACE) /* behind the flags that may come early */
        return wdl_role_bare(b, (int) wdl_roles_bare_max(b->team) +
                                    (int) (role - PARCEL) * b->size + d);
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

static int is_long(const struct wdl_coll_args *args)
{
    return bytes_of(args) > WDL_PUT_LONG;
}

/* A block's share of a parcel: where it is remotely; of what is put, it or where it is. */
static size_t share(const struct wdl_coll_args *args)
{
    size_t block = is_long(args) ? sizeof(uint64_t) : bytes_of(args);
    return sizeof(uint64_t) + (put_of(args)->gets ? 0 : block);
}

/* Can either look at the other's memory? */
static int is_near(const struct wdl_team *team, int rank)
{
    if (team->on_node)
        return team->params.shm->peek != NULL;
    return team->nodes && team->nodes->node_of[rank] == team->nodes->mine;
}

/* In front of the parcel; a block alone that is put needs nothing there, where the host need not
 * fetch it. */
static size_t front_bytes(const struct wdl_team *team, const struct wdl_coll_args *args, int rank)
{
    const struct wdl_put *p = put_of(args);
    int alone = !p->many && !p->gets && !is_long(args);
    int goes = alone && (share(args) <= team->params.cell_bytes || !is_near(team, rank));
    return goes ? 0 : sizeof(struct head);
}

static size_t head_bytes(const struct wdl_team *team, const struct wdl_coll_args *args, int rank)
{
    const struct wdl_put *p = put_of(args);
    size_t front = front_bytes(team, args, rank);
    size_t least = front + (!front || p->gets || is_long(args) ? share(args) : 0);
    return p->many && team->params.cell_bytes > least ? team->params.cell_bytes : least;
}

/* Is the parcel in the head? */
static int fits(const struct wdl_team *team, const struct wdl_coll_args *args, int rank,
                uint64_t count)
{
    size_t room = head_bytes(team, args, rank) - front_bytes(team, args, rank);
    return count <= room / share(args);
}

/* Nobody is to come before there is a place for a head. */
static int is_waited_for(const struct wdl_build *b, int rank)
{
    int has_cell = head_bytes(b->team, b->args, rank) <= b->team->params.cell_bytes;
    return !b->armed && (b->size >= b->team->links || !has_cell);
}

/* Do guests come that nobody has asked for, and have no cells? */
static int has_seats(const struct wdl_build *b)
{
    return put_of(b->args)->turn && b->size >= b->team->links;
}

static uint32_t head_role(const struct wdl_build *b, int guest, int host)
{
    return role_of(b, has_seats(b) ? HEAD_OF_SEAT : HEAD, guest, host);
}

/* --- the guest --- */

static void *place(uint64_t address)
{
    return (void *) (uintptr_t) address;
}

/* It goes as a whole. Where there is nothing in front the parcel is the head. */
static void head_fill(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *args = &run->args;
    const struct wdl_put_pair *pair = &put_of(args)->pairs[rank];
    uint64_t count = put_of(args)->to[rank];
    size_t front = front_bytes(run->team, args, rank);
    char *parcel = run->tmp + pair->parcel_at, *at = run->tmp + pair->head_at;
    struct head head = {count, (uint64_t) (uintptr_t) parcel};
    if (!front)
        return;
    memset(at, 0, head_bytes(run->team, args, rank));
    memcpy(at, &head, front);
    if (fits(run->team, args, rank, count))
        memcpy(at + front, parcel, count * share(args));
}

static int do_pack(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    const struct wdl_put_pair *pair = &p->pairs[rank];
    uint64_t count = p->to[rank];
    size_t bytes = bytes_of(&run->args);
    int is_apart = is_long(&run->args), packs = !is_apart || pair->blocks_at;
    char *parcel = run->tmp + pair->parcel_at, *behind = parcel + count * sizeof(uint64_t);
    char *to = is_apart ? run->tmp + pair->blocks_at : behind;
    memcpy(parcel, p->there + pair->first, count * sizeof(uint64_t));
    if (is_apart && !p->gets)
        memcpy(behind, p->here + pair->first, count * sizeof(uint64_t));
    for (uint64_t i = 0; i < count && !p->gets && packs; i++)
        memcpy(to + i * bytes, place(p->here[pair->first + i]), bytes);
    head_fill(run, rank);
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

/* Several of a host's blocks go through memory in between. */
static struct wdl_loc blocks_loc(struct wdl_build *b, int rank, size_t bytes)
{
    const struct wdl_put *p = put_of(b->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    pair->blocks_at = p->to[rank] > 1 ? wdl_build_tmp(b, bytes) : 0;
    return p->to[rank] > 1 ? wdl_tmp(pair->blocks_at) : wdl_at(place(p->here[pair->first]));
}

/* The head says that there is a place for them; of long ones, where it is, is said beside it. */
static void guest_takes(struct wdl_build *b, int rank)
{
    size_t bytes = put_of(b->args)->to[rank] * bytes_of(b->args);
    struct wdl_loc to = blocks_loc(b, rank, bytes);
    int come = wdl_build_recv(b, rank, role_of(b, BLOCKS, b->rank, rank), to, bytes);
    wdl_build_order(b, come, wdl_build_call(b, do_unpack, rank, 2));
    if (is_long(b->args))
        wdl_ready_send(b, rank, role_of(b, PLACE, b->rank, rank), to, bytes);
}

static void guest_gives(struct wdl_build *b, int rank, int packed)
{
    size_t bytes = put_of(b->args)->to[rank] * bytes_of(b->args);
    struct wdl_loc from = blocks_loc(b, rank, bytes);
    int send = wdl_build_send(b, rank, role_of(b, BLOCKS, b->rank, rank), from, bytes);
    wdl_build_order(b, packed, send);
    wdl_ready_for(b, wdl_ready_recv(b, rank, role_of(b, PLACE, b->rank, rank)), send, 0);
    wdl_build_touches(b, send, from.buf == WDL_BUF_AT);
}

static void guest_build(struct wdl_build *b, int rank)
{
    const struct wdl_put *p = put_of(b->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    size_t head = head_bytes(b->team, b->args, rank), parcel = p->to[rank] * share(b->args);
    int near = is_near(b->team, rank), fetched = near && is_long(b->args);
    pair->head_at = wdl_build_tmp(b, head);
    pair->parcel_at =
        front_bytes(b->team, b->args, rank) ? wdl_build_tmp(b, parcel) : pair->head_at;
    pair->blocks_at = 0;
    int pack = wdl_build_call(b, do_pack, rank, 1);
    int goes = wdl_build_send(b, rank, head_role(b, b->rank, rank), wdl_tmp(pair->head_at), head);
    wdl_build_order(b, pack, goes);
    if (has_seats(b))
        (void) wdl_build_send(b, rank, role_of(b, COMES, b->rank, rank), wdl_nowhere(), 0);
    if (p->gets)
        guest_takes(b, rank);
    else if (is_long(b->args) && !near)
        guest_gives(b, rank, pack);
    if (is_waited_for(b, rank))
        wdl_build_order(b,
                        wdl_build_recv(b, rank, role_of(b, FIRST, b->rank, rank), wdl_nowhere(), 0),
                        goes);
    if (fits(b->team, b->args, rank, p->to[rank]) && !fetched)
        return;
    int second = wdl_build_recv(b, rank, role_of(b, SECOND, b->rank, rank), wdl_nowhere(), 0);
    wdl_build_touches(b, second, fetched);
    if (!near)
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

static void host_drops(struct wdl_run *run, const struct wdl_put_pair *pair)
{
    drop(run, pair->host.second_car);
    drop(run, pair->host.parcel_car);
    drop(run, pair->host.place_car);
    drop(run, pair->host.blocks_car);
}

static int host_fails(struct wdl_run *run, const struct wdl_put_pair *pair)
{
    host_drops(run, pair);
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
    if (pair->host.parcel_car == WDL_CAR_NONE)
        return wdl_board_fetch(run, rank, place(there), pair->parcel, bytes);
    wdl_car_size(run, pair->host.parcel_car, pair->parcel, bytes, memory + at);
    return WDL_OK;
}

/* Long blocks that are put within a node. */
static int is_fetched(const struct wdl_run *run, int rank)
{
    return is_long(&run->args) && !put_of(&run->args)->gets && is_near(run->team, rank);
}

static int do_come(struct wdl_run *run, int rank)
{
    const struct wdl_coll_args *args = &run->args;
    struct wdl_put_pair *pair = &put_of(args)->pairs[rank];
    char *at = run->tmp + pair->host.come_at;
    size_t front = front_bytes(run->team, args, rank);
    struct head head = {1, 0};
    if (pair->is_absent) {
        host_drops(run, pair);
        return WDL_OK;
    }
    memcpy(&head, at, front);
    if (head.count == 0 || head.count > PTRDIFF_MAX / (sizeof(uint64_t) + bytes_of(args)) - 1)
        return host_fails(run, pair);
    pair->count = head.count;
    if (!fits(run->team, args, rank, head.count))
        return parcel_come(run, rank, head.parcel, head.count * share(args));
    pair->parcel = at + front;
    drop(run, pair->host.parcel_car);
    if (!is_fetched(run, rank)) /* it says that they are */
        drop(run, pair->host.second_car);
    return WDL_OK;
}

/* The remote ones, and behind them those of long blocks that are put. */
static uint64_t address_of(const struct wdl_put_pair *pair, uint64_t i)
{
    uint64_t address;
    memcpy(&address, pair->parcel + i * sizeof(address), sizeof(address));
    return address;
}

/* Where the i-th block belongs; asked once of each. */
static char *target_of(struct wdl_run *run, struct wdl_put_pair *pair, uint64_t i)
{
    uint64_t address = address_of(pair, i);
    if (!put_of(&run->args)->turn)
        return place(address);
    char *to = wdl_put_turn_fill(run->args.local, address);
    pair->filled += to != NULL;
    return to;
}

/* All that comes from it has. */
static void pair_over(struct wdl_run *run, struct wdl_put_pair *pair)
{
    struct wdl_put_turn *turn = put_of(&run->args)->turn;
    if (!turn)
        return;
    turn->got += pair->filled;
    turn->left--;
}

/* Short blocks, which came with the parcel. */
static int serve_given(struct wdl_run *run, struct wdl_put_pair *pair)
{
    size_t bytes = bytes_of(&run->args);
    const char *from = pair->parcel + pair->count * sizeof(uint64_t);
    for (uint64_t i = 0; i < pair->count; i++) {
        char *to = target_of(run, pair, i);
        if (to)
            memcpy(to, from + i * bytes, bytes);
    }
    pair_over(run, pair);
    return WDL_OK;
}

static int serve_fetched(struct wdl_run *run, struct wdl_put_pair *pair, int rank)
{
    int status = WDL_OK;
    for (uint64_t i = 0; i < pair->count && status == WDL_OK; i++) {
        char *to = target_of(run, pair, i);
        if (to)
            status = wdl_board_fetch(run, rank, place(address_of(pair, pair->count + i)), to,
                                     bytes_of(&run->args));
    }
    pair_over(run, pair);
    return status;
}

/* There is a place for long blocks. */
static int serve_placed(struct wdl_run *run, struct wdl_put_pair *pair)
{
    size_t bytes = pair->count * bytes_of(&run->args);
    size_t map = wdl_car_map_words(run->team, bytes) * sizeof(uint64_t);
    char *at = pair->count > 1 ? NULL : target_of(run, pair, 0);
    uint64_t *memory = wdl_gas_op_memory(run->args.local, map + (at ? 0 : bytes));
    if (!memory)
        return host_fails(run, pair);
    if (!at)
        pair->blocks = at = (char *) memory + map;
    wdl_car_size(run, pair->host.blocks_car, at, bytes, memory);
    wdl_car_offer(run, pair->host.place_car, at, bytes);
    return WDL_OK;
}

/* What is long and one goes from where it is. */
static int serve_asked(struct wdl_run *run, const struct wdl_put_pair *pair)
{
    size_t bytes = bytes_of(&run->args), all = pair->count * bytes;
    int as_it_is = is_long(&run->args) && pair->count == 1;
    char *answer = as_it_is ? place(address_of(pair, 0)) : wdl_gas_op_memory(run->args.local, all);
    if (!answer)
        return host_fails(run, pair);
    for (uint64_t i = 0; i < pair->count && !as_it_is; i++)
        memcpy(answer + i * bytes, place(address_of(pair, i)), bytes);
    wdl_car_size(run, pair->host.blocks_car, answer, all, NULL);
    return WDL_OK;
}

static int do_serve(struct wdl_run *run, int rank)
{
    const struct wdl_put *p = put_of(&run->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    if (!pair->parcel) /* it has failed */
        return WDL_OK;
    if (p->gets)
        return serve_asked(run, pair);
    if (!is_long(&run->args))
        return serve_given(run, pair);
    return is_fetched(run, rank) ? serve_fetched(run, pair, rank) : serve_placed(run, pair);
}

static int do_spread(struct wdl_run *run, int rank)
{
    struct wdl_put_pair *pair = &put_of(&run->args)->pairs[rank];
    size_t bytes = bytes_of(&run->args);
    for (uint64_t i = 0; i < pair->count && pair->count > 1 && pair->blocks; i++) {
        char *to = target_of(run, pair, i);
        if (to)
            memcpy(to, pair->blocks + i * bytes, bytes);
    }
    if (pair->count)
        pair_over(run, pair);
    return WDL_OK;
}

void wdl_put_absent(struct wdl_run *run, int rank)
{
    struct wdl_put_pair *pair = &put_of(&run->args)->pairs[rank];
    pair->is_absent = 1;
    wdl_car_give_up(run, pair->comes_car);
}

static void fetched_build(struct wdl_build *b, int rank)
{
    (void) wdl_build_send(b, rank, role_of(b, FIRST, rank, b->rank), wdl_nowhere(), 0);
    if (b->args->flags & WDL_COLL_OUT_MYSYNC)
        wdl_build_user(b,
                       wdl_build_recv(b, rank, role_of(b, HEAD, rank, b->rank), wdl_nowhere(), 0));
}

/* What of it goes by messages of its own. */
static void host_gives(struct wdl_build *b, struct hosting *host, int rank, int serve)
{
    host->blocks_car = wdl_build_send_late(b, rank, role_of(b, BLOCKS, rank, b->rank));
    wdl_build_order(b, serve, host->blocks_car);
    if (!is_long(b->args))
        return;
    wdl_build_touches(b, host->blocks_car, 1);
    wdl_ready_for(b, wdl_ready_recv(b, rank, role_of(b, PLACE, rank, b->rank)), host->blocks_car,
                  0);
}

static void host_takes(struct wdl_build *b, struct hosting *host, int rank, int serve)
{
    host->blocks_car = wdl_build_recv_late(b, rank, role_of(b, BLOCKS, rank, b->rank));
    host->place_car = wdl_build_offer_late(b, rank, role_of(b, PLACE, rank, b->rank));
    wdl_build_order(b, serve, host->blocks_car);
    wdl_build_order(b, serve, host->place_car);
    int touches = put_of(b->args)->turn ? 0 : 2;
    wdl_build_order(b, host->blocks_car, wdl_build_call(b, do_spread, rank, touches));
}

static void hosting_build(struct wdl_build *b, struct hosting *host, int rank, int near)
{
    const struct wdl_put *p = put_of(b->args);
    size_t bytes = head_bytes(b->team, b->args, rank);
    int puts_long = is_long(b->args) && !p->gets, has_cell = p->turn && !has_seats(b);
    host->come_at = wdl_build_tmp(b, bytes);
    host->first_car = host->parcel_car = host->place_car = host->blocks_car = WDL_CAR_NONE;
    host->head_car =
        (has_cell ? wdl_build_recv_maybe : wdl_build_recv)(b, rank, head_role(b, rank, b->rank),
                                                           wdl_tmp(host->come_at), bytes);
    int come = wdl_build_call(b, do_come, rank, 0);
    int serve = wdl_build_call(b, do_serve, rank, p->turn ? 0 : p->gets ? 1 : 2);
    wdl_build_order(b, host->head_car, come);
    wdl_build_order(b, come, serve);
    if (!near) {
        host->parcel_car = wdl_build_recv_late(b, rank, role_of(b, PARCEL, rank, b->rank));
        wdl_build_order(b, come, host->parcel_car);
        wdl_build_order(b, host->parcel_car, serve);
    }
    host->second_car =
        wdl_build_send(b, rank, role_of(b, SECOND, rank, b->rank), wdl_nowhere(), 0);
    wdl_build_order(b, near && puts_long ? serve : come, host->second_car);
    if (p->gets)
        host_gives(b, host, rank, serve);
    else if (puts_long && !near)
        host_takes(b, host, rank, serve);
    if (is_waited_for(b, rank))
        host->first_car =
            wdl_build_send(b, rank, role_of(b, FIRST, rank, b->rank), wdl_nowhere(), 0);
}

static void host_build(struct wdl_build *b, int rank)
{
    struct wdl_put_pair *pair = &put_of(b->args)->pairs[rank];
    hosting_build(b, &pair->host, rank, is_near(b->team, rank));
    pair->comes_car = pair->host.head_car;
}

/* --- guests that nobody has asked for, among many: a seat for each that can come --- */

/* It comes. More than there are seats for have no unit to fill. */
static int do_seat(struct wdl_run *run, int rank)
{
    struct wdl_put *p = put_of(&run->args);
    struct wdl_put_pair *pair = &p->pairs[rank];
    struct wdl_put_seats *seats = &p->turn->seats[is_near(run->team, rank)];
    if (pair->is_absent)
        return WDL_OK;
    if (seats->taken == seats->count) {
        ((struct wdl_gas_op *) run->args.local)->error = WDL_GAS_ERR_NODES;
        wdl_run_fail(run);
        return WDL_ERR_TRUNCATE;
    }
    const struct wdl_put_seat *seat = &seats->seat[seats->taken++];
    int d = (rank - run->team->rank + run->team->size) % run->team->size;
    pair->host = seat->host;
    pair->has_come = 1;
    for (int i = seat->gate + 1; i < seat->end; i++)
        wdl_car_peer(run, i, rank, (uint32_t) d);
    wdl_car_give_up(run, seat->gate);
    return WDL_OK;
}

void wdl_put_known(struct wdl_run *run)
{
    const struct wdl_put *p = put_of(&run->args);
    int expected[2] = {0, 0};
    for (int rank = 0; rank < run->team->size && p->turn->units; rank++)
        if (rank != run->team->rank && !p->pairs[rank].is_absent && !p->pairs[rank].has_come)
            expected[is_near(run->team, rank)]++;
    for (int near = 0; near < 2; near++) {
        struct wdl_put_seats *seats = &p->turn->seats[near];
        while (seats->count - seats->taken > expected[near]) {
            const struct wdl_put_seat *seat = &seats->seat[--seats->count];
            for (int i = seat->gate + 1; i < seat->end; i++)
                wdl_car_drop(run, i);
            wdl_car_give_up(run, seat->gate);
        }
    }
}

static void seat_build(struct wdl_build *b, struct wdl_put_seat *seat, int near)
{
    seat->gate = wdl_build_gate(b);
    hosting_build(b, &seat->host, WDL_PEER_LATER, near);
    seat->end = b->ncars;
    wdl_build_order(b, seat->gate, seat->host.head_car);
    wdl_build_order(b, seat->gate, seat->host.first_car);
}

static void seats_build(struct wdl_build *b)
{
    struct wdl_put *p = put_of(b->args);
    int count[2] = {0, 0};
    for (int d = 1; d < b->size; d++) {
        int rank = (b->rank + d) % b->size;
        p->pairs[rank].comes_car =
            wdl_build_recv_maybe(b, rank, role_of(b, COMES, rank, b->rank), wdl_nowhere(), 0);
        wdl_build_order(b, p->pairs[rank].comes_car, wdl_build_call(b, do_seat, rank, 0));
        count[is_near(b->team, rank)]++;
    }
    for (int near = 0; near < 2; near++) {
        struct wdl_put_seats *seats = &p->turn->seats[near];
        size_t most = (size_t) count[near];
        seats->count = (int) (p->turn->count < most ? p->turn->count : most);
        seats->seat =
            wdl_gas_op_memory(b->args->local, (size_t) seats->count * sizeof(*seats->seat));
        if (!seats->seat)
            b->status = WDL_ERR_NOMEM;
        for (int i = 0; i < seats->count && seats->seat; i++)
            seat_build(b, &seats->seat[i], near);
    }
}

/* --- both --- */

static void pairs_build(struct wdl_build *b)
{
    const struct wdl_put *p = put_of(b->args);
    if (p->turn)
        wdl_put_turn_build(b);
    else if (p->to[b->rank])
        (void) wdl_build_call(b, do_fetch, b->rank, 3);
    if (has_seats(b))
        seats_build(b);
    for (int d = 1; d < b->size; d++) {
        int host = (b->rank + d) % b->size, guest = (b->rank - d + b->size) % b->size;
        if (p->to[host])
            (p->gets && is_near(b->team, host) ? fetch_build : guest_build)(b, host);
        if (p->from[guest] && !has_seats(b))
            (p->gets && is_near(b->team, guest) ? fetched_build : host_build)(b, guest);
    }
}

/* The addresses in `list`, of the own blocks by node. */
static void addresses(struct wdl_gas_op *op, void *const *list, uint64_t *out)
{
    const struct wdl_put *p = op->own;
    uint64_t sum = 0;
    for (int i = 0; i < op->team->size; i++) {
        p->pairs[i].first = p->pairs[i].next = sum;
        sum += p->to[i];
    }
    for (size_t i = 0; i < p->count; i++)
        out[p->pairs[p->nodes[i]].next++] = (uint64_t) (uintptr_t) list[i];
}

enum wdl_put_coming wdl_put_coming(const struct wdl_gas_team *team)
{
    const struct wdl_team *outer = team->outer.team;
    if (outer->size >= outer->links)
        return WDL_PUT_BY_FLAGS;
    return outer->size <= 16 &&
                   outer->params.cell_bytes >= (size_t) outer->size * sizeof(uint16_t)
               ? WDL_PUT_BY_CELLS
               : WDL_PUT_NOT;
}

int wdl_put_pairs(struct wdl_gas_op *op, void *const *here, void *const *there)
{
    struct wdl_put *p = op->own;
    int way = (p->turn != NULL) << 2 | p->many << 1 | p->gets;
    p->here = wdl_gas_op_memory(op, 2 * p->count * sizeof(*p->here));
    p->pairs = wdl_gas_op_memory(op, (size_t) op->team->size * sizeof(*p->pairs));
    if (!p->here || !p->pairs)
        return WDL_ERR_NOMEM;
    p->there = p->here + p->count;
    addresses(op, here, p->here);
    addresses(op, there, p->there);
    op->args.kind = WDL_COLL_CUSTOM;
    op->args.bytes = op->nbytes << 3 | (unsigned) way; /* what both must mean */
    op->args.build = pairs_build;
    op->args.flow = WDL_FLOW_ALL;
    return WDL_OK;
}
