/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Messages of 1.5 MiB between derived types of all shapes, sent in all modes, received early or
 * late, or matched after a probe; and a small part of each type, which travels eagerly. Every word
 * and every hole is looked at.
 */
#include "types.h"

static struct t_type type[T_SHAPES];
static char *out, *in;

enum way { STANDARD, SYNCHRONOUS, READY, LATE, PROBED, REPLACED, WAYS };
static const char *const way_name[] = {"send",         "ssend",  "rsend",
                                       "late receive", "mprobe", "persistent"};

static void exchange(const struct t_type *s, const struct t_type *r, enum way way, int to, int from)
{
    char *send = out - s->low, *receive = in - r->low;
    MPI_Request request[2];
    MPI_Message message;
    MPI_Status status[2];
    int words;
    t_type_fill(s, out, 1000 * t_rank, 7);
    memset(in, 0xff, t_type_span(r));
    switch (way) {
    case STANDARD:
    case SYNCHRONOUS:
    case READY:
        MPI_Irecv(receive, r->count, r->type, from, 3, MPI_COMM_WORLD, &request[0]);
        if (way == READY)
            MPI_Barrier(MPI_COMM_WORLD);
        (way == READY ? MPI_Irsend
         : way == SYNCHRONOUS
             ? MPI_Issend
             : MPI_Isend)(send, s->count, s->type, to, 3, MPI_COMM_WORLD, &request[1]);
        break;
    case LATE:
        MPI_Isend(send, s->count, s->type, to, 3, MPI_COMM_WORLD, &request[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Irecv(receive, r->count, r->type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &request[0]);
        break;
    case PROBED:
        MPI_Isend(send, s->count, s->type, to, 3, MPI_COMM_WORLD, &request[1]);
        MPI_Mprobe(from, 3, MPI_COMM_WORLD, &message, &status[0]);
        MPI_Get_count(&status[0], MPI_INT32_T, &words);
        t_check(words == T_WORDS, "mprobe says %d words", words);
        MPI_Imrecv(receive, r->count, r->type, &message, &request[0]);
        break;
    default:
        MPI_Recv_init(receive, r->count, r->type, from, 3, MPI_COMM_WORLD, &request[0]);
        MPI_Send_init(send, s->count, s->type, to, 3, MPI_COMM_WORLD, &request[1]);
        MPI_Startall(2, request);
        break;
    }
    MPI_Waitall(2, request, status);
    MPI_Get_count(&status[0], r->type, &words);
    t_check(words == r->count, "%s to %s by %s: %d elements received instead of %d",
            t_shape_name[s->shape], t_shape_name[r->shape], way_name[way], words, r->count);
    if (way == REPLACED) {
        MPI_Request_free(&request[0]);
        MPI_Request_free(&request[1]);
    }
    t_type_check(r, in, 1000 * from, 7, way_name[way]);
}

/* In place: sendrecv_replace of the whole thing. */
static void replace(const struct t_type *t, int to, int from)
{
    t_type_fill(t, out, 500 * t_rank, 2);
    MPI_Sendrecv_replace(out - t->low, t->count, t->type, to, 1, from, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    t_type_check(t, out, 500 * from, 2, "sendrecv_replace");
}

/* One element of each type that is made of many: short messages of derived types. */
static void small(const struct t_type *t, int to, int from)
{
    int words = T_WORDS / t->count, size, got;
    MPI_Status status;
    if (t->count == 1 || words > 2 * T_COLUMNS)
        return;
    t_type_fill(t, out, 100 * t_rank, 1);
    memset(in, 0xff, t_type_span(t));
    MPI_Sendrecv(out - t->low, 1, t->type, to, 2, in - t->low, 2, t->type, from, 2, MPI_COMM_WORLD,
                 &status);
    MPI_Type_size(t->type, &size);
    MPI_Get_elements(&status, t->type, &got);
    t_check(got == words, "%s: %d words instead of %d", t_shape_name[t->shape], got, words);
    for (int i = 0; i < 2 * words; i++)
        t_check(*t_type_word(t, in, i) == (i < words ? 100 * from + i : T_HOLE),
                "%s: word %d of a short message is wrong", t_shape_name[t->shape], i);
}

int main(int argc, char **argv)
{
    size_t span_max = 0;
    t_begin(&argc, &argv);
    int to = (t_rank + 1) % t_size, from = (t_rank + t_size - 1) % t_size;
    for (int s = 0; s < T_SHAPES; s++) {
        type[s] = t_type_make((enum t_shape) s);
        if (t_type_span(&type[s]) > span_max)
            span_max = t_type_span(&type[s]);
    }
    out = t_alloc(span_max);
    in = t_alloc(span_max);
    for (int s = 0; s < T_SHAPES; s++) {
        for (int way = 0; way < WAYS; way++)
            exchange(&type[s], &type[(s * 5 + way) % T_SHAPES], (enum way) way, to, from);
        replace(&type[s], to, from);
        small(&type[s], to, from);
    }
    free(out);
    free(in);
    for (int s = 0; s < T_SHAPES; s++)
        t_type_free(&type[s]);
    return t_end();
}
