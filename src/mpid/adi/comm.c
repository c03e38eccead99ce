/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * Communicators: from MPICH's mappers to rank maps, and the questions asked of them. A process is
 * known by its world rank everywhere (peer number, lpid), since there are no dynamic processes.
 */
#include "wdl_adi.h"

/* --- rank maps -------------------------------------------------------------------------------- */

void wdl_rank_map_release(struct wdl_rank_map *map)
{
    if (map->table && --map->table->refs == 0)
        MPL_free(map->table);
    memset(map, 0, sizeof *map);
}

static void map_set_formula(struct wdl_rank_map *map, int first, int stride, int size)
{
    *map = (struct wdl_rank_map) {.first = first,.stride = stride,.size = size };
}

int wdl_rank_map_build(struct wdl_rank_map *map, const int *peers, int size)
{
    int stride = size > 1 ? peers[1] - peers[0] : 1;
    int i;
    for (i = 1; i < size && peers[i] - peers[i - 1] == stride; i++);
    if (i >= size) {
        map_set_formula(map, size ? peers[0] : 0, stride, size);
        return WDL_OK;
    }
    struct wdl_rank_table *table =
        MPL_malloc(sizeof *table + (size_t) size * sizeof table->peer[0], MPL_MEM_COMM);
    if (!table)
        return WDL_ERR_NOMEM;
    table->refs = 1;
    memcpy(table->peer, peers, (size_t) size * sizeof table->peer[0]);
    *map = (struct wdl_rank_map) {.table = table,.size = size };
    return WDL_OK;
}

/* --- mappers ---------------------------------------------------------------------------------- */

static int mapper_to_remote(const MPIR_Comm_map_t * mapper)
{
    return mapper->dir == MPIR_COMM_MAP_DIR__L2R || mapper->dir == MPIR_COMM_MAP_DIR__R2R;
}

/* The map a mapper reads from. */
static const struct wdl_rank_map *mapper_source(const MPIR_Comm_map_t * mapper)
{
    const MPIR_Comm *src = mapper->src_comm;
    int from_local = mapper->dir == MPIR_COMM_MAP_DIR__L2L || mapper->dir == MPIR_COMM_MAP_DIR__L2R;
    if (from_local && src->comm_kind == MPIR_COMM_KIND__INTERCOMM)
        return &src->dev.local_map;
    return &src->dev.map;
}

static int mapper_size(const MPIR_Comm_map_t * mapper)
{
    if (mapper->type == MPIR_COMM_MAP_TYPE__DUP)
        return mapper_source(mapper)->size;
    return mapper->src_mapping_size;
}

static int mapper_peer(const MPIR_Comm_map_t * mapper, int i)
{
    int rank = mapper->type == MPIR_COMM_MAP_TYPE__DUP ? i : mapper->src_mapping[i];
    return wdl_rank_map_peer(mapper_source(mapper), rank);
}

void wdl_rank_map_share(struct wdl_rank_map *map, const struct wdl_rank_map *source)
{
    *map = *source;
    if (map->table)
        map->table->refs++;
}

/* The map of one side of comm: its mappers' ranks one after the other. A side without mapper is
 * left alone. */
static int map_from_mappers(MPIR_Comm * comm, int to_remote, struct wdl_rank_map *map)
{
    const MPIR_Comm_map_t *mapper, *only = NULL;
    int n = 0, size = 0;
    for (mapper = comm->mapper_head; mapper; mapper = mapper->next) {
        if (mapper_to_remote(mapper) == to_remote) {
            only = mapper;
            n++;
            size += mapper_size(mapper);
        }
    }
    if (n == 0)
        return WDL_OK;
    if (n == 1 && only->type == MPIR_COMM_MAP_TYPE__DUP) {
        wdl_rank_map_share(map, mapper_source(only));
        return WDL_OK;
    }
    int *peers = MPL_malloc((size_t) (size ? size : 1) * sizeof *peers, MPL_MEM_COMM);
    if (!peers)
        return WDL_ERR_NOMEM;
    int at = 0;
    for (mapper = comm->mapper_head; mapper; mapper = mapper->next) {
        if (mapper_to_remote(mapper) != to_remote)
            continue;
        for (int i = 0; i < mapper_size(mapper); i++)
            peers[at++] = mapper_peer(mapper, i);
    }
    wdl_assert_cmp(at, ==, size);
    int status = wdl_rank_map_build(map, peers, size);
    MPL_free(peers);
    return status;
}

/* --- hooks ------------------------------------------------------------------------------------ */

