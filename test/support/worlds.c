/* Part of Windlass. See COPYRIGHT in the top-level directory. Programs that run simulated
 * worlds. */
#include "support/worlds.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/assert.h"

enum { CAUGHT = 42 };

static char command[512]; /* repeats the world that runs now */
static int quiet; /* its failure is wanted */

static void on_abort(int sig)
{
    (void) sig;
    ssize_t n = write(2, command, strlen(command));
    _exit(n > 0 ? 1 : 2);
}

static const int *option_in(const struct worlds_option *option, const void *options)
{
    return (const int *) (const void *) ((const char *) options + option->at);
}

static void command_set(const struct worlds *worlds, const void *options)
{
    unsigned long long seed = *(const uint64_t *) options;
    int at = snprintf(command, sizeof(command), "repeat: %s --seed %llu", worlds->program, seed);
    for (int i = 0; i < worlds->noptions && at < (int) sizeof(command); i++) {
        const struct worlds_option *option = &worlds->options[i];
        at += snprintf(command + at, sizeof(command) - (size_t) at,
                       option->letter ? " %s %c" : " %s %d", option->name,
                       *option_in(option, options));
    }
    if (at < (int) sizeof(command))
        at += snprintf(command + at, sizeof(command) - (size_t) at, "\n");
    wdl_assert_cmp(at, <, (int) sizeof(command));
}

int worlds_run(const struct worlds *worlds, const void *options)
{
    command_set(worlds, options);
    return worlds->world(options);
}

int worlds_failed(const char *what)
{
    if (!quiet)
        fprintf(stderr, "failed: %s\n%s", what, command);
    return 1;
}

/* A world that fails keeps what it holds. 1: it failed; -1: it broke. */
static int run_apart(const struct worlds *worlds, const void *options)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        quiet = 1;
        _exit(worlds_run(worlds, options) ? CAUGHT : 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status) == CAUGHT ? 1 : WEXITSTATUS(status) == 0 ? 0 : -1;
}

int worlds_lie_caught(const struct worlds *worlds, int lie, int kind)
{
    uint64_t options[WORLDS_OPTIONS_BYTES_MAX / sizeof(uint64_t)];
    int caught = 0;
    for (uint64_t seed = 1; seed <= worlds->lie_seeds && !caught; seed++) {
        worlds->options_of(seed, options);
        worlds->lie(options, lie, kind);
        caught = run_apart(worlds, options);
    }
    if (caught <= 0)
        fprintf(stderr, "%s: lie %d about %s %s\n", worlds->program, lie, worlds->kind_name(kind),
                caught ? "broke a world" : "was not caught");
    return caught > 0;
}

static int option_set(const struct worlds *worlds, void *options, const char *name,
                      const char *value)
{
    for (int i = 0; i < worlds->noptions; i++) {
        const struct worlds_option *option = &worlds->options[i];
        if (strcmp(name, option->name))
            continue;
        int number = option->letter ? value[0] : atoi(value);
        memcpy((char *) options + option->at, &number, sizeof(number));
        return 1;
    }
    return 0;
}

int worlds_once(void)
{
    const char *which = getenv("WORLDS");
    return !which || strcmp(which, "seeds") != 0;
}

int worlds_third(unsigned n)
{
    return n % 3 == 0 || worlds_once();
}

int worlds_main(const struct worlds *worlds, int argc, char **argv)
{
    uint64_t first = 1, options[WORLDS_OPTIONS_BYTES_MAX / sizeof(uint64_t)];
    uint64_t count = worlds_once() ? worlds->count : (worlds->count + 2) / 3;
    int failed = 0, one = 0, known = argc % 2;
    wdl_assert_cmp(worlds->options_bytes, <=, sizeof(options));
    signal(SIGABRT, on_abort);
    for (int i = 1; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--seed")) {
            worlds->options_of(strtoull(argv[i + 1], NULL, 0), options);
            one = 1;
        }
    for (int i = 1; i + 1 < argc && known; i += 2) {
        if (!strcmp(argv[i], "--first"))
            first = strtoull(argv[i + 1], NULL, 0);
        else if (!strcmp(argv[i], "--count"))
            count = strtoull(argv[i + 1], NULL, 0);
        else if (strcmp(argv[i], "--seed"))
            known = one && option_set(worlds, options, argv[i], argv[i + 1]);
    }
    if (!known) {
        fprintf(stderr, "%s: --first N, --count N, or --seed N and options of that world\n",
                worlds->program);
        return 2;
    }
    if (one)
        return worlds_run(worlds, options);
    for (uint64_t seed = first; seed < first + count && !failed; seed++) {
        worlds->options_of(seed, options);
        failed += worlds_run(worlds, options);
    }
    failed += !failed && worlds->more ? worlds->more(count) : 0;
    printf("%s: %llu seeds, %d failed\n", worlds->program, (unsigned long long) count, failed);
    return failed > 0;
}
