/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the device does not have yet must be a clear MPI error of the right class, on every process,
 * not a hang.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int errors;

static void expect(const char *what, int code, int wanted, const char *word)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = MPI_SUCCESS, length;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    if (class != wanted || !strstr(text, word)) {
        errors++;
        printf("%s: class %d instead of %d, or no \"%s\" in: %s\n", what, class, wanted, word,
               text);
    }
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "none";
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Request request;
    int rank, total = 0, value = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);

    expect("MPI_Comm_spawn", MPI_Comm_spawn("./none", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0,
                                            MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE),
           MPI_ERR_SPAWN, "not supported by the windlass device");
    expect("MPI_Open_port", MPI_Open_port(MPI_INFO_NULL, port), MPI_ERR_PORT, "not supported");
    expect("MPI_Comm_accept", MPI_Comm_accept("none", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other),
           MPI_ERR_PORT, "not supported");
    expect("MPI_Comm_connect", MPI_Comm_connect("none", MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other),
           MPI_ERR_PORT, "not supported");
    expect("MPI_Psend_init", MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_SELF,
                                            MPI_INFO_NULL, &request),
           MPI_ERR_UNSUPPORTED_OPERATION, "Partitioned");
    expect("MPIX_Comm_revoke", MPIX_Comm_revoke(MPI_COMM_WORLD), MPI_ERR_UNSUPPORTED_OPERATION,
           "failure of a process");

    MPI_Reduce(&errors, &total, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && total == 0)
        printf(" No Errors\n");
    MPI_Finalize();
    return errors != 0;
}
