/* Part of Windlass. See COPYRIGHT in the top-level directory. What the floors' files share. */
#ifndef FLOOR_H_INCLUDED
#define FLOOR_H_INCLUDED

#include <sched.h>
#include <stdatomic.h>

enum { FLOOR_BYTES_MAX = 4 << 20 };

struct shared {                 /* by the two processes */
    _Alignas(128) atomic_long ping;
    _Alignas(128) atomic_long pong;
    _Alignas(128) atomic_long counter;
    _Alignas(128) char bytes[FLOOR_BYTES_MAX];
};

struct job {
    struct shared *shared;
    char *private;
    long bytes;
    long turn;                  /* of the hand-over */
    int number;
    cpu_set_t may;              /* the processors there are */
    struct floor_ucx *ucx;
};

typedef void (*floor_fn) (struct job * j, long n);

/* Pins to the nth processor of j->may; false if there are not so many. */
int floor_pin(const struct job *j, int nth);
/* Measures and prints a row of j->bytes: fn(j, n) does n times what is `per` of what is printed. */
void floor_row(struct job *j, const char *name, floor_fn fn, double per);
/* floor_ucx.c: the rows of UCX's tags, by a process of its own beside this one. Not 0: failed. */
int floor_ucx_rows(struct job *j);

#endif
