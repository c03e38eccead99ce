/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * One-sided operations: MPI's arguments become one record, and the core is asked until it takes it.
 * MPI_PROC_NULL targets are the bindings' business.
 */
#include "base/copy.h"
#include "mpid/rma/joint.h"
#include "mpid/rma/pull.h"
#include "mpid/rma/word.h"
#include "rma.h"
#include "op.h"

/* --- arguments -------------------------------------------------------------------------------- */

/* More than there can be: in no window's bounds, and no room for it anywhere. */
static void buf_endless(struct wdl_buf *buf)
{
    buf->bytes = SIZE_MAX;
    buf->contig = 1;
    buf->lo = 0;
    buf->hi = INT64_MAX;
}

static void buf_fill(struct wdl_buf *buf, const void *addr, MPI_Aint count, MPI_Datatype datatype)
{
    buf->addr = (void *) (uintptr_t) addr;
    buf->count = count;
    buf->type = (wdl_type) (unsigned) datatype;
    if (HANDLE_IS_BUILTIN(datatype)) {
        if (__builtin_mul_overflow(MPIR_Datatype_get_basic_size(datatype), count, &buf->hi)) {
            buf_endless(buf);
            return;
        }
        buf->bytes = (size_t) buf->hi;
        buf->contig = 1;
        buf->lo = 0;
        return;
    }
    MPIR_Datatype *dt;
    MPIR_Datatype_get_ptr(datatype, dt);
    int64_t bytes, last;
    if (__builtin_mul_overflow(dt->size, count, &bytes) ||
        __builtin_mul_overflow(dt->extent, count > 0 ? count - 1 : 0, &last) ||
        __builtin_add_overflow(dt->true_lb, last < 0 ? last : 0, &buf->lo) ||
        __builtin_add_overflow(dt->true_ub, last > 0 ? last : 0, &buf->hi)) {
        buf_endless(buf);
        return;
    }
    buf->bytes = (size_t) bytes;
    /* one pair, or none: a gap behind it does not matter */
    buf->contig = dt->is_contig || buf->bytes == 0 ||
        (count == 1 && MPIR_DATATYPE_IS_PREDEFINED(datatype) && dt->true_ub == dt->size);
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
    args->op = wdl_adi_rop(op);
    return args->op < WDL_ROP_COUNT ? WDL_OK : WDL_ERR_OP;
}

static void args_begin(struct wdl_rma_args *args, enum wdl_rma_kind kind, int target_rank,
                       MPI_Aint target_disp, MPI_Aint target_count, MPI_Datatype target_type)
{
    args->kind = kind;
    args->target = target_rank;
    args->disp = target_disp;
    args->compare = NULL;
    args->op = WDL_ROP_REPLACE;
    args->request = NULL;
    args->step = 0;
    args->done = 0;
    memset(&args->element, 0, sizeof args->element);
    buf_none(&args->result);
    buf_fill(&args->remote, NULL, target_count, target_type);
}

static int begin_error(const MPIR_Win * win, const struct wdl_rma_args *args, int status)
{
    struct wdl_win_rank there;
    if (likely(status == WDL_OK))
        return MPI_SUCCESS;
    if (status != WDL_ERR_RANGE || win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC)
        return WDL_ADI_WIN_ERROR(win, status);
    wdl_adi_rank_info((void *) (uintptr_t) win, args->target, &there);
    return wdl_adi_range_error(args, &there, __func__, __LINE__);
}

/* A long one brings the next look at the network nearer (rma_sync.c). */
static inline void count_long(MPIR_Win * win, size_t bytes)
{
    enum { BYTES_A_CALL = 65536, MOST = 64 };
    if (win->dev.calls > 0)
        win->dev.calls -= (int) MPL_MIN(bytes / BYTES_A_CALL, MOST);
}

/* Begin it, waiting while the core has no room. */
static int begin(MPIR_Win * win, struct wdl_rma_args *args)
{
    int mpi_errno = MPI_SUCCESS;
    count_long(win, args->remote.bytes);
    WDL_ADI_WAIT_(wdl_rma_op(win->dev.wdl, args), mpi_errno,
                  win->dev.segment.whole ? WDL_ADI_BY_MEMORY_DEAR : WDL_ADI_BY_NETWORK,
                  begin_error(win, args, wdl_status_));
    return mpi_errno;
}

