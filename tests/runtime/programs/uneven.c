/* Wrong: the first process probes twice where the others probe once.
 * Usage: uneven STOP */
#include <ductile/app.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  ductile_init(&argc, &argv);
  int rank;
  MPI_Comm_rank(ductile_comm(), &rank);
  ductile_join();
  for (int done = 0; !done;) {
    for (int i = rank == 0 ? 2 : 1; i > 0; --i)
      if (ductile_probe() == DUCTILE_ADAPT) ductile_refuse("never");
    usleep(10000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  if (rank == 0) printf("ends\n");
  ductile_finalize();
  return 0;
}
