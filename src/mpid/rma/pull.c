/* Part of Windlass. See COPYRIGHT in the top-level directory. Long puts that their targets copy
 * (pull.h). */
#include "mpid/rma/joint.h"
#include "mpid/rma/mail.h"
#include "mpid/rma/pull.h"

enum { AT_ONCE, LEFT };         /* the ways of a trial */

static int is_between_fences(const struct wdl_win *win)
{
    int state = win->epoch.access_state;
    return state == WDL_ACCESS_FENCE_GRANTED || state == WDL_ACCESS_FENCE_ISSUED;
}

/* --- which way -------------------------------------------------------------------------------- */

enum { WAY = 1, TELLS = 2 };    /* bits of what the judge says */

static struct wdl_win_control *judge_of(const struct wdl_win *win)
{
    return &win->params.node[0];
}

static int size_of(uint64_t bytes)
{
    int size = 63 - __builtin_clzll(bytes / WDL_PULL_LEAST);
    return size < WDL_PULL_SIZES ? size : WDL_PULL_SIZES - 1;
}

/* The way of this epoch's long puts; there is one. */
static int way_of(struct wdl_win *win, uint64_t bytes)
{
    struct wdl_pulls *pulls = &win->pulls;
    struct wdl_win_control *judge = judge_of(win);
    int size = size_of(bytes);
    uint32_t says = __atomic_load_n(&judge->pull_way[pulls->fences % 2], __ATOMIC_RELAXED);
    if (!pulls->own && (says & TELLS))
        __atomic_store_n(&judge->pull_asked, pulls->fences * WDL_PULL_SIZES + (uint32_t) size,
                         __ATOMIC_RELAXED);
    if (size >= pulls->own)
        pulls->own = (uint8_t) (size + 1);
    return says & WAY ? LEFT : AT_ONCE;
}

void wdl_pulls_rule(struct wdl_win *win)
{
    struct wdl_pulls *pulls = &win->pulls;
    struct wdl_pull_rule *rule = &pulls->rule[(pulls->fences + 1) % 2];
    if (!win->mailbox.has || win->params.node_index != 0)
        return;
    *rule = pulls->next;
    rule->tells = pulls->blind == WDL_PULL_TELLS;
    uint32_t *says = &judge_of(win)->pull_way[(pulls->fences + 1) % 2];
    uint32_t word = (rule->way == LEFT ? WAY : 0u) | (rule->tells ? TELLS : 0u);
    if (*says != word)
        __atomic_store_n(says, word, __ATOMIC_RELAXED);
}

/* The size of long puts in the epoch that ends, or -1. */
static int size_seen(const struct wdl_win *win, const struct wdl_pull_rule *rule)
{
    const struct wdl_pulls *pulls = &win->pulls;
    if (pulls->own)
        return pulls->own - 1;
    uint32_t asked = __atomic_load_n(&judge_of(win)->pull_asked, __ATOMIC_RELAXED);
    uint32_t size = asked - pulls->fences * WDL_PULL_SIZES;
    return rule->tells && size < WDL_PULL_SIZES ? (int) size : -1;
}

/* Does the way that is gone take much less or more than when the other one was tried last? Then the
 * program does something else, and that is tried again now. */
static void look_again(struct wdl_pulls *pulls, struct wdl_trial *trial)
{
    uint32_t *then = &pulls->then[trial - pulls->trial], now = trial->ns[trial->best];
    if (*then == 0 || (now <= *then + *then / 4 && now >= *then - *then / 4))
        return;
    trial->next = trial->asked;
    *then = now;
}

/* Two such epochs on end are over, and each went that way, as the one before them did. A change of
 * the way costs something, since lines are in the wrong cache then: where both take the same it is
 * not worth it, and tries are far apart. */
static void took(struct wdl_pulls *pulls, const struct wdl_pull_rule *rule, struct wdl_trial *trial,
                 uint64_t now_ns)
{
    enum { ALIKE = 3 };
    int same = pulls->trial_before == trial && pulls->way_before == rule->way;
    pulls->alike = same ? pulls->alike + (pulls->alike < ALIKE) : 1;
    uint64_t ns = (now_ns - pulls->ended_ns[0]) / 2;
    int timed = rule->clock && pulls->alike == ALIKE && pulls->ended_ns[0] > 0;
    int tries = rule->way != trial->best;
    if (timed && tries)
        trial->ns[rule->way] = 0;       /* of long ago */
    if (timed)
        wdl_trial_took(trial, rule->way, ns + (rule->way == LEFT ? ns / 8 : 0));
    if (timed && tries)
        pulls->then[trial - pulls->trial] = trial->ns[trial->best];
    else if (timed)
        look_again(pulls, trial);
    pulls->trial_before = trial;
    pulls->way_before = rule->way;
    pulls->ended_ns[0] = pulls->ended_ns[1];
    pulls->ended_ns[1] = now_ns;
}

