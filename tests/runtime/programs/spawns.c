/* Starts two more processes of itself by MPI_Comm_spawn(), which are none of the job's, and meets them.
 * Usage: spawns */
#include <ductile/app.h>
#include <stdio.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(ductile_comm(), &rank);
  MPI_Comm_size(ductile_comm(), &size);
  ductile_join();
  ductile_probe();
  MPI_Comm others;
  MPI_Comm_get_parent(&others);
  if (others == MPI_COMM_NULL) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, ductile_comm(), &others, MPI_ERRCODES_IGNORE);
    int spawned;
    MPI_Comm_remote_size(others, &spawned);
    if (rank == 0) printf("%d with %d more\n", size, spawned);
  }
  MPI_Barrier(others);
  MPI_Comm_disconnect(&others);
  ductile_finalize();
  return 0;
}
