/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * thread_random [SEED [STEPS [PHASES]]]: MPI_THREAD_MULTIPLE, a random program. Each thread draws
 * steps of its own, with the thread of the same name elsewhere: messages, collectives, which stay
 * outstanding over other steps, windows and communicators of its own, which come and go; and all
 * threads operate on windows that they share, each on blocks of its own, on common words, and by
 * tickets and a spin lock that they take from each other.
 *
 * How the shared windows are synchronized is drawn by phases: between two of them one thread of
 * each process ends and begins epochs, and checks all words of all windows. The first window stays
 * in one MPI_Win_lock_all epoch, and in some phases a target may be locked by one thread at a time.
 */
#include "random_collectives.h"
#include "random_messages.h"
#include "random_windows.h"
#include <pthread.h>
#include <sched.h>

enum { THREADS_MAX = 4, SHARED = 3, STEPS = 12, PHASES = 4 };
enum { LIFE, ATTACHING, THIRD }; /* of the shared windows */
enum { SLOTS = 200, TICKET = 0, SPIN, GUARDED, GUARDED_TOO, SLOT, OTHERS = SLOT + SLOTS };

static uint64_t threads, steps, phases;
static struct window shared[SHARED][THREADS_MAX];
static enum sync sync_of[SHARED];
static pthread_mutex_t turn[SHARED][RANKS_MAX];
static pthread_barrier_t meet;
static MPI_Comm comm_of[THREADS_MAX], between, in_common; /* between phases; of all threads */

/* By target, what the thread has drawn, and how often it has been in the lock. */
static int64_t drawn[THREADS_MAX][RANKS_MAX], been[THREADS_MAX][RANKS_MAX];

static _Thread_local MPI_Comm own;
static _Thread_local uint64_t message_phase, coll_rounds;
static _Thread_local struct window own_window;
static _Thread_local int has_window, exchanges;

static uint64_t me(void)
{
    return t_thread - 1;
}

/* --- steps ------------------------------------------------------------------------------------ */

static void messages(void)
{
    MPI_Comm comms[MESSAGE_COMMS] = {own, in_common};
    messages_run(comms, message_phase++, 12);
}

static void collectives(void)
{
    for (uint64_t left = 1 + t_all_below(6); left > 0; left--)
        coll_round(coll_rounds++);
}

