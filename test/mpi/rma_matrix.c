/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Every one-sided call on every flavour of window under every synchronization mode, compared word
 * by word with a shadow.
 *
 * A rank's window is `size` private blocks, one per origin, and one common block. Puts and gets go
 * to the origin's own block of a target; accumulates of the common block commute. All draw from
 * streams any rank can repeat, so each rank computes by itself what its window must hold after
 * every epoch, and each origin what its gets must bring.
 */
#include "testing.h"

enum { BLOCK = 64, OPS = 24, EPOCHS = 3 };
enum sync { FENCE, PSCW, LOCK_EXCLUSIVE, LOCK_SHARED, LOCK_NOCHECK, LOCK_ALL, SYNCS };
enum call {
    PUT,
    GET,
    ACC,
    GET_ACC,
    FETCH,
    CAS,
    RPUT,
    RGET,
    RACC,
    RGET_ACC,
    CALLS,
    ACTIVE_CALLS = RPUT
};

static const char *const sync_name[] = {"fence",       "pscw",         "lock exclusive",
                                        "lock shared", "lock nocheck", "lock_all"};
static const char *const call_name[] = {
    "put",  "get",  "accumulate",  "get_accumulate", "fetch_and_op", "compare_and_swap",
    "rput", "rget", "raccumulate", "rget_accumulate"};

struct drawn { /* what an origin does in its k-th step of an epoch */
    enum call call;
    int target, at, count;
    int64_t value;
};

static struct t_win w;
static enum sync sync;
static int64_t *shadow; /* of my window; common block last */
static int64_t *mine; /* of my private block at each target */
static int64_t from[OPS][BLOCK], back[OPS][BLOCK], want[OPS][BLOCK];
static int wanted[OPS]; /* how many words of want count */
static MPI_Request request[OPS];
static int requests;

static size_t words(void)
{
    return (size_t) (w.size + 1) * BLOCK;
}

/* A step uses words [at, at + count) that no other step of this origin and epoch touches: its
 * own slice of the block. */
static struct drawn draw(int origin, int epoch, int k)
{
    uint64_t stream = (uint64_t) origin * 1000 + (uint64_t) epoch + (uint64_t) sync * 100 +
                      (uint64_t) w.flavour * 10;
    enum { SLICE = BLOCK / 8 };
    struct drawn d;
    int calls = sync == FENCE || sync == PSCW ? ACTIVE_CALLS : CALLS;
    d.call = (enum call)(k % calls);
    d.target = (int) (t_random(stream, 4 * (uint64_t) k) % (uint64_t) w.size);
    d.at = (k / 3 % 8) * SLICE + (int) (t_random(stream, 4 * (uint64_t) k + 1) % 4);
    d.count = 1 + (int) (t_random(stream, 4 * (uint64_t) k + 2) % 4);
    d.value = (int64_t) (t_random(stream, 4 * (uint64_t) k + 3) >> 20);
    return d;
}

static int is_common(enum call call)
{
    return call != PUT && call != GET && call != RPUT && call != RGET && call != CAS;
}

/* Do two steps of one epoch touch the same private words in a way MPI forbids? Then the later
 * one is left out. */
static int clashes(int origin, int epoch, int k)
{
    struct drawn d = draw(origin, epoch, k);
    if (is_common(d.call))
        return 0;
    for (int i = 0; i < k; i++) {
        struct drawn e = draw(origin, epoch, i);
        if (!is_common(e.call) && e.target == d.target && e.at < d.at + d.count &&
            d.at < e.at + e.count)
            return 1;
    }
    return 0;
}

static MPI_Aint disp(int target, size_t word)
{
    return w.at[target] + (MPI_Aint) (word * sizeof(int64_t) / (size_t) w.unit);
}

