/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * rma_random [SEED [WORDS [EPOCHS]]]: a random program. Some windows live at a time, of random
 * flavours; every epoch draws one of them, a synchronization, and operations of random kinds,
 * layouts and lengths to random ranks (random_windows.h).
 */
#include "random_windows.h"

enum { WINDOWS = 3, EPOCHS = 40, WORDS = 20000 };

int main(int argc, char **argv)
{
    static struct window window[WINDOWS];
    t_begin(&argc, &argv);
    t_seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    words = argc > 2 ? strtoul(argv[2], NULL, 0) : WORDS;
    int epochs = argc > 3 ? atoi(argv[3]) : EPOCHS;
    if (t_size > RANKS_MAX) {
        t_fault("at most %d ranks can be had", RANKS_MAX);
        return t_end();
    }
    for (int i = 0; i < WINDOWS; i++)
        window_open(&window[i], MPI_COMM_WORLD);
    for (int k = 0; k < epochs; k++) {
        struct window *v = &window[t_all_below(WINDOWS)];
        window_epoch(v);
        int ends = t_all_below(12) == 0;
        if (ends || t_all_below(6) == 0)
            window_check(v);
        if (ends) {
            window_close(v);
            window_open(v, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < WINDOWS; i++) {
        window_check(&window[i]);
        window_close(&window[i]);
    }
    return t_end();
}
