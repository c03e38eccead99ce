/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Persistent collectives beyond what coll_cases has: on intercommunicators, among neighbours, with
 * types of each rank that are gone before the first start. Each is started three times, and gives
 * what was in its buffers then. Ranks start many of them in orders of their own. More are made on a
 * communicator, and more live at a time, than there are numbers for them, and ranks free them in
 * orders of their own.
 */
#include "testing.h"

enum { WORDS = 40, STARTS = 3, SPOILT = -77 };

static int64_t *from, *to; /* a block for each rank */
static int turn;
static MPI_Request request;

/* Word i of what rank r of the world has for rank q. */
static int64_t word(int r, int q, int i)
{
    return (int64_t) r * 1000003 + q * 10007 + i + (int64_t) turn * 100000007;
}

/* `to` is given where the call has one buffer. */
static void fill(int gives_to)
{
    for (int r = 0; r < t_size; r++)
        for (int i = 0; i < WORDS; i++) {
            from[r * WORDS + i] = word(t_rank, r, i);
            to[r * WORDS + i] = gives_to ? word(t_rank, r, i) : SPOILT;
        }
}

/* Words [at, at + count) from rank r for rank q, in block `block` of what came. */
static void check(int block, int count, int r, int q, int at, const char *what)
{
    int wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += to[block * WORDS + i] != word(r, q, at + i);
    t_check(wrong == 0, "%s, start %d: %d words of %d from rank %d are wrong", what, turn, wrong,
            count, r);
}

/* The request is made while there is nothing in the buffers. */
#define BEGIN(init)                                                    \
    memset(from, 0, sizeof *from * (size_t) t_size * WORDS);           \
    memset(to, 0, sizeof *to * (size_t) t_size * WORDS);               \
    init;                                                              \
    for (turn = 0; turn < STARTS; turn++)
#define START(gives_to)                                                \
    do {                                                               \
        fill(gives_to);                                                \
        MPI_Start(&request);                                           \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                         \
    } while (0)
#define END() MPI_Request_free(&request)

/* --- two groups ------------------------------------------------------------------------------- */

static MPI_Comm inter;
static int mine, theirs, side, place; /* sizes of the groups; which this is; the rank in it */

/* Rank r of the other group is this one of the world. */
static int other(int r)
{
    return 2 * r + 1 - side;
}

static void groups_make(void)
{
    MPI_Comm half;
    side = t_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, t_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
    MPI_Comm_size(inter, &mine);
    MPI_Comm_rank(inter, &place);
    MPI_Comm_remote_size(inter, &theirs);
    MPI_Comm_free(&half);
}

/* Rank 0 of one group and all of the other. */
static void groups_rooted(int head)
{
    int root = side != head ? 0 : place == 0 ? MPI_ROOT : MPI_PROC_NULL, *n = NULL, *at = NULL;
    if (root == MPI_ROOT) {
        n = malloc((size_t) theirs * sizeof *n);
        at = malloc((size_t) theirs * sizeof *at);
        for (int r = 0; r < theirs; r++) {
            n[r] = 1 + r;
            at[r] = r * WORDS;
        }
    }
    BEGIN(MPI_Bcast_init(to, WORDS, MPI_INT64_T, root, inter, MPI_INFO_NULL, &request)) {
        START(root == MPI_ROOT);
        if (root == 0)
            check(0, WORDS, other(0), 0, 0, "bcast");
    }
    END();
    BEGIN(MPI_Gather_init(from, WORDS, MPI_INT64_T, to, WORDS, MPI_INT64_T, root, inter,
                          MPI_INFO_NULL, &request)) {
        START(0);
        for (int r = 0; r < theirs && root == MPI_ROOT; r++)
            check(r, WORDS, other(r), 0, 0, "gather");
    }
    END();
    BEGIN(MPI_Gatherv_init(from, 1 + place, MPI_INT64_T, to, n, at, MPI_INT64_T, root, inter,
                           MPI_INFO_NULL, &request)) {
        START(0);
        for (int r = 0; r < theirs && root == MPI_ROOT; r++)
            check(r, 1 + r, other(r), 0, 0, "gatherv");
    }
    END();
    BEGIN(MPI_Scatter_init(from, WORDS, MPI_INT64_T, to, WORDS, MPI_INT64_T, root, inter,
                           MPI_INFO_NULL, &request)) {
        START(0);
        if (root == 0)
            check(0, WORDS, other(0), place, 0, "scatter");
    }
    END();
    BEGIN(MPI_Scatterv_init(from, n, at, MPI_INT64_T, to, 1 + place, MPI_INT64_T, root, inter,
                            MPI_INFO_NULL, &request)) {
        START(0);
        if (root == 0)
            check(0, 1 + place, other(0), place, 0, "scatterv");
    }
    END();
    BEGIN(MPI_Reduce_init(from, to, WORDS, MPI_INT64_T, MPI_MAX, root, inter, MPI_INFO_NULL,
                          &request)) {
        START(0);
        if (root == MPI_ROOT)
            check(0, WORDS, other(theirs - 1), 0, 0, "reduce");
    }
    END();
    free(n);
    free(at);
}

