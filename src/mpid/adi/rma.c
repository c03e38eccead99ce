/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One-sided operations: MPI's arguments become one record, and the core is asked until it takes it. MPI_PROC_NULL targets
 * are the bindings' business.
 */
#include "rma.h"

/* --- arguments ------------------------------------------------------------------------------------------------- */

static void buf_fill(struct wdl_buf *buf, const void *addr, MPI_Aint count, MPI_Datatype datatype)
{
    buf->addr = (void *) (uintptr_t) addr;
    buf->count = count;
    buf->type = (wdl_type) (unsigned) datatype;
    if (HANDLE_IS_BUILTIN(datatype)) {
        buf->bytes = (size_t) (MPIR_Datatype_get_basic_size(datatype) * count);
        buf->contig = 1;
        buf->lo = 0;
        buf->hi = (int64_t) buf->bytes;
        return;
    }
    MPIR_Datatype *dt;
    MPIR_Datatype_get_ptr(datatype, dt);
    int64_t last = count > 0 ? (int64_t) dt->extent * (count - 1) : 0;
    buf->bytes = (size_t) dt->size * (size_t) count;
    buf->contig = dt->is_contig || buf->bytes == 0;
    buf->lo = dt->true_lb + (last < 0 ? last : 0);
    buf->hi = dt->true_ub + (last > 0 ? last : 0);
}

static void buf_none(struct wdl_buf *buf)
{
    memset(buf, 0, sizeof *buf);
    buf->contig = 1;
}

/* The predefined type all of an accumulate's data is made of (MPI-4, 12.3.4). */
static int element_fill(struct wdl_rma_args *args, MPI_Datatype datatype)
{
    MPIR_Datatype *dt;
    if (args->remote.bytes == 0) {      /* nothing is combined with nothing: any type will do */
        args->op = WDL_ROP_REPLACE;
        datatype = MPI_BYTE;
    }
    if (wdl_adi_element(datatype, &args->element))
        return WDL_OK;
    MPIR_Datatype_get_ptr(datatype, dt);
    if (dt->basic_type == MPI_DATATYPE_NULL || !wdl_adi_element(dt->basic_type, &args->element))
        return WDL_ERR_TYPE;
    return WDL_OK;
}

static int op_fill(struct wdl_rma_args *args, MPI_Op op)
{
    static const struct {
        MPI_Op handle;
        enum wdl_rop rop;
    } ops[] = {
        {MPI_SUM, WDL_ROP_SUM}, {MPI_PROD, WDL_ROP_PROD}, {MPI_MIN, WDL_ROP_MIN}, {MPI_MAX, WDL_ROP_MAX},
        {MPI_LAND, WDL_ROP_LAND}, {MPI_LOR, WDL_ROP_LOR}, {MPI_LXOR, WDL_ROP_LXOR},
        {MPI_BAND, WDL_ROP_BAND}, {MPI_BOR, WDL_ROP_BOR}, {MPI_BXOR, WDL_ROP_BXOR},
        {MPI_MINLOC, WDL_ROP_MINLOC}, {MPI_MAXLOC, WDL_ROP_MAXLOC}, {MPI_REPLACE, WDL_ROP_REPLACE},
        {MPI_NO_OP, WDL_ROP_NO_OP}
    };
    for (unsigned i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (ops[i].handle == op) {
            args->op = ops[i].rop;
            return WDL_OK;
        }
    }
    return WDL_ERR_OP;
}

static void args_begin(struct wdl_rma_args *args, enum wdl_rma_kind kind, int target_rank,
                       MPI_Aint target_disp, int target_count, MPI_Datatype target_type)
{
    args->kind = kind;
    args->target = target_rank;
    args->disp = target_disp;
    args->compare = NULL;
    args->op = WDL_ROP_REPLACE;
    args->request = NULL;
    memset(&args->element, 0, sizeof args->element);
    buf_none(&args->result);
    buf_fill(&args->remote, NULL, target_count, target_type);
}

/* Begin it, waiting while the core has no room. */
static int begin(MPIR_Win * win, const struct wdl_rma_args *args)
{
    int mpi_errno = MPI_SUCCESS;
    WDL_ADI_WAIT(wdl_rma_op(win->dev.wdl, args), mpi_errno);
    return mpi_errno;
}

