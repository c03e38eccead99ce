/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Programs that run simulated worlds. A seed makes the options of a world, and the options decide
 * all that happens in it. Without arguments: many seeds; --first N and --count N choose which;
 * --seed N is that one, and its options may be set by name. A failure, and an abort, print the
 * command that repeats the world.
 */
#ifndef WDL_TEST_SUPPORT_WORLDS_H_INCLUDED
#define WDL_TEST_SUPPORT_WORLDS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

enum { WORLDS_OPTIONS_BYTES_MAX = 256 };

struct worlds_option {
    const char *name;
    size_t at; /* of an int in the options */
    int letter; /* written as a character */
};
#define WORLDS_OPTION(type, member)                    \
    {                                                  \
        "--" #member, offsetof(struct type, member), 0 \
    }
#define WORLDS_LETTER(type, member)                    \
    {                                                  \
        "--" #member, offsetof(struct type, member), 1 \
    }

struct worlds {
    const char *program; /* from the top of the tree */
    uint64_t count; /* seeds, if nothing is said */
    /* The options are a struct that begins with `uint64_t seed`. */
    size_t options_bytes;
    const struct worlds_option *options;
    int noptions;
    void (*options_of)(uint64_t seed, void *options_out);
    /* 0, or what worlds_failed() returns: then what it holds is lost. */
    int (*world)(const void *options);
    /* When the seeds are through: how many other things have failed. Or NULL. */
    int (*more)(uint64_t seeds);
    /* For worlds_lie_caught; or NULL */
    void (*lie)(void *options, int lie, int kind);
    const char *(*kind_name)(int kind);
    uint64_t lie_seeds;
};

int worlds_main(const struct worlds *worlds, int argc, char **argv);
/* Is what one build is enough for wanted: lies, which test the oracle, worlds of thousands of
 * ranks, more than one simulated network, and more than a third of the seeds? Not with
 * WORLDS=seeds in the environment. */
int worlds_once(void);
/* Is the n-th of many alike wanted? A third of them without what one build is enough for. */
int worlds_third(unsigned n);
/* One world; 1 if it failed. */
int worlds_run(const struct worlds *worlds, const void *options);
/* Say what went wrong and how it is repeated; returns 1. */
int worlds_failed(const char *what);
/* Worlds in which the program is told less than its oracle checks (worlds->lie), each in a process
 * of its own: 1 if the oracle caught one of them, and no world broke in another way. */
int worlds_lie_caught(const struct worlds *worlds, int lie, int kind);

#endif
