/* A process alone that does nothing but send large messages to itself, and how much of that time it is in
 * MPI_Isend and MPI_Irecv, which is printed: an MPI may copy there, and not where it is waited for.
 * Usage: copies MEGABYTES SECONDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) * 1000000 / 8 : 1;
  const double end = MPI_Wtime() + (argc > 2 ? atof(argv[2]) : 1);
  double *const from = calloc((size_t)count, sizeof(double)), *const to = calloc((size_t)count, sizeof(double));
  double inside = 0;
  const double begin = MPI_Wtime();
  while (MPI_Wtime() < end) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const double called = MPI_Wtime();
    MPI_Irecv(to, count, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &requests[0]);
    MPI_Isend(from, count, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &requests[1]);
    inside += MPI_Wtime() - called;
    MPI_Waitall(2, requests, statuses);
  }
  printf("%.3f\n", inside / (MPI_Wtime() - begin));
  free(from);
  free(to);
  MPI_Finalize();
  return 0;
}
