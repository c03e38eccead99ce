/* Part of Windlass. See COPYRIGHT in the top-level directory. Tests of netmod/sim's memory and
 * keys: limits, what a NIC's atomics lose against the CPU, what its users are stopped from. */
#include <string.h>
#include "netmod/bed.h"
#include "netmod/sim/sim_impl.h"
#include "support/suite.h"

/* Memory of rank 1 as rank 0 reaches it. */
struct own {
    struct wdl_sim_params limits;
    struct nm_way way;
    struct bed bed;
    struct wdl_nm *nm, *owner;
    uint64_t memory[8];
    struct wdl_nm_mem *mem;
    struct wdl_nm_rkey *rkey;
};

static void own_open(struct own *own, uint64_t seed, uint64_t delay_ns,
                     const struct wdl_sim_params *limits)
{
    char key[WDL_NM_KEY_BYTES_MAX];
    size_t bytes = sizeof(key);
    memset(own, 0, sizeof(*own));
    own->limits = *limits;
    own->way = (struct nm_way){.name = "sim", .ops = &wdl_nm_sim_ops, .seed = seed,
                               .delay_ns = delay_ns, .limits = &own->limits};
    bed_open(&own->bed, &own->way, 2);
    own->nm = own->bed.rank[0].nm;
    own->owner = own->bed.rank[1].nm;
    ck_assert_int_eq(own->owner->ops->mem_attach(own->owner, own->memory, sizeof(own->memory),
                                                 &own->mem), WDL_OK);
    ck_assert_int_eq(own->owner->ops->mem_key(own->owner, own->mem, key, &bytes), WDL_OK);
    ck_assert_uint_eq(bytes, own->nm->ops->caps(own->nm)->key_bytes_max);
    ck_assert_int_eq(own->nm->ops->rkey_open(own->nm, 1, key, bytes, &own->rkey), WDL_OK);
}

static uint64_t address(const struct own *own)
{
    return (uint64_t) (uintptr_t) own->memory;
}

static int put(struct own *own, struct bed_comp *c)
{
    *c = bed_comp();
    return own->nm->ops->put(own->nm, 1, "01234567", 8, address(own), own->rkey, &c->comp);
}

static int add(struct own *own, struct bed_comp *c)
{
    *c = bed_comp();
    return own->nm->ops->atomic(own->nm, 1, WDL_NM_ADD, 8, 1, 0, NULL, address(own), own->rkey,
                                &c->comp);
}

static void turn(struct own *own, uint64_t ns)
{
    own->nm->ops->poll(own->nm);
    wdl_sim_advance(own->bed.sim, ns);
}

START_TEST(a_key_has_the_length_asked_for)
{
    static const struct wdl_sim_params bad[] = {
        {.ranks = 1, .key_bytes = 1},
        {.ranks = 1, .key_bytes = sizeof(struct sim_key) - 1},
        {.ranks = 1, .key_bytes = WDL_NM_KEY_BYTES_MAX + 1}};
    static const size_t good[] = {0, sizeof(struct sim_key), 100, WDL_NM_KEY_BYTES_MAX};
    for (int i = 0; i < 3; i++)
        ck_assert_ptr_null(wdl_sim_create(&bad[i]));
    for (int i = 0; i < 4; i++) {
        struct own own;
        own_open(&own, 1, 0, &(struct wdl_sim_params){.key_bytes = good[i]});
        ck_assert_uint_eq(own.nm->ops->caps(own.nm)->key_bytes_max,
                          good[i] ? good[i] : sizeof(struct sim_key));
        bed_close(&own.bed);
    }
}
END_TEST