static void groups(void)
{
    int all = mine * theirs; /* words of a vector, so that both groups can share it */
    int *n = malloc(2 * (size_t) theirs * sizeof *n), *at = n + theirs;
    for (int r = 0; r < theirs; r++) {
        n[r] = WORDS;
        at[r] = r * WORDS;
    }
    BEGIN(MPI_Barrier_init(inter, MPI_INFO_NULL, &request)) START(0);
    END();
    BEGIN(MPI_Allgather_init(from, WORDS, MPI_INT64_T, to, WORDS, MPI_INT64_T, inter, MPI_INFO_NULL,
                             &request)) {
        START(0);
        for (int r = 0; r < theirs; r++)
            check(r, WORDS, other(r), 0, 0, "allgather");
    }
    END();
    BEGIN(MPI_Allgatherv_init(from, WORDS, MPI_INT64_T, to, n, at, MPI_INT64_T, inter,
                              MPI_INFO_NULL, &request)) {
        START(0);
        for (int r = 0; r < theirs; r++)
            check(r, WORDS, other(r), 0, 0, "allgatherv");
    }
    END();
    BEGIN(MPI_Alltoall_init(from, WORDS, MPI_INT64_T, to, WORDS, MPI_INT64_T, inter, MPI_INFO_NULL,
                            &request)) {
        START(0);
        for (int r = 0; r < theirs; r++)
            check(r, WORDS, other(r), place, 0, "alltoall");
    }
    END();
    BEGIN(MPI_Alltoallv_init(from, n, at, MPI_INT64_T, to, n, at, MPI_INT64_T, inter, MPI_INFO_NULL,
                             &request)) {
        START(0);
        for (int r = 0; r < theirs; r++)
            check(r, WORDS, other(r), place, 0, "alltoallv");
    }
    END();
    BEGIN(MPI_Allreduce_init(from, to, WORDS, MPI_INT64_T, MPI_MIN, inter, MPI_INFO_NULL,
                             &request)) {
        START(0);
        check(0, WORDS, other(0), 0, 0, "allreduce");
    }
    END();
    BEGIN(MPI_Reduce_scatter_block_init(from, to, all / mine, MPI_INT64_T, MPI_MIN, inter,
                                        MPI_INFO_NULL, &request)) {
        START(0);
        check(0, all / mine, other(0), 0, place * (all / mine), "reduce_scatter_block");
    }
    END();
    free(n);
    groups_rooted(0);
    groups_rooted(1);
}

/* --- partners, with types of their own -------------------------------------------------------- */

/* Words with a gap behind, that the call must hold itself. */
static MPI_Datatype gap_type(int words)
{
    MPI_Datatype block, type;
    MPI_Type_contiguous(words, MPI_INT64_T, &block);
    MPI_Type_create_resized(block, 0, 8 * WORDS, &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&block);
    return type;
}

static void typed(void)
{
    int *n = malloc(2 * (size_t) t_size * sizeof *n), *at = n + t_size;
    MPI_Datatype *types = malloc((size_t) t_size * sizeof *types);
    for (int r = 0; r < t_size; r++) {
        n[r] = 1;
        at[r] = r * WORDS * 8;
        types[r] = gap_type(1 + (r + t_rank) % WORDS);
    }
    BEGIN(MPI_Alltoallw_init(from, n, at, types, to, n, at, types, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &request)) {
        for (int r = 0; turn == 0 && r < t_size; r++)
            MPI_Type_free(&types[r]);
        START(0);
        for (int r = 0; r < t_size; r++)
            check(r, 1 + (r + t_rank) % WORDS, r, t_rank, 0, "alltoallw");
    }
    END();
    free(types);
    free(n);
}

