/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * What the user says about the choice of the collectives' algorithms: rank 0 reads it, or measures
 * it with another (coll_measure.c), and tells the others, for they must choose alike. That there is
 * something to be told, or measured, stands on its card, so all know whether they take part. What
 * is wrong, or said to other ranks alone, is said on stderr, and then nothing of it counts.
 */
#include "coll.h"
#include <errno.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_WINDLASS_COLL_MODEL
      category    : WINDLASS
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        A file with the network's costs (maint/tune measures and writes it), by which the engine of
        windlass chooses the algorithms of collectives and the shape of trees, and lines that say
        where it takes MPI's calls (src/mpid/coll/README.md). Rank 0 reads it. The word measure:
        MPI_Init measures the costs itself, between rank 0 and the first rank of another node, or
        the last rank where there is none, in some 10 ms, and what a store takes from one domain of
        rank 0's node to another (a file of that name is ./measure).

    - name        : MPIR_CVAR_WINDLASS_COLL_ALGORITHM
      category    : WINDLASS
      type        : string
      default     : NULL
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_DETAIL
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithms of the engine of windlass, as in broadcast:tree,exchange:bruck. They are taken
        wherever they apply. The names are those of the table in src/mpid/coll/select.c. What is
        said to rank 0 counts.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

enum { TEXT_BYTES = 4096 };

struct said {
    char model[TEXT_BYTES], algorithm[TEXT_BYTES];      /* "": nothing */
};

static int is_said(const char *cvar)
{
    return cvar && cvar[0];
}

static int is_measure(void)
{
    return is_said(MPIR_CVAR_WINDLASS_COLL_MODEL) &&
        strcmp(MPIR_CVAR_WINDLASS_COLL_MODEL, "measure") == 0;
}

int wdl_adi_coll_chosen(void)
{
    int something = is_said(MPIR_CVAR_WINDLASS_COLL_MODEL) ||
        is_said(MPIR_CVAR_WINDLASS_COLL_ALGORITHM);
    return !something ? WDL_ADI_CHOOSES_NOT : is_measure() ? WDL_ADI_MEASURES : WDL_ADI_CHOOSES;
}

static void not_used(const char *cvar, const char *text, const char *what)
{
    fprintf(stderr, "windlass: %s: %s: %s; it is not used\n", cvar, text, what);
}

static void complain(const char *cvar, const char *text, const char *what)
{
    if (MPIR_Process.rank == 0)
        not_used(cvar, text, what);
}

/* The file's text, or "". */
static void file_read(const char *path, char *text_out)
{
    FILE *file = fopen(path, "r");
    size_t bytes = file ? fread(text_out, 1, TEXT_BYTES, file) : 0;
    int bad = !file || ferror(file);
    if (bad || bytes == TEXT_BYTES)
        complain("MPIR_CVAR_WINDLASS_COLL_MODEL", path, bad ? strerror(errno) : "it is too long");
    else if (bytes == 0)
        complain("MPIR_CVAR_WINDLASS_COLL_MODEL", path, "it is empty");
    text_out[bad || bytes == TEXT_BYTES ? 0 : bytes] = 0;
    if (file)
        fclose(file);
}

/* The model's text, by measurement, or "". Of rank 0 and who measures with it; others do nothing.
 * Alone there is nothing to measure. */
static int measure(char *text_out)
{
    struct wdl_coll_model model;
    char err[128];
    int mpi_errno = MPI_SUCCESS;
    int partner = wdl_adi_measure_partner(), far = wdl_adi_measure_far();
    if (partner > 0 && MPIR_Process.rank == partner)
        mpi_errno = wdl_adi_measure_serve();
    if (mpi_errno == MPI_SUCCESS && MPIR_Process.rank == far)
        mpi_errno = wdl_adi_measure_return();
    if (partner > 0 && MPIR_Process.rank == 0) {
        mpi_errno = wdl_adi_measure(partner, &model);
        if (mpi_errno == MPI_SUCCESS && far > 0)
            mpi_errno = wdl_adi_measure_across(far, &model.across);
        if (mpi_errno == MPI_SUCCESS &&
            wdl_coll_model_write(&model, text_out, TEXT_BYTES, err, sizeof err) != WDL_OK) {
            complain("MPIR_CVAR_WINDLASS_COLL_MODEL", "measure", err);
            text_out[0] = 0;
        }
    }
    return mpi_errno;
}

static void said_by_0(struct said *said)
{
    const char *algorithm = MPIR_CVAR_WINDLASS_COLL_ALGORITHM;
    if (is_said(MPIR_CVAR_WINDLASS_COLL_MODEL) && !is_measure())
        file_read(MPIR_CVAR_WINDLASS_COLL_MODEL, said->model);
    if (algorithm && strlen(algorithm) >= TEXT_BYTES)
        complain("MPIR_CVAR_WINDLASS_COLL_ALGORITHM", "its value", "it is too long");
    else if (algorithm)
        MPL_strncpy(said->algorithm, algorithm, TEXT_BYTES);
}

