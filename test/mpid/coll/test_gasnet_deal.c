/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Dealing an array anew, by the graphs' rules alone: from every layout to every other, units that
 * are nodes or images, elements of any size; a parcel between each two that have to do with it, and
 * no other; what is refused.
 */
#include <stdlib.h>
#include <string.h>
#include "mpid/coll/gasnet_deal.h"
#include "mpid/coll/graphs.h"
#include "support/must.h"
#include "support/suite.h"

enum { NODES = 5, IMAGES_MAX = 3, COUNT_MAX = 40, ROOM = 4096 };

static struct graphs g;
static struct side { /* of one node */
    struct wdl_gas_team team;
    struct wdl_gas_op op;
    struct wdl_deal deal;
    size_t first[NODES + 1];
    void *from[IMAGES_MAX], *to[IMAGES_MAX], *one[2];
    int64_t *words;
} sides[NODES];
static struct wdl_cyclic from_layout, to_layout;
static size_t bytes;
static int m, leave; /* m: units are images */

static int units_of(int node)
{
    return m ? 1 + node % IMAGES_MAX : 1;
}

static void build(struct wdl_build *b)
{
    wdl_build_user(b, wdl_deal_build(b, WDL_DEAL_IN, WDL_PHASE_OUT2, 0, WDL_CAR_NONE));
}

static void plan(int node)
{
    struct side *s = &sides[node];
    for (int i = 0; i < g.n; i++)
        s->first[i + 1] = s->first[i] + (size_t) units_of(i);
    for (int k = 0; k < units_of(node); k++) {
        s->from[k] = g.one[node].src + k * ROOM;
        s->to[k] = g.one[node].dst + k * ROOM;
    }
    s->team = (struct wdl_gas_team){.rank = node, .size = g.n, .first = s->first};
    s->op = (struct wdl_gas_op){.team = &s->team};
    s->deal = (struct wdl_deal){
        .from = {.layout = from_layout, .first = m ? s->first : NULL, .list = s->from},
        .to = {.layout = to_layout, .first = m ? s->first : NULL, .list = s->to},
        .leave_first = leave};
    s->words = calloc(wdl_deal_words(g.n, (size_t) units_of(node)), sizeof(int64_t));
    wdl_deal_init(&s->op, WDL_DEAL_IN, &s->deal, bytes, s->words);
    g.one[node].local = &s->op;
}

static int node_of(int unit)
{
    int node = 0;
    while (sides[0].first[node + 1] <= (size_t) unit)
        node++;
    return node;
}

static char *element(const struct wdl_cyclic *layout, int is_from, int64_t e)
{
    int unit = wdl_cyclic_rank(layout, e), node = node_of(unit);
    struct side *s = &sides[node];
    char *base = (is_from ? s->from : s->to)[unit - (int) s->first[node]];
    return base + (size_t) wdl_cyclic_place(layout, e) * bytes;
}

static uint64_t seed;

static void deal(int n, int64_t count)
{
    uint64_t parcels = 0;
    char talk[NODES][NODES] = {{0}};
    graphs_open(&g, n, IMAGES_MAX * ROOM, ++seed);
    g.armed = seed % 3 == 0;
    for (int i = 0; i < n; i++)
        plan(i);
    for (int64_t e = 0; e < count; e++) {
        int a = node_of(wdl_cyclic_rank(&from_layout, e)),
            b = node_of(wdl_cyclic_rank(&to_layout, e));
        parcels += a != b && !talk[a][b]++;
    }
    char before[64];
    memcpy(before, element(&to_layout, 0, 0), bytes);
    graphs_run(&g, build, &(struct wdl_coll_args){.kind = WDL_COLL_CUSTOM});
    for (int64_t e = leave; e < count; e++)
        must(memcmp(element(&to_layout, 0, e), element(&from_layout, 1, e), bytes) == 0);
    if (leave)
        must(memcmp(before, element(&to_layout, 0, 0), bytes) == 0);
    must_cmp(graphs_sent(&g), ==, parcels);
    must_cmp(graphs_flags(&g), ==, g.armed ? 0 : parcels);
    for (int i = 0; i < n; i++)
        free(sides[i].words);
    graphs_close(&g);
}

