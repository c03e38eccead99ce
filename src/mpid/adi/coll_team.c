/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The team of a communicator. It is made by the first collective that wants it, which all ranks
 * call in the same order, and made locally: the team's own first collective tells the ranks where
 * everyone's memory is. A duplicate that is never used for collectives so costs nothing.
 *
 * Invariants:
 *  1. A team's number is its communicator's context id: nobody is in two communicators of one.
 *     Persistent collectives match in the order they were made in, whatever order they are started
 *     in, so each has a team of its own, with a number above the context id that all ranks give
 *     alike: the lowest not given since they last agreed on those that none of them has any more,
 *     which they do, in a call that makes one, when there are no more.
 *  2. A rank without shared memory to give is reached by messages; no other rank is affected.
 *  3. A team that something still moves in outlives its communicator, and is gone on a rank before
 *     that makes another with its number. Others may still be in the old one then, and ask that
 *     rank about it: the engine tells the two apart (fail.h). What the program has not freed ends
 *     with the process.
 *
 * Invariant 3 can make a first call wait, a nonblocking one too, for ranks that are in the old
 * communicator and not in the new one: what still moves in the old team (flags to pass on, credit,
 * boards that others have yet to read) ends when they have begun the collectives that this rank has
 * finished there. It ends then, and waits for nothing else. No program can hang by that: the number
 * is free when the old communicator's collectives have all been completed here, and MPI lets each
 * of these calls wait until every rank has made it (MPI 3.1, 5.1 and 5.14), so a program that needs
 * this rank to get further before they do was wrong without the new communicator. Seldom, too:
 * MPICH takes the lowest free number of all ranks of the new communicator. Teams of one number that
 * live side by side were rejected: all packets would have to say which of them they mean, those
 * of its first collective, too, when ranks that are only in the new one do not know yet how many
 * there have been.
 */
#include "coll.h"

struct wdl_adi_team {
    struct wdl_list link;       /* in teams */
    struct wdl_adi_team **owner;        /* where its communicator or request holds it */
    int left;                   /* that is gone */
    struct wdl_team *team;
    struct wdl_rank_map map;
    struct wdl_adi_share *share;
    uint32_t id;
    struct numbers *numbers;    /* of its communicator's persistent collectives; NULL: none yet */
};

static struct wdl_list teams = { &teams, &teams };

static unsigned old;             /* how many of them are left */

static const uint32_t ANY = UINT32_MAX; /* no team's number: those have 31 bits */

enum { WINDOW = 16, WINDOW_PERSISTENT = 8, NUMBERS = 0x8000, WORD = 64, WORDS = NUMBERS / WORD };
wdl_static_assert(sizeof(MPIR_Context_id_t) == 2 && NUMBERS <= 1 << 15);

struct numbers {
    uint32_t next;              /* the lowest that may be free to all */
    uint64_t given[WORDS];      /* on any rank, when it was last agreed on, or since; 0 always is */
    uint64_t own[WORDS];        /* given here and not given back */
};

/* --- making one ------------------------------------------------------------------------------- */

static int peer_of(void *ctx, int rank)
{
    return wdl_rank_map_peer(&((struct wdl_adi_team *) ctx)->map, rank);
}

static int team_create(MPIR_Comm * comm, struct wdl_adi_team *t)
{
    struct wdl_team_params params = {.id = t->id,.rank = comm->rank,.size = comm->local_size,
        .peer_of = peer_of,.ctx = t,.window = t->id > UINT16_MAX ? WINDOW_PERSISTENT : WINDOW
    };
    t->share = wdl_adi_share_make(&params);
    if (!t->share)
        return WDL_ERR_NOMEM;
    int status = wdl_team_create(wdl_adi.proc, &params, &t->team);
    if (status != WDL_OK)
        wdl_adi_share_drop(t->share);
    return status;
}

/* --- ending ----------------------------------------------------------------------------------- */

static int team_end(struct wdl_adi_team *t)
{
    size_t from, to;            /* in its memory */
    wdl_team_untouched(t->team, &from, &to);
    if (wdl_team_destroy(t->team) == WDL_AGAIN)
        return WDL_AGAIN;
    wdl_adi_share_leave(t->share, from, to);
    wdl_rank_map_release(&t->map);
    wdl_list_remove(&t->link);
    MPL_free(t->numbers);
    old -= (unsigned) t->left;
    MPL_free(t);
    return WDL_OK;
}

/* End what can be ended; WDL_AGAIN while one of this number, or any, is left. (MPI_COMM_WORLD's is
 * 0.) */
static int old_end(uint32_t id)
{
    struct wdl_list *node, *after;
    int status = WDL_OK;
    wdl_list_for_safe (node, after, &teams) {
        struct wdl_adi_team *t = wdl_container_of(node, struct wdl_adi_team, link);
        uint32_t own = t->id;
        if (t->left && team_end(t) == WDL_AGAIN && (id == ANY || id == own))
            status = WDL_AGAIN;
    }
    return status;
}

void wdl_adi_team_leave(struct wdl_adi_team *t)
{
    if (!t || team_end(t) == WDL_OK)
        return;
    t->left = 1;
    old++;
}

void wdl_adi_team_drop(MPIR_Comm * comm)
{
    wdl_adi_team_leave(comm->dev.team);
    comm->dev.team = NULL;
}

