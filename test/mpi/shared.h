/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the tests of the info key windlass_share_pages share: windows that ask for it, and what the
 * system says of their memory.
 */
#ifndef SHARED_H_INCLUDED
#define SHARED_H_INCLUDED

#include "testing.h"

enum { PAGE = 4096 };

static MPI_Info wish;
static int next, previous;

static inline unsigned char pattern(int rank, size_t i)
{
    return (unsigned char) (i * 7 + i / 251 + (size_t) rank * 31 + 1);
}

/* The rights of the mapping of an address as the system tells them: "rw-p", "rw-s". */
static inline const char *rights(const void *at)
{
    static char text[8];
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    strcpy(text, "none");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        char r[8];
        if (sscanf(line, "%lx-%lx %7s", &from, &to, r) == 3 && (uintptr_t) at >= from &&
            (uintptr_t) at < to)
            strcpy(text, r);
    }
    if (maps)
        fclose(maps);
    return text;
}

static inline void expect_rights(const void *at, size_t bytes, const char *want, const char *when)
{
    if (bytes == 0)
        return;
    const char *ends[] = {at, (const char *) at + bytes / 2, (const char *) at + bytes - 1};
    for (int i = 0; i < 3; i++)
        t_check(strcmp(rights(ends[i]), want) == 0, "%s: memory is %s instead of %s", when,
                rights(ends[i]), want);
}

static inline int told(MPI_Win win)
{
    MPI_Info info;
    char value[8] = "";
    int there = 0;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "windlass_share_pages", 7, value, &there);
    MPI_Info_free(&info);
    t_check(there && (strcmp(value, "true") == 0 || strcmp(value, "false") == 0),
            "windlass_share_pages is returned as '%s'", value);
    return strcmp(value, "true") == 0;
}

static inline MPI_Win create(void *base, size_t bytes)
{
    MPI_Win win;
    t_expect(MPI_SUCCESS, MPI_Win_create(base, (MPI_Aint) bytes, 1, wish, MPI_COMM_WORLD, &win));
    return win;
}

/* Everyone writes to the next rank's memory, which sees it by loads, and stores what others get. */
static inline void use(MPI_Win win, char *base, const size_t *bytes)
{
    int64_t out = 1000 + t_rank, in = 0, one = 1;
    size_t mine = bytes[t_rank], there = bytes[next];
    MPI_Win_fence(0, win);
    if (there >= 8)
        MPI_Put(&out, 1, MPI_INT64_T, next, (MPI_Aint) there - 8, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    if (mine >= 8) {
        memcpy(&in, base + mine - 8, 8);
        t_check(in == 1000 + previous, "a put of %d is seen as %lld", 1000 + previous,
                (long long) in);
        in = 2000 + t_rank;
        memcpy(base + mine - 8, &in, 8);
    }
    MPI_Win_fence(0, win);
    if (there >= 8) {
        MPI_Get(&in, 1, MPI_INT64_T, next, (MPI_Aint) there - 8, 1, MPI_INT64_T, win);
        MPI_Win_fence(0, win);
        t_check(in == 2000 + next, "a store of %d is got as %lld", 2000 + next, (long long) in);
    } else {
        MPI_Win_fence(0, win);
    }
    for (int r = 0; r < t_size; r++)
        if (bytes[r] >= 16)
            MPI_Accumulate(&one, 1, MPI_INT64_T, r, (MPI_Aint) bytes[r] - 8, 1, MPI_INT64_T,
                           MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (mine >= 16) {
        memcpy(&in, base + mine - 8, 8);
        t_check(in == 2000 + t_rank + t_size, "sum: %lld", (long long) in);
    }
    MPI_Win_fence(0, win);
}

static inline void begin(int *argc, char ***argv)
{
    t_begin(argc, argv);
    next = (t_rank + 1) % t_size;
    previous = (t_rank + t_size - 1) % t_size;
    MPI_Info_create(&wish);
    MPI_Info_set(wish, "windlass_share_pages", "true");
}

#endif /* SHARED_H_INCLUDED */