static void judge(struct wdl_win *win)
{
    struct wdl_pulls *pulls = &win->pulls;
    const struct wdl_pull_rule *rule = &pulls->rule[pulls->fences % 2];
    int size = size_seen(win, rule);
    pulls->blind = pulls->own ? 0 : (uint8_t) (pulls->blind + (pulls->blind < WDL_PULL_TELLS));
    if (size < 0)
        return;
    /* two lengths in turn are as the longer one */
    int of = size > pulls->size ? size : pulls->size;
    struct wdl_trial *trial = &pulls->trial[of];
    pulls->size = size;
    took(pulls, rule, trial, wdl_win_now_ns(win));
    if (pulls->early[of] < WDL_PULL_EARLY) {
        pulls->early[of]++;
        pulls->next = (struct wdl_pull_rule){.way = AT_ONCE};
        return;
    }
    trial->least = WDL_PULL_SELDOM;
    pulls->next = (struct wdl_pull_rule){.way = (uint8_t) wdl_trial_way(trial)};
    pulls->next.clock = trial->clock;
}

void wdl_pulls_end(struct wdl_win *win)
{
    if (win->mailbox.has && win->params.node_index == 0)
        judge(win);
    win->pulls.own = 0;
    win->pulls.fences++;
}

/* --- the origin ------------------------------------------------------------------------------- */

static int is_long(const struct wdl_win *win, uint64_t bytes)
{
    return bytes >= WDL_PULL_LEAST && bytes <= WDL_PULL_MOST && win->mailbox.on &&
           win->params.copy && is_between_fences(win);
}

int wdl_pull_takes(struct wdl_win *win, uint64_t bytes)
{
    return is_long(win, bytes) && way_of(win, bytes) == LEFT;
}

static int fits(const struct wdl_win *win, const struct wdl_rma_args *args)
{
    const struct wdl_buf *from = &args->origin, *to = &args->remote;
    return args->kind == WDL_RMA_PUT && !args->request && to->contig && from->contig &&
           from->bytes >= to->bytes && is_long(win, to->bytes);
}

/* Where several puts of an epoch go to one target a train takes them (train.h). */
static int is_alone(const struct wdl_win *win, int rank)
{
    const struct wdl_mailbox *box = &win->mailbox;
    return !box->row_follows && (box->row == 0 || box->row_rank != rank);
}

static int is_under_way(const struct wdl_pulls *pulls, int rank)
{
    for (int i = 0; i < pulls->n; i++)
        if (pulls->at[i].rank == rank)
            return 1;
    return 0;
}

/* Is there room for another, is the target there, and is it the faster way? */
static int is_left(struct wdl_win *win, int rank, const struct wdl_win_control *control,
                   uint64_t bytes)
{
    struct wdl_pulls *pulls = &win->pulls;
    if (way_of(win, bytes) != LEFT || win->batched != pulls->n || is_under_way(pulls, rank) ||
        pulls->n == WDL_PULLS || !wdl_mail_is_attended(control) ||
        wdl_mail_is_crowded(win, control))
        return 0;
    if (pulls->pass > 0) {
        pulls->pass--;
        return 0;
    }
    return wdl_mail_is_expected(win, rank, WDL_MAIL_PULLS, control, bytes);
}

static int post(struct wdl_win *win, struct wdl_pull pull)
{
    struct wdl_mail *mail = wdl_mail_get(win, pull.control);
    if (!mail)
        return 0;
    pull.mail = mail;
    pull.stamp = win->stamp;
    mail->origin = (uint32_t) win->params.rank;
    mail->kind = WDL_MAIL_PULL;
    mail->disp = (int64_t) pull.there;
    mail->joint = (struct wdl_mail_joint){.from = (uint64_t) (uintptr_t) pull.from,
                                          .bytes = pull.bytes};
    wdl_mail_set(mail, WDL_MAIL_POSTED);
    win->pulls.at[win->pulls.n++] = pull;
    win->batched++;
    win->rma->batched++;
    return 1;
}

int wdl_pull_op(struct wdl_win *win, const struct wdl_rma_args *args,
                struct wdl_win_control *control, const struct wdl_win_rank *info)
{
    if (!fits(win, args) || !is_alone(win, args->target) ||
        !is_left(win, args->target, control, args->remote.bytes))
        return WDL_ERR_UNSUPPORTED;
    uint64_t there = (uint64_t) args->disp;
    if (win->params.flavor != WDL_WIN_DYNAMIC)
        there = wdl_rank_place(info, args->disp);
    if (!post(win, (struct wdl_pull){.rank = args->target, .control = control,
                                     .from = (char *) args->origin.addr + args->origin.lo,
                                     .there = there + (uint64_t) args->remote.lo,
                                     .bytes = args->remote.bytes}))
        return WDL_ERR_UNSUPPORTED;
    win->stats.ops_mailed++;
    wdl_train_count(win, args->target, args->kind, args->remote.bytes);
    return WDL_OK;
}

