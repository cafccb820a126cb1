/* Its second process dies in every new generation, before it joins, and says why on both outputs.
 * Usage: dies STOP */
#include <ductile/app.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  int rank;
  MPI_Comm_rank(ductile_comm(), &rank);
  if (is_joining && rank == 1) {
    printf("there is no file input.%d\n", ductile_generation());
    fprintf(stderr, "no memory for generation %d\n", ductile_generation());
    exit(3);
  }
  int64_t iteration = 0;
  ductile_add_replicated("iteration", &iteration, sizeof iteration);
  ductile_join();
  for (int done = 0; !done; ++iteration) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) break;
    usleep(10000);
    if (rank == 0) done = access(argv[1], F_OK) == 0;
    MPI_Bcast(&done, 1, MPI_INT, 0, ductile_comm());
  }
  if (rank == 0) printf("ends\n");
  ductile_finalize();
  return 0;
}
