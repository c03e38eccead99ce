/* Part of Windlass. See COPYRIGHT in the top-level directory.
 *
 * The one set of results every layer speaks. The table below is the only list, from which names and
 * texts are made; adi/errors.c has an MPI error class for each.
 *
 * Four kinds of trouble: pressure (AGAIN: nothing happened, ask later), the user's mistake, the
 * world (PEER, PROTO, NOMEM), our bug (an assertion, no status).
 */
#ifndef WDL_BASE_STATUS_H_INCLUDED
#define WDL_BASE_STATUS_H_INCLUDED

/* X(name, text) */
#define WDL_STATUS_TABLE(X)                                                                    \
    X(OK, "success")                                                                           \
    X(PENDING, "accepted; the completion is called from a later poll")                         \
    X(AGAIN, "no resource now; nothing happened")                                              \
    X(ERR_NOMEM, "out of memory")                                                              \
    X(ERR_LIMIT, "the limit on the size of files is too low for memory that processes share: " \
                 "raise it (ulimit -f)")                                                       \
    X(ERR_ARG, "invalid argument")                                                             \
    X(ERR_RANK, "target rank outside the window's group")                                      \
    X(ERR_DISP, "invalid displacement")                                                        \
    X(ERR_RANGE, "the operation touches memory outside the target's window")                   \
    X(ERR_SYNC, "wrong synchronization of RMA calls")                                          \
    X(ERR_OP, "operator not defined for this datatype in an accumulate")                       \
    X(ERR_TYPE, "invalid datatype for this operation")                                         \
    X(ERR_LONG_TYPE, "the target datatype's description has more bytes than its rank takes")   \
    X(ERR_ATTACH, "memory cannot be attached")                                                 \
    X(ERR_SHARED, "memory cannot be shared between the processes of this communicator")        \
    X(ERR_TRUNCATE, "data longer than the buffer that receives them")                          \
    X(ERR_CANCELED, "operation cancelled")                                                     \
    X(ERR_PEER, "a peer process is gone or cannot be reached")                                 \
    X(ERR_ATOMICS, "the network's atomics are not the same between all processes")             \
    X(ERR_PROTO, "malformed packet received")                                                  \
    X(ERR_UNSUPPORTED, "not supported")                                                        \
    X(ERR_OTHER, "internal error of the network library")

enum wdl_status {
#define WDL_STATUS_ENUM(name, text) WDL_##name,
    WDL_STATUS_TABLE(WDL_STATUS_ENUM)
#undef WDL_STATUS_ENUM
    WDL_STATUS_COUNT
};

/* True for the results that are neither success nor pressure. */
static inline int wdl_status_is_error(int status)
{
    return status > WDL_AGAIN;
}

/* The text of a status; "unknown status" for values outside the table. Never NULL. */
const char *wdl_status_text(int status);
/* The status's name without its WDL_ prefix, for people. Never NULL. */
const char *wdl_status_name(int status);

#endif