/* All have come to MPI_Finalize: what has been begun by all is over soon. */
static int is_late(uint64_t since_ns)
{
    enum { PATIENCE_S = 10 };
    return wdl_adi_host_ops.now_ns(NULL) - since_ns > PATIENCE_S * UINT64_C(1000000000);
}

int wdl_adi_teams_end(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct wdl_list *node;
    uint64_t since_ns = wdl_adi_host_ops.now_ns(NULL);
    wdl_list_for (node, &teams) {
        struct wdl_adi_team *t = wdl_container_of(node, struct wdl_adi_team, link);
        if (t->left)
            continue;
        *t->owner = NULL;       /* a late completion may yet free the communicator */
        t->left = 1;
        old++;
    }
    WDL_ADI_WAIT_BY_MEMORY(is_late(since_ns) ? WDL_OK : old_end(ANY), mpi_errno);
    if (old > 0)
        MPIR_ERR_SET(mpi_errno, MPI_ERR_PENDING, "**wdl_begun");
    return mpi_errno;
}

/* --- using one -------------------------------------------------------------------------------- */

static int team_make(MPIR_Comm * comm, uint32_t id, struct wdl_adi_team **team_out)
{
    int mpi_errno = MPI_SUCCESS, status;
    struct wdl_adi_team *t;
    WDL_ADI_WAIT_BY_MEMORY(old ? old_end(id) : WDL_OK, mpi_errno);
    if (mpi_errno)
        return WDL_ERR_PEER;
    t = MPL_calloc(1, sizeof *t, MPL_MEM_COLL);
    if (!t)
        return WDL_ERR_NOMEM;
    t->id = id;
    wdl_rank_map_share(&t->map, &comm->dev.map);
    status = team_create(comm, t);
    if (status == WDL_OK) {
        wdl_list_push(&teams, &t->link);
        t->owner = team_out;
        *team_out = t;
    } else {
        wdl_rank_map_release(&t->map);
        MPL_free(t);
    }
    return status;
}

int wdl_adi_team(MPIR_Comm * comm, struct wdl_team **team_out)
{
    int status = WDL_OK;
    if (!comm->dev.team)
        status = team_make(comm, comm->context_id, &comm->dev.team);
    if (status == WDL_OK)
        *team_out = comm->dev.team->team;
    return status;
}

struct wdl_team *wdl_adi_team_of(const struct wdl_adi_team *t)
{
    return t->team;
}

/* --- numbers of persistent collectives -------------------------------------------------------- */

static void number_take(uint64_t * set, uint32_t number)
{
    set[number / WORD] |= (uint64_t) 1 << number % WORD;
}

static uint32_t number_free(struct numbers *n)
{
    for (; n->next < NUMBERS; n->next++)
        if (!(n->given[n->next / WORD] >> n->next % WORD & 1))
            return n->next;
    return 0;
}

/* Free is what is free on all ranks, no team of it left. Collective. */
static int numbers_agree(MPIR_Comm * comm, struct numbers *n)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct wdl_list *node;
    (void) old_end(ANY);
    memcpy(n->given, n->own, sizeof n->given);
    wdl_list_for (node, &teams) {
        const struct wdl_adi_team *t = wdl_container_of(node, struct wdl_adi_team, link);
        if (t->left && (t->id & UINT16_MAX) == comm->context_id)
            number_take(n->given, t->id >> 16);
    }
    number_take(n->given, 0);   /* the communicator's own */
    n->next = 1;
    return MPID_Allreduce(MPI_IN_PLACE, n->given, WORDS, MPI_UINT64_T, MPI_BOR, comm, &errflag);
}

int wdl_adi_persistent_id(MPIR_Comm * comm, uint32_t * id_out)
{
    struct wdl_team *team;
    int status = wdl_adi_team(comm, &team), mpi_errno = MPI_SUCCESS;
    *id_out = 0;
    if (status == WDL_OK && !comm->dev.team->numbers) {
        comm->dev.team->numbers = MPL_calloc(1, sizeof(struct numbers), MPL_MEM_COLL);
        if (!comm->dev.team->numbers)
            status = WDL_ERR_NOMEM;
        else
            comm->dev.team->numbers->next = 1;
    }
    if (status != WDL_OK)
        return wdl_adi_coll_result(comm, status);
    struct numbers *n = comm->dev.team->numbers;
    uint32_t number = number_free(n);
    if (number == 0) {
        mpi_errno = numbers_agree(comm, n);
        number = number_free(n);
    }
    if (mpi_errno == MPI_SUCCESS && number > 0) {
        number_take(n->given, number);
        number_take(n->own, number);
        *id_out = number << 16 | comm->context_id;
    }
    return mpi_errno;
}

void wdl_adi_persistent_done(MPIR_Comm * comm, uint32_t id)
{
    uint32_t number = id >> 16;
    if (comm->dev.team)
        comm->dev.team->numbers->own[number / WORD] &= ~((uint64_t) 1 << number % WORD);
}

int wdl_adi_persistent_team(MPIR_Comm * comm, uint32_t id, struct wdl_adi_team **t,
                            struct wdl_team **team_out)
{
    int status = *t ? WDL_OK : team_make(comm, id, t);
    if (status == WDL_OK)
        *team_out = (*t)->team;
    return status;
}