/* Issue step k, and note what it must bring back. */
static void issue(int k, struct drawn d)
{
    size_t own = (size_t) w.rank * BLOCK + (size_t) d.at,
           common = (size_t) w.size * BLOCK + (size_t) d.at;
    int n = d.count, t = d.target;
    int64_t *held = mine + (size_t) t * BLOCK + d.at;
    wanted[k] = 0;
    for (int i = 0; i < n; i++)
        from[k][i] = d.value + i;
    if (d.call == GET || d.call == RGET || d.call == CAS)
        memcpy(want[k], held, sizeof(int64_t) * (size_t) (wanted[k] = d.call == CAS ? 1 : n));
    switch (d.call) {
    case PUT:
        MPI_Put(from[k], n, MPI_INT64_T, t, disp(t, own), n, MPI_INT64_T, w.win);
        break;
    case RPUT:
        MPI_Rput(from[k], n, MPI_INT64_T, t, disp(t, own), n, MPI_INT64_T, w.win,
                 &request[requests++]);
        break;
    case GET:
        MPI_Get(back[k], n, MPI_INT64_T, t, disp(t, own), n, MPI_INT64_T, w.win);
        break;
    case RGET:
        MPI_Rget(back[k], n, MPI_INT64_T, t, disp(t, own), n, MPI_INT64_T, w.win,
                 &request[requests++]);
        break;
    case ACC:
        MPI_Accumulate(from[k], n, MPI_INT64_T, t, disp(t, common), n, MPI_INT64_T, MPI_SUM, w.win);
        break;
    case RACC:
        MPI_Raccumulate(from[k], n, MPI_INT64_T, t, disp(t, common), n, MPI_INT64_T, MPI_SUM, w.win,
                        &request[requests++]);
        break;
    case GET_ACC:
        MPI_Get_accumulate(from[k], n, MPI_INT64_T, back[k], n, MPI_INT64_T, t, disp(t, common), n,
                           MPI_INT64_T, MPI_SUM, w.win);
        break;
    case RGET_ACC:
        MPI_Rget_accumulate(from[k], n, MPI_INT64_T, back[k], n, MPI_INT64_T, t, disp(t, common), n,
                            MPI_INT64_T, MPI_SUM, w.win, &request[requests++]);
        break;
    case FETCH:
        MPI_Fetch_and_op(from[k], back[k], MPI_INT64_T, t, disp(t, common), MPI_SUM, w.win);
        break;
    case CAS: /* compares equal every second time */
        back[k][1] = (d.value & 1) ? *held : *held + 1;
        MPI_Compare_and_swap(from[k], &back[k][1], back[k], MPI_INT64_T, t, disp(t, own), w.win);
        break;
    default:
        break;
    }
}

/* What step d of `origin` does to the private words at `block` (NULL: not of interest) and the
 * common words. */
static void apply(struct drawn d, int64_t *block, int64_t *common)
{
    int n = d.call == FETCH || d.call == CAS ? 1 : d.count;
    for (int i = 0; i < n; i++) {
        if (is_common(d.call) && common)
            common[d.at + i] += d.value + i;
        if ((d.call == PUT || d.call == RPUT || (d.call == CAS && (d.value & 1))) && block)
            block[d.at + i] = d.value + i;
    }
}

/* The steps of mine that go to `only`, or to anybody if that is negative. */
static void issue_all(int epoch, int only)
{
    for (int k = 0; k < OPS; k++) {
        struct drawn d = draw(w.rank, epoch, k);
        if ((only < 0 || d.target == only) && !clashes(w.rank, epoch, k))
            issue(k, d);
    }
}

static void wait_requests(void)
{
    MPI_Waitall(requests, request, MPI_STATUSES_IGNORE);
    requests = 0;
}

