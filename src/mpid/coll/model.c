/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What a user can say about the choice of algorithms: the network's costs, as text (maint/tune
 * writes it), and algorithms by name. Whoever reads the text, and has all ranks agree on it, is
 * above.
 */
#include <stdio.h>
#include <string.h>
#include "mpid/coll/coll_impl.h"

enum { LATENCY = 1, GAP = 2, BYTE = 4, REDUCE = 8, ALL = 15, ACROSS = 16 };

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

/* A line `name number`. Returns its bit, or 0. */
static int line_read(const char *at, struct wdl_coll_model *model)
{
    struct {
        const char *name;
        int bit;
        double *to;
    } table[] = {{"latency", LATENCY, &model->latency},
                 {"gap", GAP, &model->gap},
                 {"byte", BYTE, &model->byte},
                 {"reduce", REDUCE, &model->reduce},
                 {"across", ACROSS, &model->across}};
    size_t length = strcspn(at, " \t\r\n");
    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strlen(table[i].name) != length || memcmp(at, table[i].name, length))
            continue;
        const char *end = number_end(blanks_end(at + length), table[i].to);
        end = end ? blanks_end(end) : NULL;
        return end && (*end == 0 || *end == '\n' || *end == '#') ? table[i].bit : 0;
    }
    return 0;
}

int wdl_coll_model_read(const char *text, struct wdl_coll_model *model_out, char *err,
                        size_t err_bytes)
{
    struct wdl_coll_model model = {0};
    int have = 0, line = 1;
    for (const char *at = text; at; line++) {
        const char *word = blanks_end(at);
        if (*word && *word != '#' && *word != '\n') {
            int bit = line_read(word, &model);
            if (!bit || (have & bit)) {
                static const char unknown[] =
                    "not `latency', `gap', `byte', `reduce' or `across' and a number";
                snprintf(err, err_bytes, "line %d: %s", line, bit ? "said before" : unknown);
                return WDL_ERR_ARG;
            }
            have |= bit;
        }
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    if ((have & ALL) != ALL) {
        snprintf(err, err_bytes, "latency, gap, byte and reduce are not all there");
        return WDL_ERR_ARG;
    }
    /* the trees' arithmetic is in whole picoseconds below 2^50 */
    if (model.latency <= 0 || model.gap <= 0 || model.latency > 1e11 || model.gap > 1e11 ||
        model.across > 1e11) {
        snprintf(err, err_bytes, "latency, gap and across are between 0 and 100 s, in ns");
        return WDL_ERR_ARG;
    }
    *model_out = model;
    return WDL_OK;
}

void wdl_coll_model_set(struct wdl_proc *proc, const struct wdl_coll_model *model)
{
    ((struct wdl_coll *) proc->coll)->model = *model;
}