/* The same with a request. */
static int begin_request(MPIR_Win * win, struct wdl_rma_args *args, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    if (wdl_win_is_active(win->dev.wdl)) /* MPI-4, 12.3.5 */
        return WDL_ADI_WIN_ERROR(win, WDL_ERR_SYNC);
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

/* --- put and get ------------------------------------------------------------------------------ */

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

enum { WORD = 8 };

/* The bytes of that many elements; 0: it is no builtin type, or they are more than there can be. */
static inline int builtin_bytes(MPI_Aint count, MPI_Datatype type, size_t *bytes_out)
{
    int64_t bytes;
    if (!HANDLE_IS_BUILTIN(type) ||
        unlikely(__builtin_mul_overflow(MPIR_Datatype_get_basic_size(type), count, &bytes)))
        return 0;
    *bytes_out = (size_t) bytes;
    return 1;
}

/* Is a transfer one of builtin types, as long on both sides? */
static inline int is_plain(MPI_Aint local_count, MPI_Datatype local_type, MPI_Aint target_count,
                           MPI_Datatype target_type, size_t *bytes_out)
{
    size_t bytes;
    return builtin_bytes(target_count, target_type, bytes_out) &&
           builtin_bytes(local_count, local_type, &bytes) && bytes == *bytes_out;
}

/* Where a transfer of elements of one builtin type on both sides goes, if it may go the short
 * way. */
static inline int alike_reach(MPIR_Win *win, MPI_Aint count, MPI_Datatype type, int target_rank,
                              MPI_Aint target_disp, size_t *bytes_out, char **at_out)
{
    return builtin_bytes(count, type, bytes_out) &&
           wdl_quick_reach(wdl_win_quick(win->dev.wdl), target_rank, target_disp, *bytes_out,
                           at_out);
}

/* ... of a word: its length is known, which saves registers. */
static inline int word_reach(MPIR_Win *win, MPI_Aint count, MPI_Datatype type, int target_rank,
                             MPI_Aint target_disp, char **at_out)
{
    size_t bytes;
    return builtin_bytes(count, type, &bytes) && bytes == WORD &&
           wdl_quick_reach(wdl_win_quick(win->dev.wdl), target_rank, target_disp, WORD, at_out);
}

/* ... of as many bytes of builtin types on both sides. */
static inline int plain_reach(MPIR_Win *win, MPI_Aint local_count, MPI_Datatype local_type,
                              WDL_RMA_TARGET, size_t *bytes_out, char **at_out)
{
    return is_plain(local_count, local_type, target_count, target_type, bytes_out) &&
           wdl_quick_reach(wdl_win_quick(win->dev.wdl), target_rank, target_disp, *bytes_out,
                           at_out);
}

/* Done as the last one was, if that is all it takes. */
static inline int goes_again(MPIR_Win *win, enum wdl_rma_kind kind, void *local,
                             MPI_Aint local_count, MPI_Datatype local_type, WDL_RMA_TARGET)
{
    size_t bytes;
    if (!is_plain(local_count, local_type, target_count, target_type, &bytes) ||
        !wdl_rma_again(win->dev.wdl, kind, target_rank, target_disp, local, bytes))
        return 0;
    count_long(win, bytes);
    return 1;
}

/* So long a one that the target may copy a part. */
static int copy_mapped(int put, int target_rank, char *at, void *local, size_t bytes,
                       MPIR_Win *win)
{
    int mpi_errno = MPI_SUCCESS;
    size_t begun = 0;
    WDL_ADI_WAIT_BY_MEMORY(wdl_joint_mapped(win->dev.wdl, put, target_rank, at, local, bytes,
                                            &begun), mpi_errno);
    return mpi_errno;
}

__attribute__((noinline))
static int put_long(const void *origin, size_t bytes, int target_rank, char *at, MPIR_Win * win)
{
    count_long(win, bytes);
    if (bytes >= WDL_PULL_MAPPED &&
        wdl_pull_mapped(win->dev.wdl, target_rank, at, origin, bytes))
        return MPI_SUCCESS;
    if (bytes < WDL_JOINT_MAPPED) {
        wdl_quick_store_long(win->dev.wdl, target_rank, at, origin, bytes);
        return MPI_SUCCESS;
    }
    int mpi_errno = copy_mapped(1, target_rank, at, (void *) (uintptr_t) origin, bytes, win);
    wdl_win_quick(win->dev.wdl)->stored = 1;    /* a flush may have come meanwhile */
    return mpi_errno;
}

/* What has been reached is written. */
static inline int put_there(const void *origin, size_t bytes, int target_rank, char *at,
                            MPIR_Win *win)
{
    wdl_win_quick(win->dev.wdl)->stored = 1;
    if (bytes >= WDL_COPY_SHORT)
        return put_long(origin, bytes, target_rank, at, win);
    wdl_copy_short(at, origin, bytes);
    return MPI_SUCCESS;
}

/* The whole ways are apart, so that the short ones save no registers. */
__attribute__((noinline))
static int put_on(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win)
{
    struct wdl_rma_args args;
    size_t bytes;
    char *at;
    if (plain_reach(win, origin_count, origin_type, target_rank, target_disp, target_count,
                    target_type, &bytes, &at))
        return put_there(origin, bytes, target_rank, at, win);
    if (goes_again(win, WDL_RMA_PUT, (void *) (uintptr_t) origin, origin_count, origin_type,
                   target_rank, target_disp, target_count, target_type))
        return MPI_SUCCESS;
    put_fill(&args, origin, origin_count, origin_type, target_rank, target_disp, target_count,
             target_type);
    return begin(win, &args);
}

/* The same on both sides: what these functions are given fits in registers. */
__attribute__((noinline))
static int put_alike(WDL_RMA_ORIGIN, int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    size_t bytes;
    char *at;
    if (likely(alike_reach(win, origin_count, origin_type, target_rank, target_disp, &bytes,
                           &at)))
        return put_there(origin, bytes, target_rank, at, win);
    return put_on(origin, origin_count, origin_type, target_rank, target_disp, origin_count,
                  origin_type, win);
}

int MPID_Put(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win)
{
    char *at;
    if (unlikely(origin_type != target_type || origin_count != target_count))
        return put_on(origin, origin_count, origin_type, target_rank, target_disp, target_count,
                      target_type, win);
    if (!word_reach(win, origin_count, origin_type, target_rank, target_disp, &at))
        return put_alike(origin, origin_count, origin_type, target_rank, target_disp, win);
    wdl_win_quick(win->dev.wdl)->stored = 1;
    memcpy(at, origin, WORD);
    return MPI_SUCCESS;
}

/* Operations with a request are not for fences: the full path says so. */
static inline int may_request(MPIR_Win *win)
{
    return !wdl_win_quick(win->dev.wdl)->fence;
}

/* The request of an operation that is done, one for all; so it may be given before it is. */
static MPIR_Request *done_request(void)
{
    return MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
}

__attribute__((noinline))
static int rput_on(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    struct wdl_rma_args args;
    size_t bytes;
    char *at;
    if (may_request(win) && plain_reach(win, origin_count, origin_type, target_rank, target_disp,
                                        target_count, target_type, &bytes, &at)) {
        *request = done_request();
        return put_there(origin, bytes, target_rank, at, win);
    }
    if (is_plain(origin_count, origin_type, target_count, target_type, &bytes) &&
        wdl_rma_rput_again(win->dev.wdl, target_rank, target_disp, (void *) (uintptr_t) origin,
                           bytes)) {
        count_long(win, bytes);
        *request = done_request();
        return MPI_SUCCESS;
    }
    put_fill(&args, origin, origin_count, origin_type, target_rank, target_disp, target_count,
             target_type);
    return begin_request(win, &args, request);
}

int MPID_Rput(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    size_t bytes;
    char *at;
    if (unlikely(origin_type != target_type || origin_count != target_count || !may_request(win) ||
                 !alike_reach(win, origin_count, origin_type, target_rank, target_disp, &bytes,
                              &at)))
        return rput_on(origin, origin_count, origin_type, target_rank, target_disp, target_count,
                       target_type, win, request);
    *request = done_request();
    if (bytes != WORD)
        return put_there(origin, bytes, target_rank, at, win);
    wdl_win_quick(win->dev.wdl)->stored = 1;
    memcpy(at, origin, WORD);
    return MPI_SUCCESS;
}

__attribute__((noinline))
static int get_long(void *result, size_t bytes, int target_rank, const char *at, MPIR_Win * win)
{
    count_long(win, bytes);
    if (bytes >= WDL_JOINT_MAPPED)
        return copy_mapped(0, target_rank, (char *) (uintptr_t) at, result, bytes, win);
    wdl_copy_long(result, at, bytes);
    return MPI_SUCCESS;
}

static inline int get_there(void *result, size_t bytes, int target_rank, const char *at,
                            MPIR_Win *win)
{
    if (bytes >= WDL_COPY_SHORT)
        return get_long(result, bytes, target_rank, at, win);
    wdl_copy_short(result, at, bytes);
    return MPI_SUCCESS;
}

__attribute__((noinline))
static int get_on(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win)
{
    struct wdl_rma_args args;
    size_t bytes;
    char *at;
    if (plain_reach(win, result_count, result_type, target_rank, target_disp, target_count,
                    target_type, &bytes, &at))
        return get_there(result, bytes, target_rank, at, win);
    if (goes_again(win, WDL_RMA_GET, result, result_count, result_type,
                   target_rank, target_disp, target_count, target_type))
        return MPI_SUCCESS;
    get_fill(&args, result, result_count, result_type, target_rank, target_disp, target_count,
             target_type);
    return begin(win, &args);
}

__attribute__((noinline))
static int get_alike(WDL_RMA_RESULT, int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    size_t bytes;
    char *at;
    if (likely(alike_reach(win, result_count, result_type, target_rank, target_disp, &bytes,
                           &at)))
        return get_there(result, bytes, target_rank, at, win);
    return get_on(result, result_count, result_type, target_rank, target_disp, result_count,
                  result_type, win);
}

int MPID_Get(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win)
{
    char *at;
    if (unlikely(result_type != target_type || result_count != target_count))
        return get_on(result, result_count, result_type, target_rank, target_disp, target_count,
                      target_type, win);
    if (!word_reach(win, result_count, result_type, target_rank, target_disp, &at))
        return get_alike(result, result_count, result_type, target_rank, target_disp, win);
    memcpy(result, at, WORD);
    return MPI_SUCCESS;
}

__attribute__((noinline))
static int rget_on(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    struct wdl_rma_args args;
    size_t bytes;
    char *at;
    if (may_request(win) && plain_reach(win, result_count, result_type, target_rank, target_disp,
                                        target_count, target_type, &bytes, &at)) {
        *request = done_request();
        return get_there(result, bytes, target_rank, at, win);
    }
    get_fill(&args, result, result_count, result_type, target_rank, target_disp, target_count,
             target_type);
    return begin_request(win, &args, request);
}

int MPID_Rget(WDL_RMA_RESULT, WDL_RMA_TARGET, MPIR_Win * win, MPIR_Request ** request)
{
    size_t bytes;
    char *at;
    if (unlikely(result_type != target_type || result_count != target_count ||
                 !may_request(win) ||
                 !alike_reach(win, result_count, result_type, target_rank, target_disp, &bytes,
                              &at)))
        return rget_on(result, result_count, result_type, target_rank, target_disp, target_count,
                       target_type, win, request);
    *request = done_request();
    return get_there(result, bytes, target_rank, at, win);
}

/* --- accumulate ------------------------------------------------------------------------------- */

/* The element of this type, if its sums are those of words (word.h); or NULL. */
static inline const struct wdl_element *summed_word(MPI_Datatype type)
{
    const struct wdl_element *element = wdl_adi_element_of(type);
    return element && wdl_word_is_summed(element) ? element : NULL;
}

/* An accumulate the short way: one predefined type; 1 when done, 0: take the full path. */
static inline int short_accumulate(WDL_RMA_ORIGIN, void *result, WDL_RMA_TARGET, MPI_Op op,
                                   MPIR_Win * win)
{
    struct wdl_win *of = win->dev.wdl;
    if (!wdl_win_quick(of)->place || target_type != origin_type || origin_count != target_count)
        return 0;
    const struct wdl_element *element = wdl_adi_element_of(target_type);
    enum wdl_rop rop = wdl_adi_rop(op);
    if (!element)
        element = wdl_adi_element_of_pair(target_type);
    if (!element || rop == WDL_ROP_COUNT)
        return 0;
    if (element->basic == WDL_BASIC_WIDE)
        return wdl_win_accumulate_wide(of, target_rank, target_disp, (size_t) target_count, rop,
                                       element, origin, result) == WDL_OK;
    if (target_count == 1)
        return wdl_win_update_one(of, target_rank, target_disp, rop, element, origin,
                                  result) == WDL_OK;
    return wdl_win_accumulate_short(of, target_rank, target_disp, (size_t) target_count, rop,
                                    element, origin, result) == WDL_OK;
}

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

__attribute__((noinline))
static int accumulate_fully(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    struct wdl_rma_args args;
    int status = acc_fill(&args, origin, origin_count, origin_type, target_rank, target_disp,
                          target_count, target_type, op);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}

__attribute__((noinline))
static int accumulate_on(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    if (short_accumulate(origin, origin_count, origin_type, NULL, target_rank, target_disp,
                         target_count, target_type, op, win))
        return MPI_SUCCESS;
    return accumulate_fully(origin, origin_count, origin_type, target_rank, target_disp,
                            target_count, target_type, op, win);
}

/* One summed_word by MPI_SUM. Apart, so that others save no registers for it. */
__attribute__((noinline))
static int accumulate_one(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    const struct wdl_element *element = wdl_adi_element_of(target_type);
    struct wdl_win_quick *quick = wdl_win_quick(win->dev.wdl);
    uint64_t *word;
    if (unlikely(!element || origin_count != 1 || origin_type != target_type ||
                 !wdl_word_begin(quick, target_rank, target_disp, &word)))
        return accumulate_on(origin, origin_count, origin_type, target_rank, target_disp,
                             target_count, target_type, op, win);
    wdl_word_add(word, element, origin);
    wdl_word_end(quick);
    return MPI_SUCCESS;
}

/* Several of a type that instructions update: 1 when done. */
static inline int short_several(const struct wdl_element *element, const void *origin, size_t count,
                                int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win *win)
{
    struct wdl_win *of = win->dev.wdl;
    if (element->basic == WDL_BASIC_F64 && op == MPI_SUM && count <= WDL_DOUBLES_MAX)
        return wdl_win_sum_doubles(of, target_rank, target_disp, count, origin) == WDL_OK;
    if (op == MPI_REPLACE)
        return wdl_win_replace(of, target_rank, target_disp, count, element, origin) == WDL_OK;
    enum wdl_rop rop = wdl_adi_rop(op);
    return rop != WDL_ROP_COUNT &&
           wdl_win_accumulate_short(of, target_rank, target_disp, count, rop, element, origin,
                                    NULL) == WDL_OK;
}

__attribute__((noinline))
static int accumulate_several(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    const struct wdl_element *element = wdl_adi_element_of(target_type);
    if (unlikely(!element || element->basic == WDL_BASIC_WIDE))
        return accumulate_on(origin, origin_count, origin_type, target_rank, target_disp,
                             target_count, target_type, op, win);
    if (target_count > 1 && origin_count == target_count && origin_type == target_type &&
        wdl_win_quick(win->dev.wdl)->place &&
        short_several(element, origin, (size_t) target_count, target_rank, target_disp, op, win))
        return MPI_SUCCESS;
    return accumulate_fully(origin, origin_count, origin_type, target_rank, target_disp,
                            target_count, target_type, op, win);
}

int MPID_Accumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    if (target_count == 1 && op == MPI_SUM && summed_word(target_type))
        return accumulate_one(origin, origin_count, origin_type, target_rank, target_disp,
                              target_count, target_type, op, win);
    if (target_count != 1)
        return accumulate_several(origin, origin_count, origin_type, target_rank, target_disp,
                                  target_count, target_type, op, win);
    return accumulate_on(origin, origin_count, origin_type, target_rank, target_disp, target_count,
                         target_type, op, win);
}

