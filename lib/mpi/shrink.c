/* SPDX-License-Identifier: MIT */
/* Going on without ranks that died: ULFM, where the MPI has it. */
#include <string.h>

#include "mpi/comm.h"

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

#ifdef OMPI_HAVE_MPI_EXT_FTMPI
/* A communicator of MPI of the ranks that live. */
static cls_status shrink(struct comm *comm, MPI_Comm *out) {
    char said[96];
    int class = MPI_SUCCESS;
    const int error = MPIX_Comm_shrink(comm->control, out);
    if (!error)
        return CLS_SUCCESS;
    MPI_Error_class(error, &class);
    describe_mpi(error, said, sizeof said);
    return class == MPI_ERR_UNSUPPORTED_OPERATION
               ? report(CLS_ERROR_UNSUPPORTED,
                        "%s; MPI goes on without a rank under mpiexec --with-ft ulfm", said)
               : report(CLS_ERROR_COMMAND_FAILED, "MPIX_Comm_shrink: %s", said);
}
#else
static cls_status shrink(struct comm *comm, MPI_Comm *out) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    (void)comm, (void)out;
    MPI_Get_library_version(library, &length);
    return report(CLS_ERROR_UNSUPPORTED,
                  "libclstream-mpi is built for an MPI that cannot go on without a rank (%.*s); "
                  "Open MPI 5 can",
                  (int)strcspn(library, ",\n"), library);
}
#endif

static cls_status create(struct comm *comm, cls_mpi_comm *out) {
    cls_mpi_comm_config config = comm->config;
    MPI_Comm smaller;
    cls_status status = shrink(comm, &smaller);
    if (status)
        return status;
    config.name = comm->name;
    status = cls_mpi_comm_create(smaller, comm->context, &config, out);
    MPI_Comm_free(&smaller);
    return status;
}

cls_status cls_mpi_comm_shrink(cls_mpi_comm handle, cls_mpi_comm *out) {
    struct comm *comm;
    if (!out)
        return report(CLS_ERROR_INVALID_VALUE, "cls_mpi_comm_shrink: out is null");
    cls_status status = comm_get(handle, &comm);
    if (status)
        return status;
    status = comm_may_block(comm);
    if (!status && comm->health == WELL)
        status = report(CLS_ERROR_INVALID_STATE, "communicator '%s' has not failed", comm->name);
    return comm_put(comm, status ? status : create(comm, out));
}
