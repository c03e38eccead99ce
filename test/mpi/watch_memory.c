/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the program has filled before MPI_Init is not kept a second time, by the watch, when the
 * program writes to it again.
 */
#include "testing.h"
#include <dirent.h>
#include <unistd.h>

enum { PIECES = 3, PIECE_KB = 48 << 10, SMALL_KB = 8 << 10 };

static char filled[PIECE_KB * 1024L];   /* behind the program's data */

/* The number behind `name` in a file of /proc; -1: there is none. */
static long number_in(const char *pid, const char *file, const char *name)
{
    char path[64 + 256], line[256];
    long number = -1;
    snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
    FILE *in = fopen(path, "r");
    while (in && number < 0 && fgets(line, sizeof(line), in))
        if (strncmp(line, name, strlen(name)) == 0)
            number = atol(line + strlen(name));
    if (in)
        fclose(in);
    return number;
}

/* KiB that the watch, a child of this process, alone has; -1: there is no watch. */
static long watch_kb(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    long kb = -1;
    while (proc && kb < 0 && (entry = readdir(proc)))
        if (atol(entry->d_name) > 0 && number_in(entry->d_name, "status", "PPid:") == getpid())
            kb = number_in(entry->d_name, "smaps_rollup", "Private_Dirty:");
    if (proc)
        closedir(proc);
    return kb;
}

int main(int argc, char **argv)
{
    char *memory[PIECES];
    for (int i = 0; i < PIECES; i++) {
        memory[i] = t_alloc(PIECE_KB * 1024L);
        memset(memory[i], 1, PIECE_KB * 1024L);
    }
    memset(filled, 1, sizeof(filled));
    t_begin(&argc, &argv);
    for (int i = 0; i < PIECES; i++)
        memset(memory[i], 2, PIECE_KB * 1024L);
    memset(filled, 2, sizeof(filled));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0) {
        long kb = watch_kb();
        t_check(kb >= 0 && kb <= SMALL_KB, "the watch has %ld KiB", kb);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < PIECES; i++)
        free(memory[i]);
    return t_end();
}