/* One message to a rank so far on, by calls that wait. */
static void exchange(void)
{
    enum { TAGS = 100, LONGEST = 20000 };
    int shift = (int) t_all_below((uint64_t) t_size), way = (int) t_all_below(4);
    int n = (int) t_all_below(t_all_below(2) ? LONGEST : 10), got = -1;
    int tag = TAGS + exchanges++; /* another's next exchange may have begun */
    uint64_t key = t_all_below(UINT32_MAX) << 20;
    int to = (t_rank + shift) % t_size, from = (t_rank + t_size - shift) % t_size;
    int64_t *out = t_alloc((size_t) n * 8), *in = t_alloc((size_t) n * 8 + 8);
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    for (int k = 0; k < n; k++)
        out[k] = (int64_t) t_any(key + (uint64_t) k) + t_rank;
    in[n] = 5;
    if (way == 0) {
        MPI_Irecv(in, n, MPI_INT64_T, MPI_ANY_SOURCE, tag, own, &request);
        (void) (t_below(2) ? MPI_Send(out, n, MPI_INT64_T, to, tag, own)
                           : MPI_Ssend(out, n, MPI_INT64_T, to, tag, own));
        MPI_Wait(&request, &status);
    } else {
        MPI_Isend(out, n, MPI_INT64_T, to, tag, own, &request);
        if (way == 1) {
            MPI_Recv(in, n, MPI_INT64_T, from, tag, own, &status);
        } else if (way == 2) {
            MPI_Probe(t_below(2) ? from : MPI_ANY_SOURCE, tag, own, &status);
            MPI_Recv(in, n, MPI_INT64_T, status.MPI_SOURCE, tag, own, &status);
        } else {
            MPI_Mprobe(MPI_ANY_SOURCE, tag, own, &message, &status);
            MPI_Mrecv(in, n, MPI_INT64_T, &message, &status);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Get_count(&status, MPI_INT64_T, &got);
    t_check(got == n && status.MPI_SOURCE == from, "exchange: %d of %d words from %d, not %d", got,
            n, status.MPI_SOURCE, from);
    int k = 0;
    while (k < n && in[k] == (int64_t) t_any(key + (uint64_t) k) + from)
        k++;
    t_check(k == n && in[n] == 5, "exchange of %d words: word %d", n, k);
    free(out);
    free(in);
}

static void communicators(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int way = (int) t_all_below(4), rank, size, sum = -1, want = 0;
    int colour = t_rank % 2, value = t_rank + 3;
    if (way == 0) {
        MPI_Comm_dup(own, &comm);
    } else if (way == 1) {
        MPI_Comm_idup(own, &comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (way == 2) {
        MPI_Comm_split(own, colour, -t_rank, &comm);
    } else {
        MPI_Comm_split_type(own, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    }
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *all = t_alloc((size_t) size * sizeof(int));
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < size; i++)
        want += all[i];
    t_check(sum == want && all[rank] == value, "communicator %d: %d instead of %d", way, sum, want);
    for (int i = 0; i < t_size && way < 2; i++)
        t_check(all[i] == i + 3, "duplicate: rank %d has %d", i, all[i]);
    free(all);
    MPI_Comm_free(&comm);
}

static void own_windows(void)
{
    if (!has_window)
        window_open(&own_window, own);
    has_window = 1;
    for (uint64_t left = 1 + t_all_below(2); left > 0; left--)
        window_epoch(&own_window);
    if (t_all_below(2))
        return;
    window_check(&own_window);
    window_close(&own_window);
    has_window = 0;
}

static void operations(void)
{
    int at = (int) t_below(SHARED);
    struct window *v = &shared[at][me()];
    if (sync_of[at] == LOCK)
        locks(v);
    else
        some(v, -1, sync_of[at] == LOCK_ALL);
}

static MPI_Aint other_at(int target, size_t word)
{
    const struct window *v = &shared[LIFE][0];
    return window_place(v, target, window_blocks(&v->w, v->parts) + COMMON + word);
}

/* A number that nobody else gets: whoever has it marks its slot. */
static void tickets(void)
{
    static const int64_t one = 1;
    const struct t_win *w = &shared[LIFE][0].w;
    int target = (int) t_below((uint64_t) w->size);
    for (uint64_t left = 1 + t_below(5); left > 0; left--) {
        int64_t ticket = -1;
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, target, other_at(target, TICKET), MPI_SUM,
                         w->win);
        (void) (t_below(2) ? MPI_Win_flush(target, w->win) : MPI_Win_flush_local_all(w->win));
        drawn[me()][target]++;
        t_check(ticket >= 0, "ticket %lld", (long long) ticket);
        if (ticket >= 0 && ticket < SLOTS)
            MPI_Accumulate(&one, 1, MPI_INT64_T, target, other_at(target, SLOT + (size_t) ticket),
                           1, MPI_INT64_T, MPI_SUM, w->win);
    }
    MPI_Win_flush(target, w->win);
}

/* Two words that are changed by whoever is in the lock, by gets and puts. */
static void spin_lock(void)
{
    static const int64_t nobody = 0;
    const struct t_win *w = &shared[LIFE][0].w;
    int target = (int) t_below((uint64_t) w->size);
    int64_t self = 1 + (int64_t) me() + t_rank * THREADS_MAX, found = -1, two[2] = {-1, -2};
    MPI_Aint lock = other_at(target, SPIN), at = other_at(target, GUARDED);
    for (;;) {
        MPI_Compare_and_swap(&self, &nobody, &found, MPI_INT64_T, target, lock, w->win);
        MPI_Win_flush(target, w->win);
        if (found == nobody)
            break;
        sched_yield();
    }
    MPI_Get(two, 2, MPI_INT64_T, target, at, 2, MPI_INT64_T, w->win);
    MPI_Win_flush(target, w->win);
    t_check(two[0] == two[1], "in the lock: %lld, %lld", (long long) two[0], (long long) two[1]);
    two[0]++;
    two[1]++;
    MPI_Put(&two[0], 1, MPI_INT64_T, target, at, 1, MPI_INT64_T, w->win);
    MPI_Put(&two[1], 1, MPI_INT64_T, target, other_at(target, GUARDED_TOO), 1, MPI_INT64_T, w->win);
    MPI_Win_flush(target, w->win);
    been[me()][target]++;
    MPI_Compare_and_swap(&nobody, &self, &found, MPI_INT64_T, target, lock, w->win);
    MPI_Win_flush(target, w->win);
    t_check(found == self, "the lock was taken by %lld", (long long) found);
}

/* Memory that is attached to a window on which all operate, written by a neighbour, and
 * detached. */
static void attachments(void)
{
    enum { LONGEST = 3000 };
    struct t_win *w = &shared[ATTACHING][0].w;
    if (sync_of[ATTACHING] != LOCK_ALL)
        return;
    size_t n = 1 + t_all_below(LONGEST);
    uint64_t key = t_all_below(UINT32_MAX) << 20;
    int next = (t_rank + 1) % t_size, last = (t_rank + t_size - 1) % t_size;
    int64_t *here = t_alloc(n * 8), *out = t_alloc(n * 8), *back = t_alloc(n * 8);
    MPI_Aint mine, there;
    for (size_t k = 0; k < n; k++) {
        here[k] = -1;
        out[k] = (int64_t) t_any(key + k) + t_rank;
    }
    MPI_Win_attach(w->win, here, (MPI_Aint) n * 8);
    MPI_Get_address(here, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, last, 1, &there, 1, MPI_AINT, next, 1, own, MPI_STATUS_IGNORE);
    MPI_Put(out, (int) n, MPI_INT64_T, next, there, (int) n, MPI_INT64_T, w->win);
    MPI_Win_flush(next, w->win);
    MPI_Get(back, (int) n, MPI_INT64_T, next, there, (int) n, MPI_INT64_T, w->win);
    MPI_Win_flush(next, w->win);
    t_check(memcmp(out, back, n * 8) == 0, "attached: other words have come back");
    MPI_Barrier(own);
    MPI_Win_sync(w->win);
    size_t k = 0;
    while (k < n && here[k] == (int64_t) t_any(key + k) + last)
        k++;
    t_check(k == n, "attached: word %zu of %zu", k, n);
    MPI_Win_detach(w->win, here);
    free(here);
    free(out);
    free(back);
}

/* --- between phases --------------------------------------------------------------------------- */

static void epochs_begin(void)
{
    for (int i = 0; i < SHARED; i++) {
        struct window *v = shared[i];
        MPI_Group all;
        sync_of[i] = i == LIFE ? LOCK_ALL : (enum sync) t_all_below(SYNCS);
        MPI_Win_get_group(v->w.win, &all);
        if (sync_of[i] == FENCE) {
            MPI_Win_fence(MPI_MODE_NOPRECEDE, v->w.win);
        } else if (sync_of[i] == PSCW) {
            MPI_Win_post(all, 0, v->w.win);
            MPI_Win_start(all, 0, v->w.win);
        } else if (sync_of[i] == LOCK_ALL && !(i == LIFE && v->pending[0].locked)) {
            MPI_Win_lock_all(0, v->w.win);
        }
        MPI_Group_free(&all);
        for (uint64_t t = 0; t < threads; t++)
            for (int target = 0; target < v->w.size; target++)
                v[t].pending[target].locked = sync_of[i] == LOCK_ALL;
    }
}

static void others_check(void)
{
    const struct t_win *w = &shared[LIFE][0].w;
    int64_t sum[2][RANKS_MAX] = {{0}}, here[2];
    const int64_t *other = (const int64_t *) (const void *) w->base;
    other += window_blocks(w, threads) + COMMON;
    for (uint64_t t = 0; t < threads; t++)
        for (int i = 0; i < w->size; i++) {
            sum[0][i] += drawn[t][i];
            sum[1][i] += been[t][i];
        }
    MPI_Reduce_scatter_block(sum[0], &here[0], 1, MPI_INT64_T, MPI_SUM, w->comm);
    MPI_Reduce_scatter_block(sum[1], &here[1], 1, MPI_INT64_T, MPI_SUM, w->comm);
    t_check(other[TICKET] == here[0], "%lld tickets, not %lld", (long long) other[TICKET],
            (long long) here[0]);
    for (int i = 0; i < SLOTS; i++)
        t_check(other[SLOT + i] == (i < here[0]), "ticket %d has been drawn %lld times", i,
                (long long) other[SLOT + i]);
    t_check(other[SPIN] == 0 && other[GUARDED] == here[1] && other[GUARDED_TOO] == here[1],
            "the lock: %lld, %lld, %lld, not %lld", (long long) other[SPIN],
            (long long) other[GUARDED], (long long) other[GUARDED_TOO], (long long) here[1]);
}

static void epochs_end(void)
{
    for (int i = 0; i < SHARED; i++) {
        MPI_Win win = shared[i][0].w.win;
        for (uint64_t t = 0; t < threads; t++)
            window_wait(&shared[i][t]);
        if (sync_of[i] == FENCE) {
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        } else if (sync_of[i] == PSCW) {
            MPI_Win_complete(win);
            MPI_Win_wait(win);
        } else if (i == LIFE) {
            MPI_Win_flush_all(win);
        } else if (sync_of[i] == LOCK_ALL) {
            MPI_Win_unlock_all(win);
        }
        for (uint64_t t = 0; t < threads; t++)
            window_reap(&shared[i][t]);
    }
    MPI_Barrier(between);
    MPI_Win_sync(shared[LIFE][0].w.win);
    window_check_locked(shared[LIFE]);
    others_check();
    MPI_Barrier(between);
    for (int i = LIFE + 1; i < SHARED; i++)
        window_check(shared[i]);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void phase(void)
{
    static void (*const step[])(void) = {messages,    collectives, exchange, communicators,
                                         own_windows, attachments, tickets,  spin_lock};
    for (uint64_t left = steps; left > 0; left--) {
        operations();
        step[t_all_below(sizeof step / sizeof *step)]();
    }
    colls_settle();
}

static void *thread(void *arg)
{
    MPI_Comm *comm = arg;
    t_thread = 1 + (uint64_t) (comm - comm_of);
    own = *comm;
    coll_comms_make(own);
    for (uint64_t left = phases; left > 0; left--) {
        pthread_barrier_wait(&meet);
        phase();
        pthread_barrier_wait(&meet);
    }
    if (has_window) {
        window_check(&own_window);
        window_close(&own_window);
    }
    coll_comms_free();
    return NULL;
}

static void shared_open(int i)
{
    enum t_flavour flavour = i == ATTACHING ? T_DYNAMIC : (enum t_flavour) t_all_below(T_FLAVOURS);
    struct t_win w = window_memory(MPI_COMM_WORLD, flavour, threads, OTHERS);
    for (uint64_t t = 0; t < threads; t++) {
        window_take(&shared[i][t], w, t, threads);
        shared[i][t].turn = turn[i];
    }
    for (int target = 0; target < t_size; target++)
        pthread_mutex_init(&turn[i][target], NULL);
}

static void shared_close(int i)
{
    for (uint64_t t = 0; t < threads; t++)
        window_leave(&shared[i][t]);
    if (i == LIFE)
        MPI_Win_unlock_all(shared[i][0].w.win);
    t_win_free(&shared[i][0].w);
}

int main(int argc, char **argv)
{
    enum { BUFFER = 1 << 27, WORDS_LEAST = 200, WORDS_MORE = 3000 };
    pthread_t id[THREADS_MAX];
    t_begin_at(&argc, &argv, MPI_THREAD_MULTIPLE);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    steps = argc > 2 ? strtoul(argv[2], NULL, 0) : STEPS;
    phases = argc > 3 ? strtoul(argv[3], NULL, 0) : PHASES;
    if (t_size > RANKS_MAX) {
        t_fault("at most %d ranks can be had", RANKS_MAX);
        return t_end();
    }
    threads = 2 + t_all_below(THREADS_MAX - 1);
    words = WORDS_LEAST + t_all_below(WORDS_MORE);
    int size;
    void *buffer = t_alloc(BUFFER);
    MPI_Buffer_attach(buffer, BUFFER);
    coll_types_make();
    MPI_Comm_dup(MPI_COMM_WORLD, &between);
    MPI_Comm_dup(MPI_COMM_WORLD, &in_common);
    for (int i = 0; i < SHARED; i++)
        shared_open(i);
    pthread_barrier_init(&meet, NULL, (unsigned) threads + 1);
    for (uint64_t t = 0; t < threads; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm_of[t]);
        pthread_create(&id[t], NULL, thread, &comm_of[t]);
    }
    for (uint64_t left = phases; left > 0; left--) {
        epochs_begin();
        pthread_barrier_wait(&meet);
        pthread_barrier_wait(&meet);
        epochs_end();
    }
    for (uint64_t t = 0; t < threads; t++) {
        pthread_join(id[t], NULL);
        MPI_Comm_free(&comm_of[t]);
    }
    for (int i = 0; i < SHARED; i++)
        shared_close(i);
    MPI_Comm_free(&between);
    MPI_Comm_free(&in_common);
    coll_types_free();
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    return t_end();
}
