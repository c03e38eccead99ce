/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * A client of gasnet.h that knows nothing of MPI: starts up, moves bytes every way there is between
 * neighbours, meets the others in barriers and in collectives, and ends. Its segment is that of
 * its collectives, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <gasnet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 100000, MANY = 20 };

static int faults;

#define check(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) {                                                                     \
            printf("node %u: line %d: %s\n", (unsigned) gasnet_mynode(), __LINE__, #condition); \
            faults++;                                                                           \
        }                                                                                       \
    } while (0)

static char value(unsigned node, unsigned round, size_t k)
{
    return (char) (node * 7 + round * 31 + k * 13);
}

static void fill(char *at, unsigned node, unsigned round)
{
    for (size_t k = 0; k < BYTES; k++)
        at[k] = value(node, round, k);
}

static int holds(const char *at, unsigned node, unsigned round)
{
    for (size_t k = 0; k < BYTES; k++)
        if (at[k] != value(node, round, k))
            return 0;
    return 1;
}

static void barrier(int id)
{
    gasnet_barrier_notify(id, 0);
    check(gasnet_barrier_wait(id, 0) == GASNET_OK);
}

static void neighbours(const gasnet_seginfo_t *segment, char *buffer)
{
    unsigned me = gasnet_mynode(), n = gasnet_nodes(), right = (me + 1) % n,
             left = (me + n - 1) % n;
    char *own = segment[me].addr, *there = segment[right].addr;
    gasnet_handle_t handles[MANY];
    for (unsigned round = 0; round < 6; round++) {
        barrier((int) round);
        fill(buffer, me, round);
        if (round < 2) {
            (round ? gasnet_put_bulk : gasnet_put)(right, there, buffer, BYTES);
        } else if (round == 2) {
            gasnet_handle_t handle = gasnet_put_nb(right, there, buffer, BYTES);
            memset(buffer, 0, BYTES);
            gasnet_wait_syncnb(handle);
        } else {
            for (size_t i = 0; i < MANY; i++)
                handles[i] = gasnet_put_nb_bulk(right, there + i * (BYTES / MANY),
                                                buffer + i * (BYTES / MANY), BYTES / MANY);
            if (round == 3)
                gasnet_wait_syncnb_all(handles, MANY);
            while (round == 4 && gasnet_try_syncnb_all(handles, MANY) != GASNET_OK)
                ;
            for (int i = 0; round == 5 && i < MANY; i++)
                gasnet_wait_syncnb_some(handles, MANY);
        }
        barrier(100);
        check(holds(own, left, round));
        memset(buffer, 0, BYTES);
        if (round < 2)
            (round ? gasnet_get_bulk : gasnet_get)(buffer, right, there, BYTES);
        else if (round < 4)
            gasnet_wait_syncnb(gasnet_get_nb(buffer, right, there, BYTES));
        else
            GASNET_BLOCKUNTIL((handles[0] = gasnet_get_nb_bulk(buffer, right, there, BYTES),
                               gasnet_wait_syncnb_all(handles, 1), 1));
        check(holds(buffer, me, round));
    }
}

