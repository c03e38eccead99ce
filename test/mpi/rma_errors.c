/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Mistakes with windows: each is an MPI error of the right class whose text says what is wrong, at
 * the call that makes it, and the window works afterwards. Only what a process can know by itself
 * is asked of it; a dynamic target's bounds, which only the target knows, come back with the call
 * that completes the operation.
 */
#include "testing.h"

enum { BYTES = 256 };

static struct t_win w;
static int buffer[1024], result[1024], next;

/* `call` must fail with this class and these words in its text. */
#define expect_text(class, words, call)                                                     \
    do {                                                                                    \
        int x_code = (call);                                                                \
        t_check(t_class(x_code) == (class), "%s, %s: class %d instead of %s: %s",           \
                t_flavour_name[w.flavour], #call, t_class(x_code), #class, t_text(x_code)); \
        t_check(t_class(x_code) != (class) || strstr(t_text(x_code), words),                \
                "%s: no \"%s\" in: %s", #call, words, t_text(x_code));                      \
    } while (0)

static void check_works(const char *after)
{
    int value = 1000 + t_rank, from;
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w.win);
    MPI_Put(&value, 1, MPI_INT, next, w.at[next], 1, MPI_INT, w.win);
    MPI_Win_unlock(next, w.win);
    MPI_Barrier(w.comm);
    MPI_Win_lock(MPI_LOCK_SHARED, w.rank, 0, w.win);
    memcpy(&from, w.base, sizeof from);
    MPI_Win_unlock(w.rank, w.win);
    MPI_Barrier(w.comm);
    t_check(from >= 1000 && from < 1000 + t_size, "%s: after %s the window holds %d",
            t_flavour_name[w.flavour], after, from);
}

/* All calls, with one target. */
static void all_calls(int class, const char *words, int rank, MPI_Aint disp, int count,
                      MPI_Datatype type)
{
    expect_text(class, words, MPI_Put(buffer, count, type, rank, disp, count, type, w.win));
    expect_text(class, words, MPI_Get(result, count, type, rank, disp, count, type, w.win));
    expect_text(class, words,
                MPI_Accumulate(buffer, count, type, rank, disp, count, type, MPI_REPLACE, w.win));
    expect_text(class, words,
                MPI_Get_accumulate(buffer, count, type, result, count, type, rank, disp, count,
                                   type, MPI_REPLACE, w.win));
}

static void one_element_calls(int class, const char *words, int rank, MPI_Aint disp)
{
    expect_text(class, words,
                MPI_Fetch_and_op(buffer, result, MPI_INT, rank, disp, MPI_SUM, w.win));
    expect_text(class, words,
                MPI_Compare_and_swap(buffer, buffer, result, MPI_INT, rank, disp, w.win));
}

static void request_calls(int class, const char *words, int rank, MPI_Aint disp, int count)
{
    MPI_Request r;
    expect_text(class, words,
                MPI_Rput(buffer, count, MPI_INT, rank, disp, count, MPI_INT, w.win, &r));
    expect_text(class, words,
                MPI_Rget(result, count, MPI_INT, rank, disp, count, MPI_INT, w.win, &r));
    expect_text(class, words,
                MPI_Raccumulate(buffer, count, MPI_INT, rank, disp, count, MPI_INT, MPI_SUM, w.win,
                                &r));
    expect_text(class, words,
                MPI_Rget_accumulate(buffer, count, MPI_INT, result, count, MPI_INT, rank, disp,
                                    count, MPI_INT, MPI_SUM, w.win, &r));
}

/* Operators that MPI does not know on a type; logical ones are of integers and logicals alone, in
 * reductions as well (where MPICH knows MPI_LXOR on floating types, by itself). */
static void operators(void)
{
    static const MPI_Datatype types[] = {
        MPI_FLOAT, MPI_DOUBLE,     MPI_LONG_DOUBLE,         MPI_REAL,
        MPI_REAL4, MPI_REAL8,      MPI_DOUBLE_PRECISION,    MPI_REAL16,
        MPI_BYTE,  MPI_FLOAT_INT,  MPI_C_FLOAT_COMPLEX,     MPI_C_DOUBLE_COMPLEX,
        MPI_2INT,  MPI_DOUBLE_INT, MPI_C_LONG_DOUBLE_COMPLEX};
    static const MPI_Op ops[] = {MPI_LAND, MPI_LOR, MPI_LXOR};
    MPI_Datatype pairs;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i] == MPI_DATATYPE_NULL) /* Fortran's, in an MPI without Fortran */
            continue;
        MPI_Type_vector(2, 1, 2, types[i], &pairs);
        MPI_Type_commit(&pairs);
        for (int k = 0; k < 3; k++) {
            const char *words = "op";
            expect_text(MPI_ERR_OP, words,
                        MPI_Accumulate(buffer, 3, types[i], next, w.at[next], 3, types[i], ops[k],
                                       w.win));
            expect_text(MPI_ERR_OP, words,
                        MPI_Accumulate(buffer, 1, pairs, next, w.at[next], 1, pairs, ops[k],
                                       w.win));
            expect_text(MPI_ERR_OP, words,
                        MPI_Get_accumulate(buffer, 3, types[i], result, 3, types[i], next,
                                           w.at[next], 3, types[i], ops[k], w.win));
            expect_text(MPI_ERR_OP, words,
                        MPI_Fetch_and_op(buffer, result, types[i], next, w.at[next], ops[k],
                                         w.win));
            if (ops[k] == MPI_LXOR)
                continue;
            expect_text(MPI_ERR_OP, words,
                        MPI_Reduce_local(buffer, result, 1, types[i], ops[k]));
            expect_text(MPI_ERR_OP, words,
                        MPI_Allreduce(buffer, result, 1, types[i], ops[k], MPI_COMM_WORLD));
            expect_text(MPI_ERR_OP, words,
                        MPI_Iallreduce(buffer, result, 1, types[i], ops[k], MPI_COMM_WORLD,
                                       &(MPI_Request){MPI_REQUEST_NULL}));
        }
        MPI_Type_free(&pairs);
    }
}

