/* Says which sizes it can have, and can be resized only at every EVERYth probe: where it is asked
 * elsewhere it postpones. Prints at which probe each generation but the last one left.
 * Usage: choosy PROBES EVERY MINIMUM MAXIMUM CONSTRAINT */
#include <ductile/app.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  ductile_init(&argc, &argv);
  const int every = atoi(argv[2]);
  int rank, probe = 0;
  MPI_Comm_rank(ductile_comm(), &rank);
  if (ductile_sizes(atoi(argv[3]), atoi(argv[4]), "threes") != DUCTILE_ERROR) return 1;
  ductile_sizes(atoi(argv[3]), atoi(argv[4]), argv[5]);
  ductile_add_replicated("probe", &probe, sizeof probe);
  ductile_join();
  for (; probe < atoi(argv[1]); ++probe) {
    if (ductile_probe() == DUCTILE_ADAPT) {
      if (probe % every != 0) {
        ductile_postpone(every - probe % every);
      } else if (ductile_adapt() == DUCTILE_LEAVE) {
        if (rank == 0) printf("left at %d\n", probe);
        ductile_finalize();
        return 0;
      }
    }
    usleep(3000);
  }
  ductile_finalize();
  return 0;
}