START_TEST(from_every_layout_to_every_other)
{
    static const size_t sizes[] = {1, 4, 12};
    static const int64_t counts[] = {1, 2, 7, COUNT_MAX};
    for (m = 0; m < 2; m++)
        for (int n = 1; n <= NODES; n++) {
            int units = 0;
            for (int i = 0; i < n; i++)
                units += units_of(i);
            for (int64_t from = 0; from < 4; from++)
                for (int64_t to = 0; to < 4; to++)
                    for (int c = 0; c < 4; c++) {
                        int64_t off = (from * 5 + to * 3 + c) % units;
                        bytes = sizes[(from + to + c) % 3];
                        leave = (from + c) % 2 != 0;
                        must_cmp(wdl_cyclic_init(&from_layout, units, from, off, counts[c]), ==,
                                 WDL_OK);
                        must_cmp(wdl_cyclic_init(&to_layout, units, to, units - 1 - off,
                                                 counts[c]),
                                 ==, WDL_OK);
                        deal(n, counts[c]);
                    }
        }
}
END_TEST

/* A client's array: its units by its list or its one address; alignment, and the segment. */
START_TEST(arrays_are_checked)
{
    static _Alignas(16) char memory[2 * ROOM];
    size_t first[] = {0, 2, 3};
    struct wdl_gas_team team = {.rank = 0, .size = 2, .first = first};
    struct wdl_deal_side side;
    void *room[2], *list[2] = {memory, memory + ROOM};
    struct wdl_gas_array array = {memory, 3, 1};
    must_cmp(wdl_deal_side(&side, &team, &array, NULL, room, 10, WDL_COLL_LOCAL), ==, WDL_OK);
    must(side.list[0] == memory && side.layout.ranks == 2 && !side.first);
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 0), ==, WDL_GAS_FINE);
    must_cmp(wdl_deal_side(&side, &team, &array, list, room, 10, WDL_COLL_LOCAL), ==, WDL_OK);
    must(side.list[1] == list[1] && side.layout.ranks == 3 && side.first == first);
    list[1] = NULL; /* the client's again */
    must(side.list[1] == memory + ROOM);
    room[1] = memory + ROOM + 2;
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 0), ==, WDL_GAS_ERR_ALIGNMENT);
    must_cmp(wdl_deal_error(&team, &side, 4, 4, WDL_GAS_UNALIGNED, 0), ==, WDL_GAS_FINE);
    must_cmp(wdl_deal_error(&team, &side, 4, 2, 0, 0), ==, WDL_GAS_FINE);
    for (size_t elem = 1; elem <= 48; elem++)
        for (size_t skew = 0; skew < 16; skew++) {
            size_t align = elem & (~elem + 1); /* the greatest power of two in it */
            room[1] = memory + ROOM + skew;
            must_cmp(wdl_deal_error(&team, &side, elem, elem, 0, 0) != WDL_GAS_FINE, ==,
                     skew % (align < 8 ? align : 8) != 0);
        }
    array = (struct wdl_gas_array){memory, 0, 0}; /* all on unit 0: nobody looks at unit 1's */
    must_cmp(wdl_deal_side(&side, &team, &array, list, room, 10, WDL_COLL_LOCAL), ==, WDL_OK);
    room[1] = memory + 1;
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 0), ==, WDL_GAS_FINE);
    room[0] = memory + 1;
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 0), ==, WDL_GAS_ERR_ALIGNMENT);
    team.segment = memory + ROOM;
    team.segment_bytes = ROOM;
    room[0] = memory;
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 1), ==, WDL_GAS_ERR_SEGMENT);
    room[0] = memory + ROOM;
    room[1] = memory;
    must_cmp(wdl_deal_error(&team, &side, 4, 4, 0, 1), ==, WDL_GAS_FINE);
    array = (struct wdl_gas_array){memory, 0, 3}; /* all on unit 3, and there is none */
    must_cmp(wdl_deal_side(&side, &team, &array, list, room, 10, WDL_COLL_LOCAL), !=, WDL_OK);
}
END_TEST

WDL_SUITE("coll/gasnet_deal", from_every_layout_to_every_other, arrays_are_checked)