static void arguments(void)
{
    MPI_Datatype raw, pair;
    MPI_Type_contiguous(2, MPI_INT, &raw); /* not committed */
    int length[2] = {1, 1};
    MPI_Aint place[2] = {0, 8};
    MPI_Datatype part[2] = {MPI_INT, MPI_DOUBLE};
    MPI_Type_create_struct(2, length, place, part, &pair);
    MPI_Type_commit(&pair);
    MPI_Win_lock_all(0, w.win);
    all_calls(MPI_ERR_RANK, "rank", w.size, 0, 1, MPI_INT);
    all_calls(MPI_ERR_RANK, "rank", -7, 0, 1, MPI_INT);
    one_element_calls(MPI_ERR_RANK, "rank", w.size, 0);
    all_calls(MPI_ERR_COUNT, "count", next, w.at[next], -1, MPI_INT);
    all_calls(MPI_ERR_TYPE, "datatype", next, w.at[next], 1, MPI_DATATYPE_NULL);
    all_calls(MPI_ERR_TYPE, "datatype", next, w.at[next], 1, raw);
    if (w.flavour != T_DYNAMIC)
        all_calls(MPI_ERR_DISP, "disp", next, -4, 1, MPI_INT);
    operators();
    expect_text(MPI_ERR_OP, "op",
                MPI_Accumulate(buffer, 1, MPI_DOUBLE, next, w.at[next], 1, MPI_DOUBLE, MPI_BAND,
                               w.win));
    expect_text(MPI_ERR_OP, "op",
                MPI_Accumulate(buffer, 1, MPI_INT, next, w.at[next], 1, MPI_INT, MPI_MINLOC,
                               w.win));
    expect_text(MPI_ERR_OP, "Op",
                MPI_Accumulate(buffer, 1, MPI_INT, next, w.at[next], 1, MPI_INT, MPI_OP_NULL,
                               w.win));
    expect_text(MPI_ERR_TYPE, "type",
                MPI_Accumulate(buffer, 1, pair, next, w.at[next], 1, pair, MPI_SUM, w.win));
    expect_text(MPI_ERR_TYPE, "type",
                MPI_Compare_and_swap(buffer, buffer, result, MPI_DOUBLE, next, w.at[next], w.win));
    MPI_Win_unlock_all(w.win);
    /* the classes here are those of MPICH's bindings */
    expect_text(MPI_ERR_ARG, "locktype", MPI_Win_lock(4711, next, 0, w.win));
    expect_text(MPI_ERR_RANK, "rank", MPI_Win_lock(MPI_LOCK_SHARED, w.size, 0, w.win));
    expect_text(MPI_ERR_ARG, "assert", MPI_Win_lock(MPI_LOCK_SHARED, next, MPI_MODE_NOPUT, w.win));
    expect_text(MPI_ERR_ARG, "assert", MPI_Win_fence(MPI_MODE_NOCHECK, w.win));
    MPI_Type_free(&raw);
    MPI_Type_free(&pair);
    check_works("wrong arguments");
}