int wdl_pull_mapped(struct wdl_win *win, int rank, char *at, const void *from, uint64_t bytes)
{
    struct wdl_win_control *control;
    uintptr_t to = (uintptr_t) at, of = (uintptr_t) from;
    if (!win->mailbox.has || !win->params.copy_mapped || bytes > WDL_PULL_MOST ||
        rank == win->params.rank || !is_between_fences(win) || to - of < bytes || of - to < bytes)
        return 0;
    const char *base = win->params.map(win->params.ctx, rank, &control);
    return is_left(win, rank, control, bytes) &&
           post(win, (struct wdl_pull){.rank = rank, .control = control, .from = from, .at = at,
                                       .there = (uint64_t) (at - base), .bytes = bytes});
}

/* From here, as it would have been. */
static int copy(struct wdl_win *win, const struct wdl_pull *pull)
{
    struct wdl_piece here = {(char *) (uintptr_t) pull->from, pull->bytes};
    struct wdl_piece there = {(char *) (uintptr_t) pull->there, pull->bytes};
    if (pull->at) {
        wdl_quick_store_long(win, pull->rank, pull->at, pull->from, pull->bytes);
        return WDL_OK;
    }
    int status = wdl_copy_exposed(win, pull->rank, pull->control, pull->there, pull->bytes);
    return status == WDL_OK ?
        win->params.copy(win->params.ctx, pull->rank, 1, &here, 1, &there, 1) : status;
}

/* The target has answered: 1: it has it. */
static int answered(struct wdl_win *win, struct wdl_pull *pull)
{
    int has = pull->mail->status == WDL_OK;
    wdl_mail_give_back(win, pull->mail);
    pull->mail = NULL;
    wdl_mail_came(win, pull->rank, WDL_MAIL_PULLS);
    return has;
}

/* 1: it is over. */
static int settle(struct wdl_win *win, struct wdl_pull *pull, int at_once)
{
    if (pull->mail && wdl_mail_look(pull->mail) == WDL_MAIL_DONE) {
        if (answered(win, pull))
            return 1;
    } else if (pull->mail) {
        int late = ++pull->looks >= wdl_mail_patience(pull->bytes);
        if ((!at_once && !late) || !wdl_mail_swap(pull->mail, WDL_MAIL_POSTED, WDL_MAIL_FREE))
            return 0;
        pull->mail = NULL;
        if (late)
            wdl_mail_missed(win, pull->rank, WDL_MAIL_PULLS);
    }
    int status = copy(win, pull);
    if (status == WDL_AGAIN)
        return 0;
    if (!pull->at) {
        win->stats.ops_mailed--;
        win->stats.ops_copied++;
    }
    if (status != WDL_OK)
        wdl_win_fail(win, status);
    return 1;
}

static int run(struct wdl_win *win, int rank, uint64_t stamp, int at_once)
{
    struct wdl_pulls *pulls = &win->pulls;
    int status = WDL_OK;
    for (int i = pulls->n - 1; i >= 0; i--) {
        struct wdl_pull *pull = &pulls->at[i];
        if ((rank >= 0 && pull->rank != rank) || !wdl_is_older(pull->stamp, stamp))
            continue;
        if (!settle(win, pull, at_once)) {
            status = WDL_AGAIN;
            continue;
        }
        *pull = pulls->at[--pulls->n];
        win->batched--;
        win->rma->batched--;
    }
    return status;
}

int wdl_pulls_run(struct wdl_win *win, int rank, uint64_t stamp)
{
    int status = run(win, rank, stamp, 0);
    if (status == WDL_OK)
        win->pulls.spoilt = 0;
    return status;
}

int wdl_pulls_admit(struct wdl_win *win, int rank)
{
    enum { SPOILT = 5 };
    struct wdl_pulls *pulls = &win->pulls;
    if (!is_under_way(pulls, rank))
        return WDL_OK;
    if (run(win, rank, wdl_win_next_stamp(win), 1) != WDL_OK)
        return WDL_AGAIN;
    pulls->spoilt += pulls->spoilt < SPOILT;
    pulls->pass = (uint8_t) ((1 << pulls->spoilt) - 1);
    return WDL_OK;
}

/* --- the target ------------------------------------------------------------------------------- */

int wdl_pull_serve(const struct wdl_win *win, const struct wdl_mail *asked)
{
    uint64_t bytes = asked->joint.bytes;
    wdl_copy_fn *copier = wdl_joint_copier(win, asked);
    char *memory;
    if (!copier)
        return WDL_ERR_PROTO;
    if (bytes == 0 || bytes > WDL_PULL_MOST ||
        !(memory = wdl_joint_memory(win, (uint64_t) asked->disp, bytes)))
        return WDL_ERR_RANGE;
    struct wdl_piece here = {memory, bytes};
    struct wdl_piece there = {(char *) (uintptr_t) asked->joint.from, bytes};
    return copier(win->params.ctx, (int) asked->origin, 0, &here, 1, &there, 1);
}
