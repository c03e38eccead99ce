/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * gasnet_try_syncnb only looks: node 1 stays outside the library until a signal of node 0, which
 * it sends after it has tried to synchronize its puts.
 */
#include <gasnet.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PUTS = 4, BYTES = 1000 };

static int faults;

#define check(what)                                   \
    do {                                              \
        if (!(what)) {                                \
            printf("line %d: %s\n", __LINE__, #what); \
            faults++;                                 \
        }                                             \
    } while (0)

static void barrier(void)
{
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    check(gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS) == GASNET_OK);
}

static void puts_and_tries(char *there, pid_t pid)
{
    char data[BYTES];
    gasnet_handle_t handles[PUTS];
    memset(data, 'w', sizeof data);
    for (int i = 0; i < PUTS; i++)
        handles[i] = gasnet_put_nb_bulk(1, there + i * BYTES, data, BYTES);
    (void) gasnet_try_syncnb_some(handles, PUTS);
    (void) gasnet_try_syncnb_all(handles, PUTS);
    check(kill(pid, SIGUSR1) == 0);
    while (gasnet_try_syncnb_all(handles, PUTS) != GASNET_OK)
        ;
    for (int i = 0; i < PUTS; i++)
        check(handles[i] == GASNET_INVALID_HANDLE);
}

int main(int argc, char **argv)
{
    gasnet_seginfo_t segment[2];
    sigset_t set;
    pid_t pid = getpid();
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    check(gasnet_init(&argc, &argv) == GASNET_OK);
    check(gasnet_attach(NULL, 0, GASNET_PAGESIZE * 4, 0) == GASNET_OK);
    check(gasnet_nodes() == 2 && gasnet_getSegmentInfo(segment, 2) == GASNET_OK);
    char *own = segment[gasnet_mynode()].addr;
    memset(own, 0, PUTS * BYTES);
    memcpy(own + PUTS * BYTES, &pid, sizeof pid);
    barrier();
    if (gasnet_mynode() == 0) {
        gasnet_get(&pid, 1, (char *) segment[1].addr + PUTS * BYTES, sizeof pid);
        barrier();
        puts_and_tries(segment[1].addr, pid);
        barrier();
    } else {
        barrier();
        check(sigwait(&set, &got) == 0 && got == SIGUSR1);
        barrier();
        for (int i = 0; i < PUTS * BYTES; i++)
            check(own[i] == 'w');
    }
    if (faults == 0 && gasnet_mynode() == 0)
        printf(" No Errors\n");
    gasnet_exit(faults != 0);
}