/* The words of next's window that a test of lengths uses. */
enum { WORDS = 24 };

static void check_words(const char *after, const int *want)
{
    int got[WORDS];
    MPI_Win_flush(next, w.win);
    MPI_Get(got, WORDS, MPI_INT, next, w.at[next], WORDS, MPI_INT, w.win);
    MPI_Win_flush(next, w.win);
    for (int i = 0; i < WORDS; i++)
        t_check(got[i] == want[i], "%s: after %s word %d is %d, not %d", t_flavour_name[w.flavour],
                after, i, got[i], want[i]);
}

/* The two sides of an operation are a send and its receive: a buffer may be longer than what comes,
 * not shorter. */
static void lengths(void)
{
    const char *words = "longer than the buffer";
    int want[WORDS] = {0}, here[WORDS];
    MPI_Datatype four, eight;
    MPI_Aint at = w.at[next];
    MPI_Type_vector(4, 1, 2, MPI_INT, &four);
    MPI_Type_commit(&four);
    MPI_Type_vector(8, 1, 3, MPI_INT, &eight);
    MPI_Type_commit(&eight);
    for (int i = 0; i < WORDS; i++) {
        buffer[i] = i + 1;
        result[i] = here[i] = -1;
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w.win);
    MPI_Put(want, WORDS, MPI_INT, next, at, WORDS, MPI_INT, w.win);
    for (int again = 0; again < 2; again++) {
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Put(buffer, 1, eight, next, at, 1, four, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Put(buffer, 4, MPI_INT, next, at, 1, MPI_INT, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Accumulate(buffer, 1, eight, next, at, 1, four, MPI_SUM, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Accumulate(buffer, 4, MPI_INT, next, at, 3, MPI_INT, MPI_SUM, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Get(result, 1, MPI_INT, next, at, 4, MPI_INT, w.win));
        expect_text(MPI_ERR_TRUNCATE, words, MPI_Get(result, 1, four, next, at, 1, eight, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Get_accumulate(buffer, 1, eight, result, 1, four, next, at, 1, eight,
                                       MPI_SUM, w.win));
        expect_text(MPI_ERR_TRUNCATE, words,
                    MPI_Get_accumulate(NULL, 0, MPI_INT, result, 3, MPI_INT, next, at, 4, MPI_INT,
                                       MPI_NO_OP, w.win));
        expect_text(MPI_ERR_TYPE, "type",
                    MPI_Get_accumulate(buffer, 1, four, result, 1, eight, next, at, 1, eight,
                                       MPI_SUM, w.win));
        expect_text(MPI_ERR_TYPE, "type",
                    MPI_Accumulate(buffer, 6, MPI_BYTE, next, at, 1, eight, MPI_SUM, w.win));
        check_words("what did not fit", want);
        for (int i = 0; i < 4; i++)
            want[3 * i] = buffer[2 * i];
        t_expect(MPI_SUCCESS, MPI_Put(buffer, 1, four, next, at, 1, eight, w.win));
        check_words("a part of a put", want);
        for (int i = 0; i < 4; i++)
            want[3 * i] += buffer[2 * i];
        t_expect(MPI_SUCCESS,
                 MPI_Accumulate(buffer, 1, four, next, at, 1, eight, MPI_SUM, w.win));
        check_words("a part of an accumulate", want);
        t_expect(MPI_SUCCESS, MPI_Get(here, 1, eight, next, at, 4, MPI_INT, w.win));
        MPI_Win_flush(next, w.win);
        for (int i = 0; i < WORDS; i++) {
            int comes = i % 3 == 0 && i < 12;
            t_check(here[i] == (comes ? want[i / 3] : -1), "%s: word %d of a longer result is %d",
                    t_flavour_name[w.flavour], i, here[i]);
            t_check(result[i] == -1, "%s: word %d has come where there is no room: %d",
                    t_flavour_name[w.flavour], i, result[i]);
        }
    }
    MPI_Win_unlock(next, w.win);
    MPI_Type_free(&four);
    MPI_Type_free(&eight);
    check_works("wrong lengths");
}

/* Counts whose bytes are a few, if what does not fit 64 bits is left out. */
static void endless(void)
{
    const char *words = "outside the target's window";
    MPI_Aint at = w.at[next];
    MPI_Datatype pairs;
    MPI_Request r;
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &pairs);
    MPI_Type_commit(&pairs);
    const struct {
        MPI_Datatype type;
        MPI_Count count;
    } of[] = {{MPI_DOUBLE, ((MPI_Count) 1 << 61) + 1},
              {MPI_INT, ((MPI_Count) 1 << 62) + 3},
              {pairs, ((MPI_Count) 1 << 60) + 1}};
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    for (int i = 0; i < 3; i++) {
        MPI_Datatype type = of[i].type;
        MPI_Count n = of[i].count;
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Put_c(buffer, n, type, next, at, n, type, w.win));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Get_c(result, n, type, next, at, n, type, w.win));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Accumulate_c(buffer, n, type, next, at, n, type, MPI_SUM, w.win));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Get_accumulate_c(buffer, n, type, result, n, type, next, at, n, type,
                                         MPI_SUM, w.win));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Rput_c(buffer, n, type, next, at, n, type, w.win, &r));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Rget_c(result, n, type, next, at, n, type, w.win, &r));
        expect_text(MPI_ERR_TRUNCATE, "longer than the buffer",
                    MPI_Put_c(buffer, n, type, next, at, 2, MPI_INT, w.win));
        expect_text(MPI_ERR_RMA_RANGE, words,
                    MPI_Get_c(result, 2, MPI_INT, next, at, n, type, w.win));
    }
    MPI_Win_unlock(next, w.win);
    MPI_Type_free(&pairs);
    check_works("counts without end");
}

