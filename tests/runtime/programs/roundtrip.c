/* Sends one byte to and fro between two processes, and prints the median time of a round trip, in
 * microseconds. Usage: roundtrip TIMES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { AT_ONCE = 10 };

static int compare(const void* a, const void* b) {
  const double one = *(const double*)a, other = *(const double*)b;
  return (one > other) - (one < other);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int times = argc > 1 ? atoi(argv[1]) / AT_ONCE + 1 : 1000;
  double* const took = malloc((size_t)times * sizeof *took);
  char byte = 0;
  for (int i = 0; i < times; ++i) {
    const double begin = MPI_Wtime();
    for (int k = 0; k < AT_ONCE && rank < 2; ++k) {
      if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    took[i] = (MPI_Wtime() - begin) * 1e6 / AT_ONCE;
  }
  qsort(took, (size_t)times, sizeof *took, compare);
  if (rank == 0) printf("%.4f\n", took[times / 2]);
  free(took);
  MPI_Finalize();
  return 0;
}