/* attach_max and ops_max are exact, and what was refused goes when there is room again. */
START_TEST(limits)
{
    struct own own;
    struct bed_comp c[5];
    struct wdl_nm_mem *mem, *none;
    own_open(&own, 1, 100, &(struct wdl_sim_params){.attach_max = 2, .ops_max = 3});
    const struct wdl_nm_ops *ops = own.owner->ops;
    ck_assert_int_eq(ops->mem_attach(own.owner, own.memory, 8, &mem), WDL_OK);
    ck_assert_int_eq(ops->mem_attach(own.owner, own.memory, 8, &none), WDL_ERR_NOMEM);
    ck_assert_ptr_null(none);
    ops->mem_detach(own.owner, mem);
    ck_assert_int_eq(ops->mem_attach(own.owner, own.memory, 8, &mem), WDL_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(add(&own, &c[i]), WDL_PENDING);
    ck_assert_int_eq(add(&own, &c[3]), WDL_AGAIN);
    ck_assert_int_eq(ops->flush(own.nm, 1, &c[3].comp), WDL_AGAIN);
    ck_assert_uint_eq(wdl_sim_counts(own.bed.sim)->refused, 2);
    while (!c[0].called || !c[1].called || !c[2].called)
        turn(&own, 50);
    ck_assert_int_eq(add(&own, &c[4]), WDL_PENDING);
    bed_close(&own.bed);
}
END_TEST

/* No CPU, no loss; a CPU's update between the two halves of a NIC's atomic is lost: so it is with
 * hardware, and so who mixes them is found out. */
START_TEST(a_nic_is_atomic_against_itself_alone)
{
    int lost = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct own own;
        struct bed_comp c[5];
        uint64_t by_cpu = seed % 2 ? 20 : 0;
        own_open(&own, seed, 1000, &(struct wdl_sim_params){.atomics = WDL_SIM_ATOMICS_NIC});
        for (int i = 0; i < 5; i++)
            ck_assert_int_eq(add(&own, &c[i]), WDL_PENDING);
        for (uint64_t t = 0; t < by_cpu || !wdl_sim_quiescent(own.bed.sim); t++) {
            own.memory[0] += t < by_cpu;
            turn(&own, 100);
        }
        ck_assert_uint_le(own.memory[0], by_cpu + 5);
        if (by_cpu == 0)
            ck_assert_uint_eq(own.memory[0], 5);
        lost += own.memory[0] < by_cpu + 5;
        bed_close(&own.bed);
    }
    ck_assert_int_gt(lost, 0);
}
END_TEST

/* The owner closes: what is on the way fails, and so does what comes after. */
START_TEST(a_lost_owner)
{
    struct own own;
    struct bed_comp c[3];
    own_open(&own, 1, 1000, &(struct wdl_sim_params){0});
    ck_assert_int_eq(add(&own, &c[0]), WDL_PENDING);
    own.owner->ops->close(own.owner);
    ck_assert_int_eq(add(&own, &c[1]), WDL_ERR_PEER);
    while (!wdl_sim_quiescent(own.bed.sim))
        turn(&own, 500);
    ck_assert_int_eq(c[0].called, 1);
    ck_assert_int_eq(c[0].info.status, WDL_ERR_PEER);
    own.nm->ops->close(own.nm);
    wdl_sim_destroy(own.bed.sim);
}
END_TEST

static void close_key(void *arg)
{
    struct own *own = arg;
    own->nm->ops->rkey_close(own->nm, own->rkey);
}

static void arrive(void *arg)
{
    struct own *own = arg;
    for (int i = 0; i < 100; i++)
        turn(own, 100);
}

/* Invariant 4. */
START_TEST(nothing_is_taken_from_under_an_operation)
{
    struct own own;
    struct bed_comp c;
    own_open(&own, 1, 1000, &(struct wdl_sim_params){0});
    ck_assert_int_eq(put(&own, &c), WDL_PENDING);
    ck_assert(wdl_suite_aborts(close_key, &own));
    own.owner->ops->mem_detach(own.owner, own.mem);
    ck_assert(wdl_suite_aborts(arrive, &own));
    bed_close(&own.bed);
}
END_TEST

WDL_SUITE("netmod/sim/sim_mem", a_key_has_the_length_asked_for, limits,
          a_nic_is_atomic_against_itself_alone, a_lost_owner,
          nothing_is_taken_from_under_an_operation)