int MPID_Raccumulate(WDL_RMA_ORIGIN, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                     MPIR_Request ** request)
{
    struct wdl_rma_args args;
    if (may_request(win) &&
        short_accumulate(origin, origin_count, origin_type, NULL, target_rank, target_disp,
                         target_count, target_type, op, win)) {
        *request = done_request();
        return MPI_SUCCESS;
    }
    int status = acc_fill(&args, origin, origin_count, origin_type, target_rank, target_disp,
                          target_count, target_type, op);
    return status == WDL_OK ? begin_request(win, &args, request) : WDL_ADI_ERROR(status);
}

__attribute__((noinline))
static int get_accumulate_on(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op,
                             MPIR_Win * win)
{
    struct wdl_rma_args args;
    int status = get_acc_fill(&args, origin, origin_count, origin_type, result, result_count,
                              result_type, target_rank, target_disp, target_count, target_type, op);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}

int MPID_Get_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win)
{
    if (result_type == target_type && result_count == target_count) {
        int reads = op == MPI_NO_OP;    /* then the origin says nothing */
        const struct wdl_element *element = reads ? wdl_adi_element_of(target_type) : NULL;
        if (element && target_count > 1 && wdl_win_quick(win->dev.wdl)->place &&
            wdl_win_read(win->dev.wdl, target_rank, target_disp, (size_t) target_count, element,
                         result) == WDL_OK)
            return MPI_SUCCESS;
        if (short_accumulate(reads ? result : origin, reads ? result_count : origin_count,
                             reads ? result_type : origin_type, result, target_rank, target_disp,
                             target_count, target_type, op, win))
            return MPI_SUCCESS;
    }
    return get_accumulate_on(origin, origin_count, origin_type, result, result_count, result_type,
                             target_rank, target_disp, target_count, target_type, op, win);
}