/* Outside the target's memory, by one byte or by much; rank r's window has BYTES + 4 * r bytes. */
static void ranges(void)
{
    const char *words = "outside the target's window";
    MPI_Aint end = BYTES + 4 * next;
    MPI_Datatype vector, before;
    MPI_Type_vector(2, 1, (int) end, MPI_BYTE, &vector); /* ends one byte behind the window */
    MPI_Type_commit(&vector);
    MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]){-4}, MPI_INT, &before);
    MPI_Type_commit(&before);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    all_calls(MPI_ERR_RMA_RANGE, words, next, end - 3, 1, MPI_INT);
    all_calls(MPI_ERR_RMA_RANGE, words, next, 0, (int) end / 4 + 1, MPI_INT);
    all_calls(MPI_ERR_RMA_RANGE, words, next, end, 1, MPI_BYTE);
    all_calls(MPI_ERR_RMA_RANGE, words, next, INT64_MAX - 2, 1, MPI_INT);
    all_calls(MPI_ERR_RMA_RANGE, words, next, 0, 1, vector);
    all_calls(MPI_ERR_RMA_RANGE, words, next, 0, 1, before);
    one_element_calls(MPI_ERR_RMA_RANGE, words, next, end - 2);
    request_calls(MPI_ERR_RMA_RANGE, words, next, end - 4, 2);
    char numbers[64];
    snprintf(numbers, sizeof numbers, "of rank %d, which has %ld bytes", next, (long) end);
    expect_text(MPI_ERR_RMA_RANGE, numbers,
                MPI_Put(buffer, 2, MPI_INT, next, end - 4, 2, MPI_INT, w.win));
    /* the last byte, and nothing at the very end, are inside */
    t_expect(MPI_SUCCESS, MPI_Put(buffer, 1, MPI_BYTE, next, end - 1, 1, MPI_BYTE, w.win));
    t_expect(MPI_SUCCESS, MPI_Put(buffer, 0, MPI_INT, next, end, 0, MPI_INT, w.win));
    MPI_Win_unlock(next, w.win);
    MPI_Type_free(&vector);
    MPI_Type_free(&before);
    check_works("ranges");
}

