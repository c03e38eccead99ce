/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What a user can say about the choice of algorithms: the network's costs, as text (maint/tune
 * writes it), and where the engine is the faster way. Whoever reads the text, and has all ranks
 * agree on it, is above.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "mpid/coll/coll_impl.h"

enum { LATENCY = 1, GAP = 2, BYTE = 4, REDUCE = 8, ALL = 15, ACROSS = 16 };

static const double ns_max = 1e11; /* the trees' arithmetic is in whole picoseconds below 2^50 */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *blanks_end(const char *at)
{
    while (is_blank(*at))
        at++;
    return at;
}

/* Digits with a point, whatever the locale; at least one. Returns what is behind, or NULL. */
static const char *number_end(const char *at, double *number_out)
{
    const char *first = at;
    double unit = 1;
    for (*number_out = 0; (*at >= '0' && *at <= '9') || (*at == '.' && unit == 1); at++) {
        if (*at == '.') {
            unit = 0.1;
        } else if (unit == 1) {
            *number_out = *number_out * 10 + (*at - '0');
        } else {
            *number_out += unit * (*at - '0');
            unit /= 10;
        }
    }
    return at > first && at - first < 20 && (at - first > 1 || *first != '.') ? at : NULL;
}

static int is_end(char c)
{
    return c == 0 || c == '\n' || c == '#';
}

static size_t word_bytes(const char *at)
{
    return strcspn(at, " \t\r\n");
}

static int word_is(const char *at, const char *word)
{
    return strlen(word) == word_bytes(at) && strncasecmp(at, word, strlen(word)) == 0;
}

struct reading {
    struct wdl_coll_model model;
    struct wdl_coll_wins wins;
    int have; /* of the model */
    uint64_t wins_have; /* a bit a kind and form: said in this text */
};
wdl_static_assert(WDL_COLL_KIND_COUNT * WDL_COLL_FORM_COUNT <= 64);

/* `name number`. NULL, or what is wrong with it. */
static const char *cost_read(const char *at, struct reading *r)
{
    struct {
        const char *name;
        int bit;
        double *to;
    } table[] = {{"latency", LATENCY, &r->model.latency},
                 {"gap", GAP, &r->model.gap},
                 {"byte", BYTE, &r->model.byte},
                 {"reduce", REDUCE, &r->model.reduce},
                 {"across", ACROSS, &r->model.across}};
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (!word_is(at, table[i].name))
            continue;
        const char *end = number_end(blanks_end(at + word_bytes(at)), table[i].to);
        if (!end || !is_end(*blanks_end(end)))
            break;
        if (r->have & table[i].bit)
            return "said before";
        r->have |= table[i].bit;
        return NULL;
    }
    return "not `latency', `gap', `byte', `reduce' or `across' and a number, nor `wins'";
}

/* Whole numbers, as many as there are, at most `most`; returns how many, -1: something else. */
static int numbers_read(const char *at, int most, size_t *to)
{
    const double number_max = 1e15;
    for (int count = 0;; count++) {
        double number;
        at = blanks_end(at);
        if (is_end(*at))
            return count;
        at = count < most ? number_end(at, &number) : NULL;
        if (!at || number > number_max || number != (double) (size_t) number)
            return -1;
        to[count] = (size_t) number;
    }
}

static int kind_of(const char *word)
{
    for (int kind = 0; kind < WDL_COLL_CUSTOM; kind++)
        if (word_is(word, wdl_coll_kind_name((enum wdl_coll_kind) kind)))
            return kind;
    return -1;
}