/* The same with a request. */
static int begin_request(MPIR_Win * win, struct wdl_rma_args *args, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RMA, 0, 2);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");
    req->u.rma.win = win;
    args->request = req;
    mpi_errno = begin(win, args);
    if (mpi_errno) {
        MPIR_cc_set(&req->cc, 0);
        MPIR_Request_free(req);
        MPIR_Request_free(req);
        goto fn_fail;
    }
    *request = req;
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* --- put and get ----------------------------------------------------------------------------------------------- */

static void put_fill(struct wdl_rma_args *args, WDL_RMA_ORIGIN, WDL_RMA_TARGET)
{
    args_begin(args, WDL_RMA_PUT, target_rank, target_disp, target_count, target_type);
    buf_fill(&args->origin, origin, origin_count, origin_type);
}

static void get_fill(struct wdl_rma_args *args, WDL_RMA_RESULT, WDL_RMA_TARGET)
{
    args_begin(args, WDL_RMA_GET, target_rank, target_disp, target_count, target_type);
    buf_fill(&args->origin, result, result_count, result_type);
}

int MPID_Put(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win)
{
    struct wdl_rma_args args;
    put_fill(&args, origin, origin_count, origin_type, target_rank, target_disp, target_count,
             target_type);
    return begin(win, &args);
}

int MPID_Rput(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    struct wdl_rma_args args;
    put_fill(&args, origin, origin_count, origin_type, target_rank, target_disp, target_count,
             target_type);
    return begin_request(win, &args, request);
}

int MPID_Get(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win)
{
    struct wdl_rma_args args;
    get_fill(&args, result, result_count, result_type, target_rank, target_disp, target_count,
             target_type);
    return begin(win, &args);
}

int MPID_Rget(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    struct wdl_rma_args args;
    get_fill(&args, result, result_count, result_type, target_rank, target_disp, target_count,
             target_type);
    return begin_request(win, &args, request);
}

/* --- accumulate ------------------------------------------------------------------------------------------------ */

static int acc_fill(struct wdl_rma_args *args, WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op)
{
    args_begin(args, WDL_RMA_ACC, target_rank, target_disp, target_count, target_type);
    buf_fill(&args->origin, origin, origin_count, origin_type);
    int status = op_fill(args, op);
    return status == WDL_OK ? element_fill(args, target_type) : status;
}

static int get_acc_fill(struct wdl_rma_args *args, WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET,
                        MPI_Op op)
{
    args_begin(args, WDL_RMA_GET_ACC, target_rank, target_disp, target_count, target_type);
    if (op == MPI_NO_OP)
        buf_none(&args->origin);
    else
        buf_fill(&args->origin, origin, origin_count, origin_type);
    buf_fill(&args->result, result, result_count, result_type);
    int status = op_fill(args, op);
    return status == WDL_OK ? element_fill(args, target_type) : status;
}

int MPID_Accumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    struct wdl_rma_args args;
    int status = acc_fill(&args, origin, origin_count, origin_type, target_rank, target_disp,
                          target_count, target_type, op);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}

int MPID_Raccumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                     MPIR_Request ** request)
{
    struct wdl_rma_args args;
    int status = acc_fill(&args, origin, origin_count, origin_type, target_rank, target_disp,
                          target_count, target_type, op);
    return status == WDL_OK ? begin_request(win, &args, request) : WDL_ADI_ERROR(status);
}

int MPID_Get_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    struct wdl_rma_args args;
    int status = get_acc_fill(&args, origin, origin_count, origin_type, result, result_count,
                              result_type, target_rank, target_disp, target_count, target_type, op);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}

int MPID_Rget_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                         MPIR_Request ** request)
{
    struct wdl_rma_args args;
    int status = get_acc_fill(&args, origin, origin_count, origin_type, result, result_count,
                              result_type, target_rank, target_disp, target_count, target_type, op);
    return status == WDL_OK ? begin_request(win, &args, request) : WDL_ADI_ERROR(status);
}

int MPID_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPIR_Win * win)
{
    return MPID_Get_accumulate(origin, 1, type, result, 1, type, target_rank, target_disp, 1, type, op,
                               win);
}

int MPID_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                          int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    struct wdl_rma_args args;
    args_begin(&args, WDL_RMA_CAS, target_rank, target_disp, 1, type);
    buf_fill(&args.origin, origin, 1, type);
    buf_fill(&args.result, result, 1, type);
    args.compare = compare;
    int status = element_fill(&args, type);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}
