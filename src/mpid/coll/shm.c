/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Cells in shared memory: within a node, what fits a cell is stored into the receiver's segment
 * instead of being sent. Same slots, roles and rules as the cells of messages (cell.c), a cache
 * line at least for each. A stamp counts collectives from 1 in 64 bits, so that zeroed memory is
 * empty and nothing is ever reset. Behind the cells of a slot stands its owner's board (board.c);
 * behind the slots, how far the owner is and a word of its own (rate.h), and its lines: prefixes in
 * short scans, what needs no board (board.c).
 */
#include <string.h>
#include "mpid/coll/coll_impl.h"

enum { LINE = 64 };

struct wdl_shm_cell {
    uint64_t stamp; /* written last, with release; read first, with acquire */
    uint64_t fits; /* what its writer means, and how much */
    char data[];
};

static size_t data_stride(const struct wdl_team *team)
{
    return (sizeof(struct wdl_shm_cell) + team->params.cell_bytes + LINE - 1) &
           ~(size_t) (LINE - 1);
}

size_t wdl_shm_board_at(const struct wdl_team *team)
{
    return team->data_roles * data_stride(team) + (team->cell_roles - team->data_roles) * LINE;
}

size_t wdl_shm_slot_bytes(const struct wdl_team *team)
{
    return wdl_shm_board_at(team) + wdl_board_bytes(team);
}

size_t wdl_coll_shm_bytes(struct wdl_proc *proc, const struct wdl_team_params *params)
{
    struct wdl_team team = {.coll = proc->coll, .params = *params};
    wdl_team_shape(&team);
    return team.lines_at + (size_t) team.numbers * sizeof(struct wdl_shm_line);
}

/* Behind the slots: how many leading collectives the owner has finished; behind that, lines. */
size_t wdl_shm_lines_at(const struct wdl_team *team)
{
    size_t each = sizeof(struct wdl_shm_line);
    return (team->slot_bytes * (size_t) team->window + LINE + each - 1) / each * each;
}

void wdl_team_untouched(const struct wdl_team *team, size_t *from_out, size_t *to_out)
{
    uint32_t begun = team->next - team->params.first_seq, window = (uint32_t) team->window;
    *to_out = team->slot_bytes * window;
    *from_out = begun >= window || team->params.first_seq % window ? *to_out :
        team->slot_bytes * begun;
}

static uint32_t *finished_of(const struct wdl_team *team, int rank)
{
    return (uint32_t *) (void *) (team->node[rank] + team->slot_bytes * (size_t) team->window);
}

void wdl_shm_say_finished(const struct wdl_team *team, uint32_t finished)
{
    const struct wdl_coll_shm *shm = team->params.shm;
    /* pairs with the load in wdl_shm_finished: what was read of others' slots is read */
    __atomic_store_n(finished_of(team, team->rank), finished, __ATOMIC_RELEASE);
    if (shm->wake)
        for (int r = 0; r < team->size; r++)
            if (r != team->rank)
                shm->wake(shm->ctx, r);
}

uint32_t wdl_shm_finished(const struct wdl_team *team)
{
    uint32_t own = team->done - team->params.first_seq, least = own;
    for (int r = 0; r < team->size; r++) {
        /* pairs with the store in wdl_shm_say_finished */
        uint32_t finished = __atomic_load_n(finished_of(team, r), __ATOMIC_ACQUIRE);
        if ((int32_t) (finished - least) < 0)
            least = finished;
    }
    return least;
}

uint32_t wdl_shm_finished_by(const struct wdl_team *team, int rank)
{
    /* pairs with the store in wdl_shm_say_finished */
    return team->params.first_seq + __atomic_load_n(finished_of(team, rank), __ATOMIC_ACQUIRE);
}

/* In the line of its count. */
static uint32_t *rate_of(const struct wdl_team *team, int rank)
{
    return finished_of(team, rank) + 1;
}

void wdl_shm_say_rate(const struct wdl_team *team, uint32_t word)
{
    __atomic_store_n(rate_of(team, team->rank), word, __ATOMIC_RELAXED);
}

uint32_t wdl_shm_rate_of(const struct wdl_team *team, int rank)
{
    return __atomic_load_n(rate_of(team, rank), __ATOMIC_RELAXED);
}

struct wdl_shm_cell *wdl_shm_cell_of(const struct wdl_team *team, const struct wdl_car *car)
{
    const struct wdl_coll_shm *shm = team->params.shm;
    int sends = car->kind == WDL_CAR_SEND;
    if (!shm || (team->params.opened && !team->open) || (!sends && car->kind != WDL_CAR_RECV))
        return NULL;
    if (car->role >= team->cell_roles ||
        car->bytes > (car->role < team->data_roles ? team->params.cell_bytes : 0) ||
        !shm->segment(shm->ctx, car->peer) || !shm->segment(shm->ctx, team->rank))
        return NULL;            /* also where only one of the two has none: both must think alike */
    char *segment = shm->segment(shm->ctx, sends ? car->peer : team->rank);
    size_t at = car->role < team->data_roles
                    ? car->role * data_stride(team)
                    : team->data_roles * data_stride(team) + (car->role - team->data_roles) * LINE;
    return (struct wdl_shm_cell *) (void *) (segment + at);
}

static struct wdl_shm_cell *cell_of(const struct wdl_run *run, const struct wdl_car *car)
{
    size_t slot = run->seq % (uint32_t) run->team->window;
    return (struct wdl_shm_cell *) (void *) ((char *) car->shm + slot * run->team->slot_bytes);
}

static uint64_t fits_of(const struct wdl_run *run, const struct wdl_car *car)
{
    return (uint64_t) run->print << 32 | (uint32_t) car->bytes; /* no more than a cell's */
}

void wdl_shm_store(struct wdl_run *run, const struct wdl_car *car, const void *data)
{
    const struct wdl_coll_shm *shm = run->team->params.shm;
    struct wdl_shm_cell *cell = cell_of(run, car);
    if (car->bytes)
        memcpy(cell->data, data, car->bytes);
    else if (car->offers) /* none, too: the cell has an old one */
        memcpy(cell->data, data, sizeof(struct wdl_offer));
    cell->fits = fits_of(run, car);
    run->team->coll->stats.copied_bytes += car->bytes;
    /* pairs with the load in wdl_shm_load: the data, and all this rank did before, is seen there */
    __atomic_store_n(&cell->stamp, run->stamp, __ATOMIC_RELEASE);
    run->team->coll->stats.stored++;
    if (shm->wake)
        shm->wake(shm->ctx, car->peer);
}

const void *wdl_shm_load(const struct wdl_run *run, const struct wdl_car *car)
{
    const struct wdl_shm_cell *cell = cell_of(run, car);
    /* pairs with the store in wdl_shm_store */
    return __atomic_load_n(&cell->stamp, __ATOMIC_ACQUIRE) == run->stamp ? cell->data : NULL;
}

int wdl_shm_fits(const struct wdl_run *run, const struct wdl_car *car)
{
    return cell_of(run, car)->fits == fits_of(run, car);
}