int MPID_Rget_accumulate(WDL_RMA_ORIGIN, WDL_RMA_RESULT, WDL_RMA_TARGET, MPI_Op op, MPIR_Win * win,
                         MPIR_Request ** request)
{
    struct wdl_rma_args args;
    int status = get_acc_fill(&args, origin, origin_count, origin_type, result, result_count,
                              result_type, target_rank, target_disp, target_count, target_type, op);
    return status == WDL_OK ? begin_request(win, &args, request) : WDL_ADI_ERROR(status);
}

__attribute__((noinline))
static int fetch_and_op_on(const void *origin, void *result, MPI_Datatype type, int target_rank,
                           MPI_Aint target_disp, MPI_Op op, MPIR_Win * win)
{
    if (short_accumulate(origin, 1, type, result, target_rank, target_disp, 1, type, op, win))
        return MPI_SUCCESS;
    return get_accumulate_on(origin, 1, type, result, 1, type, target_rank, target_disp, 1, type,
                             op, win);
}

int MPID_Fetch_and_op(const void *origin, void *result, MPI_Datatype type, int target_rank,
                      MPI_Aint target_disp, MPI_Op op, MPIR_Win * win)
{
    const struct wdl_element *element = summed_word(type);
    struct wdl_win_quick *quick = wdl_win_quick(win->dev.wdl);
    uint64_t *word;
    if (unlikely(!element || op != MPI_SUM ||
                 !wdl_word_begin(quick, target_rank, target_disp, &word)))
        return fetch_and_op_on(origin, result, type, target_rank, target_disp, op, win);
    uint64_t old = wdl_word_add(word, element, origin);
    memcpy(result, &old, sizeof(old));
    wdl_word_end(quick);
    return MPI_SUCCESS;
}