/* `wins KIND A_NODE LEAST MOST`, of that form; NULL, or what is wrong with it. */
static const char *wins_read(const char *at, enum wdl_coll_form form, struct reading *r)
{
    enum { A_NODE, LEAST, MOST, NUMBERS };
    size_t number[NUMBERS] = {[MOST] = SIZE_MAX};
    const char *word = blanks_end(at + word_bytes(at));
    int kind = kind_of(word), varied = form >= WDL_COLL_VARIED;
    int count = numbers_read(word + word_bytes(word), varied ? 1 : NUMBERS, number);
    if (kind < 0)
        return "no such kind of collective";
    if (count < 1 || number[A_NODE] > INT32_MAX || number[LEAST] > number[MOST])
        return varied ? "not a kind and a number of ranks"
                      : "not a kind, a number of ranks and lengths from least to most";
    uint64_t bit = (uint64_t) 1 << (kind * WDL_COLL_FORM_COUNT + (int) form);
    if (!(r->wins_have & bit))
        memset(r->wins.of[kind][form], 0, sizeof(r->wins.of[kind][form]));
    r->wins_have |= bit;
    struct wdl_coll_win win = {(int) number[A_NODE], number[LEAST], number[MOST]};
    if (wdl_wins_add(&r->wins, (enum wdl_coll_kind) kind, form, &win) != WDL_OK)
        return "too many of this kind";
    return NULL;
}

static const char *line_read(const char *at, struct reading *r)
{
    static const char *const form[] = {[WDL_COLL_WAITED] = "wins",
                                       [WDL_COLL_BEGUN] = "wins_begun",
                                       [WDL_COLL_VARIED] = "wins_varied",
                                       [WDL_COLL_VARIED_BEGUN] = "wins_varied_begun"};
    for (int i = 0; i < WDL_COLL_FORM_COUNT; i++)
        if (word_is(at, form[i]))
            return wins_read(at, (enum wdl_coll_form) i, r);
    return cost_read(at, r);
}

int wdl_coll_model_read(const char *text, struct wdl_coll_model *model_out,
                        struct wdl_coll_wins *wins_out, char *err, size_t err_bytes)
{
    struct reading r = {.wins = wdl_coll_wins_measured};
    int line = 1;
    for (const char *at = text; at; line++) {
        const char *word = blanks_end(at);
        const char *wrong = is_end(*word) ? NULL : line_read(word, &r);
        if (wrong) {
            snprintf(err, err_bytes, "line %d: %s", line, wrong);
            return WDL_ERR_ARG;
        }
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if ((r.have & ALL) != ALL) {
        snprintf(err, err_bytes, "latency, gap, byte and reduce are not all there");
        return WDL_ERR_ARG;
    }
    if (r.model.latency <= 0 || r.model.gap <= 0 || r.model.latency > ns_max ||
        r.model.gap > ns_max || r.model.across > ns_max) {
        snprintf(err, err_bytes, "latency, gap and across are between 0 and 100 s, in ns");
        return WDL_ERR_ARG;
    }
    *model_out = r.model;
    *wins_out = r.wins;
    return WDL_OK;
}

/* In the C locale's digits, whatever the program's: picoseconds are enough. */
int wdl_coll_model_write(const struct wdl_coll_model *model, char *text, size_t bytes, char *err,
                         size_t err_bytes)
{
    const struct {
        const char *name;
        double ns;
    } table[] = {{"latency", model->latency},
                 {"gap", model->gap},
                 {"byte", model->byte},
                 {"reduce", model->reduce},
                 {"across", model->across}};
    size_t at = 0;
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const double half_ps = 0.0005;
        int is_unsaid = table[i].ns == 0 && strcmp(table[i].name, "across") == 0;
        if (is_unsaid)
            continue;
        if (!(table[i].ns >= half_ps && table[i].ns <= ns_max)) {
            snprintf(err, err_bytes, "%s cannot be %g ns", table[i].name, table[i].ns);
            return WDL_ERR_ARG;
        }
        unsigned long long ps = (unsigned long long) (table[i].ns * 1000 + 0.5);
        int wrote = snprintf(text + at, bytes - at, "%s %llu.%03llu\n", table[i].name, ps / 1000,
                             ps % 1000);
        if (wrote < 0 || (size_t) wrote >= bytes - at) {
            snprintf(err, err_bytes, "no room for the model");
            return WDL_ERR_ARG;
        }
        at += (size_t) wrote;
    }
    return WDL_OK;
}

void wdl_coll_model_set(struct wdl_proc *proc, const struct wdl_coll_model *model)
{
    ((struct wdl_coll *) proc->coll)->model = *model;
}

const struct wdl_coll_model *wdl_coll_model_get(const struct wdl_proc *proc)
{
    return &((const struct wdl_coll *) proc->coll)->model;
}
