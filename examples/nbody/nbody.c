/* Bodies that attract each other. Every process knows all of them (replicated data) and moves its part;
 * the sum of forces on a body is taken in the order of the bodies, so that the result does not depend
 * on the number of processes.
 * Usage: nbody BODIES STEPS [MILLISECONDS_PER_STEP] */
#include <ductile/app.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
  double x[3], v[3], mass;
} Body;

int main(int argc, char **argv) {
  const int is_joining = ductile_init(&argc, &argv) == DUCTILE_JOINING;
  MPI_Comm comm = ductile_comm();
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (argc < 3) {
    if (rank == 0) fprintf(stderr, "usage: %s BODIES STEPS [MILLISECONDS]\n", argv[0]);
    MPI_Abort(comm, 2);
  }
  const int bodies = atoi(argv[1]), steps = atoi(argv[2]), pause = argc > 3 ? atoi(argv[3]) : 0;
  Body *all = calloc((size_t)bodies, sizeof *all);
  int step = 0;
  ductile_add_replicated("step", &step, sizeof step);
  ductile_add_replicated("bodies", all, (size_t)bodies * sizeof *all);
  ductile_join();
  for (int i = 0; i < bodies && !is_joining; ++i) {
    for (int k = 0; k < 3; ++k) all[i].x[k] = ((i * 7919 + k * 104729) % 1000) / 1000.0;
    all[i].mass = 1 + i % 3;
  }

  int *counts = malloc((size_t)size * sizeof *counts), *begins = malloc((size_t)size * sizeof *begins);
  for (int r = 0; r < size; ++r) {
    int64_t begin, end;
    ductile_block(bodies, r, size, &begin, &end);
    begins[r] = (int)((size_t)begin * sizeof *all);
    counts[r] = (int)((size_t)(end - begin) * sizeof *all);
  }
  int64_t begin, end;
  ductile_block(bodies, rank, size, &begin, &end);
  Body *moved = malloc((size_t)(end - begin + 1) * sizeof *moved);

  for (; step < steps; ++step) {
    if (ductile_probe() == DUCTILE_ADAPT && ductile_adapt() == DUCTILE_LEAVE) {
      ductile_finalize();
      return 0;
    }
    const double dt = 1e-3;
    for (int64_t i = begin; i < end; ++i) {
      Body body = all[i];
      for (int j = 0; j < bodies; ++j) {
        double d[3], square = 1e-4;
        for (int k = 0; k < 3; ++k) {
          d[k] = all[j].x[k] - body.x[k];
          square += d[k] * d[k];
        }
        const double pull = all[j].mass / (square * sqrt(square));
        for (int k = 0; k < 3; ++k) body.v[k] += dt * pull * d[k];
      }
      for (int k = 0; k < 3; ++k) body.x[k] += dt * body.v[k];
      moved[i - begin] = body;
    }
    MPI_Allgatherv(moved, counts[rank], MPI_BYTE, all, counts, begins, MPI_BYTE, comm);
    if (pause > 0) usleep((useconds_t)pause * 1000);
  }

  double energy = 0;
  for (int i = 0; i < bodies; ++i)
    for (int k = 0; k < 3; ++k) energy += all[i].mass * all[i].v[k] * all[i].v[k] / 2;
  if (rank == 0) printf("step %d kinetic energy %.17g\n", step, energy);
  ductile_finalize();
  return 0;
}
