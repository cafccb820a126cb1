/* Malleable by its word, and never looks whether it is to be resized. Works until a file appears.
 * Usage: mute FILE */
#include <ductile/app.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  ductile_init(&argc, &argv);
  ductile_join();
  while (access(argv[1], F_OK) != 0) usleep(20000);
  int rank;
  MPI_Comm_rank(ductile_comm(), &rank);
  if (rank == 0) printf("right\n");
  ductile_finalize();
  return 0;
}