/* What is attached nowhere: an error at the operation or at the call that completes it. */
static void dynamic_ranges(void)
{
    int codes[2];
    for (int k = 0; k < 3; k++) {
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
        codes[0] = k == 0 ? MPI_Put(buffer, 2, MPI_INT, next, w.at[next] + BYTES + 4 * next - 4, 2,
                                    MPI_INT, w.win)
                   : k == 1
                       ? MPI_Get(result, 2, MPI_INT, next, w.at[next] - 4, 2, MPI_INT, w.win)
                       : MPI_Accumulate(buffer, 1, MPI_INT, next, 64, 1, MPI_INT, MPI_SUM, w.win);
        codes[1] = MPI_Win_flush(next, w.win);
        t_check(t_class(codes[0]) == MPI_ERR_RMA_RANGE || t_class(codes[1]) == MPI_ERR_RMA_RANGE,
                "dynamic, case %d: neither the operation nor its completion fails: %s, %s", k,
                t_text(codes[0]), t_text(codes[1]));
        MPI_Win_unlock(next, w.win);
    }
    char other[8];
    expect_text(MPI_ERR_RMA_ATTACH, "attach", MPI_Win_attach(w.win, w.base + 8, 8));
    expect_text(MPI_ERR_ARG, "argument", MPI_Win_detach(w.win, w.base + 8)); /* the middle */
    /* of zero bytes only the user knows that they are attached */
    void *nothing = malloc(0);
    t_expect(MPI_SUCCESS, MPI_Win_attach(w.win, nothing, 0));
    t_expect(MPI_SUCCESS, MPI_Win_detach(w.win, nothing));
    t_expect(MPI_SUCCESS, MPI_Win_detach(w.win, other));
    free(nothing);
    check_works("unattached memory");
}

