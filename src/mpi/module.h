/* The C interface of libselfnorm_mpi_module.so, the one place of MPI: a module that is loaded when a job of
 * several processes starts (mpi/job.h). Compiled by the mpicc of the MPI that mpirun belongs to, Open MPI or
 * MPICH; nothing of it is needed to build or run the rest.
 *
 * All calls come from one thread. Functions return 0, or 1 with a sentence in selfnorm_mpi_error(). */
#ifndef SELFNORM_MPI_MODULE_H
#define SELFNORM_MPI_MODULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SELFNORM_MPI_ABI 1

int selfnorm_mpi_abi(void);
const char* selfnorm_mpi_error(void);
/* Joins the job. `communicator`: the handle of one that exists already (MPI_Comm_c2f), which stays the
 * caller's, or 0: all processes that were started together. */
int selfnorm_mpi_open(int64_t communicator, int* rank, int* size);
/* After the last message. */
void selfnorm_mpi_close(void);
/* Ends all processes of the job; does not return. */
void selfnorm_mpi_abort(int code);

/* Begin to send or receive less than 2 GiB; *request is what selfnorm_mpi_test asks about. */
int selfnorm_mpi_send(int to, const void* data, uint64_t bytes, void** request);
int selfnorm_mpi_receive(int from, void* data, uint64_t bytes, void** request);
/* Whether it is done, after which the request is no more. */
int selfnorm_mpi_test(void* request, int* is_done);

#ifdef __cplusplus
}
#endif
#endif
