/* Prints the number of processes when it begins and when it ends: an output that resizes change.
 * With a reason it refuses every resize.
 * Usage: rank_printer PROBES [REASON] */
#include <ductile/app.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  int rank, size, probe = 0;
  MPI_Comm_rank(ductile_comm(), &rank);
  MPI_Comm_size(ductile_comm(), &size);
  ductile_add_replicated("probe", &probe, sizeof probe);
  ductile_join();
  if (rank == 0 && !is_joining) printf("begins with %d\n", size);
  for (; probe < atoi(argv[1]); ++probe) {
    const int call = ductile_probe();
    if (call == DUCTILE_ADAPT && argc > 2) {
      ductile_refuse(argv[2]);
    } else if (call == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    usleep(5000);
  }
  if (rank == 0) printf("ends with %d\n", size);
  ductile_finalize();
  return 0;
}
