/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Derived datatypes of many shapes, all of T_WORDS 32-bit integers in total, each with the list of
 * its displacements, which is written down here independently of MPI. The list is the oracle: word
 * i of one shape goes to word i of another.
 */
#ifndef TYPES_H_INCLUDED
#define TYPES_H_INCLUDED

#include "testing.h"

enum { T_ROWS = 384, T_COLUMNS = 1024, T_WORDS = T_ROWS * T_COLUMNS }; /* 1.5 MiB */

enum t_shape {
    T_CONTIG,
    T_VECTOR,
    T_INDEXED,
    T_HINDEXED,
    T_STRUCT,
    T_SUBARRAY_C,
    T_SUBARRAY_FORTRAN,
    T_RESIZED,
    T_NEGATIVE,
    T_NESTED,
    T_COLUMNWISE,
    T_SPARSE,
    T_SHAPES
};

static const char *const t_shape_name[] T_UNUSED = {
    "contiguous",       "vector",     "indexed",
    "hindexed",         "struct",     "subarray C",
    "subarray Fortran", "resized",    "negative lower bound",
    "nested",           "columnwise", "one word in three"};

struct t_type {
    enum t_shape shape;
    MPI_Datatype type;
    int count; /* so many of `type` make T_WORDS words */
    MPI_Aint *at; /* byte displacement of each word, in the order of the type map */
    MPI_Aint low, high; /* bytes from the address given to MPI: first used, one beyond the last */
};

static inline void t_type_contig(struct t_type *t)
{
    MPI_Type_contiguous(T_COLUMNS, MPI_INT32_T, &t->type);
    t->count = T_ROWS;
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = i * 4;
}

static inline void t_type_vector(struct t_type *t)
{
    int stride = T_COLUMNS + 37;
    MPI_Type_vector(T_ROWS, T_COLUMNS, stride, MPI_INT32_T, &t->type);
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = (i / T_COLUMNS * stride + i % T_COLUMNS) * 4;
}

/* Blocks of changing length, the last one first. */
static inline void t_type_indexed(struct t_type *t)
{
    static int length[T_ROWS], place[T_ROWS];
    int k = 0;
    for (int b = 0; b < T_ROWS; b++) {
        length[b] = T_COLUMNS + (b % 2 ? 100 : -100);
        place[b] = (T_ROWS - 1 - b) * (T_COLUMNS + 111);
        for (int i = 0; i < length[b]; i++)
            t->at[k++] = (place[b] + i) * 4;
    }
    MPI_Type_indexed(T_ROWS, length, place, MPI_INT32_T, &t->type);
}

static inline void t_type_hindexed(struct t_type *t)
{
    static MPI_Aint place[T_ROWS];
    for (int b = 0; b < T_ROWS; b++) {
        place[b] = (MPI_Aint) ((b * 7) % T_ROWS) * (T_COLUMNS + 5) * 4;
        for (int i = 0; i < T_COLUMNS; i++)
            t->at[b * T_COLUMNS + i] = place[b] + i * 4;
    }
    MPI_Type_create_hindexed_block(T_ROWS, T_COLUMNS, place, MPI_INT32_T, &t->type);
}

/* Half of it one block, half of it a vector, with a hole between; the vector comes first in
 * memory. */
static inline void t_type_struct(struct t_type *t)
{
    int length[2] = {T_WORDS / 2, 1}, half = T_ROWS / 2;
    MPI_Aint place[2] = {(MPI_Aint) half * 2 * T_COLUMNS * 4 + 64, 8};
    MPI_Datatype part[2] = {MPI_INT32_T, MPI_DATATYPE_NULL};
    MPI_Type_vector(half, T_COLUMNS, 2 * T_COLUMNS, MPI_INT32_T, &part[1]);
    MPI_Type_create_struct(2, length, place, part, &t->type);
    MPI_Type_free(&part[1]);
    for (int i = 0; i < T_WORDS / 2; i++) {
        t->at[i] = place[0] + i * 4;
        t->at[T_WORDS / 2 + i] =
            place[1] + (MPI_Aint) (i / T_COLUMNS * 2 * T_COLUMNS + i % T_COLUMNS) * 4;
    }
}

static inline void t_type_subarray(struct t_type *t, int order)
{
    int size[3] = {6, 150, T_COLUMNS + 40}, sub[3] = {3, T_ROWS / 3, T_COLUMNS},
        start[3] = {2, 11, 17};
    if (order == MPI_ORDER_FORTRAN)
        for (int i = 0; i < 3; i += 2) {
            int s = i ? 6 : T_COLUMNS + 40, u = i ? 3 : T_COLUMNS, b = i ? 2 : 17;
            size[i] = s, sub[i] = u, start[i] = b;
        }
    MPI_Type_create_subarray(3, size, sub, start, order, MPI_INT32_T, &t->type);
    int k = 0;
    for (int z = 0; z < 3; z++)
        for (int y = 0; y < T_ROWS / 3; y++)
            for (int x = 0; x < T_COLUMNS; x++)
                t->at[k++] = (((2 + z) * 150 + 11 + y) * (MPI_Aint) (T_COLUMNS + 40) + 17 + x) * 4;
}

/* Two words in every 20 bytes; the extent is not the span. */
static inline void t_type_resized(struct t_type *t)
{
    MPI_Datatype two;
    MPI_Type_contiguous(2, MPI_INT32_T, &two);
    MPI_Type_create_resized(two, -4, 20, &t->type);
    MPI_Type_free(&two);
    t->count = T_WORDS / 2;
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = (MPI_Aint) (i / 2) * 20 + i % 2 * 4;
}

