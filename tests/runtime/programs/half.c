/* No word of Ductile in it: the first process computes, the others wait for it in MPI. With `threads`
 * it says that several threads may call MPI at once.
 * Usage: half ROUNDS MILLISECONDS [threads] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, argc > 3 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < atoi(argv[1]); ++i) {
    if (rank == 0) usleep((useconds_t)atoi(argv[2]) * 1000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
