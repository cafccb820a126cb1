/* Prints messages per second: windows of small messages from one process to another; a process alone
 * sends to itself, which takes the same number of instructions each time.
 * Usage: rate WINDOWS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 64 };

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int windows = atoi(argv[1]);
  char bytes[WINDOW][8] = {{0}};
  char other[8] = {0};
  MPI_Request requests[WINDOW], sends[WINDOW];
  MPI_Status statuses[WINDOW];
  double begin = 0;
  for (int i = 0; i < windows + windows / 10; ++i) {
    if (i == windows / 10) begin = MPI_Wtime();
    for (int k = 0; k < WINDOW && size == 1; ++k) {
      MPI_Irecv(bytes[k], 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
      MPI_Isend(other, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &sends[k]);
    }
    if (size == 1) {
      MPI_Waitall(WINDOW, sends, statuses);
      MPI_Waitall(WINDOW, requests, statuses);
      continue;
    }
    for (int k = 0; k < WINDOW; ++k) {
      if (rank == 0) MPI_Isend(bytes[k], 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[k]);
      if (rank == 1) MPI_Irecv(bytes[k], 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
    }
    if (rank < 2) MPI_Waitall(WINDOW, requests, statuses);
    if (rank == 0) MPI_Recv(bytes[0], 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(bytes[0], 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("%.0f\n", windows * (double)WINDOW / (MPI_Wtime() - begin));
  MPI_Finalize();
  return 0;
}