/* Everybody gives to the rank above. */
static void neighbors(void)
{
    int below = (t_rank + t_size - 1) % t_size, above = (t_rank + 1) % t_size, n = 1, at = 0;
    MPI_Aint place_at = 0;
    MPI_Comm ring;
    MPI_Datatype type = gap_type(WORDS);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &below, MPI_UNWEIGHTED, 1, &above,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    BEGIN(MPI_Neighbor_allgather_init(from, 1, type, to, 1, type, ring, MPI_INFO_NULL, &request)) {
        START(0);
        check(0, WORDS, below, 0, 0, "neighbor_allgather");
    }
    END();
    BEGIN(MPI_Neighbor_allgatherv_init(from, 1, type, to, &n, &at, type, ring, MPI_INFO_NULL,
                                       &request)) {
        START(0);
        check(0, WORDS, below, 0, 0, "neighbor_allgatherv");
    }
    END();
    BEGIN(MPI_Neighbor_alltoall_init(from, 1, type, to, 1, type, ring, MPI_INFO_NULL, &request)) {
        START(0);
        check(0, WORDS, below, 0, 0, "neighbor_alltoall");
    }
    END();
    BEGIN(MPI_Neighbor_alltoallv_init(from, &n, &at, type, to, &n, &at, type, ring, MPI_INFO_NULL,
                                      &request)) {
        START(0);
        check(0, WORDS, below, 0, 0, "neighbor_alltoallv");
    }
    END();
    BEGIN(MPI_Neighbor_alltoallw_init(from, &n, &place_at, &type, to, &n, &place_at, &type, ring,
                                      MPI_INFO_NULL, &request)) {
        if (turn == 0)
            MPI_Type_free(&type);
        START(0);
        check(0, WORDS, below, 0, 0, "neighbor_alltoallw");
    }
    END();
    MPI_Comm_free(&ring);
}

/* --- many ------------------------------------------------------------------------------------- */

/* An allgather of one word. */
struct one {
    MPI_Request request;
    int64_t in, *out;
    int members;
};

static void one_make(struct one *o, MPI_Comm comm, int members)
{
    o->members = members;
    o->out = malloc((size_t) members * sizeof *o->out);
    MPI_Allgather_init(&o->in, 1, MPI_INT64_T, o->out, 1, MPI_INT64_T, comm, MPI_INFO_NULL,
                       &o->request);
}

static void one_start(struct one *o, int k, int round)
{
    o->in = k * 1000 + t_rank + round * 1000003;
    MPI_Start(&o->request);
}

static void one_end(struct one *o, int k, int round, int between)
{
    MPI_Wait(&o->request, MPI_STATUS_IGNORE);
    for (int r = 0; r < o->members; r++)
        t_check(o->out[r] == k * 1000 + (between ? other(r) : r) + round * 1000003,
                "allgather %d, start %d: rank %d's word is %lld", k, round, r,
                (long long) o->out[r]);
}

static void one_free(struct one *o)
{
    MPI_Request_free(&o->request);
    free(o->out);
}

/* Each rank begins with another one. Every third is between the groups. */
static void orders(void)
{
    enum { MANY = 30, ROUNDS = 5 };
    struct one ones[MANY];
    for (int k = 0; k < MANY; k++) {
        int between = t_size > 1 && k % 3 == 0;
        one_make(&ones[k], between ? inter : MPI_COMM_WORLD, between ? theirs : t_size);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int k = 0; k < MANY; k++)
            one_start(&ones[(k * 7 + t_rank * 11) % MANY], (k * 7 + t_rank * 11) % MANY, round);
        for (int k = 0; k < MANY; k++)
            one_end(&ones[k], k, round, t_size > 1 && k % 3 == 0);
    }
    for (int k = 0; k < MANY; k++)
        one_free(&ones[k]);
}

/* All of them live, and then as many others, of which some are used. */
static void numbers(void)
{
    enum { MANY = 32788, USED = 1561 /* divides MANY - 7 */, STEP = 9973 /* a prime */ };
    struct one *ones = t_alloc(MANY * sizeof *ones);
    for (int batch = 0; batch < 2; batch++) {
        for (int k = 0; k < MANY; k++)
            one_make(&ones[k], MPI_COMM_WORLD, t_size);
        for (int round = 0; round < 2; round++) {
            for (int i = 3; i < MANY; i += USED) {
                int k = t_rank % 2 ? i : MANY - 1 - i;
                one_start(&ones[k], k, round);
            }
            for (int k = 3; k < MANY; k += USED)
                one_end(&ones[k], k, round, 0);
        }
        for (int k = 0; k < MANY; k++)
            one_free(&ones[((long) k * STEP + t_rank * 101) % MANY]);
    }
    free(ones);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    from = t_alloc(sizeof *from * (size_t) t_size * WORDS);
    to = t_alloc(sizeof *to * (size_t) t_size * WORDS);
    typed();
    neighbors();
    if (t_size > 1) {
        groups_make();
        groups();
    }
    orders();
    if (t_size > 1)
        MPI_Comm_free(&inter);
    numbers();
    free(from);
    free(to);
    return t_end();
}