__attribute__((noinline))
static int swap_on(const void *origin, const void *compare, void *result, MPI_Datatype type,
                   int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    const struct wdl_element *element = wdl_adi_element_of(type);
    if (element && wdl_win_swap_short(win->dev.wdl, target_rank, target_disp, element, compare,
                                      origin, result) == WDL_OK)
        return MPI_SUCCESS;
    struct wdl_rma_args args;
    args_begin(&args, WDL_RMA_CAS, target_rank, target_disp, 1, type);
    buf_fill(&args.origin, origin, 1, type);
    buf_fill(&args.result, result, 1, type);
    args.compare = compare;
    int status = element_fill(&args, type);
    return status == WDL_OK ? begin(win, &args) : WDL_ADI_ERROR(status);
}

int MPID_Compare_and_swap(const void *origin, const void *compare, void *result, MPI_Datatype type,
                          int target_rank, MPI_Aint target_disp, MPIR_Win * win)
{
    const struct wdl_element *element = wdl_adi_element_of(type);
    struct wdl_win_quick *quick = wdl_win_quick(win->dev.wdl);
    uint64_t *word;
    if (unlikely(!element || !wdl_word_is(element) ||
                 !wdl_word_begin(quick, target_rank, target_disp, &word)))
        return swap_on(origin, compare, result, type, target_rank, target_disp, win);
    uint64_t old = wdl_word_swap(word, compare, origin);
    memcpy(result, &old, sizeof(old));
    wdl_word_end(quick);
    return MPI_SUCCESS;
}