static void barriers(void)
{
    int result;
    unsigned me = gasnet_mynode();
    gasnet_barrier_notify(me == 0, 0);
    while ((result = gasnet_barrier_try(me == 0, 0)) == GASNET_ERR_NOT_READY)
        check(gasnet_AMPoll() == GASNET_OK);
    check(result == (gasnet_nodes() > 1 ? GASNET_ERR_BARRIER_MISMATCH : GASNET_OK));
    gasnet_barrier_notify(5, me ? 0 : GASNET_BARRIERFLAG_MISMATCH);
    check(gasnet_barrier_wait(5, 0) == GASNET_ERR_BARRIER_MISMATCH);
    gasnet_barrier_notify((int) me, GASNET_BARRIERFLAG_ANONYMOUS);
    check(gasnet_barrier_wait((int) me, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK);
}

/* An argument that is wrong on one node, or on all (-1): nobody has a segment, and nobody waits.
 * What that node says on stderr is not looked at. */
static void wrong_attach(int who)
{
    int wrong = who < 0 || gasnet_mynode() == (gasnet_node_t) who;
    uintptr_t page = GASNET_PAGESIZE, most = gasnet_getMaxGlobalSegmentSize();
    check(gasnet_attach(NULL, 0, wrong ? page + 1 : page, 0) == GASNET_ERR_BAD_ARG);
    check(gasnet_attach(NULL, wrong, page, 0) == GASNET_ERR_BAD_ARG);
    check(gasnet_attach(NULL, 0, wrong ? most + page : page, 0) == GASNET_ERR_BAD_ARG);
}

/* Where segments may begin something else is on node 0: nobody has one, and nothing is kept. */
static void no_place(void)
{
    enum { PLACES = 64 };
    void *held[PLACES];
    for (uintptr_t i = 0; i < PLACES; i++) {
        char *at = (char *) ((uintptr_t) 0x100000000000 + (i << 39));
        held[i] = gasnet_mynode() ? MAP_FAILED
                                  : mmap(at, GASNET_PAGESIZE, PROT_READ,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        check(gasnet_mynode() || held[i] == at);
    }
    check(gasnet_attach(NULL, 0, 4 * GASNET_PAGESIZE, 0) == GASNET_ERR_RESOURCE);
    for (int i = 0; i < PLACES; i++)
        if (held[i] != MAP_FAILED)
            munmap(held[i], GASNET_PAGESIZE);
}

static int seen;

static void on_error(void *arg, int code, const char *text)
{
    (void) arg;
    (void) text;
    seen = code;
}

static void collectives(char *segment, uintptr_t bytes)
{
    gasnet_team_handle_t t = GASNET_TEAM_ALL, half;
    int flags = GASNET_COLL_IN_MYSYNC | GASNET_COLL_OUT_MYSYNC | GASNET_COLL_LOCAL;
    int dst = GASNET_COLL_DST_IN_SEGMENT, src = GASNET_COLL_SRC_IN_SEGMENT;
    char *end = segment + bytes, out[8] = "outside";
    gasnet_coll_team_on_error(t, on_error, NULL);
    memset(segment, 1, 8);
    gasnet_coll_broadcast(t, end - 8, 0, segment, 8, flags | dst | src);
    check(seen == 0 && !memcmp(end - 8, segment, 8));
    gasnet_coll_broadcast(t, end - 7, 0, segment, 8, flags | dst);
    check(seen == GASNET_COLL_ERR_SEGMENT);
    seen = 0;
    gasnet_coll_gather_all(t, segment, out, 8, flags | src);
    check(seen == GASNET_COLL_ERR_SEGMENT);
    seen = 0;
    half = gasnet_coll_team_split(t, gasnet_mynode() % 2, 0, 0);
    gasnet_coll_gather_all(half, segment, segment + 4096, 8, flags | dst | src);
    check(seen == 0);
    gasnet_coll_gather_all(half, segment, out, 8, flags | src);
    check(seen == GASNET_COLL_ERR_SEGMENT);
    gasnet_coll_team_free(half);
}

int main(int argc, char **argv)
{
    check(gasnet_getenv("PATH") && gasnet_getenv("PATH") == getenv("PATH"));
    check(gasnet_getenv("WINDLASS_IS_NOT_SET") == NULL);
    check(gasnet_init(&argc, &argv) == GASNET_OK);
    unsigned me = gasnet_mynode(), n = gasnet_nodes();
    gasnet_seginfo_t *segment = calloc(n, sizeof *segment);
    char *buffer = malloc(BYTES);
    uintptr_t bytes = 32 * GASNET_PAGESIZE;
    check(me < n && gasnet_getMaxGlobalSegmentSize() <= gasnet_getMaxLocalSegmentSize());
    check(freopen("/dev/null", "w", stderr) != NULL);
    for (int who = -1; who < (int) n; who++)
        wrong_attach(who);
    no_place();
    check(gasnet_attach(NULL, 0, bytes, 0) == GASNET_OK);
    check(gasnet_attach(NULL, 0, bytes, 0) == GASNET_ERR_BAD_ARG); /* a second time */
    check(gasnet_getSegmentInfo(segment, (int) n) == GASNET_OK);
    for (unsigned i = 0; i < n; i++)
        check(segment[i].addr == segment[0].addr && segment[i].size == bytes);
    check(!strcmp(gasnet_ErrorName(GASNET_ERR_BAD_ARG), "GASNET_ERR_BAD_ARG"));
    check(strlen(gasnet_ErrorDesc(GASNET_ERR_RESOURCE)) > 0);
    neighbours(segment, buffer);
    barriers();
    gasnet_coll_init(NULL, 0, NULL, 0, 0);
    collectives(segment[me].addr, bytes);
    /* addresses are the same everywhere: SINGLE */
    int all = 0, *words = segment[me].addr;
    int flags = GASNET_COLL_IN_ALLSYNC | GASNET_COLL_OUT_ALLSYNC | GASNET_COLL_SINGLE;
    words[0] = faults;
    gasnet_coll_gather_all(GASNET_TEAM_ALL, words + 16, words, sizeof(int), flags);
    for (unsigned i = 0; i < n; i++)
        all += words[16 + i];
    if (me == 0)
        printf(all ? "%d faults\n" : " No Errors\n", all);
    fflush(stdout);
    free(segment);
    free(buffer);
    barrier(7);
    gasnet_exit(0);
}