/* The first of those to whom something has been said. */
static void complain_of_others(void)
{
    int first = 1;
    if (!wdl_adi_coll_chosen())
        return;
    while (!wdl_adi_chooses(first))
        first++;
    if (first < MPIR_Process.rank)
        return;
    if (is_said(MPIR_CVAR_WINDLASS_COLL_MODEL))
        not_used("MPIR_CVAR_WINDLASS_COLL_MODEL", MPIR_CVAR_WINDLASS_COLL_MODEL,
                 "it is not said to rank 0");
    if (is_said(MPIR_CVAR_WINDLASS_COLL_ALGORITHM))
        not_used("MPIR_CVAR_WINDLASS_COLL_ALGORITHM", MPIR_CVAR_WINDLASS_COLL_ALGORITHM,
                 "it is not said to rank 0");
}

/* What rank 0 says comes to all, in values of the process manager's. Not by MPIR_pmi_bcast, which
 * names its values by the calls there have been: of those within nodes, who is alone on its node
 * has counted none. */
enum { KEY_BYTES = 32 };

static void key_of(int piece, char *key_out)
{
    snprintf(key_out, KEY_BYTES, "windlass-said-%d", piece);
}

/* Two digits a byte: a value may have no blanks. */
static int put_pieces(const char *bytes, int n, int each, char *value)
{
    char key[KEY_BYTES];
    int mpi_errno = MPI_SUCCESS;
    for (int at = 0; at < n && mpi_errno == MPI_SUCCESS; at += each) {
        int here = n - at < each ? n - at : each;
        for (int i = 0; i < here; i++)
            snprintf(value + 2 * i, 3, "%02x", (unsigned char) bytes[at + i]);
        key_of(at / each, key);
        mpi_errno = MPIR_pmi_kvs_put(key, value);
    }
    return mpi_errno;
}

static int get_pieces(char *bytes_out, int n, int each, char *value, int value_bytes)
{
    char key[KEY_BYTES];
    int mpi_errno = MPI_SUCCESS;
    for (int at = 0; at < n && mpi_errno == MPI_SUCCESS; at += each) {
        int here = n - at < each ? n - at : each;
        unsigned byte = 0;
        key_of(at / each, key);
        mpi_errno = MPIR_pmi_kvs_get(0, key, value, value_bytes);
        if (mpi_errno == MPI_SUCCESS && strlen(value) != 2 * (size_t) here)
            MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**pmi_kvs_get");
        for (int i = 0; i < here && mpi_errno == MPI_SUCCESS; i++) {
            if (sscanf(value + 2 * i, "%2x", &byte) != 1)
                MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**pmi_kvs_get");
            bytes_out[at + i] = (char) byte;
        }
    }
    return mpi_errno;
}

static int tell_all(struct said *said)
{
    int value_bytes = MPIR_pmi_max_val_size(), mpi_errno = MPI_SUCCESS;
    int each = (value_bytes - 2) / 2;
    char *value = MPL_malloc((size_t) value_bytes, MPL_MEM_OTHER);
    if (!value)
        return MPI_ERR_NO_MEM;
    if (MPIR_Process.rank == 0)
        mpi_errno = put_pieces((const char *) said, (int) sizeof *said, each, value);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIR_pmi_barrier();
    if (mpi_errno == MPI_SUCCESS && MPIR_Process.rank != 0)
        mpi_errno = get_pieces((char *) said, (int) sizeof *said, each, value, value_bytes);
    MPL_free(value);
    return mpi_errno;
}

/* Read by all ranks alike. */
static void take_model(struct wdl_proc *proc, const char *text)
{
    static struct wdl_coll_wins wins;
    struct wdl_coll_model model;
    char err[128];
    if (!text[0])
        return;
    if (wdl_coll_model_read(text, &model, &wins, err, sizeof err) == WDL_OK) {
        wdl_coll_model_set(proc, &model);
        wdl_coll_wins_set(proc, &wins);
    } else {
        complain("MPIR_CVAR_WINDLASS_COLL_MODEL", MPIR_CVAR_WINDLASS_COLL_MODEL, err);
    }
}

int wdl_adi_coll_model_init(struct wdl_proc *proc)
{
    struct said said = { "", "" };
    char err[128];
    int mpi_errno = MPI_SUCCESS;
    if (wdl_adi_chooses(0) == WDL_ADI_CHOOSES_NOT) {
        complain_of_others();
        return MPI_SUCCESS;
    }
    if (wdl_adi_chooses(0) == WDL_ADI_MEASURES)
        mpi_errno = measure(said.model);
    if (MPIR_Process.rank == 0)
        said_by_0(&said);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = tell_all(&said);
    if (mpi_errno)
        return mpi_errno;
    take_model(proc, said.model);
    if (wdl_coll_prefer(proc, said.algorithm, err, sizeof err) != WDL_OK)
        complain("MPIR_CVAR_WINDLASS_COLL_ALGORITHM", said.algorithm, err);
    return MPI_SUCCESS;
}