static int check_limits(MPIR_Comm * comm)
{
    int size = MPL_MAX(comm->local_size, comm->remote_size);
    if (size <= 1 << WDL_TAG_RANK_BITS)
        return MPI_SUCCESS;
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**wdl_ranks", "**wdl_ranks %d %d", size,
                                1 << WDL_TAG_RANK_BITS);
}

int MPID_Comm_commit_pre_hook(MPIR_Comm * comm)
{
    int mpi_errno = check_limits(comm);
    MPIR_ERR_CHECK(mpi_errno);

    if (comm == MPIR_Process.comm_world) {
        map_set_formula(&comm->dev.map, 0, 1, MPIR_Process.size);
    } else if (comm == MPIR_Process.comm_self) {
        map_set_formula(&comm->dev.map, MPIR_Process.rank, 1, 1);
    } else if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM) {
        int status = map_from_mappers(comm, 0, &comm->dev.local_map);
        if (status == WDL_OK)
            status = map_from_mappers(comm, 1, &comm->dev.map);
        WDL_ADI_CHECK(status, mpi_errno);
        wdl_assert_cmp(comm->dev.local_map.size, ==, comm->local_size);
        wdl_assert_cmp(comm->dev.map.size, ==, comm->remote_size);
    } else {
        WDL_ADI_CHECK(map_from_mappers(comm, 0, &comm->dev.map), mpi_errno);
        wdl_assert_cmp(comm->dev.map.size, ==, comm->local_size);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Comm_commit_post_hook(MPIR_Comm * comm)
{
    (void) comm;
    return MPI_SUCCESS;
}

int MPID_Comm_free_hook(MPIR_Comm * comm)
{
    wdl_adi_asynch_stop();
    wdl_adi_team_drop(comm);
    wdl_rank_map_release(&comm->dev.map);
    wdl_rank_map_release(&comm->dev.local_map);
    wdl_adi_spare_drop(comm);
    comm->dev.spread = 0;
    comm->dev.schedules = 0;
    comm->dev.windows = 0;
    return MPI_SUCCESS;
}

int MPID_Comm_set_hints(MPIR_Comm * comm, MPIR_Info * info)
{
    (void) comm;
    (void) info;
    return MPI_SUCCESS;
}

/* --- the processes of a node ----------------------------------------------------------------- */

int wdl_adi_comm_on_node(MPIR_Comm *comm)
{
    const int *node = MPIR_Process.node_map;
    if (comm->dev.spread == 0) {
        comm->dev.spread = 1;
        for (int i = 0; i < comm->local_size; i++)
            if (node[wdl_adi_peer(comm, i)] != node[MPIR_Process.rank])
                comm->dev.spread = 2;
    }
    return comm->dev.spread == 1;
}

/* MPI_Comm_split_type: without a device's word MPICH takes every process to be alone on a node. */
static int split_type(MPIR_Comm *comm, int type, int key, MPIR_Info *info, MPIR_Comm **out)
{
    MPIR_Comm *members = NULL;
    if (type != MPI_COMM_TYPE_SHARED && type != MPI_UNDEFINED)
        return MPIR_Comm_split_type(comm, type, key, info, out);
    int color = type == MPI_UNDEFINED ? MPI_UNDEFINED : 0;
    int mpi_errno = MPIR_Comm_split_impl(comm, color, key, &members);
    *out = NULL;
    if (mpi_errno == MPI_SUCCESS && members) {
        mpi_errno = MPIR_Comm_split_type_node_topo(members, key, info, out);
        MPIR_Comm_free_impl(members);
    }
    return mpi_errno;
}

void wdl_adi_comm_init(void)
{
    static struct MPIR_Commops ops = {.split_type = split_type};
    MPIR_Comm_fns = &ops;
}

/* --- questions -------------------------------------------------------------------------------- */

int MPID_Comm_get_lpid(MPIR_Comm * comm, int rank, uint64_t * lpid_out, bool is_remote)
{
    int local = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM && !is_remote;
    *lpid_out = (uint64_t) wdl_rank_map_peer(local ? &comm->dev.local_map : &comm->dev.map, rank);
    return MPI_SUCCESS;
}

int MPID_Get_node_id(MPIR_Comm * comm, int rank, int *id_out)
{
    *id_out = MPIR_Process.node_map[wdl_adi_peer(comm, rank)];
    return MPI_SUCCESS;
}

int MPID_Comm_disconnect(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    if (HANDLE_IS_BUILTIN(comm->handle)) {      /* the bindings ask this of MPI_Comm_free alone */
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_COMM, "**commperm", "**commperm %s", comm->name);
        return mpi_errno;
    }
    /* MPI_Comm_disconnect waits for pending communication: operations hold a reference, the last of
     * them frees. */
    return MPIR_Comm_free_impl(comm);
}