static void epochs(void)
{
    MPI_Group all, self;
    MPI_Aint at = w.at[next];
    MPI_Comm_group(w.comm, &all);
    MPI_Group_incl(all, 1, &w.rank, &self);

    all_calls(MPI_ERR_RMA_SYNC, "no access epoch is open", next, at, 1, MPI_INT);
    one_element_calls(MPI_ERR_RMA_SYNC, "no access epoch is open", next, at);
    request_calls(MPI_ERR_RMA_SYNC, "no access epoch is open", next, at, 1);
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_unlock(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_unlock_all(w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_flush(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_flush_all(w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_flush_local(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_complete(w.win));
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_wait(w.win));
    int flag;
    expect_text(MPI_ERR_RMA_SYNC, "no access epoch is open", MPI_Win_test(w.win, &flag));

    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win);
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_lock_all(0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_unlock_all(w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_fence(0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_start(all, 0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_complete(w.win));
    if (w.size > 1) {
        int other = (next + 1) % w.size;
        all_calls(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", other, w.at[other], 1, MPI_INT);
        expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_unlock(other, w.win));
        expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_flush(other, w.win));
    }
    MPI_Win copy = w.win;
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock's", MPI_Win_free(&copy));
    MPI_Win_unlock(next, w.win);

    MPI_Win_lock_all(0, w.win);
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all's", MPI_Win_lock_all(0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all's",
                MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all's", MPI_Win_unlock(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_lock_all's", MPI_Win_fence(0, w.win));
    MPI_Win_unlock_all(w.win);
    check_works("passive epochs");

    MPI_Win_fence(0, w.win);
    t_expect(MPI_SUCCESS, MPI_Put(buffer, 1, MPI_INT, next, at, 1, MPI_INT, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_fence's", MPI_Win_unlock(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_fence's", MPI_Win_complete(w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_fence's", MPI_Win_flush(next, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_fence's",
                MPI_Rput(buffer, 1, MPI_INT, next, at, 1, MPI_INT, w.win,
                         &(MPI_Request){MPI_REQUEST_NULL}));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win);
    check_works("fences");

    MPI_Win_post(self, 0, w.win);
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_post's", MPI_Win_post(self, 0, w.win));
    MPI_Win_start(self, 0, w.win);
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_start's", MPI_Win_start(self, 0, w.win));
    if (w.size > 1)
        all_calls(MPI_ERR_RMA_SYNC, "MPI_Win_start's", next, at, 1, MPI_INT);
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_start's", MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win));
    expect_text(MPI_ERR_RMA_SYNC, "MPI_Win_start's", MPI_Win_fence(0, w.win));
    MPI_Win_complete(w.win);
    MPI_Win_wait(w.win);
    check_works("post and start");
    MPI_Group_free(&self);
    MPI_Group_free(&all);
}

static void flavour(enum t_flavour f)
{
    w = t_win_make(MPI_COMM_WORLD, f, BYTES + 4 * (size_t) t_rank, 1);
    next = (w.rank + 1) % w.size;
    MPI_Win_set_errhandler(w.win, MPI_ERRORS_RETURN);
    arguments();
    lengths();
    endless();
    if (f == T_DYNAMIC)
        dynamic_ranges();
    else if (f != T_SHARED || w.size == t_size)
        ranges();
    epochs();
    if (f != T_DYNAMIC) {
        MPI_Aint bytes;
        int unit;
        void *at;
        expect_text(MPI_ERR_RMA_FLAVOR, "flavor", MPI_Win_attach(w.win, buffer, 8));
        expect_text(MPI_ERR_RMA_FLAVOR, "flavor", MPI_Win_detach(w.win, buffer));
        if (f == T_CREATE)
            expect_text(MPI_ERR_RMA_FLAVOR, "flavor",
                        MPI_Win_shared_query(w.win, 0, &bytes, &unit, &at));
    }
    t_win_free(&w);
}

/* The even ranks and the odd ones: windows have one group. */
static void between_groups(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm half, both;
    void *base;
    if (t_size < 2)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, t_rank % 2, t_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !(t_rank % 2), 0, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    expect_text(MPI_ERR_COMM, "intracommunicator",
                MPI_Win_create(buffer, 8, 1, MPI_INFO_NULL, both, &win));
    expect_text(MPI_ERR_COMM, "intracommunicator",
                MPI_Win_allocate(8, 1, MPI_INFO_NULL, both, &base, &win));
    expect_text(MPI_ERR_COMM, "intracommunicator",
                MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, both, &base, &win));
    expect_text(MPI_ERR_COMM, "intracommunicator",
                MPI_Win_create_dynamic(MPI_INFO_NULL, both, &win));
    t_check(win == MPI_WIN_NULL, "a window between groups");
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

static void creation(void)
{
    MPI_Win win = MPI_WIN_NULL;
    void *base;
    MPI_Comm node;
    int nodes;
    w.flavour = T_CREATE;
    expect_text(MPI_ERR_SIZE, "size",
                MPI_Win_create(buffer, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    expect_text(MPI_ERR_SIZE, "size",
                MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    t_check(MPI_Win_create(buffer, 8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS,
            "unit 0");
    t_check(MPI_Win_create(buffer, 8, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win) != MPI_SUCCESS,
            "unit -4");
    t_expect(MPI_ERR_COMM, MPI_Win_create(buffer, 8, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win));
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &nodes);
    w.flavour = T_SHARED;
    /* some rank's node is smaller than the world wherever one is */
    int apart = nodes < t_size;
    MPI_Allreduce(MPI_IN_PLACE, &apart, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (apart)
        expect_text(MPI_ERR_RMA_SHARED, "shared",
                    MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    MPI_Comm_free(&node);
}

int main(int argc, char **argv)
{
    t_begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (int f = 0; f < T_FLAVOURS; f++)
        flavour((enum t_flavour) f);
    creation();
    between_groups();
    return t_end();
}
