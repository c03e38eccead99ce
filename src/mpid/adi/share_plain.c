/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Which memory may have its pages replaced (share.h), as /proc/self/smaps tells. Everything that is
 * not known to be harmless is refused.
 */
#include "wdl_adi.h"
#include "share.h"
#include <pthread.h>

enum { FRAMES_BYTES = 65536 };  /* of what this thread calls, and of signal handlers */

/* A mapping of this process, as far as it matters here. */
struct mapping {
    uintptr_t from, to;
    int writable;
    int plain;                  /* by what it is named, and by its rights */
    int known;                  /* its flags have been seen and are harmless */
};

/* The heap's and mmap()'s memory, and memory that was shared once (share.c). */
static int is_plain_name(const char *name)
{
    return name[0] == '\0' || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon:", 6) == 0 ||
           strncmp(name, "/memfd:windlass-pages", 21) == 0;
}

/* A mapping's first line: addresses, rights, offset, device, inode, name. */
static int parse_head(const char *line, struct mapping *m)
{
    unsigned long from, to;
    char rights[8], name[32] = "";
    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %31[^\n]", &from, &to, rights, name) < 3)
        return 0;
    m->from = from;
    m->to = to;
    m->writable = strncmp(rights, "rw", 2) == 0;
    m->plain = strcmp(rights, "rw-p") == 0 && is_plain_name(name);
    m->known = 0;
    return 1;
}

/* Flags that say nothing about what the memory is: rights, accounted, soft-dirty, no huge pages.
 * All others are refused: locked, huge, not for children, wiped in children, a device's, grows
 * down, no reserve, userfaultfd, protection keys' shadow stack, ... */
static int are_harmless(char *flags)
{
    static const char harmless[] = " rd wr mr mw me ac sd nh ";
    char *rest = NULL;
    for (char *flag = strtok_r(flags, " \n", &rest); flag; flag = strtok_r(NULL, " \n", &rest)) {
        char word[8];
        snprintf(word, sizeof word, " %.4s ", flag);
        if (!strstr(harmless, word))
            return 0;
    }
    return 1;
}

/* Does the list of mappings cover [at, end) with plain ones, clear of the stack that `frame` is on?
 * How far that reaches is not known: to where no memory follows. (frame 0: there is none.) */
static int mappings_are_plain(FILE *list, uintptr_t at, uintptr_t end, uintptr_t frame)
{
    uintptr_t stack = frame;    /* up to here, by the mappings that have been read */
    struct mapping m = { 0 };
    char line[512];
    unsigned long key;
    int open = 0;               /* m is a mapping whose flags are due */
    while (at < end && fgets(line, sizeof line, list)) {
        if (parse_head(line, &m)) {
            open = m.to > at;
            if (m.writable && m.from <= stack && m.to > stack)
                stack = m.to;
            if (open && (m.from > at || !m.plain || (at >= frame && at < stack)))
                return 0;
        } else if (open && sscanf(line, "ProtectionKey: %lu", &key) == 1 && key != 0) {
            return 0;
        } else if (open && strncmp(line, "VmFlags:", 8) == 0) {
            if (!are_harmless(line + 8))
                return 0;
            at = m.to;
            open = 0;
        }
    }
    return at >= end;
}

/* Memory registered with a device stays where the device knows it, whatever we map there. */
static int has_pinned_memory(void)
{
    char line[256];
    unsigned long kilobytes = 1;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status) &&
           sscanf(line, "VmPin: %lu", &kilobytes) != 1)
        ;
    if (status)
        fclose(status);
    return kilobytes != 0;
}

static int overlaps(uintptr_t from, uintptr_t to, const void *at, size_t bytes)
{
    return (uintptr_t) at < to && (uintptr_t) at + bytes > from;
}

/* The stack this thread was made with, and what the system and this function's callees write for
 * this thread. *frame: where we run, if that is another stack (a coroutine's); or 0. */
static int is_own(uintptr_t from, uintptr_t to, uintptr_t *frame)
{
    pthread_attr_t attr;
    void *stack = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return 1;
    int err = pthread_attr_getstack(&attr, &stack, &bytes);
    pthread_attr_destroy(&attr);
    *frame = (uintptr_t) __builtin_frame_address(0);
    if (*frame - (uintptr_t) stack < bytes)
        *frame = 0;
    return err != 0 || overlaps(from, to, stack, bytes) ||
           overlaps(from, to, &errno, sizeof errno) ||
           overlaps(from, to, (char *) (uintptr_t) pthread_self(), WDL_SHARE_PAGE);
}

int wdl_share_is_plain(const char *from, size_t bytes)
{
    uintptr_t at = (uintptr_t) from, end = at + bytes, frame = 0;
    if (sysconf(_SC_PAGESIZE) != WDL_SHARE_PAGE || is_own(at, end, &frame) || has_pinned_memory())
        return 0;
    if (at <= frame && frame < end + FRAMES_BYTES)
        return 0;
    FILE *list = fopen("/proc/self/smaps", "re");
    int plain = list && mappings_are_plain(list, at, end, frame);
    if (list)
        fclose(list);
    return plain;
}
