/* mpi/module.h has the interface. */
#include "mpi/module.h"

#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static MPI_Comm job = MPI_COMM_NULL;
static int is_ours; /* this module has initialised MPI */
static char sentence[MPI_MAX_ERROR_STRING + 100];

static int fails(const char* what, int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_string(code, text, &length);
  snprintf(sentence, sizeof sentence, "%s failed: %s", what, text);
  return 1;
}

int selfnorm_mpi_abi(void) { return SELFNORM_MPI_ABI; }
const char* selfnorm_mpi_error(void) { return sentence; }

int selfnorm_mpi_open(int64_t communicator, int* rank, int* size) {
  int is_there = 0, provided = 0;
  MPI_Comm from = MPI_COMM_WORLD;
  MPI_Initialized(&is_there);
  if (!is_there) {
    if (fails("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided))) return 1;
    is_ours = 1;
  }
  if (communicator != 0) from = MPI_Comm_f2c((MPI_Fint)communicator);
  if (fails("MPI_Comm_dup", MPI_Comm_dup(from, &job))) return 1; /* messages of others are not ours */
  MPI_Comm_set_errhandler(job, MPI_ERRORS_RETURN);
  return fails("MPI_Comm_rank", MPI_Comm_rank(job, rank)) || fails("MPI_Comm_size", MPI_Comm_size(job, size));
}

void selfnorm_mpi_close(void) {
  if (job != MPI_COMM_NULL) MPI_Comm_free(&job);
  if (is_ours) MPI_Finalize();
  is_ours = 0;
}

static volatile sig_atomic_t exit_code;
static void leave(int number) {
  (void)number;
  _exit(exit_code);
}

/* MPICH waits in MPI_Abort for processes that compute and do not ask for messages; launchers end them all
 * when one exits. */
void selfnorm_mpi_abort(int code) {
  exit_code = code;
  signal(SIGALRM, leave);
  alarm(1);
  MPI_Abort(job, code);
  _Exit(code);
}

static int begin(int is_sent, int other, void* data, uint64_t bytes, void** request) {
  MPI_Request* own = malloc(sizeof *own);
  if (own == NULL || bytes > INT_MAX) {
    snprintf(sentence, sizeof sentence, "a message of %llu bytes cannot be sent", (unsigned long long)bytes);
    free(own);
    return 1;
  }
  if (fails(is_sent ? "MPI_Isend" : "MPI_Irecv",
            is_sent ? MPI_Isend(data, (int)bytes, MPI_BYTE, other, 0, job, own)
                    : MPI_Irecv(data, (int)bytes, MPI_BYTE, other, 0, job, own))) {
    free(own);
    return 1;
  }
  *request = own;
  return 0;
}

int selfnorm_mpi_send(int to, const void* data, uint64_t bytes, void** request) {
  return begin(1, to, (void*)data, bytes, request);
}

int selfnorm_mpi_receive(int from, void* data, uint64_t bytes, void** request) {
  return begin(0, from, data, bytes, request);
}

int selfnorm_mpi_test(void* request, int* is_done) {
  if (fails("MPI_Test", MPI_Test(request, is_done, MPI_STATUS_IGNORE))) return 1;
  if (*is_done) free(request);
  return 0;
}