/* A vector that walks backwards from the address given. */
static inline void t_type_negative(struct t_type *t)
{
    int stride = -(T_COLUMNS + 9);
    MPI_Type_vector(T_ROWS, T_COLUMNS, stride, MPI_INT32_T, &t->type);
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = (i / T_COLUMNS * stride + i % T_COLUMNS) * 4;
}

/* A vector of subarrays of vectors. */
static inline void t_type_nested(struct t_type *t)
{
    MPI_Datatype pair, tile;
    int size[2] = {20, 70}, sub[2] = {16, 32}, start[2] = {3, 5}, k = 0;
    MPI_Type_vector(2, 1, 2, MPI_INT32_T, &pair); /* words 0 and 2, extent 12 */
    MPI_Type_create_subarray(2, size, sub, start, MPI_ORDER_C, pair, &tile);
    int tiles = T_WORDS / (16 * 32 * 2), tile_bytes = 20 * 70 * 12;
    MPI_Type_create_hvector(tiles / 4, 2, 3 * (MPI_Aint) tile_bytes, tile, &t->type);
    MPI_Type_free(&pair);
    MPI_Type_free(&tile);
    t->count = 2;
    MPI_Aint extent = ((MPI_Aint) (tiles / 4 - 1) * 3 + 2) * tile_bytes;
    for (int c = 0; c < 2; c++)
        for (int b = 0; b < tiles / 4; b++)
            for (int e = 0; e < 2; e++)
                for (int y = 0; y < 16; y++)
                    for (int x = 0; x < 32; x++)
                        for (int p = 0; p < 2; p++)
                            t->at[k++] = c * extent + ((MPI_Aint) b * 3 + e) * tile_bytes +
                                         ((3 + y) * 70 + 5 + x) * 12 + p * 8;
}

/* A matrix by columns: every word is a block of its own, and consecutive elements interleave. */
static inline void t_type_columnwise(struct t_type *t)
{
    MPI_Datatype column;
    MPI_Type_vector(T_ROWS, 1, T_COLUMNS, MPI_INT32_T, &column);
    MPI_Type_create_resized(column, 0, 4, &t->type);
    MPI_Type_free(&column);
    t->count = T_COLUMNS;
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = ((MPI_Aint) (i % T_ROWS) * T_COLUMNS + i / T_ROWS) * 4;
}

static inline void t_type_sparse(struct t_type *t)
{
    MPI_Type_vector(T_WORDS, 1, 3, MPI_INT32_T, &t->type);
    for (int i = 0; i < T_WORDS; i++)
        t->at[i] = (MPI_Aint) i * 12;
}

static inline struct t_type t_type_make(enum t_shape shape)
{
    struct t_type t = {.shape = shape, .count = 1, .at = t_alloc(T_WORDS * sizeof(MPI_Aint))};
    switch (shape) {
    case T_CONTIG:
        t_type_contig(&t);
        break;
    case T_VECTOR:
        t_type_vector(&t);
        break;
    case T_INDEXED:
        t_type_indexed(&t);
        break;
    case T_HINDEXED:
        t_type_hindexed(&t);
        break;
    case T_STRUCT:
        t_type_struct(&t);
        break;
    case T_SUBARRAY_C:
        t_type_subarray(&t, MPI_ORDER_C);
        break;
    case T_SUBARRAY_FORTRAN:
        t_type_subarray(&t, MPI_ORDER_FORTRAN);
        break;
    case T_RESIZED:
        t_type_resized(&t);
        break;
    case T_NEGATIVE:
        t_type_negative(&t);
        break;
    case T_NESTED:
        t_type_nested(&t);
        break;
    case T_COLUMNWISE:
        t_type_columnwise(&t);
        break;
    default:
        t_type_sparse(&t);
        break;
    }
    MPI_Type_commit(&t.type);
    t.low = t.high = t.at[0];
    for (int i = 0; i < T_WORDS; i++) {
        t.low = t.at[i] < t.low ? t.at[i] : t.low;
        t.high = t.at[i] + 4 > t.high ? t.at[i] + 4 : t.high;
    }
    return t;
}

static inline void t_type_free(struct t_type *t)
{
    MPI_Type_free(&t->type);
    free(t->at);
}

static inline size_t t_type_span(const struct t_type *t)
{
    return (size_t) (t->high - t->low);
}

/* Word i of the type in memory whose first used byte is at `first`. */
static inline int32_t *t_type_word(const struct t_type *t, char *first, int i)
{
    return (int32_t *) (void *) (first + (t->at[i] - t->low));
}

/* What the holes of a type are filled with; no data has this value. */
enum { T_HOLE = -1 };

static inline void t_type_fill(const struct t_type *t, char *first, int32_t start, int32_t step)
{
    memset(first, 0xff, t_type_span(t));
    for (int i = 0; i < T_WORDS; i++)
        *t_type_word(t, first, i) = start + step * i;
}

/* Is all of it start, start + step, ..., and nothing beside it touched? Leaves the memory
 * changed. */
static inline void t_type_check(const struct t_type *t, char *first, int32_t start, int32_t step,
                                const char *what)
{
    int bad = 0, first_bad = 0;
    for (int i = 0; i < T_WORDS; i++) {
        int32_t *word = t_type_word(t, first, i);
        if (*word != start + step * i && bad++ == 0)
            first_bad = i;
        *word = T_HOLE;
    }
    t_check(bad == 0, "%s: %s: %d words are wrong, the first is %d", what, t_shape_name[t->shape],
            bad, first_bad);
    for (size_t i = 0, n = t_type_span(t) / 4; i < n; i++)
        if (((int32_t *) (void *) first)[i] != T_HOLE) {
            t_fault("%s: %s: byte %zu, a hole of the type, was written", what,
                    t_shape_name[t->shape], 4 * i);
            break;
        }
}

#endif /* TYPES_H_INCLUDED */