static void epoch_run(int epoch)
{
    int type = sync == LOCK_EXCLUSIVE ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    MPI_Group group;
    switch (sync) {
    case FENCE:
        MPI_Win_fence(epoch ? 0 : MPI_MODE_NOPRECEDE, w.win);
        issue_all(epoch, -1);
        MPI_Win_fence(epoch == EPOCHS - 1 ? MPI_MODE_NOSUCCEED : 0, w.win);
        break;
    case PSCW:
        MPI_Comm_group(w.comm, &group);
        MPI_Win_post(group, 0, w.win);
        MPI_Win_start(group, 0, w.win);
        issue_all(epoch, -1);
        MPI_Win_complete(w.win);
        if (epoch % 2) {
            MPI_Win_wait(w.win);
        } else {
            for (int done = 0; !done;)
                MPI_Win_test(w.win, &done);
        }
        MPI_Group_free(&group);
        break;
    case LOCK_ALL:
        MPI_Win_lock_all(epoch == 1 ? MPI_MODE_NOCHECK : 0, w.win);
        issue_all(epoch, -1);
        if (epoch % 2)
            MPI_Win_flush_local_all(w.win);
        wait_requests();
        if (epoch == 2)
            for (int t = 0; t < w.size; t++)
                MPI_Win_flush(t, w.win);
        else
            MPI_Win_flush_all(w.win);
        MPI_Win_unlock_all(w.win);
        break;
    default:
        for (int i = 0; i < w.size; i++) {
            int t = (w.rank + i) % w.size;
            MPI_Win_lock(type, t, sync == LOCK_NOCHECK ? MPI_MODE_NOCHECK : 0, w.win);
            issue_all(epoch, t);
            if (epoch == 1)
                MPI_Win_flush_local(t, w.win);
            wait_requests();
            if (epoch == 2)
                MPI_Win_flush(t, w.win);
            MPI_Win_unlock(t, w.win);
        }
        break;
    }
    MPI_Barrier(w.comm);
}

static void shadow_run(int epoch)
{
    for (int o = 0; o < w.size; o++)
        for (int k = 0; k < OPS; k++) {
            struct drawn d = draw(o, epoch, k);
            if (clashes(o, epoch, k))
                continue;
            if (d.target == w.rank)
                apply(d, shadow + (size_t) o * BLOCK, shadow + (size_t) w.size * BLOCK);
            if (o == w.rank)
                apply(d, mine + (size_t) d.target * BLOCK, NULL);
        }
}

static void compare(int epoch)
{
    char where[96];
    snprintf(where, sizeof where, "%s, %s, epoch %d", t_flavour_name[w.flavour], sync_name[sync],
             epoch);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    const int64_t *have = (const int64_t *) (const void *) w.base;
    for (size_t i = 0; i < words(); i++)
        t_check(have[i] == shadow[i], "%s: word %zu of %zu is %lld, not %lld", where, i, words(),
                (long long) have[i], (long long) shadow[i]);
    MPI_Win_unlock(w.rank, w.win);
    for (int k = 0; k < OPS; k++) {
        struct drawn d = draw(w.rank, epoch, k);
        for (int i = 0; !clashes(w.rank, epoch, k) && i < wanted[k]; i++)
            t_check(back[k][i] == want[k][i], "%s: %s from %d brought %lld instead of %lld", where,
                    call_name[d.call], d.target, (long long) back[k][i], (long long) want[k][i]);
    }
    MPI_Barrier(w.comm);
}

static void run(enum t_flavour flavour)
{
    w = t_win_make(MPI_COMM_WORLD, flavour, (size_t) (t_size + 1) * BLOCK * sizeof(int64_t), 4);
    shadow = calloc(words(), sizeof *shadow);
    mine = calloc((size_t) w.size * BLOCK, sizeof *mine);
    for (int s = 0; s < SYNCS; s++) {
        sync = (enum sync) s;
        for (int epoch = 0; epoch < EPOCHS; epoch++) {
            memset(wanted, 0, sizeof wanted);
            memset(back, 0x55, sizeof back);
            epoch_run(epoch);
            shadow_run(epoch);
            compare(epoch);
        }
    }
    free(shadow);
    free(mine);
    t_win_free(&w);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    for (int f = 0; f < T_FLAVOURS; f++)
        run((enum t_flavour) f);
    return t_end();
}
