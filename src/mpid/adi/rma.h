/* Part of Windlass. See COPYRIGHT in the top-level directory. What the RMA files of the device share. */
#ifndef WDL_ADI_RMA_H_INCLUDED
#define WDL_ADI_RMA_H_INCLUDED

#include "wdl_adi.h"
#include "mpid/rma/win.h"

/* A node member's place in the segment. */
struct wdl_adi_part {
    int rank;                   /* of the window */
    int disp_unit;
    uint64_t offset, bytes;
};

/* host.c: the core's view of a predefined type; 0 when it is none. */
int wdl_adi_element(MPI_Datatype type, struct wdl_element *out);
void wdl_adi_elements_init(void);

/* win_shm.c: collective over comm. */
int wdl_adi_segment_create(MPIR_Win * win, MPI_Aint bytes, int disp_unit, int data, int contiguous,
                           int differ);
void wdl_adi_segment_free(struct wdl_adi_segment *segment);
/* The member with this rank, or -1. */
int wdl_adi_segment_member(const struct wdl_adi_segment *segment, int rank);
/* The same status on every rank: an error code if any rank has one. */
int wdl_adi_agree(MPIR_Comm * comm, int status, int *agreed_out);

/* win_info.c */
int wdl_adi_info_set(MPIR_Win * win, MPIR_Info * info);
int wdl_adi_info_is(const MPIR_Win * win, const char *key, const char *value);
const char *wdl_adi_info_value(const MPIR_Win * win, const char *key);
void wdl_adi_info_free(MPIR_Win * win);

#endif
