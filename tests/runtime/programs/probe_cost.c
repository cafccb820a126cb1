/* Prints the nanoseconds of a probe while nothing is asked.
 * Usage: probe_cost PROBES */
#include <ductile/app.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  ductile_init(&argc, &argv);
  ductile_join();
  const long probes = atol(argv[1]);
  const double begin = MPI_Wtime();
  for (long i = 0; i < probes; ++i)
    if (ductile_probe() != DUCTILE_NONE) return 1;
  printf("%.2f\n", (MPI_Wtime() - begin) * 1e9 / probes);
  ductile_finalize();
  return 0;
}
